//! From journals to fixtures, and from one layout of a fixture to the other.

mod bodies;
mod layouts;
mod places;
mod secrets;
mod tokens;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use contrail_exchange::{
    Body, Credential, Exchange, Headers, Presence, Request, Response, Target, Timings, TokenFacts, Transport,
    finding::{Finding, Rule, Verdict},
};
use contrail_recording::{
    self as recording, Check, FoldOptions, FoldSource, Folded, Journal, JournalContext, Keep, Renew, Take, TrailOptions,
};
use contrail_redact::{JudgedExchange, Plan, Redactor};
use http::{HeaderName, HeaderValue, Method, Version};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{command::run, har::unhashed};

const UPSTREAM: &str = "http://127.0.0.1:5000";
const JSON: (&str, &str) = ("content-type", "application/json");

fn headers(fields: &[(&str, &str)]) -> Headers {
    let field = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    fields.iter().map(field).collect()
}

/// A GET that was answered with this status and body, at this second.
fn get(path: &str, status: u16, body: &str, at: u64) -> Exchange {
    let seconds = i64::try_from(at).unwrap();
    Exchange {
        request: Request {
            method: Method::GET,
            target: Target::new("http", "127.0.0.1:5000", path),
            version: Version::HTTP_11,
            headers: headers(&[("host", "127.0.0.1:5000"), ("accept", "*/*"), ("x-request-id", &at.to_string())]),
            body: Body::default(),
            credential: Credential::Token(Arc::new(TokenFacts {
                client: Some("svc".into()),
                issuer: Some(format!("{UPSTREAM}/")),
                issued_at: Some(seconds),
                expires_at: Some(seconds + 3600),
                ..TokenFacts::default()
            })),
        },
        response: Some(Response {
            status,
            version: Version::HTTP_11,
            headers: headers(&[JSON, ("date", &at.to_string()), ("content-length", &body.len().to_string())]),
            body: Body::whole(body.to_owned()),
        }),
        started: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(at)),
        timings: Timings { wait: Some(Duration::from_millis(at)), ..Timings::default() },
        transport: Transport::default(),
    }
}

fn post(path: &str, sent: &str, status: u16, body: &str, at: u64) -> Exchange {
    let mut exchange = get(path, status, body, at);
    exchange.request.method = Method::POST;
    exchange.request.body = Body::whole(sent.to_owned());
    exchange.request.headers.append(HeaderName::from_static("content-type"), HeaderValue::from_static(JSON.1));
    exchange
}

struct Workspace {
    folder: TempDir,
    redactor: Redactor,
}

impl Workspace {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), redactor: Redactor::new(Plan::default()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a journal of these exchanges, all of one operation.
    fn journal(&self, name: &str, exchanges: &[Exchange]) -> PathBuf {
        let path = self.path(name);
        let context = JournalContext { upstream: UPSTREAM.into(), contract: "c".into() };
        let (mut journal, _) = Journal::open(&path, context).unwrap();
        for exchange in exchanges {
            let operation = if exchange.request.method == Method::POST { "testAction" } else { "getThing" };
            let verdict = Verdict { operation: Some(operation.into()), ..Verdict::default() };
            journal.add(&self.redactor.redact(JudgedExchange::new(exchange.clone(), verdict)), None);
        }
        journal.write().unwrap();
        path
    }

    fn options(&self) -> FoldOptions<'_> {
        FoldOptions::new(&self.redactor, "2026-11-21")
    }

    fn fold(&self, from: &[&Path], to: &str) -> Folded {
        self.fold_with(from, to, &self.options())
    }

    fn fold_with(&self, from: &[&Path], to: &str, options: &FoldOptions<'_>) -> Folded {
        let from: Vec<_> =
            from.iter().map(|path| FoldSource { paths: vec![path.to_path_buf()], take: Take::All }).collect();
        recording::fold(&from, &self.path(to), options).unwrap()
    }
}

