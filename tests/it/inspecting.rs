//! The live page: who gets an answer, and that its numbers are those of the reports.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    net::{SocketAddr, TcpStream},
    path::Path,
};

use serde_json::{Value, json};

use crate::support::{
    command::{contrail, run_in},
    har,
    process::Running,
    wire::{self, Message, call, request, send},
};

pub const TOKEN: &str = "0123456789abcdefghijklmnopqrstuv";
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// A page over the fixtures.
fn inspect(arguments: &[&str]) -> Running {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = ["inspect", FIXTURES, "--listen", "127.0.0.1:0"].into_iter().chain(arguments.iter().copied());
    read_whole(Running::start_with(folder, arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]))
}

/// A page that has read its files: it answers while it reads, and a test wants all of it.
pub fn read_whole(running: Running) -> Running {
    while ask(running.address, "/api/run")["reading"] != Value::Null {
        std::thread::yield_now();
    }
    running
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

pub fn ask(to: SocketAddr, path: &str) -> Value {
    let answer = call(to, "GET", path, &[("authorization", &bearer())], b"");
    assert_eq!(answer.status(), 200, "{path}");
    answer.json()
}

#[test]
fn every_answer_is_guarded_and_carries_what_protects_the_page() {
    let running = inspect(&[]);
    let bearer = bearer();
    let good = ("authorization", &*bearer);
    let port = running.address.port();
    let mut answers: Vec<(Message, u16)> = Vec::new();
    let paths = [
        "/api/run",
        "/api/exchanges",
        "/api/timeline",
        "/api/groups?by=path",
        "/api/exchanges/0",
        "/api/exchanges/0/request/lines",
        "/api/curl?n=0",
        "/api/har?n=0",
        "/api/exchanges/at?n=1",
        "/api/exchanges/next",
        "/api/findings",
        "/api/compare?a=0",
        "/api/misses",
        "/api/stream",
        "/api/none",
        "/none",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/main.js/..",
    ];
    for path in paths {
        let call = |fields: &[(&str, &str)]| call(running.address, "GET", path, fields, b"");
        answers.push((call(&[]), 401));
        answers.push((call(&[("authorization", "Bearer 0123456789abcdefghijklmnopqrstuw")]), 401));
        answers.push((call(&[good, ("origin", "http://evil.example")]), 403));
        answers.push((call(&[good, ("origin", "null")]), 403));
        answers.push((call(&[good, ("sec-fetch-site", "cross-site")]), 403));
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            answers.push((wire::call(running.address, method, path, &[good], b""), 405));
        }
        for host in ["evil.example", "evil.example:80", "127.0.0.1", "localhost.", "0.0.0.0"] {
            let raw =
                format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: {bearer}\r\nconnection: close\r\n\r\n");
            answers.push((send(running.address, "GET", raw.as_bytes()).unwrap(), 421));
        }
        let twice = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"
        );
        answers.push((send(running.address, "GET", twice.as_bytes()).unwrap(), 421));
    }
    for path in ["/", "/main.js", "/style.css"] {
        answers.push((call(running.address, "GET", path, &[], b""), 200));
    }
    answers.push((call(running.address, "GET", "/api/none", &[good], b""), 404));
    let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    answers.push((call(running.address, "GET", "/", &link, b""), 200));
    for (answer, expected) in answers {
        assert_eq!(answer.status(), expected, "{answer:?}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types 'none'"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value));
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("set-cookie"), None);
    }
    running.finish();
}

