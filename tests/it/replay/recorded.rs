//! What contrail recorded answers as the tenant did, with the tenant gone.

use std::{collections::HashMap, fs, net::SocketAddr, path::Path, time::SystemTime};

use crate::support::{
    command::{Ran, contrail},
    golden::{assert_line, assert_output},
    process::Running,
    tenant::Live,
    wire::{self, Message, Origin, call},
};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_Default000000000000000";
const GROUPS: &str = "/api/v2/connections/con_Directory/directory-provisioning/synchronized-groups";
const EVENT: &str = "/api/v2/event-streams/est_Orders0000000000000000/redeliver/evt_EndpointIsBack00000000";
const CREDENTIAL: &str = "/api/v2/verifiable-credentials/verification/templates/vct_DrivingLicence00000000";
const ACTION: &str = "/api/v2/actions/actions/act_Enrich/test";

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// What the client of these tests asks for, in order: client, method, target, media type, body.
const SCRIPT: &[(&str, &str, &str, &str, &str)] = &[
    ("sandbox-full", "GET", POLICY, "", ""),
    ("sandbox-narrow", "GET", POLICY, "", ""),
    ("sandbox-full", "GET", "/api/v2/rate-limit-policies/rlp_None", "", ""),
    ("", "GET", POLICY, "", ""),
    ("sandbox-full", "GET", "/api/v2/connection-profiles/templates", "", ""),
    ("sandbox-full", "GET", GROUPS, "", ""),
    ("sandbox-full", "POST", EVENT, "", ""),
    ("sandbox-full", "PATCH", CREDENTIAL, JSON, r#"{"name": "first", "version": 1.0}"#),
    ("sandbox-full", "PATCH", CREDENTIAL, FORM, "name=second+name"),
    ("sandbox-full", "PATCH", CREDENTIAL, JSON, r#"{"name": "first", "version": 1}"#),
    ("sandbox-full", "POST", ACTION, JSON, r#"{"payload":{"password":"hunter-0815-hunter","amount":1e2}}"#),
    ("sandbox-full", "POST", ACTION, JSON, r#"{"payload":{"password":"hunter-4711-hunter","amount":7}}"#),
];

/// A client that gets a token per name once and plays the script.
struct Client<'a> {
    to: SocketAddr,
    secret: &'a dyn Fn(&str) -> String,
    tokens: HashMap<&'static str, String>,
}

impl<'a> Client<'a> {
    fn new(to: SocketAddr, secret: &'a dyn Fn(&str) -> String) -> Self {
        Self { to, secret, tokens: HashMap::new() }
    }

    fn token(&mut self, client: &'static str) -> String {
        if !self.tokens.contains_key(client) {
            let secret = (self.secret)(client);
            let form = format!(
                "grant_type=client_credentials&client_id={client}&client_secret={secret}&audience=%2Fapi%2Fv2%2F"
            );
            let answer = wire::call(self.to, "POST", "/oauth/token/", &[("Content-Type", FORM)], form.as_bytes());
            assert_eq!(answer.status(), 200, "{answer:?}");
            self.tokens.insert(client, answer.json()["access_token"].as_str().unwrap().to_owned());
        }
        self.tokens[client].clone()
    }

    fn play(&mut self) -> Vec<Message> {
        SCRIPT
            .iter()
            .map(|(client, method, target, media_type, body)| {
                let bearer = if client.is_empty() { String::new() } else { format!("Bearer {}", self.token(client)) };
                let mut headers = Vec::new();
                if !bearer.is_empty() {
                    headers.push(("Authorization", bearer.as_str()));
                }
                if !media_type.is_empty() {
                    headers.push(("Content-Type", media_type));
                }
                wire::call(self.to, method, target, &headers, body.as_bytes())
            })
            .collect()
    }
}

/// Records the script against a sandbox tenant; what the client saw.
fn record(folder: &Path, out: &str) -> Vec<Message> {
    let tenant = Live::start(&[]);
    let upstream = format!("http://{}", tenant.address);
    let record = Running::start(folder, ["record", "--upstream", &upstream, "--out", out, "--listen", "127.0.0.1:0"]);
    let seen = Client::new(record.address, &|client| tenant.secret(client).to_owned()).play();
    let ran = record.finish();
    assert_line(&ran.stderr, "proof: replayed against itself, verified, scanned for secrets: good");
    seen
}

fn gist(message: &Message) -> (u16, Option<&str>, String) {
    let text = String::from_utf8(message.body.clone()).unwrap();
    (message.status(), message.header("content-type"), text)
}

#[test]
fn a_recording_in_either_layout_answers_as_the_tenant_did_with_the_tenant_gone() {
    let folder = tempfile::tempdir().unwrap();
    for out in ["fixture", "fixture.har"] {
        let recorded = record(folder.path(), out);
        let replay = Running::start(folder.path(), ["replay", out, "--listen", "127.0.0.1:0"]);
        let replayed = Client::new(replay.address, &|_| "no secret in CI".to_owned()).play();
        let ran = replay.finish();
        for (at, (live, again)) in recorded.iter().zip(&replayed).enumerate() {
            let (client, method, target, ..) = SCRIPT[at];
            let (mut live, again) = (gist(live), gist(again));
            if target == ACTION {
                // The secret that the action gave back is a label now.
                assert!(!again.2.contains("hunter"), "{}", again.2);
                live.2 = again.2.clone();
            }
            assert_eq!(again, live, "{client} {method} {target}: {}", ran.stderr);
        }
        assert_output(&format!("replay/recorded/a_recording_in_either_layout-{out}"), &ran);
    }
}

#[test]
fn each_caller_gets_its_own_answer_to_the_same_request() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "fixture");
    let replay = Running::start(folder.path(), ["replay", "fixture", "--listen", "127.0.0.1:0"]);
    let secret = |_: &str| "any".to_owned();
    let mut client = Client::new(replay.address, &secret);
    for (name, status) in [("sandbox-narrow", 403), ("sandbox-full", 200), ("sandbox-narrow", 403)] {
        let bearer = format!("Bearer {}", client.token(name));
        let answer = wire::call(replay.address, "GET", POLICY, &[("Authorization", &bearer)], b"");
        assert_eq!(answer.status(), status, "{name}");
    }
    assert_eq!(wire::call(replay.address, "GET", POLICY, &[], b"").status(), 401);
}

#[test]
fn a_journal_can_be_replayed_before_it_is_folded() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Live::start(&[]);
    let upstream = format!("http://{}", tenant.address);
    let arguments = ["record", "--upstream", &upstream, "--out", "fixture", "--listen", "127.0.0.1:0"];
    let record = Running::start(folder.path(), arguments);
    let recorded = Client::new(record.address, &|client| tenant.secret(client).to_owned()).play();
    let replay = Running::start(folder.path(), ["replay", "fixture.journal", "--listen", "127.0.0.1:0"]);
    let replayed = Client::new(replay.address, &|_| "any".to_owned()).play();
    let statuses = |all: &[Message]| all.iter().map(Message::status).collect::<Vec<_>>();
    assert_eq!(statuses(&replayed), statuses(&recorded));
    replay.finish();
    record.finish();
}

