// The picture of the README: the page over the recording of `contrail demo`.

import { execFileSync } from "node:child_process";
import path from "node:path";
import { Server, go } from "./bench.mjs";

export const tests = {
  "the page over the demo's recording": async (bench) => {
    execFileSync(process.env.CONTRAIL, ["demo", "--out", path.join(bench.work, "demo")], { stdio: "ignore" });
    const server = await Server.start(["inspect", "demo/tenant"], { cwd: bench.work });
    bench.servers.push(server);
    await server.whole();
    const { rows } = await server.api("exchanges?q=rule:response.body");
    const page = await bench.page(server, { size: { width: 1440, height: 800 } });
    await go(page, `#/exchanges?n=${rows[0].n}`);
    await page.screenshot({ path: process.env.PICTURE });
  },
};
