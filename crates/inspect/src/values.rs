//! The values that exchanges have for a key of the filter, for a person who types one.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    filter::{self, Field},
    inspector::Inspector,
};

/// Maximum values of one answer.
const MAX: usize = 12;

/// The most frequent values that hold this text. None are offered for `path` and `query`, which differ too much.
pub(crate) fn of(inspector: &Inspector, key: &str, text: &str) -> Value {
    let store = inspector.store();
    let text = text.to_ascii_lowercase();
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut count = |value: &str| {
        if value.is_empty() || !value.to_ascii_lowercase().contains(&text) {
            return;
        }
        match counts.get_mut(value) {
            Some(count) => *count += 1,
            None => drop(counts.insert(value.to_owned(), 1)),
        }
    };
    let field = Field::named(key).filter(|field| !matches!(field, Field::Path | Field::Query));
    for (n, summary) in store.numbered() {
        let state = store.beside(n).map(|beside| beside.state);
        match (key, field) {
            (_, Some(field)) => {
                let _ = field.any(summary, &store.names, |value| {
                    count(value);
                    false
                });
            }
            ("status", None) if summary.status != 0 => count(&summary.status.to_string()),
            ("is", None) => filter::marks(summary, state).for_each(&mut count),
            _ => {}
        }
    }
    let mut found: Vec<(String, u64)> = counts.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let option = |(text, count): (String, u64)| json!({"text": inspector.clean(&text), "count": count});
    json!({"options": found.into_iter().take(MAX).map(option).collect::<Vec<_>>()})
}
