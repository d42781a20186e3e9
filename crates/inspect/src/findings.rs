//! Findings in the groups of the reports: how often, since when, examples, and the form that accepts them.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use contrail_exchange::{
    finding::{Finding, Kind, Rule, UNDOCUMENTED},
    visible::{is_hidden, visible},
};
use contrail_report::{Group, shape, without_indices};
use serde_json::{Value, json};

use super::{
    filter::{FilterError, quoted},
    inspector::Inspector,
    lists::{Lists, Wanted},
    names::Name,
    store::Store,
    summary::{Summary, rfc3339},
};

/// Maximum rows.
const MAX_ROWS: usize = 1000;
/// Parts of the time from the first exchange to the last.
const PARTS: u8 = 24;
/// Examples of a group.
const EXAMPLES: usize = 3;
/// Exchanges that are read for them.
const READ_FOR_EXAMPLES: usize = 60;

/// When the findings of a group came.
#[derive(Debug, Clone, Default)]
struct Seen {
    times: [u32; PARTS as usize],
    last: Option<u32>,
}

/// The groups.
pub(crate) fn value(inspector: &Inspector) -> Value {
    let store = inspector.store();
    // What covers a finding is known where the run's own collector is.
    let collector = store.ended.as_ref().unwrap_or(&store.collector);
    let tally = store.collector.tally();
    let operations = tally.operations();
    let [violations, gaps] = [Kind::Violation, Kind::Gap].map(|kind| tally.groups(kind));
    let groups: Vec<&Group> = violations.iter().chain(&gaps).copied().take(MAX_ROWS).collect();
    let span = store.span().filter(|(from, to)| from < to);
    let seen = seen(&store, &groups, span);
    let clean = |text: &str| inspector.clean(text);
    let started = |n: u32| store.summary(n).and_then(|summary| summary.started).and_then(rfc3339);
    let row = |(group, seen): (&&Group, &Seen)| {
        let cited = &group.sample.cited;
        let first = store.number(Some(&*cited.source), cited.entry);
        let operation = group.operation.as_deref().map(|operation| inspector.redactor.text(operation));
        let place = inspector.redactor.text(&group.place);
        let of = group.operation.as_deref().and_then(|operation| operations.get(operation)).copied();
        json!({
            "kind": group.rule.kind().name(),
            "rule": group.rule.id(),
            "summary": group.rule.summary(),
            "operation": operation.as_ref().map(|operation| visible(operation)),
            "at": visible(&place),
            "count": group.count,
            "of": of,
            "first": first,
            "firstAt": first.and_then(started),
            "last": seen.last,
            "lastAt": seen.last.and_then(started),
            "times": seen.times.iter().any(|times| *times > 0).then_some(seen.times),
            "state": collector.state(group).map(|state| clean(&state)),
            "message": clean(&group.message()),
            "query": query(group),
            "suppress": suppression(group.rule, operation.as_ref().map_or(UNDOCUMENTED, |operation| operation), &place),
        })
    };
    let rows: Vec<Value> = groups.iter().zip(&seen).map(row).collect();
    let span = span.map(|(from, to)| [rfc3339(from), rfc3339(to)]);
    json!({
        "n": store.count(),
        "reading": store.reading.is_some(),
        "violations": violations.len(),
        "gaps": gaps.len(),
        "rows": rows,
        "further": tally.ungrouped,
        "learn": inspector.facts.learn,
        "span": span,
    })
}

