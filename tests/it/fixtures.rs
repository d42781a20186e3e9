//! `fixtures/` of the repository: recordings that contrail makes of its own sandbox. Recording them again changes no byte.
//!
//! `UPDATE_FIXTURES=1 cargo test --test it fixtures` (or `fixtures/record`) rewrites them; review the diff as code.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::{
    command::{contrail, run},
    process::Running,
    wire::{Message, call, request, send},
};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// A sandbox of its own, its clients, and a recording proxy in front of it.
struct Session {
    proxy: Running,
    secrets: BTreeMap<String, String>,
    ids: Value,
    sandbox: Running,
}

impl Session {
    /// Starts both; `out` and `options` go to `contrail record`.
    fn start(folder: &Path, out: &str, options: &[&str]) -> Self {
        // Whatever belongs to the run has to come from the seed: the reset of a rate limit, and when its window ends.
        let mut seed: Value = serde_json::from_str(&run(["sandbox", "--print-seed"]).stdout).unwrap();
        seed["rate_limit_reset"] = "seed".into();
        for client in seed["clients"].as_array_mut().unwrap() {
            let id = client["id"].as_str().unwrap().to_owned();
            client["secret"] = format!("{id}-s3cr3t-0123456789").into();
            if let Some(limit) = client.get_mut("rate_limit") {
                limit["seconds"] = 86_400.into();
            }
        }
        let secrets = seed["clients"]
            .as_array()
            .unwrap()
            .iter()
            .map(|client| (client["id"].as_str().unwrap().to_owned(), client["secret"].as_str().unwrap().to_owned()))
            .collect();
        fs::write(folder.join("seed.json"), seed.to_string()).unwrap();
        let sandbox = Running::start(folder, ["sandbox", "--listen", "127.0.0.1:0", "--seed", "seed.json"]);
        let upstream = format!("http://{}", sandbox.address);
        let mut arguments = vec!["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", out];
        arguments.extend(options);
        let proxy = Running::start(folder, arguments);
        Self { proxy, secrets, ids: seed, sandbox }
    }