/// Every file in a folder (or the one file), by name.
fn files(path: &Path) -> BTreeMap<String, String> {
    if path.is_file() {
        return BTreeMap::from([(String::new(), fs::read_to_string(path).unwrap())]);
    }
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    fs::read_dir(path)
        .unwrap()
        .map(|item| item.unwrap().path())
        .map(|path| (name(&path), fs::read_to_string(&path).unwrap()))
        .collect()
}

fn entries(path: &Path) -> Vec<Value> {
    let har: Value =
        serde_json::from_str(&fs::read_to_string(recording::FixturePath::find(path).unwrap().har()).unwrap()).unwrap();
    har["log"]["entries"].as_array().unwrap().clone()
}

/// `METHOD path status` of each entry.
fn lines(path: &Path) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().replace("https://tenant.example", "");
    entries(path)
        .iter()
        .map(|entry| format!("{} {}", text(&entry["request"]["url"]), entry["response"]["status"]))
        .collect()
}

#[test]
fn a_folder_holds_a_small_har_file_and_one_file_per_distinct_body() {
    let workspace = Workspace::new();
    let journal = workspace.journal(
        "x.journal",
        &[
            post("/b", r#"{"n":1.0}"#, 200, r#"{"id":"x","list":[1,2]}"#, 7),
            get("/a", 200, r#"{"id":"x","list":[1,2]}"#, 3),
            get("/a", 200, "{\"as\": \"it came\"}", 4),
        ],
    );
    let folded = workspace.fold(&[&journal], "checkout");
    assert_eq!((folded.entries, folded.changed, &folded.har), (3, true, &workspace.path("checkout/checkout.har")));
    let files = files(&workspace.path("checkout"));
    let names: Vec<_> = files.keys().map(|name| unhashed(name)).collect();
    assert_eq!(
        names,
        ["checkout.har", "getThing-#-2-response.json", "getThing-#-response.json", "testAction-#-request.json"]
    );
    let entries = entries(&workspace.path("checkout"));
    let named = |at: usize| entries[at]["response"]["content"]["_file"].as_str().unwrap();
    assert_eq!(files[named(0)], "{\n  \"id\": \"x\",\n  \"list\": [\n    1,\n    2\n  ]\n}\n");
    assert_eq!(files[named(1)], "{\"as\": \"it came\"}");
    assert_eq!(named(2), named(0));
    assert_eq!(entries[2]["_contrail"]["laidOut"], serde_json::json!(["request", "response"]));
    assert_eq!(entries[1]["_contrail"].get("laidOut"), None);
}

#[test]
fn a_fixture_reads_like_this() {
    let workspace = Workspace::new();
    let body = format!(r#"{{"self":"{UPSTREAM}/api/v2/a","id":"x"}}"#);
    let journal = workspace.journal("x.journal", &[get("/api/v2/a?q=1%2B&r", 200, &body, 3)]);
    workspace.fold(&[&journal], "x.har");
    let expected = r#"{
  "log": {
    "version": "1.2",
    "creator": { "name": "contrail", "version": "1" },
    "_contrail": { "version": 1, "recorded": "2026-11-21" },
    "entries": [
      {
        "startedDateTime": "1970-01-01T00:00:00.000Z",
        "time": 0,
        "request": {
          "method": "GET",
          "url": "https://tenant.example/api/v2/a?q=1%2B&r",
          "httpVersion": "HTTP/1.1",
          "cookies": [],
          "headers": [
            { "name": "host", "value": "tenant.example" },
            { "name": "accept", "value": "*/*" }
          ],
          "queryString": [
            { "name": "q", "value": "1+" },
            { "name": "r", "value": "" }
          ],
          "headersSize": -1,
          "bodySize": 0
        },
        "response": {
          "status": 200,
          "statusText": "OK",
          "httpVersion": "HTTP/1.1",
          "cookies": [],
          "headers": [
            { "name": "content-type", "value": "application/json" },
            { "name": "content-length", "value": "51" }
          ],
          "content": {
            "size": 51,
            "mimeType": "application/json",
            "text": "{\"self\":\"https://tenant.example/api/v2/a\",\"id\":\"x\"}"
          },
          "redirectURL": "",
          "headersSize": -1,
          "bodySize": 51
        },
        "cache": {},
        "timings": { "send": 0, "wait": 0, "receive": 0 },
        "_contrail": {
          "operation": "getThing",
          "token": { "client": "svc", "issuer": "https://tenant.example/", "lifetime": 3600, "outcome": "valid" }
        }
      }
    ]
  }
}
"#;
    assert_eq!(files(&workspace.path("x.har"))[""], expected);
}

#[test]
fn recording_equal_answers_again_changes_no_byte_and_touches_no_file() {
    let workspace = Workspace::new();
    let first = [get("/a", 200, "{\"a\":1}", 3), get("/b", 200, "[2]", 4), post("/c", "{}", 201, "{\"c\":3}", 5)];
    let again = [post("/c", "{}", 201, "{\"c\":3}", 90), get("/b", 200, "[2]", 91), get("/a", 200, "{\"a\":1}", 92)];
    let (first, again) = (workspace.journal("1.journal", &first), workspace.journal("2.journal", &again));
    for to in ["name", "name.har"] {
        workspace.fold(&[&first], to);
        let before = files(&workspace.path(to));
        let modified =
            |path: &Path| fs::metadata(recording::FixturePath::find(path).unwrap().har()).unwrap().modified().unwrap();
        let stamp = modified(&workspace.path(to));
        let next_day = FoldOptions { today: "2027-01-01", ..workspace.options() };
        let folded = workspace.fold_with(&[&again], to, &next_day);
        assert!(!folded.changed);
        assert_eq!(files(&workspace.path(to)), before);
        assert_eq!(modified(&workspace.path(to)), stamp);
    }
}

#[test]
fn a_change_states_the_new_day_and_takes_away_files_that_nothing_uses() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &[get("/a", 200, "{\"a\":1}", 3), get("/b", 200, "[2]", 4)]);
    let again = workspace.journal("2.journal", &[get("/a", 200, "{\"a\":5}", 3)]);
    workspace.fold(&[&first], "name");
    fs::write(workspace.path("name/README.md"), "by hand").unwrap();
    let folded = workspace.fold_with(&[&again], "name", &FoldOptions { today: "2027-01-01", ..workspace.options() });
    assert!(folded.changed);
    let files = files(&workspace.path("name"));
    let names: Vec<_> = files.keys().map(|name| unhashed(name)).collect();
    assert_eq!(names, ["README.md", "getThing-#-response.json", "name.har"]);
    assert!(files["name.har"].contains(r#""recorded": "2027-01-01""#));
}

#[test]
fn a_change_of_a_body_alone_states_the_new_day_too() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &[get("/a", 200, "{\"a\":1}", 3)]);
    let again = workspace.journal("2.journal", &[get("/a", 200, "{\"a\":5}", 3)]);
    workspace.fold(&[&first], "name");
    workspace.fold_with(&[&again], "name", &FoldOptions { today: "2027-01-01", ..workspace.options() });
    assert!(files(&workspace.path("name"))["name.har"].contains("2027-01-01"));
}

