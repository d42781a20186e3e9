//! Redaction takes time and memory that grow with a message and no faster, whatever is in it.

use contrail_exchange::finding::{Finding, Rule, Verdict};
use proptest::prelude::*;

use super::{steps::count, *};

/// What the detectors look for, and what ends it.
const ATOMS: &[&str] = &[
    "token",
    "password",
    "\"token\"",
    "client_secret",
    "code",
    "key",
    "name",
    "value",
    "data",
    "kind",
    "loc",
    "input",
    "is ",
    ":",
    "=",
    "&",
    ";",
    ",",
    "\"",
    "'",
    "\\",
    "\\\"",
    "\\u0022",
    "\\u00",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "</",
    "/",
    "?",
    "#",
    "%",
    "%25",
    "%22",
    "&quot;",
    "&#34;",
    "!",
    "!1",
    "!token-1!",
    "eyJ",
    "eyJh",
    "ewo",
    ".",
    "-",
    "--b",
    "\r\n",
    "\n",
    " ",
    "\t",
    "Bearer ",
    "Basic ",
    "Authorization: ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "curl -u a:",
    "--password ",
    "<input name=",
    "<key>",
    "<![CDATA[",
    "<!--",
    "/token/",
    "/reset/",
    "a1b2c3d4e5f6g7",
    "https://",
    "u:p@",
    "@",
    "data: ",
    "Content-Disposition: form-data; name=\"",
    "filename*=utf-8''",
    "name*0=",
    "AKIA",
    "ghp_",
    "Set-Cookie: ",
    "|",
    "!!str ",
    "x",
    "é",
    "0",
    "123456",
    "+1 555",
    "a@b.c",
];

const MEDIA: [&str; 8] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "text/plain",
    "application/xml",
    "text/event-stream",
    "application/yaml",
    "application/octet-stream",
];

/// The text as a body of each kind can hold it.
fn shapes(text: &str) -> [String; 4] {
    let quoted = serde_json::to_string(text).unwrap();
    [
        text.to_owned(),
        format!("{{\"a\":{quoted},\"password\":\"hunter22\"}}"),
        format!("a={text}&password=hunter22"),
        format!("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{text}\r\n--b--\r\n"),
    ]
}

/// The bytes that the searches look at in such a message.
fn steps(media: &str, body: &str) -> usize {
    let headers = [("content-type", media)];
    count(|| {
        let judged = JudgedExchange::new(exchange("/x", (&headers, body), (&[], "")), Verdict::default());
        let _ = Redactor::default().redact(judged);
    })
}

/// Ten times the text takes no more than about ten times the steps, in the first of the shapes.
fn holds_linear(media: &str, piece: &str, short: usize, first: usize) {
    let bodies = |length: usize| shapes(&piece.repeat(length / piece.len() + 1)).into_iter().take(first);
    for (shape, (short_body, long_body)) in bodies(short).zip(bodies(short * 10)).enumerate() {
        let (few, many) = (steps(media, &short_body), steps(media, &long_body));
        assert!(many <= few * 12 + 20 * short, "{media}, {piece:?} in shape {shape}: {few} steps, then {many}");
    }
}

#[test]
fn a_body_of_200_kb_is_redacted_in_time_that_grows_with_it_and_no_faster() {
    for (media, piece) in [
        ("application/json", "token: \\u0022"),
        ("application/json", "token: \"a"),
        ("application/yaml", "!token-1! token=a1b2c3d4e5f6 "),
        ("text/plain", "Authorization: \\u0022"),
        ("application/json", "/reset//reset/ghp_]"),
        ("application/json", "a /* b"),
    ] {
        holds_linear(media, piece, 20_000, 2);
    }
}

