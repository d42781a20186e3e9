module.exports = () => require("./contrail.config.cjs").stop();
