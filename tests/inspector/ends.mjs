// Servers that end, come back, or are another run; many tabs; a pause.

import assert from "node:assert/strict";
import { Server, go, press, settled } from "./bench.mjs";
import * as recordings from "./recordings.mjs";

const LOST = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/];
const text = (page, at) => page.locator(at).first().innerText();

export const tests = {
  "a killed contrail is a sentence, and what was loaded stays; another run on its port is not mixed in": async (bench) => {
    const har = bench.file("ordinary.har", recordings.ordinary());
    const server = await bench.inspect(har);
    const page = await bench.page(server, { hash: "#/exchanges?n=1" });
    await server.stop("SIGKILL");
    await page.waitForSelector(".band.bad");
    assert.match(await text(page, ".band.bad"), /No answer since .* trying again in .* complete up to 10/);
    assert.equal(await text(page, "#panel mark"), "10001");
    await press(page, "j");
    const again = await Server.start(["inspect", har, "--listen", `127.0.0.1:${server.port}`]);
    bench.servers.push(again);
    await again.whole();
    // Unless it has tried by itself.
    await page.locator(".band button", { hasText: "Try now" }).click({ timeout: 1_000 }).catch(() => {});
    await page.waitForFunction(() => document.querySelector("#bands")?.textContent?.includes("Another run"));
    await page.locator(".band button", { hasText: "Show it" }).click();
    await page.waitForSelector("body[data-state=open]");
    await settled(page);
    assert.ok((await page.locator(".row:not([hidden])").count()) > 5);
    await bench.clean(page, ...LOST);
  },

  "another run with another token is not taken for this one": async (bench) => {
    const har = bench.file("ordinary.har", recordings.ordinary());
    const server = await bench.inspect(har);
    const page = await bench.page(server);
    await server.stop("SIGKILL");
    await page.waitForSelector(".band.bad");
    const other = await Server.start(["inspect", har, "--listen", `127.0.0.1:${server.port}`], {
      token: "another-0123456789abcdef0123456789abcdef",
    });
    bench.servers.push(other);
    await page.waitForSelector("body[data-state=gate]");
    assert.match(await text(page, "#gate"), /Another run answers/);
    await page.fill("#paste", other.address);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".row");
    await bench.clean(page, ...LOST, /status of 401/);
  },

  "seven tabs work; those that lost the live updates say so and take them back": async (bench) => {
    const server = await bench.inspect(bench.file("ordinary.har", recordings.ordinary()));
    const context = await bench.context();
    const first = await bench.page(server, { context });
    let last = first;
    for (let i = 1; i < 7; i += 1) last = await bench.page(server, { context });
    await go(last, "#/exchanges?n=1");
    assert.equal(await text(last, "#panel mark"), "10001");
    await first.bringToFront();
    await first.waitForFunction(() => document.querySelector("#bands")?.textContent?.includes("moved"));
    await go(first, "#/exchanges?n=1");
    assert.equal(await text(first, "#panel mark"), "10001");
    await first.locator(".band button", { hasText: "Take them back" }).click();
    await first.waitForFunction(() => !document.querySelector("#bands")?.textContent);
    await bench.clean(first);
  },

  "a live run grows under a reader who is not moved; paused, it says how many came": async (bench) => {
    const har = bench.file("ordinary.har", recordings.ordinary());
    const linger = ["--inspect-linger", "always"];
    const server = await bench.serve("replay", har, "--inspect", "127.0.0.1:0", "--listen", "127.0.0.1:0", ...linger);
    const [, origin] = /(http:\/\/[\d.:]+)/.exec((await server.api("run")).listeners.join(" ")) ?? [];
    const send = async (count) => {
      for (let i = 0; i < count; i += 1) await fetch(`${origin}/api/v2/rate-limit-policies/rlp_Default000000000000000`);
    };
    const page = await bench.page(server);
    assert.match(await text(page, "#none"), /No exchange yet/);
    await send(60);
    await page.waitForFunction(() => document.querySelector("#counts")?.textContent?.includes("60"));
    const end = await page.evaluate(() => {
      const rows = /** @type {HTMLElement} */ (document.querySelector("#rows"));
      return rows.scrollHeight - rows.clientHeight - rows.scrollTop;
    });
    assert.ok(end < 4, "the list does not follow");
    await page.focus("#rows");
    await press(page, "Home");
    await send(5);
    await page.waitForFunction(() => document.querySelector(".newer")?.textContent?.includes("5 new"));
    assert.equal(await page.evaluate(() => document.querySelector("#rows")?.scrollTop), 0);
    await press(page, "a");
    await send(3);
    await page.waitForFunction(() => document.querySelector("#bands")?.textContent?.includes("3 exchanges since"));
    await press(page, "a");
    await page.waitForFunction(() => document.querySelector("#rows")?.getAttribute("aria-rowcount") === "69");
    // The run ends, the page lingers; then contrail ends, too.
    server.child.kill("SIGINT");
    await page.waitForFunction(() => document.querySelector("#bands")?.textContent?.includes("The run ended: exit status"));
    await server.stop("SIGINT");
    await page.waitForFunction(() => document.querySelector("#bands")?.textContent?.includes("contrail has ended"));
    await bench.clean(page, ...LOST);
  },
};
