// A client of the tenant.
async function call(path, options) {
  const answer = await fetch(process.env.CONTRAIL_URL + path, options);
  return { status: answer.status, body: await answer.json() };
}

async function token() {
  const { CONTRAIL_SANDBOX_CLIENT_ID = "sandbox-full", CONTRAIL_SANDBOX_CLIENT_SECRET = "any" } = process.env;
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    audience: "/api/v2/",
    client_id: CONTRAIL_SANDBOX_CLIENT_ID,
    client_secret: CONTRAIL_SANDBOX_CLIENT_SECRET,
  });
  return (await call("/oauth/token/", { method: "POST", body })).body.access_token;
}

module.exports = { call, token };
