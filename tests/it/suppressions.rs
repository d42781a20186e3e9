//! `[[suppress]]` in `contrail.toml`: findings that do not fail up to a date, for a reason.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, run_in},
    golden::assert_output,
    har,
};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";
const GROUPS: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";

/// A folder with a recording of two violations, and this file of settings.
fn folder(settings: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let get = |target: &str, body: &str| har::get(target, Some(&har::bearer()), 200, body);
    let entries =
        [get(POLICY, &har::POLICY.replace("\"allow\"", "\"shrug\"")), get(&format!("{GROUPS}?take=500"), "{}")];
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    fs::write(folder.path().join("contrail.toml"), settings).unwrap();
    folder
}

const BOTH: &str = r#"
[[suppress]]
rule = "response.body"
operation = "getRateLimitPolicy"
at = "/configuration/action"
reason = "the tenant's next release corrects it"
until = 9999-12-31

[[suppress]]
rule = "query.parameter"
reason = "the importer pages by 500 until its release 5"
until = "9999-12-31"
"#;

fn verify(folder: &Path, more: &[&str]) -> Ran {
    run_in(folder, ["verify", "a.har"].iter().chain(more))
}

fn report(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("r.json")).unwrap()).unwrap()
}

#[test]
fn a_suppressed_finding_does_not_fail_and_every_report_shows_why() {
    let folder = folder(BOTH);
    let folder = folder.path();
    let reports =
        ["json=r.json", "junit=r.xml", "sarif=r.sarif", "markdown=r.md"].map(|report| format!("--report={report}"));
    let ran = verify(folder, &reports.each_ref().map(String::as_str));
    assert_eq!((ran.status, ran.stdout), (0, verify(folder, &[]).stdout), "{}", ran.stderr);
    assert_output("suppressions/verify", &verify(folder, &[]));
    assert_output("suppressions/audit", &run_in(folder, ["audit", "a.har"]));
    let json = report(folder);
    let whys: Vec<_> = json["findings"].as_array().unwrap().iter().map(|one| &one["suppressed"]).collect();
    let [importer, tenant] = ["the importer pages by 500 until its release 5", "the tenant's next release corrects it"];
    assert_eq!(whys, [importer, tenant]);
    assert_eq!(
        json["suppressions"][0],
        json!({
            "rule": "response.body", "operation": "getRateLimitPolicy", "at": "/configuration/action",
            "reason": tenant, "until": "9999-12-31", "source": "contrail.toml, line 2", "count": 1, "expired": false,
        })
    );
    let sarif: Value = serde_json::from_str(&fs::read_to_string(folder.join("r.sarif")).unwrap()).unwrap();
    let suppressions: Vec<_> = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| (&result["ruleId"], &result["suppressions"]))
        .collect();
    let external = |why| json!([{"kind": "external", "status": "accepted", "justification": why}]);
    assert_eq!(
        suppressions,
        [(&json!("response.body"), &external(tenant)), (&json!("query.parameter"), &external(importer)),]
    );
    let junit = fs::read_to_string(folder.join("r.xml")).unwrap();
    assert_eq!((junit.matches("<skipped").count(), junit.matches("<failure").count()), (2, 0), "{junit}");
    let markdown = fs::read_to_string(folder.join("r.md")).unwrap();
    assert!(markdown.contains(importer) && markdown.contains("contrail.toml, line 9"), "{markdown}");
}

#[test]
fn a_suppression_of_another_rule_operation_or_place_covers_nothing() {
    for other in [
        BOTH.replace("\"response.body\"", "\"response.content-type\""),
        BOTH.replace("\"getRateLimitPolicy\"", "\"getSynchronizedGroups\""),
        BOTH.replace("\"/configuration/action\"", "\"/configuration\""),
    ] {
        let folder = folder(&other);
        assert_eq!(verify(folder.path(), &[]).status, 1, "{other}");
    }
}

#[test]
fn an_expired_suppression_is_a_finding_whether_or_not_it_covers_anything() {
    let expired = BOTH.replace("9999-12-31\n", "2020-01-31\n");
    let folder = folder(&expired);
    let folder = folder.path();
    assert_output("suppressions/expired", &verify(folder, &["--report", "json=r.json", "--report", "text"]));
    let json = report(folder);
    let because = &json["exit"]["because"];
    let expiry = "contrail.toml, line 2: the suppression of response.body: getRateLimitPolicy at /configuration/action \
                  expired on 2020-01-31; remove it or set a later date";
    assert_eq!(*because, json!(["response.body 1 (violation)", expiry]));
    fs::write(folder.join("a.har"), har::har(&[har::conforming()])).unwrap();
    let ran = verify(folder, &["--report", "junit=r.xml"]);
    let junit = fs::read_to_string(folder.join("r.xml")).unwrap();
    assert_eq!((ran.status, junit.matches("<failure").count()), (1, 1), "{junit}");
    assert_eq!(run_in(folder, ["audit", "a.har"]).status, 1);
}

#[test]
fn a_proxy_applies_suppressions_too() {
    let folder = folder(BOTH);
    let folder = folder.path();
    let replay = ["replay", "a.har", "--check-auth", "--allow", "unused", "--", "true"];
    assert_eq!(run_in(folder, replay).status, 0);
    fs::remove_file(folder.join("contrail.toml")).unwrap();
    assert_eq!(run_in(folder, replay).status, 1);
}

#[test]
fn a_suppression_that_cannot_be_used_stops_the_command_with_its_line() {
    let whole = "\n[[suppress]]\nrule = \"response.body\"\nreason = \"why\"\nuntil = 2030-01-31\n";
    for (from, to, expected) in [
        ("rule = \"response.body\"\n", "", "line 2: a suppression needs `rule`: the rule of the findings"),
        ("reason = \"why\"\n", "", "line 2: a suppression needs `reason`: why the findings are accepted"),
        (
            "until = 2030-01-31",
            "",
            "line 2: a suppression needs `until`: the last day on which it holds, such as 2027-01-31",
        ),
        ("until = 2030-01-31", "until = \"soon\"", "line 2: `until` must be a date, such as 2027-01-31"),
        ("until = 2030-01-31", "until = 2030-01-31T10:00:00Z", "line 2: `until` must be a date, such as 2027-01-31"),
        (
            "response.body",
            "response.bdy",
            "line 2: `response.bdy` is not a rule; did you mean `response.body`? `contrail explain` lists them all",
        ),
        ("reason =", "because =", "line 2: a suppression has no key `because`"),
        ("rule =", "rules =", "line 2: a suppression has no key `rules`; did you mean `rule`?"),
        ("\"why\"", "7", "line 2: `reason` must be a text"),
    ] {
        let folder = folder(&whole.replace(from, to));
        let ran = verify(folder.path(), &[]);
        assert_eq!((ran.status, ran.stderr), (2, format!("contrail: contrail.toml, {expected}\n")));
    }
    let folder = folder("suppress = \"response.body\"\n");
    let ran = verify(folder.path(), &[]);
    let expected = "contrail: contrail.toml: write each suppression as a table below `[[suppress]]`\n";
    assert_eq!((ran.status, &*ran.stderr), (2, expected));
}
