//! Which of several recorded answers a request gets.

use std::{collections::BTreeMap, path::PathBuf};

use super::*;
use crate::support::{golden::assert_output, wire::Origin};

#[test]
fn the_same_request_gets_its_recorded_answers_in_order_then_the_last_again_if_it_is_safe() {
    let workspace = Workspace::new();
    let policy = "/api/v2/rate-limit-policies/rlp_1";
    workspace.write(
        "a.har",
        &[
            get("/api/v2/x", "1"),
            post("/api/v2/y", "{}", "1"),
            get("/api/v2/x", "2"),
            get(policy, har::POLICY),
            post("/api/v2/y", "{}", "2"),
        ],
    );
    let replay = workspace.replay(&["a.har"]);
    let to = replay.address;
    let gets: Vec<_> = (0..4).map(|_| text(&ask(to, "/api/v2/x"))).collect();
    assert_eq!(gets, ["1", "2", "2", "2"]);
    let posts: Vec<_> = (0..3).map(|_| send(to, "/api/v2/y", "{}")).collect();
    assert_eq!((text(&posts[0]), text(&posts[1])), ("1".to_owned(), "2".to_owned()));
    assert_eq!(posts[2].status(), 421);
    assert_eq!(posts[2].json()["reason"], "exhausted");
    let ran = replay.finish();
    assert_eq!(ran.status, 3);
    assert_output(
        "replay/order/the_same_request_gets_its_recorded_answers_in_order_then_the_last_again_if_it_is_safe",
        &ran,
    );
}

