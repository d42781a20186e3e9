// The newest major of the Node SDK: six operations, the pager, and errors.
"use strict";

const { facts, step, token, domain } = require("../node-common.cjs");
const { ManagementClient } = require("auth0");

// Only faults are sent again.
const retry = process.env.RETRIES ? {} : { maxRetries: 0 };

async function main() {
  const [full] = facts.clients;
  const client = new ManagementClient({ domain, clientId: full.id, clientSecret: full.secret, ...retry });

  await step("policy", () => client.rateLimitPolicies.get(facts.rate_limit_policy));
  await step("templates", () => client.connectionProfiles.listTemplates());
  await step("groups, first page", async () => {
    const page = await client.connections.directoryProvisioning.listSynchronizedGroups(facts.connection, { take: 7 });
    return page.data;
  });
  await step("groups, all pages", async () => {
    const ids = [];
    for await (const group of await client.connections.directoryProvisioning.listSynchronizedGroups(facts.connection)) {
      ids.push(group.id);
    }
    return ids;
  });
  await step("redeliver", () => client.eventStreams.redeliveries.createById(facts.event_stream, facts.event));
  await step("update template", () =>
    client.verifiableCredentials.verification.templates.update(facts.verifiable_credential_template, {
      name: "Renamed by the SDK",
      dialect: "simplified/1.0",
    }),
  );
  await step("test action", () => client.actions.test(facts.action, { payload: { user: { name: "Zoë", logins: 3 } } }));

  await step("no such policy", () => client.rateLimitPolicies.get("rlp_0000000000000000000000"));
  await step("an id that needs escaping", () => client.rateLimitPolicies.get("a/b|c d"));
  await step("a page that is too large", () =>
    client.connections.directoryProvisioning.listSynchronizedGroups(facts.connection, { take: 101 }).then((p) => p.data),
  );

  const weak = facts.clients.find((one) => !one.scopes.includes("read:rate_limit_policies"));
  const bearer = new ManagementClient({ domain, token: await token(weak), ...retry });
  await step("a token without the scope", () => bearer.rateLimitPolicies.get(facts.rate_limit_policy));
  const nonsense = new ManagementClient({ domain, token: "not-a-token", ...retry });
  await step("a token that is none", () => nonsense.rateLimitPolicies.get(facts.rate_limit_policy));
}

main();
