//! Random secrets in random places and codings, several at once: none of them survives, in any form.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::*};
use contrail_exchange::{
    Body, Exchange, Presence,
    finding::{Finding, Rule, Verdict},
    hex::hex,
};
use proptest::prelude::*;

use super::*;

/// Choices drawn from random bytes, so that a failing case shrinks.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % sides
    }
}

fn percent(text: &str, dice: &mut Dice<'_>) -> String {
    text.bytes()
        .map(|byte| {
            let safe = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
            match dice.roll(4) {
                0 => format!("%{byte:02x}"),
                1 => format!("%{byte:02X}"),
                _ if safe => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            }
        })
        .collect()
}

fn escaped(text: &str, dice: &mut Dice<'_>) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match (character, dice.roll(4)) {
            ('/', 1) => out.push_str("\\/"),
            ('"' | '\\', 1) => {
                out.push('\\');
                out.push(character);
            }
            ('"' | '\\', _) | (_, 0) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = if dice.roll(2) == 0 { write!(out, "\\u{unit:04x}") } else { write!(out, "\\u{unit:04X}") };
                }
            }
            _ => out.push(character),
        }
    }
    out
}

fn base64(text: &str, dice: &mut Dice<'_>) -> String {
    let around = ["", "x", "yz", "{\"a\":\""];
    let text = format!("{}{text}{}", around[dice.roll(4)], around[dice.roll(4)]);
    match dice.roll(3) {
        0 => BASE64_STANDARD.encode(text),
        1 => BASE64_URL_SAFE_NO_PAD.encode(text),
        _ => BASE64_STANDARD_NO_PAD.encode(text),
    }
}

/// The secret in some coding that a text of visible ASCII can hold.
fn coded(secret: &str, dice: &mut Dice<'_>) -> String {
    match dice.roll(6) {
        0 => percent(secret, dice),
        // In a path, base64 of other characters may begin like any other segment.
        1 if secret.is_ascii() => base64(secret, dice),
        2 if secret.is_ascii() => hex(secret.as_bytes()),
        3 => {
            let inner = escaped(secret, dice);
            percent(&inner, dice)
        }
        4 if secret.is_ascii() => secret.to_owned(),
        _ => {
            let inner = percent(secret, dice);
            percent(&inner, dice)
        }
    }
}

/// JSON of names and values that show secrets, alone or beside each other, among many that show none.
fn document(dice: &mut Dice<'_>, depth: usize) -> String {
    const NAMES: &[&str] = &[
        "id",
        "note",
        "type",
        "a",
        "kty",
        "d",
        "k",
        "name",
        "key",
        "value",
        "values",
        "V",
        "loc",
        "input",
        "path",
        "kind",
        "data",
        "stringData",
        "sensitive",
        "attributes",
        "logprob",
        "secrets",
        "auth",
        "code",
        "grant_type",
        "redirect_uri",
        "password",
        "client_secret",
        "tokens",
        "settings",
        "pass\\u0077ord",
        "x-api-key",
        "email",
        "phone",
        "pin",
        "text",
        "raw",
    ];
    const VALUES: &[&str] = &[
        "\"plain words\"",
        "\"\"",
        "12",
        "true",
        "null",
        "\"Secret\"",
        "\"Opaque\"",
        "\"SecureString\"",
        "\"read\"",
        "\"Your password\"",
        "[[{\"type\":\"get_attr\",\"value\":\"note\"}]]",
        "\"password\"",
        "\"Authorization\"",
        "\"RSA\"",
        "\"X-Api-Key\"",
        "\"a/client_secret\"",
        "\"Q1w2e3r4t5y6u7\"",
        "\"dXNlcjpwYXNzd29yZA==\"",
        "4915112345678",
        "\"ana@shop.example\"",
        "\"{\\\"token\\\":\\\"Zx81mW3nVq7p\\\"}\"",
        "\"Bearer Zx81mW3nVq7pLk\"",
        "\"50% of it\"",
        "\"token\"",
        "\"client_credentials\"",
        "\"C:\\\\temp\\nR&D \\/reset\\/BYOvfZ8UzDzV8fUkkibj\"",
        "\"password=Hy7Tr5Gb2Nm4\"",
        "\"eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl\"",
        "\"body\"",
    ];
    let value = |dice: &mut Dice<'_>| match dice.roll(4) {
        0 if depth < 4 => document(dice, depth + 1),
        _ => VALUES[dice.roll(VALUES.len())].to_owned(),
    };
    let count = dice.roll(5);
    if dice.roll(3) == 0 {
        let items: Vec<String> = (0..count).map(|_| value(dice)).collect();
        return format!("[{}]", items.join(", "));
    }
    let mut names: Vec<&str> = (0..count).map(|_| NAMES[dice.roll(NAMES.len())]).collect();
    names.sort_unstable();
    names.dedup();
    let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":{}", value(dice))).collect();
    format!("{{{}}}", members.join(","))
}

