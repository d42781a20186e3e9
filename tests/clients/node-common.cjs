// What both majors of the Node SDK share: the facts of the sandbox, the proxy, and one JSON line per step on stdout.
"use strict";

const https = require("node:https");

const facts = JSON.parse(process.env.TENANT_FACTS);

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

/** An access token by hand and by Node's own https, for the client that brings its own. */
function token(client) {
  const [host, port] = process.env.TENANT_DOMAIN.split(":");
  const options = { host, port, path: "/oauth/token", method: "POST", headers: { "content-type": "application/json" } };
  return new Promise((resolve, reject) => {
    const request = https.request(options, async (response) => {
      let text = "";
      for await (const part of response) text += part;
      resolve(JSON.parse(text).access_token);
    });
    request.on("error", reject).end(
      JSON.stringify({
        grant_type: "client_credentials",
        client_id: client.id,
        client_secret: client.secret,
        audience: `https://${process.env.TENANT_DOMAIN}/api/v2/`,
      }),
    );
  });
}

module.exports = { facts, step, token, domain: process.env.TENANT_DOMAIN };
