mod echo;
mod labels;
mod matching;
mod nearest;
mod preferred;
mod sites;
mod suggest;
mod tokens;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use contrail_contract::Contract;
use contrail_exchange::{
    Body, Credential, Exchange, Headers, Presence, Request, Response, Target, Timings, TokenFacts, Transport, Withheld,
};
use contrail_proxy::upstream::{Miss, Reason};
use contrail_recording::{CallerRule, Entry, Ignore, MatchRules, Note, fixture::request_parts::Parts};
use http::{HeaderName, HeaderValue, Method, Version};

use super::*;

fn headers(fields: &[(&str, &str)]) -> Headers {
    fields
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn request(method: &str, target: &str) -> Request {
    Request {
        method: Method::from_bytes(method.as_bytes()).unwrap(),
        target: Target::new("https", "tenant.example", target),
        version: Version::HTTP_11,
        headers: Headers::new(),
        body: Body::default(),
        credential: Credential::Missing,
    }
}

fn with_body(method: &str, target: &str, media_type: &str, body: &str) -> Request {
    let mut request = request(method, target);
    if !media_type.is_empty() {
        request.headers = headers(&[("content-type", media_type)]);
    }
    request.body = Body::whole(body.as_bytes().to_vec());
    request
}

fn json(target: &str, body: &str) -> Request {
    with_body("POST", target, "application/json", body)
}

fn by(mut request: Request, client: &str, scopes: &[&str]) -> Request {
    request.credential = Credential::Token(Arc::new(TokenFacts {
        client: Some(client.to_owned()),
        scopes: Some(scopes.iter().map(|scope| (*scope).to_owned()).collect()),
        ..TokenFacts::default()
    }));
    request
}

fn says(request: Request, body: &str) -> Entry {
    answers(request, 200, &[("content-type", "application/json")], body)
}

fn answers(request: Request, status: u16, fields: &[(&str, &str)], body: &str) -> Entry {
    let response = Response {
        status,
        version: Version::HTTP_11,
        headers: headers(fields),
        body: Body::whole(body.as_bytes().to_vec()),
    };
    Entry {
        index: 0,
        line: None,
        exchange: Exchange {
            request,
            response: Some(response),
            started: None,
            timings: Timings::default(),
            transport: Transport::default(),
        },
        note: None,
    }
}

fn settings() -> Settings {
    Settings {
        rules: MatchRules::default(),
        names: Names::default(),
        exhausted: None,
        operation_of: Arc::new(|_, _, path| path.starts_with("/actions").then(|| "testAction".into())),
        tenant: Contract::built_in(),
        has_label: Arc::new(|text| text.contains("LABEL")),
        redact: Arc::new(Request::clone),
        redact_failure: Arc::new(str::to_owned),
    }
}

fn replay_with(settings: Settings, entries: impl IntoIterator<Item = Entry>) -> Replay {
    let mut builder = Builder::new(settings).unwrap();
    builder.source("a.har");
    let preparer = builder.preparer();
    for (index, mut entry) in entries.into_iter().enumerate() {
        entry.index = index;
        builder.push(preparer.prepare(entry, false));
    }
    builder.finish()
}

fn replay(entries: impl IntoIterator<Item = Entry>) -> Replay {
    replay_with(settings(), entries)
}

fn ignoring(rules: &[&str], entries: impl IntoIterator<Item = Entry>) -> Replay {
    let ignore = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    replay_with(Settings { rules: MatchRules { ignore, ..MatchRules::default() }, ..settings() }, entries)
}

fn exhausting(exhausted: Exhausted, entries: impl IntoIterator<Item = Entry>) -> Replay {
    replay_with(Settings { exhausted: Some(exhausted), ..settings() }, entries)
}

fn ask(replay: &Replay, request: &Request) -> Result<Served, Box<Miss>> {
    replay.answer(request, &Request::clone, SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_001))
}

/// The body that comes back, or the word for the miss.
fn body(replay: &Replay, request: &Request) -> String {
    match ask(replay, request) {
        Ok(served) => String::from_utf8(served.answer.body.unwrap_or_default().to_vec()).unwrap(),
        Err(miss) => format!("miss: {}", miss.word()),
    }
}

