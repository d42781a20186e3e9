//! Secrets in bodies.

use super::*;

#[test]
fn json_is_edited_in_place_and_all_else_survives_byte_for_byte() {
    assert_eq!(
        body("{ \"id\" : \"con_1\",\r\n\"n\":1.50e+3, \"client_secret\":\"a\\u0062c-longer\" , \"x\":[ ]}"),
        "{ \"id\" : \"con_1\",\r\n\"n\":1.50e+3, \"client_secret\":\"!client-secret-1!\" , \"x\":[ ]}"
    );
}

#[test]
fn a_known_secret_is_found_behind_whatever_hides_a_part_of_it() {
    for (secret, written) in [
        ("ab\"cd\\ef-12345", r#"ab\"cd\\ef-12345"#),
        ("line1\nline2-98765", r"line1\nline2-98765"),
        ("ab/cd/ef-12345", r"ab\/cd\/ef-12345"),
        ("abcdef-12345", r"\u0061bcdef-12345"),
        ("abcdef-12345", r"\\u0061bcdef-12345"),
        ("abcdef-12345", "%61bcdef-12345"),
        ("abcdef-12345", "&#97;bcdef-12345"),
    ] {
        let redactor = Redactor::default();
        assert!(redactor.remember(secret.as_bytes()));
        let text = format!(r"say \n 50% & {written}.");
        assert_eq!(*redactor.text(&text), r"say \n 50% & !custom-1!.", "{text}");
    }
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
    let dated = r#"{"secrets":[{"name":"KEY","updated_at":"2026-01-02T03:04:05.678Z"}],"updated_at":"2026-01-02T03:04:05.678Z"}"#;
    assert_eq!(body(dated), dated);
    assert_eq!(body(r#"{"password":"2026-01-02T03:04:05Z"}"#), r#"{"password":"!password-1!"}"#);
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
fn a_body_that_does_not_match_its_type_is_kept_without_its_secrets_and_marked_malformed() {
    for (media, text, expected) in [
        ("application/json", &br#"{"a":1,"password":"s3cr3t-value","password":"other-0123"}"#[..], "#,#"),
        ("application/json", b"\xef\xbb\xbf{\"password\":\"s3cr3t-value\"}", "#"),
        ("application/json", b"{\"b\":\"\\ud800\",\"password\":\"s3cr3t-value\"}", "#"),
        ("application/json; charset=iso-8859-1", b"{\"caf\xe9\":\"\xe9\",\"password\":\"s3cr3t-valu\xe9\"}", "#"),
        ("application/json", b"{\"password\":\"s3cr3t-value\",\"pin\":123456,\"a\":1,\"a\":2}", "#,#"),
        ("application/json", br#"{"a":"some text","b":"other"#, ""),
        ("application/json", b"{'a': 'some text', }", ""),
        ("application/json", b"client_secret=s3cr3t-value is wrong", "#"),
        ("application/json", b"{\"a\":1}\r\n{\"password\":\"s3cr3t-value\"}\n", "#"),
        ("application/problem+json; charset=utf-8", b"nope", ""),
        ("application/json", b"<html><body>Bad Gateway</body></html>", ""),
        ("application/json", b"ok", ""),
        ("application/x-www-form-urlencoded", b"a=%zz&password=s3cr3t-value%zz", "#"),
        ("application/x-www-form-urlencoded", b"%ff=1&password=s3cr3t-value", "#"),
        (
            "multipart/form-data",
            b"--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cr3t-value\r\n--b--\r\n",
            "#",
        ),
    ] {
        let redactor = Redactor::default();
        let mut exchange = exchange("/x", (&[], ""), (&[("content-type", media), ("content-length", "7")], ""));
        exchange.response.as_mut().unwrap().body = Body::whole(text.to_vec());
        let redacted = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
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
    let deep = "[".repeat(contrail_exchange::json::MAX_DEPTH + 1);
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cr3t-value";
    for (media, text, rule) in [
        ("application/json", "{\0\"\0p\0a\0s\0s\0", None),
        ("application/json", "\u{1f}\u{8b}\u{8}binary", None),
        ("application/json", &*deep, None),
        ("application/json", "{'a': 1}", Some("pointer:/b")),
        ("application/json", r#"{"a":"s3cr3t-value","password":"s3cr3t-value""#, None),
        ("application/json", "{'password': 's3cr3t-value', }", None),
        ("application/json", r#"["\u0070assword": "s3cr3t-value"]"#, None),
        ("application/json", r#"{"a":"cGFzc3dvcmQ6IGh1bnRlcjIyLCBhbmQgbW9yZQ=="#, None),
        ("application/x-www-form-urlencoded", "a: 1\npassword: s3cr3t-value", None),
        ("multipart/form-data", "\u{0}", None),
        ("multipart/form-data; boundary=b", multipart, None),
        ("multipart/form-data", multipart, None),
    ] {
        let redactor = Redactor::new(Plan::new(rule.as_slice()).unwrap());
        let exchange = exchange("/x", (&[], ""), (&[("content-type", media), ("content-length", "7")], text));
        let redacted = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
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
fn a_secret_that_is_a_name_elsewhere_stays_there_and_is_no_leak() {
    for name in ["X-Api-Key", "client_credentials", "customer_id"] {
        let redactor = Redactor::default();
        let named = serde_json::json!({"headers": {name: null}}).to_string();
        let valued = serde_json::json!({"api_key": name, "note": format!("not {name}")}).to_string();
        for body in [&named, &valued, &named] {
            let before = exchange("/x", (&[JSON], body), (&[JSON], "{}"));
            let redacted = redactor.redact(JudgedExchange::new(before, Verdict::default()));
            let now = String::from_utf8_lossy(&redacted.exchange.request.body.content).into_owned();
            assert_eq!(now.contains(&named), *body == named, "{now}");
            assert!(!now.contains(&format!("\"api_key\":\"{name}\"")), "{now}");
            assert!(redactor.scan(now.as_bytes()).is_empty(), "{now}");
        }
    }
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
