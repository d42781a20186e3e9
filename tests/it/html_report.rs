//! The HTML report shows request and response of a finding, the offending bytes marked, beside the contract's passage.

use std::fs;

use regex::Regex;
use serde_json::Value;

use crate::support::{command::run_in, har};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";
const GROUPS: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";

/// What the report marks, and the places of the passages it shows.
fn shown(entries: &[Value]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
    run_in(folder.path(), ["verify", "a.har", "--report", "html=r.html"]);
    let html = fs::read_to_string(folder.path().join("r.html")).unwrap().replace("<wbr>", "");
    let all = |pattern: &str| {
        let found = Regex::new(pattern).unwrap();
        let found = found.captures_iter(&html).map(|found| found[1].replace("&quot;", "\"").replace("&#39;", "'"));
        found.collect::<Vec<String>>()
    };
    (all("(?s)<mark>(.*?)</mark>"), all("<h3>Contract</h3><p class=dim>built-in <code>(.*?)</code>"))
}

fn get(target: &str, body: &str) -> Value {
    har::get(target, Some(&har::bearer()), 200, body)
}

#[test]
fn the_offending_bytes_are_marked_beside_the_contracts_passage() {
    let (marks, passages) = shown(&[
        get(POLICY, &har::POLICY.replace("\"allow\"", "\"shrug\"")),
        get(&format!("{GROUPS}?x=1&take=500"), r#"{"groups":[]}"#),
    ]);
    assert_eq!(marks, ["take=500", "\"shrug\"", "x=1"]);
    let groups = "/paths/~1connections~1{id}~1directory-provisioning~1synchronized-groups/get";
    let [parameter, all] = ["/parameters/2", "/parameters"].map(|place| format!("{groups}{place}"));
    let [allow, limit, redirect] = ["Allow", "BlockOrLog", "Redirect"]
        .map(|variant| format!("/components/schemas/RateLimitConfiguration{variant}/properties/action"));
    assert_eq!(passages, [parameter, allow, limit, redirect, all]);
}

#[test]
fn of_what_is_missing_the_object_that_lacks_it_is_marked() {
    let without = har::POLICY.replace("\"id\":\"rlp_1\",", "");
    assert_ne!(without, har::POLICY);
    let (marks, passages) = shown(&[get(POLICY, &without)]);
    let marks: Vec<Value> = marks.iter().map(|mark| serde_json::from_str(mark).unwrap()).collect();
    let lacking: Value = serde_json::from_str(&without).unwrap();
    assert_eq!((&marks[..], &passages[..]), (&[lacking][..], &["/components/schemas/RateLimitPolicy".to_owned()][..]));
}

#[test]
fn a_long_body_is_cut_around_the_marked_bytes() {
    let long = format!(r#"{{"groups":[{{"id":"{}"}},7,{{"id":"{}"}}]}}"#, "ä".repeat(5000), "z".repeat(9000));
    let (marks, _) = shown(&[get(GROUPS, &long)]);
    assert_eq!(marks, ["7"]);
}

#[test]
fn markup_in_a_body_stays_text() {
    let body = har::POLICY.replace("\"allow\"", "\"<script>alert(1)</script>\"");
    let (marks, _) = shown(&[get(POLICY, &body)]);
    assert_eq!(marks, ["\"&lt;script&gt;alert(1)&lt;/script&gt;\""]);
}

fn page(entries: &[Value]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
    run_in(folder.path(), ["verify", "a.har", "--report", "html=r.html"]);
    fs::read_to_string(folder.path().join("r.html")).unwrap()
}

#[test]
fn a_mark_in_a_body_stands_above_the_header_fields() {
    let html = page(&[get(POLICY, &har::POLICY.replace("\"allow\"", "\"shrug\""))]);
    let (_, response) = html.split_once("<h3>Response</h3><pre>200</pre>").expect("the status, then the body");
    let (above, below) = response.split_once("<details><summary>Header fields</summary><pre>").unwrap();
    assert!(above.contains("<mark>") && below.starts_with("content-type: "), "{response}");
}

#[test]
fn only_the_lines_around_a_mark_are_unfolded() {
    let groups: Vec<String> = (0..40).map(|number| format!("{{\"id\":{number}}}")).collect();
    let html = page(&[get(GROUPS, &format!("{{\"groups\":[{}]}}", groups.join(",")))]);
    let (above, rest) = html.split_once("<summary>More above</summary>").unwrap_or(("", &html));
    assert!(!above.contains("<mark>"), "{above}");
    let (shown, _) = rest.split_once("<summary>More below</summary>").unwrap();
    let shown = shown.rsplit("<pre>").next().unwrap();
    assert!(shown.contains("<mark>0</mark>") && shown.lines().count() < 20, "{shown}");
}

#[test]
fn a_header_field_that_is_missing_is_marked_where_it_is_missing() {
    let html = page(&[har::conforming(), har::get(POLICY, None, 200, har::POLICY)]);
    let (_, request) = html.split_once("<h3>Request</h3>").unwrap();
    let (request, _) = request.split_once("<h3>").unwrap();
    assert!(request.contains("<mark>(no authorization)</mark>"), "{request}");
    assert!(!request.contains("<summary>Header fields"), "they are not folded: {request}");
}

#[test]
fn a_finding_has_the_same_anchor_in_every_report() {
    let wrong = har::POLICY.replace("\"allow\"", "\"shrug\"");
    for entry in [get(POLICY, &wrong), get(&format!("{POLICY}?x=%20"), &wrong)] {
        let html = page(&[entry]);
        let anchor = "response.body/getRateLimitPolicy/configuration/action";
        assert!(html.contains(&format!("<a href=\"#{anchor}\">")), "{html}");
        assert_eq!(html.matches(&format!("id=\"{anchor}\"")).count(), 1, "{html}");
    }
}

#[test]
fn the_head_has_the_exit_status_and_its_reasons() {
    let html = page(&[get(POLICY, &har::POLICY.replace("\"allow\"", "\"shrug\""))]);
    let head = html.split("<h2").next().unwrap();
    assert!(head.contains("<dd><span class=bad>Exit status 1</span>: response.body 1 (violation)"), "{head}");
    assert!(page(&[har::conforming()]).contains("<span class=good>Exit status 0</span>"));
}

#[test]
fn code_in_a_sentence_is_an_element() {
    let html = page(&[get(POLICY, &har::POLICY.replace("\"allow\"", "\"shrug\""))]);
    assert!(html.contains("<code>allow</code>") && !html.contains('`'), "{html}");
}

#[test]
fn the_page_and_json_show_when_exchanges_were_and_how_long_they_took() {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<Value> = (0..20)
        .map(|number| {
            let body = if number == 7 { "{}" } else { har::POLICY };
            let mut entry = get(POLICY, body);
            entry["startedDateTime"] = format!("2025-11-21T12:{number:02}:00.000Z").into();
            entry["timings"]["wait"] = (number + 1).into();
            entry
        })
        .collect();
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    run_in(folder.path(), ["verify", "a.har", "--report", "html=r.html", "--report", "json=r.json"]);
    let [html, json] = ["r.html", "r.json"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
    let json: Value = serde_json::from_str(&json).unwrap();
    let took = serde_json::json!(
        [{"operation": "getRateLimitPolicy", "exchanges": 20, "p50": 10.0, "p95": 19.0, "max": 20.0}]
    );
    assert_eq!(json["durations"], took);
    for (column, shown) in [("times", "20"), ("p50", "10 ms"), ("p95", "19 ms"), ("max", "20 ms")] {
        let cell = format!("<td class=n data-column=\"{column}\"><div>{shown}</div>");
        assert!(html.contains(&cell), "{cell} is not there in {html}");
    }
    assert_eq!(html.matches("<g><title>").count(), 20, "{html}");
    assert!(html.contains("<title>2025-11-21T12:07:00Z: 1 exchange, 1 wrong</title><rect class=bad "), "{html}");
    assert!(html.contains("From 2025-11-21T12:00:00Z to 2025-11-21T12:19:00Z. A bar is 10 seconds;"), "{html}");
}

#[test]
fn coverage_is_a_tree_of_operations_and_schemas_with_the_parts_that_nothing_touches() {
    let html = page(&[har::conforming()]);
    let (_, coverage) = html.split_once("Coverage of the contract</h2>").unwrap();
    for shown in [
        "1 of 7 operations</summary>\n<ul class=tree>\n<li><code>testAction</code>",
        "1 of 17 statuses</summary>",
        "0 of 2 <code>testAction</code></summary>\n<ul class=tree>\n<li><code>testAction: 2XX</code>",
    ] {
        assert!(coverage.contains(shown), "{shown} is not there in {coverage}");
    }
}
