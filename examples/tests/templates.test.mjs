// A client's test for Vitest. Without contrail, CONTRAIL_URL is the tenant's address.
import { expect, test } from "vitest";

const { CONTRAIL_URL, CONTRAIL_SANDBOX_CLIENT_ID = "sandbox-full", CONTRAIL_SANDBOX_CLIENT_SECRET = "any" } = process.env;

async function call(path, options) {
  const answer = await fetch(CONTRAIL_URL + path, options);
  expect(answer.status).toBe(200);
  return answer.json();
}

test("templates", async () => {
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    audience: "/api/v2/",
    client_id: CONTRAIL_SANDBOX_CLIENT_ID,
    client_secret: CONTRAIL_SANDBOX_CLIENT_SECRET,
  });
  const { access_token } = await call("/oauth/token/", { method: "POST", body });
  const headers = { Authorization: `Bearer ${access_token}` };
  const templates = await call("/api/v2/connection-profiles/templates", { headers });
  expect(templates.connection_profile_templates).not.toHaveLength(0);
});
