// Recordings for the suites: an ordinary one with findings, a hostile one, and a large one.

/** Text that tries to become more than text. `port` is one that nobody may call. */
export function payloads(port) {
  const run = "globalThis.canary=1";
  const url = `http://127.0.0.1:${port}/x`;
  return [
    // Markup
    `<script>${run}</script>`,
    `</script><script>${run}</script>`,
    `<img src=x onerror="${run}">`,
    `<img src="${url}">`,
    `<svg onload="${run}"></svg>`,
    `<svg><script href="${url}"/></svg>`,
    `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
    `<iframe srcdoc="<script>parent.canary=1</script>"></iframe>`,
    `<iframe src="${url}"></iframe>`,
    `<object data="${url}"></object>`,
    `<embed src="${url}">`,
    `<link rel=stylesheet href="${url}">`,
    `<link rel=prefetch href="${url}">`,
    `<meta http-equiv=refresh content="0;url=${url}">`,
    `<base href="${url}/">`,
    `<form action="${url}"><button autofocus>send</button></form>`,
    `<style>@import "${url}";*{display:none}</style>`,
    `<div style="position:fixed;inset:0;background:url(${url})">`,
    `<details open ontoggle=${run}>`,
    `<input autofocus onfocus=${run}>`,
    `<video><source onerror=${run}></video>`,
    `<math><mtext></mtext><mglyph><style><!--</style><img src=x onerror=${run}>`,
    `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
    `<template><img src=x onerror=${run}></template>`,
    `<!--><img src=x onerror=${run}>-->`,
    `<![CDATA[<img src=x onerror=${run}>]]>`,
    `<a href="javascript:${run}">x</a>`,
    // Out of attributes, strings and comments
    `" autofocus onfocus="${run}`,
    `' onmouseover='${run}`,
    "` onload=`" + run,
    `"><img src=x onerror=${run}>`,
    `';${run};'`,
    `";${run};"`,
    "`;" + run + ";`",
    `*/${run}/*`,
    `\\";${run};//`,
    // URLs
    `javascript:${run}`,
    `JaVaScRiPt:${run}//`,
    `data:text/html,<script>${run}</script>`,
    `vbscript:${run}`,
    `//127.0.0.1:${port}/x`,
    url,
    // Templates
    `{{constructor.constructor('${run}')()}}`,
    "${" + run + "}",
    `#{${run}}`,
    `<%= ${run} %>`,
    `[[${run}]]`,
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    // Characters
    "right‮gnp.exe",
    "⁦⁧⁨isolates⁩",
    "zero​width‌‍",
    "nul\u0000end",
    "\u001b[31mred\u001b[0m\u0007\u0008",
    "line one\r\nline two\u2028three\u2029four",
    "\ud800 lone \udc00",
    "\ufeff\ufffe\uffff",
    "e" + "\u0301".repeat(400),
    "👩‍👩‍👧‍👦".repeat(50),
    // Formulas and shells
    `=HYPERLINK("${url}")`,
    "$(touch /tmp/canary) `touch /tmp/canary` '; touch /tmp/canary; '",
    // Names of the page's own
    "#/exchanges?n=1&k=x",
    "api/run",
  ];
}

/** An entry of a HAR. */
export function entry(n, request, response = {}) {
  const started = new Date(Date.UTC(2026, 10, 28, 10, 2, 11) + n * 1_000).toISOString();
  return {
    startedDateTime: started,
    time: 9,
    request: {
      method: "GET",
      url: "https://tenant.example/api/v2/rate-limit-policies/rlp_Default000000000000000",
      httpVersion: "HTTP/1.1",
      headers: [{ name: "Accept", value: "application/json" }, CALLER],
      queryString: [],
      cookies: [],
      headersSize: -1,
      bodySize: -1,
      ...request,
    },
    response: {
      status: 200,
      statusText: "OK",
      httpVersion: "HTTP/1.1",
      headers: [{ name: "Content-Type", value: "application/json" }],
      cookies: [],
      content: { size: -1, mimeType: "application/json", text: "{}" },
      redirectURL: "",
      headersSize: -1,
      bodySize: -1,
      ...response,
    },
    cache: {},
    timings: { send: 1, wait: 6, receive: 2 },
  };
}

export const har = (entries) =>
  JSON.stringify({ log: { version: "1.2", creator: { name: "tests", version: "1" }, entries } });

