//! `JUnit` XML: a suite per operation, in it one case that it was checked, one per group of the same finding and one per
//! missed request; then the denied hosts, the unused recordings, the proof and the chains of trails.
//!
//! What makes the command fail is a `failure`; the rest is `skipped` with its text, so that it shows without failing the
//! build. Names hold no counts and no places in a file, so that a CI system knows a case again. Valid against the schema
//! that Jenkins publishes (`junit-10.xsd`), which knows `file` for suites only.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use super::{Facts, Group, Missed, Unused};
use crate::{finding::Kind, plural::plural};

const OUTSIDE: &str = "undocumented";

/// Most recorded exchanges that nobody asked for that have a case of their own.
const MAX_UNUSED: usize = 1000;

/// Cases that belong together.
#[derive(Debug, Default)]
struct Suite {
    name: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

#[derive(Debug)]
struct Case {
    name: String,
    took: Duration,
    result: Result,
}

#[derive(Debug)]
enum Result {
    Passed,
    /// With a type, a message and a text.
    Failed(&'static str, String, String),
    /// What no check of an exchange shows.
    Error(&'static str, String, String),
    Skipped(&'static str, String, String),
}

impl Result {
    fn of(fails: bool, kind: &'static str, message: String, text: String) -> Self {
        if fails { Self::Failed(kind, message, text) } else { Self::Skipped(kind, message, text) }
    }
}

impl Suite {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn add(&mut self, name: impl Into<String>, took: Duration, result: Result) {
        self.cases.push(Case { name: name.into(), took, result });
    }

    fn failures(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.result, Result::Failed(..))).count()
    }

    fn errors(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.result, Result::Error(..))).count()
    }

    fn skipped(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.result, Result::Skipped(..))).count()
    }

    fn took(&self) -> Duration {
        self.cases.iter().map(|case| case.took).sum()
    }
}

pub(super) fn write(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let mut suites = operations(facts);
    suites.extend([denied(facts), unused(facts), proof(facts), integrity(facts), exit(facts)].into_iter().flatten());
    let sum = |count: fn(&Suite) -> usize| suites.iter().map(count).sum::<usize>();
    writeln!(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        to,
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">",
        escape(&format!("{} {}", facts.title.title, facts.title.version)),
        sum(|suite| suite.cases.len()),
        sum(Suite::failures),
        sum(Suite::errors),
        seconds(suites.iter().map(Suite::took).sum())
    )?;
    // A suite that is about several files is about none.
    let file = match facts.sources {
        [only] => format!(" file=\"{}\"", escape(only)),
        _ => String::new(),
    };
    for suite in &suites {
        write_suite(suite, &file, to)?;
    }
    writeln!(to, "</testsuites>")
}

fn write_suite(suite: &Suite, file: &str, to: &mut dyn Write) -> io::Result<()> {
    let name = escape(&suite.name);
    writeln!(
        to,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"{}\" time=\"{}\"{file}>",
        suite.cases.len(),
        suite.failures(),
        suite.skipped(),
        suite.errors(),
        seconds(suite.took())
    )?;
    if !suite.properties.is_empty() {
        writeln!(to, "    <properties>")?;
        for (name, value) in &suite.properties {
            writeln!(to, "      <property name=\"{name}\" value=\"{}\"/>", escape(value))?;
        }
        writeln!(to, "    </properties>")?;
    }
    for Case { name: case, took, result } in &suite.cases {
        let case = escape(case);
        write!(to, "    <testcase classname=\"contrail.{name}\" name=\"{case}\" time=\"{}\"", seconds(*took))?;
        let (element, kind, message, text) = match result {
            Result::Passed => {
                writeln!(to, "/>")?;
                continue;
            }
            Result::Failed(kind, message, text) => ("failure", kind, message, text),
            Result::Error(kind, message, text) => ("error", kind, message, text),
            Result::Skipped(kind, message, text) => ("skipped", kind, message, text),
        };
        writeln!(
            to,
            ">\n      <{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n    </testcase>",
            escape(message),
            escape(text)
        )?;
    }
    writeln!(to, "  </testsuite>")
}

/// A suite per operation that was seen.
fn operations(facts: &Facts<'_>) -> Vec<Suite> {
    let tally = facts.tally;
    let (seen, recorded) = (tally.operations(), tally.recorded_operations());
    let mut suites: BTreeMap<&str, (Vec<&Group>, Vec<&Missed>)> =
        seen.keys().chain(recorded.keys()).map(|operation| (*operation, Default::default())).collect();
    for group in [Kind::Violation, Kind::Gap].into_iter().flat_map(|kind| tally.groups(kind)) {
        suites.entry(group.operation.as_deref().unwrap_or(OUTSIDE)).or_default().0.push(group);
    }
    for missed in facts.run.misses() {
        suites.entry(missed.operation.as_deref().unwrap_or(OUTSIDE)).or_default().1.push(missed);
    }
    let suite = |(name, (groups, misses)): (&str, (Vec<&Group>, Vec<&Missed>))| {
        let mut suite = Suite::new(name);
        for (property, counts) in [("exchanges", &seen), ("recorded", &recorded)] {
            suite.properties.extend(counts.get(name).map(|count| (property, count.to_string())));
        }
        let took = tally.took((name != OUTSIDE).then_some(name));
        suite.add("checked against the contract", took, Result::Passed);
        for group in groups {
            suite.add(group_name(group), Duration::ZERO, finding(facts, group));
        }
        for missed in misses {
            let mut text = format!("{} in all", missed.count);
            missed.near().for_each(|near| text.extend(["\n", &near]));
            let result = Result::Failed("replay-miss", missed.detail.clone(), text);
            suite.add(format!("replay {}", missed.request), Duration::ZERO, result);
        }
        suite
    };
    let mut suites: Vec<Suite> = suites.into_iter().map(suite).collect();
    if facts.run.further_misses > 0 {
        let mut suite = Suite::new("replay");
        let message = format!("{} of further requests", plural(facts.run.further_misses, "miss"));
        suite.add("further requests", Duration::ZERO, Result::Failed("replay-miss", message, String::new()));
        suites.push(suite);
    }
    suites
}

