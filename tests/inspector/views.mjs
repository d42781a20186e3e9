// Every view and state: nothing wider than its window, and nothing that axe objects to, in both themes.

import assert from "node:assert/strict";
import { DESK, PHONE, axe, frames, settled } from "./bench.mjs";
import { STATES } from "./states.mjs";

const NARROWEST = { width: 320, height: 640 };

/** Elements that leave the window, but for code and tables, which scroll in themselves. */
function wide() {
  const scrolls = ".code, .table, #views, .rows, #run, .visually-hidden, .skip";
  const over = [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    // A closed menu has a box, too.
    return box.width > 0 && box.right > innerWidth + 1 && element.checkVisibility() && !element.closest(scrolls);
  });
  const page = document.documentElement.scrollWidth - innerWidth;
  return [...over.map((element) => `${element.tagName}.${element.className}`), ...(page > 0 ? [`page ${page}`] : [])];
}

/** What one view does wrong. @typedef {(page: import("playwright-core").Page) => Promise<string[]>} Check */

/** Lines of text that are higher than what holds them. */
function cut() {
  const held = [...document.querySelectorAll(".row:not([hidden]), button, .line, #views a")];
  const high = held.filter((element) => element.clientHeight > 0 && element.scrollHeight > element.clientHeight + 1);
  return high.map((element) => `${element.tagName}.${element.className}: ${element.textContent?.slice(0, 40)}`);
}

/** @type {Check} */
async function desk(page) {
  const wrong = await axe(page);
  // The other theme changes colours and nothing else.
  await page.emulateMedia({ colorScheme: "dark" });
  await frames(page, 2);
  wrong.push(...(await axe(page, ["color-contrast", "link-in-text-block"])).map((sentence) => `dark: ${sentence}`));
  await page.emulateMedia({ colorScheme: "light" });
  return wrong;
}

/** The distances of WCAG 2.2, 1.4.12, at 200 %, in the colours of the system. @type {Check} */
async function enlarged(page) {
  await page.emulateMedia({ forcedColors: "active" });
  await page.setViewportSize({ width: DESK.width / 2, height: DESK.height / 2 });
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }");
    document.adoptedStyleSheets = [sheet];
  });
  await frames(page, 2);
  const wrong = [...(await page.evaluate(wide)), ...(await page.evaluate(cut))];
  await page.evaluate(() => (document.adoptedStyleSheets = []));
  await page.emulateMedia({ forcedColors: null });
  return wrong.map((sentence) => `at 200 %: ${sentence}`);
}

/** @type {Check} */
async function phone(page) {
  await page.setViewportSize(PHONE);
  // A page without a token asks for nothing, and does not read the refusal to the end.
  await (page.url().includes("#") ? settled(page) : frames(page, 2));
  const found = await axe(page);
  await page.setViewportSize(NARROWEST);
  const over = await page.evaluate(wide);
  return [...found.map((sentence) => `on a phone: ${sentence}`), ...over.map((element) => `wider than ${NARROWEST.width} pixels: ${element}`)];
}

export const tests = {
  async "axe finds nothing wrong on a desk, in either theme, and on a phone; nothing is cut at 200 % with wide text and the colours of the system, or wider than 320 pixels"(bench) {
    const wrong = [];
    const how = { context: await bench.context(), pages: new Map() };
    for (const [name, state] of Object.entries(STATES)) {
      const page = await state(bench, how);
      for (const check of [desk, enlarged, phone]) wrong.push(...(await check(page)).map((sentence) => `${name}: ${sentence}`));
      await bench.clean(page, /status of 40[0-9]/, /ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/);
      if ([...how.pages.values()].includes(page)) await page.setViewportSize(DESK);
      else await (page.context() === how.context ? page : page.context()).close();
    }
    assert.deepEqual(wrong, []);
  },
};