#[test]
fn entries_stand_in_the_order_of_their_identity_and_equal_ones_as_they_occurred() {
    let workspace = Workspace::new();
    let journal = workspace.journal(
        "x.journal",
        &[
            get("/b", 200, "1", 1),
            get("/a?x=2", 200, "2", 2),
            get("/a?y=1&x=1", 404, "3", 3),
            get("/b", 404, "4", 4),
            get("/a?x=1&y=1", 200, "5", 5),
        ],
    );
    workspace.fold(&[&journal], "x.har");
    let lines = lines(&workspace.path("x.har"));
    assert_eq!(lines, ["/a?y=1&x=1 404", "/a?x=1&y=1 200", "/a?x=2 200", "/b 200", "/b 404"]);
}

#[test]
fn transient_answers_and_contrails_own_stay_out_and_are_counted() {
    let workspace = Workspace::new();
    let mut own = get("/d", 502, "{}", 9);
    own.transport.answered_by_contrail = Some("upstream".into());
    let exchanges = [get("/a", 503, "", 1), get("/a", 429, "", 2), get("/a", 200, "1", 3), get("/b", 503, "", 4), own];
    let journal = workspace.journal("x.journal", &exchanges);
    let folded = workspace.fold(&[&journal], "x.har");
    assert_eq!(lines(&workspace.path("x.har")), ["/a 200", "/b 503"]);
    assert_eq!((folded.transient, folded.own_answers), (BTreeMap::from([(429, 1), (503, 1)]), 1));
    let kept = FoldOptions { keep: &[Keep::Status(429)], ..workspace.options() };
    workspace.fold_with(&[&journal], "kept.har", &kept);
    assert_eq!(lines(&workspace.path("kept.har")), ["/a 429", "/a 200", "/b 503"]);
    // What a fixture holds was kept on purpose.
    let second = workspace.journal("y.journal", &[get("/a", 200, "1", 3)]);
    workspace.fold(&[&workspace.path("kept.har"), &second], "kept.har");
    assert_eq!(lines(&workspace.path("kept.har")), ["/a 429", "/a 200", "/a 200", "/b 503"]);
}

