#!/usr/bin/env node
// Starts the binary of this platform's package, passes signals on, and ends as it ends.
const { spawn } = require("node:child_process");
const name = `contrail-proxy-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/contrail`);
} catch {
  const runs = name in require("./package.json").optionalDependencies;
  console.error(
    runs
      ? `contrail: the package ${name} is not installed; install contrail-proxy again on this machine, without --omit=optional`
      : `contrail: no package for ${process.platform} on ${process.arch}; it runs on Linux and macOS, on x64 and arm64`,
  );
  process.exit(2);
}
// Ctrl-C reaches the binary from the terminal, too, and a second SIGINT would end it at once.
const fromTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => (fromTerminal && signal === "SIGINT") || child.kill(signal));
child.on("error", (error) => {
  console.error(`contrail: ${error.message}`);
  process.exit(2);
});
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
