//! The values that exchanges have for a key of the filter, for a person who types one.

use std::collections::HashMap;

use contrail_exchange::{
    finding::{Rule, UNDOCUMENTED},
    visible::visible,
};
use serde_json::{Value, json};

use super::{
    inspector::Inspector,
    names::Names,
    summary::{Mark, Summary},
};

/// Maximum values of one answer.
const MAX: usize = 12;

/// The most frequent values that begin so, or hold the text.
pub(crate) fn of(inspector: &Inspector, key: &str, begins: &str) -> Value {
    let store = inspector.store();
    let mut counts: HashMap<String, u64> = HashMap::new();
    for summary in store.summaries() {
        each(key, summary, &store.names, |value| {
            if value.to_ascii_lowercase().contains(&begins.to_ascii_lowercase()) {
                match counts.get_mut(value) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(value.to_owned(), 1)),
                }
            }
        });
    }
    let mut found: Vec<(String, u64)> = counts.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let option = |(text, count): (String, u64)| json!({"text": visible(&inspector.clean(&text)), "count": count});
    json!({"options": found.into_iter().take(MAX).map(option).collect::<Vec<_>>()})
}

/// Does something with each value that an exchange has for a key.
fn each(key: &str, summary: &Summary, names: &Names, mut with: impl FnMut(&str)) {
    let name = |number| names.text(number).map_or("", |text| text);
    match key {
        "verdict" => with(summary.verdict_name()),
        "op" => with(if summary.operation == 0 { UNDOCUMENTED } else { name(summary.operation) }),
        "method" => with(name(summary.method)),
        "host" => with(name(summary.host)),
        "source" => with(name(summary.source)),
        "client" if summary.client != 0 => with(name(summary.client)),
        "status" if summary.status != 0 => with(&summary.status.to_string()),
        "rule" => summary.findings.iter().for_each(|seen| with(Rule::id(seen.rule))),
        "kind" => summary.findings.iter().for_each(|seen| with(seen.rule.kind().name())),
        "at" => summary.findings.iter().filter(|seen| seen.at != 0).for_each(|seen| with(name(seen.at))),
        "scope" => name(summary.scopes).split_whitespace().for_each(with),
        "token" => summary.time.iter().for_each(|time| with(time.name())),
        "blame" => summary.blame.iter().for_each(|blame| with(blame.name())),
        "unchecked" => summary.unchecked.iter().for_each(|aspect| with(aspect.name())),
        "is" => {
            let words =
                [(Mark::Cut, "cut"), (Mark::Redacted, "redacted"), (Mark::Retried, "retried"), (Mark::Left, "left")];
            words.iter().filter(|(mark, _)| summary.is_marked(*mark)).for_each(|(_, word)| with(word));
        }
        _ => {}
    }
}
