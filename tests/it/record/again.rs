//! `record --append` of what a fixture holds already: each caller keeps its own answers.

use std::{
    collections::HashMap,
    fs,
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
};

use super::harness::Workspace;
use crate::support::{
    command::{Ran, run_in},
    process::Running,
    wire::{self, call},
};

/// A vendor whose logins give opaque tokens, and whose answers hold the user and the version.
struct Vendor {
    address: SocketAddr,
    version: Arc<Mutex<u32>>,
}

impl Vendor {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let version = Arc::new(Mutex::new(1));
        let (shared, tokens) = (Arc::clone(&version), Arc::new(Mutex::new(HashMap::<String, String>::new())));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, version, tokens) = (stream.unwrap(), Arc::clone(&shared), Arc::clone(&tokens));
                thread::spawn(move || {
                    while let Ok(request) = wire::read(&mut BufReader::new(&stream), false, false) {
                        let body = String::from_utf8_lossy(&request.body).into_owned();
                        let token = request.header("authorization").unwrap_or_default().replace("Bearer ", "");
                        let mut tokens = tokens.lock().unwrap();
                        let version = *version.lock().unwrap();
                        let text = if let Some((_, user)) = body.split_once("user=") {
                            let drawn = (tokens.len() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                            let token: String =
                                [0, 13, 29, 47].map(|turn| format!("{:016x}", drawn.rotate_left(turn))).concat();
                            tokens.insert(token.clone(), user.to_owned());
                            format!(r#"{{"access_token":"{token}"}}"#)
                        } else {
                            let user = tokens.get(&token).map_or("nobody", String::as_str);
                            format!(r#"{{"me":"{user}","version":{version}}}"#)
                        };
                        let status = if version == 0 { "500 Oh" } else { "200 OK" };
                        let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\n");
                        let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{text}", text.len());
                    }
                });
            }
        });
        Self { address, version }
    }

    fn record(&self, workspace: &Workspace, more: &[&str]) -> Running {
        let upstream = format!("http://{}", self.address);
        let record =
            ["record", "--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none", "--out", "fx"];
        Running::start(workspace.path(), record.iter().chain(more))
    }

    /// Records what these users get, with the vendor at this version.
    fn users(&self, workspace: &Workspace, version: u32, users: &[&str]) -> Ran {
        *self.version.lock().unwrap() = version;
        let running = self.record(workspace, &["--append"]);
        for user in users {
            me(running.address, user);
        }
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran
    }
}

/// What a user gets after a login.
fn me(address: SocketAddr, user: &str) -> String {
    me_after(address, "/login", user)
}

/// What a user gets after a login there.
fn me_after(address: SocketAddr, login: &str, user: &str) -> String {
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let login = call(address, "POST", login, &form, format!("client_id=app&user={user}").as_bytes());
    let body: serde_json::Value = serde_json::from_slice(&login.body).unwrap();
    let bearer = format!("Bearer {}", body["access_token"].as_str().unwrap());
    String::from_utf8(call(address, "GET", "/me", &[("Authorization", &bearer)], b"").body).unwrap()
}

fn replayed(workspace: &Workspace, users: &[&str]) -> Vec<String> {
    let replay = ["replay", "fx", "--contract", "none", "--listen", "127.0.0.1:0"];
    let running = Running::start(workspace.path(), replay);
    let answers = users.iter().map(|user| me(running.address, user)).collect();
    assert_eq!(running.finish().status, 0);
    answers
}

