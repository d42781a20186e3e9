//! An exchange as a HAR file: what `record` would have written, redacted.

use std::sync::Arc;

use contrail_recording::{JournalContext, encode};
use contrail_redact::{JudgedExchange, Redacted};
use serde_json::{Value, json};

/// The file; `None` if the exchange cannot be written as an entry.
pub(crate) fn value(judged: &Redacted<JudgedExchange>, upstream: Option<Arc<str>>) -> Option<Value> {
    let context = JournalContext { upstream: upstream.unwrap_or_default(), contract: "".into() };
    let mut line = Vec::new();
    encode(judged, None, &context, &mut line);
    let entry: Value = serde_json::from_slice(&line).ok()?;
    let creator = json!({"name": "contrail", "version": env!("CARGO_PKG_VERSION")});
    Some(json!({"log": {"version": "1.2", "creator": creator, "entries": [entry]}}))
}