#[test]
fn appending_puts_further_occurrences_after_the_old_ones() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &[get("/b", 200, "1", 1), get("/c", 200, "2", 2)]);
    let second = workspace.journal("2.journal", &[get("/a", 200, "3", 3), get("/b", 404, "4", 4)]);
    for to in ["name", "name.har"] {
        workspace.fold(&[&first], to);
        workspace.fold(&[&workspace.path(to), &second], to);
        assert_eq!(lines(&workspace.path(to)), ["/a 200", "/b 200", "/b 404", "/c 200"]);
    }
}

#[test]
fn one_operation_or_one_line_can_be_recorded_anew() {
    for scope in ["testAction", "POST /b", "POST /*"] {
        let workspace = Workspace::new();
        let old = workspace.journal("1.journal", &[get("/a", 200, "1", 1), post("/b", "{}", 200, "2", 2)]);
        let new = workspace.journal("2.journal", &[get("/a", 404, "3", 3), post("/b", "{}", 500, "4", 4)]);
        workspace.fold(&[&old], "x.har");
        let scopes = [scope.parse().unwrap()];
        let from = [
            FoldSource { paths: vec![workspace.path("x.har")], take: Take::All },
            FoldSource { paths: vec![new], take: Take::Only(scopes.to_vec()) },
        ];
        let options = FoldOptions { renews: Some(Renew::Of(&scopes)), ..workspace.options() };
        let folded = recording::fold(&from, &workspace.path("x.har"), &options).unwrap();
        assert_eq!(lines(&workspace.path("x.har")), ["/a 200", "/b 500"], "{scope}");
        assert_eq!((folded.not_taken, folded.replaced), (1, 1));
    }
}

