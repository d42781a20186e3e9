export default {
  test: { globals: true, globalSetup: "./contrail.config.cjs", setupFiles: ["contrail-node/vitest"], maxWorkers: 4 },
};
