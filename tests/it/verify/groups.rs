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