#[test]
fn a_missing_request_goes_to_the_tenant_is_added_to_the_fixture_and_replayed_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "fixture");
    let more = "/api/v2/rate-limit-policies/rlp_BlockOneClient00000000";
    let get = |to: SocketAddr, token: &str, target: &str| {
        wire::call(to, "GET", target, &[("Authorization", &format!("Bearer {token}"))], b"")
    };

    let tenant = Live::start(&[]);
    let upstream = format!("http://{}", tenant.address);
    let arguments =
        ["replay", "fixture", "--record-missing", "--force", "--upstream", &upstream, "--listen", "127.0.0.1:0"];
    let replay = Running::start(folder.path(), arguments);
    let secret = |client: &str| tenant.secret(client).to_owned();
    let token = Client::new(replay.address, &secret).token("sandbox-full");
    assert_eq!(get(replay.address, &token, POLICY).status(), 200);
    let answered = get(replay.address, &token, more);
    assert_eq!(answered.status(), 200);
    let ran = replay.finish();
    assert_eq!(ran.status, 0, "a request that the tenant answered is no miss: {}", ran.stderr);
    assert_output(
        "replay/recorded/a_missing_request_goes_to_the_tenant_is_added_to_the_fixture_and_replayed_from_then_on",
        &ran,
    );
    assert!(!folder.path().join("fixture.journal").exists());
    drop(tenant);

    let har: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("fixture/fixture.har")).unwrap()).unwrap();
    let added = har["log"]["entries"].as_array().unwrap().len();
    assert_eq!(added, SCRIPT.len() + 2 + 1, "the script, two token requests, and the one that was missing");
    let replay = Running::start(folder.path(), ["replay", "fixture", "--listen", "127.0.0.1:0"]);
    let token = Client::new(replay.address, &|_| "any".to_owned()).token("sandbox-full");
    assert_eq!(gist(&get(replay.address, &token, more)), gist(&answered));
    assert_eq!(get(replay.address, &token, "/api/v2/rate-limit-policies/rlp_Never").status(), 421);
    assert_eq!(replay.finish().status, 3);
}

