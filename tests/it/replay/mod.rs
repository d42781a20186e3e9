//! `contrail replay`: recordings answer in place of the tenant.

mod recorded;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
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
    har,
    process::Running,
    wire::{self, Message},
};

/// A folder with fixtures in it.
struct Place(tempfile::TempDir);

impl Place {
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
    let place = Place::new();
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
    place.write("a.har", &[entry]);
    let replay = place.replay(&["a.har"]);
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
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(!ran.stderr.contains("never asked for"), "{}", ran.stderr);
}

#[test]
fn a_miss_is_421_with_every_difference_to_the_nearest_recorded_request_and_exit_status_3() {
    let place = Place::new();
    place.write("a.har", &[get("/api/v2/other", "{}"), post("/api/v2/x?take=50", r#"{"a":1,"b":true}"#, "{}")]);
    let replay = place.replay(&["a.har"]);
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
            {"place": "query parameter `take`", "your request": "5", "fixture": "50", "option": "--ignore query:take"},
            {"place": "body at `/a`", "your request": "2", "fixture": "1", "option": "--ignore pointer:/a"},
        ])
    );
    let ran = replay.finish();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("--ignore query:take --ignore pointer:/a"), "{}", ran.stderr);

    let options = ["a.har", "--ignore", "query:take", "--ignore", "pointer:/a"];
    let replay = place.replay(&options);
    assert_eq!(send(replay.address, "/api/v2/x?take=5", r#"{"a":2,"b":true}"#).status(), 200);
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn an_answer_that_can_have_no_body_is_whole_without_one() {
    let place = Place::new();
    let mut gone = get("/api/v2/x", "{}");
    gone["response"]["status"] = json!(204);
    place.write("a.har", &[gone]);
    let replay = place.replay(&["a.har", "--format", "json"]);
    assert_eq!(wire::call(replay.address, "HEAD", "/api/v2/y", &[], b"").status(), 421);
    assert_eq!(wire::call(replay.address, "GET", "/api/v2/x", &[], b"").status(), 204);
    let ran = replay.finish();
    assert_eq!(ran.status, 3);
    let last: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["incomplete"], 0, "{}", ran.stderr);
}

#[test]
fn a_miss_shows_no_secret_of_the_request_and_none_of_the_fixture() {
    let place = Place::new();
    let recorded = r#"{"client_secret":"fixture-hunter-0815","a":1}"#;
    place.write("a.har", &[post("/api/v2/x?access_token=fixture-token-4711", recorded, "{}")]);
    let replay = place.replay(&["a.har"]);
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
    assert!(text(&miss).contains("--ignore pointer:/a"), "{}", text(&miss));
}

#[test]
fn the_same_request_gets_its_recorded_answers_in_order_then_the_last_again_if_it_is_safe() {
    let place = Place::new();
    let policy = "/api/v2/rate-limit-policies/rlp_1";
    place.write(
        "a.har",
        &[
            get("/api/v2/x", "1"),
            post("/api/v2/y", "{}", "1"),
            get("/api/v2/x", "2"),
            get(policy, har::POLICY),
            post("/api/v2/y", "{}", "2"),
        ],
    );
    let replay = place.replay(&["a.har"]);
    let to = replay.address;
    let gets: Vec<_> = (0..4).map(|_| text(&ask(to, "/api/v2/x"))).collect();
    assert_eq!(gets, ["1", "2", "2", "2"]);
    let posts: Vec<_> = (0..3).map(|_| send(to, "/api/v2/y", "{}")).collect();
    assert_eq!((text(&posts[0]), text(&posts[1])), ("1".to_owned(), "2".to_owned()));
    assert_eq!(posts[2].status(), 421);
    assert_eq!(posts[2].json()["reason"], "exhausted");
    let ran = replay.finish();
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("a.har entry 3: GET /api/v2/rate-limit-policies/rlp_1"), "{}", ran.stderr);
}

