// What the suites stand on: contrail as a process, a browser whose pages report what must not happen, and waiting for
// what can be seen instead of for a time.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TOKEN = "inspector-tests-0123456789abcdef0123456789abcdef";

/** Longer than this, nothing that a page or a server does may take here. */
const PATIENCE_MS = 30_000;

/** Longer than this, no test and no file that is read may take. */
const TEST_MS = 600_000;

/** Something did not end. */
class Stalled extends Error {}

/** What `promise` brings, or `Stalled` after `ms`. @template T @param {Promise<T>} promise @returns {Promise<T>} */
export function within(ms, what, promise) {
  let timer;
  const over = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Stalled(`${what} did not end within ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, over]).finally(() => clearTimeout(timer));
}

export const DESK = { width: 1440, height: 900 };
export const LAPTOP = { width: 1024, height: 768 };
export const PHONE = { width: 390, height: 844 };

/** A process of contrail. */
export class Server {
  /** Starts contrail, and waits for the line that names the page. */
  static async start(args, { cwd, token = TOKEN } = {}) {
    const child = spawn(process.env.CONTRAIL, args, {
      cwd,
      env: { ...process.env, CONTRAIL_INSPECT_TOKEN: token, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const server = new Server(child, token);
    child.stderr.setEncoding("utf8").on("data", (text) => (server.said += text));
    child.stdout.setEncoding("utf8").on("data", (text) => (server.printed += text));
    server.ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
    const open = new Promise((resolve) => {
      child.stderr.on("data", () => {
        server.origin ??= /inspector on (http:\/\/[\d.]+:\d+)/.exec(server.said)?.[1];
        if (server.origin) resolve(undefined);
      });
    });
    await within(PATIENCE_MS, "opening the page", Promise.race([open, server.ended])).catch(() => {});
    if (server.origin) return server;
    await server.stop("SIGKILL");
    throw new Error(`contrail ${args.join(" ")} opened no page: ${server.said}`);
  }

  /** The page over files, read whole. */
  static async inspect(...args) {
    const server = await Server.start(["inspect", ...args, "--listen", "127.0.0.1:0"]);
    await server.whole();
    return server;
  }

  constructor(child, token) {
    this.child = child;
    this.token = token;
    this.said = "";
    this.printed = "";
    this.origin = undefined;
  }

  get address() {
    return `${this.origin}/#k=${this.token}`;
  }

  get port() {
    return new URL(this.origin).port;
  }

  /** An answer of the API. */
  async api(path) {
    const answer = await fetch(`${this.origin}/api/${path}`, { headers: { authorization: `Bearer ${this.token}` } });
    return answer.json();
  }

  /** Seconds of the processor that it has used. */
  get used() {
    const fields = fs.readFileSync(`/proc/${this.child.pid}/stat`, "utf8").split(") ")[1].split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /** Waits until all entries have been read. */
  async whole() {
    const begun = Date.now();
    for (;;) {
      const run = await this.api("run");
      if (run.reading === null) return run;
      if (Date.now() - begun > TEST_MS) throw new Error(`not read: ${JSON.stringify(run.reading)}; ${this.said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** The proxy's origin, once it listens. */
  async proxy() {
    const begun = Date.now();
    for (;;) {
      const found = /(http:\/\/[\d.:]+)/.exec((await this.api("run")).listeners.join(" "));
      if (found) return found[1];
      if (Date.now() - begun > PATIENCE_MS) throw new Error(`it does not listen: ${this.said}`);
    }
  }

  async stop(signal = "SIGTERM") {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    return this.ended;
  }
}

function launch() {
  return chromium.launch({
    timeout: 120_000,
    executablePath: process.env.BROWSER,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"],
  });
}

export class Bench {
  static async open() {
    const bench = new Bench();
    bench.work = process.env.WORK;
    bench.browser = await launch();
    bench.trap = net.createServer((socket) => {
      bench.calls.count += 1;
      socket.destroy();
    });
    await new Promise((resolve) => bench.trap.listen(0, "127.0.0.1", resolve));
    return bench;
  }

  constructor() {
    this.passed = 0;
    this.failed = 0;
    this.servers = [];
    this.contexts = [];
    /** Windows that no test has; a new one costs more than most tests do.
     * @type {import("playwright-core").BrowserContext[]} */
    this.windows = [];
    /** Recordings name this port: whoever calls it was made to. */
    this.calls = { count: 0 };
  }

  get trapPort() {
    return this.trap.address().port;
  }

  /** Runs a test, and ends what it opened. A browser that stalls does so once in a blue moon, a page always: so a test
   * that stalls is run once more, in a browser of its own. */
  async run(name, body) {
    const begun = Date.now();
    const seconds = () => ((Date.now() - begun) / 1000).toFixed(1);
    try {
      await this.attempt(body).catch(async (error) => {
        if (!(error instanceof Stalled)) throw error;
        console.log(`once more, for after ${seconds()} s it stalled: ${name}: ${error.stack}`);
        const browser = await launch();
        await this.attempt(body, { browser, windows: [] }).finally(() => browser.close());
      });
      this.passed += 1;
      console.log(`ok  ${name} (${seconds()} s)`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED after ${seconds()} s: ${name}: ${error.stack ?? error}`);
    }
  }

  async attempt(body, more = {}) {
    const own = Object.assign(Object.create(this), { servers: [], contexts: [], window: undefined, ...more });
    try {
      await within(TEST_MS, "the test", body(own));
      await within(PATIENCE_MS, "leaving the window", own.leave());
    } finally {
      const closed = Promise.all(own.contexts.map((context) => context.close()));
      for (const server of own.servers) await server.stop("SIGKILL");
      await within(PATIENCE_MS, "closing the pages", closed).catch((error) => console.log(error.message));
    }
  }

  /** Leaves the window of the test to the next one, with nothing in it. */
  async leave() {
    const context = this.window;
    if (!context) return;
    for (const page of context.pages()) {
      await page.evaluate(() => localStorage.clear());
      await page.close();
    }
    await context.clearPermissions();
    this.contexts.splice(this.contexts.indexOf(context), 1);
    this.windows.push(context);
  }

  /** A file of the runner's folder. */
  file(name, content) {
    const at = path.join(this.work, name);
    if (content !== undefined) fs.writeFileSync(at, content);
    return at;
  }

  /** contrail with a page, stopped at the end of the test. */
  async serve(...args) {
    const server = await Server.start(args, { cwd: process.cwd() });
    this.servers.push(server);
    return server;
  }

  /** The page over files, read whole. */
  async inspect(...args) {
    const server = await Server.inspect(...args);
    this.servers.push(server);
    return server;
  }

  /** A window of the browser; tabs of one context share their storage. */
  async context(size = DESK, theme = "light", more = {}) {
    const context = await this.browser.newContext({ viewport: size, colorScheme: theme, timezoneId: "UTC", ...more });
    context.setDefaultTimeout(PATIENCE_MS);
    this.contexts.push(context);
    return context;
  }

  /** A page of a server, drawn: in the test's window, which may be that of a test before it. */
  async page(server, { size = DESK, hash = "", context } = {}) {
    if (!context) {
      const left = this.window ? undefined : this.windows.pop();
      if (left) this.contexts.push(left);
      context = this.window ??= left ?? (await this.context());
    }
    const page = await this.tab(context, server);
    await page.setViewportSize(size);
    await page.goto(server.address);
    await page.waitForSelector("body[data-state=open]");
    await settled(page);
    if (hash) await go(page, hash);
    return page;
  }

  /** An empty tab that reports what must not happen. */
  async tab(context, server) {
    const page = await context.newPage();
    const wrong = [];
    page.wrong = wrong;
    page.asked = new Set();
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      wrong.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
      const url = request.url();
      if (server && !url.startsWith(`${server.origin}/`) && !url.startsWith(`blob:${server.origin}/`)) {
        wrong.push(`request: ${url}`);
      }
      if (!url.includes("/api/stream")) page.asked.add(request);
    });
    for (const over of ["requestfinished", "requestfailed"]) page.on(over, (request) => page.asked.delete(request));
    await page.addInitScript(() => {
      globalThis.violations = [];
      addEventListener("securitypolicyviolation", (event) => {
        globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    return page;
  }

  /** Asserts that nothing happened that must not. */
  async clean(page, ...allowed) {
    const more = await page.evaluate(() => ({ ran: globalThis.canary, violations: globalThis.violations }));
    assert.equal(more.ran, undefined, "recorded text ran as script");
    assert.deepEqual(more.violations, []);
    assert.deepEqual(page.wrong.filter((one) => !allowed.some((pattern) => pattern.test(one))), []);
    assert.equal(this.calls.count, 0, "recorded text made the browser call out");
  }

  async close() {
    await within(PATIENCE_MS, "the browser", this.browser.close()).catch((error) => console.log(error.message));
    this.trap.close();
  }
}

/** Waits until the page has its answers and has drawn them. */
export async function settled(page) {
  const begun = Date.now();
  for (;;) {
    await frames(page, 2);
    if (page.asked.size === 0) {
      await within(PATIENCE_MS, "a timer of the page", page.evaluate(() => new Promise((done) => setTimeout(done, 0))));
      if (page.asked.size === 0) return Date.now() - begun;
    }
    if (Date.now() - begun > PATIENCE_MS) {
      throw new Error(`no answer: ${[...page.asked].map((request) => request.url()).join(" ")}`);
    }
  }
}

/** Waits for frames of the page. */
export function frames(page, count) {
  const drawn = page.evaluate(async (times) => {
    for (let i = 0; i < times; i += 1) await new Promise((done) => requestAnimationFrame(done));
  }, count);
  return within(PATIENCE_MS, "a frame", drawn);
}

/** Presses keys, one after the other, each until what it did is drawn. */
export async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await settled(page);
  }
}

/** Presses Tab until the focus is on what has this name or text. @param {RegExp} name */
export async function tabTo(page, name) {
  for (let i = 0; i < 200; i += 1) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const element = document.activeElement;
      return [element?.getAttribute("aria-label") ?? "", element?.textContent ?? ""];
    });
    if (here.some((one) => name.test(one))) return;
  }
  assert.fail(`Tab does not reach ${name}`);
}

/** Seconds of the processor that a page and its server use, whatever else the machine does.
 * @returns {Promise<() => Promise<number>>} */
export async function processor(page, server) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  return async () => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "ProcessTime").value + server.used;
  };
}

/** Goes to a place of the page. */
export async function go(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await settled(page);
}

/** What axe finds wrong, as sentences. @param {string[]} [rules] only these */
export async function axe(page, rules) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async (only) => {
    const result = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) });
    return result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3)}`);
  }, rules);
}

/** Whether the text of one of these elements is on the screen, uncovered, without scrolling. */
export async function isSeen(page, selector) {
  return page.evaluate((at) => {
    return [...document.querySelectorAll(at)].some((element) => {
      const box = element.getClientRects()[0];
      if (!box) return false;
      const x = box.left + Math.min(box.width, 40) / 2;
      const y = box.top + box.height / 2;
      if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
      const top = document.elementFromPoint(x, y);
      return top !== null && element.contains(top);
    });
  }, selector);
}
