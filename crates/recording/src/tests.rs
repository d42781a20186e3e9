//! Encoding and decoding of exchanges.

use std::{io, sync::Arc, time::Duration, time::SystemTime};

use bytes::Bytes;
use contrail_exchange::{
    Body, Credential, Exchange, Headers, Presence, Request, Response, SignatureCheck, Target, Timings, TokenFacts,
    TokenTime, Transport, Withheld,
    finding::{Blame, Finding, Rule, Unchecked, Verdict},
};
use http::{HeaderName, HeaderValue, Method, Version};
use proptest::prelude::*;

use super::{
    Attested, Entry, JournalContext, LaidOut, Recording,
    entry::{
        encode,
        encode_note::{BodyLocation, Style, Tokens},
    },
};

/// Files to spoil.
const FILES: &[&[u8]] = &[
    include_bytes!("../../../tests/data/har/chrome.har"),
    include_bytes!("../../../tests/data/har/fiddler.har"),
    include_bytes!("../../../fixtures/gaps.har"),
    b"{\"startedDateTime\":\"x\",\"request\":{\"method\":\"GET\",\"url\":\"https://a\"},\"response\":{}}\n{\"_chain\":{}}\n",
];

fn context() -> JournalContext {
    JournalContext { upstream: "https://up.example".into(), contract: "c0ffee".into() }
}

fn journal_line(exchange: &Exchange, verdict: &Verdict, attested: Option<&Attested>) -> Vec<u8> {
    next_line(exchange, verdict, attested, None)
}

fn next_line(exchange: &Exchange, verdict: &Verdict, attested: Option<&Attested>, token: Option<&[u8]>) -> Vec<u8> {
    let mut line = Vec::new();
    encode::entry(exchange, verdict, attested, Style::Journal { context: &context(), token }, &mut line);
    line.push(b'\n');
    line
}

fn read_back(journal: Vec<u8>) -> Entry {
    let mut entries: Vec<Entry> = Recording::new("x.journal".into(), Box::new(io::Cursor::new(journal)), None)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}

fn headers() -> impl Strategy<Value = Headers> {
    let name = "[a-z][a-z0-9-]{0,8}".prop_map(|name| HeaderName::try_from(name).unwrap());
    let inner = prop::collection::vec(prop_oneof![0x21..=0x7e_u8, 0x80..=0xff_u8], 0..12);
    let value = inner.prop_map(|bytes| HeaderValue::from_bytes(&bytes).unwrap());
    prop::collection::vec((name, value), 0..5).prop_map(|fields| fields.into_iter().collect())
}

fn body() -> impl Strategy<Value = Body> {
    let content = prop_oneof![
        Just(Vec::new()),
        ".{1,20}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 1..20),
        Just(b"{\"a\": [1.0, \"\\u0041\"]}".to_vec()),
    ];
    let presence = prop_oneof![
        3 => Just(Presence::Whole),
        1 => (0..100_u64, prop::option::of(0..100_u64)).prop_map(|(kept, total)| Presence::Truncated { kept, total }),
        1 => prop_oneof![Just(Withheld::Unparsable), Just(Withheld::NotSaved), Just(Withheld::Other("else".into()))]
            .prop_map(Presence::Withheld),
    ];
    let places = prop::collection::vec("/[a-z\"]{1,4}", 0..3);
    (content, presence, prop::option::of(0..1000_u64), places, any::<bool>()).prop_map(
        |(content, presence, wire_size, redacted, malformed)| {
            let content = if matches!(presence, Presence::Withheld(_)) { Bytes::new() } else { content.into() };
            Body { content, presence, wire_size, redacted, malformed, ..Body::default() }
        },
    )
}

fn credential() -> impl Strategy<Value = Credential> {
    let facts = (
        prop::option::of(".{0,5}"),
        prop::option::of(prop::collection::vec("[a-z:]{1,8}", 0..3)),
        prop::option::of(any::<i64>()),
        0..3_usize,
        0..3_usize,
    )
        .prop_map(|(client, scopes, at, time, signature)| TokenFacts {
            user: client.as_ref().map(|_| "2bd806c9".to_owned()),
            client,
            scopes,
            issuer: Some("https://up.example/".into()),
            audience: vec!["/api/v2/".into()],
            issued_at: at,
            not_before: at,
            expires_at: at,
            lifetime: at,
            time: [TokenTime::Valid, TokenTime::Expired, TokenTime::NotYet][time],
            signature: [SignatureCheck::NotChecked, SignatureCheck::Good, SignatureCheck::Bad][signature],
            unknown_key: None,
        });
    prop_oneof![
        Just(Credential::Missing),
        Just(Credential::other_scheme("Basic")),
        Just(Credential::OtherScheme { scheme: "Basic".into(), user: Some("2bd806c9".into()) }),
        Just(Credential::Malformed("three parts".into())),
        Just(Credential::Encrypted),
        Just(Credential::Unknown),
        facts.prop_map(|facts| Credential::Token(Arc::new(facts))),
    ]
}