#[test]
fn exhausted_repeat_loop_and_miss_decide_for_every_method() {
    let place = Place::new();
    place.write("a.har", &[post("/api/v2/y", "{}", "1"), post("/api/v2/y", "{}", "2"), get("/api/v2/x", "x")]);
    for (option, posts, last_get) in [
        ("repeat", ["1", "2", "2", "2"], 200),
        ("loop", ["1", "2", "1", "2"], 200),
        ("miss", ["1", "2", "-", "-"], 421),
    ] {
        let replay = place.replay(&["a.har", "--exhausted", option]);
        let answers: Vec<_> = (0..4)
            .map(|_| send(replay.address, "/api/v2/y", "{}"))
            .map(|answer| if answer.status() == 421 { "-".to_owned() } else { text(&answer) })
            .collect();
        assert_eq!(answers, posts, "{option}");
        ask(replay.address, "/api/v2/x");
        assert_eq!(ask(replay.address, "/api/v2/x").status(), last_get, "{option}");
        replay.finish();
    }
}

#[test]
fn order_is_counted_per_request_however_many_clients_ask_at_once() {
    const EACH: usize = 40;
    let place = Place::new();
    let entries: Vec<Value> = (0..EACH)
        .flat_map(|number| {
            ["x", "y"].map(|path| post(&format!("/api/v2/{path}"), "{}", &format!("\"{path}{number:02}\"")))
        })
        .collect();
    place.write("a.har", &entries);
    let replay = place.replay(&["a.har"]);
    let to = replay.address;
    let clients: Vec<_> = (0..8)
        .map(|client| {
            thread::spawn(move || {
                (0..EACH / 4).map(|_| text(&send(to, ["/api/v2/x", "/api/v2/y"][client % 2], "{}"))).collect::<Vec<_>>()
            })
        })
        .collect();
    let seen: Vec<Vec<String>> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    for answers in &seen {
        assert!(answers.is_sorted(), "one client never sees an older answer after a newer one: {answers:?}");
    }
    for (side, path) in ["x", "y"].iter().enumerate() {
        let mut all: Vec<String> = seen.iter().skip(side).step_by(2).flatten().cloned().collect();
        all.sort();
        let expected: Vec<String> = (0..EACH).map(|number| format!("\"{path}{number:02}\"")).collect();
        assert_eq!(all, expected, "each recorded answer is given once");
    }
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn the_callers_own_entries_come_first_and_a_fresh_token_makes_the_caller() {
    let place = Place::new();
    place.write_own(
        "a.har",
        &[
            by(post("/api/v2/x", "{}", "\"a\""), "client-a", &["read:users"]),
            by(post("/api/v2/x", "{}", "\"b\""), "client-b", &["read:roles", "read:users"]),
            own(post("/api/v2/x", "{}", "\"nobody\""), json!({})),
        ],
    );
    let replay = place.replay(&["a.har", "--format", "json"]);
    let to = replay.address;
    let token = |client: &str| {
        let form =
            format!("grant_type=client_credentials&client_id={client}&client_secret=any&audience=%2Fapi%2Fv2%2F");
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = wire::call(to, "POST", "/oauth/token", &headers, form.as_bytes());
        assert_eq!(answer.status(), 200);
        let answer = answer.json();
        assert!(answer["expires_in"].is_u64(), "{answer}");
        answer["access_token"].as_str().unwrap().to_owned()
    };
    let as_client = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        let answer = wire::call(to, "POST", "/api/v2/x", &headers, b"{}");
        if answer.status() == 421 { answer.json()["reason"].clone() } else { answer.json() }
    };
    let (a, b) = (token("client-a"), token("client-b"));
    assert_eq!(as_client(&b), "b");
    assert_eq!(as_client(&b), "exhausted", "never a stranger's answer");
    assert_eq!(send(to, "/api/v2/x", "{}").json(), "nobody");
    assert_eq!(as_client(&a), "a");
    let ran = replay.finish();
    assert_eq!(ran.status, 3);
}

