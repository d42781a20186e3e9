// Two exchanges side by side, by keyboard alone.

import assert from "node:assert/strict";
import { go, isSeen, press } from "./bench.mjs";
import { beside, files, pairs } from "./states.mjs";
import { copies, hash, text } from "./walks.mjs";

/** Rows as lines of text, without the words that stand beside their signs. */
const plain = (text) => text.replaceAll(/\s+/g, " ").replaceAll(/ , (added|removed|differs|the same)/g, "");
const differing = async (page) => (await page.locator("tr.differs").allInnerTexts()).map(plain);
const focused = async (page) => plain(await innerText(page));
const innerText = (page) => page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement)?.innerText ?? "");

export const tests = {
  "d compares with the exchange that conforms, j and k walk the differences, c copies them, Escape leads back": async (bench) => {
    const page = await bench.page(await files(bench), { hash: "#/exchanges?q=op:getRateLimitPolicy&n=1" });
    const copied = await copies(page);
    await press(page, "d");
    assert.equal(await hash(page), "#/compare/1/0?q=op:getRateLimitPolicy");
    assert.match(await text(page, "#view"), /No\. 0 is the latest exchange of getRateLimitPolicy with status 2xx of client dashboard that conforms/);
    await press(page, "j");
    assert.match(await focused(page), /≠\/configuration\/limit 100 10001/);
    assert.ok(await isSeen(page, "tr.differs"));
    await press(page, "j", "k");
    assert.match(await focused(page), /\/configuration\/limit/);
    await press(page, "c");
    assert.match(await copied(), /^no\. 0 GET .* 200\nno\. 1 GET .* 200\nresponse body at \/configuration\/limit: 100 → 10001$/);
    await press(page, "Escape");
    assert.equal(await hash(page), "#/exchanges?q=op:getRateLimitPolicy&n=1");
    await press(page, "d");
    await page.goBack();
    assert.equal(await hash(page), "#/exchanges?q=op:getRateLimitPolicy&n=1");
    await bench.clean(page);
  },

  "D and d compare with the exchange that is opened in between, and Escape lets it be": async (bench) => {
    const page = await bench.page(await files(bench), { hash: "#/exchanges?n=1" });
    await press(page, "D");
    assert.match(await text(page, "#bands"), /compare no\. 1 with/);
    await press(page, "j", "d");
    assert.equal(await hash(page), "#/compare/1/2");
    assert.equal(await page.locator("#bands").innerText(), "");
    await press(page, "j");
    assert.match(await focused(page), /\+\/consumer absent "client"/);
    await press(page, "D");
    assert.equal(await hash(page), "#/exchanges?n=1");
    await press(page, "Escape");
    assert.equal(await page.locator("#bands").innerText(), "");
    await go(page, "#/exchanges?n=4");
    await press(page, "d");
    assert.match(await text(page, "#view"), /There is no other exchange of GET \/api\/v2\/nowhere/);
    await bench.clean(page);
  },

  "numbers are exact, what is the same is folded, and texts are compared by line": async (bench) => {
    const page = await bench.page(await pairs(bench), { hash: "#/compare/1/0" });
    const places = await differing(page);
    assert.equal(places.length, 6, places.join("\n"));
    for (const expected of ["822106502566256641 .*822106502566256642", "/tags/1.*\"y\".*\"z\"", "/gone.*true.*absent", "/new.*absent.*1\\.0", "take.*10.*20", "path.*auth0%7C1.*auth0%7C2"]) {
      assert.ok(places.some((place) => new RegExp(expected).test(place)), `${expected}: ${places.join("\n")}`);
    }
    await go(page, "#/compare/3/2");
    assert.deepEqual(await differing(page), ["+line 21 absent <p>more</p>"]);
    const all = await page.locator("#view tbody tr").count();
    await page.locator(".fold button").last().focus();
    await press(page, "Enter");
    assert.ok((await page.locator("#view tbody tr").count()) > all);
    assert.match(await focused(page), /line 21/);
    await bench.clean(page);
  },

  "B: beside a base the list has what was added, removed and changed, and d shows what changed": async (bench) => {
    const page = await bench.page(await beside(bench));
    const rows = await page.locator(".row:not([hidden]) .operation").allInnerTexts();
    assert.deepEqual(rows.sort(), ["added undocumented", "changed getRateLimitPolicy", "removed undocumented", "undocumented"]);
    assert.match(await text(page, "#counts"), /^4\s/);
    await press(page, "/");
    await page.keyboard.type("is:changed");
    await press(page, "Enter");
    assert.equal(await text(page, "#found"), "1 of 4");
    await press(page, "j", "d");
    assert.match(await text(page, "#view"), /contrail diff pairs no\. 4 and no\. 1/);
    await press(page, "j");
    assert.match(await focused(page), /≠\/configuration\/limit 100 10001/);
    await press(page, "Escape");
    assert.equal(await hash(page), "#/exchanges?q=is:changed&n=1");
    await page.locator("#quick [data-term='is:removed']").focus();
    await press(page, "Enter");
    assert.match(await hash(page), /is:removed/);
    // Who types slowly asks for half a term.
    await bench.clean(page, /status of 400/);
  },
};
