module.exports = {
  globalSetup: "./contrail.config.cjs",
  globalTeardown: "./contrail.teardown.cjs",
  setupFilesAfterEnv: ["contrail-node/jest"],
  maxWorkers: 4,
};
