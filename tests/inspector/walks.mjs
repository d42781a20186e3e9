// The page as people use it, by keyboard alone.

import assert from "node:assert/strict";
import { DESK, LAPTOP, PHONE, go, isSeen, press, settled } from "./bench.mjs";
import { entry, har } from "./recordings.mjs";
import { files } from "./states.mjs";

const open = async (bench, how = {}) => {
  const server = await files(bench);
  return [await bench.page(server, how), server];
};

export const hash = (page) => page.evaluate(() => location.hash);
export const text = (page, at) => page.locator(at).first().innerText();

/** What the page copies, which it may not read back itself. */
export async function copies(page) {
  await page.context().grantPermissions(["clipboard-write"]);
  await page.evaluate(() => {
    const write = navigator.clipboard.writeText.bind(navigator.clipboard);
    navigator.clipboard.writeText = async (text) => {
      await write(text);
      globalThis.copied = text;
    };
  });
  return async () => {
    await page.waitForFunction(() => globalThis.copied !== undefined);
    return page.evaluate(() => globalThis.copied);
  };
}

/** The marked bytes of each finding, reached with `n` alone, are on the screen. */
async function marksAreSeen(bench, size) {
  const [page] = await open(bench, { size });
  const seen = [];
  for (let i = 0; i < 40; i += 1) {
    const before = await hash(page);
    await press(page, "n");
    const now = await hash(page);
    if (now === before) break;
    const where = await page.evaluate(() => {
      const mark = document.querySelector("#panel mark");
      return mark ? (mark.closest(".line, summary, dt, dd")?.className ?? "") : null;
    });
    seen.push(now);
    if (where === null) {
      assert.ok(await isSeen(page, "#panel .note"), `${now}: neither a mark nor a sentence`);
    } else {
      assert.ok(await isSeen(page, "#panel mark"), `${now}: the mark is not on the screen`);
    }
  }
  assert.ok(seen.length >= 5, `only ${seen.length} findings`);
  await bench.clean(page);
}