/** A token of the tenant's, as far as anybody can see who does not know its key. */
function token(scope, issued) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const facts = {
    iss: "https://tenant.example/",
    sub: "dashboard@clients",
    aud: "https://tenant.example/api/v2/",
    azp: "dashboard",
    gty: "client-credentials",
    iat: issued,
    exp: issued + 86_400,
    scope,
  };
  return `${part({ alg: "RS256", typ: "JWT", kid: "k1" })}.${part(facts)}.${"c2lnbmF0dXJl".repeat(20)}`;
}

const SCOPES = "read:rate_limit_policies read:clients update:clients";
const CALLER = { name: "Authorization", value: `Bearer ${token(SCOPES, Date.UTC(2026, 10, 28, 9) / 1000)}` };

/** A body in JSON. */
export const json = (text) => ({ content: { size: -1, mimeType: "application/json", text } });

const POLICY = {
  id: "rlp_Default000000000000000",
  resource: "oauth_authentication_api",
  consumer: "client",
  consumer_selector: "client_id:default",
  configuration: { action: "block", limit: 10001 },
  created_at: "2026-01-31T10:00:00.000Z",
  updated_at: "2026-01-31T10:00:00.000Z",
};

/** A recording with each kind of place that a finding may have: body, missing field, header, path, nothing. */
export function ordinary() {
  const { consumer: _, ...lacking } = POLICY;
  const right = { ...POLICY, configuration: { action: "block", limit: 100 } };
  const long = { ...POLICY, notes: Array.from({ length: 600 }, (_, i) => `note ${i}`), last: { limit: 3 } };
  return har([
    entry(0, {}, json(JSON.stringify(right))),
    entry(1, {}, json(JSON.stringify(POLICY))),
    entry(2, {}, json(JSON.stringify(lacking))),
    entry(
      3,
      { method: "POST", url: "https://tenant.example/api/v2/event-streams/short/redeliver/evt_0123456789abcdefghijkl" },
      { status: 202, content: { size: 0, mimeType: "" } },
    ),
    entry(4, { url: "https://tenant.example/api/v2/nowhere?x=1" }, { status: 404 }),
    entry(5, {}, json(JSON.stringify(long))),
    entry(6, {}, json('{"id": "rlp_Default000000000000000", "broken": [1, 2')),
    entry(7, { headers: [{ name: "Authorization", value: "Bearer short" }] }, { status: 401 }),
    entry(
      8,
      {
        method: "POST",
        url: "https://tenant.example/api/v2/actions/actions/act_Enrich/test",
        headers: [{ name: "Content-Type", value: "application/json" }, CALLER],
        postData: { mimeType: "application/json", text: JSON.stringify({ payload: 7 }) },
      },
      json(JSON.stringify({ payload: {} })),
    ),
    entry(9, { headers: [] }, json(JSON.stringify(right))),
  ]);
}

/** Pairs of exchanges whose bodies, paths and queries differ. */
export function pairs() {
  const users = (id, take, body) => entry(0, { url: `https://tenant.example/api/v2/users/${id}?page=0&take=${take}` }, body);
  const page = (...lines) => ({ content: { size: -1, mimeType: "text/html", text: lines.join("\n") } });
  const many = Array.from({ length: 40 }, (_, i) => `<p>line ${i}</p>`);
  const first = users("auth0%7C1", 10, json('{"id": 822106502566256641, "name": "a", "tags": ["x", "y"], "gone": true}'));
  const second = users("auth0%7C2", 20, json('{"name": "a", "tags": ["x", "z"], "id": 822106502566256642, "new": 1.0}'));
  const list = entry(0, { url: "https://tenant.example/page" }, page(...many));
  const changed = entry(0, { url: "https://tenant.example/page" }, page(...many.slice(0, 20), "<p>more</p>", ...many.slice(20)));
  return har([first, second, list, changed]);
}

