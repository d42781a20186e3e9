//! Findings that are alike are one line with a count.

use super::*;
use crate::support::golden::{assert_line, assert_output};

#[test]
fn gaps_fail_under_deny_gaps_and_a_violation_passes_under_allow() {
    let gap = [get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&bearer()), 200, POLICY)];
    assert_eq!(verify_text(&gap, &[]).status, 0);
    assert_eq!(verify_text(&gap, &["--deny", "gaps"]).status, 1);
    assert_eq!(verify_text(&gap, &["--deny", "query.undocumented"]).status, 1);
    assert_eq!(verify_text(&gap, &["--deny", "operation.undocumented"]).status, 0);
    assert_eq!(verify_text(&gap, &["--deny", "gaps", "--allow", "query.undocumented"]).status, 0);
    let violation = [get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, "{}")];
    assert_eq!(verify_text(&violation, &[]).status, 1);
    let allowed = verify_text(&violation, &["--allow", "response.body", "--allow", "exchange.identity"]);
    assert_eq!(allowed.status, 0, "{}", allowed.stdout);
    assert_output("verify/groups/gaps_fail_under_deny_gaps_and_a_violation_passes_under_allow", &allowed);
}

#[test]
fn the_same_finding_a_thousand_times_is_one_line_with_a_count() {
    let bad = POLICY.replace("\"allow\"", "\"block\",\"limit\":20000");
    let entries: Vec<Value> =
        (0..1000).map(|_| get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, &bad)).collect();
    let ran = verify_text(&entries, &[]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout.matches("response.body").count(), 1, "{}", ran.stdout);
    assert_output("verify/groups/the_same_finding_a_thousand_times_is_one_line_with_a_count", &ran);
}

#[test]
fn items_of_one_array_group_with_each_other() {
    let groups: Vec<String> = (0..50).map(|_| r#"{"id":7}"#.to_owned()).collect();
    let body = format!(r#"{{"groups":[{}]}}"#, groups.join(","));
    let path = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";
    let ran = verify_text(&[get(path, Some(&bearer()), 200, &body)], &[]);
    assert_eq!(ran.stdout.matches("response.body ").count(), 1, "{}", ran.stdout);
    assert_output("verify/groups/items_of_one_array_group_with_each_other", &ran);
}

#[test]
fn undocumented_operations_are_one_line_per_method_and_path_shape() {
    let entries: Vec<Value> =
        (0..20).map(|n| get(&format!("/api/v2/users/auth0%7C{n}"), Some(&bearer()), 200, "{}")).collect();
    let ran = verify_text(&entries, &[]);
    assert_eq!(ran.status, 0);
    assert_eq!(ran.stdout.matches("/api/v2/users/").count(), 1, "{}", ran.stdout);
    assert_output("verify/groups/undocumented_operations_are_one_line_per_method_and_path_shape", &ran);
}

#[test]
fn other_sites_are_counted_in_one_line_and_not_listed() {
    let mut other = conforming();
    other["request"]["url"] = "https://cdn.example/app.js".into();
    let entries = [conforming(), other.clone(), other];
    let ran = verify_text(&entries, &[]);
    assert_output("verify/groups/other_sites_are_counted_in_one_line_and_not_listed", &ran);
    let (_, report) = verify_json(&entries, &[]);
    assert_eq!(report["exchanges"].as_array().unwrap().len(), 3);
    assert_eq!(rules(&report, 1), ["operation.undocumented"]);
    assert_eq!(report["exchanges"][1]["operation"], Value::Null);
}

#[test]
fn every_report_states_that_other_sites_fail_deny_gaps_and_the_option_that_it_names_lets_them_pass() {
    let mut elsewhere = conforming();
    elsewhere["request"]["url"] = "https://cdn.example/logo.svg".into();
    let entries = [conforming(), elsewhere];
    let ran = verify_text(&entries, &["--deny", "gaps"]);
    assert_eq!(ran.status, 1);
    for text in [
        "  operation.undocumented (denied)\n    outside the contract (another site or base path)  once\n",
        "1 exchange of other sites or base paths: a gap each, which `--deny` makes fail; `--allow \
         operation.undocumented` lets undocumented operations pass",
        "2 exchanges checked against Tenant Management Interface 2.0: 1 conform, 1 with gaps, 0 violate\n",
    ] {
        assert_line(&ran.stdout, text);
    }
    let (status, report) = verify_json(&entries, &["--deny", "gaps"]);
    assert_eq!((status, &report["summary"]["gap"], &report["summary"]["exchanges"]), (1, &1.into(), &2.into()));
    let junit = verify_text(&entries, &["--deny", "gaps", "--report", "junit"]);
    assert_output(
        "verify/groups/every_report_states_that_other_sites_fail_deny_gaps_and_the_option_that_it_names_lets_them_pass",
        &junit,
    );
    let html = verify_text(&entries, &["--deny", "gaps", "--report", "html"]);
    assert_output(
        "verify/groups/every_report_states_that_other_sites_fail_deny_gaps_and_the_option_that_it_names_lets_them_pass-2",
        &html,
    );
    let allowed = verify_text(&entries, &["--deny", "gaps", "--allow", "operation.undocumented"]);
    assert_output("verify/groups/other_sites_under_deny_gaps_and_allow", &allowed);
    assert_output("verify/groups/other_sites", &verify_text(&entries, &[]));
}

#[test]
fn a_request_to_another_site_that_failed_is_not_blamed() {
    let mut blocked = conforming();
    blocked["request"]["url"] = "https://ads.example/pixel".into();
    blocked["response"]["status"] = 0.into();
    let (status, report) = verify_json(&[blocked], &[]);
    assert_eq!((status, rules(&report, 0)), (0, vec!["operation.undocumented"]));
    let mut failed = conforming();
    failed["request"]["url"] = "https://tenant.example/api/v2/users".into();
    failed["response"]["status"] = 0.into();
    let (status, report) = verify_json(&[failed], &[]);
    assert_eq!((status, rules(&report, 0)), (1, vec!["operation.undocumented", "transport.incomplete"]));
}

#[test]
fn a_long_recording_is_reported_as_a_short_one_is() {
    // Long enough for several threads: the counts are the sum, and the samples are still the first ones.
    let odd = get("/api/v2/rate-limit-policies/rlp_1?odd=1", Some(&bearer()), 200, POLICY);
    let entries: Vec<Value> = (0..2000).map(|n| if n % 100 == 42 { odd.clone() } else { conforming() }).collect();
    let ran = verify_text(&entries, &[]);
    let (status, report) = verify_json(&entries, &[]);
    assert_eq!((ran.status, status), (0, 0), "{}", ran.stderr);
    assert_output("verify/groups/a_long_recording_is_reported_as_a_short_one_is", &ran);
    let summary = serde_json::json!({"exchanges": 2000, "conforms": 1980, "gap": 20, "violates": 0, "skipped": 0});
    assert_eq!(report["summary"], summary);
    for (index, exchange) in report["exchanges"].as_array().unwrap().iter().enumerate() {
        assert_eq!(exchange["entry"], index);
        assert_eq!(exchange["verdict"], if index % 100 == 42 { "gap" } else { "conforms" });
    }
}

#[test]
fn reasons_of_what_was_not_checked_are_grouped_by_aspect_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let document = r"
openapi: 3.1.0
info: {title: Files, version: '1'}
servers: [{url: https://files.example}]
paths:
  /f:
    post:
      operationId: up
      parameters: [{name: n, in: query, schema: {type: string}}]
      requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {n: {type: integer}, file: {type: object}}}}}}
      responses: {'204': {description: done}}
