// Version 4 of the Node SDK: what it has of the six operations by its methods, the rest by its own request function.
"use strict";

const { facts, step, token, domain } = require("../node-common.cjs");
const { ManagementClient } = require("auth0");

// Only faults are sent again.
const retry = process.env.RETRIES ? {} : { retry: { enabled: false } };

/** The SDK's own request, for paths that this major has no method for. */
async function request(client, method, path, body) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const response = await client.actions.request({ path, method, headers, body });
  const text = await response.text();
  return text === "" ? null : JSON.parse(text);
}

async function main() {
  const [full] = facts.clients;
  const client = new ManagementClient({ domain, clientId: full.id, clientSecret: full.secret, ...retry });

  await step("policy", () => request(client, "GET", `/rate-limit-policies/${facts.rate_limit_policy}`));
  await step("templates", async () => (await client.connectionProfiles.getAllTemplates()).data);
  const groups = `/connections/${encodeURIComponent(facts.connection)}/directory-provisioning/synchronized-groups`;
  await step("groups, all pages", async () => {
    const ids = [];
    let from;
    do {
      const query = from === undefined ? "" : `&from=${encodeURIComponent(from)}`;
      const page = await request(client, "GET", `${groups}?take=50${query}`);
      ids.push(...page.groups.map((group) => group.id));
      from = page.next || undefined;
    } while (from !== undefined);
    return ids;
  });
  await step("redeliver", () =>
    request(client, "POST", `/event-streams/${facts.event_stream}/redeliver/${facts.event}`),
  );
  await step("update template", () =>
    request(client, "PATCH", `/verifiable-credentials/verification/templates/${facts.verifiable_credential_template}`, {
      name: "Renamed by the SDK",
    }),
  );
  await step("test action", async () => (await client.actions.test({ id: facts.action }, { payload: { n: 1 } })).data);
  await step("no such action", () => client.actions.test({ id: "nothing/here|at all" }, { payload: {} }));

  const weak = facts.clients.find((one) => !one.scopes.includes("read:rate_limit_policies"));
  const bearer = new ManagementClient({ domain, token: await token(weak), ...retry });
  await step("a token without the scope", () =>
    request(bearer, "GET", `/rate-limit-policies/${facts.rate_limit_policy}`),
  );
}

main();