#[test]
fn the_numbers_of_the_page_are_those_of_verify() {
    let running = inspect(&[]);
    let report: Value =
        serde_json::from_str(&run_in(Path::new("."), ["verify", FIXTURES, "--format", "json"]).stdout).unwrap();
    let run = ask(running.address, "/api/run");
    for verdict in ["conforms", "gap", "violates"] {
        assert_eq!(run["counts"][verdict], report["summary"][verdict], "{verdict}");
    }
    let exchanges = report["exchanges"].as_array().unwrap();
    assert_eq!(run["n"], exchanges.len());
    for (n, exchange) in exchanges.iter().enumerate() {
        let shown = ask(running.address, &format!("/api/exchanges/{n}"));
        for (name, member) in
            [("verdict", "verdict"), ("operation", "operation"), ("method", "method"), ("entry", "entry")]
        {
            assert_eq!(shown["row"][name], exchange[member], "{n}: {name}");
        }
        let findings = |all: &Value| -> Vec<Value> {
            let one = |finding: &Value| {
                let members = ["rule", "kind", "at", "message"].map(|name| finding[name].clone());
                Value::from(members.to_vec())
            };
            all["findings"].as_array().unwrap().iter().map(one).collect()
        };
        assert_eq!(findings(&shown), findings(exchange), "{n}");
        let unchecked: Vec<&str> =
            shown["unchecked"].as_array().unwrap().iter().map(|one| one["aspect"].as_str().unwrap()).collect();
        for aspect in exchange["unchecked"].as_array().unwrap() {
            assert!(unchecked.contains(&aspect.as_str().unwrap()), "{n}: {aspect}");
        }
    }
    let values = ask(running.address, "/api/values?key=verdict");
    for value in values["options"].as_array().unwrap() {
        assert_eq!(value["count"], run["counts"][value["text"].as_str().unwrap()], "{values}");
    }
    assert_eq!(ask(running.address, "/api/values?key=op&begins=RateLimit")["options"][0]["text"], "getRateLimitPolicy");
    let groups = ask(running.address, "/api/findings");
    for group in groups["rows"].as_array().unwrap() {
        let selected: String = form_urlencoded::byte_serialize(group["query"].as_str().unwrap().as_bytes()).collect();
        let list = ask(running.address, &format!("/api/exchanges?q={selected}"));
        assert!(list["size"].as_u64().unwrap() >= 1, "{group}");
        assert!(list["rows"].as_array().unwrap().iter().any(|row| row["n"] == group["first"]), "{group}");
    }
    running.finish();
}

#[test]
fn groups_hold_every_exchange_once_and_each_has_the_term_that_selects_it() {
    let running = read_whole(inspect(&["fixtures/operations", "fixtures/errors"]));
    let whole = ask(running.address, "/api/exchanges")["size"].as_u64().unwrap();
    for by in ["operation", "client", "path"] {
        let groups = ask(running.address, &format!("/api/groups?by={by}"));
        let rows = groups["rows"].as_array().unwrap();
        assert_eq!(rows.iter().map(|row| row["count"].as_u64().unwrap()).sum::<u64>(), whole, "{groups}");
        for row in rows {
            let term = row["term"].as_str().unwrap();
            let term = percent_encoding::utf8_percent_encode(term, percent_encoding::NON_ALPHANUMERIC);
            let list = ask(running.address, &format!("/api/exchanges?q={term}"));
            assert_eq!(list["size"], row["count"], "{row}");
        }
    }
}

#[test]
fn operations_and_callers_are_those_of_coverage_and_audit() {
    let running = inspect(&[]);
    let report = |command: &str| -> Value {
        let ran = run_in(Path::new("."), [command, FIXTURES, "--format", "json"]);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
    };
    let operations = ask(running.address, "/api/operations");
    let mut shown = BTreeMap::new();
    for operation in operations["operations"].as_array().unwrap() {
        let name: String = form_urlencoded::byte_serialize(operation["name"].as_str().unwrap().as_bytes()).collect();
        let parts = ask(running.address, &format!("/api/operations/parts?name={name}"));
        let parts = parts["rows"].as_array().unwrap();
        assert_eq!(operation["of"], parts.iter().filter(|part| part["kind"] != "gap").count(), "{name}");
        for part in parts.iter().filter(|part| part["kind"] != "gap") {
            let key = (part["kind"].to_string(), part["document"].to_string(), part["at"].to_string());
            shown.entry(key).or_insert_with(Vec::new).push(part["times"].as_u64().unwrap());
        }
    }
    for (kind, part) in report("coverage")["parts"].as_object().unwrap() {
        for name in ["touched", "of"] {
            assert_eq!(operations["parts"][kind][name], part[name], "{kind} {name}");
        }
        for one in part["each"].as_array().unwrap().iter().filter(|_| kind != "operations") {
            let key = (format!("\"{kind}\""), one["document"].to_string(), one["at"].to_string());
            let times = shown.get(&key).unwrap_or_else(|| panic!("{key:?} is below no operation"));
            assert!(times.contains(&one["times"].as_u64().unwrap()), "{key:?}");
        }
    }
    let mut callers = ask(running.address, "/api/callers")["callers"].clone();
    for caller in callers.as_array_mut().unwrap() {
        caller.as_object_mut().unwrap().remove("query");
        for call in caller["calls"].as_array_mut().unwrap() {
            assert!(call["firstNumber"].is_u64(), "{call}");
            call.as_object_mut().unwrap().remove("firstNumber");
        }
    }
    assert_eq!(callers, report("audit")["callers"]);
    running.finish();
}

