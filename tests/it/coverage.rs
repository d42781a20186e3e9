//! `contrail coverage`: which parts of the contract recordings touch.

use std::fs;

use serde_json::Value;

use crate::support::{
    command::run_in,
    golden::assert_output,
    har,
    process::Running,
    reports::{FORMATS, unescaped},
    wire,
};

const CONTRACT: &str = "openapi: 3.1.0
info: {title: Pets, version: '1'}
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: view, in: query, schema: {enum: [full, short]}}
      responses:
        '200':
          description: a pet
          content:
            application/json:
              schema:
                type: object
                properties: {kind: {enum: [cat, dog]}, owner: {oneOf: [{type: string}, {type: integer}]}}
        '404': {description: none}
    delete: {operationId: deletePet, responses: {'204': {description: done}}}
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pets.yaml"), CONTRACT).unwrap();
    let found = har::get("/pets/1?view=full", None, 200, r#"{"kind":"cat","owner":"zq81mxo2-owner"}"#);
    fs::write(folder.path().join("a.har"), har::har(&[found, har::get("/x", None, 200, "{}")])).unwrap();
    folder
}

#[test]
fn coverage_lists_what_was_touched_and_what_never_was() {
    let folder = folder();
    let ran = run_in(folder.path(), ["coverage", "--contract", "pets.yaml", "a.har"]);
    assert_output("coverage/coverage_lists_what_was_touched_and_what_never_was", &ran);
}

#[test]
fn less_than_a_minimum_is_exit_status_1_with_each_minimum_that_is_not_reached() {
    let folder = folder();
    let run = |minimum: &str| {
        run_in(folder.path(), ["coverage", "--contract", "pets.yaml", "a.har", "--min-coverage", minimum])
    };
    assert_eq!(run("operations=0.5,parameters=1").status, 0);
    let ran = run("operations=0.6,statuses=1,fields=0.1");
    let below = "operations: 1 of 2 touched, --min-coverage asks for 0.6\nstatuses: 1 of 3 touched, --min-coverage asks for 1\n";
    assert!(ran.status == 1 && ran.stdout.ends_with(&format!("\n\n{below}")), "{}", ran.stdout);
}

#[test]
fn every_report_of_coverage_names_what_was_never_touched_and_shows_no_value_of_the_traffic() {
    let folder = folder();
    let reports: Vec<String> = FORMATS.iter().map(|format| format!("--report={format}=r.{format}")).collect();
    let options = ["coverage", "--contract", "pets.yaml", "a.har", "--min-coverage=operations=1"];
    let ran = run_in(folder.path(), options.iter().copied().chain(reports.iter().map(String::as_str)));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    for format in FORMATS {
        let report = unescaped(format, &fs::read_to_string(folder.path().join(format!("r.{format}"))).unwrap());
        assert!(report.contains("deletePet"), "{}", report);
        assert!(!report.contains("zq81mxo2"), "{format}: {report}");
    }
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(json["summary"], serde_json::json!({"exchanges": 2, "undocumented": 1}));
}

/// `touched` and `of` of each kind of part.
fn counts(coverage: &Value) -> Vec<(String, Value, Value)> {
    let kinds = coverage.as_object().unwrap().iter().filter(|(_, kind)| kind["of"] != 0);
    kinds.map(|(name, kind)| (name.clone(), kind["touched"].clone(), kind["of"].clone())).collect()
}

#[test]
fn every_report_of_exchanges_has_the_coverage_that_the_command_reports() {
    let folder = folder();
    let of = |command: &str| -> Value {
        let ran = run_in(folder.path(), [command, "--contract", "pets.yaml", "a.har", "--format", "json"]);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let expected = counts(&of("coverage")["parts"]);
    assert_eq!(expected[0], ("operations".to_owned(), 1.into(), 2.into()));
    for command in ["verify", "audit"] {
        let report = of(command);
        assert_eq!(counts(&report["coverage"]), expected, "{command}");
        assert_eq!(report["coverage"]["operations"]["never"], serde_json::json!(["deletePet"]), "{command}");
    }
    let touched = "touched: 1 of 2 operations, 1 of 3 statuses, 2 of 2 parameters, 1 of 1 media types, 2 of 2 fields, \
                   2 of 4 enum values, 1 of 2 variants; `contrail coverage` lists them\n";
    let line = "- 1 of 2 operations, never touched: `deletePet`\n";
    for (command, format, expected) in [
        ("verify", "text", touched),
        ("audit", "text", touched),
        ("verify", "markdown", line),
        ("audit", "markdown", line),
    ] {
        let ran = run_in(folder.path(), [command, "--contract", "pets.yaml", "a.har", "--report", format]);
        assert!(ran.stdout.contains(expected), "{command} {format}: {}", ran.stdout);
    }
}

#[test]
fn the_report_of_a_proxy_has_the_coverage_of_what_it_records() {
    let folder = folder();
    let json =
        |file: &str| -> Value { serde_json::from_str(&fs::read_to_string(folder.path().join(file)).unwrap()).unwrap() };
    let options = ["--contract", "pets.yaml", "--listen", "127.0.0.1:0", "--report", "json=report.json"];
    let replay = Running::start(folder.path(), [&["replay", "a.har"][..], &options].concat());
    wire::call(replay.addresses[0], "GET", "/pets/1?view=full", &[], b"");
    wire::call(replay.addresses[0], "DELETE", "/pets/1", &[], b"");
    replay.finish();
    let expected = counts(&json("report.json")["coverage"]);
    // The miss is no answer of the tenant's.
    assert_eq!(expected[1], ("statuses".to_owned(), 1.into(), 3.into()));

    let origin =
        Running::start(folder.path(), ["replay", "a.har", "--contract", "pets.yaml", "--listen", "127.0.0.1:0"]);
    let upstream = format!("http://{}", origin.addresses[0]);
    let recording = ["record", "--upstream", &upstream, "--out", "b.har"];
    let record = Running::start(folder.path(), [&recording[..], &options].concat());
    wire::call(record.addresses[0], "GET", "/pets/1?view=full", &[], b"");
    record.finish();
    origin.finish();
    let recorded = run_in(folder.path(), ["coverage", "--contract", "pets.yaml", "b.har", "--format", "json"]);
    let recorded: Value = serde_json::from_str(&recorded.stdout).unwrap();
    assert_eq!(counts(&json("report.json")["coverage"]), counts(&recorded["parts"]));
    assert_eq!(counts(&recorded["parts"]), expected);
}
