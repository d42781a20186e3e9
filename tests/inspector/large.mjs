// 100,000 exchanges: few rows exist, scrolling makes little script, memory stays flat.

import assert from "node:assert/strict";
import fs from "node:fs";
import { DESK, Server, frames, press, settled } from "./bench.mjs";
import * as recordings from "./recordings.mjs";

const COUNT = Number(process.env.ROWS ?? 100_000);
const HEAP = 40 << 20;
const NODES = 6_000;
/** Milliseconds of script in a frame. The bounds of a loaded machine are wider than the typical frame's. */
const TYPICAL_FRAME = 4;
const SLOW_FRAME = 16;

/** @type {Promise<Server> | undefined} */
let reading;

/** Begins to read the recording. @param {import("./bench.mjs").Bench} bench */
export function begin(bench) {
  const at = bench.file("large.har");
  const file = fs.openSync(at, "w");
  let text = "";
  for (const part of recordings.large(COUNT)) {
    text += part;
    if (text.length < 1 << 20) continue;
    fs.writeSync(file, text);
    text = "";
  }
  fs.writeSync(file, text);
  fs.closeSync(file);
  const contract = bench.file("large.json", recordings.largeContract());
  reading = Server.start(["inspect", "--contract", contract, at, "--listen", "127.0.0.1:0"]);
}

export async function end() {
  await (await reading)?.stop("SIGKILL");
}

export const tests = {
  [`${COUNT.toLocaleString("en")} rows scroll within the budgets`]: async (bench) => {
    const server = await reading;
    const run = await server.whole();
    assert.equal(run.n, COUNT);
    const page = await bench.page(server, { size: DESK });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable");
    const metrics = async () => {
      const { metrics: list } = await cdp.send("Performance.getMetrics");
      return Object.fromEntries(list.map(({ name, value }) => [name, value]));
    };
    await page.mouse.move(300, 500);
    const scripts = [];
    for (let i = 0; i < 150; i += 1) {
      const before = await metrics();
      await page.mouse.wheel(0, 280);
      await frames(page, 1);
      const after = await metrics();
      scripts.push((after.ScriptDuration - before.ScriptDuration) * 1000);
    }
    scripts.sort((a, b) => a - b);
    const [typical, slow] = [scripts[75], scripts[142]];
    // Dragging the bar over everything, and opening exchanges on the way.
    for (let i = 1; i <= 20; i += 1) {
      await page.evaluate((part) => {
        const rows = /** @type {HTMLElement} */ (document.querySelector("#rows"));
        rows.scrollTop = rows.scrollHeight * part;
      }, i / 20);
      await settled(page);
    }
    const texts = await page.locator(".row:not([hidden]) .operation").allInnerTexts();
    assert.ok(texts.length > 20 && texts.every((text) => /^[a-z]/i.test(text)), "rows stayed empty");
    for (let i = 0; i < 40; i += 1) await press(page, "k");
    await press(page, "Home", "n", "n");
    await settled(page);
    assert.match(await page.locator("#panel mark").innerText(), /10001/);
    await cdp.send("HeapProfiler.collectGarbage");
    const now = await metrics();
    console.log(
      `    script per frame: p50 ${typical.toFixed(1)} ms, p95 ${slow.toFixed(1)} ms; ` +
        `heap ${(now.JSHeapUsedSize / 1048576).toFixed(1)} MiB; ${now.Nodes} nodes`,
    );
    assert.ok(typical <= TYPICAL_FRAME, `script of the typical frame: ${typical} ms`);
    assert.ok(slow <= SLOW_FRAME, `script of slow frames: ${slow} ms`);
    assert.ok(now.JSHeapUsedSize <= HEAP, `heap: ${now.JSHeapUsedSize}`);
    assert.ok(now.Nodes <= NODES, `nodes: ${now.Nodes}`);
    const begun = Date.now();
    await page.fill("#query", "status:500");
    await page.waitForFunction(() => document.querySelector("#found")?.textContent?.startsWith("0 of"));
    console.log(`    filter to an answer: ${Date.now() - begun} ms, of which 100 ms wait for the next key`);
    await bench.clean(page);
  },
};
