//! Foreign text on a terminal: what documents, recordings and tokens hold must not move the cursor or forge a line.

use std::fs;

use crate::support::{command::run_in, har};

/// Everything but line ends, tabs and text.
fn steers(text: &str) -> bool {
    text.chars().any(|character| character.is_control() && character != '\n')
}

#[test]
fn a_documents_control_characters_are_escaped_in_what_contract_prints() {
    let folder = tempfile::tempdir().unwrap();
    let document = r#"{"openapi":"3.1.0","info":{"title":"x\u001b[2J","version":"1\u0007"},"paths":{"/a\u001bb":{"get":{
        "operationId":"a\u001b[31m","summary":"does\nFORGED","parameters":[{"name":"q\u0000","in":"query","schema":
        {"type":"string","pattern":"^[^\u0000\n]$","maxLength":3}}],"responses":{"200":{"description":"x"}}}}}}"#;
    fs::write(folder.path().join("api.json"), document).unwrap();
    let ran = run_in(folder.path(), ["contract", "--contract", "api.json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!steers(&ran.stdout), "{:?}", ran.stdout);
    assert!(!ran.stdout.lines().any(|line| line == "FORGED"), "{}", ran.stdout);
    assert!(ran.stdout.contains("x\\u{1b}[2J 1\\u{7}") && ran.stdout.contains("a\\u{1b}[31m"), "{}", ran.stdout);
}

#[test]
fn a_recordings_control_characters_are_escaped_in_every_text_that_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = har::get("/api/v2/rate-limit-policies/rlp_1", None, 200, har::POLICY);
    let text = har::har(&[exchange]).replace("rlp_1", "rlp\\u001b[2J\\u0007_1");
    fs::write(folder.path().join("x\u{1b}[2J.har"), text).unwrap();
    for arguments in [&["verify", "x\u{1b}[2J.har"][..], &["audit", "x\u{1b}[2J.har"], &["scan", "x\u{1b}[2J.har"]] {
        let ran = run_in(folder.path(), arguments);
        if arguments[0] == "verify" {
            assert!(ran.stdout.contains("rlp\\u{1b}[2J"), "the recording is read: {}", ran.stdout);
        }
        assert!(!steers(&ran.stdout) && !steers(&ran.stderr), "{arguments:?}: {:?} {:?}", ran.stdout, ran.stderr);
    }
}
