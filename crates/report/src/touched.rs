//! What the exchanges of a report touch of the contract.

use serde_json::{Map, Value, json};

use crate::coverage::{Counts, Coverage, Part};

/// `1 of 7 operations, 2 of 24 statuses`; `None` before the first exchange.
pub(super) fn in_words(coverage: &Coverage) -> Option<String> {
    let kinds = kinds(coverage).map(|(part, Counts { touched, of })| format!("{touched} of {of} {}", part.words()));
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// The same with the names of all parts that were never touched.
pub(super) fn values(coverage: &Coverage) -> Option<Value> {
    let kinds = kinds(coverage).map(|(part, Counts { touched, of })| {
        let never: Vec<&str> = coverage.untouched(part).collect();
        (part.name().to_owned(), json!({"touched": touched, "of": of, "never": never}))
    });
    let kinds: Map<String, Value> = kinds.collect();
    (!kinds.is_empty()).then(|| kinds.into())
}

/// The kinds of parts that the contract has; none before the first exchange.
pub(super) fn kinds(coverage: &Coverage) -> impl Iterator<Item = (Part, Counts)> {
    let all = Part::ALL.into_iter().filter(|_| coverage.exchanges() > 0);
    all.map(|part| (part, coverage.counts(part))).filter(|(_, counts)| counts.of > 0)
}
