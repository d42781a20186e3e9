// What both majors of the Node SDK share: the facts of the sandbox, the proxy, and one JSON line per step on stdout.
"use strict";

const facts = JSON.parse(process.env.TENANT_FACTS);

// Node 20's fetch reads no proxy variables; undici's own dispatcher does, and the built-in fetch uses it.
if (process.env.HTTPS_PROXY || process.env.https_proxy) {
  const { EnvHttpProxyAgent, setGlobalDispatcher } = require(process.env.UNDICI);
  setGlobalDispatcher(new EnvHttpProxyAgent());
}

/** Runs one step and prints what the SDK gave: its answer, or the error's name and status. */
async function step(name, call) {
  let line;
  try {
    line = { step: name, answer: (await call()) ?? null };
  } catch (error) {
    if (error.statusCode === undefined) console.error(name, error);
    line = { step: name, error: error.constructor.name, status: error.statusCode ?? null };
  }
  console.log(JSON.stringify(line));
}

/** An access token by hand, for the client that brings its own. */
async function token(client) {
  const response = await fetch(`https://${process.env.TENANT_DOMAIN}/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      grant_type: "client_credentials",
      client_id: client.id,
      client_secret: client.secret,
      audience: `https://${process.env.TENANT_DOMAIN}/api/v2/`,
    }),
  });
  return (await response.json()).access_token;
}

module.exports = { facts, step, token, domain: process.env.TENANT_DOMAIN };
