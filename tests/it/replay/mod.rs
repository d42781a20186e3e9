//! `contrail replay`: recordings answer in place of the tenant.

mod around;
mod bodies;
mod faults;
mod judged;
mod order;
mod recorded;
mod reports;
mod shards;
mod strangers;
mod users;

use std::{
    fs,
    io::{BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, contrail, run_in},
    golden::{assert_output, assert_transcripts},
    har,
    process::Running,
    wire::{self, Message},
};

/// A folder with fixtures in it.
struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes another tool's recording of these entries.
    fn write(&self, name: &str, entries: &[Value]) -> &Self {
        fs::write(self.path().join(name), har::har(entries)).unwrap();
        self
    }

    /// Writes a recording of these entries as contrail does.
    fn write_own(&self, name: &str, entries: &[Value]) -> &Self {
        let log = json!({"log": {
            "version": "1.2", "creator": {"name": "contrail", "version": "0.1.0"},
            "_contrail": {"version": 1, "recorded": "2026-11-20"}, "entries": entries,
        }});
        fs::write(self.path().join(name), log.to_string()).unwrap();
        self
    }

    fn replay(&self, arguments: &[&str]) -> Running {
        let all = ["replay", "--listen", "127.0.0.1:0"].iter().chain(arguments);
        Running::start(self.path(), all)
    }
}

/// An exchange as a HAR entry; `response` is status, headers, body.
fn exchange(method: &str, target: &str, sent: Option<(&str, &str)>, status: u16, body: &str) -> Value {
    let mut entry = har::get(target, None, status, body);
    entry["request"]["method"] = method.into();
    if let Some((media_type, text)) = sent {
        entry["request"]["headers"] = json!([{"name": "Content-Type", "value": media_type}]);
        entry["request"]["postData"] = json!({"mimeType": media_type, "text": text});
        entry["request"]["bodySize"] = text.len().into();
    }
    entry
}

fn get(target: &str, body: &str) -> Value {
    exchange("GET", target, None, 200, body)
}

fn post(target: &str, sent: &str, body: &str) -> Value {
    exchange("POST", target, Some(("application/json", sent)), 200, body)
}

/// The same, as contrail writes it, with these members in `_contrail`.
fn own(mut entry: Value, note: Value) -> Value {
    let mut note = note;
    note["version"] = 1.into();
    note["findings"] = json!([]);
    note["unchecked"] = json!([]);
    entry["_contrail"] = note;
    entry
}

/// The same, asked by this client with these scopes.
fn by(entry: Value, client: &str, scopes: &[&str]) -> Value {
    own(entry, json!({"token": {"client": client, "scopes": scopes, "outcome": "valid"}}))
}

fn ask(to: SocketAddr, target: &str) -> Message {
    wire::call(to, "GET", target, &[], b"")
}

fn send(to: SocketAddr, target: &str, body: &str) -> Message {
    wire::call(to, "POST", target, &[("Content-Type", "application/json")], body.as_bytes())
}

fn text(message: &Message) -> String {
    String::from_utf8(message.body.clone()).unwrap()
}

/// The exchange lines of a run under `--format json`.
fn lines(ran: &Ran) -> Vec<Value> {
    ran.stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line.get("ms").is_some())
        .collect()
}

fn summary(ran: &Ran) -> Value {
    let all = ran.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    all.filter_map(|line| line.get("summary").cloned()).next_back().unwrap_or_else(|| panic!("{}", ran.stderr))
}

#[test]
fn a_recording_answers_with_its_status_headers_and_body_and_nothing_goes_to_stdout() {
    let workspace = Workspace::new();
    let mut entry = get("/api/v2/rate-limit-policies/rlp_1", har::POLICY);
    entry["response"]["headers"] = json!([
        {"name": "Content-Type", "value": "application/json"},
        {"name": "Content-Encoding", "value": "gzip"},
        {"name": "Content-Length", "value": "7"},
        {"name": "Set-Cookie", "value": "a=1; Path=/"},
        {"name": "X-RateLimit-Limit", "value": "10"},
        {"name": "Connection", "value": "keep-alive"},
        {"name": "Set-Cookie", "value": "b=2"},
    ]);
    workspace.write("a.har", &[entry]);
    let replay = workspace.replay(&["a.har"]);
    let answer = ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    assert_eq!(answer.status(), 200);
    assert_eq!(text(&answer), har::POLICY);
    let cookies: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "set-cookie").collect();
    assert_eq!(cookies.len(), 2, "{cookies:?}");
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.header("content-length"), Some(har::POLICY.len().to_string().as_str()));
    assert_eq!(answer.header("x-ratelimit-limit"), Some("10"));
    assert_eq!(answer.header("contrail-answer"), None);
    let ran = replay.finish();
    assert_eq!(ran.stdout, "");
    assert_output("replay/a_recording_answers_with_its_status_headers_and_body", &ran);
}