#[test]
fn a_finding_is_where_its_bytes_are() {
    let running = inspect(&[]);
    let mut seen = 0;
    for n in 0..ask(running.address, "/api/run")["n"].as_u64().unwrap() {
        let shown = ask(running.address, &format!("/api/exchanges/{n}"));
        for (index, finding) in shown["findings"].as_array().unwrap().iter().enumerate() {
            let Some(line) = finding["line"].as_u64() else { continue };
            let side = finding["side"].as_str().unwrap();
            let path = format!("/api/exchanges/{n}/{side}/lines?from={line}&count=1&finding={index}");
            let lines = ask(running.address, &path);
            let tokens = lines["lines"][0]["tokens"].as_array().unwrap();
            assert!(tokens.iter().any(|token| token[0] == "mark"), "{n}: {finding} {lines}");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
    running.finish();
}

#[test]
fn a_token_that_has_one_of_the_alternative_scopes_lacks_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let document = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},
        "paths":{"/things":{"get":{"operationId":"listThings","responses":{"200":{"description":"d"}},
            "security":[{"oauth":["write:things"]},{"oauth":["read:things"]}]}}},
        "components":{"securitySchemes":{"oauth":{"type":"oauth2","flows":{"clientCredentials":
            {"tokenUrl":"https://tenant.example/token","scopes":{"read:things":"","write:things":""}}}}}}}"#;
    fs::write(folder.path().join("openapi.json"), document).unwrap();
    let authorization = format!("Bearer {}", har::token("read:things", 4_102_444_800));
    let entry = har::get("/things", Some(&authorization), 200, "{}");
    fs::write(folder.path().join("a.har"), har::har(&[entry])).unwrap();
    let arguments = ["inspect", "a.har", "--contract", "openapi.json", "--listen", "127.0.0.1:0"];
    let running = read_whole(Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]));
    let shown = ask(running.address, "/api/exchanges/0");
    assert_eq!(shown["caller"]["scopes"], json!([{"name": "read:things", "state": "needed"}]), "{shown}");
    running.finish();
}

#[test]
fn a_file_that_cannot_be_read_is_noted_and_sets_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), "{\"log\":{\"version\":\"1.2\",\"entries\":[]}").unwrap();
    let arguments = ["inspect", "a.har", "--listen", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let notes = loop {
        let run = ask(running.address, "/api/run");
        if run["reading"] == Value::Null && run["notes"] != Value::Array(Vec::new()) {
            break run["notes"].clone();
        }
        std::thread::yield_now();
    };
    assert!(notes[0].as_str().unwrap().contains("a.har"), "{notes}");
    assert_eq!(running.finish().status, 2);
}

#[test]
fn an_address_beyond_this_machine_needs_a_name_and_ci_needs_a_token() {
    let refused = |listen: &str, variable: (&str, &str), reason: &str| {
        let ran = contrail().args(["inspect", FIXTURES, "--listen", listen]).envs([variable]).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        let printed = String::from_utf8_lossy(&ran.stderr);
        assert!(printed.contains(reason), "{printed}");
    };
    refused("0.0.0.0:0", ("CONTRAIL_INSPECT_TOKEN", TOKEN), "--inspect-host");
    refused("127.0.0.1:0", ("CI", "true"), "CONTRAIL_INSPECT_TOKEN");
}

#[test]
fn a_slow_head_and_a_long_one_are_cut() {
    let running = inspect(&[]);
    let long = request(running.address, "GET", &format!("/{}", "x".repeat(20 << 10)), &[], b"");
    let answer = send(running.address, "GET", &long).map(|answer| answer.status());
    assert!(matches!(answer, Err(_) | Ok(431 | 414)), "{answer:?}");
    running.finish();
}

/// Waits until the page has so many exchanges.
pub fn until(to: SocketAddr, n: u64) -> Value {
    loop {
        let run = ask(to, "/api/run");
        if run["n"].as_u64() >= Some(n) {
            return run;
        }
        std::thread::yield_now();
    }
}