#[test]
fn a_token_for_an_unrecorded_client_carries_the_union_of_scopes_and_that_is_said() {
    let place = Place::new();
    place.write_own(
        "a.har",
        &[
            by(get("/api/v2/x", "1"), "client-a", &["read:users"]),
            by(get("/api/v2/x", "1"), "client-b", &["read:roles"]),
        ],
    );
    let replay = place.replay(&["a.har"]);
    let body = r#"{"grant_type":"client_credentials","client_id":"stranger","client_secret":"s","organization":null}"#;
    let answer = send(replay.address, "/oauth/token/", body);
    assert_eq!((answer.status(), answer.json()["scope"].clone()), (200, "read:roles read:users".into()));
    let ran = replay.finish();
    assert!(ran.stderr.contains("union"), "{}", ran.stderr);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn bodies_that_were_laid_out_go_out_compact_and_another_tools_as_recorded() {
    let place = Place::new();
    let pretty = "{\n  \"a\": [\n    1.0,\n    \"x  y\"\n  ]\n}";
    place.write_own(
        "own.har",
        &[
            own(get("/api/v2/laid-out", pretty), json!({"laidOut": ["response"]})),
            own(get("/api/v2/as-it-came", pretty), json!({})),
        ],
    );
    place.write("other.har", &[get("/api/v2/other", pretty)]);
    let replay = place.replay(&["own.har", "other.har"]);
    let laid_out = ask(replay.address, "/api/v2/laid-out");
    assert_eq!(text(&laid_out), r#"{"a":[1.0,"x  y"]}"#);
    assert_eq!(laid_out.header("content-length"), Some("18"));
    assert_eq!(text(&ask(replay.address, "/api/v2/as-it-came")), pretty);
    assert_eq!(text(&ask(replay.address, "/api/v2/other")), pretty);
}

#[test]
fn a_request_that_calls_the_tenant_by_its_own_name_is_found_under_the_fixtures() {
    let place = Place::new();
    let recorded = r#"{"payload":{"link":"https://tenant.example/x?a=b"}}"#;
    place.write_own("own.har", &[own(post("/api/v2/actions/actions/a/test", recorded, "{\"payload\":{}}"), json!({}))]);
    let live = recorded.replace("tenant.example", "my-tenant.test:8443");
    for name in [["--upstream", "https://my-tenant.test:8443"], ["--intercept", "my-tenant.test:8443"]] {
        let replay = place.replay(&[&name[..], &["own.har"]].concat());
        assert_eq!(send(replay.address, "/api/v2/actions/actions/a/test", &live).status(), 200, "{name:?}");
    }
    let replay = place.replay(&["own.har"]);
    assert_eq!(send(replay.address, "/api/v2/actions/actions/a/test", &live).status(), 421);
}

#[test]
fn redacted_places_match_any_value_of_their_type_and_a_withheld_body_any_body_and_it_is_said() {
    let place = Place::new();
    let redacted = post("/api/v2/x", r#"{"secret":"!password-1!","a":1}"#, "1");
    let withheld = exchange("POST", "/api/v2/y", Some(("application/json", "")), 200, "1");
    place.write_own(
        "a.har",
        &[
            own(redacted, json!({"request": {"redacted": ["/secret"]}})),
            own(withheld, json!({"request": {"withheld": "unparsable"}})),
        ],
    );
    let replay = place.replay(&["a.har"]);
    assert_eq!(send(replay.address, "/api/v2/x", r#"{"a":1,"secret":5}"#).status(), 421);
    assert_eq!(send(replay.address, "/api/v2/x", r#"{"a":1.0,"secret":"anything"}"#).status(), 200);
    assert_eq!(send(replay.address, "/api/v2/y", r#"{"any":"thing"}"#).status(), 200);
    let ran = replay.finish();
    assert!(ran.stderr.contains("`/secret` is redacted in the recording"), "{}", ran.stderr);
    assert!(ran.stderr.contains("any body matches"), "{}", ran.stderr);
}

#[test]
fn multipart_forms_and_compressed_bodies_match_by_value() {
    let place = Place::new();
    let multipart = |boundary: &str, parts: [&str; 2]| {
        format!("--{boundary}\r\n{}\r\n--{boundary}\r\n{}\r\n--{boundary}--\r\n", parts[0], parts[1])
    };
    let one =
        "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1,\"b\":2}";
    let same = "Content-Disposition: form-data; name=\"meta\"\r\n\r\n{\"b\": 2.0, \"a\": 1}";
    let file = "Content-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\nhello";
    place.write(
        "a.har",
        &[
            exchange(
                "POST",
                "/api/v2/upload",
                Some(("multipart/form-data; boundary=one", &multipart("one", [one, file]))),
                200,
                "1",
            ),
            exchange(
                "POST",
                "/api/v2/form",
                Some(("application/x-www-form-urlencoded", "a=1+2&p=%7B%22x%22%3A1%7D")),
                200,
                "1",
            ),
            post("/api/v2/json", r#"{"a":1}"#, "1"),
        ],
    );
    let replay = place.replay(&["a.har"]);
    let call = |target: &str, headers: &[(&str, &str)], body: &[u8]| {
        wire::call(replay.address, "POST", target, headers, body).status()
    };
    let body = multipart("two-2", [file, same]);
    let media_type = [("Content-Type", "multipart/form-data; boundary=\"two-2\"")];
    assert_eq!(call("/api/v2/upload", &media_type, body.as_bytes()), 200);
    let media_type = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(call("/api/v2/form", &media_type, b"p=%7B%20%22x%22:1.0%7D&a=1%202"), 200);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(br#"{ "a" : 1.0 }"#).unwrap();
    let gzip = gzip.finish().unwrap();
    let coded = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    assert_eq!(call("/api/v2/json", &coded, &gzip), 200);
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn what_was_recorded_in_part_is_never_served_as_whole() {
    let place = Place::new();
    let truncated = json!({"response": {"truncated": {"kept": 2, "total": 10}}});
    place.write_own(
        "a.har",
        &[
            own(get("/api/v2/cut", "{}"), truncated),
            own(get("/api/v2/withheld", ""), json!({"response": {"withheld": "unparsable"}})),
            own(exchange("GET", "/api/v2/zero", None, 0, ""), json!({"incomplete": "the upstream closed early"})),
        ],
    );
    let replay = place.replay(&["a.har"]);
    for (target, why) in [("cut", "2 of 10 bytes"), ("withheld", "unparsable"), ("zero", "closed early")] {
        let answer = ask(replay.address, &format!("/api/v2/{target}"));
        assert_eq!((answer.status(), answer.json()["reason"].clone()), (421, "unfit".into()));
        assert!(answer.json()["detail"].as_str().unwrap().contains(why), "{}", answer.json());
    }
    let ran = replay.finish();
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("1 recorded exchange cannot be served"), "{}", ran.stderr);
}

#[test]
fn violations_of_recorded_exchanges_count_whether_or_not_anyone_asked_for_them() {
    let place = Place::new();
    let wrong = har::POLICY.replace("\"allow\"", "\"shrug\"");
    place.write("a.har", &[get("/api/v2/rate-limit-policies/rlp_1", &wrong), get("/api/v2/x", "1")]);
    let replay = place.replay(&["a.har", "--format", "json"]);
    let ran = replay.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let said: Vec<Value> = ran
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line.get("recorded").cloned())
        .collect();
    assert_eq!(said.len(), 1, "{}", ran.stderr);
    assert_eq!(said[0]["findings"][0]["rule"], "response.body");
    assert_eq!((said[0]["source"].clone(), said[0]["entry"].clone()), ("a.har".into(), 0.into()));
    assert_eq!(summary(&ran)["unused"].as_array().unwrap().len(), 2);

    let replay = place.replay(&["a.har"]);
    ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    let ran = replay.finish();
    assert_eq!(ran.status, 1, "once, not once per request");
    assert!(ran.stderr.contains("1 recorded exchange does not fit the contract in force"), "{}", ran.stderr);

    let replay = place.replay(&["a.har"]);
    assert_eq!(ask(replay.address, "/api/v2/nothing").status(), 421);
    assert_eq!(replay.finish().status, 3, "misses come before violations");
}

#[test]
fn live_requests_are_judged_except_for_authentication_unless_it_is_asked_for() {
    let place = Place::new();
    let target = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=500";
    place.write("a.har", &[get("/api/v2/rate-limit-policies/rlp_1", har::POLICY)]);
    let replay = place.replay(&["a.har", "--format", "json"]);
    ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    ask(replay.address, target);
    let ran = replay.finish();
    let said = lines(&ran);
    assert_eq!(said[0]["verdict"], "conforms", "{}", ran.stderr);
    assert!(said[0]["unchecked"].as_array().unwrap().contains(&"auth".into()), "{}", said[0]);
    assert_eq!(said[1]["findings"][0]["rule"], "query.parameter", "{}", said[1]);

    let replay = place.replay(&["a.har", "--format", "json", "--check-auth"]);
    ask(replay.address, "/api/v2/rate-limit-policies/rlp_1");
    let ran = replay.finish();
    assert_eq!(lines(&ran)[0]["findings"][0]["rule"], "auth.missing", "{}", ran.stderr);
    assert_eq!(ran.status, 1);
}

#[test]
fn auth_violations_of_recorded_exchanges_count_only_where_they_are_asked_for() {
    let place = Place::new();
    let scopes = json!({"token": {"client": "c", "scopes": ["read:users"], "outcome": "valid"}});
    place.write_own("a.har", &[own(get("/api/v2/rate-limit-policies/rlp_1", har::POLICY), scopes)]);
    assert_eq!(place.replay(&["a.har"]).finish().status, 0);
    let ran = place.replay(&["a.har", "--check-auth"]).finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("auth.scope"), "{}", ran.stderr);
}

#[test]
fn fixtures_are_merged_in_order_the_same_one_twice_counts_twice_and_an_empty_one_is_no_error() {
    let place = Place::new();
    place.write("a.har", &[post("/api/v2/x", "{}", "1")]).write("b.har", &[post("/api/v2/x", "{}", "2")]);
    place.write("empty.har", &[]);
    let replay = place.replay(&["b.har", "empty.har", "a.har", "b.har"]);
    let answers: Vec<_> = (0..4).map(|_| send(replay.address, "/api/v2/x", "{}")).collect();
    assert_eq!(answers[..3].iter().map(text).collect::<Vec<_>>(), ["2", "1", "2"]);
    assert_eq!(answers[3].status(), 421);
    replay.finish();

    let replay = place.replay(&["empty.har"]);
    assert_eq!(ask(replay.address, "/api/v2/x").json()["reason"], "empty");
    replay.finish();
    assert_eq!(place.replay(&["empty.har"]).finish().status, 0);
}

#[test]
fn a_fixture_that_is_not_there_or_no_recording_is_exit_status_2_and_one_line() {
    let place = Place::new();
    fs::write(place.path().join("not.har"), "<html>").unwrap();
    for name in ["missing.har", "not.har"] {
        let ran = run_in(place.path(), ["replay", name, "--listen", "127.0.0.1:0"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
        assert!(!ran.stderr.contains("listening"), "{}", ran.stderr);
    }
}

#[test]
fn head_and_bodiless_answers_keep_their_framing_on_one_connection() {
    let place = Place::new();
    let mut head = exchange("HEAD", "/api/v2/x", None, 200, "");
    head["response"]["headers"] = json!([{"name": "Content-Length", "value": "42"}]);
    place.write("a.har", &[head, exchange("DELETE", "/api/v2/x", None, 204, ""), get("/api/v2/x", "\"last\"")]);
    let replay = place.replay(&["a.har"]);
    let mut stream = std::net::TcpStream::connect(replay.address).unwrap();
    let request = |method: &str| format!("{method} /api/v2/x HTTP/1.1\r\nHost: h\r\n\r\n");
    let all = format!(
        "{}{}{}",
        request("HEAD"),
        request("DELETE"),
        request("GET").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    );
    stream.write_all(all.as_bytes()).unwrap();
    let mut raw = String::new();
    stream.read_to_string(&mut raw).unwrap();
    let heads: Vec<&str> = raw.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(heads.len(), 3, "{raw}");
    assert!(heads[0].starts_with("200") && heads[0].to_lowercase().contains("content-length: 42\r\n"), "{raw}");
    assert!(heads[1].starts_with("204") && !heads[1].to_lowercase().contains("content-length"), "{raw}");
    assert!(heads[2].ends_with("\"last\""), "{raw}");
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
    let place = Place::new();
    let mut entry = get("/api/v2/x", "1");
    entry["request"]["url"] = format!("http://{origin}/api/v2/x").into();
    place.write("a.har", &[entry]);
    let replay = place.replay(&["a.har"]);
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
    let place = Place::new();
    place.write("a.har", &[get("/api/v2/x", "1")]);
    let script = |code: u8| format!("printf %s \"$CONTRAIL_URL\"; exit {code}");
    let wrapped = |code: u8| -> Ran {
        contrail()
            .current_dir(place.path())
            .args(["replay", "a.har", "--", "sh", "-c", &script(code)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap()
            .into()
    };
    let ran = wrapped(7);
    assert_eq!(ran.status, 7, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("http://127.0.0.1:"), "{}", ran.stdout);
    let ran = wrapped(0);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("never asked for"), "{}", ran.stderr);
}
