//! Messages that two readers read in two ways: what either of them takes for a secret is in nothing that is written.

mod second;

use std::fmt::Write as _;

use contrail_exchange::{
    Body,
    finding::{Finding, Rule, Verdict},
};
use proptest::prelude::*;

use super::{properties::all, *};

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data; boundary=b";
/// Short, so that no shape and no other place gives it away; with signs that forms and pointers give a meaning.
const SECRETS: [&str; 4] = ["Sup3rS3cretValue", "hunter22", "Zm9vYmFy/c2VjcmV0+eA==", "a&b=c;d/e~1f 9z7Q"];

/// All that is kept of an exchange with this request body, and of findings at these places of it.
fn kept(redactor: &Redactor, media: &str, content: &[u8], places: &[&str]) -> String {
    let fields = [("content-type", media)];
    let fields = if media.is_empty() { &[][..] } else { &fields[..] };
    let mut message = exchange("/x", (fields, ""), (&[], ""));
    message.request.body = Body::whole(content.to_vec());
    let mut verdict = Verdict::default();
    verdict.findings.extend(places.iter().map(|at| Finding::new(Rule::RequestBodyUndocumented, *at, "a field")));
    all(&redactor.redact(JudgedExchange::new(message, verdict)))
}

fn leaks(text: &str, secret: &str) -> bool {
    let pointer = secret.replace('~', "~0").replace('/', "~1");
    let debug = secret.replace('\\', "\\\\").replace('"', "\\\"");
    [secret, &pointer, &debug].iter().any(|form| text.contains(*form))
}

fn part(disposition: &str, secret: &str) -> String {
    format!("--b\r\nContent-Disposition: {disposition}\r\n\r\n{secret}\r\n--b--\r\n")
}

#[test]
fn a_part_is_redacted_if_any_reading_of_its_head_names_a_secret() {
    for disposition in [
        "form-data; name=client_secret",
        "form-data; filename=\"a; name=b\"; name=\"client_secret\"",
        "form-data; filename=\"a; name=client_secret\"; name=\"b\"",
        "form-data; filename=\"a\\\"; name=b; x=\"; name=\"client_secret\"",
        "form-data; filename=\"a\\\"; name=client_secret; x=\"; name=\"b\"",
        "form-data; filename=\"C:\\\"; name=\"client_secret\"",
        "form-data; name=b; name=client_secret",
        "form-data; name=client_secret; name=b",
        "form-data; name=b; name*=UTF-8''client%5Fsecret",
        "form-data; name*0=client_; name*1=secret",
        "form-data; name*0*=utf-8''client%5F; name*1=\"secret\"",
        "form-data; filename*=UTF-8''x%3B%20name%3Db; name=client_secret",
        "form-data ;\r\n  NAME = \"client_secret\"",
        "form-data;\r\n\tname=\r\n\t\"client_secret\"",
        "form-data; name='client_secret'",
        "form-data; name=\"user[client_secret]\"",
        "form-data; name=\"client\\_secret\"",
    ] {
        for secret in SECRETS {
            for body in [
                part(disposition, secret),
                part(disposition, secret).replace("Content-Disposition", "CONTENT-DISPOSITION "),
                part(disposition, secret).replace("\r\n", "\n"),
                part(&format!("form-data; name=x\r\ncontent-disposition: {disposition}"), secret),
            ] {
                let text = kept(&Redactor::default(), MULTIPART, body.as_bytes(), &[]);
                assert!(!leaks(&text, secret), "{secret} of\n{body}\nis in\n{text}");
                assert!(text.contains("!client-secret-"), "withheld:\n{body}");
            }
        }
    }
}

