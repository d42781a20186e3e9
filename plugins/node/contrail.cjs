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
 * Starts contrail, whose environment the workers inherit. CONTRAIL_MODE is `replay` (default), `record`, `missing` (what
 * has no session is recorded) or `off`.
 *
 * @param {{ folder?: string, upstream?: string | string[], arguments?: string[] }} options the folder of the sessions' fixtures,
 *   and the origin of the API, which `record` and `missing` need
 * @returns {Promise<() => Promise<void>>} ends it; rejects if the run failed
 */
async function start({ folder = "tests/contrail", upstream, arguments: more = [] } = {}) {
  const mode = process.env.CONTRAIL_MODE ?? "replay";
  // A contrail around the test runner serves all.
  if (mode === "off" || process.env.CONTRAIL_CONTROL) return async () => {};
  const upstreams = [upstream ?? []].flat().flatMap((one) => ["--upstream", one]);
  // By these names replay knows the hosts of several APIs behind the proxy.
  const replay = ["replay", "--sessions", folder, ...(upstreams.length > 2 ? upstreams : []), ...more];
  const record = ["record", "--sessions", folder, ...upstreams, ...more];
  const commands = {
    replay: [replay],
    record: [[...record, "--overwrite"]],
    // Nothing may be missing.
    missing: [replay, [...record, "--append", "--allow", "unused"]],
  }[mode];
  if (!commands) throw new Error(`CONTRAIL_MODE is replay, record, missing or off, not ${mode}`);
  if (mode !== "replay" && !upstream) throw new Error(`CONTRAIL_MODE=${mode} needs the API's origin: the option \`upstream\``);
  fs.mkdirSync(folder, { recursive: true });
  const known = fs.readdirSync(folder).map((name) => name.replace(/\.har$/, ""));
  const servers = [];
  // Each has to end, whatever the other one says.
  const stop = async () => {
    const ended = await Promise.allSettled(servers.map((server) => server.stop()));
    const failed = ended.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
  };
  try {
    for (const command of commands) servers.push(await launch(command));
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
  const [first, recorder] = servers;
  Object.assign(process.env, first.variables);
  if (recorder) {
    process.env.CONTRAIL_KNOWN = known.join(":");
    process.env.CONTRAIL_RECORDER = JSON.stringify(recorder.variables);
  }
  return stop;
}

/** Starts a contrail; its variables, once it listens, and what ends it. @param {string[]} command */
async function launch(command) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "contrail-node-"));
  const file = path.join(scratch, "environment");
  const control = ["--control", "127.0.0.1:0", "--env-file", file];
  const child = spawn(process.env.CONTRAIL ?? "contrail", [...command, ...control], { stdio: ["ignore", "pipe", "pipe"] });
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
  const lines = fs.readFileSync(file, "utf8").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const variables = Object.fromEntries(lines.map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]));
  const stop = async () => {
    child.kill("SIGTERM");
    const failure = await ended;
    fs.rmSync(scratch, { recursive: true });
    if (failure) throw new Error(failure);
    console.log(printed.slice(printed.lastIndexOf("\n\n") + 2).trimEnd());
  };
  return { variables, stop };
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
const inherited = { ...process.env };
const recorder = JSON.parse(inherited.CONTRAIL_RECORDER ?? "null");
const known = (inherited.CONTRAIL_KNOWN ?? "").split(":");
/** The variables of the contrail that serves the session. */
let server = inherited;

/** @param {string} method @param {string} query */
async function control(method, query = "") {
  const answer = await plain(`${server.CONTRAIL_CONTROL}/sessions/${session}${query}`, { method });
  const body = await answer.json();
  if (!answer.ok && answer.status !== 409) throw new Error(`contrail: ${body.detail}`);
  return body;
}

/** Begins the session of a test file or a test. @param {string} place */
async function begin(place) {
  if (!inherited.CONTRAIL_CONTROL || inherited.CONTRAIL_MODE === "off") return;
  session = named(place);
  server = recorder && !known.includes(session) ? recorder : inherited;
  await control("PUT");
  for (const name of Object.keys(recorder ?? {})) {
    if (server[name] === undefined) delete process.env[name];
    else process.env[name] = server[name];
  }
  for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]) {
    process.env[name] = server.CONTRAIL_PROXY.replace("://", `://${session}:x@`);
  }
  for (const name of Object.keys(server).filter((name) => name.startsWith("CONTRAIL_URL"))) {
    process.env[name] = `${server[name]}/~${session}`;
  }
  // The proxy of fetch does not change while a program runs, so each request names the session itself.
  globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    request.headers.set("contrail-session", session);
    return plain(request);
  };
}

/**
 * Ends it. A request that was not recorded fails it, with the nearest recordings. What tests that `failed` sent replaces
 * no fixture.
 *
 * @param {boolean} failed
 */
async function end(failed) {
  if (session === null) return;
  const { misses } = await control("DELETE", failed ? "?failed" : "");
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