/// When the findings of each group came, of the exchanges whose summaries are held.
fn seen(store: &Store, groups: &[&Group], span: Option<(i64, i64)>) -> Vec<Seen> {
    let mut seen = vec![Seen::default(); groups.len()];
    let mut by_place: HashMap<(Rule, Name, &str), Vec<usize>> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        let operation = group.operation.as_deref().and_then(|operation| store.names.find(operation)).unwrap_or(0);
        by_place.entry((group.rule, operation, &group.place)).or_default().push(index);
    }
    // Places repeat: the groups of one are found once.
    let mut found: HashMap<(Rule, Name, Name), Vec<usize>> = HashMap::new();
    let part = |summary: &Summary| {
        let (from, to) = span?;
        let at = (summary.started? - from).checked_mul(i64::from(PARTS))? / (to - from);
        usize::try_from(at.min(i64::from(PARTS) - 1)).ok()
    };
    for (n, summary) in store.numbered().filter(|(n, _)| store.is_counted(*n)) {
        let part = part(summary);
        for one in &summary.findings {
            let find = |place: &str| by_place.get(&(one.rule, summary.operation, place)).cloned().unwrap_or_default();
            let undocumented;
            let of = if one.rule == Rule::OperationUndocumented && summary.operation == 0 {
                undocumented = find(&place_of_undocumented(summary, store));
                &undocumented
            } else {
                let at = || store.names.text(one.at).map_or_else(String::new, |at| without_indices(at));
                found.entry((one.rule, summary.operation, one.at)).or_insert_with(|| find(&at()))
            };
            for index in of {
                seen[*index].last = Some(n);
                if let Some(part) = part {
                    seen[*index].times[part] += 1;
                }
            }
        }
    }
    seen
}

/// The place of an undocumented operation: its method and the shape of its path.
fn place_of_undocumented(summary: &Summary, store: &Store) -> String {
    format!("{} {}", store.names.text(summary.method).map_or("", |method| method), shape(summary.divided().0))
}

/// Exchanges of a group that differ in what was seen.
pub(crate) fn examples(
    inspector: &Inspector,
    lists: &Lists,
    wanted: &Wanted,
    (rule, at): (&str, &str),
) -> Result<Value, FilterError> {
    let numbers = lists.slice(inspector, wanted, 0, READ_FOR_EXAMPLES)?.numbers;
    let mut messages = BTreeSet::new();
    let mut examples = Vec::new();
    for n in numbers {
        let Ok((judged, _)) = inspector.whole(n) else { continue };
        let is_of_group = |finding: &Finding| {
            let is_place = || inspector.clean(&without_indices(&finding.at)) == at;
            finding.rule.id() == rule && (finding.rule == Rule::OperationUndocumented || is_place())
        };
        for (index, finding) in judged.verdict.findings.iter().enumerate() {
            if is_of_group(finding) && examples.len() < EXAMPLES && messages.insert(finding.message()) {
                let started = judged.exchange.started.and_then(|at| rfc3339(super::summary::instant(at)));
                let (at, message) = (inspector.clean(&finding.at), inspector.clean(&finding.message()));
                examples.push(json!({"n": n, "finding": index, "started": started, "at": at, "message": message}));
            }
        }
    }
    Ok(json!({"examples": examples}))
}

/// The table of `contrail.toml` that accepts a group's findings, once a reason and a date are filled in.
fn suppression(rule: Rule, operation: &str, place: &str) -> String {
    let (rule, operation) = (rule.id(), toml(operation));
    let at = if place.is_empty() { String::new() } else { format!("at = {}\n", toml(place)) };
    format!("[[suppress]]\nrule = \"{rule}\"\noperation = {operation}\n{at}reason = \"\"\nuntil = \"\"\n")
}

/// A text as TOML has it, with what a page would not show as escapes.
fn toml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            hidden if is_hidden(hidden) => drop(write!(out, "\\U{:08X}", u32::from(hidden))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// The filter that selects a group's exchanges.
pub(crate) fn query(group: &Group) -> String {
    let mut query = format!("rule:{}", group.rule.id());
    match &group.operation {
        Some(operation) => query.extend([" op:", &quoted(operation)]),
        // The place of an undocumented operation is its method and the shape of its path.
        None => {
            if let Some((method, path)) = group.place.split_once(' ') {
                query.extend([" method:", method, " path:", &quoted(&path.replace("{…}", "*"))]);
            }
            return query;
        }
    }
    if !group.place.is_empty() {
        query.extend([" at:", &quoted(&group.place)]);
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_toml_shows_what_it_holds() {
        assert_eq!(toml("/a~1b \"x\" \\"), r#""/a~1b \"x\" \\""#);
        assert_eq!(toml("a\n\u{202e}b\u{7f}"), r#""a\U0000000A\U0000202Eb\U0000007F""#);
    }
}
