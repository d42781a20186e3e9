// What people come to the page for, by keyboard alone: the engineer whose replay missed, who shows something to an
// auditor, and the owner of the contract. The other two are in walks (A) and compare (B).

import assert from "node:assert/strict";
import { press, tabTo } from "./bench.mjs";
import { files, kinds, startReplay } from "./states.mjs";
import { copies } from "./walks.mjs";

const text = (page, at) => page.locator(at).first().innerText();
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

export const tests = {
  "C: a missed request shows the nearest recording, and the option that matches it is copied": async (bench) => {
    const server = await startReplay(bench);
    bench.servers.push(server);
    const page = await bench.page(server);
    const copied = await copies(page);
    await press(page, "g", "m");
    await page.waitForSelector(".miss");
    assert.match(await text(page, ".miss:has(.option)"), /nearest .* GET \/api\/v2\/nowhere\?x=1 404 \(1 difference\)/);
    await tabTo(page, /^Copy the option$/);
    await press(page, "Enter");
    assert.equal(await copied(), "--ignore 'GET /api/v2/nowhere=query:x'");
    await bench.clean(page);
  },

  "D: a claim of the audit leads to the exchanges that it rests on, each with its address, and its source in print": async (bench) => {
    const page = await bench.page(await files(bench));
    await press(page, "g", "c");
    await page.waitForSelector("section.calls");
    await tabTo(page, /^all its exchanges$/);
    await press(page, "Enter");
    assert.match(await hash(page), /^#\/exchanges\?q=client:/);
    await press(page, "j");
    const address = await page.evaluate(() => location.href);
    assert.doesNotMatch(address, /k=/, "the token is no part of what one sends");
    await page.emulateMedia({ media: "print" });
    assert.match(await text(page, "#detail .citation"), /ordinary\.har/);
    assert.match(await text(page, "#citation"), /contrail \d/);
    assert.ok(!(await page.locator("#listing").isVisible()));
    await page.emulateMedia({ media: null });
    await bench.clean(page);
  },

  "E: what the contract does not show is a list to work through, each with an example and what learn says": async (bench) => {
    const page = await bench.page(await kinds(bench));
    await press(page, "g", "o");
    await page.waitForSelector(".operation-row");
    await tabTo(page, /^Only gaps$/);
    await press(page, "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".operation-row").length === 3);
    await tabTo(page, /getThing/);
    await press(page, "Enter");
    await page.waitForSelector(".gap-part a");
    await press(page, "g", "f");
    await page.waitForSelector(".group.is-gap");
    await page.locator(".group.is-gap details.more > summary").first().focus();
    await press(page, "Enter");
    await page.waitForSelector(".group.is-gap details.more[open] pre");
    assert.match(await text(page, ".group.is-gap details.more[open]"), /contrail learn /);
    await tabTo(page, /no\. \d+|^\d+$/);
    await press(page, "Enter");
    assert.match(await hash(page), /^#\/exchanges\?.*n=\d+/);
    await bench.clean(page);
  },
};
