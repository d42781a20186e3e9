// Starts contrail for a test run, and gives each test file, or each test, a session: recorded once, replayed from then
// on. Used by vitest.mjs and jest.cjs. See docs/ci.md of contrail.
"use strict";

const { spawn } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

/** Milliseconds that contrail may take until it listens. */
const START = 30_000;

/**
 * Starts contrail, whose environment the workers inherit. CONTRAIL_MODE is `replay` (default), `record` or `off`.
 *
 * @param {{ folder?: string, upstream?: string, arguments?: string[] }} options the folder of the sessions' fixtures,
 *   and the origin of the API, which `record` needs
 * @returns {Promise<() => Promise<void>>} ends it; rejects if the run failed
 */
async function start({ folder = "tests/contrail", upstream, arguments: more = [] } = {}) {
  const mode = process.env.CONTRAIL_MODE ?? "replay";
  // A contrail around the test runner serves all.
  if (mode === "off" || process.env.CONTRAIL_CONTROL) return async () => {};
  if (!["record", "replay"].includes(mode)) throw new Error(`CONTRAIL_MODE is replay, record or off, not ${mode}`);
  if (mode === "record" && !upstream) throw new Error("CONTRAIL_MODE=record needs the API's origin: the option `upstream`");
  fs.mkdirSync(folder, { recursive: true });
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "contrail-node-"));
  const file = path.join(scratch, "environment");
  const own = mode === "record" ? ["--upstream", upstream, "--overwrite"] : [];
  const control = ["--control", "127.0.0.1:0", "--env-file", file];
  const child = spawn(process.env.CONTRAIL ?? "contrail", [mode, "--sessions", folder, ...own, ...more, ...control], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
  const ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(`contrail cannot be started: ${error.message}; CONTRAIL names it`));
    child.on("close", (status) => resolve(status === 0 ? null : `contrail ended with exit status ${status}\n${printed}`));
  });
  let over = false;
  void ended.then(() => (over = true));
  const deadline = Date.now() + START;
  while (!(fs.existsSync(file) && fs.readFileSync(file, "utf8").includes("CONTRAIL_CONTROL="))) {
    if (over) throw new Error((await ended) ?? printed);
    if (Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`contrail does not listen after ${START / 1000} s: ${printed}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  for (const line of fs.readFileSync(file, "utf8").split("\n")) {
    const at = line.indexOf("=");
    if (at > 0 && !line.startsWith("#")) process.env[line.slice(0, at)] = line.slice(at + 1);
  }
  return async () => {
    child.kill("SIGTERM");
    const failure = await ended;
    fs.rmSync(scratch, { recursive: true });
    if (failure) throw new Error(failure);
    console.log(printed.slice(printed.lastIndexOf("\n\n") + 2).trimEnd());
  };
}

/** The name of a session: at most 100 letters, digits, `.`, `_` and `-`. @param {string} place */
function named(place) {
  const name = place.replace(/[\\/]/g, ".").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+|-+$/g, "");
  const hash = () => createHash("sha256").update(place).digest("hex").slice(0, 16);
  return name.length <= 100 && name !== "" ? name : `${name.slice(0, 83)}-${hash()}`;
}

/** The session in which this process makes requests. @type {string | null} */
let session = null;
const plain = globalThis.fetch;
const { CONTRAIL_URL, CONTRAIL_CONTROL } = process.env;

/** @param {string} method */
async function control(method) {
  const answer = await plain(`${CONTRAIL_CONTROL}/sessions/${session}`, { method });
  const body = await answer.json();
  if (!answer.ok && answer.status !== 409) throw new Error(`contrail: ${body.detail}`);
  return body;
}

/** Begins the session of a test file or a test. @param {string} place */
async function begin(place) {
  if (!CONTRAIL_CONTROL || process.env.CONTRAIL_MODE === "off") return;
  session = named(place);
  await control("PUT");
  for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]) {
    process.env[name] = process.env.CONTRAIL_PROXY.replace("://", `://${session}:x@`);
  }
  process.env.CONTRAIL_URL = `${CONTRAIL_URL}/~${session}`;
  // The proxy of fetch does not change while a program runs, so each request names the session itself.
  globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    request.headers.set("contrail-session", session);
    return plain(request);
  };
}

/** Ends it. A request that was not recorded fails it, with the nearest recordings. */
async function end() {
  if (session === null) return;
  const { misses } = await control("DELETE");
  const name = session;
  session = null;
  globalThis.fetch = plain;
  if (misses.length > 0) throw new Error(`not recorded in session ${name}:\n${misses.map(inWords).join("\n\n")}`);
}

/** @param {any} miss */
function inWords(miss) {
  const near = (miss.nearest ?? []).flatMap(({ entry, request, differences = [] }) => [
    `  nearest: ${entry}: ${request}`,
    ...differences.map((one) => `    ${one.place}: ${one["your request"]} → ${one.fixture}${one.option ? `   (${one.option})` : ""}`),
  ]);
  return [miss.detail, ...near].join("\n");
}

module.exports = { start, begin, end };
