// ajv's verdict on each value of standard input: one line per schema, `{"schema": {...}, "values": [...]}`. The first line
// is the document that the schemas refer to as `https://document.example/`.
const { createInterface } = require('node:readline');
const Ajv = require('ajv/dist/2020').default;
const formats = require('ajv-formats').default;

const ajv = new Ajv({ strict: false, allErrors: false, validateSchema: false, logger: false, unicodeRegExp: false });
formats(ajv);
let first = true;
createInterface({ input: process.stdin }).on('line', (line) => {
  const given = JSON.parse(line);
  if (first) {
    first = false;
    ajv.addSchema(given, 'https://document.example/');
    return;
  }
  let verdicts;
  try {
    const judge = ajv.compile(given.schema);
    verdicts = given.values.map((value) => {
      const valid = judge(value);
      return valid ? null : ajv.errorsText(judge.errors, { dataVar: '' });
    });
  } catch (error) {
    verdicts = { error: String(error.message) };
  }
  process.stdout.write(JSON.stringify(verdicts) + '\n');
});
