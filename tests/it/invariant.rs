//! The invariant: live findings equal those of `verify` on the journal, on the folder and on the single file.
//!
//! Every exchange goes through the real proxy to an origin that plays its response: all of `fixtures/cases`, and odd ones
//! beside them: secrets in constrained fields, cut, malformed, compressed and oversized bodies.

use std::{fmt::Write as _, io::Write as _, path::Path};

use serde_json::{Value, json};

use crate::support::{
    command::run_in,
    har::{NOON, POLICY, token},
    process::Running,
    wire::{Origin, request, send},
};

/// One exchange to send and to play.
struct Play {
    name: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    answer: Vec<u8>,
}

fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut raw = format!("HTTP/1.1 {status} Played\r\nConnection: close\r\n");
    for (name, value) in headers {
        write!(raw, "{name}: {value}\r\n").unwrap();
    }
    if status != 204 && !headers.iter().any(|(name, _)| *name == "Content-Length" || *name == "Transfer-Encoding") {
        write!(raw, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    raw.push_str("\r\n");
    let mut raw = raw.into_bytes();
    raw.extend_from_slice(body);
    raw
}

fn json_answer(status: u16, body: &[u8]) -> Vec<u8> {
    answer(status, &[("Content-Type", "application/json")], body)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

impl Play {
    fn new(name: &str, method: &str, target: &str, answer: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            answer,
        }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn bearer(self, scope: &str) -> Self {
        let expires = i64::try_from(now()).unwrap() + 3600;
        self.header("Authorization", &format!("Bearer {}", token(scope, expires)))
    }

    fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", media_type)
    }
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

const POLICY_PATH: &str = "/api/v2/rate-limit-policies/rlp_1";
const TEMPLATE_PATH: &str = "/api/v2/verifiable-credentials/verification/templates/vct_1";
const ACTION_PATH: &str = "/api/v2/actions/actions/act_1/test";
const GROUPS_PATH: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";
const SCOPE: &str = "read:rate_limit_policies";

/// A secret that is recognised by value wherever it comes: it is the client secret of the token request.
const SECRET: &str = "Zq8-planted-client-secret-4711";

fn odd_ones() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    let form = "application/x-www-form-urlencoded";
    let login = format!("grant_type=client_credentials&client_id=svc-1&client_secret={SECRET}&audience=%2Fapi%2Fv2%2F");
    let grant = json!({"access_token": token(SCOPE, NOON), "token_type": "Bearer", "expires_in": 60}).to_string();
    let expired = format!("Bearer {}", token(SCOPE, NOON));
    let mut plays = vec![
        Play::new("a token request", "POST", "/oauth/token/", json_answer(200, grant.as_bytes())).body(form, login),
        Play::new("a policy", "GET", POLICY_PATH, json_answer(200, policy)).bearer(SCOPE),
        Play::new("no token", "GET", POLICY_PATH, json_answer(401, b"{}")),
        Play::new("no token, let in", "GET", POLICY_PATH, json_answer(200, policy)),
        Play::new("a token that is none", "GET", POLICY_PATH, json_answer(401, b"{}"))
            .header("Authorization", &format!("Bearer {SECRET}")),
        Play::new("an expired token", "GET", POLICY_PATH, json_answer(200, policy)).header("Authorization", &expired),
        Play::new("lacking scope", "GET", POLICY_PATH, json_answer(403, b"{}")).bearer("read:users"),
        Play::new("refused although it may", "GET", POLICY_PATH, json_answer(403, b"{}")).bearer(SCOPE),
        Play::new("an undeclared scope", "GET", POLICY_PATH, json_answer(200, policy))
            .bearer("read:rate_limit_policies read:weather"),
        // Secrets where the document constrains: lengths, patterns, formats, types, enums, relations.
        Play::new(
            "a secret as an id of the path",
            "GET",
            &format!("/api/v2/rate-limit-policies/{SECRET}"),
            json_answer(200, policy),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as the id of the answer",
            "GET",
            POLICY_PATH,
            json_answer(200, POLICY.replace("rlp_1", SECRET).as_bytes()),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as a selector",
            "GET",
            POLICY_PATH,
            json_answer(200, POLICY.replace("default", SECRET).as_bytes()),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as an enum",
            "GET",
            POLICY_PATH,
            json_answer(200, POLICY.replace("allow", SECRET).as_bytes()),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as a date",
            "GET",
            POLICY_PATH,
            json_answer(200, POLICY.replace("{\"id\"", &format!("{{\"created_at\":\"{SECRET}\",\"id\"")).as_bytes()),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as a key",
            "GET",
            POLICY_PATH,
            json_answer(200, POLICY.replace("{\"id\"", &format!("{{\"{SECRET}\":1,\"id\"")).as_bytes()),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as a number's place",
            "GET",
            &format!("{GROUPS_PATH}?take={SECRET}"),
            json_answer(200, b"{\"groups\":[]}"),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret as an undocumented parameter",
            "GET",
            &format!("{GROUPS_PATH}?{SECRET}=1"),
            json_answer(200, b"{\"groups\":[]}"),
        )
        .bearer(SCOPE),
        Play::new(
            "a token in the query",
            "GET",
            &format!("{GROUPS_PATH}?access_token=abcdef0123456789"),
            json_answer(200, b"{\"groups\":[]}"),
        )
        .bearer(SCOPE),
        Play::new("a secret against a pattern", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body("application/json", json!({"dialect": SECRET, "well_known_trusted_issuers": SECRET}).to_string()),
        Play::new("a secret that is too long", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body("application/json", json!({"name": SECRET.repeat(12)}).to_string()),
        Play::new("a client secret of 300 characters", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body("application/json", json!({"name": "x", "client_secret": "k".repeat(300)}).to_string()),
        Play::new(
            "a secret that comes back different",
            "PATCH",
            TEMPLATE_PATH,
            json_answer(200, b"{\"id\":\"vct_1\",\"name\":\"other\"}"),
        )
        .bearer(SCOPE)
        .body("application/json", json!({"name": SECRET}).to_string()),
        Play::new(
            "a secret that comes back as it was",
            "PATCH",
            TEMPLATE_PATH,
            json_answer(200, json!({"id": "vct_1", "name": SECRET}).to_string().as_bytes()),
        )
        .bearer(SCOPE)
        .body("application/json", json!({"name": SECRET}).to_string()),
        Play::new(
            "a number as a client secret",
            "POST",
            ACTION_PATH,
            json_answer(200, b"{\"payload\":{\"password\":12345678901234567890}}"),
        )
        .bearer(SCOPE)
        .body("application/json", r#"{"payload":{"password":true,"api_key":1e400,"token":null}}"#),
        Play::new("secrets in a form", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body(form, format!("name={SECRET}&password=hunter2hunter2&version=5.0&version=6")),
        Play::new("a broken form with a secret", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body(form, format!("name=%ZZ{SECRET}&password=hunter2hunter2")),
        // Bodies that are not what they claim.
        Play::new("malformed JSON with a secret", "PATCH", TEMPLATE_PATH, json_answer(400, b"{\"message\": oops"))
            .bearer(SCOPE)
            .body("application/json", format!("{{\"name\": \"{SECRET}\",")),
        Play::new("duplicate keys", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\",\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body("application/json", br#"{"name":"a","name":"b"}"#.to_vec()),
        Play::new("a byte-order mark", "PATCH", TEMPLATE_PATH, json_answer(200, b"\xef\xbb\xbf{}"))
            .bearer(SCOPE)
            .body("application/json", b"\xef\xbb\xbf{\"name\":\"a\"}".to_vec()),
        Play::new("invalid UTF-8", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"name\":\"\xff\"}"))
            .bearer(SCOPE)
            .body("application/json", b"{\"name\":\"\xfe\"}".to_vec()),
        Play::new("a lone surrogate", "PATCH", TEMPLATE_PATH, json_answer(200, br#"{"name":"\ud800"}"#))
            .bearer(SCOPE)
            .body("application/json", br#"{"name":"\udc00"}"#.to_vec()),
        Play::new(
            "nesting beyond every limit",
            "POST",
            ACTION_PATH,
            json_answer(200, format!("{{\"payload\":{}{}}}", "[".repeat(5000), "]".repeat(5000)).as_bytes()),
        )
        .bearer(SCOPE)
        .body("application/json", format!("{{\"payload\":{{\"a\":{}{}}}}}", "[".repeat(5000), "]".repeat(5000))),
        Play::new("a body where none is documented", "GET", POLICY_PATH, json_answer(200, policy))
            .bearer(SCOPE)
            .body("text/plain", "hello"),
        Play::new("no content type", "PATCH", TEMPLATE_PATH, answer(200, &[], b"{\"id\":\"vct_1\"}")).bearer(SCOPE),
        Play::new(
            "another media type",
            "PATCH",
            TEMPLATE_PATH,
            answer(200, &[("Content-Type", "text/html")], b"<p>hello</p>"),
        )
        .bearer(SCOPE)
        .body("application/xml", "<name>x</name>"),
        Play::new(
            "bytes that are no text",
            "POST",
            ACTION_PATH,
            answer(200, &[("Content-Type", "application/octet-stream")], &[0, 159, 146, 150]),
        )
        .bearer(SCOPE)
        .body("application/octet-stream", vec![0, 1, 2, 255]),
        // Content codings.
        Play::new(
            "gzip",
            "GET",
            POLICY_PATH,
            answer(200, &[("Content-Type", "application/json"), ("Content-Encoding", "gzip")], &gzip(policy)),
        )
        .bearer(SCOPE),
        Play::new(
            "gzip of a violation with a secret",
            "GET",
            POLICY_PATH,
            answer(
                200,
                &[("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
                &gzip(POLICY.replace("allow", SECRET).as_bytes()),
            ),
        )
        .bearer(SCOPE),
        Play::new(
            "gzip that is none",
            "GET",
            POLICY_PATH,
            answer(200, &[("Content-Type", "application/json"), ("Content-Encoding", "gzip")], policy),
        )
        .bearer(SCOPE),
        Play::new(
            "gzip that is cut",
            "GET",
            POLICY_PATH,
            answer(200, &[("Content-Type", "application/json"), ("Content-Encoding", "gzip")], &gzip(policy)[..20]),
        )
        .bearer(SCOPE),
        Play::new(
            "an unknown coding",
            "GET",
            POLICY_PATH,
            answer(200, &[("Content-Type", "application/json"), ("Content-Encoding", "zebra")], policy),
        )
        .bearer(SCOPE),
        Play::new("a gzip request", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .header("Content-Encoding", "gzip")
            .body("application/json", gzip(json!({"name": SECRET, "dialect": "no"}).to_string().as_bytes())),
        // Beyond the captured copy (64 KiB here), and cut on the way.
        Play::new(
            "an oversized answer",
            "POST",
            ACTION_PATH,
            json_answer(200, json!({"payload": {"text": "x".repeat(100_000)}}).to_string().as_bytes()),
        )
        .bearer(SCOPE)
        .body("application/json", r#"{"payload":{}}"#),
        Play::new("an oversized request with a secret", "POST", ACTION_PATH, json_answer(200, b"{\"payload\":{}}"))
            .bearer(SCOPE)
            .body(
                "application/json",
                json!({"payload": {"password": SECRET, "text": "y".repeat(100_000)}}).to_string(),
            ),
        Play::new(
            "an oversized compressed answer",
            "GET",
            POLICY_PATH,
            answer(
                200,
                &[("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
                &gzip(format!("{{\"id\":\"{}\"}}", "z".repeat(30_000_000)).as_bytes()),
            ),
        )
        .bearer(SCOPE),
        Play::new(
            "an answer cut short",
            "GET",
            POLICY_PATH,
            answer(200, &[("Content-Type", "application/json"), ("Content-Length", "5000")], policy),
        )
        .bearer(SCOPE),
        Play::new(
            "an answer cut short with a secret",
            "GET",
            POLICY_PATH,
            answer(
                200,
                &[("Content-Type", "application/json"), ("Content-Length", "5000")],
                format!("{{\"client_secret\":\"{SECRET}").as_bytes(),
            ),
        )
        .bearer(SCOPE),
        Play::new(
            "chunks that never end",
            "GET",
            POLICY_PATH,
            answer(200, &[("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")], b"5\r\n{\"id\"\r\n"),
        )
        .bearer(SCOPE),
        Play::new(
            "chunks",
            "GET",
            POLICY_PATH,
            answer(
                200,
                &[("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")],
                format!("{:x}\r\n{POLICY}\r\n0\r\n\r\n", POLICY.len()).as_bytes(),
            ),
        )
        .bearer(SCOPE),
        // The rest of the table.
        Play::new("429 without its headers", "GET", POLICY_PATH, json_answer(429, b"{}")).bearer(SCOPE),
        Play::new("another 2xx", "GET", POLICY_PATH, json_answer(201, policy)).bearer(SCOPE),
        Play::new("an undocumented status", "GET", POLICY_PATH, json_answer(418, b"{}")).bearer(SCOPE),
        Play::new(
            "a redirect with a token",
            "GET",
            POLICY_PATH,
            answer(302, &[("Location", "https://app.example/cb?code=s3cr3tc0de12&access_token=abcdef0123456789")], b""),
        )
        .bearer(SCOPE),
        Play::new(
            "a surplus page",
            "GET",
            &format!("{GROUPS_PATH}?take=1"),
            json_answer(200, b"{\"groups\":[{\"id\":\"a\"},{\"id\":\"b\"}]}"),
        )
        .bearer(SCOPE),
        Play::new(
            "a secret in a group",
            "GET",
            GROUPS_PATH,
            json_answer(200, json!({"groups": [{"id": SECRET, "token": 5}], "next": SECRET}).to_string().as_bytes()),
        )
        .bearer(SCOPE),
        Play::new("an undocumented operation", "DELETE", "/api/v2/users/auth0%7C1?force=true", answer(204, &[], b""))
            .bearer(SCOPE),
        Play::new("another site", "GET", "/elsewhere", json_answer(200, b"[]")),
        Play::new(
            "cookies",
            "GET",
            POLICY_PATH,
            answer(
                200,
                &[
                    ("Content-Type", "application/json"),
                    ("Set-Cookie", "sid=abcdef0123456789; Path=/"),
                    ("Set-Cookie", "other=zyxwvu9876543210"),
                ],
                policy,
            ),
        )
        .bearer(SCOPE)
        .header("Cookie", "sid=abcdef0123456789; theme=dark"),
        Play::new("an odd path", "GET", "/api/v2/rate-limit-policies/a%2Fb%20c?x=%2B&x=+&%zz", json_answer(404, b"{}"))
            .bearer(SCOPE),
        Play::new(
            "an empty success",
            "POST",
            "/api/v2/event-streams/est_0123456789abcdefghijkl/redeliver/evt_0123456789abcdefghijkl",
            answer(202, &[], b""),
        )
        .bearer(SCOPE),
    ];
    // The same secret once more, now that everything above has been seen.
    plays.push(
        Play::new(
            "an echo in an error",
            "GET",
            POLICY_PATH,
            json_answer(400, format!("{{\"message\":\"bad {SECRET}\"}}").as_bytes()),
        )
        .bearer(SCOPE),
    );
    plays
}

/// What all three outputs have to agree on.
fn essence(exchange: &Value) -> Value {
    let url = exchange["url"].as_str().unwrap();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let essence = json!({
        "method": exchange["method"], "path": path, "status": exchange["status"], "operation": exchange["operation"],
        "verdict": exchange["verdict"], "findings": exchange["findings"], "unchecked": exchange["unchecked"],
    });
    serde_json::from_str(&without_label_numbers(&essence.to_string())).unwrap()
}

/// Labels are numbered anew in a fixture: `!token-7!` and `!token-2!` are the same here, `!7!` and `!2!` too.
fn without_label_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('!') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.'));
        if let Some(end) =
            end.filter(|end| rest[*end..].starts_with('!') && rest[..*end].bytes().any(|b| b.is_ascii_digit()))
        {
            out.extend(rest[..end].chars().filter(|c| c.is_ascii_lowercase() || *c == '-'));
            out.push('!');
            rest = &rest[end + 1..];
        }
    }
    out.push_str(rest);
    out
}

fn verified(folder: &Path, recording: &str) -> Vec<Value> {
    let ran = run_in(folder, ["verify", "--format", "json", recording]);
    assert!(ran.status < 2, "{recording}: {}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["exchanges"].as_array().unwrap().iter().map(essence).collect()
}

fn sorted(mut exchanges: Vec<Value>) -> Vec<String> {
    let mut lines: Vec<String> = exchanges.drain(..).map(|exchange| exchange.to_string()).collect();
    lines.sort();
    lines
}

/// Sends every exchange through a recording proxy and compares the three readings with the live one.
fn holds(plays: &[Play]) {
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start();
    let upstream = format!("http://{}", origin.address);
    let proxy = Running::start(
        folder.path(),
        [
            "record",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &upstream,
            "--out",
            "rec/",
            "--format",
            "json",
            "--keep",
            "--max-capture",
            "65536",
        ],
    );
    for play in plays {
        origin.will_answer(play.answer.clone());
        let headers: Vec<(&str, &str)> =
            play.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let raw = request(proxy.address, &play.method, &play.target, &headers, &play.body);
        let _ = send(proxy.address, &play.method, &raw).unwrap_or_else(|error| panic!("{}: {error}", play.name));
    }
    let journal = verified(folder.path(), "rec.journal");
    let ran = proxy.finish();
    assert!(ran.status < 2, "{}", ran.stderr);
    let live: Vec<Value> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("{\"method\""))
        .map(|line| essence(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(live.len(), plays.len(), "{}", ran.stderr);
    for ((play, live), journal) in plays.iter().zip(&live).zip(&journal) {
        assert_eq!(live, journal, "{}: live, then the journal", play.name);
    }
    assert_eq!(journal.len(), live.len());
    let packed = run_in(folder.path(), ["pack", "rec/", "--out", "one.har"]);
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    let live = sorted(live);
    for recording in ["rec/", "one.har"] {
        let held = sorted(verified(folder.path(), recording));
        for (live, held) in live.iter().zip(&held) {
            assert_eq!(live, held, "live, then {recording}");
        }
        assert_eq!(live.len(), held.len(), "{recording}");
    }
    let scanned = run_in(folder.path(), ["scan", "rec/", "one.har"]);
    assert_eq!(scanned.status, 0, "{}{}", scanned.stdout, scanned.stderr);
    for file in walk(folder.path()) {
        let content = std::fs::read(&file).unwrap();
        assert!(!contains(&content, SECRET.as_bytes()), "{SECRET} in {}", file.display());
    }
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
}

fn walk(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(root).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

#[test]
fn live_findings_equal_those_of_verify_for_odd_exchanges() {
    holds(&odd_ones());
}

#[test]
fn label_numbers_do_not_count() {
    assert_eq!(
        without_label_numbers("a !token-12! b !3! c! !x! !password-1...! !! 1!2"),
        "a !token-! b !! c! !x! !password-! !! 1!2"
    );
}