/// Every form in which a reader of a file could find the secret.
fn leaks(text: &str, secret: &str) -> Option<String> {
    let mut texts = vec![text.to_owned()];
    for _ in 0..3 {
        let last = texts[texts.len() - 1].clone();
        texts.push(percent_encoding::percent_decode_str(&last).decode_utf8_lossy().into_owned());
        texts.push(unescaped(&last));
        let last = texts[texts.len() - 1].clone();
        texts.push(percent_encoding::percent_decode_str(&last).decode_utf8_lossy().into_owned());
    }
    let mut forms = vec![secret.to_owned(), hex(secret.as_bytes()), hex(secret.as_bytes()).to_ascii_uppercase()];
    for before in ["", "a", "ab"] {
        let text = format!("{before}{secret}");
        let (first, last) = ((before.len() * 8).div_ceil(6), text.len() * 8 / 6);
        forms.push(BASE64_STANDARD.encode(&text)[first..last].to_owned());
        forms.push(BASE64_URL_SAFE.encode(&text)[first..last].to_owned());
    }
    texts.iter().find(|text| forms.iter().any(|form| text.contains(form.as_str()))).cloned()
}

fn unescaped(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let unit =
            rest.strip_prefix("\\u").and_then(|rest| rest.get(..4)).and_then(|d| u16::from_str_radix(d, 16).ok());
        if let Some(unit) = unit {
            units.push(unit);
            rest = &rest[6..];
        } else if first == '\\' && rest.len() > 1 && rest[1..].starts_with(['"', '\\', '/']) {
            units.push(u16::from(rest.as_bytes()[1]));
            rest = &rest[2..];
        } else {
            units.extend(first.encode_utf16(&mut [0; 2]).iter());
            rest = &rest[first.len_utf8()..];
        }
    }
    String::from_utf16_lossy(&units)
}

