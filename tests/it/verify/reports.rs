//! Reports: their form, and no secret in any of them.

use super::*;
use crate::support::{golden::assert_output, reports::FORMATS};

#[test]
fn the_json_report_has_the_documented_keys_in_their_order() {
    let entries = [conforming(), get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&bearer()), 200, POLICY)];
    let ran = run_with_input(["verify", "--format", "json", "-"], har::har(&entries).as_bytes());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let keys = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let members = ["contract", "summary", "exchanges", "findings", "operationsCalled", "coverage", "durations", "exit"];
    assert_eq!(keys(&report), members);
    assert_eq!(keys(&report["contract"]), ["title", "version"]);
    assert_eq!(report["contract"]["version"], "2.0");
    assert_eq!(
        report["summary"],
        serde_json::json!({"exchanges": 2, "conforms": 1, "gap": 1, "violates": 0, "skipped": 0})
    );
    assert_eq!(
        keys(&report["exchanges"][0]),
        [
            "source",
            "entry",
            "started",
            "operation",
            "method",
            "url",
            "status",
            "verdict",
            "blame",
            "findings",
            "unchecked",
            "reasons"
        ]
    );
    assert_eq!(
        report["exchanges"][0],
        serde_json::json!({
            "source": "-", "entry": 0, "started": "2025-11-21T12:00:00Z", "operation": "getRateLimitPolicy", "method": "GET",
            "url": "https://tenant.example/api/v2/rate-limit-policies/rlp_1", "status": 200, "verdict": "conforms",
            "blame": "agreed", "findings": [], "unchecked": ["signature"],
            "reasons": [{"aspect": "signature", "at": "", "reason": "no keys were given"}],
        })
    );
    assert_eq!(keys(&report["exchanges"][1]["findings"][0]), ["rule", "kind", "at", "message"]);
    assert_eq!(report["exchanges"][1]["findings"][0]["rule"], "query.undocumented");
    assert_eq!(report["exchanges"][1]["findings"][0]["kind"], "gap");
    assert_eq!(report["exchanges"][1]["findings"][0]["at"], "debug");
}

#[test]
fn no_secret_of_the_input_is_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = fs::read_to_string(data().join("secrets.har")).unwrap();
    assert!(input.contains("s3cr3t-in-a-body"), "the secrets are planted");
    let mut outputs = Vec::new();
    for format in FORMATS {
        let file = folder.path().join(format);
        let report = format!("{format}={}", file.display());
        let ran = run_in(&data(), ["verify", "secrets.har", "--report", &report]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        outputs.push((format, fs::read_to_string(&file).unwrap()));
        outputs.push((format, ran.stdout));
        outputs.push((format, ran.stderr));
    }
    for (format, output) in outputs {
        for secret in ["s3cr3t", "c3ZjLWNoZWNrb3V0", "eyJhbGciOiJSUzI1NiIs"] {
            assert!(!output.contains(secret), "{secret} in {format}:\n{output}");
        }
    }
}

#[test]
fn a_secret_of_an_exchange_that_conforms_is_gone_from_one_that_does_not() {
    let secret = "zq81mxo2-elsewhere-77";
    let mut first = conforming();
    let headers = first["request"]["headers"].as_array_mut().unwrap();
    headers.push(serde_json::json!({"name": "Cookie", "value": format!("session={secret}")}));
    let second = get(&format!("/api/v2/rate-limit-policies/rlp_1?note={secret}"), Some(&bearer()), 200, POLICY);
    let ran = verify_text(&[first, second], &[]);
    assert_output("verify/reports/a_secret_of_an_exchange_that_conforms_is_gone_from_one_that_does_not", &ran);
    assert!(!ran.stdout.contains(secret), "{}", ran.stdout);
}

#[test]
fn a_secret_is_gone_from_samples_that_came_before_it_was_recognised() {
    let late = "zq81mxo2-late-secret-77";
    let path = format!("/api/v2/rate-limit-policies/rlp_1?debug={late}");
    let early = get(&path, Some(&bearer()), 200, &POLICY.replace("\"default\"", &format!("\"{late}\"")));
    let mut login = get("/oauth/token", None, 200, r#"{"access_token":"a.b.c","token_type":"Bearer","expires_in":60}"#);
    login["request"]["method"] = "POST".into();
    login["request"]["postData"] = serde_json::json!({"mimeType": "application/x-www-form-urlencoded",
        "text": format!("grant_type=client_credentials&client_id=x&client_secret={late}&audience=%2Fapi%2Fv2%2F")});
    let entries = [early, login];
    let ran = verify_text(&entries, &[]);
    assert_output("verify/reports/a_secret_is_gone_from_samples_that_came_before_it_was_recognised", &ran);
    let (_, report) = verify_json(&entries, &[]);
    assert_eq!(rules(&report, 0), ["query.undocumented", "response.body.undocumented"]);
    assert!(!report.to_string().contains(late), "{report}");
}

#[test]
fn markup_of_the_input_is_text_in_the_html_and_junit_reports() {
    let entries =
        [get("/api/v2/rate-limit-policies/rlp_1?%3Cscript%3Ealert(1)%3C%2Fscript%3E=1", Some(&bearer()), 200, POLICY)];
    for kind in ["html", "junit"] {
        let ran = verify_text(&entries, &["--report", kind]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("&lt;script&gt;"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("<script"), "{}", ran.stdout);
    }
}

#[test]
fn the_junit_report_fails_what_fails_the_command_and_skips_the_rest() {
    let bad = POLICY.replace("\"default\"", "7");
    let entries = [get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&bearer()), 200, &bad)];
    let ran = verify_text(&entries, &["--report", "junit"]);
    assert_output("verify/reports/the_junit_report_fails_what_fails_the_command_and_skips_the_rest", &ran);
    let denied = verify_text(&entries, &["--report", "junit", "--deny", "gaps"]);
    assert_output("verify/reports/the_junit_report_fails_what_fails_the_command_and_skips_the_rest-2", &denied);
}