fn response() -> impl Strategy<Value = Option<Response>> {
    prop::option::of((1..1000_u16, headers(), body()).prop_map(|(status, headers, body)| Response {
        status,
        version: Version::HTTP_2,
        headers,
        body,
    }))
}

prop_compose! {
    fn exchange()(
        method in "[A-Z]{1,7}", path in "/[a-z%/|.]{0,9}(\\?[a-z=&+%]{0,9})?",
        request_headers in headers(), body in body(), response in response(), credential in credential(),
        at in prop::option::of(1..4_000_000_000_000_u64), times in prop::option::of(0..9_000_000_u64),
        incomplete in prop::option::of(".{1,9}"), retried: bool, client_left: bool, client_closed: bool, given in prop::option::of(424..503_u16),
    ) -> Exchange {
        let incomplete = incomplete.or_else(|| response.is_none().then(|| "no answer came".to_owned()));
        let time = times.map(Duration::from_micros).filter(|_| at.is_some());
        Exchange {
            request: Request {
                method: Method::from_bytes(method.as_bytes()).unwrap(),
                target: Target::new("https", "up.example:8", path),
                version: Version::HTTP_11,
                headers: request_headers,
                body,
                credential,
            },
            response,
            started: at.map(|millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis)),
            timings: Timings { before: None, send: time, wait: None, receive: time },
            transport: Transport {
                incomplete, client_left, client_closed, trailers: retried, event_times: retried.then(|| Box::from([0, 40])), retried, original_audience: Some("https://x/\"".into()), answered_by_contrail: None, given,
            },
        }
    }
}

fn finding() -> Finding {
    Finding::new(Rule::RequestBody, "/a\"b", "an integer").seen("\u{1}\n\u{7f}é")
}

