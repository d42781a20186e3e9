// The list: time, groups, columns and marked exchanges, by keyboard; the mouse where it has a way of its own.

import assert from "node:assert/strict";
import { DESK, LAPTOP, PHONE, go, isSeen, press, settled, tabTo } from "./bench.mjs";
import { entry, har } from "./recordings.mjs";
import { chooseColumns, files, startReplay } from "./states.mjs";

const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
const text = (page, at) => page.locator(at).first().innerText();
const sentence = (page) => page.locator(".strip").getAttribute("aria-label");

/** The text of a column's cells, in the order of the rows. */
const cells = (page, name) =>
  page.evaluate((column) => {
    const rows = [...document.querySelectorAll(".row:not([hidden])")];
    const place = (row) => Number(row.getAttribute("aria-rowindex"));
    return rows.sort((a, b) => place(a) - place(b)).map((row) => row.querySelector(`.${column}`)?.textContent);
  }, name);

export const tests = {
  "the timeline is a sentence, too, and follows the filter": async (bench) => {
    const page = await bench.page(await files(bench));
    const whole = "10 exchanges from 2026-11-28 10:02:11.000 to 2026-11-28 10:02:20.000";
    assert.match(await sentence(page), new RegExp(`^${whole}, \\d violate, from 10:02:1`));
    await go(page, "#/exchanges?q=verdict:conforms");
    assert.match(await sentence(page), new RegExp(`^${whole}, \\d match(es)?, none violates$`));
    await bench.clean(page);
  },

  "[ halves the time around the open exchange, ] widens it until it is whole": async (bench) => {
    const page = await bench.page(await files(bench), { size: LAPTOP });
    await press(page, "j", "j", "j", "[", "[");
    assert.match(await hash(page), /q=since:2026-11-28T10:02:\S+Z until:2026-11-28T10:02:\S+Z/);
    const few = (await cells(page, "sign")).length;
    assert.ok(few > 1 && few < 5, `${few} rows`);
    assert.ok(await page.locator("#row-2").isVisible(), "the open exchange is not in its own time");
    await press(page, "[", "[");
    assert.equal((await cells(page, "sign")).length, 1);
    await press(page, "]", "]", "]", "]", "]");
    assert.doesNotMatch(await hash(page), /since|until/);
    assert.equal((await cells(page, "sign")).length, 10);
    await bench.clean(page);
  },

  "buttons that Tab reaches select a time, and a term beside or stays in force": async (bench) => {
    const page = await bench.page(await files(bench), { hash: "#/exchanges?q=status:404 or status:401" });
    await tabTo(page, /Narrow/);
    await press(page, "Enter");
    assert.match(await hash(page), /q=\(status:404 or status:401\) since:/);
    assert.deepEqual(await cells(page, "status"), ["404"]);
    await tabTo(page, /Widen/);
    await press(page, "Enter");
    assert.match(await hash(page), /q=\(status:404 or status:401\)$/);
    await bench.clean(page);
  },

  "a drag over the timeline selects its time": async (bench) => {
    const page = await bench.page(await files(bench));
    const { x, y, width } = await page.locator(".bars").boundingBox();
    await page.mouse.move(x + 1, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + width / 3, y + 10);
    assert.ok(await page.locator(".range").isVisible());
    await page.mouse.up();
    await settled(page);
    assert.match(await hash(page), /q=until:2026-11-28T10:02:14/);
    assert.equal((await cells(page, "sign")).length, 4);
    await bench.clean(page);
  },

  "a hidden timeline stays hidden, and a key brings it back": async (bench) => {
    const page = await bench.page(await files(bench));
    await page.locator("#tools button", { hasText: "Timeline" }).press("Enter");
    assert.ok(await page.locator("#timeline").isHidden());
    await page.reload();
    await settled(page);
    assert.ok(await page.locator("#timeline").isHidden());
    await press(page, "[");
    assert.ok(await isSeen(page, ".strip"));
    assert.match(await hash(page), /since:.* until:/);
    await bench.clean(page);
  },

  "a fixture, which holds no times, has no timeline": async (bench) => {
    const page = await bench.page(await bench.inspect("fixtures/operations"));
    await settled(page);
    assert.ok(await page.locator("#timeline").isHidden());
    await press(page, "[");
    assert.match(await text(page, "#announcement"), /No exchange here has a time/);
    assert.ok(await page.locator(".grid-head .took").isHidden(), "an empty column takes the room of the paths");
    await bench.clean(page);
  },

  "groups are walked by keyboard, one leads to its exchanges, and Back leads out of it": async (bench) => {
    const page = await bench.page(await files(bench), { hash: "#/exchanges?q=-status:401" });
    await tabTo(page, /No groups/);
    await page.keyboard.press("ArrowDown");
    await settled(page);
    assert.match(await hash(page), /group=operation/);
    const groups = await page.locator("#groups tbody th").allInnerTexts();
    assert.equal(groups[0], "getRateLimitPolicy");
    assert.ok(groups.includes("undocumented"), `${groups}`);
    await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement)?.blur());
    await press(page, "j", "j", "k", "Enter");
    assert.match(await hash(page), /q=-status:401 op:"getRateLimitPolicy"$/);
    assert.deepEqual([...new Set(await cells(page, "operation"))], ["getRateLimitPolicy"]);
    assert.equal((await cells(page, "operation")).length, 6);
    await page.goBack();
    await settled(page);
    assert.ok(await page.locator("#groups").isVisible());
    assert.ok(await page.locator("#rows").isHidden());
    await bench.clean(page);
  },

  "groups of paths go on to where the document divides them, and stop before parameters": async (bench) => {
    const answer = { responses: { 200: { description: "d" } } };
    const paths = { "/api/v1/apps/{id}": { get: answer }, "/api/v1/users/{id}": { get: answer }, "/login": { get: answer } };
    const contract = bench.file("deep.json", JSON.stringify({ openapi: "3.1.0", info: { title: "Deep", version: "1" }, paths }));
    const of = (path) => entry(0, { url: `https://tenant.example${path}` });
    const recorded = ["/api/v1/users/1", "/api/v1/users/2", "/api/v1/users/3", "/api/v1/apps/1", "/login"].map(of);
    const server = await bench.inspect("--contract", contract, bench.file("deep.har", har(recorded)));
    const page = await bench.page(server, { hash: "#/exchanges?group=path" });
    const groups = await page.locator("#groups tbody th").allInnerTexts();
    assert.deepEqual(groups, ["/api/v1/users", "/api/v1/apps", "/login"]);
    await bench.clean(page);
  },

  "groups do not change under the reader, who is offered the new ones": async (bench) => {
    const server = await startReplay(bench);
    bench.servers.push(server);
    const page = await bench.page(server, { hash: "#/exchanges?group=path" });
    assert.deepEqual(await page.locator("#groups tbody th").allInnerTexts(), [
      "/api/v2/nowhere",
      "/api/v2/rate-limit-policies",
    ]);
    const origin = await server.proxy();
    await fetch(`${origin}/api/v2/later`);
    await page.waitForSelector(".groups-head button:not([hidden])");
    await tabTo(page, /new: refresh/);
    await press(page, "Enter");
    assert.ok((await page.locator("#groups tbody th").allInnerTexts()).includes("/api/v2/later"));
    await bench.clean(page);
  },

  "columns are chosen, ordered and widened by keyboard, a header field is one, and all is remembered": async (bench) => {
    const page = await bench.page(await files(bench));
    const heads = () => page.locator(".grid-head [role=columnheader]").allInnerTexts();
    const asked = [];
    page.on("request", (request) => request.url().includes("columns=") && asked.push(request.url()));
    await tabTo(page, /Columns/);
    await press(page, "Enter", "Tab", "Space");
    assert.equal((await heads())[0], "Method");
    // The focus stays where it was, though the menu is another one now.
    const method = page.locator('[data-key="method later"]');
    await method.press("Enter");
    assert.deepEqual((await heads()).slice(0, 2), ["Status", "Method"]);
    await press(page, "Enter");
    assert.deepEqual((await heads()).slice(0, 3), ["Status", "Operation", "Method"]);
    await page.selectOption('[data-key="method width"]', "1.8");
    assert.deepEqual(asked, [], "a header field was asked for that nobody chose");
    await page.fill("#field-column", "Content-Type");
    await press(page, "Enter");
    await settled(page);
    assert.equal((await cells(page, "field"))[0], "application/json");
    assert.ok(asked.length > 0);
    await press(page, "Escape");
    assert.ok(await page.locator(".menu").isHidden());
    const before = await heads();
    await page.reload();
    await settled(page);
    assert.deepEqual(await heads(), before);
    await page.locator(".columns-menu summary").press("Enter");
    await page.locator('[data-key="usual"]').press("Enter");
    assert.equal((await heads())[1], "Method");
    await bench.clean(page);
  },

  "a phone has its own layout of the list, whichever columns were chosen on a wider screen": async (bench) => {
    const page = await bench.page(await files(bench), { size: PHONE });
    await chooseColumns(page, ["method", "header:content-type"]);
    assert.match((await cells(page, "operation"))[1], /getRateLimitPolicy/);
    await page.setViewportSize(DESK);
    await page.waitForFunction(() => document.querySelector(".row .field"));
    assert.equal(await page.locator(".grid-head [role=columnheader]").count(), 2);
    await bench.clean(page);
  },

  "a mark in the list is shown whole or not at all": async (bench) => {
    for (const size of [DESK, LAPTOP, PHONE]) {
      const page = await bench.page(await files(bench), { size });
      const shown = await page.locator(".row:not([hidden]) .path .mark").evaluateAll((marks) =>
        marks.map((mark) => {
          const [cell, own] = [mark.parentElement, mark].map((element) => element.getBoundingClientRect());
          if (own.top >= cell.bottom || own.width === 0) return "not shown";
          return own.right <= cell.right ? "whole" : mark.parentElement.textContent;
        }),
      );
      assert.ok(shown.length > 0);
      assert.deepEqual(shown.filter((how) => how !== "whole" && how !== "not shown"), [], `${size.width}`);
      await bench.clean(page);
    }
  },

  "time bars stand on one scale, and are texts, too": async (bench) => {
    const page = await bench.page(await files(bench));
    await chooseColumns(page, ["method", "bar"]);
    const bars = await page.evaluate(() =>
      [...document.querySelectorAll(".row:not([hidden]) .waterfall")].map((cell) => [
        cell.ariaLabel,
        Math.round(parseFloat(cell.firstElementChild.style.getPropertyValue("--from"))),
      ]),
    );
    bars.sort((a, b) => a[1] - b[1]);
    assert.deepEqual(bars.slice(0, 2), [["after 0 ms", 0], ["after 1000 ms", 11]]);
    assert.equal(bars.at(-1)[1], 100);
    await bench.clean(page);
  },

  "marked exchanges are saved as one HAR, copied as one script, and two are compared": async (bench) => {
    const page = await bench.page(await files(bench));
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await press(page, "j", "j", "Space", "j", "j", "Space");
    assert.match(await text(page, ".marks output"), /2 marked/);
    assert.equal(await page.locator("#row-3 .sign").getAttribute("aria-label"), "violates, marked");
    const saving = page.waitForEvent("download");
    await tabTo(page, /HAR/);
    await press(page, "Enter");
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "contrail-marked.har");
    const har = bench.file("marked.har");
    await saved.saveAs(har);
    const { rows } = await (await bench.inspect(har)).api("exchanges");
    assert.deepEqual(rows.map(({ operation }) => operation), ["getRateLimitPolicy", "redeliverEvent"]);
    await page.locator(".marks button", { hasText: "curl" }).press("Enter");
    await page.waitForSelector("dialog[open] textarea");
    const script = await page.locator("dialog textarea").inputValue();
    assert.equal(script.match(/^curl /gm)?.length, 2);
    await press(page, "Escape");
    assert.match((await page.locator(".marks a").getAttribute("href")) ?? "", /^#\/compare\/3\/1/);
    await page.locator(".marks button", { hasText: "Unmark" }).press("Enter");
    assert.ok(await page.locator(".marks").isHidden());
    assert.equal(await page.locator("#row-3 .sign").getAttribute("aria-label"), "violates");
    await bench.clean(page);
  },

  "the space bar marks nothing within an exchange, and Ctrl-click marks a row": async (bench) => {
    const page = await bench.page(await files(bench), { hash: "#/exchanges?n=1" });
    await press(page, "Enter", "Space");
    assert.ok(await page.locator(".marks").isHidden());
    await page.locator("#row-4").click({ modifiers: ["ControlOrMeta"] });
    assert.match(await text(page, ".marks output"), /1 marked/);
    assert.match(await hash(page), /n=1$/);
    await bench.clean(page);
  },

  "x hides what was before now, and what comes then appears": async (bench) => {
    const server = await startReplay(bench);
    bench.servers.push(server);
    const page = await bench.page(server);
    const before = (await cells(page, "sign")).length;
    assert.ok(before > 1);
    await press(page, "x");
    await page.waitForSelector("#none:not([hidden])");
    await press(page, "x");
    assert.equal((await hash(page)).match(/since:/g)?.length, 1);
    const origin = await server.proxy();
    await fetch(`${origin}/api/v2/later`);
    await page.waitForSelector(".row:not([hidden]):not([data-verdict=''])");
    await settled(page);
    // A client may send again what is answered with 421.
    assert.deepEqual([...new Set(await cells(page, "path"))].map((path) => path.includes("/later")), [true]);
    await bench.clean(page);
  },
};
