// Jest: `setupFilesAfterEnv: ["contrail-node/jest"]`. One session per test file, or with CONTRAIL_PER_TEST=1 per test.
// Jest's hooks do not see whether a test failed, so its requests are recorded, too.
"use strict";

const path = require("node:path");
const { begin, end } = require("./contrail.cjs");

const file = () => path.relative(process.cwd(), expect.getState().testPath).replace(/\.[mc]?[jt]sx?$/, "");

if (process.env.CONTRAIL_PER_TEST) {
  beforeEach(() => begin(`${file()}.${expect.getState().currentTestName}`));
  afterEach(() => end(false));
} else {
  beforeAll(() => begin(file()));
  afterAll(() => end(false));
}
