//! What becomes of an exchange, by example.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method, Version};

use super::*;
use crate::{
    exchange::{
        Body, Credential, Exchange, Headers, Presence, Request, Response, Target, Timings, Transport, Withheld,
    },
    finding::{Finding, Rule, Verdict},
};

pub(super) fn headers(fields: &[(&str, &str)]) -> Headers {
    fields
        .iter()
        .map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        })
        .collect()
}

pub(super) fn exchange(target: &str, request: (&[(&str, &str)], &str), response: (&[(&str, &str)], &str)) -> Exchange {
    Exchange {
        request: Request {
            method: Method::POST,
            target: Target::new("https", "tenant.example", target),
            version: Version::HTTP_11,
            headers: headers(request.0),
            body: Body::whole(request.1.as_bytes().to_vec()),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 200,
            version: Version::HTTP_11,
            headers: headers(response.0),
            body: Body::whole(response.1.as_bytes().to_vec()),
        }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn redact(exchange: Exchange) -> Redacted<Judged> {
    Redactor::default().redact(Judged::new(exchange, Verdict::default()))
}

#[test]
fn a_secret_that_responses_keep_repeating_is_not_evicted() {
    let redactor = Redactor::default().with_bound(8);
    let target = |target: &str, key: &str| {
        let answer = r#"{"note":"zq0-7580-k3VbT9wXr2"}"#;
        let exchange = exchange(target, (&[("x-api-key", key)], ""), (&[JSON], answer));
        redactor.redact(Judged::new(exchange, Verdict::default())).exchange.request.target.to_string()
    };
    target("/x", "zq0-7580-k3VbT9wXr2");
    for n in 0..40 {
        target("/x", &format!("{n:02}-other-k3VbT9wXr2"));
    }
    let redacted = target("/x/zq0-7580-k3VbT9wXr2", "");
    assert!(!redacted.contains("zq0-7580-k3VbT9wXr2"), "{redacted}");
}

#[test]
fn the_label_of_an_authorization_is_kept_for_the_next_request() {
    let redactor = Redactor::default();
    let value = "Bearer zq0-7580-k3VbT9wXr2";
    let exchange = exchange("/x", (&[("authorization", value)], ""), (&[], ""));
    let _ = redactor.redact(Judged::new(exchange, Verdict::default()));
    assert!(redactor.known_authorization(&HeaderValue::from_static(value)).is_some());
}

/// The request's header fields and body.
fn sent(redacted: &Redacted<Judged>) -> String {
    let request = &redacted.exchange.request;
    let fields: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    format!("{}\n{}", fields.join("\n"), String::from_utf8_lossy(&request.body.content))
}

fn body(text: &str) -> String {
    let redacted = redact(exchange("/x", (&[JSON], text), (&[], "")));
    String::from_utf8_lossy(&redacted.exchange.request.body.content).into_owned()
}

#[test]
fn every_header_that_carries_a_credential_is_replaced_and_its_scheme_stays() {
    let redacted = redact(exchange(
        "/x",
        (
            &[
                ("authorization", "Bearer abc.def.ghi"),
                ("proxy-authorization", "Basic dXNlcjpodW50ZXIyMg=="),
                ("cookie", "session=s3cr3t-one; theme=\"dark-mode-9\"; bare"),
                ("x-api-key", "s3cr3t-two"),
                ("x-plain", "hunter22 and dXNlcjpodW50ZXIyMg=="),
                ("accept", "*/*"),
            ],
            "",
        ),
        (&[("set-cookie", "session=s3cr3t-three; Path=/; HttpOnly")], ""),
    ));
    assert_eq!(
        sent(&redacted),
        "authorization: Bearer !token-1!\nproxy-authorization: Basic !basic-3!\ncookie: session=!cookie-4!; \
         theme=\"!cookie-5!\"; !cookie-6!\nx-api-key: !api-key-7!\nx-plain: !password-2! and !basic-3!\naccept: */*\n"
    );
    let response = redacted.exchange.response.as_ref().unwrap();
    assert_eq!(response.headers.get_str("set-cookie"), Some("session=!cookie-8!; Path=/; HttpOnly"));
    assert_eq!(redacted.touched, Touched { authorization: true, elsewhere: true });
}

#[test]
fn a_token_that_comes_again_has_its_label_again_whatever_comes_with_it() {
    let redactor = Redactor::default();
    let (one, other) = ("Bearer k3y-of-the-kingdom-1", "Bearer k3y-of-the-kingdom-2");
    let say = |fields: &[(&str, &str)], text: &str| {
        let redacted = redactor.redact(Judged::new(exchange("/x", (fields, text), (&[], "")), Verdict::default()));
        (sent(&redacted), redacted.touched)
    };
    let plain = Touched { authorization: true, elsewhere: false };
    let also = Touched { authorization: true, elsewhere: true };
    for _ in 0..3 {
        let label = || "authorization: Bearer !token-1!".to_owned();
        assert_eq!(say(&[("authorization", one)], ""), (label() + "\n", plain));
        let said = say(&[("x-a", "b"), ("authorization", one), ("cookie", "a=s3cr3t-value")], "k3y-of-the-kingdom-1");
        assert_eq!(said, (format!("x-a: b\n{}\ncookie: a=!cookie-2!\n!token-1!", label()), also));
        let said = say(&[("authorization", one), ("x-b", "of k3y-of-the-kingdom-1")], "");
        assert_eq!(said, (label() + "\nx-b: of !token-1!\n", also));
        let said = say(&[("authorization", one), ("authorization", other), ("x-api-key", "k3y-of-the-kingdom-1")], "");
        assert_eq!(said.0, label() + "\nauthorization: Bearer !token-3!\nx-api-key: !token-1!\n");
        let said = say(&[("authorization", other), ("authorization", one)], "");
        assert_eq!(said.0, format!("authorization: Bearer !token-3!\n{}\n", label()));
    }
}

#[test]
fn a_forgotten_secret_is_recognised_by_its_place_and_a_busy_one_is_not_forgotten() {
    let redactor = Redactor::default().with_bound(4);
    let busy = "Bearer busy-credential-0001";
    let ask = |authorization: &str, note: &str| {
        let fields = [("authorization", authorization), ("x-note", note)];
        sent(&redactor.redact(Judged::new(exchange("/x", (&fields, ""), (&[], "")), Verdict::default())))
    };
    for n in 0..50 {
        let said = ask(busy, "it was busy-credential-0001");
        assert_eq!(said, "authorization: Bearer !token-1!\nx-note: it was !token-1!\n", "{n}");
        let other = ask(&format!("Bearer other-credential-{n:04}"), "");
        assert!(!other.contains("credential"), "{other}");
    }
    // Forgotten: nothing but its header tells it, and from then on it is known again.
    assert!(ask(busy, "it was other-credential-0001").contains("other-credential-0001"));
    let again = ask("Bearer other-credential-0001", "it was other-credential-0001");
    assert!(!again.contains("credential"), "{again}");
    assert!(redactor.counters().forgotten > 40);
}

#[test]
fn a_credential_without_a_known_scheme_is_replaced_whole() {
    for value in ["s3cr3t", "s3cr3t s3cr3t", "Bearer: s3cr3t", "  s3cr3t"] {
        let redacted = redact(exchange("/x", (&[("authorization", value)], ""), (&[], "")));
        assert!(!sent(&redacted).contains("s3cr3t"), "{value} became {}", sent(&redacted));
        assert_eq!(redacted.touched, Touched { authorization: true, elsewhere: false });
    }
    for value in ["", "Bearer", "Bearer "] {
        let redacted = redact(exchange("/x", (&[("authorization", value)], ""), (&[], "")));
        assert_eq!(redacted.touched, Touched::default(), "{value}");
    }
}

#[test]
fn each_word_of_a_credential_is_known_when_it_comes_again_by_itself() {
    for value in ["Bearer  k3y-of-the-kingdom k3y-of-the-kingdom", "Session k3y-of-the-kingdom", "k3y-of-the-kingdom,x"]
    {
        let text = r#"{"note":"k3y-of-the-kingdom was sent in a session"}"#;
        let redacted = redact(exchange("/x", (&[("authorization", value), JSON], text), (&[], "")));
        let sent = sent(&redacted);
        assert!(!sent.contains("kingdom") && sent.contains("was sent in a session"), "{sent}");
    }
    // Parameters name what is no secret, too.
    let digest =
        r#"Digest username="Mufasa", uri="/api/v2/x1/index.html", response="6629fae49393a05397450978507c4ef1""#;
    let redacted = redact(exchange("/api/v2/x1/index.html", (&[("authorization", digest)], ""), (&[], "")));
    assert_eq!(redacted.exchange.request.target.path(), "/api/v2/x1/index.html");
    assert!(!sent(&redacted).contains("6629fae4"));
}

#[test]
fn json_is_edited_in_place_and_all_else_survives_byte_for_byte() {
    assert_eq!(
        body("{ \"id\" : \"con_1\",\r\n\"n\":1.50e+3, \"client_secret\":\"a\\u0062c-longer\" , \"x\":[ ]}"),
        "{ \"id\" : \"con_1\",\r\n\"n\":1.50e+3, \"client_secret\":\"!client-secret-1!\" , \"x\":[ ]}"
    );
}

#[test]
fn a_secret_is_known_by_its_member_at_any_depth() {
    assert_eq!(
        body(
            r#"{"a":[{"pass\u0077ord":"x1"}],"tokens":{"refresh_token":"y2"},"code":"invalid_body","token":["z","w"]}"#
        ),
        r#"{"a":[{"pass\u0077ord":"!password-4!"}],"tokens":{"refresh_token":"!token-1!"},"code":"invalid_body","token":["!token-2!","!token-3!"]}"#
    );
}

#[test]
fn a_long_name_is_known_by_its_end() {
    let name = format!("https://claims.example/{}/client_secret", "very/long/".repeat(20));
    let kept = body(&format!("{{\"{name}\":\"s3cr3t-of-a-claim\"}}"));
    assert!(kept.contains(&name) && !kept.contains("s3cr3t"), "{kept}");
}

#[test]
fn a_label_keeps_the_type_and_null_and_booleans_are_no_secrets() {
    assert_eq!(
        body(r#"{"password":123456,"secret":null,"token":true,"pin":123456,"client_secret":""}"#),
        r#"{"password":1,"secret":null,"token":true,"pin":1,"client_secret":""}"#
    );
}

#[test]
fn settings_under_a_secrets_name_stay_and_what_looks_random_does_not() {
    assert_eq!(
        body(
            r#"{"refresh_token":{"rotation_type":"rotating","lifetime":2592000,"value":"x","seed":"a1b2c3d4e5f6g7"}}"#
        ),
        r#"{"refresh_token":{"rotation_type":"rotating","lifetime":2592000,"value":"!token-1!","seed":"!token-2!"}}"#
    );
}

#[test]
fn a_secret_is_replaced_wherever_it_comes_again_in_any_coding() {
    let redacted = redact(exchange(
        "/a/pa%73s-w0rd%2F1/b?q=pass-w0rd/1&z=pass%2Dw0rd%2F1",
        (
            &[JSON, ("x-a", "is pass-w0rd%2f1")],
            r#"{"note":"it is pass\u002dw0rd\/1!","b64":"eyJwIjoicGFzcy13MHJkLzEifQ=="}"#,
        ),
        (&[JSON, ("location", "/cb?x=pass-w0rd%2F1")], r#"{"password":"pass-w0rd\/1","pass-w0rd\/1":1}"#),
    ));
    let all = format!("{:?}", redacted.into_inner());
    assert!(all.contains("/a/!password-1!/b?q=!password-1!&z=!password-1!"), "{all}");
    assert!(all.contains("it is !password-1!!"), "{all}");
    assert!(all.contains("/cb?x=!password-1!"), "{all}");
    assert!(!all.contains("w0rd"), "{all}");
    assert!(!all.contains("cGFzcy13MHJkLzEi"), "{all}");
}

#[test]
fn a_secret_inside_a_payload_in_base64_is_recognised() {
    use base64::{Engine as _, prelude::*};
    let payload = r#"{"client_secret":"s3cr3t-value","n":1}"#;
    for coded in [BASE64_STANDARD.encode(payload), BASE64_URL_SAFE_NO_PAD.encode(payload)] {
        let text = format!(r#"{{"state":"{coded}","note":"s3cr3t-value"}}"#);
        assert_eq!(body(&text), r#"{"state":"!client-secret-1!","note":"!client-secret-1!"}"#);
    }
    let harmless = format!(r#"{{"state":"{}"}}"#, BASE64_STANDARD.encode(r#"{"n":1}"#));
    assert_eq!(body(&harmless), harmless);
}

#[test]
fn counts_of_tokens_are_no_tokens_and_keys_that_name_something_are_no_secrets() {
    assert_eq!(
        body(r#"{"tokens":["abc"],"usage":{"tokens":512}}"#),
        r#"{"tokens":["!token-1!"],"usage":{"tokens":512}}"#
    );
    let fields =
        [("idempotency-key", "a1b2c3d4e5f6"), ("x-auth-key", "q1w2e3r4t5y6"), ("x-functions-key", "z9y8x7w6v5u4")];
    let redacted = redact(exchange("/x", (&fields, ""), (&[], "")));
    assert_eq!(
        sent(&redacted),
        "idempotency-key: a1b2c3d4e5f6\nx-auth-key: !api-key-1!\nx-functions-key: !api-key-2!\n"
    );
}

#[test]
fn a_short_value_stays_in_its_field() {
    assert_eq!(body(r#"{"password":"abc","name":"abcdef abc"}"#), r#"{"password":"!password-1!","name":"abcdef abc"}"#);
}

#[test]
fn forms_and_queries_are_redacted_by_field() {
    let redacted = redact(exchange(
        "/authorize?client_id=app&code=xyz&state=st&access_token=a%2Db",
        (
            &[FORM, ("content-length", "99")],
            "grant_type=x&client_id=app&client_secret=s%33cr3t&user%5Bpassword%5D=p+q&payload=%7B%22token%22%3A%22abc%22%7D",
        ),
        (&[], ""),
    ));
    let request = &redacted.exchange.request;
    assert_eq!(
        &*request.target.path_and_query,
        "/authorize?client_id=app&code=!code-1!&state=st&access_token=!token-2!"
    );
    assert_eq!(
        request.body.content,
        "grant_type=x&client_id=app&client_secret=!client-secret-3!&user%5Bpassword%5D=!password-4!&payload=%7B%22token%22%3A%22!token-5!%22%7D"
    );
    assert_eq!(request.body.redacted, ["/client_secret", "/user[password]", "/payload"]);
    let length = request.body.content.len();
    assert_eq!(request.headers.get_str("content-length"), Some(&*length.to_string()));
    assert_eq!(request.body.wire_size, Some(length as u64));
}

#[test]
fn a_querys_only_field_is_known_by_its_name_in_any_spelling() {
    for name in ["auth", "key", "sig", "s_e_c_r_e_t", "user[auth]", "x.code", "pin.", "client+secret", "e_mail"] {
        for value in ["a1b2c3d4e5f6g7h8", "+491711234567", ""] {
            let rules = ["personal"];
            let redact = |redactor: Redactor| {
                let exchange = exchange(&format!("/x?{name}={value}"), (&[], ""), (&[], ""));
                let redacted = redactor.redact(Judged::new(exchange, Verdict::default()));
                (redacted.exchange.request.target.to_string(), redactor.counters())
            };
            let redactor = || Redactor::new(Plan::new(&rules).unwrap());
            let (quick, thorough) = (redact(redactor()), redact(redactor().thorough()));
            assert_eq!(quick, thorough, "{name}={value}");
            assert!(!value.starts_with('a') || quick.0.contains('!'), "{}", quick.0);
        }
    }
    assert_eq!(
        &*redact(exchange("/x?take=100", (&[], ""), (&[], ""))).exchange.request.target.path_and_query,
        "/x?take=100"
    );
}

#[test]
fn multipart_fields_are_redacted_by_name_and_by_value() {
    let text = "--b\r\nContent-Disposition: form-data; name=\"client_secret\"\r\n\r\ns3cr3t-value\r\n--b\r\nContent-Disposition: \
                form-data; name=\"file\"; filename=\"s3cr3t-value.txt\"\r\n\r\n{\"password\":\"pw-0123\"}\r\n--b--\r\n";
    let redacted = redact(exchange("/x", (&[("content-type", "multipart/form-data; boundary=b")], text), (&[], "")));
    let request = &redacted.exchange.request;
    let now = String::from_utf8_lossy(&request.body.content);
    assert_eq!(now, text.replace("s3cr3t-value", "!client-secret-1!").replace("pw-0123", "!password-2!"));
    assert_eq!(request.body.redacted, ["/client_secret", "/file"]);
}

#[test]
fn a_body_that_does_not_match_its_type_is_kept_without_its_secrets_and_marked_malformed() {
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cr3t-value";
    for (media, text, expected) in [
        ("application/json", &br#"{"a":1,"password":"s3cr3t-value","password":"other-0123"}"#[..], "#,#"),
        ("application/json", b"\xef\xbb\xbf{\"password\":\"s3cr3t-value\"}", "#"),
        ("application/json", b"{\"b\":\"\\ud800\",\"password\":\"s3cr3t-value\"}", "#"),
        ("application/json; charset=iso-8859-1", b"{\"caf\xe9\":\"\xe9\",\"password\":\"s3cr3t-valu\xe9\"}", "#"),
        ("application/json", b"{\"password\":\"s3cr3t-value\",\"pin\":123456,\"a\":1,\"a\":2}", "#,#"),
        ("application/json", br#"{"a":"s3cr3t-value","password":"s3cr3t-value""#, "#,#"),
        ("application/json", b"{'password': 's3cr3t-value', }", "#"),
        ("application/problem+json; charset=utf-8", b"nope", ""),
        ("application/json", b"<html><body>Bad Gateway</body></html>", ""),
        ("application/json", b"ok", ""),
        ("application/x-www-form-urlencoded", b"a=%zz&password=s3cr3t-value%zz", "#"),
        ("application/x-www-form-urlencoded", b"%ff=1&password=s3cr3t-value", "#"),
        ("multipart/form-data; boundary=b", multipart.as_bytes(), "#"),
        ("multipart/form-data", multipart.as_bytes(), "#"),
    ] {
        let redactor = Redactor::default();
        let mut exchange = exchange("/x", (&[], ""), (&[("content-type", media), ("content-length", "7")], ""));
        exchange.response.as_mut().unwrap().body = Body::whole(text.to_vec());
        let redacted = redactor.redact(Judged::new(exchange, Verdict::default()));
        let response = redacted.exchange.response.as_ref().unwrap();
        let now = String::from_utf8_lossy(&response.body.content).into_owned();
        let labels = super::label::find(&response.body.content).map(|_| "#").collect::<Vec<_>>().join(",");
        assert!(!now.contains("s3cr3t") && !now.contains("other-0123") && !now.contains("123456"), "{now}");
        assert_eq!((&*labels, response.body.malformed), (expected, true), "{now}");
        assert_eq!(response.body.presence, Presence::Whole);
        assert_eq!(
            response.headers.get_str("content-length"),
            Some(&*response.body.content.len().to_string()).filter(|_| !expected.is_empty()).or(Some("7"))
        );
        // What was redacted comes out of redaction as it is.
        let again = redactor.redact(redacted.into_inner()).into_inner();
        assert_eq!(String::from_utf8_lossy(&again.exchange.response.unwrap().body.content), now);
    }
}

#[test]
fn what_redaction_cannot_vouch_for_is_withheld_and_what_is_cut_is_dropped() {
    let deep = "[".repeat(crate::json::MAX_DEPTH + 1);
    for (media, text, rule) in [
        ("application/json", "{\0\"\0p\0a\0s\0s\0", None),
        ("application/json", "\u{1f}\u{8b}\u{8}binary", None),
        ("application/json", &*deep, None),
        ("application/json", "{'a': 1}", Some("pointer:/a/*")),
        ("multipart/form-data", "\u{0}", None),
    ] {
        let redactor = Redactor::new(Plan::new(rule.as_slice()).unwrap());
        let exchange = exchange("/x", (&[], ""), (&[("content-type", media), ("content-length", "7")], text));
        let redacted = redactor.redact(Judged::new(exchange, Verdict::default()));
        let response = redacted.exchange.response.as_ref().unwrap();
        assert_eq!(response.body.presence, Presence::Withheld(Withheld::Unparsable), "{media} {text}");
        assert!(response.body.content.is_empty() && response.body.wire_size.is_none());
        assert!(!response.headers.contains("content-length"));
    }
    let mut cut = exchange("/x", (&[JSON], r#"{"a":1,"b":"s3c"#), (&[], ""));
    cut.request.body.presence = Presence::Truncated { kept: 15, total: Some(90) };
    let redacted = redact(cut);
    assert_eq!(redacted.exchange.request.body.presence, Presence::Truncated { kept: 15, total: Some(90) });
    assert!(redacted.exchange.request.body.content.is_empty());
    assert!(redacted.touched.elsewhere);
}

#[test]
fn a_secret_of_a_malformed_body_is_known_elsewhere() {
    let redacted = redact(exchange(
        "/x?a=s3cr3t-value",
        (&[JSON], r#"{"client_secret":"s3cr3t-value","#),
        (&[("content-type", "text/plain")], "no such client: s3cr3t-value\n"),
    ));
    assert_eq!(&*redacted.exchange.request.target.path_and_query, "/x?a=!client-secret-1!");
    assert_eq!(redacted.exchange.response.as_ref().unwrap().body.content, "no such client: !client-secret-1!\n");
}

#[test]
fn other_bytes_are_kept_after_the_search() {
    let text = "\u{0}binary s3cr3t-value \u{1}";
    let redacted = redact(exchange(
        "/x",
        (&[("content-type", "application/octet-stream"), ("x-api-key", "s3cr3t-value")], text),
        (&[("content-type", "text/event-stream")], "data: {\"access_token\":\"abc\"}\n\nid: 7\n"),
    ));
    assert_eq!(redacted.exchange.request.body.content, text.replace("s3cr3t-value", "!api-key-1!"));
    assert_eq!(redacted.exchange.request.body.redacted, [""]);
    let response = redacted.exchange.response.as_ref().unwrap();
    assert_eq!(response.body.content, "data: {\"access_token\":\"!token-2!\"}\n\nid: 7\n");
}

#[test]
fn an_exchange_without_secrets_is_not_touched() {
    let before = exchange(
        "/api/v2/x?from=a%2Bb&take=5",
        (&[JSON, ("user-agent", "sdk/1.0")], r#"{"name":"n","version":1.0,"presentation":{"given_name":true}}"#),
        (
            &[JSON, ("etag", "\"33a64df5\"")],
            r#"{"next":"cursor_0123456789abcdef","groups":[{"id":"grp_0123456789abcdef"}]}"#,
        ),
    );
    let redacted = redact(before.clone());
    assert_eq!(redacted.touched, Touched::default());
    assert_eq!(format!("{:?}", redacted.exchange), format!("{before:?}"));
}

#[test]
fn what_a_finding_shows_is_redacted_too() {
    let verdict = Verdict {
        findings: vec![
            Finding::new(Rule::RequestBody, "/password", "at least 12 characters, not `abc`".to_owned()).seen("abc"),
            Finding::new(Rule::ResponseBody, "/error", "a string").seen("no s3cr3t-value here"),
            Finding::new(Rule::QueryUndocumented, "s3cr3t-value", "no such parameter"),
            Finding::new(Rule::RequestBody, "/name", "another").seen("abc"),
        ],
        ..Verdict::default()
    };
    let exchange = exchange("/x", (&[JSON], r#"{"password":"abc","client_secret":"s3cr3t-value"}"#), (&[], ""));
    let redacted = Redactor::default().redact(Judged::new(exchange, verdict));
    let said: Vec<String> =
        redacted.verdict.findings.iter().map(|finding| format!("{} {}", finding.at, finding.message())).collect();
    assert_eq!(
        said,
        [
            "/password expected at least 12 characters, not `!password-1!`, saw `!password-1!`",
            "/error expected a string, saw `no !client-secret-2! here`",
            "!client-secret-2! expected no such parameter",
            "/name expected another, saw `abc`",
        ]
    );
}

struct Exactly26;

impl Shapes for Exactly26 {
    fn bounds(&self, _operation: &str, _response: bool, pointer: &str) -> Bounds {
        if pointer == "/token" { Bounds { min: Some(26), max: Some(26) } } else { Bounds::default() }
    }
}

#[test]
fn a_label_fits_the_bounds_of_its_place() {
    let redactor = Redactor::default().with_shapes(Arc::new(Exactly26));
    let exchange =
        exchange("/x", (&[JSON], r#"{"token":"abcdefghij0123456789","secret":"abcdefghij0123456789"}"#), (&[], ""));
    let verdict = Verdict { operation: Some("x".into()), ..Verdict::default() };
    let redacted = redactor.redact(Judged::new(exchange, verdict));
    assert_eq!(
        redacted.exchange.request.body.content,
        r#"{"token":"!token-1.................!","secret":"!token-1!"}"#
    );
}

#[test]
fn redaction_is_idempotent_with_the_same_memory_and_with_a_new_one() {
    let one = Redactor::default();
    let exchange = exchange(
        "/x?code=abc&q=s3cr3t-value",
        (
            &[JSON, ("cookie", "a=s3cr3t-value"), ("authorization", "Basic dXNlcjpodW50ZXIyMg==")],
            r#"{"password":123456,"pin":1,"token":"s3cr3t-value"}"#,
        ),
        (&[FORM], "token=s3cr3t-value&x=hunter22"),
    );
    let clean = one.redact(Judged::new(exchange, Verdict::default()));
    let text = format!("{:?}", clean.exchange);
    for memory in [one, Redactor::default()] {
        let twice = memory.redact(Judged::new(clean.exchange.clone(), Verdict::default()));
        assert_eq!(format!("{:?}", twice.exchange), text);
        assert_eq!(twice.touched, Touched::default());
        let next = memory.text("password=\"another-one\"");
        assert!(!text.contains(&next[10..next.len() - 1]), "{} is taken", *next);
    }
}

#[test]
fn a_label_that_took_the_end_of_what_it_stood_in_is_left_as_it_is() {
    let plain = ("content-type", "text/plain");
    for (credential, text) in [
        ("x", "see Bearer abcde-----BEGIN PRIVATE KEY-----fghijklmnop1"),
        ("t4711&username=", "client_secret=Zq8-planted-secret4711&username=a%40b.example"),
    ] {
        let fields = [plain, ("authorization", credential)];
        let once = redact(exchange("/x", (&fields, text), (&[], "")));
        let twice = redact(*once.exchange.clone());
        assert_eq!(sent(&twice), sent(&once));
        assert!(sent(&once).contains('!'), "{}", sent(&once));
    }
}

#[test]
fn what_redact_adds_is_applied() {
    let plan = Plan::new(&["pointer:/a/*/b", "header:X-Internal", "regex:ssn-(\\d+)", "personal"]).unwrap();
    let exchange = exchange(
        "/ssn-12345678/x",
        (
            &[JSON, ("x-internal", "host 7"), ("x-other", "ann@example.com")],
            r#"{"a":[{"b":{"c":"x","d":[7]}}],"note":"ssn-555","given_name":"Ann"}"#,
        ),
        (&[], ""),
    );
    let redactor = Redactor::new(plan);
    let redacted = redactor.redact(Judged::new(exchange, Verdict::default()));
    assert_eq!(
        sent(&redacted),
        "content-type: application/json\nx-internal: !custom-2!\nx-other: !email-3!\n\
         {\"a\":[{\"b\":{\"c\":\"!custom-6!\",\"d\":[7]}}],\"note\":\"ssn-!custom-4!\",\"given_name\":\"!person-5!\"}"
    );
    assert_eq!(&*redacted.exchange.request.target.path_and_query, "/ssn-!custom-1!/x");
}

#[test]
fn personal_data_is_counted_and_kept_unless_it_is_to_be_masked() {
    let redactor = Redactor::default();
    let text =
        r#"{"email":"ann@example.com","phone_number":"+4915112345678","again":"ann@example.com","given_name":true}"#;
    let redacted = redactor.redact(Judged::new(exchange("/x", (&[JSON], text), (&[], "")), Verdict::default()));
    assert_eq!(redacted.exchange.request.body.content, text);
    assert_eq!(redactor.counters().personal.into_iter().collect::<Vec<_>>(), [("email", 1), ("phone", 1)]);
}

#[test]
fn a_live_request_is_redacted_as_its_recording_was() {
    let recorded = Redactor::default();
    let exchange = exchange("/x?token=one&q=1", (&[JSON], r#"{"secret":"abc","n":1}"#), (&[], ""));
    let mut live = exchange.request.clone();
    live.target.path_and_query = "/x?token=two&q=1".into();
    let recorded = recorded.redact(Judged::new(exchange, Verdict::default()));
    let live = Redactor::default().request(&live);
    assert!(matches(&recorded.exchange.request.target.path_and_query, &live.target.path_and_query));
    assert_eq!(recorded.exchange.request.body.redacted, live.body.redacted);
}

#[test]
fn labels_are_renumbered_in_the_order_of_their_first_occurrence() {
    let redactor = Redactor::default();
    let first = exchange("/x", (&[JSON], r#"{"token":"secret-one","pin":1234}"#), (&[], ""));
    let second = exchange("/x?q=secret-one", (&[JSON], r#"{"token":"secret-two","pin":1234}"#), (&[], ""));
    let mut first = redactor.redact(Judged::new(first, Verdict::default()));
    let mut second = redactor.redact(Judged::new(second, Verdict::default()));
    let mut renumbering = Renumbering::default();
    renumbering.renumber(&mut second);
    renumbering.renumber(&mut first);
    assert_eq!(&*second.exchange.request.target.path_and_query, "/x?q=!token-1!");
    assert_eq!(second.exchange.request.body.content, r#"{"token":"!token-3!","pin":2}"#);
    assert_eq!(first.exchange.request.body.content, r#"{"token":"!token-1!","pin":2}"#);
    renumbering.next_source();
    renumbering.renumber(&mut first);
    assert_eq!(first.exchange.request.body.content, r#"{"token":"!token-5!","pin":4}"#);
}

#[test]
fn a_text_for_people_shows_no_secret() {
    let redactor = Redactor::default();
    assert_eq!(&*redactor.text("https://t/cb?code=SplxlOBeZQQYbYS6WxSbIA&x=1"), "https://t/cb?code=!code-1!&x=1");
    assert_eq!(&*redactor.text("no SplxlOBeZQQYbYS6WxSbIA"), "no !code-1!");
}

#[test]
fn a_scan_finds_every_form_and_shows_none() {
    let redactor = Redactor::default();
    let _ = redactor.text("client_secret=s3cr3t/value~1");
    for (text, form) in [
        ("a s3cr3t/value~1 b", "raw"),
        ("a czNjcjN0L3ZhbHVlfjE= b", "base64"),
        ("a 7333637233742f76616c75657e31 b", "hex"),
        ("a s3cr3t%2fvalue%7E1 b", "percent-encoded"),
        (r"a s3cr3t\/value~1 b", "escaped"),
        (r"a s\u0033cr3t/value~1 b", "escaped"),
    ] {
        let hits = redactor.scan(text.as_bytes());
        assert_eq!(hits, [Hit { offset: 2, kind: "client-secret", form, label: "!client-secret-1!".into() }], "{text}");
    }
    assert!(redactor.scan(b"nothing of the kind").is_empty());
}

#[test]
fn a_path_that_is_a_secret_whole_keeps_its_slash() {
    let redacted = redact(exchange("/back/to/where?x=1", (&[("cookie", "return=/back/to/where")], ""), (&[], "")));
    assert_eq!(&*redacted.exchange.request.target.path_and_query, "/!cookie-1!?x=1");
}

#[test]
fn text_of_two_or_four_bytes_to_a_character_is_withheld_whatever_its_type() {
    let text = "<login><password>Q1w2e3r4t5y6</password></login>";
    let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let utf32: Vec<u8> = text.chars().flat_map(|character| u32::from(character).to_be_bytes()).collect();
    let after = |mark: &[u8], text: Vec<u8>| [mark.to_vec(), text].concat();
    let kept = |media: Option<&str>, content: Vec<u8>| {
        let mut exchange = exchange("/x", (&[], ""), (&[], ""));
        let response = exchange.response.as_mut().unwrap();
        response.headers = media.map_or_else(Headers::default, |media| headers(&[("content-type", media)]));
        response.body = Body::whole(content);
        redact(exchange).exchange.response.as_ref().unwrap().body.clone()
    };
    for (media, content) in [
        (Some("application/xml; charset=utf-16"), utf16(u16::to_le_bytes)),
        (Some("text/plain; charset=\"UTF-16BE\""), utf16(u16::to_be_bytes)),
        (Some("text/xml"), after(b"\xff\xfe", utf16(u16::to_le_bytes))),
        (Some("text/html"), after(b"\xfe\xff", utf16(u16::to_be_bytes))),
        (None, after(b"\xff\xfe", utf16(u16::to_le_bytes))),
        (Some("text/plain; charset=utf-32"), utf32.clone()),
        (Some("text/plain"), after(b"\0\0\xfe\xff", utf32)),
    ] {
        let body = kept(media, content);
        assert_eq!(body.presence, Presence::Withheld(Withheld::Unparsable), "{media:?}");
        assert!(body.content.is_empty(), "{media:?}");
    }
    // A wrong `charset`, and binary data that begins as a mark does.
    for (media, content) in
        [("text/plain; charset=utf-16", b"plain words".to_vec()), ("image/x", b"\xff\xfe\0\xd8\0\xd8\0\xd8".to_vec())]
    {
        assert_eq!(kept(Some(media), content.clone()).content, content, "{media}");
    }
}

#[test]
fn a_client_secret_that_is_known_beforehand_counts_once_a_message_holds_it() {
    let redactor = Redactor::default();
    redactor.remember_client_secret("a-secret-of-a-client");
    assert!(redactor.counters().secrets.is_empty());
    let body = "client_id=x&client_secret=a-secret-of-a-client";
    let _ = redactor.redact(Judged::new(exchange("/oauth/token", (&[FORM], body), (&[], "")), Verdict::default()));
    assert_eq!(redactor.counters().secrets.into_iter().collect::<Vec<_>>(), [("client-secret", 1)]);
}