fn expected(of: &[(&str, u32)]) -> Vec<String> {
    of.iter().map(|(user, version)| format!(r#"{{"me":"{user}","version":{version}}}"#)).collect()
}

#[test]
fn users_with_opaque_tokens_keep_their_own_answers_when_another_user_is_recorded_again() {
    let (workspace, vendor) = (Workspace::new(), Vendor::start());
    vendor.users(&workspace, 1, &["ann", "bob"]);
    vendor.users(&workspace, 1, &["carl"]);
    assert_eq!(replayed(&workspace, &["ann", "bob", "carl"]), expected(&[("ann", 1), ("bob", 1), ("carl", 1)]));
    let ran = vendor.users(&workspace, 2, &["bob"]);
    assert!(ran.stderr.contains("old entries replaced: 1\nold entries recorded again without a change: 1\n"));
    assert_eq!(replayed(&workspace, &["carl", "bob", "ann"]), expected(&[("carl", 1), ("bob", 2), ("ann", 1)]));
    vendor.users(&workspace, 2, &["carl", "ann"]);
    assert_eq!(replayed(&workspace, &["ann", "bob", "carl"]), expected(&[("ann", 2), ("bob", 2), ("carl", 2)]));
    let ran = vendor.users(&workspace, 2, &["bob", "carl", "ann"]);
    assert!(ran.stderr.contains("6 entries, unchanged"), "{}", ran.stderr);
}

#[test]
fn a_failed_command_and_a_failing_vendor_replace_nothing_and_add_what_is_new() {
    let (workspace, vendor) = (Workspace::new(), Vendor::start());
    vendor.users(&workspace, 1, &["ann"]);
    let ran = vendor.users(&workspace, 0, &["ann", "dan"]);
    assert!(ran.stderr.contains("old entries that stay, because the run was cut short or failed: 2"), "{}", ran.stderr);
    assert_eq!(replayed(&workspace, &["ann"]), expected(&[("ann", 1)]));
    let upstream = format!("http://{}", vendor.address);
    let request = r"printf 'GET /me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3; cat <&3";
    let ask = format!("at=${{CONTRAIL_URL#http://}}; exec 3<>/dev/tcp/${{at%:*}}/${{at#*:}}; {request}");
    let record = ["record", "--upstream", &upstream, "--contract", "none", "--out", "fx", "--append", "--ca-dir", "ca"];
    let spared = "old entries that stay, because the run was cut short or failed: 1";
    for (version, status, row) in [(1, 0, ""), (2, 5, spared), (2, 0, "old entries replaced: 1")] {
        *vendor.version.lock().unwrap() = version;
        let ran =
            run_in(workspace.path(), [&record[..], &["--", "bash", "-c", &format!("{ask}; exit {status}")]].concat());
        assert!(ran.status == status && ran.stderr.contains(row), "{}", ran.stderr);
    }
}

#[test]
fn header_fields_that_are_drawn_for_each_request_do_not_tell_requests_apart() {
    let (workspace, vendor) = (Workspace::new(), Vendor::start());
    let ask = |stamp: &str, tenant: &str| {
        let running = vendor.record(&workspace, &["--append"]);
        call(running.address, "GET", "/me", &[("X-Stamp", stamp), ("X-Tenant", tenant)], b"");
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stderr
    };
    ask("1763822000123456789", "a");
    let again = ask("1763822999123456789", "a");
    assert!(again.contains("1 entry, unchanged"), "{again}");
    let other = ask("1763822999123456789", "b");
    assert!(other.contains("2 entries, written"), "{other}");
}

#[test]
fn a_user_who_logs_in_at_the_upstream_gets_no_recorded_answer_of_another_user() {
    // The tenant has a token endpoint, which is asked in any case.
    for (login, contract) in [("/login", &["--contract", "none"][..]), ("/oauth/token", &[])] {
        let (workspace, vendor) = (Workspace::new(), Vendor::start());
        let upstream = format!("http://{}", vendor.address);
        let start = |words: &[&str], more: &[&str]| {
            let all = [words, more, contract, &["--listen", "127.0.0.1:0"]].concat();
            Running::start(workspace.path(), all)
        };
        let recording = start(&["record", "--out", "fx"], &["--upstream", &upstream]);
        for user in ["ann", "bob"] {
            me_after(recording.address, login, user);
        }
        recording.finish();

        *vendor.version.lock().unwrap() = 2;
        let replay = start(&["replay", "fx"], &["--record-missing", "--force", "--upstream", &upstream]);
        let users = ["carl", "bob", "ann", "carl"];
        let answers: Vec<String> = users.iter().map(|user| me_after(replay.address, login, user)).collect();
        assert_eq!(answers, expected(&[("carl", 2), ("bob", 1), ("ann", 1), ("carl", 2)]), "{login}");
        if login == "/oauth/token" {
            // Other tokens of theirs.
            for user in ["ann", "bob", "ann"] {
                assert_eq!(me_after(replay.address, login, user), expected(&[(user, 1)])[0]);
            }
        }
        replay.finish();

        let running = start(&["replay", "fx"], &[]);
        let answers: Vec<String> =
            ["bob", "carl", "ann"].iter().map(|user| me_after(running.address, login, user)).collect();
        assert_eq!(answers, expected(&[("bob", 1), ("carl", 2), ("ann", 1)]), "{login}");
        running.finish();
    }
}

#[test]
fn repeated_answers_that_are_recorded_again_keep_their_places() {
    let again = |old: &[u16], new: &[u16]| {
        let workspace = Workspace::new();
        let tenant = wire::Origin::start();
        let upstream = format!("http://{}", tenant.address);
        for statuses in [old, new] {
            let record = ["record", "--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none"];
            let running =
                Running::start(workspace.path(), record.iter().chain(&["--append", "--keep", "all", "--out", "fx"]));
            for status in statuses {
                tenant.will_answer(format!("HTTP/1.1 {status} Oh\r\nContent-Length: 0\r\n\r\n"));
                call(running.address, "POST", "/pay", &[], b"1");
            }
            assert_eq!(running.finish().status, 0);
        }
        let replay = ["replay", "fx", "--contract", "none", "--listen", "127.0.0.1:0"];
        let running = Running::start(workspace.path(), replay);
        let answers: Vec<u16> =
            (0..old.len().max(new.len())).map(|_| call(running.address, "POST", "/pay", &[], b"1").status()).collect();
        assert_eq!(running.finish().status, 0);
        answers
    };
    assert_eq!(again(&[503, 200], &[503, 200]), [503, 200]);
    assert_eq!(again(&[503, 503], &[503, 200]), [503, 200]);
    assert_eq!(again(&[503, 200], &[200, 201]), [200, 201]);
    assert_eq!(again(&[200, 200], &[503, 201, 202]), [200, 201, 202]);
}

#[test]
fn an_answer_that_echoes_an_id_drawn_for_its_request_is_equal_to_one_that_echoes_another() {
    let workspace = Workspace::new();
    let tenant = wire::Origin::start();
    let upstream = format!("http://{}", tenant.address);
    let rpc = |id: &str, result: u8| {
        let record = ["record", "--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none"];
        let echo = ["--append", "--out", "fx", "--echo", "pointer:/id", "--echo", "header:x-correlation-id"];
        let running = Running::start(workspace.path(), record.iter().chain(&echo));
        let answer = format!(r#"{{"id":"{id}","result":{result}}}"#);
        let head = format!("Content-Type: application/json\r\nX-Correlation-Id: {id}");
        tenant.will_answer(format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()));
        let fields = [("Content-Type", "application/json"), ("X-Correlation-Id", id)];
        let body = format!(r#"{{"method":"sum","id":"{id}"}}"#);
        assert_eq!(call(running.address, "POST", "/rpc", &fields, body.as_bytes()).status(), 200);
        running.finish().stderr
    };
    rpc("0b5f9f0e-6c0f-4f0c-9a57-6c1d7a9e1b11", 4);
    let before = workspace.read("fx/fx.har");
    let again = rpc("7d1c2b3a-9e8f-4a6b-8c7d-0e1f2a3b4c5d", 4);
    assert!(again.contains("1 entry, unchanged"), "{again}");
    assert_eq!(workspace.read("fx/fx.har"), before);
    let changed = rpc("f3a1d9c4-2b7e-4d5f-a6c8-1e0b9d8c7f66", 5);
    assert!(changed.contains("old entries replaced: 1"), "{changed}");
}

#[test]
fn a_fixture_in_which_git_left_a_conflict_is_refused_before_anything_is_recorded() {
    let workspace = Workspace::new();
    let text = "{\"log\":{\"version\":\"1.2\",\"entries\":[\n<<<<<<< ours\n=======\n>>>>>>> theirs\n]}}\n";
    fs::write(workspace.path().join("fx.har"), text).unwrap();
    let record = ["record", "--upstream", "sandbox", "--out", "fx.har"];
    for how in [&["--append"][..], &["--replace", "GET /x"]] {
        let ran = workspace.run(&[&record, how, &["--", "touch", "ran"]].concat());
        let refused =
            ran.stderr.starts_with("contrail: `fx.har`, line 2: git left a merge conflict there; keep one side");
        assert!(ran.status == 2 && refused, "{how:?}: {}", ran.stderr);
        assert!(!workspace.has("ran") && !workspace.has("fx.har.journal"));
        assert_eq!(workspace.read("fx.har"), text);
    }
}
