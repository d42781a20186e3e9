//! What each fuzz target does with its bytes, and what has to hold whatever they are.
//!
//! Shared by the targets of cargo-fuzz (`fuzz_targets/`) and by `cargo test` (`tests/it/fuzz.rs`), which runs the seeds
//! and spoiled copies of them.

use std::{
    cell::RefCell,
    fs,
    io::Cursor,
    path::Path,
    sync::{Arc, LazyLock},
    time::{Duration, Instant, SystemTime},
};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use contrail_contract::{
    CheckOptions, Contract,
    schema::{Schema, Schemas},
};
use contrail_exchange::{
    Body, Credential, DecodeLimits, Exchange, Headers, Presence, Request, Response, Target, Timings, Transport,
    json::{self, Document, SyntaxFault},
    label,
    token::{self, TokenCache},
};
use contrail_recording::{self as recording, Identity, IgnoreSet, Journal, JournalContext, MatchRules, Recording};
use contrail_redact::{JudgedExchange, Redactor, thoroughly};
use contrail_replay::{Builder, Names, Replay, Settings};
use http::{HeaderName, HeaderValue, Method, Version};
use serde_json::{Value, json};

/// A secret that a redactor was told of; nothing may come out with it.
pub const SECRET: &str = "Zq8-planted+secret/4711";

/// The secret in every coding in which it is looked for, base64 in each of the three ways in which it can stand in a
/// text: as something sends it, and that part of it which does not depend on what adjoins.
static CODED: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
    let each = |write: fn(u8) -> String| SECRET.bytes().map(write).collect::<String>();
    let whole = [
        SECRET.to_owned(),
        each(|byte| format!("%{byte:02X}")),
        each(|byte| format!("%{byte:02x}")),
        SECRET.replace('+', "%2B").replace('/', "%2F"),
        each(|byte| format!("\\u{byte:04x}")),
        each(|byte| format!("\\u{byte:04X}")),
        SECRET.replace('/', "\\/"),
        each(|byte| format!("&#{byte};")),
        each(|byte| format!("&#x{byte:X};")),
        SECRET.replace('+', "&#43;").replace('/', "&#47;"),
        each(|byte| format!("{byte:02x}")),
        each(|byte| format!("{byte:02X}")),
    ];
    let mut coded = whole.map(|text| [text.clone(), text]).to_vec();
    for before in ["", "a", "ab"] {
        let text = format!("{before}{SECRET}");
        let (first, last) = ((before.len() * 8).div_ceil(6), text.len() * 8 / 6);
        let both = [BASE64_STANDARD_NO_PAD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text)];
        coded.extend(both.map(|text| [text.clone(), text[first..last].to_owned()]));
    }
    coded
});

/// A document that says in which styles parameters come.
const STYLES: &str = include_str!("seeds/contract/styles.json");

static STYLED: LazyLock<Contract> = LazyLock::new(|| {
    let document = serde_json::from_str(STYLES).expect("the seed is JSON");
    Contract::from_document(document).expect("the seed is a contract")
});

/// The built-in contract's schemas.
static BODIES: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let contract = Contract::built_in();
    let schemas = Schemas::new(&Arc::new(contract.document().clone()));
    let names = contract.document().pointer("/components/schemas").and_then(Value::as_object).into_iter();
    let compile = |name: &String| schemas.at(&format!("/components/schemas/{name}"));
    names.flat_map(serde_json::Map::keys).map(compile).collect()
});

