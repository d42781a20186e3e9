//! A document of the contract for reading, as lines of YAML: all of it, or the part at a JSON pointer.

use contrail_contract::{ContractDocument, yaml_text};
use contrail_exchange::visible::visible;
use serde_json::{Value, json};

use super::inspector::Inspector;

/// Maximum lines of one answer.
const MAX_LINES: usize = 1000;

/// Lines of a document; `None` if there is none of this number, or nothing at this place.
pub(crate) fn value(inspector: &Inspector, number: usize, at: &str, from: usize, count: usize) -> Option<Value> {
    let document = inspector.contract.documents().get(number)?;
    let part = document.document().pointer(at)?;
    let text = yaml_text(part);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().skip(from).take(count.min(MAX_LINES));
    let shown = shown.map(|line| json!({"text": inspector.clean(line), "to": target(document, line).map(visible)}));
    let above = (0..at.len()).filter(|index| at.as_bytes()[*index] == b'/').map(|index| visible(&at[..index]));
    Some(json!({
        "name": visible(document.name()), "title": visible(document.title()), "at": visible(at),
        "above": above.collect::<Vec<_>>(),
        "size": lines.len(), "from": from, "lines": shown.collect::<Vec<_>>(),
    }))
}

/// The place in the same document that a line refers to.
fn target<'a>(document: &ContractDocument, line: &'a str) -> Option<&'a str> {
    let reference = line.trim_start().trim_start_matches("- ").strip_prefix("$ref:")?;
    let at = reference.trim().trim_matches(['"', '\'']).strip_prefix('#')?;
    document.document().pointer(at).map(|_| at)
}