#[test]
fn a_miss_is_421_with_every_difference_to_the_nearest_recorded_request_and_exit_status_3() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[get("/api/v2/other", "{}"), post("/api/v2/x?take=50", r#"{"a":1,"b":true}"#, "{}")]);
    let replay = workspace.replay(&["a.har"]);
    let miss = send(replay.address, "/api/v2/x?take=5", r#"{"a":2,"b":true}"#);
    assert_eq!(miss.status(), 421);
    assert_eq!(miss.header("content-type"), Some("application/problem+json"));
    assert_eq!(miss.header("contrail-answer"), Some("replay-miss"));
    let problem = miss.json();
    let near = &problem["nearest"][0];
    assert_eq!(near["request"], "POST /api/v2/x?take=50");
    assert_eq!(
        near["differences"],
        json!([
            {"place": "query parameter `take`", "your request": "5", "fixture": "50",
                "option": "--ignore 'POST /api/v2/x=query:take'"},
            {"place": "body at `/a`", "your request": "2", "fixture": "1",
                "option": "--ignore 'POST /api/v2/x=pointer:/a'"},
        ])
    );
    let ran = replay.finish();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert_output("replay/a_miss_is_421_with_every_difference_to_the_nearest_recorded_request_and_exit_status_3", &ran);

    let options = ["a.har", "--ignore", "POST /api/v2/x=query:take", "--ignore", "pointer:/a"];
    let replay = workspace.replay(&options);
    assert_eq!(send(replay.address, "/api/v2/x?take=5", r#"{"a":2,"b":true}"#).status(), 200);
    assert_eq!(replay.finish().status, 0);

    let ran = run_in(workspace.path(), ["replay", "a.har", "--ignore", "POST /api/v2/y=body"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_eq!(ran.stderr, "contrail: --ignore POST /api/v2/y: no recorded request has this method and path\n");
}

#[test]
fn a_miss_shows_no_secret_of_the_request_and_none_of_the_fixture() {
    let workspace = Workspace::new();
    let recorded = r#"{"client_secret":"fixture-hunter-0815","a":1}"#;
    workspace.write("a.har", &[post("/api/v2/x?access_token=fixture-token-4711", recorded, "{}")]);
    let replay = workspace.replay(&["a.har"]);
    let body = r#"{"client_secret":"live-hunter-0815","a":2}"#;
    let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer live-opaque-token-12345")];
    let miss = wire::call(replay.address, "POST", "/api/v2/x?access_token=live-token-4711", &headers, body.as_bytes());
    assert_eq!(miss.status(), 421);
    let ran = replay.finish();
    for shown in [text(&miss), ran.stderr] {
        for secret in ["fixture-hunter", "fixture-token", "live-hunter", "live-token", "live-opaque"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
    assert_eq!(
        miss.json()["detail"],
        "`POST /api/v2/x?access_token=!token-3!` was not recorded. The nearest is a.har entry 0 (`POST \
         /api/v2/x?access_token=!token-1!`); it would match with `--ignore 'POST /api/v2/x=pointer:/a'`. Otherwise \
         record this request with `contrail record --append`."
    );
}

#[test]
fn a_miss_shows_no_secret_of_a_request_just_before_it() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[post("/api/v2/x", r#"{"client_secret":"fixture-hunter-0815"}"#, "{}")]);
    let replay = workspace.replay(&["a.har"]);
    // While another exchange is in progress, those that end in one turn of the event loop are taken up together.
    let mut busy = TcpStream::connect(replay.address).unwrap();
    let headers = [("Expect", "100-continue"), ("Content-Length", "5")];
    busy.write_all(&wire::request(replay.address, "POST", "/api/v2/y", &headers, b"")).unwrap();
    busy.read_exact(&mut [0; "HTTP/1.1 100".len()]).unwrap();
    let body = br#"{"client_secret":"live-hunter-0815"}"#;
    let first = wire::request(replay.address, "POST", "/api/v2/x", &[("Content-Type", "application/json")], body);
    let second = wire::request(replay.address, "GET", "/api/v2/z?q=live-hunter-0815", &[], b"");
    let both = String::from_utf8([first, second].concat()).unwrap().replacen("Connection: close\r\n", "", 1);
    let mut client = BufReader::new(TcpStream::connect(replay.address).unwrap());
    client.get_mut().write_all(both.as_bytes()).unwrap();
    assert_eq!(wire::read(&mut client, false, true).unwrap().status(), 200);
    let miss = wire::read(&mut client, false, true).unwrap();
    assert_eq!(miss.status(), 421);
    drop(busy);
    for shown in [text(&miss), replay.finish().stderr] {
        assert!(!shown.contains("live-hunter"), "{shown}");
    }
}

#[test]
fn a_request_that_calls_the_tenant_by_its_own_name_is_found_under_the_fixtures() {
    let workspace = Workspace::new();
    let recorded = r#"{"payload":{"link":"https://tenant.example/x?a=b"}}"#;
    workspace
        .write_own("own.har", &[own(post("/api/v2/actions/actions/a/test", recorded, "{\"payload\":{}}"), json!({}))]);
    let live = recorded.replace("tenant.example", "my-tenant.test:8443");
    for name in [["--upstream", "https://my-tenant.test:8443"], ["--intercept", "my-tenant.test:8443"]] {
        let replay = workspace.replay(&[&name[..], &["own.har"]].concat());
        assert_eq!(send(replay.address, "/api/v2/actions/actions/a/test", &live).status(), 200, "{name:?}");
    }
    let replay = workspace.replay(&["own.har"]);
    assert_eq!(send(replay.address, "/api/v2/actions/actions/a/test", &live).status(), 421);
}

#[test]
fn a_fixture_that_is_not_there_or_no_recording_is_exit_status_2_and_one_line() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("not.har"), "<html>").unwrap();
    assert_transcripts(
        "replay/a_fixture_that_is_not_there_or_no_recording_is_exit_status_2_and_one_line",
        workspace.path(),
        &["replay missing.har --listen 127.0.0.1:0", "replay not.har --listen 127.0.0.1:0"],
    );
}

#[test]
fn a_contract_that_cannot_be_used_is_reported_before_a_fixture_that_cannot_be_read() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("not.har"), "<html>").unwrap();
    fs::write(workspace.path().join("not.yaml"), "openapi: 1.0").unwrap();
    let ran = run_in(workspace.path(), ["replay", "not.har", "--contract", "not.yaml", "--listen", "127.0.0.1:0"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert_output("replay/a_contract_that_cannot_be_used_is_reported_before_a_fixture_that_cannot_be_read", &ran);
}

#[test]
fn replay_opens_no_socket_to_anywhere_hit_or_miss() {
    let visits = Arc::new(AtomicUsize::new(0));
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = tenant.local_addr().unwrap();
    let counter = Arc::clone(&visits);
    thread::spawn(move || {
        for _ in tenant.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    let workspace = Workspace::new();
    let mut entry = get("/api/v2/x", "1");
    entry["request"]["url"] = format!("http://{origin}/api/v2/x").into();
    workspace.write("a.har", &[entry]);
    let replay = workspace.replay(&["a.har"]);
    assert_eq!(text(&ask(replay.address, "/api/v2/x")), "1");
    assert_eq!(ask(replay.address, "/api/v2/y").status(), 421);
    // Every socket that the process holds has our listener's port at its own end.
    for (local, remote) in sockets_of(replay.id()) {
        assert_eq!(local, replay.address.port(), "a socket to port {remote}");
    }
    replay.finish();
    assert_eq!(visits.load(Ordering::SeqCst), 0, "nobody called the recorded tenant");
}

/// Local and remote port of every TCP and UDP socket that a process holds.
fn sockets_of(process: u32) -> Vec<(u16, u16)> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let held: Vec<String> = descriptors
        .filter_map(|descriptor| fs::read_link(descriptor.unwrap().path()).ok())
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']').map(str::to_owned))
        .collect();
    let mut sockets = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let table = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let port = |end: &str| u16::from_str_radix(end.rsplit(':').next().unwrap(), 16).unwrap();
            if held.iter().any(|inode| inode == fields[9]) {
                sockets.push((port(fields[1]), port(fields[2])));
            }
        }
    }
    sockets
}

#[test]
fn a_wrapped_command_finds_the_replay_and_its_status_comes_first() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[get("/api/v2/x", "1")]);
    let script = |code: u8| format!("printf %s \"$CONTRAIL_URL\"; exit {code}");
    let wrapped = |code: u8| -> Ran {
        contrail()
            .current_dir(workspace.path())
            .args(["replay", "a.har", "--allow", "unused", "--", "sh", "-c", &script(code)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap()
            .into()
    };
    let ran = wrapped(7);
    assert_eq!(ran.status, 7, "{}", ran.stderr);
    assert_output("replay/a_wrapped_command_finds_the_replay_and_its_status_comes_first", &ran);
    let ran = wrapped(0);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_output("replay/a_wrapped_command_finds_the_replay_and_its_status_comes_first-2", &ran);
}

#[test]
fn one_of_a_thing_is_in_the_singular() {
    let workspace = Workspace::new();
    workspace.write("one.har", &[get("/api/v2/a", r#"{"a":1}"#)]);
    let replay = workspace.replay(&["one.har"]);
    assert_eq!(ask(replay.address, "/api/v2/b").status(), 421);
    assert_output("replay/one_of_a_thing_is_in_the_singular", &replay.finish());
    let audit = run_in(workspace.path(), ["audit", "one.har"]);
    assert_output("replay/one_of_a_thing_is_in_the_singular-2", &audit);
}