#[test]
fn a_part_in_base64_is_read_as_what_it_stands_for() {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let secret = SECRETS[0];
    for (disposition, plain) in [
        ("form-data; name=f", format!("{{\"a\":\"{}\",\"password\":\"{secret}\"}}", "x".repeat(60))),
        ("form-data; name=f", format!("a={}&client_secret={secret}", "x".repeat(80))),
    ] {
        let coded: Vec<String> = BASE64_STANDARD
            .encode(plain)
            .as_bytes()
            .chunks(76)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let head = format!("{disposition}\r\nContent-Transfer-Encoding: BASE64");
        let body = part(&head, &coded.join("\r\n"));
        let text = kept(&Redactor::default(), MULTIPART, body.as_bytes(), &[]);
        assert!(!text.contains(&coded[0]) && text.contains('!'), "{body}\nis kept as\n{text}");
        let redactor = Redactor::default();
        kept(&redactor, MULTIPART, body.as_bytes(), &[]);
        assert!(!redactor.text(&format!("no such thing: {secret}.")).contains(secret), "{body}");
    }
}

#[test]
fn a_part_with_too_many_names_to_read_each_is_not_kept_as_it_is() {
    let disposition = format!("form-data; name=client_secret{}", "; name=b".repeat(100));
    for ends in ["\r\n", "\n"] {
        let body = part(&disposition, SECRETS[0]).replace("\r\n", ends);
        assert!(!leaks(&kept(&Redactor::default(), MULTIPART, body.as_bytes(), &[]), SECRETS[0]), "{body}");
    }
}

#[test]
fn a_multipart_body_is_read_by_every_boundary_and_line_end_that_a_reader_may_go_by() {
    let secret = SECRETS[0];
    let simple = part("form-data; name=client_secret", secret);
    let inner = simple.replace("--b", "--in");
    let typed = |media: &str, inner: &str| format!("--b\r\nContent-Type: {media}\r\n\r\n{inner}\r\n--b--");
    for (media, body) in [
        ("multipart/form-data; boundary=\"b\"", simple.clone()),
        ("multipart/form-data; charset=\"x; boundary=c\"; boundary=b", simple.clone()),
        ("multipart/form-data; boundary=b; boundary=c", format!("--c\r\n\r\n{simple}\r\n--c--")),
        ("multipart/form-data; boundary=c; boundary=b", format!("--c\r\n\r\n{simple}\r\n--c--")),
        ("multipart/form-data; boundary=\"a b\"", simple.replace("--b", "--a b")),
        ("multipart/form-data; boundary=a b", simple.replace("--b", "--a b")),
        ("Multipart/Mixed;boundary = b", simple.clone()),
        // The boundary stands inside the value, at the beginning of no line that ends with CRLF.
        (MULTIPART, simple.replace(secret, &format!("a\n--b\n{secret}"))),
        (MULTIPART, format!("{simple}\r\n{simple}")),
        (MULTIPART, format!("client_secret={secret}&a=1\r\n{}", part("form-data; name=a", "1"))),
        (MULTIPART, format!("{}client_secret={secret}", part("form-data; name=a", "1"))),
        (MULTIPART, typed("multipart/mixed; boundary=in", &inner)),
        (MULTIPART, typed("text/plain", &inner)),
        (MULTIPART, typed(FORM, &format!("a=1&client_secret={}", secret.replace('S', "%53")))),
        (MULTIPART, typed(FORM, &format!("{{\"client_secret\":\"{secret}&x=1\"}}"))),
        (MULTIPART, typed("application/json", &format!("{{\"client_secret\":\"{secret}\"}}"))),
        ("text/plain", simple.clone()),
        ("", simple.clone()),
        ("application/octet-stream", format!("\r\n{simple}")),
        (FORM, simple.clone()),
    ] {
        let text = kept(&Redactor::default(), media, body.as_bytes(), &[]);
        assert!(!leaks(&text, secret) && !leaks(&text, "%53up3r"), "{media}\n{body}\nis kept as\n{text}");
        assert!(text.contains('!'), "withheld: {media}\n{body}");
    }
    for (media, body) in [
        ("multipart/form-data", simple.clone()),
        ("multipart/form-data; boundary=c", simple.clone()),
        (MULTIPART, simple.replace("--b--", "")),
        (MULTIPART, "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".repeat(9) + secret),
    ] {
        assert!(!leaks(&kept(&Redactor::default(), media, body.as_bytes(), &[]), secret), "{media}\n{body}");
    }
}

