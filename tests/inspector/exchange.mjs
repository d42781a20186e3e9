// What an exchange, its findings and its operation show beyond the list, by keyboard alone.

import assert from "node:assert/strict";
import { go, press, settled } from "./bench.mjs";
import { files, kinds, startReplay } from "./states.mjs";

const text = (page, at) => page.locator(at).first().innerText();

export const tests = {
  "a redacted value in the text of a form leads to all exchanges with it, as one in JSON does": async (bench) => {
    const page = await bench.page(await bench.inspect("fixtures/operations"), { hash: "#/exchanges?q=op:requestToken" });
    await press(page, "j", "q");
    const label = page.locator("#panel .label").first();
    assert.match(await label.innerText(), /^!client-secret-\d+!$/);
    await label.press("Enter");
    await settled(page);
    assert.match(await page.evaluate(() => location.hash), /q=secret:client-secret-\d+/);
    await bench.clean(page);
  },

  "a group of findings shows when it came, examples that differ, and the suppression": async (bench) => {
    const page = await bench.page(await files(bench));
    await press(page, "g", "f");
    await page.waitForSelector(".sparkline");
    const words = await page.locator(".sparkline").first().getAttribute("aria-label");
    assert.match(words, /^from \d\d:\d\d:\d\d to \d\d:\d\d:\d\d, most from \d\d:\d\d:\d\d on: \d/);
    assert.match(await text(page, ".group-facts"), /first no\. \d+, \d\d:\d\d:\d\d/);
    await page.locator("details.more > summary").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".examples a");
    assert.match(await text(page, "details.more[open] pre"), /^\[\[suppress\]\]\nrule = "[\w.]+"\noperation = /);
    await page.locator(".group.is-gap details.more > summary").first().click();
    await page.waitForSelector(".group.is-gap details.more[open] pre");
    assert.match(await text(page, ".group.is-gap details.more[open]"), /an overlay.*contrail learn [^ ]+\.har/s);
    await page.locator(".examples a").first().focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(await page.evaluate(() => location.hash), /#\/exchanges\?q=.*&n=\d+&finding=\d+/);
    await bench.clean(page);
  },

  "an operation opens to its documented parts, with each gap at its place": async (bench) => {
    const page = await bench.page(await kinds(bench));
    await press(page, "g", "o");
    /** @param {string} name */
    const toggle = async (name) => {
      await page.getByRole("button", { name }).focus();
      await page.keyboard.press("Enter");
    };
    assert.equal(await page.locator(".operation-row").count(), 6);
    assert.equal(await text(page, ".map-head output"), "6 of 6 operations");
    await toggle("Only gaps");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 3);
    assert.equal(await text(page, ".map-head output"), "3 of 6 operations");
    await page.locator(".operation-row > summary", { hasText: "getThing" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".gap-part a");
    assert.match(await text(page, ".gap-part"), /not documented: rank 1 of 1, first no\. 0/);
    await toggle("Only gaps");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 6);
    await page.waitForSelector(".gap-part a");
    const labels = await page.locator(".operation-row[open] .touched li > span:nth-child(2)").allInnerTexts();
    const shown = labels.map((label) => label.replace(/ 1 of 1.*/s, ""));
    const expected = ["path id", "response 200", "body application/json", "id", "name", "owner", "id", "not documented: rank", "not documented: serial"];
    assert.deepEqual(shown, expected);
    await toggle("Only never touched");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length < 6);
    await toggle("Only never touched");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 6);
    await page.locator(".map-head input").focus();
    await page.keyboard.type("RANK");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 0);
    await page.locator(".map-head input").fill("owner");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 1);
    assert.match(await text(page, ".map"), /getThing/);
    await page.locator(".map-head input").fill("");
    await toggle("By tag");
    await page.waitForSelector(".map h3");
    assert.deepEqual(await page.locator(".map h3").allInnerTexts(), ["things 1", "no tag 5"]);
    assert.match(await text(page, ".map h3 + .operation-row"), /getThing/);
    await page.evaluate(() => (location.hash = "#/exchanges?q=tag:things"));
    await settled(page);
    assert.match(await text(page, "#found"), /^1 of/);
    await bench.clean(page);
  },

  "bodies of other kinds than JSON have views, reached with v": async (bench) => {
    const page = await bench.page(await kinds(bench), { hash: "#/exchanges?n=1&side=response" });
    const view = () => text(page, ".segments [aria-pressed=true]");
    assert.equal(await view(), "Lines");
    await press(page, "v");
    assert.equal(await view(), "Events");
    await page.waitForSelector(".event .verdict");
    const rows = () => page.locator(".event:not([hidden])").allInnerTexts();
    const row = async (no) => (await rows()).find((one) => one.startsWith(`${no}\n`)) ?? "";
    assert.match(await row(3), /^3\s*✕\s*violates\s*tick 3 \{"count":"three"\}/);
    assert.match(await row(4), /^4\s*no finding\s*tick 4/);
    assert.ok((await rows()).length < 100, "all items are in the page");
    await page.focus(".events");
    await page.keyboard.press("End");
    await page.waitForFunction(() => [...document.querySelectorAll(".event:not([hidden])")].some((row) => row.textContent?.includes("399")));
    await go(page, "#/exchanges?n=2&side=request&view=parts");
    await page.waitForSelector(".part");
    const parts = await page.locator(".part").allInnerTexts();
    assert.match(parts[0] ?? "", /note text\/plain · 7 B[^]*one[^]*two/);
    assert.match(parts[1] ?? "", /file a\.png · image\/png · 6 B/);
    await go(page, "#/exchanges?n=3&side=request&view=form");
    await page.waitForSelector(".body-place dl");
    assert.match(await text(page, ".body-place"), /name\s*A B\s*color\s*grün\s*empty/);
    await bench.clean(page);
  },

  "an image is shown after a click, and one of 900 million pixels is not": async (bench) => {
    const page = await bench.page(await kinds(bench), { hash: "#/exchanges?n=4&side=response&view=image" });
    const button = page.getByRole("button", { name: "Show the image" });
    await button.waitFor();
    await page.evaluate(() => {
      const revoke = URL.revokeObjectURL.bind(URL);
      globalThis.revoked = [];
      URL.revokeObjectURL = (url) => {
        globalThis.revoked.push(url);
        revoke(url);
      };
    });
    assert.equal(await page.locator(".image img").count(), 0);
    assert.match(await text(page, ".body-place"), /image\/png, 1 × 1 pixels/);
    await button.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".image img")?.naturalWidth === 1);
    const source = await page.locator(".image img").getAttribute("src");
    assert.match(source ?? "", /^blob:/);
    assert.deepEqual(await page.evaluate(() => globalThis.revoked), [source], "it was given back");
    await go(page, "#/exchanges?n=5&side=response&view=image");
    await page.waitForFunction(() => document.querySelector(".body-place")?.textContent?.includes("more than 25 million pixels"));
    assert.equal(await button.count(), 0);
    await bench.clean(page);
  },

  "an exchange took as long as the list shows, and what was contrail's own is a part of it": async (bench) => {
    const server = await startReplay(bench);
    bench.servers.push(server);
    const page = await bench.page(server, { hash: "#/exchanges?n=0" });
    const took = await text(page, "#row-0 .took");
    assert.ok((await text(page, "#detail .timing")).includes(`${took} in all`));
    await bench.clean(page);
  },

  "the contract is read at the passage of a finding, and what it refers to is followed": async (bench) => {
    const page = await bench.page(await files(bench), { hash: "#/exchanges?n=1" });
    await page.locator(".why .pointer-line a").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#view .windowed .line:not([hidden]) .text");
    assert.match(await page.evaluate(() => location.hash), /^#\/contract\/0\?at=/);
    assert.match(await text(page, "#view"), /maximum: 10000/);
    await go(page, "#/contract/0?at=/paths/~1rate-limit-policies~1{id}/get/responses");
    await page.waitForSelector("#view .windowed a");
    assert.match(await page.locator("#view .windowed a").first().evaluate((link) => link.textContent ?? ""), /^\$ref/);
    await page.locator("#view .windowed a").first().focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(await page.evaluate(() => location.hash), /at=\/components/);
    await press(page, "g", "r");
    await page.getByRole("link", { name: "Read the document" }).first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#view .windowed")?.textContent?.includes("openapi"));
    assert.match(await text(page, "#view .dim:last-child"), /[\d,]+ lines/);
    await bench.clean(page);
  },
};
