// What a screen reader gets of the list and of an exchange, and where Tab leads: as in goldens/, which UPDATE_GOLDENS=1
// writes anew.

import assert from "node:assert/strict";
import fs from "node:fs";
import { LAPTOP } from "./bench.mjs";
import { files } from "./states.mjs";

const GOLDENS = "tests/inspector/goldens";

function assertGolden(name, text) {
  const file = `${GOLDENS}/${name}.txt`;
  if (process.env.UPDATE_GOLDENS) {
    fs.mkdirSync(GOLDENS, { recursive: true });
    fs.writeFileSync(file, `${text}\n`);
  }
  assert.equal(`${text}\n`, fs.readFileSync(file, "utf8"), `${file}; UPDATE_GOLDENS=1 writes it anew`);
}

/** What has the focus, in words. */
function focused() {
  const element = document.activeElement;
  if (!element || element === document.body) return undefined;
  const name = element.getAttribute("aria-label") ?? element.textContent ?? "";
  return `${element.getAttribute("role") ?? element.tagName.toLowerCase()} ${name.replace(/\s+/g, " ").trim().slice(0, 60)}`.trim();
}

/** Where Tab leads from the page's start until it leaves the page. */
async function tabs(page) {
  const found = [];
  for (let i = 0; i < 200; i += 1) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(focused);
    if (here === undefined) return found.join("\n");
    found.push(here);
  }
  assert.fail("Tab does not leave the page");
}

const check = (name, hash) => async (bench) => {
  const page = await bench.page(await files(bench), { size: LAPTOP, hash });
  // The port, and the temporary folder, are another one each time.
  const same = (text) => text.replaceAll(bench.work, "FOLDER").replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT");
  assertGolden(`${name}-tree`, same(await page.locator("body").ariaSnapshot()));
  assertGolden(`${name}-tabs`, same(await tabs(page)));
  await bench.clean(page);
};

export const tests = {
  "a screen reader and Tab go through the list as before": check("list", "#/exchanges"),
  "a screen reader and Tab go through an exchange as before": check("exchange", "#/exchanges?n=1"),
};
