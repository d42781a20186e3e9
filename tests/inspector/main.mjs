// Runs the suites that are named, or all: node main.mjs [SUITE…]

import { Bench } from "./bench.mjs";
import * as compare from "./compare.mjs";
import * as ends from "./ends.mjs";
import * as exchange from "./exchange.mjs";
import * as hostile from "./hostile.mjs";
import * as large from "./large.mjs";
import * as list from "./list.mjs";
import * as outline from "./outline.mjs";
import * as people from "./people.mjs";
import * as picture from "./picture.mjs";
import * as screenshots from "./screenshots.mjs";
import * as views from "./views.mjs";
import * as states from "./states.mjs";
import * as walks from "./walks.mjs";

/** Suites that run one after the other, beside those of the other lane; the last lane is measured, so it runs alone. */
const lanes = [[{ hostile, walks, ends, list, compare, exchange }, { views, outline, people }], [process.env.SHOTS ? { screenshots } : {}], [process.env.PICTURE ? { picture } : {}], [{ large }]];
const wanted = process.argv.slice(2);

async function run(suites) {
  for (const [name, suite] of Object.entries(suites)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const begun = Date.now();
    for (const [test, body] of Object.entries(suite.tests)) await bench.run(`${name}: ${test}`, body);
    console.log(`--  ${name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
}

const bench = await Bench.open();
// The largest recording is written and read while the other suites run.
if (wanted.length === 0 || wanted.includes("large")) large.begin(bench);
try {
  for (const beside of lanes) await Promise.all(beside.map(run));
} finally {
  await states.end();
  await large.end();
  await bench.close();
}
console.log(`${bench.passed} passed, ${bench.failed} failed`);
// A test that did not end may still hold the process.
process.exit(bench.failed > 0 ? 1 : 0);