/// All that writers, console and reports could show of an exchange.
pub(super) fn all(judged: &JudgedExchange) -> String {
    let exchange = &judged.exchange;
    let mut out = format!("{}\n", exchange.request.target);
    let mut message = |headers: &contrail_exchange::Headers, body: &Body| {
        for (name, value) in headers.iter() {
            let _ = writeln!(out, "{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        }
        let _ = writeln!(out, "{}\n{:?}", String::from_utf8_lossy(&body.content), body.redacted);
    };
    message(&exchange.request.headers, &exchange.request.body);
    if let Some(response) = &exchange.response {
        message(&response.headers, &response.body);
    }
    for finding in &judged.verdict.findings {
        let _ = writeln!(out, "{} {} {:?}", finding.at, finding.message(), finding.seen);
    }
    let _ = writeln!(out, "{:?} {:?}", exchange.transport, exchange.request.credential);
    out
}

fn add(fields: &mut contrail_exchange::Headers, name: &str, value: &str) {
    for (name, value) in headers(&[(name, value)]).iter() {
        fields.append(name.clone(), value.clone());
    }
}

/// Where a secret is recognised: by the field that it stands in.
fn plant(exchange: &mut Exchange, secret: &str, dice: &mut Dice<'_>) {
    let target = exchange.request.target.path_and_query.to_string();
    let mut fields = exchange.request.headers.clone();
    let visible = secret.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b';' | b','));
    match dice.roll(7) {
        0 if visible => add(&mut fields, "x-api-key", secret),
        1 if visible => add(&mut fields, "cookie", &format!("a=b; sid={secret}; c=d")),
        2 => add(&mut fields, "authorization", &format!("Basic {}", BASE64_STANDARD.encode(format!("me:{secret}")))),
        3 => exchange.request.target.path_and_query = format!("{target}&access_token={}", percent(secret, dice)).into(),
        4 => {
            let response = exchange.response.as_mut().unwrap();
            add(&mut response.headers, "location", &format!("/cb?id_token={}&x=1", percent(secret, dice)));
        }
        5 => grow(&mut exchange.request.body, &format!("\"client_secret\":\"{}\"", escaped(secret, dice)), dice),
        _ => {
            let body = &mut exchange.response.as_mut().unwrap().body;
            grow(body, &format!("\"refresh_token\":\"{}\"", escaped(secret, dice)), dice);
        }
    }
    exchange.request.headers = fields;
}

/// Where a secret comes again.
fn repeat(judged: &mut JudgedExchange, secret: &str, dice: &mut Dice<'_>) {
    let exchange = &mut judged.exchange;
    let target = exchange.request.target.path_and_query.to_string();
    let (path, query) = target.split_once('?').unwrap();
    let text = coded(secret, dice);
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    match dice.roll(9) {
        0 => exchange.request.target.path_and_query = format!("{path}/{}?{query}", percent(secret, dice)).into(),
        1 => exchange.request.target.path_and_query = format!("{path}?{query}&state={}", percent(&text, dice)).into(),
        2 if visible => add(&mut exchange.request.headers, "x-note", &format!("it is {text}; ok")),
        3 if visible => {
            let response = exchange.response.as_mut().unwrap();
            add(&mut response.headers, "location", &format!("https://h/p/{text}?a=b#{text}"));
        }
        4 => {
            let member = format!("\"note\":\"see {}!\"", escaped(secret, dice));
            grow(&mut exchange.request.body, &member, dice);
        }
        5 => {
            let body = &mut exchange.response.as_mut().unwrap().body;
            grow(body, &format!("\"error\":[\"{}\"]", escaped(&text, dice)), dice);
        }
        6 => {
            let nested = format!("{{\"inner\":\"{}\"}}", escaped(secret, dice));
            let body = &mut exchange.response.as_mut().unwrap().body;
            grow(body, &format!("\"nested\":\"{}\"", escaped(&nested, dice)), dice);
        }
        7 => {
            let finding =
                Finding::new(Rule::ResponseBody, format!("/{}", secret.replace('~', "")), "another").seen(text);
            judged.verdict.findings.push(finding);
        }
        _ => exchange.transport.incomplete = Some(format!("upstream said {text}")),
    }
}

/// One more member in a JSON body; its name is made unique.
fn grow(body: &mut Body, member: &str, dice: &mut Dice<'_>) {
    let text = std::str::from_utf8(&body.content).unwrap().to_owned();
    let unique = format!("{{\"m{}\":{{{member}}},", body.content.len() + dice.roll(3));
    *body = Body::whole(text.replacen('{', &unique, 1).into_bytes());
}

/// Secrets that no one would call trivial, with whatever a coding might trip over.
fn secrets() -> impl Strategy<Value = Vec<String>> {
    let one = prop_oneof![
        "[A-Za-z0-9_-]{8,40}[0-9][a-z]",
        "[A-Za-z0-9+/=]{10,90}[0-9]z",
        "[ -~]{10,40}7q",
        "[a-zéß😀\"/%&+ ]{9,20}5x",
    ];
    proptest::collection::vec(one, 1..4)
}