#[test]
fn a_fixture_stays_as_it_was_where_what_was_missing_would_bring_a_secret_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Origin::start();
    let upstream = format!("http://{}", tenant.address);
    let options = ["--upstream", &upstream, "--listen", "127.0.0.1:0"];
    let answer = || tenant.will_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned());
    let recording = Running::start(folder.path(), [&["record", "--out", "rec.har"], &options[..]].concat());
    answer();
    assert_eq!(call(recording.address, "GET", "/old", &[], b"").status(), 200);
    recording.finish();
    let before = fs::read(folder.path().join("rec.har")).unwrap();

    let arguments = [&["replay", "rec.har", "--record-missing", "--force"], &options[..]].concat();
    let replay = Running::start(folder.path(), arguments);
    answer();
    // Names of header fields are kept.
    let fields = [("Authorization", "Bearer zq0a7580k3b9wx2"), ("zq0a7580k3b9wx2", "1")];
    assert_eq!(call(replay.address, "GET", "/new", &fields, b"").status(), 200);
    let ran = replay.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("\nPROOF FAILED: the fixture would hold a secret, and was not written:\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read(folder.path().join("rec.har")).unwrap(), before);
    assert!(folder.path().join("rec.har.failed.journal").exists());
}

#[test]
fn what_is_recorded_of_an_intercepted_host_is_never_sent_to_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (tenant, other) = (Origin::start(), Origin::start());
    let (upstream, host) = (format!("http://{}", tenant.address), other.address.to_string());
    let options = ["--upstream", &upstream, "--intercept", &host, "--forward-listen", "127.0.0.1:0", "--ca-dir", "ca"];
    let ok = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let send = |running: &Running, method: &str, target: &str| {
        let message = call(running.address, method, &format!("http://{host}{target}"), &[], b"");
        (message.status(), String::from_utf8(message.body).unwrap())
    };
    let recording = Running::start(folder.path(), [&["record", "--out", "rec.har"], &options[..]].concat());
    other.will_answer(ok("sent"));
    assert_eq!(send(&recording, "POST", "/sms"), (200, "sent".to_owned()));
    recording.finish();

    let arguments = [&["replay", "rec.har", "--record-missing", "--force"], &options[..]].concat();
    for new in [true, false] {
        let replay = Running::start(folder.path(), &arguments);
        if new {
            other.will_answer(ok("new"));
        }
        assert_eq!(send(&replay, "POST", "/sms"), (200, "sent".to_owned()));
        assert_eq!(send(&replay, "GET", "/new"), (200, "new".to_owned()));
        let ran = replay.finish();
        assert_eq!(ran.stderr.contains("not recorded yet; answered by the upstream"), new, "{}", ran.stderr);
        let har = fs::read_to_string(folder.path().join("rec.har")).unwrap();
        let har: serde_json::Value = serde_json::from_str(&har).unwrap();
        assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_recorded_call_that_takes_effect_is_never_sent_again_though_it_comes_more_often() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Origin::start();
    let upstream = format!("http://{}", tenant.address);
    let ok = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let options = ["--upstream", &upstream, "--listen", "127.0.0.1:0"];
    let recording = Running::start(folder.path(), [&["record", "--out", "rec.har"], &options[..]].concat());
    tenant.will_answer(ok("sent"));
    assert_eq!(call(recording.address, "POST", "/sms", &[], b"to=bob").status(), 200);
    recording.finish();

    tenant.will_answer(ok("sent twice"));
    let arguments = [&["replay", "rec.har", "--record-missing", "--force"], &options[..]].concat();
    for (more, status, code) in [(&[][..], 421, 3), (&["--exhausted", "repeat"], 200, 0)] {
        let replay = Running::start(folder.path(), [&arguments[..], more].concat());
        let statuses = [(); 2].map(|()| call(replay.address, "POST", "/sms", &[], b"to=bob").status());
        assert_eq!(statuses, [200, status], "{more:?}");
        let ran = replay.finish();
        assert_eq!(ran.status, code, "{}", ran.stderr);
    }
    assert_eq!(call(tenant.address, "GET", "/", &[], b"").body, b"sent twice", "the tenant was not asked");
}

