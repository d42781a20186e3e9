//! Exchanges as a HAR file: what `record` would have written, redacted.

use contrail_recording::{JournalContext, encode};
use contrail_redact::{JudgedExchange, Redacted};
use serde_json::{Value, json};

use super::kept::Surroundings;

/// The file; `None` if an exchange cannot be written as an entry.
pub(crate) fn value(exchanges: Vec<(Redacted<JudgedExchange>, Surroundings)>) -> Option<Value> {
    let entry = |(judged, beside): (Redacted<JudgedExchange>, Surroundings)| -> Option<Value> {
        let context = JournalContext { upstream: beside.upstream.unwrap_or_default(), contract: "".into() };
        let mut line = Vec::new();
        encode(&judged, None, &context, &mut line);
        serde_json::from_slice(&line).ok()
    };
    let entries: Vec<Value> = exchanges.into_iter().map(entry).collect::<Option<_>>()?;
    let creator = json!({"name": "contrail", "version": env!("CARGO_PKG_VERSION")});
    Some(json!({"log": {"version": "1.2", "creator": creator, "entries": entries}}))
}