/** A picture of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Bodies of each kind that has a view of its own, and a gap in one. */
export function kinds() {
  const of = (path) => `https://tenant.example/api/${path}`;
  const typed = (mimeType, text, more = {}) => ({
    headers: [{ name: "Content-Type", value: mimeType }],
    content: { size: -1, mimeType, text, ...more },
  });
  const events = Array.from({ length: 400 }, (_, i) => `event: tick\nid: ${i}\ndata: {"count":${i === 3 ? '"three"' : i}}\n\n`).join("");
  const parts = ["--b", 'Content-Disposition: form-data; name="note"', "", "one\ntwo", "--b", 'Content-Disposition: form-data; name="file"; filename="a.png"', "Content-Type: image/png", "", "no png", "--b--", ""].join("\r\n");
  const sent = (mimeType, text) => ({ method: "POST", headers: [{ name: "Content-Type", value: mimeType }], postData: { mimeType, text } });
  return har([
    entry(0, { url: of("things/1") }, json('{"id": 1, "name": "first", "serial": 7, "owner": {"id": 2, "rank": 3}}')),
    entry(1, { url: of("events") }, typed("text/event-stream", events)),
    entry(2, { url: of("upload"), ...sent("multipart/form-data; boundary=b", parts) }),
    entry(3, { url: of("form"), ...sent("application/x-www-form-urlencoded", "name=A+B&color=gr%C3%BCn&empty=") }),
    entry(4, { url: of("picture") }, typed("image/png", PIXEL, { encoding: "base64" })),
    entry(5, { url: of("picture") }, typed("image/png", BIG_PNG, { encoding: "base64" })),
    entry(6, { url: of("lines") }, typed("application/json-seq", '\u001e{"count":1}\n\u001e{"count":2}\n')),
  ]);
}

/** The contract of those. */
export function kindsContract() {
  const count = { type: "object", required: ["count"], properties: { count: { type: "integer" } } };
  const event = { type: "object", properties: { data: count, event: { type: "string" }, id: { type: "string" } } };
  const owner = { type: "object", properties: { id: { type: "integer" } } };
  const thing = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" }, owner } };
  const answer = (type, media) => ({ responses: { 200: { description: "d", content: { [type]: media } } } });
  const any = { responses: { 200: { description: "d" } } };
  return JSON.stringify({
    openapi: "3.2.0",
    info: { title: "Kinds", version: "1" },
    servers: [{ url: "https://tenant.example/api" }],
    paths: {
      "/things/{id}": {
        get: {
          operationId: "getThing",
          tags: ["things"],
          summary: "One thing",
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          ...answer("application/json", { schema: thing }),
        },
      },
      "/events": { get: { operationId: "listen", ...answer("text/event-stream", { itemSchema: event }) } },
      "/lines": { get: { operationId: "listLines", ...answer("application/json-seq", { itemSchema: count }) } },
      "/upload": { post: { operationId: "upload", ...any } },
      "/form": { post: { operationId: "send", ...any } },
      "/picture": { get: { operationId: "getPicture", ...answer("image/png", {}) } },
    },
  });
}

/** A recording before and after a change: one exchange each is changed, removed, added, and the same. */
export function versions() {
  const policy = (limit) => json(JSON.stringify({ ...POLICY, configuration: { action: "block", limit } }));
  const page = (path) => entry(0, { url: `https://tenant.example/${path}` });
  return [har([page("old"), entry(0, {}, policy(100)), page("same")]), har([page("same"), entry(0, {}, policy(10001)), page("new")])];
}

/** A recording that has each payload in every field, in two exchanges: one that the contract documents, and one whose
 * target and type are the payload as it is. */