#[test]
fn a_body_is_read_by_its_bytes_as_well_as_by_its_type() {
    for secret in SECRETS {
        let coded = percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string();
        let json = serde_json::json!({"grant_type": "x", "client_secret": secret, "audience": "/api/v2/"}).to_string();
        let form = format!("grant_type=x&client_secret={coded}&audience=%2F");
        for media in [FORM, "text/plain", "application/octet-stream", "", "text/html; charset=utf-8", "x"] {
            for body in [
                json.clone(),
                format!("[{json}]"),
                format!(" \r\n{json}"),
                format!("{json}\n{json}\n"),
                form.clone(),
                format!("client_secret={coded}"),
            ] {
                let text = kept(&Redactor::default(), media, body.as_bytes(), &[]);
                assert!(!leaks(&text, secret) && !leaks(&text, &coded), "{media}\n{body}\nis kept as\n{text}");
            }
        }
        for media in ["application/json", "text/json", "application/x+json"] {
            let text = kept(&Redactor::default(), media, form.as_bytes(), &[]);
            assert!(!leaks(&text, secret) && !leaks(&text, &coded), "{media}\n{form}\nis kept as\n{text}");
        }
        for body in [format!("client_secret: {secret}"), format!("a: 1\nclient_secret: {secret}\nb: 2")] {
            let text = kept(&Redactor::default(), FORM, body.as_bytes(), &[]);
            assert!(!leaks(&text, secret), "{body}\nis kept as\n{text}");
        }
    }
    let xml = format!("<a><client_secret>{0}</client_secret><b password=\"{0}\"/></a>", SECRETS[0]);
    for media in [FORM, "application/xml", "text/plain", ""] {
        let text = kept(&Redactor::default(), media, xml.as_bytes(), &[]);
        assert!(!leaks(&text, SECRETS[0]), "{media}\n{text}");
    }
}

