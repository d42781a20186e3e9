//! An exchange's request as a command of curl: the same method, target, header fields and body.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use contrail_exchange::{Exchange, is_hop_by_hop, label};
use serde_json::{Value, json};

/// Fields that curl makes itself, or that describe a connection.
const OWN: [&str; 3] = ["host", "content-length", "accept-encoding"];

/// The command, the variables that stand for what redaction replaced, and a note.
pub(crate) fn value(exchange: &Exchange) -> Value {
    let request = &exchange.request;
    let mut labels = Labels::default();
    let mut command = "curl --globoff --path-as-is".to_owned();
    if request.method == http::Method::HEAD {
        command += " --head";
    } else {
        let _ = write!(command, " --request {}", quoted(request.method.as_str(), &mut labels));
    }
    let _ = write!(command, " {}", quoted(&request.target.to_string(), &mut labels));
    let has_body = !request.body.content.is_empty();
    for (name, value) in request.headers.iter() {
        if is_hop_by_hop(name) || OWN.contains(&name.as_str()) || has_body && name == "expect" {
            continue;
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        // curl leaves out a field without a value unless it ends in a semicolon.
        let field = if text.is_empty() { format!("{name};") } else { format!("{name}: {text}") };
        let _ = write!(command, " \\\n  --header {}", quoted(&field, &mut labels));
    }
    if has_body && !request.headers.contains("content-type") {
        let _ = write!(command, " \\\n  --header {}", quoted("content-type:", &mut labels));
    }
    let mut note = None;
    if !request.body.is_whole() {
        note = Some("the recording does not hold the whole body");
    }
    if has_body {
        match std::str::from_utf8(&request.body.content) {
            Ok(text) if !text.contains('\0') => {
                let _ = write!(command, " \\\n  --data-binary {}", quoted(text, &mut labels));
                // At the beginning, curl takes `@` for the name of a file.
                if text.starts_with('@') {
                    command = command.replace("--data-binary", "--data-raw");
                }
            }
            _ => {
                let body = STANDARD.encode(&request.body.content);
                command = format!("printf %s {body} | base64 --decode | {command} \\\n  --data-binary @-");
            }
        }
    }
    let variables: Vec<String> =
        labels.0.iter().map(|(name, label)| format!("{name}=… # instead of {label}")).collect();
    json!({"command": command, "variables": variables, "note": note})
}

/// Variables for labels, in the order of their appearance.
#[derive(Debug, Default)]
struct Labels(Vec<(String, String)>);

impl Labels {
    fn variable(&mut self, label: &str) -> String {
        if let Some((name, _)) = self.0.iter().find(|(_, held)| held == label) {
            return name.clone();
        }
        let name: String = label
            .trim_matches(['!', '.'])
            .chars()
            .map(|character| if character.is_ascii_alphanumeric() { character.to_ascii_uppercase() } else { '_' })
            .collect();
        let name =
            if name.starts_with(|first: char| first.is_ascii_alphabetic()) { name } else { format!("SECRET_{name}") };
        self.0.push((name.clone(), label.to_owned()));
        name
    }
}

/// A word of a POSIX shell. A label becomes a variable between double quotes.
fn quoted(text: &str, labels: &mut Labels) -> String {
    let single = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut out = String::new();
    let mut from = 0;
    for (range, _) in label::find(text.as_bytes()) {
        if from < range.start {
            out += &single(&text[from..range.start]);
        }
        let variable = labels.variable(&text[range.clone()]);
        let _ = write!(out, "\"${variable}\"");
        from = range.end;
    }
    if from < text.len() || out.is_empty() {
        out += &single(&text[from..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_for_a_shell_and_a_label_a_variable() {
        let mut labels = Labels::default();
        assert_eq!(quoted("it's", &mut labels), "'it'\\''s'");
        assert_eq!(quoted("", &mut labels), "''");
        assert_eq!(quoted("authorization: Bearer !token-1!", &mut labels), "'authorization: Bearer '\"$TOKEN_1\"");
        assert_eq!(quoted("!token-1!x", &mut labels), "\"$TOKEN_1\"'x'");
        assert_eq!(labels.0, [("TOKEN_1".to_owned(), "!token-1!".to_owned())]);
    }
}
