// Every view and state of the page, each as a function that opens it.

import { Server, go, press, settled } from "./bench.mjs";
import * as recordings from "./recordings.mjs";

/** Servers that several states share; they end with the process. */
const shared = new Map();

/** @param {string} name @param {() => Promise<Server>} start @returns {Promise<Server>} */
function share(name, start) {
  if (!shared.has(name)) shared.set(name, start());
  return shared.get(name);
}

/** A page over files that several states share.
 * @param {string} name @param {(bench: import("./bench.mjs").Bench) => string[]} args */
const over = (name, args) => (bench) => share(name, () => Server.inspect(...args(bench)));

/** The page over an ordinary recording. */
export const files = over("files", (bench) => [bench.file("ordinary.har", recordings.ordinary())]);

/** The page over pairs of exchanges. */
export const pairs = over("pairs", (bench) => [bench.file("pairs.har", recordings.pairs())]);

/** The page over a recording and its base. */
export const beside = over("beside", (bench) => {
  const [old, now] = recordings.versions();
  return [bench.file("new.har", now), "--base", bench.file("old.har", old)];
});

/** The page over bodies of each kind. */
export const kinds = over("kinds", (bench) => [
  bench.file("kinds.har", recordings.kinds()),
  "--contract",
  bench.file("kinds.json", recordings.kindsContract()),
]);

const nothing = over("nothing", (bench) => [bench.file("nothing.har", recordings.har([]))]);

/** A live run. Its upstream does not answer, which no state asks for. */
const live = () =>
  share("live", () =>
    Server.start(["watch", "--upstream", "http://127.0.0.1:9", "--inspect", "127.0.0.1:0", "--listen", "127.0.0.1:0"]),
  );

/** A replay with missed requests. */
export async function startReplay(bench, ...more) {
  const har = bench.file("ordinary.har", recordings.ordinary());
  const server = await Server.start(["replay", har, "--inspect", "127.0.0.1:0", "--listen", "127.0.0.1:0", ...more]);
  const origin = await server.proxy();
  for (const path of ["/api/v2/rate-limit-policies/rlp_Other0000000000000000", "/api/v2/nowhere?x=2"]) {
    await fetch(`${origin}${path}`);
  }
  return server;
}

const replay = (bench) => share("replay", () => startReplay(bench));

/** Chooses columns as the browser remembers them; without any, the usual ones. */
export async function chooseColumns(page, columns) {
  await page.evaluate((chosen) => localStorage.setItem("contrail.1", JSON.stringify({ columns: chosen })), columns);
  await page.reload();
  await settled(page);
}

/** The page of a server, which goes through all states that this server has: a new one costs more than any check.
 * @param {import("./bench.mjs").Bench} bench @param {(bench: import("./bench.mjs").Bench) => Promise<Server>} of
 * @param {How} how @param {string} hash @param {string[]} back keys that lead out of this state
 * @typedef {{ context: import("playwright-core").BrowserContext, pages: Map<Server, import("playwright-core").Page> }} How */
async function visit(bench, of, how, hash, ...back) {
  const server = await of(bench);
  const page = how.pages.get(server) ?? (await bench.page(server, how));
  how.pages.set(server, page);
  await press(page, ...(page.back ?? []));
  page.back = back;
  await go(page, hash);
  return page;
}

/** A state that the address holds. @param {(bench: import("./bench.mjs").Bench) => Promise<Server>} of */
const at =
  (of, hash = "#/exchanges") =>
  (bench, how) =>
    visit(bench, of, how, hash);

/** A state that a key leads to, and another one out of. @param {(bench: import("./bench.mjs").Bench) => Promise<Server>} of */
const after =
  (of, hash, key, back) =>
  async (bench, how) => {
    const page = await visit(bench, of, how, hash, back);
    await press(page, key);
    return page;
  };

/** The states of a server's page stand in the order in which it goes through them.
 * @type {Record<string, (bench: import("./bench.mjs").Bench, how: How) => Promise<import("playwright-core").Page>>} */