#[test]
fn exhausted_repeat_loop_and_miss_decide_for_every_method() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[post("/api/v2/y", "{}", "1"), post("/api/v2/y", "{}", "2"), get("/api/v2/x", "x")]);
    for (option, posts, last_get) in [
        ("repeat", ["1", "2", "2", "2"], 200),
        ("loop", ["1", "2", "1", "2"], 200),
        ("miss", ["1", "2", "-", "-"], 421),
    ] {
        let replay = workspace.replay(&["a.har", "--exhausted", option]);
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
fn order_is_counted_per_request_however_many_clients_ask_and_workers_answer_at_once() {
    const EACH: usize = 40;
    let workspace = Workspace::new();
    let entries: Vec<Value> = (0..EACH)
        .flat_map(|number| {
            ["x", "y"].map(|path| post(&format!("/api/v2/{path}"), "{}", &format!("\"{path}{number:02}\"")))
        })
        .collect();
    workspace.write("a.har", &entries);
    for workers in ["1", "4"] {
        let replay = workspace.replay(&["a.har", "--workers", workers]);
        let to = replay.address;
        let clients: Vec<_> = (0..8)
            .map(|client| {
                thread::spawn(move || {
                    (0..EACH / 4)
                        .map(|_| text(&send(to, ["/api/v2/x", "/api/v2/y"][client % 2], "{}")))
                        .collect::<Vec<_>>()
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
}

#[test]
fn the_callers_own_entries_come_first_and_a_fresh_token_makes_the_caller() {
    let workspace = Workspace::new();
    workspace.write_own(
        "a.har",
        &[
            by(post("/api/v2/x", "{}", "\"a\""), "client-a", &["read:users"]),
            by(post("/api/v2/x", "{}", "\"b\""), "client-b", &["read:roles", "read:users"]),
            own(post("/api/v2/x", "{}", "\"nobody\""), json!({})),
        ],
    );
    let replay = workspace.replay(&["a.har", "--format", "json"]);
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
fn a_token_for_an_unrecorded_client_carries_the_union_of_scopes_with_a_remark() {
    let workspace = Workspace::new();
    workspace.write_own(
        "a.har",
        &[
            by(get("/api/v2/x", "1"), "client-a", &["read:users"]),
            by(get("/api/v2/x", "1"), "client-b", &["read:roles"]),
        ],
    );
    let replay = workspace.replay(&["a.har"]);
    let body = r#"{"grant_type":"client_credentials","client_id":"stranger","client_secret":"s","organization":null}"#;
    let answer = send(replay.address, "/oauth/token/", body);
    assert_eq!((answer.status(), answer.json()["scope"].clone()), (200, "read:roles read:users".into()));
    let ran = replay.finish();
    assert_output("replay/order/a_token_for_an_unrecorded_client_carries_the_union_of_scopes_with_a_remark", &ran);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn fixtures_are_merged_in_order_the_same_one_twice_counts_twice_and_an_empty_one_is_no_error() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[post("/api/v2/x", "{}", "1")]).write("b.har", &[post("/api/v2/x", "{}", "2")]);
    workspace.write("empty.har", &[]);
    let replay = workspace.replay(&["b.har", "empty.har", "a.har", "b.har"]);
    let answers: Vec<_> = (0..4).map(|_| send(replay.address, "/api/v2/x", "{}")).collect();
    assert_eq!(answers[..3].iter().map(text).collect::<Vec<_>>(), ["2", "1", "2"]);
    assert_eq!(answers[3].status(), 421);
    replay.finish();

    let replay = workspace.replay(&["empty.har"]);
    assert_eq!(ask(replay.address, "/api/v2/x").json()["reason"], "empty");
    replay.finish();
    assert_eq!(workspace.replay(&["empty.har"]).finish().status, 0);
}

#[test]
fn a_304_and_a_206_answer_only_requests_that_ask_for_them_and_these_first() {
    let with = |status: u16, name: &str, value: &str, body: &str| {
        let mut entry = exchange("GET", "/files/a", None, status, body);
        entry["request"]["headers"].as_array_mut().unwrap().push(json!({"name": name, "value": value}));
        entry
    };
    let not_modified = with(304, "If-None-Match", "\"1\"", "");
    let part = with(206, "Range", "bytes=0-1", "wh");
    let workspace = Workspace::new();
    let mut only = not_modified.clone();
    only["request"]["url"] = "https://tenant.example/files/b".into();
    workspace.write("a.har", &[not_modified, part, get("/files/a", "whole"), only]);
    let replay = workspace.replay(&["a.har"]);
    let ask = |path: &str, headers: &[(&str, &str)]| {
        let answer = wire::call(replay.address, "GET", path, headers, b"");
        (answer.status(), String::from_utf8(answer.body).unwrap())
    };
    for _ in 0..2 {
        assert_eq!(ask("/files/a", &[]), (200, "whole".to_owned()));
        assert_eq!(ask("/files/a", &[("If-None-Match", "\"1\"")]).0, 304);
        assert_eq!(ask("/files/a", &[("Range", "bytes=0-1")]), (206, "wh".to_owned()));
        // What was not recorded so gets the whole, as a server may answer it.
        assert_eq!(ask("/files/a", &[("If-Modified-Since", "Sat, 22 Nov 2025 14:33:20 GMT")]).0, 200);
    }
    assert_eq!(ask("/files/b", &[("If-None-Match", "\"1\"")]).0, 304);
    assert_eq!(ask("/files/b", &[("If-None-Match", "\"2\"")]).0, 421);
    let (status, problem) = ask("/files/b", &[]);
    assert_eq!(status, 421);
    assert!(problem.contains("and this request has neither condition nor range"), "{problem}");
    replay.finish();
}

#[test]
fn conditional_requests_get_the_answers_to_their_own_validators() {
    let workspace = Workspace::new();
    let mut first = get("/files/a", "one");
    first["request"]["headers"].as_array_mut().unwrap().push(json!({"name": "If-None-Match", "value": "\"1\""}));
    let mut second = exchange("GET", "/files/a", None, 304, "");
    second["request"]["headers"].as_array_mut().unwrap().push(json!({"name": "If-None-Match", "value": "\"2\""}));
    workspace.write("a.har", &[get("/files/a", "zero"), first, second]);
    let replay = workspace.replay(&["a.har"]);
    let status = |headers: &[(&str, &str)]| wire::call(replay.address, "GET", "/files/a", headers, b"").status();
    let held = |tag: &str| status(&[("If-None-Match", tag)]);
    assert_eq!([held("\"2\""), held("\"1\""), status(&[])], [304, 200, 200]);
    replay.finish();
}

#[test]
fn requests_with_numbers_of_the_client_keep_their_recorded_order_when_these_are_ignored() {
    let workspace = Workspace::new();
    let origin = Origin::start();
    let upstream = format!("http://{}", origin.address);
    let ask = |to: SocketAddr, id: &str| {
        let sent = format!(r#"{{"requestId":"{id}","name":"n"}}"#);
        text(&send(to, "/counter", &sent))
    };
    let record = |ids: &[&str], options: &[&str]| {
        let arguments = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", "fx.har"];
        let record = Running::start(workspace.path(), arguments.iter().chain(options));
        for (number, id) in ids.iter().enumerate() {
            origin.will_answer(format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n{number}"));
            ask(record.address, id);
        }
        let ran = record.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        fs::read_to_string(workspace.path().join("fx.har")).unwrap()
    };
    let replayed = |ids: &[&str]| {
        let replay = workspace.replay(&["fx.har", "--ignore", "pointer:/requestId"]);
        let answers: Vec<String> = ids.iter().map(|id| ask(replay.address, id)).collect();
        assert_eq!(replay.finish().status, 0);
        answers.concat()
    };
    let ids = ["zz", "mm", "aa", "kk", "bb", "xx", "cc"];
    let har = record(&ids, &[]);
    assert_eq!(har.matches("\"order\"").count(), ids.len(), "{har}");
    assert_eq!(replayed(&["1", "2", "3", "4", "5", "6", "7"]), "0123456");
    assert_eq!(replayed(&["cc", "1", "2"]), "601", "an exact one first, and none twice");
    assert_eq!(record(&ids, &["--overwrite"]), har);
    // What is appended comes after what was there.
    record(&["ab", "yy"], &["--append"]);
    assert_eq!(replayed(&["1", "2", "3", "4", "5", "6", "7", "8", "9"]), "012345601");
    assert!(!record(&["same", "same"], &["--overwrite"]).contains("\"order\""));
}

#[test]
fn rules_of_a_fixture_keep_its_names_and_order_when_ignored_values_change_and_replay_and_diff_apply_them() {
    let workspace = Workspace::new();
    let origin = Origin::start();
    let upstream = format!("http://{}", origin.address);
    let ask = |to: SocketAddr, id: &str, name: &str| {
        let sent = format!(r#"{{"requestId":"{id}","name":"{name}"}}"#);
        text(&send(to, &format!("/counter/{id}/x?t={id}"), &sent))
    };
    let record = |out: &str, ids: &[&str], options: &[&str]| {
        let arguments = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", out];
        let record = Running::start(workspace.path(), arguments.iter().chain(options));
        for (number, id) in ids.iter().enumerate() {
            origin.will_answer(format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n{number}"));
            ask(record.address, id, ["b", "a"][number % 2]);
        }
        let ran = record.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    let scoped = "POST /counter/*/x=path:2";
    let rules = ["--ignore", scoped, "--ignore", "pointer:/requestId", "--ignore", "query:t"];
    // What the files hold, with the ids and the digests of what holds them taken out.
    let held = |out: &str, ids: &[&str]| -> BTreeMap<String, String> {
        let folder = workspace.path().join(out);
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let text = |path: PathBuf| {
            let text = fs::read_to_string(&path).unwrap();
            let text = ids.iter().fold(text, |text, id| text.replace(id, "ID"));
            let lines = text.lines().filter(|line| !line.contains("\"request\": \"") || line.len() < 60);
            (path.file_name().unwrap().to_str().unwrap().to_owned(), lines.collect::<Vec<_>>().join("\n"))
        };
        files.map(text).filter(|(name, _)| !name.ends_with(".journal")).collect()
    };
    let (first, second) = (["zz77", "mm77", "aa77", "kk77"], ["aa88", "zz88", "kk88", "mm88"]);
    record("fx", &first, &rules);
    let before = held("fx", &first);
    assert!(before["fx.har"].contains(scoped), "{}", before["fx.har"]);
    record("other", &first, &rules);
    record("fx", &second, &["--overwrite"]);
    assert_eq!(held("fx", &second), before);
    let replay = workspace.replay(&["fx"]);
    let answers = ["b", "a", "a", "b"].map(|name| ask(replay.address, "new", name));
    assert_eq!(answers, ["0", "1", "3", "2"]);
    assert_eq!(replay.finish().status, 0);
    let ran = run_in(workspace.path(), ["diff", "other", "fx"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "no differences in 4 exchanges\n"), "{}", ran.stderr);
    // A rule that is none is found where it is read.
    let path = workspace.path().join("fx/fx.har");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("query:t", "query")).unwrap();
    let ran = run_in(workspace.path(), ["verify", "fx"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("`log._contrail`: `query` is not an ignore rule"), "{}", ran.stderr);
}