/// The strict parser against `serde_json`: it takes the same documents (but for its stated limits and duplicate keys),
/// gives the same values, and both layouts keep them.
pub fn json(data: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(data);
    let document = match Document::parse(data.to_vec()) {
        Ok(document) => document,
        Err(error) => {
            assert!(error.offset <= data.len(), "{error}");
            let stricter =
                matches!(error.fault, SyntaxFault::DuplicateKey | SyntaxFault::TooDeep | SyntaxFault::TooLong);
            assert!(theirs.is_err() || stricter, "{error}, and serde_json takes it");
            return;
        }
    };
    let value = document.root().to_value();
    match theirs {
        // Ours keeps a number's text; serde_json spells its exponent in its own way.
        Ok(theirs) => {
            let spelled = |value: &Value| value.to_string().replace('E', "e").replace("e+", "e");
            assert_eq!(spelled(&value), spelled(&theirs));
        }
        Err(error) => assert!(document.depth() > 100, "serde_json does not take it: {error}"),
    }
    for laid_out in [json::pretty(&document), json::compact(&document)] {
        let again = Document::parse(laid_out).expect("a layout is JSON");
        assert_eq!(again.root().to_value(), value);
    }
}

/// A HAR file of whatever tool: what can be read can be judged, redacted, written and read again.
pub fn har(data: &[u8]) {
    all_entries("fuzz.har", data);
}

/// A journal: the same; and opening it to append drops what is torn, once, and keeps every line.
pub fn journal(data: &[u8]) {
    all_entries("fuzz.journal", data);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("fuzz.journal");
    fs::write(&path, data).expect("a file can be written");
    if Journal::open(&path, context()).is_ok() {
        let (_, again) = Journal::open(&path, context()).expect("it opens as it did");
        assert_eq!(again.torn, 0);
    }
    let _ = recording::check_chain(std::slice::from_ref(&path), &[], false);
    let trail = folder.path().join("trail");
    fs::create_dir(&trail).expect("a folder can be made");
    fs::write(trail.join("trail-00000001.journal"), data).expect("a file can be written");
    let _ = Journal::open_trail(&trail, context(), &contrail_recording::TrailOptions::default());
}

/// A contract: a document in YAML or JSON, or (after a first line `overlay`) an overlay over the built-in one. It is
/// refused with a reason, or it compiles, judges, and reads back from its export as itself.
pub fn contract(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file can be written");
        path
    };
    let loaded = match data.strip_prefix(b"overlay\n") {
        Some(text) => Contract::load(&[], &[file("overlay.yaml", text)]),
        None => Contract::load(&[file("document.yaml", data)], &[]),
    };
    let contract = match loaded {
        Ok(contract) => contract,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for target in ["/api/v2/rate-limit-policies/rlp_1?a=1&a=2", "/", "/a/b"] {
        let exchange = exchange(Method::GET, target, "application/json", Bytes::from_static(b"{\"a\":[1.0,null]}"));
        let _ = contract.check(&exchange, &CheckOptions::default());
    }
    let _ = contract.documents()[0].not_implemented();
    let exported = Contract::load(&[file("export.yaml", contract.to_yaml().as_bytes())], &[]);
    assert_eq!(exported.expect("an export is a contract").document(), contract.document());
}

/// Longest time for one hostile document and one value, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A document made to cost: chains and circles of references, parts that multiply, patterns that backtrack, aliases of
/// YAML, deep nesting. The bytes choose what. It is refused, or compiled and asked for a verdict, in bounded time and stack.
pub fn hostile(data: &[u8]) {
    let started = Instant::now();
    let mut bytes = data.iter().copied();
    let mut roll = |sides: usize| usize::from(bytes.next().unwrap_or_default()) % sides;
    let text = if roll(8) == 7 { aliases(roll(48), 1 + roll(16)) } else { costly(&mut roll).to_string() };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("document.yaml");
    fs::write(&file, text).expect("a file can be written");
    if let Ok(contract) = Contract::load(&[file], &[]) {
        contract.prepare();
        for document in contract.documents() {
            let _ = document.unusable_places().count();
        }
        let value = costly_value(&mut roll);
        let text = format!("/x?p={}", "a".repeat(roll(256) * 8));
        let exchange = exchange(Method::POST, &text, "application/json", Bytes::from(value));
        let _ = contract.check(&exchange, &CheckOptions::default());
    }
    assert!(started.elapsed() < PATIENCE, "it took {:?}", started.elapsed());
}

