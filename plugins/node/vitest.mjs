// Vitest: `setupFiles: ["contrail-node/vitest"]`. One session per test file, or with CONTRAIL_PER_TEST=1 per test.
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { begin, end } from "./contrail.cjs";

const file = () => path.relative(process.cwd(), expect.getState().testPath).replace(/\.[mc]?[jt]sx?$/, "");

if (process.env.CONTRAIL_PER_TEST) {
  beforeEach(({ task }) => begin(`${file()}.${task.name}`));
  afterEach(end);
} else {
  beforeAll(() => begin(file()));
  afterAll(end);
}