#[test]
fn what_goes_through_a_proxy_appears_without_its_secrets_and_the_page_is_not_reached_through_it() {
    for command in ["record", "watch"] {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments =
            vec![command, "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0"];
        arguments.extend(["--inspect", "127.0.0.1:0", "--ca-dir", "ca", "--tunnel", "allow"]);
        if command == "record" {
            arguments.extend(["--out", "fixture"]);
        }
        let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
        let [proxy, forward, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
        let secret = "Zx9-kQ27_planted.Secret~41";
        call(proxy, "GET", "/api/v2/users", &[("authorization", &format!("Bearer {secret}"))], b"");
        call(
            proxy,
            "POST",
            "/oauth/token/",
            &[("content-type", "application/json")],
            format!("{{\"client_secret\":\"{secret}\"}}").as_bytes(),
        );
        let run = until(page, 2);
        assert_eq!(run["mode"], *command);
        assert!(run["title"].as_str().unwrap().contains("http"), "{run}");
        let mut all = String::new();
        for path in ["run", "exchanges", "findings", "misses", "exchanges/0", "exchanges/1", "curl?n=1"] {
            all += &ask(page, &format!("/api/{path}")).to_string();
        }
        for n in 0..2 {
            for view in ["request/lines", "request/raw", "request/hex", "response/lines", "response/raw"] {
                let answer =
                    call(page, "GET", &format!("/api/exchanges/{n}/{view}"), &[("authorization", &bearer())], b"");
                all += &String::from_utf8_lossy(&answer.body);
            }
        }
        assert!(!all.contains(secret), "{all}");
        assert!(all.contains("!token-1!"), "{all}");
        // Neither listener leads to the page, in whatever spelling.
        for name in ["127.0.0.1", "localhost", "127.1", "[::1]", "0x7f000001"] {
            let target = format!("http://{name}:{}/api/run", page.port());
            let answer = call(forward, "GET", &target, &[("authorization", &bearer())], b"");
            assert_ne!(answer.status(), 200, "{target}");
            let tunnel = format!("CONNECT {name}:{port} HTTP/1.1\r\nhost: {name}:{port}\r\n\r\n", port = page.port());
            let answer = send(forward, "CONNECT", tunnel.as_bytes()).unwrap();
            assert_ne!(answer.status(), 200, "{name}");
        }
        let ran = running.finish();
        assert!(ran.stderr.contains(&format!("inspector on http://{page}/")), "{}", ran.stderr);
        assert!(!ran.stderr.contains(TOKEN), "a token that somebody chose is not printed");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn pages_that_stop_reading_hold_up_no_exchange_and_memory_stays_flat() {
    const EXCHANGES: u64 = 3_000;
    let folder = tempfile::tempdir().unwrap();
    let fixture = format!("{FIXTURES}/operations");
    let arguments = ["replay", &fixture, "--exhausted", "repeat", "--listen", "127.0.0.1:0", "--inspect"];
    let arguments = arguments.into_iter().chain(["127.0.0.1:0", "--inspect-buffer", "4MiB"]);
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let send = |count: u64| {
        for _ in 0..count {
            call(proxy, "GET", "/api/v2/connection-profiles/templates", &[], b"");
        }
    };
    send(300);
    until(page, 300);
    let before = running.memory("VmRSS");
    // Four tabs of a browser that was stopped: their notices, and as many large answers as a socket takes.
    let _stopped: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(page).unwrap();
            for path in ["/api/exchanges?count=500", "/api/exchanges?count=500", "/api/stream"] {
                stream.write_all(&request(page, "GET", path, &[("authorization", &bearer())], b"")).unwrap();
            }
            stream
        })
        .collect();
    send(EXCHANGES);
    let run = until(page, 300 + EXCHANGES);
    assert_eq!(run["n"], 300 + EXCHANGES, "{run}");
    let more = running.memory("VmRSS").saturating_sub(before);
    assert!(more < 32 << 10, "{more} kB more");
    running.finish();
}

#[test]
fn a_miss_of_a_replay_appears_with_the_option_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = format!("{FIXTURES}/operations");
    let arguments = ["replay", &fixture, "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let answer = call(proxy, "GET", "/api/v2/rate-limit-policies/rlp_Unknown", &[], b"");
    assert_eq!(answer.status(), 421);
    until(page, 1);
    let misses = ask(page, "/api/misses");
    assert_eq!(misses["rows"][0]["count"], 1, "{misses}");
    let difference = &misses["rows"][0]["nearest"][0]["differences"][0];
    assert_eq!(
        [&difference["place"], &difference["yours"]],
        ["path", "/api/v2/rate-limit-policies/rlp_Unknown"],
        "{misses}"
    );
    call(proxy, "GET", "/nothing", &[], b"");
    let run = until(page, 2);
    assert_eq!(run["counts"]["miss"], 2, "an undocumented miss is one, too");
    assert_eq!(ask(page, "/api/exchanges?q=verdict:miss")["size"], 2);
    running.finish();
}

#[test]
fn a_secret_that_becomes_known_later_is_in_no_answer_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let secret = "zQ83kLm2Vx71.late";
    let body = format!("{{\"comment\":\"{secret}\"}}");
    call(proxy, "POST", "/api/v2/notes", &[("content-type", "application/json")], body.as_bytes());
    until(page, 1);
    let shown = || {
        ask(page, "/api/exchanges/0/request/lines").to_string() + &ask(page, "/api/exchanges/0/request/raw").to_string()
    };
    assert!(shown().contains(secret), "nothing shows that it is a secret yet");
    call(proxy, "GET", "/api/v2/notes", &[("authorization", &format!("Bearer {secret}"))], b"");
    until(page, 2);
    assert!(!shown().contains(secret));
    assert_eq!(ask(page, &format!("/api/exchanges?q=body:{secret}"))["size"], 0, "a filter must not find out");
    running.finish();
}