/// Lists of lists, each of aliases of the one before: the last stands for `width` to the power of `levels` values.
fn aliases(levels: usize, width: usize) -> String {
    let head = "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths: {}\nx-a0: &a0 [1]\n".to_owned();
    let level = |level: usize| {
        let aliases = vec![format!("*a{}", level - 1); width].join(", ");
        format!("x-a{level}: &a{level} [{aliases}]\n")
    };
    std::iter::once(head).chain((1..=levels).map(level)).collect::<Vec<_>>().concat()
}

fn costly(roll: &mut impl FnMut(usize) -> usize) -> Value {
    const PATTERNS: [&str; 8] = [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a*)*b",
        "(?=(a+)+b)a*",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        r"^(\w+\s?)*$",
        "(a?){40}a{40}",
        r"^(.*)\1{9}$",
    ];
    let count = 1 + roll(64);
    let order = roll(3);
    let mut schemas = serde_json::Map::new();
    for index in 0..count {
        let mut part = || {
            let target = match order {
                0 => (index + 1) % count,
                1 => roll(count),
                _ => (index + 1 + roll(3)).min(count - 1),
            };
            json!({"$ref": format!("#/components/schemas/s{target}")})
        };
        let parts = [part(), part(), part(), part()];
        let [a, b, c, _] = parts.clone();
        let schema = match roll(14) {
            0 => a,
            1 => json!({ "allOf": parts }),
            2 => json!({ "oneOf": parts }),
            3 => json!({ "anyOf": parts }),
            4 => json!({"properties": {"a": a, "b": b}, "additionalProperties": c}),
            5 => json!({ "not": a }),
            6 => json!({"if": a, "then": b, "else": c}),
            7 => json!({"type": "string", "pattern": PATTERNS[roll(PATTERNS.len())]}),
            8 => json!({"items": a, "prefixItems": [b], "contains": c, "uniqueItems": true}),
            9 => json!({"dependentSchemas": {"a": a}, "unevaluatedProperties": false, "allOf": [b, c]}),
            10 => json!({"$dynamicAnchor": "n", "$dynamicRef": "#n", "allOf": [a]}),
            11 => json!({"oneOf": parts, "discriminator": {"propertyName": "a"}}),
            12 => json!({"patternProperties": {(PATTERNS[roll(PATTERNS.len())]): a}, "propertyNames": b}),
            _ => {
                let keyword = ["allOf", "items", "not", "anyOf"][roll(4)];
                let wrap = |inner| match keyword {
                    "allOf" | "anyOf" => json!({ keyword: [inner] }),
                    _ => json!({ keyword: inner }),
                };
                (0..roll(256) * 2).fold(a, |inner, _| wrap(inner))
            }
        };
        schemas.insert(format!("s{index}"), schema);
    }
    let schema = |index: usize| json!({"$ref": format!("#/components/schemas/s{}", index % count)});
    let content = |index| json!({"application/json": {"schema": schema(index)}});
    json!({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "components": {"schemas": schemas},
        "paths": {"/x": {"post": {"parameters": [{"name": "p", "in": "query", "schema": schema(2)}],
            "requestBody": {"content": content(0)}, "responses": {"default": {"description": "", "content": content(1)}}}}}})
}

fn costly_value(roll: &mut impl FnMut(usize) -> usize) -> String {
    let leaf = format!("\"{}!\"", "a".repeat(roll(256) * 16));
    (0..roll(256)).fold(leaf, |inner, _| match roll(4) {
        0 => format!("[{inner}]"),
        1 => format!("[1,{inner}]"),
        _ => format!("{{\"a\":{inner},\"b\":1}}"),
    })
}

