//! Every rule and every reading, as data: `fixtures/cases` (its README says how to add one).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
    path::PathBuf,
    sync::Arc,
};

use contrail_contract::Contract;
use contrail_exchange::finding::{Blame, Conclusion, Finding, Kind, Rule, Unchecked, Verdict};
use contrail_recording::{self as recording, JournalContext};
use contrail_redact::{JudgedExchange, Redactor, thoroughly};

use crate::support::cases::{self, Case};

/// Where a verdict is not as expected, in words; empty if it is.
fn differences(case: &Case, verdict: &Verdict) -> String {
    let mut out = String::new();
    let mut found: Vec<String> = verdict
        .findings
        .iter()
        .map(|finding| format!("{} {}", finding.rule, finding.at).trim_end().to_owned())
        .collect();
    found.sort();
    let expected = case.expected();
    if found != expected {
        writeln!(out, "  expected findings {expected:?}\n  found             {found:?}").unwrap();
        for finding in &verdict.findings {
            writeln!(out, "    {} at `{}`: {}", finding.rule, finding.at, finding.message()).unwrap();
        }
    }
    let unchecked: BTreeSet<&str> = verdict.unchecked.iter().map(Unchecked::name).collect();
    let wanted = case.unchecked();
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    if unchecked != wanted {
        writeln!(out, "  expected unchecked {wanted:?}\n  found              {unchecked:?}").unwrap();
    }
    let blame = verdict.blame.map(Blame::name);
    if blame != case.blame() {
        writeln!(out, "  expected blame {:?}\n  found          {blame:?}", case.blame()).unwrap();
    }
    let messages: Vec<String> = verdict.findings.iter().map(Finding::message).collect();
    for text in case.says() {
        if !messages.iter().any(|message| message.contains(&text)) {
            writeln!(out, "  expected a message with {text:?}, found {messages:?}").unwrap();
        }
    }
    let conclusion = expected.iter().fold(Conclusion::Conforms, |worst, finding| {
        let rule: Rule = finding.split(' ').next().unwrap().parse().unwrap();
        worst.max(if rule.kind() == Kind::Violation { Conclusion::Violates } else { Conclusion::Gap })
    });
    if out.is_empty() && verdict.conclusion() != conclusion {
        writeln!(out, "  expected {}, found {}", conclusion.name(), verdict.conclusion().name()).unwrap();
    }
    out
}

#[test]
fn every_case_gives_its_expected_findings() {
    let mut contracts: HashMap<(Option<PathBuf>, Option<PathBuf>), Arc<Contract>> = HashMap::new();
    let mut failures = String::new();
    let cases = cases::all();
    for case in &cases {
        let contract = contracts.entry((case.contract(), case.overlay())).or_insert_with(|| {
            if case.is_built_in() {
                return Contract::built_in();
            }
            let list = |file: Option<PathBuf>| file.into_iter().collect::<Vec<_>>();
            Contract::load(&list(case.contract()), &list(case.overlay())).unwrap()
        });
        let told = differences(case, &contract.check(&case.exchange(), &case.options()));
        if !told.is_empty() {
            writeln!(failures, "{}\n{told}", case.name).unwrap();
        }
    }
    let count = failures.matches("\n\n").count();
    assert!(failures.is_empty(), "{count} of {} cases differ:\n\n{failures}", cases.len());
}

#[test]
fn every_rule_fires_in_some_case_and_every_operation_conforms_in_some() {
    let mut fired: BTreeMap<String, usize> = BTreeMap::new();
    let mut conforming = BTreeSet::new();
    for case in cases::all() {
        for finding in case.expected() {
            *fired.entry(finding.split(' ').next().unwrap().to_owned()).or_default() += 1;
        }
        if case.expected().is_empty() && case.is_built_in() {
            let exchange = case.exchange();
            let path = exchange.request.target.path();
            conforming.extend(Contract::built_in().operation_id(exchange.request.method.as_str(), path));
        }
    }
    let silent: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).filter(|id| !fired.contains_key(*id)).collect();
    assert!(silent.is_empty(), "no case gives {silent:?}");
    let documented: BTreeSet<Arc<str>> = Contract::built_in().documents()[0]
        .model()
        .operations
        .iter()
        .map(|operation| Arc::clone(&operation.id))
        .collect();
    assert_eq!(conforming, documented);
}

#[test]
fn quick_looks_spare_no_secret_in_any_case() {
    let context = JournalContext { upstream: "https://tenant.example".into(), contract: "".into() };
    let contract = Contract::built_in();
    let (quick, thorough) = (Redactor::default(), Redactor::default());
    let cases = cases::all();
    let mut touched = 0;
    // The second time round, parts of the cases' own bodies are secrets: of every length, at every place.
    for round in 0..2 {
        for (at, case) in cases.iter().enumerate() {
            let exchange = case.exchange();
            let judged = JudgedExchange::new(exchange.clone(), contract.check(&exchange, &case.options()));
            let redact = |redactor: &Redactor| {
                let redacted = redactor.redact(judged.clone());
                let mut line = Vec::new();
                recording::encode(&redacted, None, &context, &mut line);
                (redacted.touched, String::from_utf8(line).unwrap())
            };
            let (one, other) = (redact(&quick), thoroughly(|| redact(&thorough)));
            assert_eq!(one, other, "{} (round {round})", case.name);
            touched += usize::from(round == 1 && one.0.elsewhere);
            let body = exchange.response.map_or(exchange.request.body, |response| response.body).content;
            // What stands between quotes, from its first, second, … byte on.
            let mut values = body.split(|byte| *byte == b'"').filter_map(|value| value.get(at % 5..));
            if let Some(value) = values.rfind(|value| round == 0 && at % 8 == 0 && value.len() > 6) {
                for redactor in [&quick, &thorough] {
                    redactor.remember(&value[..value.len().min(6 + at % 60)]);
                }
            }
        }
    }
    assert!(touched > 200, "{touched} of {}", cases.len());
    assert_eq!(quick.counters(), thorough.counters());
}

#[test]
fn no_two_cases_have_the_same_name() {
    let mut seen = BTreeSet::new();
    for case in cases::all() {
        assert!(seen.insert(case.name.clone()), "{}", case.name);
    }
}