    fn call(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Message {
        call(self.proxy.address, method, target, headers, body.as_bytes())
    }

    /// Asks for a token as this client; gives the header's value.
    fn token(&self, client: &str) -> String {
        let body = format!(
            "grant_type=client_credentials&client_id={client}&client_secret={}&audience=%2Fapi%2Fv2%2F",
            self.secrets[client]
        );
        let answer = self.call("POST", "/oauth/token/", &[FORM], &body);
        assert_eq!(answer.status(), 200, "{answer:?}");
        format!("Bearer {}", answer.json()["access_token"].as_str().unwrap())
    }

    fn get(&self, target: &str, token: &str) -> Message {
        self.call("GET", target, &[("Authorization", token)], "")
    }

    fn id(&self, pointer: &str) -> &str {
        self.ids.pointer(pointer).and_then(Value::as_str).unwrap()
    }

    fn policy(&self, index: usize) -> String {
        format!("/api/v2/rate-limit-policies/{}", self.id(&format!("/rate_limit_policies/{index}/id")))
    }

    fn groups(&self, connection: usize) -> String {
        let id = self.id(&format!("/connections/{connection}/id"));
        format!("/api/v2/connections/{id}/directory-provisioning/synchronized-groups")
    }

    fn template(&self) -> String {
        let id = self.id("/verifiable_credential_templates/0/id");
        format!("/api/v2/verifiable-credentials/verification/templates/{id}")
    }

    fn action(&self) -> String {
        format!("/api/v2/actions/actions/{}/test", self.id("/actions/0/id"))
    }

    fn redelivery(&self, event: usize) -> String {
        let stream = self.id("/event_streams/0/id");
        let event = self.id(&format!("/event_streams/0/failed_events/{event}/id"));
        format!("/api/v2/event-streams/{stream}/redeliver/{event}")
    }
}

/// Every operation with every success that the sandbox knows.
fn operations(session: &Session) {
    let token = session.token("sandbox-full");
    for index in 0..session.ids["rate_limit_policies"].as_array().unwrap().len() {
        assert_eq!(session.get(&session.policy(index), &token).status(), 200);
    }
    assert_eq!(session.get("/api/v2/connection-profiles/templates", &token).status(), 200);
    let mut target = format!("{}?take=100", session.groups(0));
    let mut pages = 0;
    loop {
        let page = session.get(&target, &token);
        assert_eq!(page.status(), 200, "{page:?}");
        pages += 1;
        match page.json()["next"].as_str() {
            Some(next) if !next.is_empty() => {
                let next = next.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
                target = format!("{}?take=100&from={next}", session.groups(0));
            }
            _ => break,
        }
    }
    assert_eq!(pages, 3);
    assert_eq!(session.get(&session.groups(1), &token).status(), 200);
    assert_eq!(session.get(&session.groups(2), &token).status(), 200);
    let bearer = ("Authorization", token.as_str());
    assert_eq!(session.call("POST", &session.redelivery(1), &[bearer], "").status(), 202);
    // A conforming request whose numbers and escapes must survive as they are.
    let change = r#"{"name":"Driving licence \u2014 EU","version":1.0}"#;
    assert_eq!(session.call("PATCH", &session.template(), &[bearer, JSON], change).status(), 200);
    let form = "name=Licence+and+more&well_known_trusted_issuers=aamva&version=7";
    assert_eq!(session.call("PATCH", &session.template(), &[bearer, FORM], form).status(), 200);
    assert_eq!(session.call("PATCH", &session.template(), &[bearer, JSON], "{}").status(), 200);
    let payload =
        r#"{"payload":{"user":"u-1","amount":12345678901234567890.10,"nested":{"list":[1,2,{"deep":null}]}}}"#;
    assert_eq!(session.call("POST", &session.action(), &[bearer, JSON], payload).status(), 200);
    let form = "payload=%7B%22user%22%3A%22u-2%22%7D";
    assert_eq!(session.call("POST", &session.action(), &[bearer, FORM], form).status(), 200);
}

/// Every documented error, and the refusals of the other operations.
fn errors(session: &Session) {
    let (full, narrow) = (session.token("sandbox-full"), session.token("sandbox-narrow"));
    let (expired, local) = (session.token("sandbox-expired"), session.token("sandbox-local"));
    let policy = session.policy(0);
    assert_eq!(session.call("GET", &policy, &[], "").status(), 401);
    assert_eq!(session.get(&policy, "Bearer this-is-no-jwt").status(), 401);
    assert_eq!(session.get(&policy, "Basic dTpw").status(), 401);
    assert_eq!(session.get(&policy, &expired).status(), 401);
    assert_eq!(session.get(&policy, &local).status(), 401);
    assert_eq!(session.get(&policy, &narrow).status(), 403);
    assert_eq!(session.get("/api/v2/rate-limit-policies/rlp_NobodyMadeThis", &full).status(), 404);
    assert_eq!(session.get("/api/v2/rate-limit-policies/rlp_27CharactersAreTooMany0", &full).status(), 404);
    let throttled = session.token("sandbox-throttled");
    let mut statuses: Vec<u16> = (0..6).map(|_| session.get(&policy, &throttled).status()).collect();
    assert_eq!(statuses.pop(), Some(429));
    let groups = session.groups(0);
    assert_eq!(session.get(&format!("{groups}?take=101"), &full).status(), 400);
    assert_eq!(session.get(&format!("{groups}?take=0"), &full).status(), 400);
    assert_eq!(session.get(&format!("{groups}?take=ten"), &full).status(), 400);
    assert_eq!(session.get(&format!("{groups}?take=5&take=6"), &full).status(), 400);
    let bearer = ("Authorization", full.as_str());
    assert_eq!(session.call("POST", "/api/v2/event-streams/short/redeliver/short", &[bearer], "").status(), 400);
    let template = session.template();
    for body in [r#"{"name":""}"#, r#"{"dialect":"complex/2.0"}"#, r#"{"version":"7"}"#, r#"{"name":"cut"#] {
        assert_eq!(session.call("PATCH", &template, &[bearer, JSON], body).status(), 400, "{body}");
    }
    assert_eq!(session.call("PATCH", &template, &[bearer, ("Content-Type", "text/plain")], "name=x").status(), 415);
    assert_eq!(session.call("POST", &session.action(), &[bearer, JSON], r#"{"payload":[]}"#).status(), 400);
    let wrong = "grant_type=client_credentials&client_id=sandbox-full&client_secret=wr0ng-s3cr3t-998877&audience=%2Fapi%2Fv2%2F";
    assert_eq!(session.call("POST", "/oauth/token/", &[FORM], wrong).status(), 401);
}

/// What the document does not show: gaps, never violations.
fn gaps(session: &Session) {
    let token = session.token("sandbox-full");
    let bearer = ("Authorization", token.as_str());
    session.get(&format!("{}?q=name", session.groups(1)), &token);
    session.get("/api/v2/users/usr_1", &token);
    session.get(&format!("{}/", session.policy(0)), &token);
    session.call("PATCH", &session.template(), &[bearer, JSON], r#"{"name":"Gap","colour":"blue"}"#);
    session.get(&session.policy(0), &session.token("sandbox-undeclared"));
    // SDKs ask at the path without the slash.
    let body = json!({
        "grant_type": "client_credentials", "client_id": "sandbox-full",
        "client_secret": session.secrets["sandbox-full"], "audience": "/api/v2/", "organization": null,
    });
    let raw = request(session.proxy.address, "POST", "/oauth/token", &[JSON], body.to_string().as_bytes());
    assert_eq!(send(session.proxy.address, "POST", &raw).unwrap().status(), 200);
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// Every file below, by its path.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    if root.is_file() {
        found.insert(PathBuf::new(), fs::read(root).unwrap());
        return found;
    }
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(items) = fs::read_dir(&folder) else { continue };
        for item in items {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for (path, content) in files(from) {
        let target = if path.as_os_str().is_empty() { to.to_path_buf() } else { to.join(path) };
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, content).unwrap();
    }
}

/// Records again over a copy of what the repository holds, and compares every byte.
#[track_caller]
fn records_the_same(name: &str, options: &[&str], status: i32, client: fn(&Session)) {
    let update = std::env::var_os("UPDATE_FIXTURES").is_some_and(|value| value == "1");
    let folder = tempfile::tempdir().unwrap();
    let (held, out) = (repository(name), folder.path().join(name.trim_end_matches('/')));
    if held.exists() {
        copy(&held, &out);
    }
    let mut options = options.to_vec();
    options.push("--overwrite");
    let session = Session::start(folder.path(), name, &options);
    client(&session);
    let Session { proxy, sandbox, .. } = session;
    let ran = proxy.finish();
    assert_eq!(sandbox.finish().status, 0);
    assert_eq!(ran.status, status, "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    if update {
        if held.is_dir() {
            fs::remove_dir_all(&held).unwrap();
        }
        copy(&out, &held);
        return;
    }
    let (held, made) = (files(&held), files(&out));
    assert_eq!(
        held.keys().collect::<Vec<_>>(),
        made.keys().collect::<Vec<_>>(),
        "fixtures/{name}: other files; fixtures/record rewrites them"
    );
    for (path, held) in held {
        let made = &made[&path];
        assert!(
            held == *made,
            "fixtures/{name}{} differs; fixtures/record rewrites it\n--- held\n{}\n--- made\n{}",
            path.display(),
            String::from_utf8_lossy(&held),
            String::from_utf8_lossy(made)
        );
    }
}

#[test]
fn every_operation_records_the_same_bytes_again() {
    records_the_same("operations/", &[], 0, operations);
}

#[test]
fn every_documented_error_records_the_same_bytes_again() {
    records_the_same("errors/", &["--keep", "429"], 1, errors);
}

#[test]
fn every_gap_records_the_same_bytes_again_in_one_file() {
    records_the_same("gaps.har", &[], 0, gaps);
}

#[test]
fn the_fixtures_hold_no_secret_and_pass_their_own_checks() {
    for (name, status) in [("operations", 0), ("errors", 1), ("gaps.har", 0)] {
        let path = repository(name);
        for (file, content) in files(&path) {
            let content = String::from_utf8(content).unwrap();
            for secret in ["s3cr3t", "eyJ"] {
                assert!(!content.contains(secret), "{secret} in fixtures/{name}/{}", file.display());
            }
        }
        let ran = contrail().arg("verify").arg(&path).output().unwrap();
        assert_eq!(ran.status.code(), Some(status), "{}", String::from_utf8_lossy(&ran.stdout));
        let scan = contrail().arg("scan").arg(&path).output().unwrap();
        assert_eq!(scan.status.code(), Some(0), "{}", String::from_utf8_lossy(&scan.stdout));
    }
}