/// A body, judged by every schema of the built-in contract: whatever the walk settles, the judge has nothing to say of.
pub fn body(data: &[u8]) {
    let Ok(document) = Document::parse(data.to_vec()) else { return };
    let is_origin = |text: &str| text == "https://t.example";
    for schema in BODIES.iter() {
        assert_eq!(schema.judge(&document, &is_origin), schema.judge_in_full(&document, &is_origin));
    }
}

/// A request's target, under the built-in contract and under one with parameters of every style.
pub fn target(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let method = [Method::GET, Method::POST, Method::PATCH, Method::OPTIONS][usize::from(first % 4)].clone();
    let Some(text) = path_and_query(rest, &method) else { return };
    let exchange = exchange(method, &text, "", Bytes::new());
    let _ = STYLED.check(&exchange, &CheckOptions::default());
    let _ = Identity::of(&exchange.request, &IgnoreSet::default());
    through(exchange, &Redactor::default());
}

/// A body as a form, as multipart or as JSON, of a request and of a response.
pub fn form(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let media = [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
        "application/json; charset=utf-8",
        "text/plain",
    ][usize::from(first % 4)];
    let target = ["/oauth/token", "/api/v2/actions/actions/a/test", "/form"][usize::from(first / 4 % 3)];
    let exchange = exchange(Method::POST, target, media, Bytes::copy_from_slice(rest));
    let _ = STYLED.check(&exchange, &CheckOptions::default());
    let _ = Identity::of(&exchange.request, &IgnoreSet::default());
    through(exchange, &Redactor::default());
}

/// Lines: a target, a header field, a media type, and the rest a body; a known secret stands in none of what comes out,
/// in no coding, and the quick looks that spare most texts from being read change nothing. Once more with the secret
/// planted in some coding in the field and the body. The whole as a file of any kind.
pub fn redaction(data: &[u8]) {
    let mut parts = data.splitn(4, |byte| *byte == b'\n');
    let mut next = || parts.next().unwrap_or_default();
    let (target, field, media, body) = (next(), next(), next(), next());
    let redactor = Redactor::default();
    assert!(redactor.remember(SECRET.as_bytes()));
    if let (Some(target), Ok(media)) = (path_and_query(target, &Method::POST), std::str::from_utf8(media)) {
        let mut exchange = exchange(Method::POST, &target, media, Bytes::copy_from_slice(body));
        let mut fields = field.splitn(2, |byte| *byte == b':');
        if let (Some(Ok(name)), Some(Ok(value))) =
            (fields.next().map(HeaderName::from_bytes), fields.next().map(field_value))
        {
            exchange.request.headers.append(name, value);
            exchange.request.credential = token::decode(&exchange.request.headers, None, Duration::ZERO, None);
        }
        let thorough = Redactor::default();
        assert!(thorough.remember(SECRET.as_bytes()));
        let slow = thoroughly(|| through(exchange.clone(), &thorough));
        let line = through(exchange, &redactor);
        assert_eq!(String::from_utf8_lossy(&line), String::from_utf8_lossy(&slow), "a quick look spared what matters");
        assert_eq!(redactor.counters(), thorough.counters());
        assert_clean(&line);
        let place = data.iter().map(|byte| usize::from(*byte)).sum::<usize>() % (body.len() + 1);
        let [planted, _] = &CODED[data.len() % CODED.len()];
        // In a form, the `&` of an entity separates fields.
        let is_cut = media.contains("form") && planted.contains('&');
        let planted = if is_cut { SECRET } else { planted };
        let body = [&body[..place], format!(" {planted} ").as_bytes(), &body[place..]].concat();
        let mut exchange = self::exchange(Method::POST, &target, media, Bytes::from(body));
        let note = HeaderValue::from_str(&format!("it is {planted}")).expect("it is visible");
        exchange.request.headers.append(HeaderName::from_static("x-note"), note);
        assert_clean(&through(exchange, &redactor));
    }
    let once = redactor.file(&Bytes::copy_from_slice(data)).content.into_inner();
    assert_clean(&once);
    let _ = redactor.file(&Bytes::from(once));
    let _ = redactor.body_file("application/json", &Bytes::copy_from_slice(data));
    let said = redactor.text(&String::from_utf8_lossy(data));
    assert_clean(said.as_bytes());
}