export const STATES = {
  list: at(files),
  body: at(files, "#/exchanges?n=1&side=response&view=lines"),
  missing: at(files, "#/exchanges?n=2&side=response"),
  path: at(files, "#/exchanges?n=3&side=request"),
  gap: at(files, "#/exchanges?n=4&side=request"),
  long: at(files, "#/exchanges?n=5&side=response"),
  malformed: at(files, "#/exchanges?n=6&side=response"),
  request: at(files, "#/exchanges?n=8&side=request"),
  raw: at(files, "#/exchanges?n=1&side=raw"),
  token: at(files, "#/exchanges?n=7&side=token"),
  text: at(files, "#/exchanges?n=1&side=response&view=raw"),
  hex: at(files, "#/exchanges?n=1&side=response&view=hex"),
  right: at(files, "#/exchanges?n=0&side=response&view=lines"),
  gone: at(files, "#/exchanges?n=999"),
  filtered: at(files, "#/exchanges?q=verdict:violates"),
  groups: at(files, "#/exchanges?group=path"),
  "a time": at(files, "#/exchanges?q=since:2026-11-28T10:02:13Z until:2026-11-28T10:02:17Z&n=4"),
  "no match": at(files, "#/exchanges?q=method:DELETE"),
  "wrong filter": at(files, "#/exchanges?q=verdict:violates%20state:4xx"),
  findings: at(files, "#/findings"),
  compare: at(files, "#/compare/2/1"),
  "compare texts": at(pairs, "#/compare/3/2"),
  "compare values": at(pairs, "#/compare/1/0"),
  "compare nothing": at(files, "#/compare/4"),
  base: at(beside),
  "base compare": at(beside, "#/compare/1"),
  picking: after(files, "#/exchanges?n=1", "D", "Escape"),
  events: at(kinds, "#/exchanges?n=1&side=response&view=events"),
  parts: at(kinds, "#/exchanges?n=2&side=request&view=parts"),
  form: at(kinds, "#/exchanges?n=3&side=request&view=form"),
  "image refused": at(kinds, "#/exchanges?n=5&side=response&view=image"),
  async image(bench, how) {
    const page = await visit(bench, kinds, how, "#/exchanges?n=4&side=response&view=image");
    await page.getByRole("button", { name: "Show the image" }).click();
    await page.waitForFunction(() => document.querySelector(".image img")?.complete);
    return page;
  },
  async examples(bench, how) {
    const page = await visit(bench, files, how, "#/findings");
    await page.locator("details.more > summary").first().click();
    await page.waitForSelector(".examples a");
    return page;
  },
  operations: at(files, "#/operations"),
  async "operations by tag"(bench, how) {
    const page = await visit(bench, files, how, "#/operations");
    await page.getByRole("button", { name: "By tag" }).click();
    await page.waitForSelector(".map h3");
    return page;
  },
  async operation(bench, how) {
    const page = await visit(bench, kinds, how, "#/operations");
    await page.locator(".operation-row > summary", { hasText: "getThing" }).click();
    await page.waitForSelector(".gap-part");
    return page;
  },
  callers: at(files, "#/callers"),
  run: at(files, "#/run"),
  contract: at(files, "#/contract/0?at=/paths"),
  "no document": at(files, "#/contract/7"),
  "empty file": at(nothing),
  "empty run": at(live),
  misses: at(replay, "#/misses"),
  miss: at(replay, "#/exchanges?n=0"),
  paused: after(live, "#/exchanges", "a", "a"),
  async ended(bench, how) {
    const server = await startReplay(bench, "--inspect-linger", "always");
    bench.servers.push(server);
    const page = await bench.page(server, { ...how, hash: "#/exchanges?n=0" });
    server.child.kill("SIGINT");
    await page.waitForFunction(() => document.querySelector("#bands")?.textContent?.includes("The run ended"));
    await settled(page);
    return page;
  },
  keys: after(files, "#/exchanges", "?", "Escape"),
  async marked(bench, how) {
    const page = await visit(bench, files, how, "#/exchanges?n=1");
    await press(page, "Space", "j", "Space");
    return page;
  },
  async columns(bench, how) {
    const page = await visit(bench, files, how, "#/exchanges");
    await chooseColumns(page, ["verdict", "method", "started", "bar", "took", "header:content-type"]);
    const menu = page.locator(".columns-menu summary");
    if (await menu.isVisible()) await menu.click();
    await settled(page);
    return page;
  },
  async completion(bench, how) {
    const page = await visit(bench, files, how, "#/exchanges");
    await chooseColumns(page, undefined);
    await page.focus("#query");
    await page.keyboard.type("s");
    await settled(page);
    return page;
  },
  async "no token"(bench, how) {
    const server = await files(bench);
    const page = await bench.tab(await bench.context(how.size, how.theme), server);
    await page.goto(`${server.origin}/`);
    await page.waitForSelector("body[data-state=gate]");
    return page;
  },
  async "wrong token"(bench, how) {
    const server = await files(bench);
    const page = await bench.tab(await bench.context(how.size, how.theme), server);
    await page.goto(`${server.origin}/#k=0123456789012345678901234567890123456789`);
    await page.waitForSelector("body[data-state=gate]");
    return page;
  },
  async disconnected(bench, how) {
    const har = bench.file("ordinary.har", recordings.ordinary());
    const server = await Server.inspect(har);
    const page = await bench.page(server, { ...how, hash: "#/exchanges?n=1" });
    await server.stop("SIGKILL");
    await page.waitForSelector(".band.bad");
    return page;
  },
  async copied(bench, how) {
    const page = await visit(bench, files, how, "#/exchanges?n=1");
    await page.reload();
    await page.evaluate(() => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
    });
    await press(page, "y");
    return page;
  },
};

export async function end() {
  for (const server of shared.values()) await server.then((one) => one.stop("SIGKILL"), () => {});
}
