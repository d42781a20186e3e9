const { call, token } = require("./tenant.cjs");

test.each([1, 2, 3, 4])("policies are read, %i", async () => {
  const headers = { authorization: `Bearer ${await token()}` };
  const { body } = await call("/api/v2/rate-limit-policies/rlp_Default000000000000000", { headers });
  expect(body.id).toBe("rlp_Default000000000000000");
});
