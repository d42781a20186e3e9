//! What the contract states about a finding: its passage, with the line that is broken.

use contrail_contract::{Contract, Passage, Subject};
use contrail_exchange::{finding::Finding, visible::visible};
use serde_json::{Value, json};

/// The passages of a finding.
pub(crate) fn passages(contract: &Contract, subject: Subject<'_>, finding: &Finding) -> Vec<Value> {
    let passages = contract.passages(subject).into_iter();
    let number = |name: &str| contract.documents().iter().position(|document| document.name() == name);
    let value = |Passage { document, at, text }| {
        let mut value = value(&document, &at, &text, finding);
        value["number"] = number(&document).into();
        value
    };
    passages.map(value).collect()
}

fn value(document: &str, at: &str, text: &str, finding: &Finding) -> Value {
    let lines: Vec<String> = text.lines().map(|line| visible(line).into_owned()).collect();
    let source = lines.iter().find_map(|line| line.trim_start().strip_prefix("x-contrail-source:"));
    let marked: Vec<usize> = (0..lines.len()).filter(|index| states(&lines[*index], &finding.expected)).collect();
    json!({
        "document": visible(document),
        "at": visible(at),
        "source": source.map(|source| source.trim().trim_matches(['"', '\''])),
        "lines": lines,
        "marked": marked,
    })
}

/// Keywords of JSON Schema, and how what is expected puts them. Others are not marked: better none than a wrong one.
const KEYWORDS: [(&str, &str); 12] = [
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maxLength", "at most"),
    ("minLength", "at least"),
    ("maxItems", "at most"),
    ("minItems", "at least"),
    ("maxProperties", "at most"),
    ("minProperties", "at least"),
    ("pattern", "matches"),
    ("multipleOf", "multiple of"),
];

/// Whether a line of a passage is the keyword that `expected` puts in words, with its value.
fn states(line: &str, expected: &str) -> bool {
    let Some((key, value)) = line.trim_start().trim_start_matches("- ").split_once(':') else { return false };
    let value = value.trim().trim_matches(['"', '\'']);
    if value.is_empty() {
        return false;
    }
    if key == "type" {
        let is_word = |text: &str| expected.split(|other: char| !other.is_alphanumeric()).any(|word| word == text);
        let word = if value == "string" { "text" } else { value };
        return is_word(word) || is_word(value);
    }
    if key == "format" {
        return expected.split([' ', '`', ',']).any(|word| word == value);
    }
    let words = KEYWORDS.iter().find(|(keyword, _)| *keyword == key).map(|(_, words)| *words);
    words.is_some_and(|words| {
        let behind = expected.split(words).skip(1);
        behind.into_iter().any(|rest| {
            let rest = rest.trim_start_matches([' ', '`']);
            rest.strip_prefix(value).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_states_what_is_expected_is_marked_and_no_other() {
        for (line, expected, is) in [
            ("  maximum: 10000", "an integer of at most 10000", true),
            ("  maximum: 1000", "an integer of at most 10000", false),
            ("  minimum: 1", "an integer of at most 10000", false),
            ("  maxLength: 26", "a text of at most 26 characters", true),
            ("  pattern: ^[a-z]+$", "a text that matches `^[a-z]+$`", true),
            ("  type: integer", "an integer", true),
            ("  type: string", "a string", true),
            ("  type: object", "an integer", false),
            ("  format: date-time", "a date-time (RFC 3339)", true),
            ("  format: date", "a date-time (RFC 3339)", false),
            ("limit:", "an integer of at most 10000", false),
        ] {
            assert_eq!(states(line, expected), is, "{line}: {expected}");
        }
    }
}
