//! The schemas in `docs/schemas` describe the JSON of contrail: every output conforms, and every member occurs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;

use crate::support::{
    command::{Ran, contrail, run_in},
    har,
    process::Running,
    wire,
};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";
const LISTENERS: [&str; 6] = ["--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0", "--ca-dir", "ca"];

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

fn schemas() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas");
    let files = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    files
        .map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), json(&fs::read_to_string(&file).unwrap())))
        .collect()
}

/// The members that a schema describes, under the name of the definition that holds them.
struct Members<'s> {
    root: &'s Value,
    found: BTreeSet<String>,
}

impl<'s> Members<'s> {
    fn new(root: &'s Value) -> Self {
        Self { root, found: BTreeSet::new() }
    }

    /// What a schema refers to, with the place that names its members.
    fn target(&self, schema: &'s Value, at: &str) -> (&'s Value, String) {
        match schema["$ref"].as_str() {
            Some(to) => (self.root.pointer(&to[1..]).unwrap(), to.rsplit('/').next().unwrap().to_owned()),
            None => (schema, at.to_owned()),
        }
    }

    /// Collects the members of the values, or all members where there is no value.
    fn walk(&mut self, schema: &'s Value, at: &str, value: Option<&Value>) {
        let (schema, at) = self.target(schema, at);
        for choice in ["oneOf", "anyOf"].iter().filter_map(|choice| schema[choice].as_array()).flatten() {
            self.walk(choice, &at, value);
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let held = value.map(|value| &value[name.as_str()]);
            if value.is_none_or(|value| value.get(name).is_some())
                && self.found.insert(format!("{at}.{name}")) | value.is_some()
            {
                self.walk(member, &format!("{at}.{name}"), held);
            }
        }
        let (rest, items) = (&schema["additionalProperties"], &schema["items"]);
        match value {
            None if rest.is_object() || items.is_object() => {
                self.walk(if rest.is_object() { rest } else { items }, &at, None);
            }
            Some(Value::Object(members)) if rest.is_object() => {
                for member in members.values() {
                    self.walk(rest, &at, Some(member));
                }
            }
            Some(Value::Array(list)) if items.is_object() => {
                for item in list {
                    self.walk(items, &at, Some(item));
                }
            }
            _ => {}
        }
    }
}

/// Each value conforms to the schema, and each member that the schema describes occurs, but for those that may be absent.
fn conform<'v>(name: &str, values: impl IntoIterator<Item = &'v Value>, may_be_absent: &[&str]) {
    let schemas = schemas();
    let schema = &schemas[name];
    let validator = jsonschema::validator_for(schema).unwrap();
    let (mut all, mut occur) = (Members::new(schema), Members::new(schema));
    all.walk(schema, "", None);
    for value in values {
        if let Some(error) = validator.iter_errors(value).next() {
            panic!("docs/schemas/{name}.json: {error} at {}: {value:#}", error.instance_path());
        }
        occur.walk(schema, "", Some(value));
    }
    let absent: Vec<_> =
        all.found.difference(&occur.found).filter(|member| !may_be_absent.contains(&member.as_str())).collect();
    assert!(absent.is_empty(), "docs/schemas/{name}.json has {absent:?}, which no output has");
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

/// Members of a trail that need a full disk, several trails, or a clock that goes back.
const OF_TRAILS: [&str; 11] = [
    "integrity.notRecorded",
    "integrity.notRecorded.from",
    "integrity.notRecorded.to",
    "integrity.notRecorded.trails",
    "integrity.unrecorded.exchanges",
    "integrity.unrecorded.from",
    "integrity.unrecorded.to",
    "integrity.clockBack",
    "integrity.clockBack.times",
    "integrity.clockBack.from",
    "integrity.clockBack.to",
];

#[test]
fn definitions_of_one_name_are_the_same_in_all_schemas() {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for (file, schema) in schemas() {
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            let first = known.entry(name.clone()).or_insert_with(|| definition.clone());
            assert_eq!(first, definition, "`{name}` of docs/schemas/{file}.json");
        }
    }
}

#[test]
fn the_json_of_a_proxy_and_of_verify_conforms_to_its_schemas() {
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
    fs::create_dir(folder.join("sessions")).unwrap();
    fs::copy(folder.join("a.har"), folder.join("sessions/b.har")).unwrap();
    for command in [
        &["replay", "a.har", "--baseline", "base.json"][..],
        &["replay", "a.har", "--sessions", "sessions", "--deny", "unused"],
        &["record", "--upstream", "sandbox", "--out", "fixture"],
    ] {
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
    let rare = [".evicted", ".furtherFindings", ".furtherMisses", ".furtherDenied", "group.caller", "proof.note"];
    conform("report", &reports, &[&rare[..], &OF_TRAILS].concat());
    let events = ["adopted", "alarm", "no_proxy_dropped", "record_missing", "recovered", "reloaded"];
    let more = ["sandboxLimits", "torn", "unrecorded", "control", "recorded_session", "set_aside"];
    let events = events.iter().chain(&more).map(|name| format!("event.{name}"));
    let rare = [
        ".alarm",
        ".lines_dropped",
        "exchange.graphql",
        "exchange.incomplete",
        "exchange.remarks",
        "exchange.upstream",
        "proof.note",
        "summary.sessions",
    ];
    let rare = rare.map(str::to_owned).into_iter().chain(events);
    let rare: Vec<String> =
        rare.chain(["unfit.entry", "unfit.request", "unfit.why"].map(|name| format!("summary.{name}"))).collect();
    conform("line", &said, &rare.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_json_of_an_audit_a_diff_and_a_scan_conforms_to_its_schema() {
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
    conform("diff", [&diff], &[]);
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
    conform("contracts", [&of(&arguments)], &[".failing.line", ".failing.started"]);
    let coverage = of(&["coverage", "a.har", "--format", "json", "--min-coverage", "operations=1"]);
    conform("coverage", [&coverage], &[]);
    #[cfg(feature = "fleet")]
    {
        let exported = of(&["export", "--parquet", "tables", "a.har", "--until", "2100-01-01", "--format", "json"]);
        conform("export", [&exported], &[]);
    }
    conform("scan", [&of(&["scan", "a.har", "--format", "json"])], &[]);

    let watched = contrail()
        .current_dir(folder)
        .args(["watch", "--upstream", "sandbox", "--trail", "trail", "--allow", "unused", "--", "true"])
        .output()
        .unwrap();
    assert!(watched.status.success());
    fs::write(folder.join("base.json"), BASELINE).unwrap();
    fs::write(folder.join("contrail.toml"), SUPPRESSED).unwrap();
    let audits = [of(&["audit", "a.har", "trail", "--format", "json", "--baseline", "base.json"])];
    let rare = ["evicted", "furtherFindings", "callers.furtherScopes", "callers.callsWithUnreadScopes"];
    let rare =
        rare.iter().chain(&["callers.calls.earlyUnchecked", "reasons.operations"]).map(|name| format!(".{name}"));
    let rare: Vec<String> = rare
        .chain(["group.caller", "cited.line", ".reasons.aspect", ".reasons.at", ".reasons.reason"].map(str::to_owned))
        .collect();
    let rare = rare.iter().map(String::as_str).chain(OF_TRAILS);
    conform("audit", &audits, &rare.collect::<Vec<_>>());
}