#[test]
fn many_different_secrets_are_redacted_in_time_that_grows_with_them_and_no_faster() {
    let of = |secrets: usize| {
        let secrets: Vec<String> = (0..secrets).map(|number| format!("s3cr3t-{number:06}")).collect();
        steps("application/json", &serde_json::json!({ "password": secrets }).to_string())
    };
    let (few, many) = (of(500), of(5000));
    assert!(many <= few * 12, "{few} steps for 500 secrets, {many} for 5000");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn any_repeated_text_is_redacted_in_time_that_grows_with_it_and_no_faster(
        media in prop::sample::select(&MEDIA[..]),
        piece in prop::collection::vec(prop::sample::select(ATOMS), 1..6),
    ) {
        holds_linear(media, &piece.concat(), 1_000, 4);
    }
}

/// What is written of the places of a body's secrets.
fn places(body: &str) -> Vec<String> {
    let headers = [("content-type", "application/json")];
    let judged = JudgedExchange::new(exchange("/x", (&headers, body), (&[], "")), Verdict::default());
    Redactor::default().redact(judged).into_inner().exchange.request.body.redacted
}

#[test]
fn places_below_a_long_name_take_no_more_memory_than_the_body() {
    let values: Vec<String> = (0..2000).map(|number| format!("hunter{number:04}")).collect();
    for inside in [
        serde_json::json!({ "password": values }),
        serde_json::json!({ "a": "token=hunter22abcd ".repeat(2000) }),
        serde_json::json!({ "password": (1000..3000).collect::<Vec<_>>() }),
    ] {
        let body = serde_json::json!({ "n".repeat(100_000): inside }).to_string();
        let held = places(&body);
        assert!(held.iter().map(String::len).sum::<usize>() <= 1 << 20);
        let pointers = serde_json::json!({ "n": inside }).to_string();
        assert!(places(&pointers).iter().all(|place| place.starts_with("/n/")));
    }
    let form = format!("{}={}", "n".repeat(100_000), "token%3Dhunter22abcd+".repeat(2000));
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let judged = JudgedExchange::new(exchange("/x", (&headers, &form), (&[], "")), Verdict::default());
    let redacted = Redactor::default().redact(judged).into_inner();
    assert_eq!(redacted.exchange.request.body.redacted.len(), 1);
}

#[test]
fn a_pointer_below_long_names_is_looked_for_without_writing_the_place_of_each_value() {
    let values: Vec<usize> = (0..2000).collect();
    let body = serde_json::json!({ "n".repeat(100_000): { "a": values, "b": "x" } }).to_string();
    let headers = [("content-type", "application/json")];
    let redact = |plan: Plan| {
        let judged = JudgedExchange::new(exchange("/x", (&headers, &body), (&[], "")), Verdict::default());
        Redactor::new(plan).redact(judged).into_inner().exchange.request.body.redacted.len()
    };
    let plain = count(|| assert_eq!(redact(Plan::default()), 0));
    let pointed = count(|| assert_eq!(redact(Plan::new(&["pointer:/*/b"]).unwrap()), 1));
    assert!(pointed <= plain + 10 * body.len(), "{plain} steps, then {pointed}");
}

#[test]
fn findings_about_many_masked_values_are_cleaned_in_time_that_grows_with_them_and_no_faster() {
    let of = |values: usize| {
        let body = serde_json::json!({ "password": (1000..1000 + values).collect::<Vec<_>>() }).to_string();
        let headers = [("content-type", "application/json")];
        let finding = |at: usize| {
            let at = format!("/password/{at}");
            Finding { rule: Rule::RequestBody, at, expected: "a string".into(), seen: Some("1".into()) }
        };
        let verdict = Verdict { findings: (0..values).map(finding).collect(), ..Verdict::default() };
        count(|| {
            let judged = JudgedExchange::new(exchange("/x", (&headers, &body), (&[], "")), verdict.clone());
            let _ = Redactor::default().redact(judged);
        })
    };
    let (few, many) = (of(200), of(2000));
    assert!(many <= few * 12, "{few} steps for 200 values, {many} for 2000");
}