";
    fs::write(folder.path().join("files.yaml"), document).unwrap();
    let entry = |kind: &str| {
        let body = format!(
            "--B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n1\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"a\"\r\nContent-Type: {kind}\r\n\r\n<a/>\r\n--B--\r\n"
        );
        let content_type = "multipart/form-data; boundary=B";
        json!({
            "startedDateTime": "2026-11-27T06:00:00Z", "time": 1, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
            "request": {"method": "POST", "url": "https://files.example/f", "httpVersion": "HTTP/1.1", "cookies": [],
                "headers": [{"name": "Content-Type", "value": content_type}], "queryString": [], "headersSize": -1,
                "bodySize": body.len(), "postData": {"mimeType": content_type, "text": body}},
            "response": {"status": 204, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
                "content": {"size": 0, "mimeType": ""}, "redirectURL": "", "headersSize": -1, "bodySize": 0}
        })
    };
    fs::write(folder.path().join("x.har"), har::har(&[entry("text/xml"), entry("text/xml"), entry("text/csv")]))
        .unwrap();
    let verify =
        |options: &[&str]| run_in(folder.path(), ["verify", "--contract", "files.yaml", "x.har"].iter().chain(options));
    let text = verify(&[]);
    assert_output("verify/groups/reasons_of_what_was_not_checked_are_grouped_by_aspect_and_place", &text);
    let expected = "  request-body: 3 exchanges (up 3)\n    at /file: contrail does not read `text/xml` (up 2)\n    at /file: contrail does not read `text/csv` (up 1)\n";
    assert!(text.stdout.contains(expected), "{}", text.stdout);
    let json: Value = serde_json::from_str(&verify(&["--format", "json"]).stdout).unwrap();
    assert_eq!(json["exchanges"][0]["unchecked"], json!(["request-body"]));
    let reason = json!([{"aspect": "request-body", "at": "/file", "reason": "contrail does not read `text/xml`"}]);
    assert_eq!(json["exchanges"][0]["reasons"], reason);
    for format in ["html", "markdown"] {
        let path = format!("r.{format}");
        verify(&["--report", &format!("{format}={path}")]);
        let report = fs::read_to_string(folder.path().join(&path)).unwrap();
        assert!(report.contains("contrail does not read"), "{report}");
    }
}

#[test]
fn a_choice_of_which_several_variants_fit_is_another_group_than_one_of_which_none_does() {
    let folder = tempfile::tempdir().unwrap();
    let document = r"
openapi: 3.1.0
info: {title: Pens, version: '1'}
servers: [{url: https://pens.example}]
paths:
  /p:
    get:
      operationId: pen
      responses: {'200': {description: a pen, content: {application/json: {schema: {oneOf: [{type: object, required: [a]}, {type: object, required: [b]}]}}}}}
";
    fs::write(folder.path().join("pens.yaml"), document).unwrap();
    let entries = [r#"{"a":1,"b":1}"#, "{}", r#"{"a":1,"b":2}"#].map(|body| {
        let mut entry = get("/p", None, 200, body);
        entry["request"]["url"] = "https://pens.example/p".into();
        entry
    });
    fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();
    let ran = run_in(folder.path(), ["verify", "--contract", "pens.yaml", "x.har"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("2 times\n    expected exactly one of the 2 documented variants (2 fit: /0, /1)"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("once\n    expected one of the 2 documented variants (none fits)"), "{}", ran.stdout);
}
