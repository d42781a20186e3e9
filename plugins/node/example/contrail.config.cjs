// Both test runners start contrail with this.
const { start } = require("contrail-node");

const options = { folder: "tests/contrail", upstream: "sandbox" };
let stop;

module.exports = async () => (stop = await start(options));
module.exports.stop = () => stop();
