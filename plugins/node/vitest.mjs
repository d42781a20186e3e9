// Vitest: `setupFiles: ["contrail-node/vitest"]`. One session per test file, or with CONTRAIL_PER_TEST=1 per test.
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { begin, end } from "./contrail.cjs";

const file = () => path.relative(process.cwd(), expect.getState().testPath).replace(/\.[mc]?[jt]sx?$/, "");

// `test.fails` expects a failure, and the result does not say so yet.
const hasFailed = (task) => (task.result?.state === "fail") !== Boolean(task.fails);

if (process.env.CONTRAIL_PER_TEST) {
  beforeEach(({ task }) => begin(`${file()}.${task.name}`));
  afterEach(({ task }) => end(hasFailed(task)));
} else {
  // By the last try of each.
  const failed = new Set();
  beforeAll(() => begin(file()));
  afterEach(({ task }) => void (hasFailed(task) ? failed.add(task.id) : failed.delete(task.id)));
  afterAll(() => end(failed.size > 0));
}