/// An `Authorization` header as it is; and three lines as the parts of a token. With and without the cache the same.
pub fn token(data: &[u8]) {
    let cache = TokenCache::new(Duration::from_secs(1), None);
    let parts: Vec<String> =
        data.splitn(3, |byte| *byte == b'\n').map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).collect();
    for value in [data.to_vec(), format!("Bearer {}", parts.join(".")).into_bytes()] {
        let Ok(value) = field_value(&value) else { continue };
        let mut headers = Headers::new();
        headers.append(http::header::AUTHORIZATION, value);
        for seconds in [0, 1_800_000_000] {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let plain = token::decode(&headers, Some(at), Duration::from_secs(1), None);
            for _ in 0..2 {
                assert_eq!(format!("{:?}", cache.credential(&headers, at)), format!("{plain:?}"));
            }
        }
        let mut exchange = exchange(Method::GET, "/api/v2/rate-limit-policies/rlp_1", "", Bytes::new());
        exchange.request.credential = token::decode(&headers, None, Duration::ZERO, None);
        exchange.request.headers = headers;
        through(exchange, &Redactor::default());
    }
}

/// A content coding: never more than its bounds.
pub fn coding(data: &[u8]) {
    const LIMITS: DecodeLimits = DecodeLimits { bytes: 1 << 16, ratio: 100 };
    let Some((&first, rest)) = data.split_first() else { return };
    let codings = ["gzip", "deflate", "br", "gzip, br", "br, deflate, gzip", "zstd", "identity", ", ,"];
    let mut headers = Headers::new();
    let coding = codings[usize::from(first) % codings.len()];
    headers.append(http::header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    let decoded = Body::whole(Bytes::copy_from_slice(rest)).decode(&headers, LIMITS);
    match decoded.presence {
        Presence::Whole => assert!(decoded.content.len() <= LIMITS.bytes.max(rest.len())),
        _ => assert!(decoded.content.is_empty()),
    }
}

/// A request to a replay: a line with the target, a line with the media type, and the rest a body. It is answered, or
/// missed with a reason.
pub fn replay(data: &[u8]) {
    thread_local! {
        static REPLAY: RefCell<Replay> = RefCell::new(recorded());
    }
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let mut next = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (target, media, body) = (next(), next(), next());
    let redactor = Redactor::default();
    for method in [Method::GET, Method::POST, Method::PATCH] {
        let request = exchange(method, &target, &media, Bytes::from(body.clone().into_bytes())).request;
        let redact = |request: &Request| redactor.request(request).into_inner();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        REPLAY.with_borrow(|replay| {
            let _ = replay.answer(&request, &redact, now);
        });
    }
}

fn recorded() -> Replay {
    let settings = Settings {
        rules: MatchRules::default(),
        names: Names::default(),
        exhausted: None,
        operation_of: Arc::new(|upstream, method, path| Contract::built_in().operation_id_at(upstream, method, path)),
        tenant: Contract::built_in(),
        has_label: Arc::new(label::has_label),
        redact: Arc::new(Request::clone),
        redact_failure: Arc::new(str::to_owned),
    };
    let mut builder = Builder::new(settings).expect("the system gives random numbers");
    builder.source("gaps.har");
    let preparer = builder.preparer();
    let file = include_bytes!("../fixtures/gaps.har");
    let recording = Recording::new("gaps.har".to_owned(), Box::new(Cursor::new(file)), None).expect("a fixture opens");
    for entry in recording {
        builder.push(preparer.prepare(entry.expect("a fixture can be read"), false));
    }
    builder.finish()
}

/// A target as it can come over a connection.
fn path_and_query(bytes: &[u8], method: &Method) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let parsed: http::uri::PathAndQuery = text.parse().ok()?;
    let form = text.starts_with('/') || (text == "*" && method == Method::OPTIONS);
    (form && parsed.as_str() == text).then(|| text.to_owned())
}