#[test]
fn the_same_request_answers_in_recorded_order_and_then_a_safe_one_repeats_the_last() {
    let get = || request("GET", "/x");
    let replay = replay([says(get(), "one"), says(request("GET", "/y"), "other"), says(get(), "two")]);
    assert_eq!(body(&replay, &get()), "one");
    assert_eq!(body(&replay, &get()), "two");
    assert_eq!(body(&replay, &request("GET", "/y")), "other");
    assert_eq!(body(&replay, &get()), "two");
    assert_eq!(body(&replay, &request("GET", "/y")), "other");
}

#[test]
fn an_unsafe_request_misses_once_its_recorded_answers_are_given() {
    let replay = replay([says(json("/x", "{}"), "one"), says(json("/x", "{}"), "two")]);
    assert_eq!(body(&replay, &json("/x", "{}")), "one");
    assert_eq!(body(&replay, &json("/x", "{ }")), "two");
    let miss = ask(&replay, &json("/x", "{}")).unwrap_err();
    assert_eq!(miss.reason, Reason::Exhausted { last: "a.har entry 1".to_owned(), recorded: 2 });
    assert_eq!(
        miss.detail(),
        "`POST /x` was recorded 2 times (last: a.har entry 1) and this request is one more. `--exhausted repeat` gives the \
         last answer again, `--exhausted loop` starts over; or record more with `contrail record --append`."
    );
}

#[test]
fn the_exhausted_option_decides_otherwise_for_every_method() {
    let entries = || [says(json("/x", "{}"), "one"), says(json("/x", "{}"), "two"), says(request("GET", "/y"), "y")];
    let asks = |replay: &Replay, request: &Request| (0..5).map(|_| body(replay, request)).collect::<Vec<_>>();
    let repeat = exhausting(Exhausted::Repeat, entries());
    assert_eq!(asks(&repeat, &json("/x", "{}")), ["one", "two", "two", "two", "two"]);
    let looped = exhausting(Exhausted::Loop, entries());
    assert_eq!(asks(&looped, &json("/x", "{}")), ["one", "two", "one", "two", "one"]);
    assert_eq!(asks(&looped, &request("GET", "/y"))[4], "y");
    let miss = exhausting(Exhausted::Miss, entries());
    assert_eq!(asks(&miss, &request("GET", "/y"))[..2], ["y", "miss: exhausted"]);
}

#[test]
fn a_callers_own_entries_come_first_and_exhaust_on_their_own() {
    let post = || json("/x", "{}");
    let entries = || {
        [
            says(by(post(), "a", &["read:x"]), "a1"),
            says(by(post(), "b", &["read:x"]), "b1"),
            says(by(post(), "a", &["read:x", "write:x"]), "aw"),
            says(post(), "none"),
            says(by(post(), "b", &["read:x"]), "b2"),
        ]
    };
    let replay = replay(entries());
    assert_eq!(body(&replay, &by(post(), "b", &["read:x"])), "b1");
    assert_eq!(body(&replay, &by(post(), "a", &["write:x", "read:x"])), "aw");
    assert_eq!(body(&replay, &post()), "none");
    assert_eq!(body(&replay, &by(post(), "b", &["read:x"])), "b2");
    assert_eq!(body(&replay, &by(post(), "b", &["read:x"])), "miss: exhausted");
    assert_eq!(body(&replay, &by(post(), "a", &["read:x"])), "a1");
}

#[test]
fn an_unknown_caller_gets_all_entries_in_recorded_order() {
    let post = || json("/x", "{}");
    let mut opaque = post();
    opaque.credential = Credential::Malformed("no JWT".to_owned());
    let replay = replay([says(by(post(), "a", &[]), "a1"), says(post(), "none"), says(by(post(), "b", &[]), "b1")]);
    assert_eq!(body(&replay, &opaque), "a1");
    assert_eq!(body(&replay, &by(post(), "stranger", &[])), "none");
    assert_eq!(body(&replay, &opaque), "b1");
    assert_eq!(body(&replay, &opaque), "miss: exhausted");
}

