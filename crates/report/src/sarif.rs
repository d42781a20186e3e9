//! SARIF 2.1.0, for code scanning and the viewers of editors.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Facts,
    cases::{Case, Level, Suite, Trouble},
};

/// What a path cannot hold as it is (RFC 3986, section 3.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn write(facts: &Facts<'_>, suites: &[Suite], to: &mut dyn Write) -> io::Result<()> {
    let cases = || suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)));
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    for trouble in cases().filter_map(|(_, case)| case.trouble.as_ref()) {
        kinds.insert(trouble.kind, trouble.summary());
    }
    let index: BTreeMap<&str, usize> = kinds.keys().enumerate().map(|(at, kind)| (*kind, at)).collect();
    let rules: Vec<Value> =
        kinds.iter().map(|(kind, summary)| json!({"id": kind, "shortDescription": {"text": summary}})).collect();
    let results: Vec<Value> =
        cases().filter_map(|(suite, case)| Some(result(suite, case, case.trouble.as_ref()?, &index))).collect();
    let mut run = json!({
        "tool": {"driver": {"name": "contrail", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"contract": {
            "title": facts.title.title, "version": facts.title.version, "hash": facts.title.hash,
        }},
    });
    if let Some(exit) = &facts.run.exit {
        run["invocations"] = json!([{"executionSuccessful": exit.status != 2, "exitCode": exit.status}]);
    }
    if !facts.sources.is_empty() {
        // The same file may be named twice.
        let uris: BTreeSet<String> = facts.sources.iter().map(|source| uri(source)).collect();
        run["artifacts"] = uris.into_iter().map(|uri| json!({"location": {"uri": uri}})).collect();
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
    });
    writeln!(to, "{log:#}")
}

fn result(suite: &Suite, case: &Case, trouble: &Trouble, index: &BTreeMap<&str, usize>) -> Value {
    let name = format!("{}/{}", suite.name, case.name);
    let text = if trouble.text.is_empty() { String::new() } else { format!("\n{}", trouble.text) };
    let mut location = json!({"logicalLocations": [{"name": suite.name, "fullyQualifiedName": name}]});
    let mut result = json!({
        "ruleId": trouble.kind,
        "ruleIndex": index.get(trouble.kind),
        "level": if trouble.level == Level::Note { "note" } else { "error" },
        "message": {"text": format!("{}{text}", trouble.message)},
        "occurrenceCount": trouble.count,
        "partialFingerprints": {"case/v1": name},
    });
    if let Some(justification) = &trouble.suppression {
        result["suppressions"] = json!([{"kind": "external", "status": "accepted", "justification": justification}]);
    }
    if let Some(cited) = &trouble.cited {
        if cited.is_in_file() {
            location["physicalLocation"] = json!({"artifactLocation": {"uri": uri(&cited.source)}});
            if let Some(line) = cited.line {
                location["physicalLocation"]["region"] = json!({"startLine": line});
            }
        }
        result["properties"] = json!({"exchange": cited});
    }
    result["locations"] = json!([location]);
    result
}

/// A path as a relative reference, or as a URI if it starts at the root.
fn uri(path: &str) -> String {
    let path = utf8_percent_encode(path, PATH);
    match path.to_string() {
        absolute if absolute.starts_with('/') => format!("file://{absolute}"),
        relative => relative,
    }
}