#[test]
fn every_report_cites_the_first_exchange_of_a_finding_by_file_entry_line_and_instant() {
    let bad = POLICY.replace("\"default\"", "7");
    let path = "/api/v2/rate-limit-policies/rlp_1?debug=a%7Cb";
    let folder = tempfile::tempdir().unwrap();
    let wrong = get(path, Some(&bearer()), 200, &bad);
    fs::write(folder.path().join("a.har"), har::har(&[conforming(), wrong.clone(), wrong])).unwrap();
    for kind in ["markdown", "github", "csv"] {
        let ran = run_in(folder.path(), ["verify", "a.har", "--report", kind]);
        assert_output(&format!("verify/reports/every_report_cites_the_first_exchange-{kind}"), &ran);
    }
    let ran = run_in(folder.path(), ["verify", "a.har", "--report", "sarif"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let run = &report["runs"][0];
    assert_eq!(run["invocations"], json!([{"executionSuccessful": true, "exitCode": 1}]));
    assert_eq!(run["artifacts"], json!([{"location": {"uri": "a.har"}}]));
    let results = run["results"].as_array().unwrap();
    let levels: Vec<_> = results.iter().map(|result| (&result["ruleId"], &result["level"])).collect();
    assert_eq!(levels, [(&json!("response.body"), &json!("error")), (&json!("query.undocumented"), &json!("note"))]);
    let location = json!([{
        "logicalLocations": [{
            "name": "getRateLimitPolicy", "fullyQualifiedName": "getRateLimitPolicy/response.body at /consumer_selector"
        }],
        "physicalLocation": {"artifactLocation": {"uri": "a.har"}},
    }]);
    assert_eq!((&results[0]["locations"], &results[0]["occurrenceCount"]), (&location, &json!(2)));
    let case = "getRateLimitPolicy/response.body at /consumer_selector";
    assert_eq!(results[0]["partialFingerprints"], json!({"case/v1": case}));
    let exchange = json!({
        "source": "a.har", "entry": 1, "started": "2025-11-21T12:00:00Z", "method": "GET",
        "url": format!("https://tenant.example{path}"), "status": 200,
    });
    assert_eq!(results[0]["properties"]["exchange"], exchange);
}

#[cfg(unix)]
#[test]
fn a_report_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let report = format!("json={}", file.display());
    let ran = verify_text(&[conforming()], &["--report", &report]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_output("verify/reports/a_report_file_is_for_its_owner_only", &ran);
}

#[test]
fn a_report_that_cannot_be_written_is_status_2_and_names_the_file() {
    let ran = verify_text(&[conforming()], &["--report", "json=/dev/null/r.json"]);
    assert_eq!(ran.status, 2);
    assert_output("verify/reports/a_report_that_cannot_be_written_is_status_2_and_names_the_file", &ran);
}

#[test]
fn output_that_is_no_terminal_has_no_colour() {
    let ran = run_in(&data(), ["verify", "mitmproxy.har"]);
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_status() {
    let entries: Vec<Value> = (0..3000)
        .map(|n| get(&format!("/api/v2/rate-limit-policies/rlp_1?p{n}=1"), Some(&bearer()), 200, POLICY))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.har");
    fs::write(&file, har::har(&entries)).unwrap();
    let mut child = contrail()
        .args(["verify", "--format", "json"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn a_report_to_a_dash_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[conforming()])).unwrap();
    let plain = run_in(folder.path(), ["verify", "a.har", "--report", "json"]);
    let dash = run_in(folder.path(), ["verify", "a.har", "--report", "json=-"]);
    assert!(dash.stdout == plain.stdout && dash.status == 0 && !folder.path().join("-").exists(), "{}", dash.stderr);
}

#[test]
fn every_report_states_how_many_known_secrets_were_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<Value> = (0..9)
        .map(|number| {
            let key = format!("zq81mxo2-{number}-77aa-kk30");
            get("/api/v2/x", Some(&format!("Bearer {key}")), 200, "{}")
        })
        .collect();
    std::fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();
    for (command, format) in [
        ("verify", "text"),
        ("verify", "html"),
        ("verify", "markdown"),
        ("audit", "text"),
        ("audit", "html"),
        ("audit", "markdown"),
    ] {
        let of = |most: &str| {
            run_in(folder.path(), [command, "x.har", "--max-secrets", most, "--report", format])
                .stdout
                .replace('\\', "")
        };
        let evicted = "were evicted (--max-secrets); later copies were found only by field, header or format";
        assert!(of("2").contains(evicted), "{command} {format}: {}", of("2"));
        assert!(!of("10").contains("evicted"), "{command} {format}");
    }
    for command in ["verify", "audit"] {
        let evicted = |most: &str| -> Value {
            let ran = run_in(folder.path(), [command, "x.har", "--max-secrets", most, "--format", "json"]);
            serde_json::from_str::<Value>(&ran.stdout).unwrap()["evicted"].clone()
        };
        assert!(evicted("2").as_u64().is_some_and(|count| count > 0), "{command}");
        assert_eq!(evicted("10"), Value::Null, "{command}");
    }
}
