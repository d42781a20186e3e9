//! `contrail demo`: the whole line in one go, and what it leaves behind.

use std::fs;

use crate::support::{
    command::{run, run_in},
    golden::{assert_line, assert_output},
};

#[test]
fn the_demo_gives_the_expected_results_with_its_duration_and_a_fixture_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["demo", "--out", "made"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let seconds = ran.stdout.split_once("expected result, in ").unwrap().1.split_once(" s.").unwrap().0;
    assert!(seconds.parse::<f64>().is_ok(), "{seconds}");
    for line in ran.stdout.lines() {
        assert!(!line.trim_start().starts_with('!'), "{line}");
    }
    // Six wrong things at least, each by name.
    for rule in [
        "  ok  GET   403  reads a policy without the scope           auth.scope",
        "  ok  GET   400  takes 101 groups                           query.parameter",
        "  ok  POST  400  names an event by 27 characters            path.parameter",
        "  ok  PATCH 400  sends an empty name                        request.body",
        "  ok  GET   401  reads a policy without a token             auth.missing",
        "  ok  GET   200  an invalid date                            response.body",
    ] {
        assert_line(&ran.stdout, rule);
    }

    let fixture = folder.path().join("made/tenant");
    assert!(fixture.join("tenant.har").is_file());
    // What the tenant and the client did wrong is in it.
    assert_eq!(run(["verify".as_ref(), fixture.as_os_str()]).status, 1);
    for entry in fs::read_dir(folder.path().join("made")).unwrap().chain(fs::read_dir(&fixture).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("eyJ"), "a token is in {}", path.display());
        }
    }
}

#[test]
fn the_demo_of_a_contract_lists_what_no_message_fits_and_does_not_fail_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let impossible = r#"{"schema": {"type": "object", "required": ["a"], "additionalProperties": false}}"#;
    let contract = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{"/a": {{
            "get": {{"operationId": "fine", "responses": {{"204": {{"description": "x"}}}}}},
            "put": {{"operationId": "unanswerable",
                "responses": {{"200": {{"description": "x", "content": {{"application/json": {impossible}}}}}}}}},
            "post": {{"operationId": "unaskable", "responses": {{"204": {{"description": "x"}}}},
                "requestBody": {{"required": true, "content": {{"application/json": {impossible}}}}}}}}}}}}}"#
    );
    fs::write(folder.path().join("api.json"), contract).unwrap();
    let ran = run_in(folder.path(), ["demo", "--contract", "api.json", "--out", "made"]);
    assert_output("demo/a_contract_that_no_message_fits", &ran);
}

#[test]
fn the_demo_of_a_contract_without_a_valid_request_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let body = r#"{"required": true, "content": {"application/xml": {"schema": false}}}"#;
    let contract = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{"/a": {{
            "post": {{"operationId": "unaskable", "requestBody": {body}}}}}}}}}"#
    );
    fs::write(folder.path().join("api.json"), contract).unwrap();
    let ran = run_in(folder.path(), ["demo", "--contract", "api.json", "--out", "made"]);
    assert_output("demo/a_contract_without_a_valid_request", &ran);
}

#[test]
fn the_demo_of_a_contract_sends_the_codes_that_it_lists_in_forms_and_queries() {
    let folder = tempfile::tempdir().unwrap();
    let failure = r#"{"type": "object", "required": ["code"], "properties": {"code": {"enum": ["card_expired"]}}}"#;
    let contract = format!(
        r##"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{"/a": {{
            "post": {{"operationId": "fail", "responses": {{"204": {{"description": "x"}}}},
                "parameters": [{{"name": "code", "in": "query", "required": true, "schema": {{"const": "R01x-7Gk"}}}}],
                "requestBody": {{"required": true, "content": {{"application/x-www-form-urlencoded": {{
                    "encoding": {{"failure": {{"style": "deepObject", "explode": true}}}},
                    "schema": {{"type": "object", "required": ["failure", "code"], "properties": {{
                        "failure": {failure}, "code": {{"$ref": "#/components/schemas/Code"}}}}}}}}}}}}}}}}}},
            "components": {{"schemas": {{"Code": {{"type": "string", "enum": ["account_closed"]}}}}}}}}"##
    );
    fs::write(folder.path().join("api.json"), contract).unwrap();
    let ran = run_in(folder.path(), ["demo", "--contract", "api.json", "--out", "made"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_line(&ran.stdout, "  ok  1 operation: 1 conform, 0 with gaps");
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.txt"), "mine").unwrap();
    let ran = run(["demo".as_ref(), "--out".as_ref(), folder.path().as_os_str()]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert_line(&ran.stderr, "contrail: FOLDER is not empty; name a new folder with --out");
    assert!(ran.stderr.lines().count() == 1, "{}", ran.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