/// Bodies that readers read in more than one way, with this secret in each.
fn ambiguous(secret: &str) -> Vec<(&'static str, String)> {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let json = serde_json::json!({"a": "b", "client_secret": secret}).to_string();
    let mut bodies: Vec<(&str, String)> = Vec::new();
    for media in [FORM, "text/plain", "application/octet-stream", ""] {
        bodies.extend([(media, json.clone()), (media, part("form-data; name=client_secret", secret))]);
        bodies.push((media, format!("<a><client_secret>{secret}</client_secret></a>")));
    }
    for disposition in [
        "form-data; filename=\"a; name=b\"; name=\"client_secret\"",
        "form-data; filename=\"a\\\"; name=b; x=\"; name=\"client_secret\"",
        "form-data; filename*=UTF-8''x%3B%20name%3Db; name=client_secret",
        "form-data; name=b; name*=UTF-8''client%5Fsecret",
        "form-data; name*0=client_; name*1=secret",
        "form-data; name=b; name=client_secret",
    ] {
        bodies.push((MULTIPART, part(disposition, secret)));
        bodies.push((MULTIPART, part(disposition, secret).replace("\r\n", "\n")));
    }
    let inner = part("form-data; name=client_secret", secret).replace("--b", "--in");
    bodies.push((MULTIPART, format!("--b\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n{inner}\r\n--b--")));
    bodies.push(("multipart/form-data; boundary=\"a b\"", inner.replace("--in", "--a b")));
    bodies.push(("multipart/form-data; boundary=c; boundary=in", format!("--c\r\n\r\n{inner}\r\n--c--")));
    bodies
        .push(("application/json", format!(r#"{{"x":{{"{secret}":{{"password":"p"}}}},"client_secret":"{secret}"}}"#)));
    bodies.push(("application/json", format!(r#"{{"client_secret":"{secret}","client_secret":"{secret}""#)));
    bodies.push(("application/json", format!(r#"{{"state":"{}"}}"#, BASE64_STANDARD.encode(&json))));
    bodies.push((FORM, format!("name=password&value={secret}")));
    bodies
}

#[test]
fn what_any_reader_takes_for_a_secret_is_nowhere_in_an_exchange_or_its_verdict() {
    let secret = SECRETS[0];
    for (media, body) in ambiguous(secret) {
        let fields = [("content-type", media)];
        let fields = if media.is_empty() { &[][..] } else { &fields[..] };
        let message = exchange(&format!("/reset/Q1{secret}?a=1&password={secret}"), (fields, &body), (fields, &body));
        let mut verdict = Verdict::default();
        for (rule, at) in [
            (Rule::RequestBodyUndocumented, format!("/client_secret/{secret}")),
            (Rule::ResponseBodyUndocumented, format!("/{}", body.replace('~', "~0").replace('/', "~1"))),
            (Rule::RequestBodyMalformed, format!("client_secret={secret}")),
        ] {
            verdict.findings.push(Finding::new(rule, at, "a field").seen(body.clone()));
        }
        let redactor = Redactor::default();
        let text = properties::all(&redactor.redact(JudgedExchange::new(message, verdict)));
        assert!(!leaks(&text, secret), "{media}\n{body}\nis in:\n{text}");
        assert!(redactor.scan(text.as_bytes()).is_empty(), "{media}\n{body}\nis in:\n{text}");
    }
}

#[test]
fn a_place_has_the_names_of_the_redacted_body() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln";
    let secret = SECRETS[0];
    for (media, body, place) in [
        ("application/json", format!(r#"{{"x":{{"{token}":{{"password":"p"}}}}}}"#), format!("/x/{token}/password")),
        (
            "application/json",
            format!(r#"{{"x/y~{secret}/":{{"pin":5}},"client_secret":"{secret}"}}"#),
            format!("/x~1y~0{secret}~1/pin"),
        ),
        ("application/json", r#"{"password=hunter2x9":{"password":"p"}}"#.to_owned(), "/password=hunter2x9".to_owned()),
        (FORM, format!("{token}=1&a=password%3D{secret}"), format!("/{token}")),
        (FORM, format!("password%3D{secret}=1"), format!("/password={secret}")),
        (
            FORM,
            format!(r#"{{"client_secret":"{secret}","a":"b"}}"#),
            format!(r#"/{{"client_secret":"{secret}","a":"b"}}"#),
        ),
    ] {
        let text = kept(&Redactor::default(), media, body.as_bytes(), &[&place]);
        for secret in [token, secret, "hunter2x9"] {
            assert!(!leaks(&text, secret), "{secret} of\n{body}\nis in\n{text}");
        }
    }
}

#[test]
fn findings_about_a_body_that_does_not_parse_show_no_secret_of_it() {
    for secret in ["pw;12%zz", "%ff-hunter22;x", "a%4"] {
        let mut message =
            exchange("/x", (&[("content-type", FORM)], &format!("a=1&client_secret={secret}")), (&[], ""));
        message.response = None;
        let finding = Finding::new(Rule::RequestBodyMalformed, "/client_secret", "percent-encoded UTF-8").seen(secret);
        let verdict = Verdict { findings: vec![finding], ..Verdict::default() };
        let text = all(&Redactor::default().redact(JudgedExchange::new(message, verdict)));
        assert!(!leaks(&text, secret) && text.contains("!client-secret-1!"), "{text}");
    }
}

#[test]
fn the_places_that_count_as_redacted_are_there_in_the_redacted_body() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln";
    let body = format!(r#"{{"x~/":{{"{token}":{{"password":"p","token":7}}}},"{token}":[{{"client_secret":"s"}}]}}"#);
    let message = exchange("/x", (&[("content-type", "application/json")], &body), (&[], ""));
    let redacted = Redactor::default().redact(JudgedExchange::new(message, Verdict::default()));
    let body = &redacted.exchange.request.body;
    let document = body.document().unwrap();
    assert_eq!(body.redacted.len(), 3, "{:?}", body.redacted);
    for place in &body.redacted {
        assert!(document.pointer(place).is_some(), "{place} is not in {}", String::from_utf8_lossy(&body.content));
    }
}

#[test]
fn a_name_beside_a_value_decides_what_the_value_is() {
    for name in ["x-api-key", "Authorization", "Api_Key", "client_secret", "X-Functions-Key", "x_auth"] {
        for member in ["name", "key", "header", "field"] {
            let body = format!(r#"{{"items":[{{"{member}":"{name}","value":"Sup3rS3cretValue"}}]}}"#);
            for media in ["application/json", "text/plain", FORM, ""] {
                let text = kept(&Redactor::default(), media, body.as_bytes(), &[]);
                assert!(!leaks(&text, "Sup3rS3cretValue"), "{media}\n{body}\nis kept as\n{text}");
            }
            let har = format!(r#"{{"log":{{"entries":[{{"request":{{"headers":[]}},"_own":{body}}}]}}}}"#);
            for file in [body.clone(), har] {
                let cleaned = Redactor::default().file(&file.clone().into_bytes().into());
                assert_eq!(cleaned.sightings.len(), 1, "{file}");
                assert!(!leaks(&String::from_utf8_lossy(&cleaned.content), "Sup3rS3cretValue"), "{file}");
            }
        }
        let redacted = Redactor::default().redact(JudgedExchange::new(
            exchange("/x", (&[(&*name.to_ascii_lowercase(), "Sup3rS3cretValue")], ""), (&[], "")),
            Verdict::default(),
        ));
        assert!(name == "client_secret" || !leaks(&all(&redacted), "Sup3rS3cretValue"), "{name}");
    }
    let plain = r#"{"items":[{"name":"take","value":"Sup3rS3cretValue"},{"key":"token","count":5}]}"#;
    assert!(kept(&Redactor::default(), "application/json", plain.as_bytes(), &[]).contains("Sup3rS3cretValue"));
}

const SENSITIVE: [&str; 4] = ["client_secret", "password", "refresh_token", "private_key"];

/// A word of eight letters and digits that nothing distinguishes from others.
fn value() -> impl Strategy<Value = String> {
    "[a-z]{4}[0-9][A-Z]{3}[0-9]"
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(&SENSITIVE[..]).prop_map(str::to_owned),
        proptest::sample::select(&["a", "file", "note", "name"][..]).prop_map(str::to_owned),
    ]
}

/// A parameter as some client may write it.
fn parameter() -> impl Strategy<Value = String> {
    let key = proptest::sample::select(&["name", "filename", "NAME", "filename*", "x", "name "][..]);
    let text = prop_oneof![name(), Just("a; name=b".to_owned()), name().prop_map(|name| format!("a; name={name}; b"))];
    (key, text, 0..5_u8).prop_map(|(key, text, style)| match style {
        0 if !text.contains(';') => format!("{key}={text}"),
        1 => format!("{key} = \"{text}\""),
        2 => format!("{key}=\"{}\"", text.chars().flat_map(|character| ['\\', character]).collect::<String>()),
        3 => format!("{key}=\"x\\\"{text}\""),
        _ => format!("{key}=\"{text}\""),
    })
}

#[test]
fn a_field_that_ends_inside_of_a_secret_is_masked_where_a_sign_follows_a_percent_sign() {
    let body = r#"{"refresh_token":"aaaa0AAA0%+aaaa0AAA0","client_secret":"aaaa0AAA1&aaaa0AAA1"}"#;
    let fields = second::fields(body);
    assert_eq!(fields[0].0, r#"{"refresh_token":"aaaa0AAA0% aaaa0AAA0","client_secret":"aaaa0AAA1"#);
    let places: Vec<String> = fields.iter().map(|(name, _)| format!("/{name}")).collect();
    let text =
        kept(&Redactor::default(), FORM, body.as_bytes(), &places.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(!text.contains("aaaa0AAA"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_value_of_a_part_that_a_second_reader_calls_secret_is_kept(
        made in proptest::collection::vec((proptest::collection::vec(parameter(), 0..4), value(), 0..4_usize), 1..4),
        boundary in "[a-z]{1,6}",
        ends in 0..6_u8,
    ) {
        let mut body = String::new();
        for (parameters, value, inside) in &made {
            let parameters = [vec![String::new()], parameters.clone()].concat().join("; ");
            let value = [value.clone(), format!("x\r\n--{boundary}no\r\n{value}"), format!("\r\n{value}\n"), format!("x\n--{boundary}\n{value}")][*inside].clone();
            let _ = write!(body, "--{boundary}\r\nContent-Disposition: form-data{parameters}\r\n\r\n{value}\r\n");
        }
        let _ = write!(body, "--{boundary}--");
        if ends == 0 {
            body.push_str("\r\nafter");
        }
        let media = format!("multipart/form-data; boundary=\"{boundary}\"");
        let text = kept(&Redactor::default(), &media, body.as_bytes(), &[]);
        for (head, value) in second::parts(&body, &boundary).unwrap_or_default() {
            let secret = head.iter().filter_map(|line| line.split_once(':')).any(|(_, line)| {
                second::parameters(line).iter().any(|(name, text)| name == "name" && SENSITIVE.contains(&text.as_str()))
            });
            // What stands on lines of its own is what a generated value is made of.
            for word in value.split(['\r', '\n']).filter(|word| secret && word.len() == 9) {
                prop_assert!(!text.contains(word), "{word} of\n{body}\nis in\n{text}");
            }
        }
    }

    #[test]
    fn no_value_of_a_field_that_a_second_reader_calls_secret_is_kept(
        made in proptest::collection::vec((name(), value(), "[&=+% ;,{}\"/-]{0,3}", any::<u64>()), 1..5),
        media in proptest::sample::select(&[FORM, "text/plain", "application/json", "", "application/octet-stream"][..]),
    ) {
        let coded = |text: &str, bits: u64| -> String {
            text.bytes().enumerate().map(|(at, byte)| match byte {
                b' ' if bits >> (at % 64) & 1 == 1 => "+".to_owned(),
                byte if !byte.is_ascii_alphanumeric() && byte != b'_' || bits >> (at % 64) & 1 == 1 => format!("%{byte:02x}"),
                byte => char::from(byte).to_string(),
            }).collect()
        };
        let body: Vec<String> =
            made.iter().map(|(name, value, odd, bits)| format!("{}={}", coded(name, *bits), coded(&format!("{value}{odd}{value}"), !bits))).collect();
        let body = body.join("&");
        let text = kept(&Redactor::default(), media, body.as_bytes(), &[]);
        let decoded = percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned();
        for (name, value) in second::fields(&body) {
            if SENSITIVE.contains(&name.as_str()) {
                let word = &value[..9];
                prop_assert!(!text.contains(word) && !decoded.contains(word), "{word} of\n{body}\nis in\n{text}");
            }
        }
    }

    #[test]
    fn no_value_of_a_member_that_a_second_reader_calls_secret_is_kept_whatever_the_type(
        made in proptest::collection::vec((name(), value(), "[&=+%;,{}/<>\\\\\" -]{0,4}"), 1..5),
        media in proptest::sample::select(&[FORM, "text/plain", "application/json", "", "multipart/mixed", "text/xml"][..]),
    ) {
        let mut members = serde_json::Map::new();
        for (name, value, odd) in &made {
            members.insert(name.clone(), format!("{value}{odd}{value}").into());
        }
        let body = serde_json::Value::from(members.clone()).to_string();
        // Where a reader of forms sees a field.
        let places: Vec<String> =
            second::fields(&body).iter().map(|(name, _)| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
        let places: Vec<&str> = places.iter().map(String::as_str).filter(|_| media == FORM).collect();
        let text = kept(&Redactor::default(), media, body.as_bytes(), &places);
        for (name, value) in &members {
            let word = &value.as_str().unwrap()[..9];
            // A value that another member has as well may stay there: it only begins the secret.
            prop_assume!(members.iter().all(|(other, value)| other == name || !value.as_str().unwrap().contains(word)));
            prop_assert!(!SENSITIVE.contains(&name.as_str()) || !text.contains(word), "{word} of\n{body}\nis in\n{text}");
        }
    }
}
