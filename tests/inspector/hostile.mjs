// Recorded text stays text: no script, no dialog, no request to elsewhere, no report of the browser, in every view.

import assert from "node:assert/strict";
import { LAPTOP, PHONE, go, press, processor } from "./bench.mjs";
import * as recordings from "./recordings.mjs";

/** Seconds of the processor after which an answer counts as a hang: no measurement, so that a slow machine passes. */
const BOUND = 5;

/** The number of the first hostile exchange whose response has this view. */
async function kindOf(server, kind) {
  const { n } = await server.api("run");
  for (let i = n - 1; i >= 0; i -= 1) {
    const { response } = await server.api(`exchanges/${i}`);
    if (response?.body.views.includes(kind)) return i;
  }
  throw new Error(`no hostile body has the view ${kind}`);
}

export const tests = {
  "no text of a recording or a contract becomes more than text, in any view": async (bench) => {
    const har = bench.file("hostile.har", recordings.hostile(bench.trapPort));
    const contract = bench.file("hostile.json", recordings.hostileContract(bench.trapPort));
    const server = await bench.inspect("--contract", contract, har);
    const run = await server.api("run");
    assert.ok(run.n > 130, `only ${run.n} of the hostile entries were read`);
    const page = await bench.page(server, { size: LAPTOP });
    const slow = [];
    const used = await processor(page, server);
    const timed = async (what, action) => {
      const begun = await used();
      await action();
      const took = (await used()) - begun;
      if (took > BOUND) slow.push(`${what}: ${took.toFixed(2)} s`);
    };
    await page.focus("#rows");
    for (let n = 0; n < run.n; n += 1) {
      await timed(`exchange ${n}`, () => press(page, "j"));
      if (n % 3 === 0) await timed(`views of exchange ${n}`, () => press(page, "v"));
      if (n % 3 === 1) await timed(`tabs of exchange ${n}`, () => press(page, ["q", "w", "t", "r"][Math.floor(n / 3) % 4]));
      if (n % 7 === 2) await timed(`comparison of exchange ${n}`, () => press(page, "d", "Escape"));
    }
    await timed("finding", () => press(page, "n", "n", "N"));
    for (const key of ["f", "o", "c", "m", "r"]) {
      await timed(`view ${key}`, () => press(page, "g", key));
      await press(page, "Tab", "Tab", "Tab");
      // What a view shows only when it is opened.
      for (const summary of (await page.locator("#view summary").all()).slice(0, 6)) {
        await summary.focus();
        await timed(`details of view ${key}`, () => press(page, "Enter"));
      }
    }
    await timed("contract", () => go(page, "#/contract/0"));
    for (const kind of ["events", "parts", "form", "image"]) {
      const n = await kindOf(server, kind);
      await timed(kind, () => go(page, `#/exchanges?n=${n}&side=response&view=${kind}`));
    }
    assert.deepEqual(slow, [], "answers took too long");
    await bench.clean(page);
  },

  "a hostile filter, address and token stay text": async (bench) => {
    const har = bench.file("ordinary.har", recordings.ordinary());
    const server = await bench.inspect(har);
    const page = await bench.page(server, { size: PHONE });
    const texts = recordings.payloads(bench.trapPort);
    for (const [i, text] of texts.entries()) {
      const part = encodeURIComponent(text.toWellFormed());
      await go(page, `#/exchanges?q=${part}`);
      if (i % 8 === 0) {
        await go(page, `#/${part}/${part}?${part}=${part}&n=${part}&sort=${part}&side=${part}&view=${part}&finding=${part}`);
      }
    }
    // What the filter does not understand is a refusal, which the browser's console reports.
    await bench.clean(page, /status of 400/);
    const gate = await bench.tab(await bench.context(PHONE), server);
    for (const [i, text] of texts.slice(0, 12).entries()) {
      await gate.goto(`${server.origin}/#k=${encodeURIComponent(text.toWellFormed())}`);
      // The address of an open page is read in another way.
      if (i % 4 === 0) await gate.reload();
      await gate.waitForSelector("body[data-state=gate]");
    }
    await bench.clean(gate, /status of 401/);
  },

  "the browser itself refuses markup made of text, and script that is not a file": async (bench) => {
    const har = bench.file("ordinary.har", recordings.ordinary());
    const server = await bench.inspect(har);
    const page = await bench.page(server);
    const refused = await page.evaluate(() => {
      const refusals = [];
      const tries = {
        markup: () => (document.createElement("p")["inner" + "HTML"] = "<b>x</b>"),
        parser: () => new globalThis["DOM" + "Parser"]().parseFromString("<b>x</b>", "text/html"),
        script: () => (document.createElement("script").text = "1"),
        handler: () => document.createElement("a").setAttribute("onclick", "globalThis.canary = 1"),
        policy: () => globalThis.trustedTypes.createPolicy("x", {}),
      };
      for (const [name, attempt] of Object.entries(tries)) {
        try {
          attempt();
        } catch {
          refusals.push(name);
        }
      }
      return refusals;
    });
    assert.deepEqual(refused, ["markup", "parser", "script", "handler", "policy"]);
  },
};