#[test]
fn what_is_recorded_again_takes_the_place_of_the_old_answers_one_for_one() {
    let with = |name: &'static str, value: &'static str, mut exchange: Exchange| {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
        exchange.request.headers.append(name, value);
        exchange
    };
    let silent = |mut exchange: Exchange| {
        exchange.response = None;
        exchange
    };
    let bodies = |har: &Path| -> Vec<String> {
        let exchanges = recording::open(har).unwrap().map(|entry| entry.unwrap().exchange);
        exchanges
            .map(|exchange| {
                let body = exchange.response.map_or_else(|| "-".into(), |response| response.body.content);
                format!("{} {}", exchange.request.target.path(), String::from_utf8_lossy(&body))
            })
            .collect()
    };
    let answers = |path: &str, bodies: &[&str]| -> Vec<Exchange> {
        (1..).zip(bodies).map(|(second, body)| get(path, 200, body, second)).collect()
    };
    let csv = |body: &str| with("accept", "text/csv", get("/a", 200, body, 1));
    let json = |body: &str| with("accept", "application/json", get("/a", 200, body, 1));
    for (old, new, expected, equal, replaced) in [
        // Equal ones stay, further ones follow.
        (answers("/a", &["1", "2"]), answers("/a", &["1", "2"]), &["/a 1", "/a 2"][..], 2, 0),
        (answers("/a", &["1"]), answers("/a", &["1", "2"]), &["/a 1", "/a 2"], 1, 0),
        // Changed ones replace those at their place; what the new recording lacks stays.
        (answers("/a", &["1", "2", "3"]), answers("/a", &["1", "4"]), &["/a 1", "/a 4", "/a 3"], 1, 1),
        (answers("/b", &["1"]), answers("/a", &["2"]), &["/a 2", "/b 1"], 0, 0),
        // Header fields that may decide the answer tell requests apart, a client's name does not.
        (vec![csv("1"), json("2")], vec![json("3")], &["/a 1", "/a 3"], 0, 1),
        (vec![with("user-agent", "a/1", get("/a", 200, "1", 1))], answers("/a", &["2"]), &["/a 2"], 0, 1),
        // A silence gives way to an answer, and never takes the place of one.
        (vec![silent(get("/a", 200, "", 1))], answers("/a", &["2"]), &["/a 2"], 0, 1),
        (answers("/a", &["1"]), vec![silent(get("/a", 200, "", 1)), get("/b", 200, "2", 2)], &["/a 1", "/b 2"], 0, 0),
    ] {
        let workspace = Workspace::new();
        let (old, new) = (workspace.journal("1.journal", &old), workspace.journal("2.journal", &new));
        workspace.fold(&[&old], "x.har");
        let options = FoldOptions { renews: Some(Renew::Requests), ..workspace.options() };
        let folded = workspace.fold_with(&[&workspace.path("x.har"), &new], "x.har", &options);
        assert_eq!(bodies(&workspace.path("x.har")), expected);
        assert_eq!((folded.equal, folded.replaced), (equal, replaced), "{expected:?}");
    }
}

#[test]
fn keep_host_keeps_the_upstreams_origin() {
    let workspace = Workspace::new();
    let journal = workspace.journal("x.journal", &[get("/a", 200, "{}", 1)]);
    workspace.fold_with(&[&journal], "x.har", &FoldOptions { keep_host: true, ..workspace.options() });
    assert_eq!(entries(&workspace.path("x.har"))[0]["request"]["url"], format!("{UPSTREAM}/a"));
}

#[test]
fn what_is_not_whole_is_marked_and_comes_back_so() {
    let workspace = Workspace::new();
    let mut cut = get("/a", 200, "{\"a\":", 1);
    cut.transport.incomplete = Some("the upstream closed the connection".into());
    let presence = Presence::Truncated { kept: 5, total: Some(90) };
    cut.response.as_mut().unwrap().body.presence = presence.clone();
    let journal = workspace.journal("x.journal", &[cut]);
    for to in ["name", "name.har"] {
        let folded = workspace.fold(&[&journal], to);
        assert_eq!(folded.incomplete, 1);
        let entry = recording::open(&workspace.path(to)).unwrap().next().unwrap().unwrap();
        assert_eq!(entry.exchange.transport.incomplete.as_deref(), Some("the upstream closed the connection"));
        let body = entry.exchange.response.unwrap().body;
        assert_eq!(body.presence, presence);
    }
}