fn planted(secrets: &[String], bytes: &[u8]) -> JudgedExchange {
    let dice = &mut Dice(bytes.iter());
    let json = ("content-type", "application/json; charset=utf-8");
    let plain =
        exchange("/api/v2/x?take=5", (&[json], r#"{"id":"con_1","n":1.0}"#), (&[json], r#"{"ok":true,"n":5e0}"#));
    // Reports quote the messages of exchanges with findings.
    let found = |rule, at: &str| Finding::new(rule, at, "a text");
    let findings =
        vec![found(Rule::RequestBody, "/id"), found(Rule::ResponseBody, "/gone"), found(Rule::QueryParameter, "take")];
    let mut judged = JudgedExchange::new(plain, Verdict { findings, ..Verdict::default() });
    for secret in secrets {
        plant(&mut judged.exchange, secret, dice);
        for _ in 0..dice.roll(4) {
            repeat(&mut judged, secret, dice);
        }
    }
    judged
}

/// Such a text leaks nothing and is found by accident: a secret that is part of what stays, or of a label.
fn is_spoken(secret: &str) -> bool {
    let trimmed = secret.trim();
    trimmed != secret
        || secret.contains('!')
        || crate::kind::match_scope(secret.as_bytes()) != crate::kind::MatchScope::Anywhere
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_planted_secret_survives_in_any_form(secrets in secrets(), bytes in proptest::collection::vec(any::<u8>(), 400)) {
        prop_assume!(!secrets.iter().any(|secret| is_spoken(secret)));
        let judged = planted(&secrets, &bytes);
        let before = all(&judged);
        let redactor = Redactor::default();
        let redacted = redactor.redact(judged);
        let text = all(&redacted);
        for secret in &secrets {
            let leak = leaks(&text, secret);
            prop_assert!(leak.is_none(), "{secret:?} is in\n{text}\nwhich was\n{before}");
        }
        prop_assert!(redactor.scan(text.as_bytes()).is_empty(), "{text}\nwhich was\n{before}");
        let bodies = [&redacted.exchange.request.body, &redacted.exchange.response.as_ref().unwrap().body];
        for body in bodies {
            prop_assert_eq!(&body.presence, &Presence::Whole, "nothing was withheld of\n{}", before);
            prop_assert!(contrail_exchange::json::Document::parse(body.content.clone()).is_ok());
        }
    }

    #[test]
    fn redacting_twice_is_redacting_once(secrets in secrets(), bytes in proptest::collection::vec(any::<u8>(), 400)) {
        let redactor = Redactor::default();
        let once = redactor.redact(planted(&secrets, &bytes)).into_inner();
        let text = all(&once);
        for redactor in [redactor, Redactor::default()] {
            let again = redactor.redact(JudgedExchange::new(once.exchange.clone(), once.verdict.clone()));
            prop_assert_eq!(all(&again), text.clone());
            prop_assert_eq!(again.touched, Touched::default());
        }
    }

    #[test]
    fn the_quick_looks_spare_no_text_that_matters(
        secrets in secrets(),
        exchanges in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..5),
        rules in 0..4_usize,
    ) {
        let rules: &[&str] = [&[][..], &["personal"], &["header:x-note"], &["regex:[0-9]{4}z", "pointer:/n"]][rules];
        let redactor = || Redactor::new(Plan::new(rules).unwrap());
        let (quick, thorough) = (redactor(), redactor());
        // One memory for several exchanges: what one teaches is found in the next, and again where nothing is new.
        for bytes in exchanges.iter().chain(&exchanges) {
            let few = &secrets[..bytes.len() % (secrets.len() + 1)];
            let judged = planted(few, bytes);
            let (one, other) = (quick.redact(judged.clone()), thoroughly(|| thorough.redact(judged.clone())));
            prop_assert_eq!(all(&one), all(&other));
            prop_assert_eq!(one.touched, other.touched);
            let text = all(&judged);
            prop_assert_eq!(quick.scan(text.as_bytes()), thoroughly(|| thorough.scan(text.as_bytes())));
            prop_assert_eq!(&*quick.text(&text), &*thoroughly(|| thorough.text(&text)));
        }
        prop_assert_eq!(quick.counters(), thorough.counters());
    }

    #[test]
    fn what_a_json_walk_leaves_out_holds_no_secret(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
        let (quick, thorough) = (Redactor::default(), Redactor::default());
        let body = document(&mut Dice(bytes.iter()), 0);
        let json = ("content-type", "application/json");
        let judged = JudgedExchange::new(exchange("/x", (&[json], &body), (&[], "")), Verdict::default());
        let (one, other) = (quick.redact(judged.clone()), thoroughly(|| thorough.redact(judged.clone())));
        prop_assert_eq!(all(&one), all(&other), "{}", body);
        prop_assert_eq!(quick.counters(), thorough.counters(), "{}", body);
    }

    #[test]
    fn a_form_hides_no_known_secret_from_a_quick_look(
        secrets in secrets(),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let (quick, thorough) = (Redactor::default(), Redactor::default());
        for secret in &secrets {
            for redactor in [&quick, &thorough] {
                redactor.remember(secret.as_bytes());
            }
        }
        let dice = &mut Dice(bytes.iter());
        let part = |dice: &mut Dice<'_>| {
            let secret = &secrets[dice.roll(secrets.len())];
            let text = match dice.roll(5) {
                0 => "50% of it, a+b".to_owned(),
                1 => format!("{{\"a\":\"{}\"}}", escaped(secret, dice)),
                2 => coded(secret, dice),
                _ => secret.to_owned(),
            };
            let text = percent(&text, dice);
            if dice.roll(2) == 0 { text.replace("%20", "+") } else { text }
        };
        let fields: Vec<String> = (0..=dice.roll(4))
            .map(|_| match dice.roll(4) {
                0 => format!("{}=1", part(dice)),
                _ => format!("{}={}", ["a", "note", "name", "email"][dice.roll(4)], part(dice)),
            })
            .collect();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let body = fields.join("&");
        let judged = JudgedExchange::new(exchange(&format!("/x?{body}"), (&[form], &body), (&[], "")), Verdict::default());
        let (one, other) = (quick.redact(judged.clone()), thoroughly(|| thorough.redact(judged.clone())));
        prop_assert_eq!(all(&one), all(&other), "{}", body);
    }

    #[test]
    fn equal_secrets_have_equal_labels_and_others_do_not(one in "[A-Za-z0-9]{8,30}1a", other in "[A-Za-z0-9]{8,30}2b") {
        let json = ("content-type", "application/json");
        let text = format!(r#"{{"token":["{one}","{other}","{one}"],"password":"{other}"}}"#);
        let redacted = Redactor::default().redact(JudgedExchange::new(exchange("/x", (&[json], &text), (&[], "")), Verdict::default()));
        let value: serde_json::Value = serde_json::from_slice(&redacted.exchange.request.body.content).unwrap();
        let tokens = &value["token"];
        prop_assert_eq!(&tokens[0], &tokens[2]);
        prop_assert_eq!(&tokens[1], &value["password"]);
        prop_assert_ne!(&tokens[0], &tokens[1]);
    }

    #[test]
    fn redaction_never_fails_and_never_makes_json_of_what_is_none(target in "/[ -~]{0,40}", text in "\\PC{0,60}", media in 0..5_usize) {
        let media = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain", "x"][media];
        let exchange = exchange(&target, (&[("content-type", media)], &text), (&[], ""));
        let redacted = Redactor::default().redact(JudgedExchange::new(exchange, Verdict::default()));
        let body = &redacted.exchange.request.body;
        let parsed = contrail_exchange::json::Document::parse(text.as_bytes().to_vec()).is_ok();
        if media == "application/json" && !text.trim().is_empty() {
            prop_assert!(body.is_whole());
            prop_assert_eq!(body.malformed, !parsed);
            prop_assert_eq!(contrail_exchange::json::Document::parse(body.content.clone()).is_ok(), parsed);
        }
    }
}
