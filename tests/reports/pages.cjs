// Opens pages in Chromium: node pages.cjs SHOTS PAGE..., where SHOTS is a folder for screenshots, or empty.
"use strict";

const path = require("node:path");
const { chromium } = require("playwright-core");

const widths = { phone: 390, desk: 1280 };

// What a page shows, measured in the page itself.
function measure() {
  const details = [...document.querySelectorAll("details")];
  details.forEach((one) => (one.open = true));
  const wide = [...document.querySelectorAll("body *")].filter(
    (one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll"),
  );
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.map((one) => one.outerHTML.slice(0, 120)),
    scrolls: [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1).length,
    details: details.length,
    marks: [...document.querySelectorAll("mark")].map((one) => one.textContent),
    bars: document.querySelectorAll("svg.timeline rect").length,
    shares: document.querySelectorAll("svg.bar rect").length,
    passages: [...document.querySelectorAll("h3")].filter((one) => one.textContent === "Contract").length,
  };
}

// Opens a page at each finding, as a link does: the finding is on the screen, and so is its mark.
async function follow(browser, file, fail) {
  const page = await browser.newPage({ viewport: { width: widths.desk, height: 900 } });
  await page.goto(`file://${path.resolve(file)}`);
  const links = await page.$$eval("td a", (all) => all.map((one) => one.hash));
  if (new Set(links).size !== links.length || links.length === 0) fail(`${file}: the links are ${links}`);
  for (const link of links) {
    await page.goto("about:blank");
    await page.goto(`file://${path.resolve(file)}${link}`);
    const shown = await page.evaluate(() => {
      const seen = (one) => {
        const { top, bottom, height } = one.getBoundingClientRect();
        return one.checkVisibility({ contentVisibilityAuto: true }) && top >= 0 && top < innerHeight - 20 && bottom > 0 && height > 0;
      };
      const exhibit = document.querySelector(":target");
      const mark = exhibit?.querySelector("mark");
      const about = exhibit?.closest("tr.more")?.previousElementSibling;
      return { exhibit: !!exhibit && seen(exhibit), about: !!about && seen(about), mark: !mark || seen(mark) };
    });
    for (const [what, is] of Object.entries(shown)) if (!is) fail(`${link}: the ${what} is not on the screen`);
  }
  await page.close();
}

async function main() {
  const [shots, ...pages] = process.argv.slice(2);
  const browser = await chromium.launch({
    timeout: 120000,
    executablePath: process.env.BROWSER,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"],
  });
  let failed = 0;
  const fail = (message) => {
    failed += 1;
    console.error(`FAILED: ${message}`);
  };
  for (const file of pages) {
    const name = path.basename(file, ".html");
    for (const [screen, width] of Object.entries(widths)) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
        const loaded = [];
        page.on("request", (request) => loaded.push(request.url()));
        page.on("console", (message) => fail(`${name}, ${screen}: ${message.text()}`));
        await page.goto(`file://${path.resolve(file)}`);
        const shown = await page.evaluate(measure);
        if (loaded.length !== 1) fail(`${name}, ${screen}: the page loads ${loaded}`);
        if (shown.overflow > 0) fail(`${name}, ${screen}: ${shown.overflow} pixels wider than the window: ${shown.wide}`);
        if (screen === "phone" && shown.scrolls > 0) fail(`${name}, ${screen}: ${shown.scrolls} tables scroll sideways`);
        if (name === "verify") {
          for (const mark of ["take=0", "content-type: text/plain", "[]", '"complex/2.0"', "(no authorization)"]) {
            if (!shown.marks.includes(mark)) fail(`${name}, ${screen}: ${mark} is not marked`);
          }
          if (shown.passages === 0) fail(`${name}, ${screen}: no passage of the contract`);
        }
        if (name === "times" && (shown.bars < 2 || shown.shares < 10)) fail(`${name}, ${screen}: bars are missing`);
        const shot = path.join(shots, `${name}-${screen}-${colorScheme}.png`);
        if (shots) await page.screenshot({ path: shot, fullPage: true, timeout: 120000 });
        await page.close();
      }
    }
    if (name === "verify" || name === "times") await follow(browser, file, fail);
    console.log(`ok: ${name}`);
  }
  await browser.close();
  process.exit(failed === 0 ? 0 : 1);
}

main();