#[test]
fn attested_findings_are_those_of_the_fixture_exactly() {
    let workspace = Workspace::new();
    let live = Finding::new(Rule::RequestBody, "/pin", "at least 8 characters").seen("!pin-7!");
    let journal = {
        let path = workspace.path("x.journal");
        let context = JournalContext { upstream: UPSTREAM.into(), contract: "c".into() };
        let (mut journal, _) = Journal::open(&path, context).unwrap();
        let verdict = Verdict { findings: vec![live.clone()], ..Verdict::default() };
        let judged =
            workspace.redactor.redact(JudgedExchange::new(post("/a", r#"{"pin":"!pin-7!"}"#, 200, "{}", 1), verdict));
        let attested = recording::attest(&judged.verdict, &Verdict::default(), "c");
        journal.add(&judged, attested.as_ref());
        journal.write().unwrap();
        path
    };
    // The file shows nothing of the finding, whatever is done with it.
    let blind = |_: &Exchange| Verdict::default();
    let check = Some(Check { contract: "c", check: &blind });
    for (check, to) in [(None, "carried.har"), (check, "checked.har")] {
        workspace.fold_with(&[&journal], to, &FoldOptions { check, ..workspace.options() });
        let again = workspace.path(to);
        workspace.fold_with(&[&again], "again.har", &FoldOptions { check, ..workspace.options() });
        assert_eq!(files(&again), files(&workspace.path("again.har")));
        let note = recording::open(&again).unwrap().next().unwrap().unwrap().note.unwrap();
        let reconciled = recording::reconcile(Verdict::default(), note.attested.as_ref(), "c");
        assert_eq!(reconciled.findings.len(), 1, "{to}");
        assert_eq!((reconciled.findings[0].rule, &*reconciled.findings[0].at), (Rule::RequestBody, "/pin"));
    }
    // A check that sees the finding in the file needs nothing attested.
    let seeing = |exchange: &Exchange| {
        let text = String::from_utf8(exchange.request.body.content.to_vec()).unwrap();
        let pin = text.split('"').nth(3).unwrap().to_owned();
        Verdict { findings: vec![Finding { seen: Some(pin), ..live.clone() }], ..Verdict::default() }
    };
    let check = Some(Check { contract: "c", check: &seeing });
    workspace.fold_with(&[&journal], "seen.har", &FoldOptions { check, ..workspace.options() });
    assert_eq!(entries(&workspace.path("seen.har"))[0]["_contrail"].get("attested"), None);
}

#[test]
fn verify_names_the_first_line_of_a_trail_that_was_altered() {
    let workspace = Workspace::new();
    let folder = workspace.path("trail");
    let context = JournalContext { upstream: UPSTREAM.into(), contract: "c".into() };
    let (mut journal, _) = Journal::open_trail(&folder, context, &TrailOptions::default()).unwrap();
    for at in 1..4 {
        let verdict = Verdict::default();
        journal
            .add(&workspace.redactor.redact(JudgedExchange::new(get("/api/v2/nothing", 200, "{}", at), verdict)), None);
        journal.write().unwrap();
    }
    let (segment, head) = (journal.path().to_path_buf(), journal.head().unwrap().hash.clone());
    drop(journal);
    let folder = folder.to_str().unwrap();
    let ran = run(["verify", folder, "--format", "json"]);
    let whole =
        format!("contrail: the chain of `{folder}` is intact: 3 entries, 0 lines after its last link, head {head}\n");
    assert_eq!((ran.status, ran.stderr), (0, whole));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["summary"]["exchanges"], 3);
    let text = fs::read_to_string(&segment).unwrap().replacen("\"status\":200", "\"status\":201", 1);
    fs::write(&segment, text).unwrap();
    let ran = run(["verify", folder]);
    let altered =
        format!("contrail: the trail was altered at `{}`, line 2: this line was altered\n", segment.display());
    assert_eq!((ran.status, ran.stderr), (1, altered));
}

#[test]
fn a_process_killed_between_fold_and_the_end_of_its_run_leaves_nothing_to_fold_twice() {
    let workspace = Workspace::new();
    let path = workspace.journal("x.har.journal", &[get("/a", 200, "1", 1)]);
    let context = || JournalContext { upstream: UPSTREAM.into(), contract: "c".into() };
    let (journal, leftover) = Journal::open(&path, context()).unwrap();
    assert_eq!(leftover.entries, 1);
    workspace.fold_with(&[&path], "x.har", &FoldOptions { journal: Some(&journal), ..workspace.options() });
    drop(journal);
    assert!(Journal::is_folded(&path));
    // Neither what packs a path with its journal nor the next recording takes the entries again.
    let to = workspace.path("packed.har");
    let ran = run(["pack", workspace.path("x.har").to_str().unwrap(), "--out", to.to_str().unwrap()]);
    assert_eq!((ran.status, lines(&to)), (0, vec!["/a 200".to_owned()]));
    assert_eq!(Journal::open(&path, context()).unwrap().1.entries, 0);
}