proptest! {
    #[test]
    fn an_exchange_comes_back_from_a_journal_line_as_it_went_in(exchange in exchange()) {
        let mut verdict = Verdict {
            operation: Some("testAction".into()),
            findings: vec![finding()],
            blame: Some(Blame::Laxer),
            ..Verdict::default()
        };
        verdict.unchecked.insert(Unchecked::ErrorBody);
        let attested = Attested {
            contract: "c0ffee".into(), findings: vec![finding()], indexes: vec![0], cleared: vec![finding()],
            unchecked: Some(verdict.unchecked), blame: Some(Blame::Caught),
        };
        let line = journal_line(&exchange, &verdict, Some(&attested));
        prop_assert_eq!(memchr::memchr(b'\n', &line), Some(line.len() - 1));
        let entry = read_back(line);
        let note = entry.note.unwrap();
        prop_assert_eq!(format!("{:?}", entry.exchange), format!("{exchange:?}"));
        prop_assert_eq!(note.verdict, verdict);
        prop_assert_eq!(note.attested, Some(attested));
        prop_assert_eq!(note.contract.as_deref(), Some("c0ffee"));
        prop_assert_eq!(note.upstream.as_deref(), Some("https://up.example"));
    }

    #[test]
    fn an_entry_is_the_same_whatever_was_read_before_it(
        exchanges in prop::collection::vec(exchange(), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
    ) {
        let lines: Vec<Vec<u8>> =
            exchanges.iter().map(|exchange| journal_line(exchange, &Verdict::default(), None)).collect();
        let chosen: Vec<&Vec<u8>> = order.iter().map(|index| index.get(&lines)).collect();
        let journal: Vec<u8> = chosen.iter().flat_map(|line| line.iter().copied()).collect();
        let entries = Recording::new("x.journal".into(), Box::new(io::Cursor::new(journal)), None).unwrap();
        for (entry, line) in entries.zip(chosen) {
            let (entry, alone) = (entry.unwrap(), read_back(line.clone()));
            prop_assert_eq!(format!("{:?}", entry.exchange), format!("{:?}", alone.exchange));
            prop_assert_eq!(format!("{:?}", entry.note), format!("{:?}", alone.note));
        }
    }

    #[test]
    fn what_is_held_of_a_token_is_what_its_line_says(
        exchange in exchange(), credentials in prop::collection::vec(credential(), 1..9),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let mut tokens = Tokens::default();
        let mut exchange = exchange;
        for index in order {
            exchange.request.credential = index.get(&credentials).clone();
            let token = tokens.of(&exchange.request.credential);
            prop_assert_eq!(token.is_some(), matches!(exchange.request.credential, Credential::Token(_)));
            let verdict = Verdict::default();
            prop_assert_eq!(next_line(&exchange, &verdict, None, token), journal_line(&exchange, &verdict, None));
        }
    }

    #[test]
    fn a_line_cut_anywhere_is_dropped_and_the_ones_before_it_stay(exchange in exchange(), cut in 1..10_000_usize) {
        let line = journal_line(&exchange, &Verdict::default(), None);
        let kept = cut.min(line.len() - 1);
        let journal = [&line[..], &line[..kept]].concat();
        read_back(journal);
    }

    #[test]
    fn no_file_whatever_is_in_it_makes_the_reader_panic(
        file in 0..FILES.len(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..8),
    ) {
        let mut bytes = FILES[file].to_vec();
        for (at, byte, how) in edits {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, b"{}[]\",:\\0"[usize::from(byte) % 9]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        if let Ok(recording) = Recording::new("x".into(), Box::new(io::Cursor::new(bytes)), None) {
            // After an error there is nothing more.
            let mut failed = false;
            for entry in recording {
                prop_assert!(!failed);
                failed = entry.is_err();
            }
        }
    }

    #[test]
    fn a_fixture_entry_holds_no_instant_of_its_run(exchange in exchange()) {
        let style = |request, response| Style::Fixture { request, response, laid_out: LaidOut::default(), token: None };
        let mut texts = Vec::new();
        for started in [exchange.started, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(5))] {
            let mut run = exchange.clone();
            run.started = started;
            run.transport.retried = started.is_some();
            run.transport.original_audience = started.map(|_| "x".to_owned());
            if let Credential::Token(facts) = &mut run.request.credential {
                let facts = Arc::make_mut(facts);
                (facts.issued_at, facts.not_before, facts.expires_at) = (Some(7), None, started.map(|_| 5));
            }
            let mut text = Vec::new();
            encode::entry(&run, &Verdict::default(), None, style(BodyLocation::Inline, BodyLocation::Inline), &mut text);
            texts.push(text);
        }
        prop_assert_eq!(&texts[0], &texts[1]);
    }
}

/// Folds a recording into another place, everything in it kept.
fn folded(from: &std::path::Path, to: std::path::PathBuf) -> std::path::PathBuf {
    let redactor = contrail_redact::Redactor::new(contrail_redact::Plan::default());
    let options = super::FoldOptions {
        keep: &[super::Keep::All],
        recorded: Some("2026-11-21"),
        ..super::FoldOptions::new(&redactor, "2026-11-21")
    };
    let source = super::FoldSource { paths: vec![from.to_path_buf()], take: super::Take::All };
    super::fold(&[source], &to, &options).unwrap();
    to
}

#[test]
fn a_fold_and_a_reading_report_their_bytes_up_to_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("a.journal");
    let line = br#"{"request":{"method":"GET","url":"https://a.example/x","headers":[]},"response":{"status":200,"headers":[],"content":{}}}"#;
    let har = |entries: usize| {
        format!(
            r#"{{"log":{{"creator":{{"name":"x"}},"entries":[{}]}}}}"#,
            vec![std::str::from_utf8(line).unwrap(); entries].join(",")
        )
    };
    std::fs::write(&journal, har(5_000)).unwrap();
    let size = std::fs::metadata(&journal).unwrap().len();
    let recording = super::open(&journal).unwrap();
    let read = recording.bytes_read();
    assert!(read.load(std::sync::atomic::Ordering::Relaxed) < size);
    assert_eq!(recording.count(), 5_000);
    assert_eq!(read.load(std::sync::atomic::Ordering::Relaxed), size);

    let redactor = contrail_redact::Redactor::new(contrail_redact::Plan::default());
    let seen = std::cell::RefCell::new(Vec::new());
    let progress = |done: u64, of: u64| seen.borrow_mut().push(1000 * done / of);
    let options = super::FoldOptions { progress: Some(&progress), ..super::FoldOptions::new(&redactor, "2026-11-21") };
    let source = super::FoldSource { paths: vec![journal], take: super::Take::All };
    super::fold(&[source], &folder.path().join("b.har"), &options).unwrap();
    let seen = seen.into_inner();
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.last(), Some(&1000));
}

