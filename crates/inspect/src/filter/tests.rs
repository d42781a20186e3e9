use proptest::prelude::*;

use super::*;

const CLOCK: Clock = Clock { now: 1_795_000_000_000_000, zone: 60 };

pub(crate) fn summary(names: &mut Names) -> Summary {
    let mut number = |text: &str| names.number(text);
    Summary {
        place: None,
        started: Some(CLOCK.now - 60_000_000),
        took: Some(600_000),
        wait: Some(500_000),
        size: 2048,
        entry: 41,
        source: number("checkout.har"),
        operation: number("getRateLimitPolicy"),
        client: number("dashboard"),
        host: number("tenant.example"),
        method: number("GET"),
        scopes: number(" read:clients read:users "),
        path: "/api/v2/rate-limit-policies/rlp_1?take=5".into(),
        status: 404,
        known: 0,
        verdict: 2,
        marks: Mark::Cut as u8,
        blame: Some(contrail_exchange::finding::Blame::Laxer),
        time: Some(contrail_exchange::TokenTime::Expired),
        unchecked: {
            let mut set = contrail_exchange::finding::UncheckedSet::default();
            set.insert(contrail_exchange::finding::Unchecked::RequiredScope);
            set
        },
        findings: Box::new([super::super::summary::Seen {
            rule: contrail_exchange::finding::Rule::ResponseBody,
            at: number("/groups/3/id"),
        }]),
    }
}

fn selects(text: &str) -> Answer {
    let mut names = Names::default();
    let summary = summary(&mut names);
    names.tag("getRateLimitPolicy", vec!["limits".to_owned(), "attack protection".to_owned()]);
    let filter = Filter::parse(text, CLOCK).unwrap_or_else(|error| panic!("{text}: {error}"));
    filter.selects(&summary, None, Context { names: &names, is_slow: true, state: None })
}

#[test]
fn every_key_selects_by_what_it_names() {
    for (text, expected) in [
        ("", true),
        ("verdict:violates", true),
        ("verdict:conforms|gap", false),
        ("verdict:conforms|violates", true),
        ("-verdict:violates", false),
        ("verdict:viol*", true),
        ("verdict:con*|gap", false),
        ("rule:response.*", true),
        ("rule:response.body at:/groups/*/id", true),
        ("rule:response.body at:/groups/*/name", false),
        ("kind:gap", false),
        ("op:getratelimitpolicy", true),
        ("op:get*", true),
        ("tag:limits", true),
        ("tag:\"attack protection\"", true),
        ("tag:users", false),
        ("method:get", true),
        ("status:4xx", true),
        ("status:>=500", false),
        ("path:/api/v2/*", true),
        ("path:/api/v2", false),
        ("path~policies/rlp_\\d+", true),
        ("query:take", true),
        ("query:take=5", true),
        ("query:take=6", false),
        ("host:tenant.example", true),
        ("client:dashboard", true),
        ("scope:read:clients", true),
        ("-scope:read:clients", false),
        ("token:expired", true),
        ("blame:laxer", true),
        ("unchecked:required-scope", true),
        ("took:>500ms", true),
        ("took:>1s", false),
        ("size:>1KiB", true),
        ("since:-5m", true),
        ("until:-5m", false),
        ("is:slow", true),
        ("is:cut", true),
        ("is:retried", false),
        ("entry:41", true),
        ("source:checkout.har", true),
        ("RLP_", true),
        ("\"rate-limit policies\"", false),
        ("(verdict:gap or status:404) method:GET", true),
        ("verdict:gap or status:404 method:POST", false),
        ("-(verdict:gap or status:404)", false),
        ("orders", false),
    ] {
        assert_eq!(selects(text), Answer::from(expected), "{text}");
    }
}

#[test]
fn what_a_summary_does_not_hold_is_unknown_unless_another_term_decides() {
    for (text, expected) in [
        ("body:\"not enabled\"", Answer::Unknown),
        ("body~err_\\d+ method:POST", Answer::No),
        ("header:x-request-id=abc or method:GET", Answer::Yes),
        ("-secret:token-1", Answer::Unknown),
    ] {
        assert_eq!(selects(text), expected, "{text}");
        assert!(Filter::parse(text, CLOCK).unwrap().reads(), "{text}");
    }
    assert!(!Filter::parse("path:/a", CLOCK).unwrap().reads());
}

#[test]
fn a_fault_names_its_place_and_what_would_be_right() {
    for (text, at, message) in [
        ("status-code:404", 0, "there is no `status-code:`; did you mean `status:`?"),
        ("op:a verdict:vilates", 13, "`vilates` is none of its words; did you mean `violates`?"),
        ("status:abc", 7, "`status:` takes a value as in status:404, status:4xx or status:>=400"),
        ("body:\"a", 5, "this quote is not closed"),
        ("(a", 0, "this `(` is not closed"),
        ("a)", 1, "this `)` closes nothing"),
        ("a or ", 5, "something has to follow `or`"),
        ("op:", 3, "a value is missing here"),
        ("path~(", 5, "this is no regular expression that contrail can use; quote one with spaces, `)` or `|`"),
        ("took~5", 0, "`took` takes no regular expression; write `took:`"),
    ] {
        let error = Filter::parse(text, CLOCK).unwrap_err();
        assert_eq!((error.at, &*error.message), (at, message), "{text}");
    }
}

#[test]
fn a_time_of_day_is_the_readers() {
    // 2026-11-18T10:26:40Z is 11:26:40 an hour east of it.
    let instant = |text: &str| match Filter::parse(text, CLOCK).unwrap().root {
        Some(Node::Term(Term::Number(Measure::Since, bounds))) => bounds[0].from.unwrap().0,
        other => panic!("{other:?}"),
    };
    #[expect(clippy::cast_precision_loss)]
    let now = CLOCK.now as f64;
    let local = jiff::tz::Offset::from_seconds(3600).unwrap();
    let at = local.to_datetime(jiff::Timestamp::from_microsecond(CLOCK.now).unwrap());
    assert!((instant(&format!("since:{}", at.time().strftime("%H:%M:%S"))) - now).abs() < 1.0);
    assert!((instant("since:-1m") - (now - 60e6)).abs() < 1.0);
}

#[test]
fn terms_that_all_have_to_hold_bound_the_time() {
    let minutes = |ago: i64| Some(CLOCK.now - ago * 60_000_000);
    for (text, expected) in [
        ("", (None, None)),
        ("since:-5m", (minutes(5), None)),
        ("since:-5m status:404 since:-3m|-4m until:-1m", (minutes(4), minutes(1))),
        ("until:-1m until:-2m", (None, minutes(2))),
        ("since:-5m or status:404", (None, None)),
        ("-since:-5m", (None, None)),
    ] {
        assert_eq!(Filter::parse(text, CLOCK).unwrap().time(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic_and_a_fault_lies_within_it(text in "\\PC{0,60}|[a-z:~\"|() -]{0,40}") {
        if let Err(error) = Filter::parse(&text, CLOCK) {
            prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at), "{}: {}", error.at, text);
        }
    }
}
