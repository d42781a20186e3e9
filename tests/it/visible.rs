//! Foreign text on a terminal: what documents, recordings and tokens hold must not move the cursor or forge a line.

use std::fs;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::support::{
    command::run_in,
    golden::{assert_line, assert_output},
    har,
};

/// Whether a text holds a control character, other than a line end, or reverses the reading order.
fn steers(text: &str) -> bool {
    text.chars().any(|character| character.is_control() && character != '\n' || character == '\u{202e}')
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
    assert_output("visible/a_documents_control_characters_are_escaped_in_what_contract_prints", &ran);
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
            assert_line(
                &ran.stdout,
                "    x\\u{1b}[2J.har entry 0 (INSTANT): GET \
                 https://tenant.example/api/v2/rate-limit-policies/rlp\\u{1b}[2J\\u{7}_1 -> 200",
            );
        }
        assert!(!steers(&ran.stdout) && !steers(&ran.stderr), "{arguments:?}: {:?} {:?}", ran.stdout, ran.stderr);
    }
}

/// A recording with control characters wherever a client, a tenant or a file name can put them.
fn hostile(status: u16) -> String {
    const STEERS: &str = "\u{1b}[2J\u{9b}1m\u{202e}\u{7}";
    let part = |value: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = serde_json::json!({"azp": format!("me{STEERS}"), "scope": format!("read:x{STEERS}")});
    let token = format!("{}.{}.{}", part(serde_json::json!({"alg": "RS256"})), part(claims), part("x".into()));
    let body = serde_json::json!({"id": STEERS, (STEERS): STEERS, "client_secret": "s3cr3t-value-of-a-client-9",
        (format!("password{STEERS}")): "s3cr3t-value-of-a-user-77"});
    let mut known =
        har::get("/api/v2/rate-limit-policies/rlp_1", Some(&format!("Bearer {token}")), status, &body.to_string());
    known["response"]["statusText"] = STEERS.into();
    for (name, value) in [("X-Note", STEERS), ("Content-Type", "text/\u{1b}[2J")] {
        known["response"]["headers"].as_array_mut().unwrap().push(serde_json::json!({"name": name, "value": value}));
    }
    let mut unknown = har::get(&format!("/{STEERS}?{STEERS}={STEERS}"), Some(STEERS), status, STEERS);
    unknown["response"]["_error"] = STEERS.into();
    let mut query = har::get(&format!("/api/v2/rate-limit-policies/rlp_1?{STEERS}=1"), None, status, "{}");
    query["request"]["httpVersion"] = STEERS.into();
    har::har(&[known, unknown, query])
}

#[test]
fn no_command_prints_a_character_of_a_file_that_a_terminal_acts_on() {
    let folder = tempfile::tempdir().unwrap();
    let name = "x\u{1b}[2J\u{202e}";
    let (a, b) = (format!("{name}.har"), format!("{name}b.har"));
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(&a, &hostile(200));
    write(&b, &hostile(403));
    let torn = format!("{name}.journal");
    write(&torn, "{\"startedDateTime\":\"20");
    let empty = format!("{name}-none.har");
    write(&empty, "{\"log\":{\"entries\":[]}}");
    let copies = [format!("{name}-1"), format!("{name}-2.har"), format!("{name}-3"), format!("{name}-4.har")];
    let link = format!("{name}-link.har");
    std::os::unix::fs::symlink(&a, folder.path().join(&link)).unwrap();
    let commands: Vec<Vec<&str>> = vec![
        vec!["verify", &a, &link, &torn, &empty],
        vec!["audit", &a, &link, &torn, &empty],
        vec!["verify", &a, "--report", "github"],
        vec!["verify", &a, "--report", "csv"],
        vec!["audit", &a, "--report", "csv"],
        vec!["diff", &a, &b],
        vec!["diff", &torn, &a],
        vec!["diff", &a, &link],
        vec!["scan", &a, &link],
        vec!["redact", &a, "--check"],
        vec!["import", &a, "--upstream", "https://tenant.example", "--out", &copies[0]],
        vec!["pack", &copies[0], "--out", &copies[1]],
        vec!["unpack", &copies[1], "--out", &copies[2]],
        vec!["redact", &copies[2], "--out", &copies[3]],
        vec!["verify", &copies[2]],
        vec!["replay", &copies[2], "--", "true"],
        vec!["record", "--upstream", "sandbox", "--out", &copies[0], "--", "true"],
        vec!["verify", name],
        vec!["explain", name],
        vec!["contract", "--contract", &a],
    ];
    for arguments in commands {
        let ran = run_in(folder.path(), &arguments);
        // Lines of CSV end so.
        let stdout = ran.stdout.replace("\r\n", "\n");
        assert!(!steers(&stdout) && !steers(&ran.stderr), "{arguments:?}: {:?} {:?}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.is_empty() || !ran.stderr.is_empty(), "{arguments:?} prints nothing");
    }
}