#[test]
fn an_entry_is_found_by_its_number_in_its_file() {
    let running = inspect(&["--at", "3"]);
    let rows = ask(running.address, "/api/exchanges?count=500");
    for row in rows["rows"].as_array().unwrap() {
        let source: String = form_urlencoded::byte_serialize(row["source"].as_str().unwrap().as_bytes()).collect();
        let found = ask(running.address, &format!("/api/exchanges/entry?source={source}&entry={}", row["entry"]));
        assert_eq!(found["n"], row["n"], "{row}");
    }
    let ran = running.finish();
    assert!(ran.stderr.contains("/#/exchanges?entry=3\n"), "{}", ran.stderr);
}

#[test]
fn a_page_that_lingers_shows_how_the_run_ended() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "watch",
        "--upstream",
        "sandbox",
        "--inspect",
        "127.0.0.1:0",
        "--inspect-linger",
        "always",
        "--listen",
        "127.0.0.1:0",
        "--forward-listen",
        "127.0.0.1:0",
        "--",
        "sh",
        "-c",
        "exit 7",
    ];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let page = running.addresses[2];
    let end = loop {
        let run = ask(page, "/api/run");
        if run["end"] != Value::Null {
            break run["end"].clone();
        }
        std::thread::yield_now();
    };
    assert_eq!(end["status"], 7, "{end}");
    let ran = running.finish();
    assert!(
        ran.stderr.contains("the inspector stays open until you press Ctrl-C (status 7 is decided)"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.status, 7);
}

