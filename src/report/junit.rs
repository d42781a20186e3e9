//! `JUnit` XML: a suite per operation, in it one case per group of the same finding, and one for what conforms.
//!
//! What makes the command fail is a `failure`; other findings are `skipped` with their text, so that they show without
//! failing the build.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{Facts, Group};
use crate::{finding::Kind, plural::plural};

const OUTSIDE: &str = "undocumented";

pub(super) fn write(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let tally = facts.tally;
    let operations = tally.operations();
    let mut suites: BTreeMap<&str, Vec<&Group>> = operations.keys().map(|operation| (*operation, Vec::new())).collect();
    for kind in [Kind::Violation, Kind::Gap] {
        for group in tally.groups(kind) {
            suites.entry(group.operation.as_deref().unwrap_or(OUTSIDE)).or_default().push(group);
        }
    }
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for groups in suites.values() {
        let (all, failing) = counts(facts, groups);
        tests += all + 1;
        failures += failing;
        skipped += all - failing;
    }
    writeln!(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        to,
        "<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" errors=\"0\">",
        escape(&format!("{} {}", facts.title.title, facts.title.version))
    )?;
    for (operation, groups) in suites {
        suite(facts, operation, operations.get(operation).copied().unwrap_or_default(), &groups, to)?;
    }
    writeln!(to, "</testsuites>")
}

fn counts(facts: &Facts<'_>, groups: &[&Group]) -> (usize, usize) {
    (groups.len(), groups.iter().filter(|group| facts.fails(group.rule)).count())
}

fn suite(facts: &Facts<'_>, operation: &str, exchanges: u64, groups: &[&Group], to: &mut dyn Write) -> io::Result<()> {
    let (all, failing) = counts(facts, groups);
    let name = escape(operation);
    writeln!(
        to,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failing}\" skipped=\"{}\" errors=\"0\">",
        all + 1,
        all - failing
    )?;
    let checked = if operation == OUTSIDE {
        "undocumented operations were looked for".to_owned()
    } else {
        format!("{} checked", plural(exchanges, "exchange"))
    };
    writeln!(to, "    <testcase classname=\"{name}\" name=\"{checked}\"/>")?;
    for group in groups {
        let case = if group.place.is_empty() {
            group.rule.id().to_owned()
        } else {
            format!("{} at {}", group.rule.id(), group.place)
        };
        let element = if facts.fails(group.rule) { "failure" } else { "skipped" };
        let sample = &group.sample;
        writeln!(
            to,
            "    <testcase classname=\"{name}\" name=\"{}\">\n      <{element} message=\"{}\">{}</{element}>\n    </testcase>",
            escape(&case),
            escape(&sample.message),
            escape(&format!(
                "{} in all; first: {} entry {}: {} {} -> {}",
                group.count, sample.source, sample.entry, sample.method, sample.url, sample.status
            ))
        )?;
    }
    writeln!(to, "  </testsuite>")
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