export function hostile(port) {
  const entries = [];
  const base = "https://tenant.example/api/v2/";
  for (const text of payloads(port)) {
    const path = encodeURIComponent(text.toWellFormed());
    const raw = text.replace(/[\s\u0000-\u001f#?%"<>\\^`{|}]/g, "_");
    const body = JSON.stringify({ [text]: text, list: [text, { [text]: [text] }], configuration: { limit: text } });
    const header = text.replace(/[\u0000-\u001f\u007f]|[^\u0000-\uffff]|[\ud800-\udfff]/g, "");
    const of = (request, response) => entries.push(entry(entries.length, request, response));
    const fields = [
      { name: "Content-Type", value: "application/json" },
      // Secrets are replaced wherever they stand, so these are not the payload alone.
      { name: "Authorization", value: `Bearer token-${header.replace("http", "htt")}` },
      { name: "X-Text", value: header },
    ];
    const postData = { mimeType: "application/json", text: body };
    of(
      { url: `${base}rate-limit-policies/${path}?${path}=${path}`, headers: fields, cookies: [{ name: "c", value: `cookie-${header}` }], comment: text },
      { ...json(body), statusText: header, headers: [fields[0], fields[2]], comment: text },
    );
    of(
      { method: "POST", url: `${base}users/${raw}?q=${raw}`, headers: fields, postData },
      {
        content: { size: -1, mimeType: "text/html", text: `<!doctype html>${text}` },
        headers: [{ name: "Content-Type", value: entries.length % 4 === 1 ? "text/html" : header }, { name: "Location", value: header }],
        redirectURL: text,
      },
    );
  }
  const long = "n".repeat(1_000_000);
  const of = (request, response) => entries.push(entry(entries.length, request, response));
  of({}, json(`{"${long}": 1}`));
  of({ headers: [{ name: "X-Long", value: long.slice(0, 60_000) }] }, json(JSON.stringify(long)));
  of({ url: `${base}users/${long.slice(0, 60_000)}` }, json("{}"));
  of({}, json("[".repeat(100_000)));
  of({}, json("[".repeat(100_000) + "]".repeat(100_000)));
  of({}, json(`{"a":822106502566256641,"b":1e400,"c":1.0,"a":-0,"d":1E-999}`));
  of({}, { content: { size: -1, mimeType: "image/svg+xml", text: payloads(port)[4] } });
  of({}, { content: { size: -1, mimeType: "image/png", encoding: "base64", text: BIG_PNG } });
  of({}, { content: { size: -1, mimeType: "application/octet-stream", encoding: "base64", text: "R0lGODlhLyo=" } });
  // Bodies whose kinds have views of their own.
  const typed = (type, text) => ({ headers: [{ name: "Content-Type", value: type }], content: { size: -1, mimeType: type, text } });
  const lines = payloads(port).map((text) => text.toWellFormed().replace(/[\r\n\ufffd]/g, " "));
  of({}, typed("text/event-stream", lines.map((text) => `event: ${text}\nid: ${text}\ndata: ${text}\n\n`).join("")));
  of({}, typed("application/x-www-form-urlencoded", lines.map((text) => `${encodeURIComponent(text)}=${encodeURIComponent(text)}`).join("&")));
  const part = (text) => `--b\r\nContent-Disposition: form-data; name="${text}"; filename="${text}"\r\nContent-Type: ${text}\r\n\r\n${text}\r\n`;
  of({}, typed("multipart/form-data; boundary=b", `${lines.map(part).join("")}--b--\r\n`));
  return har(entries);
}

/** The head of a PNG of 30,000 by 30,000 pixels. */
const BIG_PNG = Buffer.from(
  "89504e470d0a1a0a0000000d4948445200007530000075300806000000a39e4b8d0000000049454e44ae426082",
  "hex",
).toString("base64");

/** A contract whose own texts are hostile, for passages and findings. */
export function hostileContract(port) {
  const texts = payloads(port).map((text) => text.toWellFormed().replaceAll("\u0000", ""));
  const properties = Object.fromEntries(texts.map((text) => [text, { type: "integer", description: text, enum: [1] }]));
  // Each payload's own exchange breaks its own property; a few are missing everywhere.
  const schema = { type: "object", title: texts[0], description: texts[2], required: texts.slice(0, 6), properties };
  const answer = { description: texts[1], content: { "application/json": { schema } } };
  const operation = (name) => ({
    operationId: name,
    summary: texts[2],
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "string", pattern: "^rlp_" } }],
    responses: { 200: answer },
  });
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: texts[0], version: texts[2] },
    servers: [{ url: "https://tenant.example/api/v2" }],
    paths: {
      "/rate-limit-policies/{id}": { get: operation(texts[2]) },
      "/users/{id}": { post: operation(texts[4]) },
    },
  });
}

/** Many exchanges, of which every hundredth has a body, with a finding: to read them takes most of the time. */
export function* large(count) {
  yield '{"log":{"version":"1.2","creator":{"name":"tests","version":"1"},"entries":[';
  for (let n = 0; n < count; n += 1) {
    const { startedDateTime, time, request: { method, url } } = entry(n, {});
    const wrong = { status: 200, headers: [{ name: "Content-Type", value: "application/json" }], ...json('{"limit": 10001}') };
    const one = { startedDateTime, time, request: { method, url }, response: n % 100 === 41 ? wrong : { status: 404 } };
    yield `${n > 0 ? "," : ""}${JSON.stringify(one)}\n`;
  }
  yield "]}}";
}

/** The contract of those. */
export function largeContract() {
  const schema = { type: "object", properties: { limit: { type: "integer", maximum: 10_000 } } };
  const responses = { 200: { description: "d", content: { "application/json": { schema } } }, 404: { description: "d" } };
  const parameters = [{ name: "id", in: "path", required: true, schema: { type: "string" } }];
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Large", version: "1" },
    servers: [{ url: "https://tenant.example/api/v2" }],
    paths: { "/rate-limit-policies/{id}": { get: { operationId: "getRateLimitPolicy", parameters, responses } } },
  });
}