/// A field's value as it can come over a connection: without blanks around it.
fn field_value(bytes: &[u8]) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    HeaderValue::from_bytes(bytes.trim_ascii())
}

/// Whether the secret is in a text in no coding, nor where JSON doubled its backslashes.
fn assert_clean(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for text in [&*text, &text.replace("\\\\", "\\")] {
        let found = CODED.iter().find(|[_, part]| text.contains(part.as_str()));
        assert!(found.is_none(), "the secret is as {found:?} in {text}");
    }
}

fn context() -> JournalContext {
    JournalContext { upstream: "https://tenant.example".into(), contract: "c0ffee".into() }
}

/// An exchange with the same body both ways.
fn exchange(method: Method, target: &str, media: &str, body: Bytes) -> Exchange {
    let mut headers = Headers::new();
    if let (false, Ok(value)) = (media.is_empty(), field_value(media.as_bytes())) {
        headers.append(http::header::CONTENT_TYPE, value);
    }
    Exchange {
        request: Request {
            method,
            target: Target::new("https", "tenant.example", target),
            version: Version::HTTP_11,
            headers: headers.clone(),
            body: Body::whole(body.clone()),
            credential: Credential::Missing,
        },
        response: Some(Response { status: 200, version: Version::HTTP_11, headers, body: Body::whole(body) }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

fn all_entries(name: &str, data: &[u8]) {
    let input = Box::new(Cursor::new(data.to_vec()));
    let Ok(recording) = Recording::new(name.to_owned(), input, None) else { return };
    let redactor = Redactor::default();
    for entry in recording {
        match entry {
            Ok(entry) => {
                let _ = Identity::of(&entry.exchange.request, &IgnoreSet::default());
                through(entry.exchange, &redactor);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Judges, redacts, writes and reads an exchange; what was read is written the same, so that nothing is lost and
/// redaction has nothing more to do. The journal's line.
fn through(mut exchange: Exchange, redactor: &Redactor) -> Vec<u8> {
    if exchange.started.is_none() {
        // An entry without an instant is of a fixture, which holds no run-time.
        exchange.timings = Timings::default();
    }
    let verdict = Contract::built_in().check(&exchange, &CheckOptions::default());
    let once = redactor.redact(JudgedExchange::new(exchange, verdict));
    let mut line = Vec::new();
    recording::encode(&once, None, &context(), &mut line);
    assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1), "one line");
    let input = Box::new(Cursor::new(line.clone()));
    let mut entries = Recording::new("line.journal".to_owned(), input, None).expect("a line opens");
    let entry = entries.next().expect("there is an entry").expect("what was written can be read");
    assert!(entries.next().is_none());
    let verdict = entry.note.expect("our own line has a note").verdict;
    let again = redactor.redact(JudgedExchange::new(entry.exchange, verdict));
    let mut second = Vec::new();
    recording::encode(&again, None, &context(), &mut second);
    assert_eq!(without_places(&second), without_places(&line), "written, read and written again");
    line
}

/// A line without the list of redacted places: where a body repeats a name or makes one of a secret, they say less.
fn without_places(line: &[u8]) -> String {
    let mut value: Value = serde_json::from_slice(line).expect("a line is JSON");
    for message in ["request", "response"] {
        if let Some(Value::Object(members)) = value["_contrail"].get_mut(message) {
            members.remove("redacted");
        }
    }
    value.to_string()
}

/// The seeds of a target, by file name.
pub fn seeds(root: &Path, target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = root.join("seeds").join(target);
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|item| {
            let path = item.expect("a folder can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a seed can be read"))
        })
        .collect();
    found.sort();
    found
}