#[test]
fn a_miss_names_every_difference_the_right_way_round_with_the_option_that_helps() {
    let recorded = json("/x?take=50&q=1", r#"{"a":1,"b":{"c":[1,2]},"gone":true}"#);
    let replay = replay([says(request("GET", "/far/away"), "{}"), says(recorded, "{}")]);
    let miss = ask(&replay, &json("/x?take=5&new=n", r#"{"a":"1","b":{"c":[1,3,4]}}"#)).unwrap_err();
    assert_eq!(miss.reason, Reason::Unknown);
    let problem: serde_json::Value = serde_json::from_str(&miss.problem().body()).unwrap();
    assert_eq!(problem["status"], 421);
    let near = &problem["nearest"][0];
    assert_eq!(near["entry"], "a.har entry 1");
    assert_eq!(near["request"], "POST /x?take=50&q=1");
    let rows: Vec<[String; 4]> = near["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            ["place", "your request", "fixture", "option"].map(|key| match &one[key] {
                serde_json::Value::Null => "-".to_owned(),
                text => text.as_str().unwrap().to_owned(),
            })
        })
        .collect();
    assert_eq!(
        rows,
        [
            ["query parameter `new`", "n", "-", "--ignore 'POST /x=query:new'"],
            ["query parameter `q`", "-", "1", "--ignore 'POST /x=query:q'"],
            ["query parameter `take`", "5", "50", "--ignore 'POST /x=query:take'"],
            ["body at `/a`", "\"1\"", "1", "--ignore 'POST /x=pointer:/a'"],
            ["body at `/b/c/1`", "3", "2", "--ignore 'POST /x=pointer:/b/c/1'"],
            ["body at `/b/c/2`", "4", "-", "--ignore 'POST /x=pointer:/b/c/2'"],
            ["body at `/gone`", "-", "true", "--ignore 'POST /x=pointer:/gone'"],
        ]
    );
    let rules: Vec<&str> =
        rows.iter().filter_map(|row| row[3].strip_prefix("--ignore '")?.strip_suffix('\'')).collect();
    let live = json("/x?take=5&new=n", r#"{"a":"1","b":{"c":[1,3,4]}}"#);
    let recorded = json("/x?take=50&q=1", r#"{"a":1,"b":{"c":[1,2]},"gone":true}"#);
    assert!(ask(&ignoring(&rules, [says(recorded, "{}")]), &live).is_ok(), "the options do make it match");
}

#[test]
fn a_miss_consumes_nothing() {
    let replay = replay([says(json("/x", r#"{"a":1}"#), "one")]);
    for _ in 0..3 {
        assert_eq!(body(&replay, &json("/x", r#"{"a":2}"#)), "miss: unknown");
    }
    assert_eq!(replay.unused(), [("a.har entry 0".to_owned(), "POST /x".to_owned())]);
    assert_eq!(body(&replay, &json("/x", r#"{"a":1}"#)), "one");
    assert!(replay.unused().is_empty());
}

#[test]
fn an_answer_that_is_not_whole_is_never_served_and_the_miss_says_why() {
    let mut truncated = says(request("GET", "/truncated"), "{}");
    truncated.exchange.response.as_mut().unwrap().body.presence = Presence::Truncated { kept: 2, total: Some(10) };
    let mut withheld = says(request("GET", "/withheld"), "");
    withheld.exchange.response.as_mut().unwrap().body = Body::withheld(Withheld::Unparsable, None);
    let mut broken = says(request("GET", "/broken"), "{}");
    broken.exchange.transport.incomplete = Some("the connection closed early".to_owned());
    let zero = answers(request("GET", "/zero"), 0, &[], "");
    let mut silent = says(request("GET", "/silent"), "");
    silent.exchange.response = None;
    let replay = replay([truncated, withheld, broken, zero, silent]);
    for (path, why) in [
        (
            "/truncated",
            "`GET /truncated` matches a.har entry 0, but only 2 of 10 bytes of the recorded answer were kept. Record \
             it again with `contrail record --append` and a larger `--max-capture`.",
        ),
        (
            "/withheld",
            "`GET /withheld` matches a.har entry 1, but the body of the recorded answer is not in the recording \
             (unparsable). Recording it again changes nothing while the tenant answers this way: contrail keeps no body in \
             which it cannot find the secrets.",
        ),
        (
            "/broken",
            "`GET /broken` matches a.har entry 2, but the recorded exchange is incomplete: the connection closed \
             early. Record it again with `contrail record --append`.",
        ),
        (
            "/zero",
            "`GET /zero` matches a.har entry 3, but no answer was recorded (status 0). Record it again with `contrail \
             record --append`.",
        ),
        (
            "/silent",
            "`GET /silent` matches a.har entry 4, but no answer was recorded. Record it again with `contrail record \
             --append`.",
        ),
    ] {
        let miss = ask(&replay, &request("GET", path)).unwrap_err();
        assert_eq!(miss.word(), "unfit");
        assert_eq!(miss.detail(), why);
    }
    assert!(replay.unused().is_empty(), "what cannot be served is not called unused");
    assert_eq!(replay.unfit().len(), 5);
}

#[test]
fn a_whole_answer_to_the_same_request_is_served_though_another_one_was_cut() {
    let mut cut = says(request("GET", "/x"), "{}");
    cut.exchange.transport.incomplete = Some("cut".to_owned());
    let replay = replay([cut, says(request("GET", "/x"), "whole")]);
    assert_eq!(body(&replay, &request("GET", "/x")), "whole");
}

#[test]
fn an_answer_keeps_its_end_to_end_headers_and_both_cookies_with_a_fresh_length() {
    let fields = [
        ("set-cookie", "a=1"),
        ("content-encoding", "gzip"),
        ("Content-Length", "999"),
        ("transfer-encoding", "chunked"),
        ("connection", "x-hop, close"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("set-cookie", "b=2"),
        ("x-ratelimit-limit", "10"),
    ];
    let replay = replay([answers(request("GET", "/x"), 429, &fields, "{\"a\":  1}")]);
    let answer = ask(&replay, &request("GET", "/x")).unwrap().answer;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.body.as_deref(), Some(&b"{\"a\":  1}"[..]));
    let expected =
        headers(&[("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-ratelimit-limit", "10"), ("content-length", "9")]);
    assert_eq!(Headers::from(&answer.fields()), expected);
}

#[test]
fn head_204_and_304_have_no_body_and_head_keeps_its_stated_length() {
    let fields = [("content-length", "5"), ("etag", "\"1\"")];
    let mut saved = answers(request("GET", "/304"), 304, &fields, "");
    saved.exchange.response.as_mut().unwrap().body = Body::withheld(Withheld::NotSaved, None);
    let replay = replay([
        answers(request("HEAD", "/x"), 200, &fields, ""),
        answers(request("DELETE", "/204"), 204, &[("etag", "\"1\"")], ""),
        saved,
    ]);
    let head = ask(&replay, &request("HEAD", "/x")).unwrap().answer;
    assert_eq!((&head.body, Headers::from(&head.fields())), (&None, headers(&fields)));
    let none = ask(&replay, &request("DELETE", "/204")).unwrap().answer;
    assert_eq!((none.status, &none.body, Headers::from(&none.fields())), (204, &None, headers(&[("etag", "\"1\"")])));
    let unmodified = ask(&replay, &request("GET", "/304")).unwrap().answer;
    assert_eq!((unmodified.status, Headers::from(&unmodified.fields())), (304, headers(&[("etag", "\"1\"")])));
}

#[test]
fn recordings_are_merged_in_order_and_the_same_one_twice_counts_twice() {
    let mut builder = Builder::new(settings()).unwrap();
    for (name, body) in [("a.har", "a"), ("b.har", "b"), ("a.har", "a")] {
        builder.source(name);
        builder.push(builder.preparer().prepare(says(json("/x", "{}"), body), false));
    }
    builder.source("empty.har");
    let replay = builder.finish();
    let bodies: Vec<_> = (0..4).map(|_| body(&replay, &json("/x", "{}"))).collect();
    assert_eq!(bodies, ["a", "b", "a", "miss: exhausted"]);
}

#[test]
fn an_empty_recording_serves_nothing_and_says_so() {
    let miss = ask(&replay([]), &request("GET", "/x")).unwrap_err();
    assert_eq!((miss.reason.clone(), miss.nearest.len()), (Reason::Empty, 0));
    assert_eq!(miss.detail(), "`GET /x` was asked, and nothing is recorded. Record it with `contrail record`.");
}

#[test]
fn a_hundred_thousand_entries_are_found_by_look_up_and_not_by_scan() {
    let entries = (0..100_000).map(|number| {
        let mut request = json(&format!("/things/{number}"), &format!(r#"{{"n":{number},"secret":"LABEL-{number}"}}"#));
        request.body.redacted = vec!["/secret".to_owned()];
        says(request, "{}")
    });
    let replay = replay(entries);
    assert_eq!(replay.index.buckets.len(), 100_000);
    let parts = Parts::of(&json("/things/99999", r#"{"n":99999,"secret":"x"}"#));
    let lines: Vec<_> = replay.index.lines_of(&parts).collect();
    assert_eq!(lines.len(), 1, "one line to look at");
    let line = replay.index.line(lines[0]).unwrap();
    assert_eq!(line.entries.len(), 1);
    assert!(ask(&replay, &json("/things/99999", r#"{"n":99999,"secret":"x"}"#)).is_ok());
}

#[test]
fn a_recording_with_secrets_in_it_is_matched_as_if_they_were_redacted_and_a_miss_shows_none() {
    let recorded = || json("/x", r#"{"secret":"hunter2","a":1}"#);
    let redact = |request: &Request| {
        let mut request = request.clone();
        let text = String::from_utf8(request.body.content.to_vec()).unwrap();
        request.body.content = text.replace("hunter2", "LABEL-1").replace("hunter3", "LABEL-2").into();
        request.body.redacted = vec!["/secret".to_owned()];
        request
    };
    let mut builder = Builder::new(Settings { redact: Arc::new(redact), ..settings() }).unwrap();
    builder.source("other.har");
    builder.push(builder.preparer().prepare(says(recorded(), "{}"), true));
    let replay = builder.finish();
    let ask = |body: &str| replay.answer(&json("/x", body), &redact, SystemTime::UNIX_EPOCH);
    let miss = ask(r#"{"secret":"hunter3","a":2}"#).unwrap_err();
    let shown = miss.problem().body();
    let expected = concat!(
        r#"{"type":"urn:contrail:replay-miss","title":"No recorded exchange matches this request.","status":421,"#,
        r#""detail":"`POST /x` was not recorded. The nearest is other.har entry 0 (`POST /x`); it would match with "#,
        r#"`--ignore 'POST /x=pointer:/a'`. Otherwise record this request with `contrail record --append`.","#,
        r#""reason":"unknown","request":"POST /x","nearest":[{"entry":"other.har entry 0","request":"POST /x","#,
        r#""status":200,"differences":[{"place":"body at `/a`","your request":"2","fixture":"1","#,
        r#""option":"--ignore 'POST /x=pointer:/a'"}]}]}"#
    );
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap().to_string(), expected);
    assert!(ask(r#"{"secret":"hunter3","a":1}"#).is_ok());
}

#[test]
fn a_recording_replays_as_itself_or_says_which_exchange_does_not() {
    let post = || json("/x", "{}");
    let mut cut = says(request("GET", "/cut"), "{}");
    cut.exchange.transport.incomplete = Some("cut".to_owned());
    let entries = || {
        [
            says(post(), "none"),
            says(by(post(), "a", &[]), "a1"),
            says(request("GET", "/y"), "y1"),
            says(by(post(), "b", &[]), "b1"),
            says(by(post(), "a", &[]), "a2"),
            says(request("GET", "/y"), "y2"),
        ]
    };
    assert_eq!(replay(entries().into_iter().chain([cut])).proof(), []);

    // Places that are redacted in one entry only make it the less specific match for its own request.
    let mut redacted = json("/x", r#"{"a":"LABEL-1"}"#);
    redacted.body.redacted = vec!["/a".to_owned()];
    let replay = replay([says(redacted, "1"), says(json("/x", r#"{"a":"LABEL-1"}"#), "2")]);
    let unproven = replay.proof();
    let instead: Vec<&str> = unproven.iter().map(|one| one.instead.as_str()).collect();
    assert_eq!(instead, ["it gets the answer of a.har entry 1", "there is no answer left for it"]);
}