/// Names and bytes of all files in a folder.
fn files(folder: &std::path::Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let items = std::fs::read_dir(folder).unwrap().map(|item| item.unwrap());
    let mut files: Vec<_> = items.map(|item| (item.file_name(), std::fs::read(item.path()).unwrap())).collect();
    files.sort();
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn packing_and_unpacking_any_recording_comes_back_byte_for_byte(exchanges in prop::collection::vec(exchange(), 1..5)) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let journal: Vec<u8> =
            exchanges.iter().flat_map(|exchange| journal_line(exchange, &Verdict::default(), None)).collect();
        std::fs::write(at("a.journal"), journal).unwrap();
        let whole = folded(&at("a.journal"), at("one.har"));
        prop_assert!(std::fs::read_to_string(&whole).unwrap().contains("startedDateTime"));
        let parted = folded(&whole, at("x/rec/"));
        let packed = folded(&at("x/rec/rec.har"), at("two.har"));
        prop_assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&packed).unwrap());
        folded(&packed, at("y/rec/"));
        prop_assert_eq!(files(&parted), files(&at("y/rec")));
        // The folder is the same whether it comes from the journal or from the file.
        folded(&at("a.journal"), at("z/rec/"));
        prop_assert_eq!(files(&parted), files(&at("z/rec")));
    }
}

#[test]
fn a_journal_line_is_a_har_entry_with_what_contrail_knew_beside_it() {
    let exchange = Exchange {
        request: Request {
            method: Method::GET,
            target: Target::new("https", "up.example", "/api/v2/x?a=%2B"),
            version: Version::HTTP_11,
            headers: [(HeaderName::from_static("accept"), HeaderValue::from_static("*/*"))].into_iter().collect(),
            body: Body::default(),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 200,
            version: Version::HTTP_11,
            headers: Headers::new(),
            body: Body::whole("{\"a\":1}"),
        }),
        started: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_500)),
        timings: Timings { wait: Some(Duration::from_micros(1_500)), ..Timings::default() },
        transport: Transport::default(),
    };
    let line = String::from_utf8(journal_line(&exchange, &Verdict::default(), None)).unwrap();
    assert_eq!(
        line,
        concat!(
            r#"{"startedDateTime":"1970-01-01T00:00:01.500Z","time":1.500,"#,
            r#""request":{"method":"GET","url":"https://up.example/api/v2/x?a=%2B","httpVersion":"HTTP/1.1","#,
            r#""cookies":[],"headers":[{"name":"accept","value":"*/*"}],"queryString":[],"headersSize":-1,"bodySize":-1},"#,
            r#""response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"headers":[],"#,
            r#""content":{"size":7,"mimeType":"","text":"{\"a\":1}"},"redirectURL":"","headersSize":-1,"bodySize":7},"#,
            r#""cache":{},"timings":{"send":-1,"wait":1.500,"receive":-1},"#,
            r#""_contrail":{"version":1,"operation":null,"verdict":"conforms","findings":[],"unchecked":[],"#,
            r#""contract":"c0ffee","upstream":"https://up.example"}}"#,
            "\n"
        )
    );
}

#[test]
fn an_asterisk_form_is_written_as_a_url_without_a_path_and_comes_back() {
    let exchange = Exchange {
        request: Request {
            method: Method::OPTIONS,
            target: Target::new("https", "up.example", "*"),
            version: Version::HTTP_11,
            headers: Headers::new(),
            body: Body::default(),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 204,
            version: Version::HTTP_11,
            headers: Headers::new(),
            body: Body::default(),
        }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    };
    let line = journal_line(&exchange, &Verdict::default(), None);
    let url = b"\"url\":\"https://up.example\"";
    assert!(memchr::memmem::find(&line, url).is_some(), "{}", String::from_utf8_lossy(&line));
    assert_eq!(read_back(line).exchange.request.target, exchange.request.target);
}
