//! `docs/reports.md` names every key of the JSON output, and none that is not there.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::support::{
    command::{Ran, contrail, run_in},
    har,
    process::Running,
    wire,
};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";
const LISTENERS: [&str; 6] = ["--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0", "--ca-dir", "ca"];
/// Members whose names the data decides.
const MAPS: [&str; 9] = [
    "coverage",
    "unchecked",
    "parts",
    "operations",
    "rules",
    "secrets",
    "answered_by_contrail",
    "turned_away",
    "verdicts",
];

/// Members that hold a cited exchange.
const CITES: [&str; 6] = [".first", ".firstEarly", ".held", ".needed", ".lacked", ".claimed"];

/// A baseline that lists one finding, which no run has.
const BASELINE: &str = r#"{"findings":[{"rule":"response.body","operation":null,"at":"/gone"}]}"#;

/// Suppressions of findings that some runs have.
const SUPPRESSED: &str = "
[[suppress]]
rule = 'response.body'
reason = 'accepted'
until = 9999-12-31
[[suppress]]
rule = 'auth.unenforced'
reason = 'accepted'
until = 9999-12-31
";

/// The keys of the table whose first column has this title.
fn documented(title: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reports.md")).unwrap();
    let table = page.split(&format!("| {title} |")).nth(1).unwrap_or_else(|| panic!("no table of `{title}`"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let keys = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    keys.map(str::to_owned).collect()
}

/// The keys of a value, lists as `[]`, names that the data decides as `*`.
fn keys(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(value, String::new(), &mut found);
    found
}

fn walk(value: &Value, at: String, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if members.contains_key("entry") && CITES.iter().any(|cites| at.ends_with(cites)) => {
            found.insert(at);
        }
        Value::Object(members) => {
            let is_map = MAPS.contains(&at.rsplit('.').next().unwrap_or_default());
            if members.is_empty() && !is_map {
                found.insert(at.clone());
            }
            for (name, value) in members {
                let name = if is_map { "*" } else { name };
                let dot = if at.is_empty() { "" } else { "." };
                walk(value, format!("{at}{dot}{name}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, format!("{at}[]"), found)),
        _ => {
            found.insert(at);
        }
    }
}

fn merged<'a>(values: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    values.into_iter().flat_map(keys).collect()
}

/// The page and the output name the same keys; of a list that may be empty, the page's word is enough.
fn same(title: &str, found: &BTreeSet<String>, may_be_empty: &[&str]) {
    let documented = documented(title);
    let undocumented: Vec<_> = found.difference(&documented).collect();
    assert!(undocumented.is_empty(), "docs/reports.md, `{title}`, does not name {undocumented:?}");
    let absent: Vec<_> = documented.difference(found).filter(|key| !may_be_empty.contains(&key.as_str())).collect();
    assert!(absent.is_empty(), "docs/reports.md, `{title}`, names {absent:?}, which no output has");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn lines(ran: &Ran) -> Vec<Value> {
    ran.stderr.lines().map(json).collect()
}

/// A wrong request that misses, one that is recorded, and a denied host.
fn traffic(running: &Running) {
    for target in [POLICY, "/api/v2/connections/c/directory-provisioning/synchronized-groups?take=500&x=1"] {
        wire::call(running.addresses[0], "GET", target, &[], b"");
    }
    let connect = b"CONNECT elsewhere.invalid:443 HTTP/1.1\r\nHost: elsewhere.invalid:443\r\n\r\n";
    wire::send(running.addresses[1], "CONNECT", connect).unwrap();
}

#[test]
fn every_key_of_a_proxys_json_is_documented_and_the_reverse() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let wrong = har::POLICY.replace("\"allow\"", "\"shrug\"").replace("rlp_1", "rlp_2");
    let mut login =
        har::get("/oauth/token/", None, 200, r#"{"access_token":"a.b.c","token_type":"Bearer","expires_in":60}"#);
    login["request"]["method"] = "POST".into();
    let held = [
        har::get(POLICY, None, 200, har::POLICY),
        har::get("/api/v2/rate-limit-policies/rlp_2", None, 200, &wrong),
        login,
    ];
    fs::write(folder.join("a.har"), har::har(&held)).unwrap();
    let report = ["--format", "json", "--report", "json=report.json"];
    let mut reports = Vec::new();
    let mut said = Vec::new();
    fs::write(folder.join("base.json"), BASELINE).unwrap();
    fs::write(folder.join("contrail.toml"), SUPPRESSED).unwrap();
    for command in
        [&["replay", "a.har", "--baseline", "base.json"][..], &["record", "--upstream", "sandbox", "--out", "fixture"]]
    {
        let running = Running::start(folder, [command, &LISTENERS, &report].concat());
        traffic(&running);
        said.extend(lines(&running.finish()));
        reports.push(json(&fs::read_to_string(folder.join("report.json")).unwrap()));
    }
    let watch = ["watch", "--upstream", "sandbox", "--trail", "trail"];
    let running = Running::start(folder, [&watch[..], &LISTENERS].concat());
    traffic(&running);
    running.finish();
    reports.push(json(&run_in(folder, ["verify", "trail", "--format", "json"]).stdout));
    let may_be_empty =
        ["proof.problems[]", "integrity[].unrecorded[]", "integrity[].unread[]", "evicted", "findings[].caller"];
    same("key of the report", &merged(&reports), &may_be_empty);
    let first: Vec<&Value> = said.iter().filter(|line| line.get("message").is_some()).collect();
    same("key of the first lines", &merged(first), &[]);
    let exchanges = said.iter().filter(|line| line.get("ms").is_some() || line.get("turned_away").is_some());
    same("key of a line", &merged(exchanges), &[]);
    let summaries = said.iter().filter_map(|line| line.get("summary"));
    let of_reloads = ["contracts[].sha256", "contracts[].exchanges"];
    same("key of the summary", &merged(summaries), &[&["proof.problems[]", "unfit[]"][..], &of_reloads].concat());
}

#[test]
fn every_key_of_an_audit_a_diff_and_a_scan_is_documented_and_the_reverse() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4Iiwic2NvcGUiOiJyZWFkOnVzZXJzIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ";
    let bearer = format!("Bearer {token}");
    let with = |target: &str, status| har::get(target, Some(&bearer), status, har::POLICY);
    let (same_one, gone, new) =
        (with(POLICY, 200), with("/api/v2/rate-limit-policies/rlp_8", 200), with("/api/v2/x", 200));
    let refused = with(POLICY, 401);
    fs::write(
        folder.join("a.har"),
        har::har(&[same_one.clone(), with("/api/v2/rate-limit-policies/rlp_2", 200), gone, refused]),
    )
    .unwrap();
    fs::write(folder.join("b.har"), har::har(&[same_one, with("/api/v2/rate-limit-policies/rlp_2", 404), new]))
        .unwrap();
    let of = |arguments: &[&str]| json(&run_in(folder, arguments).stdout);
    let diff = of(&["diff", "a.har", "b.har", "--format", "json"]);
    same("key of a diff", &merged([&diff]), &[]);
    let bodies = ["minLength: 1", "minLength: 9"].map(|limit| {
        format!(
            "openapi: 3.1.0\ninfo: {{title: x, version: '1'}}\npaths: {{/a: {{get: {{responses: {{'200': {{description: x, \
             content: {{application/json: {{schema: {{type: string, {limit}}}}}}}}}}}}}}}}}\n"
        )
    });
    fs::write(folder.join("old.yaml"), &bodies[0]).unwrap();
    fs::write(folder.join("new.yaml"), &bodies[1]).unwrap();
    fs::write(folder.join("c.har"), har::har(&[har::get("/a", None, 200, "\"short\"")])).unwrap();
    let arguments = ["diff", "--contract", "old.yaml", "--contract", "new.yaml", "c.har", "--format", "json"];
    same("key of two contracts", &merged([&of(&arguments)]), &["failing[].line", "failing[].started"]);
    let coverage = of(&["coverage", "a.har", "--format", "json", "--min-coverage", "operations=1"]);
    same("key of coverage", &merged([&coverage]), &[]);
    #[cfg(feature = "fleet")]
    {
        let exported = of(&["export", "--parquet", "tables", "a.har", "--until", "2100-01-01", "--format", "json"]);
        same("key of an export", &merged([&exported]), &["summary.unchecked.*"]);
    }
    same("key of a scan", &merged([&of(&["scan", "a.har", "--format", "json"])]), &[]);

    let watched = contrail()
        .current_dir(folder)
        .args(["watch", "--upstream", "sandbox", "--trail", "trail", "--allow", "unused", "--", "true"])
        .output()
        .unwrap();
    assert!(watched.status.success());
    fs::write(folder.join("base.json"), BASELINE).unwrap();
    fs::write(folder.join("contrail.toml"), SUPPRESSED).unwrap();
    let audits = [of(&["audit", "a.har", "trail", "--format", "json", "--baseline", "base.json"])];
    let lost = ["exchanges", "from", "to"].map(|name| format!("integrity[].unrecorded[].{name}"));
    let lacking = ["from", "to", "trails"].map(|name| format!("integrity[].notRecorded[].{name}"));
    let clock = ["times", "from", "to"].map(|name| format!("integrity[].clockBack.{name}"));
    let may_be_empty: Vec<&str> = lost
        .iter()
        .chain(&clock)
        .chain(&lacking)
        .map(String::as_str)
        .chain(["unproven[]", "integrity[].unread[]", "filters[]", "unchecked.*", "evicted", "callers[].furtherScopes"])
        .chain(["callers[].calls[].earlyUnchecked", "findings[].caller"])
        .chain(["callers[].callsWithUnreadScopes", "reasons[].operations.*"])
        .chain(["reasons[].aspect", "reasons[].at", "reasons[].reason"])
        .collect();
    same("key of an audit", &merged(&audits), &may_be_empty);
    let cited = keys(&audits[0]["callers"][0]["calls"][0]["first"]);
    same("key of a cited exchange", &cited, &["line"]);
}