#[test]
fn what_replay_served_in_place_of_a_secret_is_never_sent_to_the_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Origin::start();
    let upstream = format!("http://{}", tenant.address);
    let ok = |body: &str| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let options = ["--upstream", &upstream, "--listen", "127.0.0.1:0"];
    let recording = Running::start(folder.path(), [&["record", "--out", "rec.har"], &options[..]].concat());
    tenant.will_answer(ok(r#"{"api_key":"3f9c0a7b51d2e8f64c1d"}"#));
    assert_eq!(call(recording.address, "POST", "/login", &[], b"").status(), 200);
    recording.finish();

    let replay =
        Running::start(folder.path(), [&["replay", "rec.har", "--record-missing", "--force"], &options[..]].concat());
    let key = call(replay.address, "POST", "/login", &[], b"").json()["api_key"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {key}");
    let cookie = format!("lang=en; sid={key}");
    let target = format!("/file?sig={}", key.replace('!', "%21"));
    let body = format!(r#"{{"key":"{key}"}}"#);
    for (method, target, fields, body, place) in [
        ("GET", "/new", &[("Authorization", &*bearer)][..], "", "field `authorization`"),
        ("GET", "/new", &[("Cookie", &cookie)], "", "field `cookie`"),
        ("GET", &target, &[], "", "target"),
        ("PUT", "/new", &[("Content-Type", JSON)], &body, "body"),
    ] {
        tenant.will_answer("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
        let missed = call(replay.address, method, target, fields, body.as_bytes());
        assert_eq!(missed.status(), 421, "{place}");
        let detail = missed.json()["detail"].to_string();
        assert!(
            detail.contains(&format!("is not sent to the upstream: in its {place} stands what replay served")),
            "{detail}"
        );
        assert_eq!(call(tenant.address, "GET", "/", &[], b"").status(), 401, "the tenant was not asked");
    }
    tenant.will_answer(ok(r#"{"new":true}"#));
    assert_eq!(call(replay.address, "GET", "/new", &[], b"").status(), 200, "without a label it is");
    let ran = replay.finish();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    let har = fs::read_to_string(folder.path().join("rec.har")).unwrap();
    let har: serde_json::Value = serde_json::from_str(&har).unwrap();
    assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn a_token_that_replay_made_is_never_sent_to_the_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Origin::start();
    let upstream = format!("http://{}", tenant.address);
    let options = ["--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none"];
    let recording = Running::start(folder.path(), [&["record", "--out", "rec.har"], &options[..]].concat());
    // {"alg":"RS256"} and {"azp":"app","sub":"alice"}
    let body = r#"{"token":"eyJhbGciOiJSUzI1NiJ9.eyJhenAiOiJhcHAiLCJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"}"#;
    let length = body.len();
    tenant.will_answer(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    ));
    tenant.will_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nme");
    let login = |to| format!("Bearer {}", call(to, "POST", "/login", &[], b"").json()["token"].as_str().unwrap());
    let bearer = login(recording.address);
    assert_eq!(call(recording.address, "GET", "/me", &[("Authorization", &bearer)], b"").status(), 200);
    assert_eq!(recording.finish().status, 0);
    let replay =
        Running::start(folder.path(), [&["replay", "rec.har", "--record-missing", "--force"], &options[..]].concat());
    let fresh = login(replay.address);
    assert!(fresh != bearer && fresh.matches('.').count() == 2, "{fresh}");
    assert_eq!(call(replay.address, "GET", "/me", &[("Authorization", &fresh)], b"").body, b"me");
    tenant.will_answer("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(call(replay.address, "GET", "/new", &[("Authorization", &fresh)], b"").status(), 421);
    assert_eq!(call(tenant.address, "GET", "/", &[], b"").status(), 401, "the tenant was not asked");
    replay.finish();
}

#[test]
fn a_cookie_that_the_upstream_set_tells_callers_apart_where_no_other_credential_does() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Origin::start();
    let upstream = format!("http://{}", tenant.address);
    let options = ["--upstream", &upstream, "--listen", "127.0.0.1:0", "--contract", "none"];
    let login = |sid: &str| {
        tenant.will_answer(format!("HTTP/1.1 303 See Other\r\nSet-Cookie: sid={sid}\r\nContent-Length: 0\r\n\r\n"));
    };
    let answer = |body: &str| tenant.will_answer(format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{body}"));
    let me = |running: &Running, fields: &[(&str, &str)]| {
        String::from_utf8(call(running.address, "GET", "/me", fields, b"").body).unwrap()
    };
    let key = ("X-Api-Key", "5b1f0c9a77de42e8");
    let recording = Running::start(folder.path(), [&["record", "--out", "rec.har"], &options[..]].concat());
    login("9f3c0a7b51d2e8f64c1d");
    answer("ann");
    call(recording.address, "POST", "/login", &[], b"ann");
    assert_eq!(me(&recording, &[("Cookie", "sid=9f3c0a7b51d2e8f64c1d"), key]), "ann");
    assert_eq!(recording.finish().status, 0);

    let replay =
        Running::start(folder.path(), [&["replay", "rec.har", "--record-missing", "--force"], &options[..]].concat());
    login("77e0d4b2c9a1f3385d60");
    call(replay.address, "POST", "/login", &[], b"bob");
    let sid = ("Cookie", "sid=77e0d4b2c9a1f3385d60");
    assert_eq!(me(&replay, &[sid, key]), "ann", "the key says who calls");
    answer("bob");
    assert_eq!(me(&replay, &[sid]), "bob");
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn recording_what_is_missing_can_begin_with_nothing_and_leaves_nothing_without_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Live::start(&[]);
    let upstream = format!("http://{}", tenant.address);
    let arguments =
        ["replay", "new.har", "--record-missing", "--force", "--upstream", &upstream, "--listen", "127.0.0.1:0"];
    let idle = Running::start(folder.path(), arguments).finish();
    assert_eq!(idle.status, 2, "{}", idle.stderr);
    assert_output(
        "replay/recorded/recording_what_is_missing_can_begin_with_nothing_and_leaves_nothing_without_a_request",
        &idle,
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let replay = Running::start(folder.path(), arguments);
    let secret = |client: &str| tenant.secret(client).to_owned();
    let statuses: Vec<u16> = Client::new(replay.address, &secret).play().iter().map(Message::status).collect();
    replay.finish();
    let replay = Running::start(folder.path(), ["replay", "new.har", "--listen", "127.0.0.1:0"]);
    let replayed = Client::new(replay.address, &|_| "any".to_owned()).play();
    assert_eq!(replayed.iter().map(Message::status).collect::<Vec<_>>(), statuses);
}

#[test]
fn ci_never_reaches_the_network_unless_it_is_forced_to() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "fixture.har");
    let with_ci = |value: &str, arguments: &[&str]| -> Ran {
        contrail().current_dir(folder.path()).env("CI", value).args(arguments).output().unwrap().into()
    };
    let refused = |arguments: &[&str]| with_ci("true", arguments);
    let missing =
        ["replay", "fixture.har", "--listen", "127.0.0.1:0", "--record-missing", "--upstream", "http://127.0.0.1:1"];
    let ran = refused(&missing);
    let said = |value: &str| {
        format!("contrail: --record-missing reaches the network, and this is CI (CI={value}); --force allows it\n")
    };
    assert_eq!((ran.status, ran.stderr), (2, said("true")));
    let forced = refused(&[&missing[..], &["--force", "--allow", "unused", "--", "true"]].concat());
    assert_eq!(forced.status, 0, "{}", forced.stderr);
    for value in ["1", "True", "yes", "", "0", "False"] {
        let is_ci = !["", "0", "False"].contains(&value);
        let ran = with_ci(value, &[&missing[..], &["--allow", "unused", "--", "true"]].concat());
        if is_ci {
            assert_eq!((ran.status, ran.stderr), (2, said(value)));
        } else {
            assert_output("replay/recorded/record_missing_without_a_request", &ran);
        }
    }

    // An upstream in contrail.toml is for other commands.
    fs::write(folder.path().join("contrail.toml"), "upstream = \"http://127.0.0.1:1\"\n").unwrap();
    let replay = Running::start(folder.path(), ["replay", "fixture.har", "--listen", "127.0.0.1:0"]);
    assert_eq!(wire::call(replay.address, "GET", "/api/v2/nothing", &[], b"").status(), 421);
    assert_eq!(replay.finish().status, 3);
}

#[test]
fn a_replayed_429_names_a_time_in_the_future_and_a_rate_limit_of_the_moment_stays_out_of_a_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = Origin::start();
    let answer = |status: &str, extra: &str| {
        tenant.will_answer(format!(
            "HTTP/1.1 {status}\r\nDate: Sat, 22 Nov 2025 14:33:20 GMT\r\nX-RateLimit-Limit: 10\r\nX-RateLimit-Remaining: 0\r\n\
             X-RateLimit-Reset: 1763822030\r\n{extra}Content-Length: 0\r\n\r\n"
        ));
    };
    answer("200 OK", "");
    answer("429 Too Many Requests", "Retry-After: Sat, 22 Nov 2025 14:33:50 GMT\r\n");
    let upstream = format!("http://{}", tenant.address);
    let options = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", "x.har", "--keep"];
    let recording = Running::start(folder.path(), options);
    for path in ["/busy/ok", "/busy/429"] {
        call(recording.address, "GET", path, &[("Idempotency-Key", "k-1"), ("X-Client-Request-Id", "r-1")], b"");
    }
    recording.finish();
    let text = fs::read_to_string(folder.path().join("x.har")).unwrap();
    assert_eq!(text.matches("x-ratelimit-remaining").count(), 1, "{text}");
    assert_eq!(text.matches("x-ratelimit-limit").count(), 2, "{text}");
    assert!(!text.contains("idempotency-key") && !text.contains("x-client-request-id"), "{text}");

    let replay = Running::start(folder.path(), ["replay", "x.har", "--listen", "127.0.0.1:0"]);
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let before = now();
    let busy = call(replay.address, "GET", "/busy/429", &[], b"");
    assert_eq!(busy.status(), 429);
    let reset: u64 = busy.header("x-ratelimit-reset").unwrap().parse().unwrap();
    assert!((before + 30..=now() + 31).contains(&reset), "{reset} at {before}");
    let date = busy.header("retry-after").unwrap();
    assert!(date.ends_with(" GMT") && !date.contains("2100") && !date.contains("2025"), "{date}");
    assert_eq!(call(replay.address, "GET", "/busy/ok", &[], b"").header("x-ratelimit-reset"), None);
}
