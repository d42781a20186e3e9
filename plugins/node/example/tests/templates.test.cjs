const { call, token } = require("./tenant.cjs");

test.each([1, 2, 3, 4])("templates are read, %i", async () => {
  const headers = { authorization: `Bearer ${await token()}` };
  const { body } = await call("/api/v2/connection-profiles/templates", { headers });
  expect(body.connection_profile_templates).not.toHaveLength(0);
});