export const tests = {
  "A: open the page, press n, and the marked bytes are on the screen at 1440 x 900": async (bench) => {
    const [page] = await open(bench, { size: DESK });
    await press(page, "n");
    assert.equal(await text(page, "#panel mark"), "10001");
    assert.ok(await isSeen(page, "#panel mark"));
    assert.ok(await isSeen(page, ".why .line.at"), "the passage is not on the screen");
    assert.match(await text(page, ".why"), /What now/);
    await bench.clean(page);
  },

  "the marked bytes of every finding are on the screen without scrolling at 1440 x 900": (bench) =>
    marksAreSeen(bench, DESK),

  "the marked bytes of every finding are on the screen without scrolling at 1024 x 768": (bench) =>
    marksAreSeen(bench, LAPTOP),

  "a view whose answer is late shows its name, and nothing of the view before it": async (bench) => {
    const [page] = await open(bench);
    await go(page, "#/findings");
    let answer = () => {};
    const late = new Promise((done) => (answer = done));
    await page.route("**/api/callers", async (route) => {
      await late;
      await route.continue();
    });
    await page.evaluate(() => (location.hash = "#/callers"));
    await page.waitForFunction(() => document.querySelector("#view h2")?.textContent === "Callers");
    assert.doesNotMatch(await text(page, "#view"), /violation/);
    answer();
    await page.waitForSelector("#view .matrix");
    await bench.clean(page);
  },

  "what Callers says of scopes ends with what is not known, and what was never touched stands under its field": async (bench) => {
    const [page] = await open(bench);
    await go(page, "#/callers");
    assert.match(await text(page, "#view"), /required scope is not documented; an unneeded scope may be needed there/);
    await go(page, "#/operations");
    await page.getByRole("button", { name: "Only never touched" }).click();
    await page.waitForFunction(() => document.querySelector(".operation-row")?.textContent?.includes("never called"));
    const row = page.locator(".operation-row", { hasText: "getRateLimitPolicy" });
    await row.locator("summary").click();
    const value = row.locator("li.never", { hasText: "value" }).first();
    await value.waitFor();
    assert.equal(await value.evaluate((li) => Number(li.style.getPropertyValue("--depth")) - Number(li.previousElementSibling.style.getPropertyValue("--depth"))), 1);
    await bench.clean(page);
  },

  "the token leaves the address bar, a reload keeps it, and a second tab is given it": async (bench) => {
    const [page, server] = await open(bench);
    assert.doesNotMatch(page.url(), /k=/);
    await go(page, "#/exchanges?n=3");
    await page.reload();
    await page.waitForSelector("#detail h2");
    assert.match(await hash(page), /n=3/);
    await page.goto(`${server.address}/exchanges?q=verdict:violates&n=1`);
    await page.waitForSelector("#panel mark");
    assert.equal(await hash(page), "#/exchanges?q=verdict:violates&n=1");
    const second = await bench.tab(page.context(), server);
    await second.goto(`${server.origin}/#/exchanges?n=1`);
    await second.waitForSelector("#detail h2");
    assert.doesNotMatch(await hash(second), /k=/);
    await bench.clean(second);
  },

  "without a token the page takes the pasted address": async (bench) => {
    const server = await files(bench);
    const page = await bench.tab(await bench.context(), server);
    await page.goto(`${server.origin}/`);
    await page.waitForSelector("#paste");
    await page.keyboard.type("nothing");
    await page.keyboard.press("Enter");
    assert.match(await text(page, "#gate [role=alert]"), /no token/);
    await page.fill("#paste", server.address);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".row");
    await bench.clean(page);
  },

  "rows are walked with j, k, the arrows, Home and End, and each is opened": async (bench) => {
    const [page] = await open(bench);
    await press(page, "j", "j", "k", "j");
    assert.match(await hash(page), /n=1$/);
    assert.match(await text(page, "#detail .facts"), /no\. 1 /);
    await page.focus("#rows");
    await press(page, "ArrowDown");
    assert.match(await hash(page), /n=2/);
    await press(page, "Home");
    assert.match(await hash(page), /n=0/);
    await press(page, "End");
    assert.match(await hash(page), /n=9/);
    const active = await page.evaluate(() => {
      const grid = document.querySelector("#rows");
      const row = document.getElementById(grid?.getAttribute("aria-activedescendant") ?? "");
      return [row?.getAttribute("aria-selected"), row?.getAttribute("aria-rowindex"), grid?.getAttribute("aria-rowcount")];
    });
    assert.deepEqual(active, ["true", "11", "11"]);
    await bench.clean(page);
  },

  "tabs, body views, folding and the pointer have keys": async (bench) => {
    const [page] = await open(bench, { hash: "#/exchanges?n=1" });
    const copied = await copies(page);
    const tab = () => text(page, "#detail [role=tab][aria-selected=true]");
    await press(page, "q");
    assert.match(await tab(), /Request/);
    await press(page, "w");
    assert.match(await tab(), /Raw/);
    await press(page, "r");
    assert.match(await tab(), /Response/);
    await press(page, "p");
    assert.equal(await copied(), "/configuration/limit");
    await page.focus("#panel .code");
    const lines = () => page.locator("#panel .line").count();
    const all = await lines();
    await press(page, "ArrowUp", "ArrowUp", "ArrowLeft");
    assert.ok((await lines()) < all, "nothing was folded");
    await press(page, "ArrowRight");
    assert.equal(await lines(), all);
    await press(page, "f");
    await page.keyboard.type("BLOCK");
    await press(page, "Enter");
    assert.equal(await text(page, ".finder output"), "1 of 1 line");
    assert.equal(await text(page, "#panel .caret .text"), '"action": "block",');
    await press(page, "Escape");
    await press(page, "v");
    assert.equal(await text(page, ".segments [aria-pressed=true]"), "Raw");
    await press(page, "v");
    assert.equal(await text(page, ".segments [aria-pressed=true]"), "Hex");
    // Five bytes, each as a number and as a character.
    assert.equal(await page.locator("#panel mark").count(), 10);
    // The chosen view stays with the next exchange.
    await press(page, "j");
    assert.equal(await text(page, ".segments [aria-pressed=true]"), "Hex");
    await bench.clean(page);
  },

  "the filter is found, completed, corrected, switched off and left by keyboard": async (bench) => {
    const [page] = await open(bench);
    await press(page, "/");
    await page.keyboard.type("verd");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.keyboard.type("violates");
    await page.keyboard.press("Enter");
    await settled(page);
    await page.waitForFunction(() => document.querySelector("#found")?.textContent?.includes(" of 10"));
    assert.match(await hash(page), /q=verdict:violates/);
    await press(page, "\\");
    assert.equal(await text(page, "#found"), "");
    await press(page, "\\");
    assert.match(await text(page, "#found"), / of 10/);
    await page.fill("#query", "state:4xx");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(await text(page, "#query-error"), /there is no/);
    assert.ok((await page.locator(".row:not([hidden])").count()) > 0, "the last good result is gone");
    await page.fill("#query", "");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.ok(await page.locator("#query-error").isHidden());
    await bench.clean(page, /status of 400/);
  },

  "what the browser does not let the page copy, the person copies from a dialog": async (bench) => {
    const [page] = await open(bench, { hash: "#/exchanges?n=1" });
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await press(page, "y");
    const value = await page.locator("dialog textarea").inputValue();
    assert.match(value, /contrail inspect .* --at 1/);
    const selected = await page.evaluate(() => {
      const field = /** @type {HTMLTextAreaElement} */ (document.querySelector("dialog textarea"));
      return field.selectionEnd - field.selectionStart === field.value.length;
    });
    assert.ok(selected);
    await press(page, "Escape");
    assert.ok(await page.locator("dialog").isHidden());
    await bench.clean(page);
  },

  "curl is copied, and a HAR that contrail reads is saved": async (bench) => {
    const [page] = await open(bench, { hash: "#/exchanges?n=8" });
    const copied = await copies(page);
    await press(page, "c");
    assert.match(await copied(), /curl/);
    if (await page.locator("dialog").isVisible()) await press(page, "Escape");
    const saving = page.waitForEvent("download");
    await press(page, "s");
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "contrail-8.har");
    const har = bench.file("saved.har");
    await saved.saveAs(har);
    const run = await (await bench.inspect(har)).api("exchanges");
    assert.deepEqual(run.rows.map(({ method, operation }) => [method, operation]), [["POST", "testAction"]]);
    await bench.clean(page);
  },

  "a finding of the whole recording leads to the list of its exchanges": async (bench) => {
    const [page] = await open(bench);
    await press(page, "g", "f");
    assert.match(await text(page, "#view"), /response\.body/);
    await page.locator(".group-link").first().focus();
    await press(page, "Enter");
    assert.match(await hash(page), /#\/exchanges\?q=/);
    assert.ok((await page.locator(".row:not([hidden])").count()) > 0);
    await bench.clean(page);
  },

  "an operation whose name has a space leads to the list of its exchanges": async (bench) => {
    const paths = { "/things": { get: { responses: { 200: { description: "d" } } } } };
    const document = { openapi: "3.1.0", info: { title: "Things", version: "1" }, paths };
    const things = entry(0, { url: "https://tenant.example/things" });
    const recording = bench.file("things.har", har([things, entry(1), things]));
    const server = await bench.inspect(recording, "--contract", bench.file("things.json", JSON.stringify(document)));
    const page = await bench.page(server, { hash: "#/exchanges?n=0" });
    await press(page, "o");
    assert.equal(await page.locator("#query").inputValue(), 'op:"GET /things"');
    assert.equal(await page.locator(".row:not([hidden])").count(), 2);
    await bench.clean(page);
  },

  "on a phone an exchange is a page of its own, and the browser's Back leads to the list": async (bench) => {
    const [page] = await open(bench, { size: PHONE });
    await page.locator(".row").nth(1).click();
    await settled(page);
    assert.ok(await page.locator("#detail h2").isVisible());
    assert.ok(await page.locator("#rows").isHidden());
    await page.goBack();
    await settled(page);
    assert.ok(await page.locator("#rows").isVisible());
    await page.locator(".row").nth(1).click();
    await settled(page);
    await page.locator(".back").click();
    await settled(page);
    assert.ok(await page.locator("#rows").isVisible());
    await bench.clean(page);
  },

  "on a phone the link of the open view is on the screen, and keeps the focus": async (bench) => {
    const [page] = await open(bench, { size: PHONE });
    await page.locator("#views a", { hasText: "Run" }).press("Enter");
    await settled(page);
    assert.ok(await isSeen(page, "#views [aria-current=page]"));
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Run");
    await bench.clean(page);
  },

  "the keys are read from the top": async (bench) => {
    const [page] = await open(bench, { size: PHONE });
    await press(page, "?");
    assert.ok(await isSeen(page, "#dialog-title"));
    await bench.clean(page);
  },

  "single letters can be switched off, and Tab reaches everything in its order": async (bench) => {
    const [page] = await open(bench);
    await press(page, "?");
    await page.locator("dialog input[type=checkbox]").uncheck();
    await press(page, "Escape", "j");
    assert.doesNotMatch(await hash(page), /n=/);
    await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement)?.blur());
    const order = [];
    for (let i = 0; i < 40; i += 1) {
      await page.keyboard.press("Tab");
      const id = await page.evaluate(() => document.activeElement?.closest("[id]")?.id ?? "");
      if (order.at(-1) !== id) order.push(id);
      if (id === "splitter") break;
    }
    const wanted = ["skip", "help", "views", "query", "quick", "rows", "splitter"];
    assert.deepEqual(order.filter((id) => wanted.includes(id)), wanted);
    await bench.clean(page);
  },
};