/// What differs, as `contrail diff` lists it, of what the page has at each place.
fn changes(compared: &Value) -> Vec<Value> {
    let rows = |part: &Value| -> Vec<Value> {
        let rows = part["rows"].as_array().unwrap().iter().filter(|row| row["same"] == false);
        rows.map(|row| json!({"part": part["part"], "at": row["at"], "a": row["left"], "b": row["right"]})).collect()
    };
    compared["parts"].as_array().unwrap().iter().flat_map(rows).collect()
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

/// Two recordings: the same request, one that changed, one that is gone and one that is new, each with a secret.
fn two_recordings(folder: &Path) {
    let get = |target: &str, status: u16, body: &str| {
        let secret = format!("Bearer Zx9-kQ27_planted.Secret~{status}");
        har::get(target, Some(&secret), status, body)
    };
    let policy = "/api/v2/rate-limit-policies/rlp_";
    let old = [
        get("/api/v2/same?a=1&b=2", 200, r#"{"n":1.0}"#),
        get(&format!("{policy}1?take=10"), 200, r#"{"id":822106502566256641,"client_secret":"hunter-one-0815"}"#),
        get("/api/v2/gone", 200, "1"),
        get("/api/v2/same/2", 200, "{}"),
    ];
    let new = [
        get("/api/v2/new", 404, "1"),
        get(
            &format!("{policy}1?take=20"),
            200,
            r#"{"id":822106502566256642,"client_secret":"hunter-two-0815","x":[]}"#,
        ),
        get("/api/v2/same?b=2&a=1", 200, r#"{"n":1}"#),
        get("/api/v2/same/2", 201, "{}"),
    ];
    fs::write(folder.join("old.har"), har::har(&old)).unwrap();
    fs::write(folder.join("new.har"), har::har(&new)).unwrap();
}

fn diff(folder: &Path) -> Value {
    serde_json::from_str(&run_in(folder, ["diff", "old.har", "new.har", "--format", "json"]).stdout).unwrap()
}

#[test]
fn what_differs_side_by_side_is_what_diff_reports_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    two_recordings(folder.path());
    let arguments = ["inspect", "old.har", "new.har", "--listen", "127.0.0.1:0"];
    let running = read_whole(Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]));
    let mut seen = 0;
    for operation in diff(folder.path())["operations"].as_array().unwrap() {
        for changed in operation["changed"].as_array().unwrap() {
            let (a, b) = (changed["a"]["entry"].as_u64().unwrap(), changed["b"]["entry"].as_u64().unwrap());
            let compared = ask(running.address, &format!("/api/compare?a={}&b={a}", b + 4));
            let differences = changed["differences"].as_array().unwrap();
            assert_eq!(sorted(&changes(&compared)), sorted(differences), "{compared}");
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
    let mut all = String::new();
    for n in 0..8 {
        all += &ask(running.address, &format!("/api/compare?a={n}")).to_string();
        all += &ask(running.address, &format!("/api/compare?a={n}&b={}", 7 - n)).to_string();
    }
    assert!(!all.contains("planted") && !all.contains("hunter-"), "{all}");
    assert!(all.contains("822106502566256641") && all.contains("!token-1!"), "{all}");
    let missing = call(running.address, "GET", "/api/compare?a=0&b=8", &[("authorization", &bearer())], b"");
    assert_eq!(missing.status(), 404);
    running.finish();
}

#[test]
fn states_beside_a_base_are_those_of_diff_and_counts_are_those_of_the_new_recording() {
    let folder = tempfile::tempdir().unwrap();
    two_recordings(folder.path());
    let arguments = ["inspect", "new.har", "--base", "old.har", "--listen", "127.0.0.1:0"];
    let running = read_whole(Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]));
    let rows = |query: &str| ask(running.address, &format!("/api/exchanges?count=100&q={query}"))["rows"].clone();
    let all = rows("");
    let row = |source: &str, entry: &Value| {
        let is_it = |row: &&Value| row["source"] == source && row["entry"] == *entry;
        all.as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{source} {entry}: {all}"))
    };
    let found = diff(folder.path());
    for operation in found["operations"].as_array().unwrap() {
        for added in operation["only_in_b"].as_array().unwrap() {
            assert_eq!(row("new.har", &added["entry"])["state"], "added");
        }
        for removed in operation["only_in_a"].as_array().unwrap() {
            assert_eq!(row("old.har", &removed["entry"])["state"], "removed");
        }
        for changed in operation["changed"].as_array().unwrap() {
            let row = row("new.har", &changed["b"]["entry"]);
            assert_eq!(row["state"], "changed");
            let compared = ask(running.address, &format!("/api/compare?a={}", row["n"]));
            let left = json!([compared["left"]["source"], compared["left"]["entry"]]);
            assert_eq!(left, json!(["old.har", changed["a"]["entry"]]));
            let differences = changed["differences"].as_array().unwrap();
            assert_eq!(sorted(&changes(&compared)), sorted(differences), "{compared}");
        }
    }
    let summary = &found["summary"];
    for (word, count) in [("added", "only_in_b"), ("removed", "only_in_a"), ("changed", "changed"), ("same", "same")] {
        assert_eq!(rows(&format!("is:{word}")).as_array().unwrap().len(), summary[count], "{word}");
    }
    assert_eq!(all.as_array().unwrap().len(), 5);
    let run = ask(running.address, "/api/run");
    let verified: Value =
        serde_json::from_str(&run_in(folder.path(), ["verify", "new.har", "--format", "json"]).stdout).unwrap();
    for verdict in ["conforms", "gap", "violates"] {
        assert_eq!(run["counts"][verdict], verified["summary"][verdict], "{verdict}");
    }
    assert_eq!(json!([run["base"], run["n"]]), json!(["old.har", 5]));
    assert!(!all.to_string().contains("planted"), "{all}");
    running.finish();
}
