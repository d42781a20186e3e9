//! Odd exchanges: each is a way in which the file could come to say something else than what was seen live.

use serde_json::json;

use super::{Play, SECRET, answer, gzip, json_answer};
use crate::support::har::{NOON, POLICY, token};

const POLICY_PATH: &str = "/api/v2/rate-limit-policies/rlp_1";
const TEMPLATE_PATH: &str = "/api/v2/verifiable-credentials/verification/templates/vct_1";
const ACTION_PATH: &str = "/api/v2/actions/actions/act_1/test";
const GROUPS_PATH: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";
const SCOPE: &str = "read:rate_limit_policies";

const FORM: &str = "application/x-www-form-urlencoded";

/// All of them.
pub(super) fn all() -> Vec<Play> {
    let mut plays = tokens();
    plays.extend(constrained());
    plays.extend(constrained_requests());
    plays.extend(malformed());
    plays.extend(codings());
    plays.extend(cut());
    plays.extend(the_rest());
    // The same secret once more, now that everything above has been seen.
    let echo = format!("{{\"message\":\"bad {SECRET}\"}}");
    plays.push(Play::new("an echo in an error", "GET", POLICY_PATH, json_answer(400, echo.as_bytes())).bearer(SCOPE));
    plays
}

/// Tokens of every kind.
fn tokens() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    let login = format!("grant_type=client_credentials&client_id=svc-1&client_secret={SECRET}&audience=%2Fapi%2Fv2%2F");
    let grant = json!({"access_token": token(SCOPE, NOON), "token_type": "Bearer", "expires_in": 60}).to_string();
    let expired = format!("Bearer {}", token(SCOPE, NOON));
    vec![
        Play::new("a token request", "POST", "/oauth/token/", json_answer(200, grant.as_bytes())).body(FORM, login),
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
    ]
}

/// Secrets where the document constrains: lengths, patterns, formats, types, enums, relations.
#[allow(clippy::too_many_lines)] // a table
fn constrained() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    vec![
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
    ]
}

/// Secrets in requests whose fields the document constrains.
fn constrained_requests() -> Vec<Play> {
    vec![
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
            .body(FORM, format!("name={SECRET}&password=hunter2hunter2&version=5.0&version=6")),
        Play::new("a broken form with a secret", "PATCH", TEMPLATE_PATH, json_answer(200, b"{\"id\":\"vct_1\"}"))
            .bearer(SCOPE)
            .body(FORM, format!("name=%ZZ{SECRET}&password=hunter2hunter2")),
    ]
}

/// Bodies that are not what they claim.
fn malformed() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    vec![
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
    ]
}

/// Content codings.
fn codings() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    vec![
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
    ]
}

/// Beyond the captured copy (64 KiB here), and cut on the way.
fn cut() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    vec![
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
    ]
}

/// The rest of the table.
fn the_rest() -> Vec<Play> {
    let policy = POLICY.as_bytes();
    vec![
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
    ]
}