fn group_name(group: &Group) -> String {
    if group.place.is_empty() { group.rule.id().to_owned() } else { format!("{} at {}", group.rule.id(), group.place) }
}

fn finding(facts: &Facts<'_>, group: &Group) -> Result {
    let sample = &group.sample;
    let text = format!(
        "{} in all; first: {} entry {}: {} {} -> {}",
        group.count, sample.source, sample.entry, sample.method, sample.url, sample.status
    );
    Result::of(facts.fails(group.rule), group.rule.id(), sample.message.clone(), text)
}

/// The hosts that the forward proxy denied.
fn denied(facts: &Facts<'_>) -> Option<Suite> {
    let run = facts.run;
    let mut suite = Suite::new("denied");
    let result = |reason: &str, count| {
        Result::of(run.denied_fails, "denied", format!("{reason}: {}", plural(count, "request")), String::new())
    };
    for denied in run.denied() {
        suite.add(denied.host, Duration::ZERO, result(denied.reason, denied.count));
    }
    if run.further_denied > 0 {
        suite.add("further hosts", Duration::ZERO, result("denied", run.further_denied));
    }
    (!suite.cases.is_empty()).then_some(suite)
}

/// The recorded exchanges that nobody asked for.
fn unused(facts: &Facts<'_>) -> Option<Suite> {
    let unused = facts.run.unused.as_deref().filter(|unused| !unused.is_empty())?;
    let mut suite = Suite::new("unused");
    suite.properties.push(("unused", unused.len().to_string()));
    let mut again: BTreeMap<&str, usize> = BTreeMap::new();
    for Unused { entry, request } in unused.iter().take(MAX_UNUSED) {
        let times = again.entry(request).or_default();
        *times += 1;
        let name = if *times == 1 { request.clone() } else { format!("{request} ({times})") };
        let message = format!("{entry} was never requested");
        suite.add(name, Duration::ZERO, Result::of(false, "unused", message, String::new()));
    }
    Some(suite)
}

/// The proof of the fixture that was written.
fn proof(facts: &Facts<'_>) -> Option<Suite> {
    let proof = facts.run.proof.as_ref()?;
    let mut suite = Suite::new("proof");
    let result = if proof.good {
        Result::Passed
    } else {
        let message = format!("the fixture failed its proof: {}", plural(proof.problems.len(), "problem"));
        Result::Failed("proof", message, proof.problems.join("\n"))
    };
    suite.add("the fixture proves itself", Duration::ZERO, result);
    Some(suite)
}

/// The hash chains of trails, the exchanges that could not be recorded, and the files that nothing reads.
fn integrity(facts: &Facts<'_>) -> Option<Suite> {
    let mut suite = Suite::new("integrity");
    for one in &facts.run.integrity {
        let trail = &one.trail;
        let result = match &one.broken {
            Some(broken) => Result::Failed("integrity", broken.clone(), String::new()),
            None if one.entries.is_none() => Result::Skipped("unproven", one.sentence(), String::new()),
            None => Result::Passed,
        };
        suite.add(format!("the chain of {trail} is whole"), Duration::ZERO, result);
        let lost: Vec<String> = one.lost().collect();
        if !lost.is_empty() {
            let exchanges = plural(one.unrecorded.iter().map(|lost| lost.exchanges).sum::<u64>(), "exchange");
            let result = Result::Skipped("unrecorded", format!("NOT RECORDED: {exchanges}"), lost.join("\n"));
            suite.add(format!("{trail} holds every exchange"), Duration::ZERO, result);
        }
        let unread: Vec<String> = one.unread().collect();
        if !unread.is_empty() {
            let message = format!("not read: {}", plural(unread.len(), "file"));
            let result = Result::Skipped("unread", message, unread.join("\n"));
            suite.add(format!("every file in {trail} is read"), Duration::ZERO, result);
        }
    }
    (!suite.cases.is_empty()).then_some(suite)
}

/// The reasons for the exit status that no other case shows.
fn exit(facts: &Facts<'_>) -> Option<Suite> {
    let exit = facts.run.exit.as_ref()?;
    let mut suite = Suite::new("exit");
    for reason in exit.further() {
        suite.add(reason.kind, Duration::ZERO, Result::Error(reason.kind, reason.what.clone(), reason.detail.clone()));
    }
    (!suite.cases.is_empty()).then_some(suite)
}

/// Seconds as the schema wants them: up to three digits after the point.
fn seconds(time: Duration) -> String {
    format!("{}.{:03}", time.as_secs(), time.subsec_millis())
}

/// Text as it may stand in XML and HTML: markup escaped, and what XML 1.0 cannot hold replaced.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_characters_that_xml_cannot_hold_never_get_out() {
        assert_eq!(
            escape("<a href=\"x\">'&\u{1}\u{1b}\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{fffd}\u{fffd}&#10;"
        );
    }
}
