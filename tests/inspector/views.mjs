// Every view and state: nothing wider than its window, and nothing that axe objects to, in both themes.

import assert from "node:assert/strict";
import { DESK, PHONE, axe, frames } from "./bench.mjs";
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

/** @param {import("./bench.mjs").Bench} bench @param {Check} check */
async function walk(bench, size, check) {
  const wrong = [];
  const pages = new Map();
  for (const [name, state] of Object.entries(STATES)) {
    const page = await state(bench, { size, theme: "light", pages });
    for (const sentence of await check(page)) wrong.push(`${name}: ${sentence}`);
    await bench.clean(page, /status of 40[0-9]/, /ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/);
    if (![...pages.values()].includes(page)) await page.context().close();
  }
  assert.deepEqual(wrong, []);
}

/** @type {Check} */
async function narrow(page) {
  const found = await axe(page);
  const size = page.viewportSize();
  await page.setViewportSize(NARROWEST);
  const over = await page.evaluate(wide);
  await page.setViewportSize(size);
  return [...found, ...over.map((element) => `wider than ${NARROWEST.width} pixels: ${element}`)];
}

/** Lines of text that are higher than what holds them. */
function cut() {
  const held = [...document.querySelectorAll(".row:not([hidden]), button, .line, #views a")];
  const high = held.filter((element) => element.clientHeight > 0 && element.scrollHeight > element.clientHeight + 1);
  return high.map((element) => `${element.tagName}.${element.className}: ${element.textContent?.slice(0, 40)}`);
}

/** The distances of WCAG 2.2, 1.4.12, at 200 %, in the colours of the system. @type {Check} */
async function enlarged(page) {
  const size = page.viewportSize();
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
  await page.setViewportSize(size);
  return wrong;
}

/** The other theme changes colours and nothing else. @type {Check} */
async function dark(page) {
  await page.emulateMedia({ colorScheme: "dark" });
  await frames(page, 2);
  const wrong = await axe(page, ["color-contrast", "link-in-text-block"]);
  await page.emulateMedia({ colorScheme: "light" });
  return wrong.map((sentence) => `dark: ${sentence}`);
}

/** @type {Check} */
const desk = async (page) => [...(await axe(page)), ...(await dark(page)), ...(await enlarged(page))];

export const tests = {
  "on a desk axe finds nothing wrong in either theme, and at 200 % with wide text and the colours of the system nothing is cut": (bench) =>
    walk(bench, DESK, desk),
  "on a phone axe finds nothing wrong, and nothing is wider than 320 pixels": (bench) => walk(bench, PHONE, narrow),
};
