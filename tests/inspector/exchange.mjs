// What an exchange, its findings and its operation show beyond the list, by keyboard alone.

import assert from "node:assert/strict";
import { press, settled } from "./bench.mjs";
import { files, kinds } from "./states.mjs";

const text = (page, at) => page.locator(at).first().innerText();

export const tests = {
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
    await toggle("Only gaps");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 3);
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
    await page.locator(".map-head input").focus();
    await page.keyboard.type("RANK");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 0);
    await page.locator(".map-head input").fill("owner");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 1);
    assert.match(await text(page, ".map"), /getThing/);
    await bench.clean(page);
  },
};
