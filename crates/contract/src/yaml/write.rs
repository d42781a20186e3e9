//! Writes JSON values as block YAML.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Writes a value as block YAML that reads back as the same value.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => mapping(members, 0, &mut out),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut out),
        value => {
            scalar(value, &mut out);
            out.push('\n');
        }
    }
    out
}

fn mapping(members: &Map<String, Value>, indent: usize, out: &mut String) {
    for (index, (key, value)) in members.iter().enumerate() {
        if index > 0 {
            pad(indent, out);
        }
        string(key, true, out);
        out.push(':');
        match value {
            Value::Object(members) if !members.is_empty() => {
                out.push('\n');
                pad(indent + 2, out);
                mapping(members, indent + 2, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                pad(indent + 2, out);
                sequence(items, indent + 2, out);
            }
            value => {
                out.push(' ');
                scalar(value, out);
                out.push('\n');
            }
        }
    }
}

fn sequence(items: &[Value], indent: usize, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            pad(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Object(members) if !members.is_empty() => mapping(members, indent + 2, out),
            Value::Array(items) if !items.is_empty() => sequence(items, indent + 2, out),
            item => {
                scalar(item, out);
                out.push('\n');
            }
        }
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn scalar(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => string(text, false, out),
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        value => {
            let _ = write!(out, "{value}");
        }
    }
}

/// Plain where that is surely read back as this string, else double-quoted (JSON's literals are YAML's, too).
fn string(text: &str, key: bool, out: &mut String) {
    // Words are no number, whatever they begin with.
    let starts = text.starts_with(|first: char| {
        first.is_ascii_alphabetic()
            || first == '/'
            || (key && first == '$')
            || first.is_ascii_digit() && text.contains(' ')
    });
    let inside = |character: char| character.is_ascii_alphanumeric() || " _-./()^$|;+=~<>,".contains(character);
    // What another reader may take for a number, a boolean (YAML 1.1) or null is quoted.
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    if starts && !word && text.chars().all(inside) && !text.ends_with(' ') {
        out.push_str(text);
        return;
    }
    let mut quoted = String::new();
    contrail_exchange::json::quote(text, &mut quoted);
    for character in quoted.chars() {
        match character {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            character => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::read, *};

    #[test]
    fn a_written_document_reads_back_as_the_same_value() {
        let text = r##"{"a":"2.0","b":"no","c":"null","d":"1e3","e":"","f":" x ","g":"a: b","h":"# c","i":[[],{},[{"k":[1],"l":{"m":2}}]],"j":"l1\nl2\n","k":{"200":"~","y":true,"$ref":"#/x/y","/p/{id}":null,"- x":1},"l":1.50,"m":"0x10","n":"1_000","o":"2026-01-01","p":"\u0007\u2028é\ufeff","q":"'\"\\","r":"- a","s":"!t","t":"{origin}/x","u":"^a$|\\d","v":123456789012345678901234567890,"w":"end\n\n","x":"  lead\nb","y":"a #b","z":"<<","":"-","5 is":"5 is, 6","6, 7":"5,6"}"##;
        let value: Value = serde_json::from_str(text).unwrap();
        let yaml = write(&value);
        assert_eq!(read(&yaml).unwrap().to_string(), value.to_string(), "{yaml}");
    }

    #[test]
    fn what_is_written_is_readable() {
        let value: Value =
            serde_json::from_str(r##"{"a":{"b":[{"c":"5 texts, or 6","d":5},"x"]},"e":[],"f":{"$ref":"#/a"}}"##)
                .unwrap();
        assert_eq!(
            write(&value),
            "a:\n  b:\n    - c: 5 texts, or 6\n      d: 5\n    - x\ne: []\nf:\n  $ref: \"#/a\"\n"
        );
    }
}
