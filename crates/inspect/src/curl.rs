//! An exchange's request as a command of curl: the same method, target, header fields and body.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use contrail_exchange::{Exchange, is_hop_by_hop, label, shell};
use serde_json::{Value, json};

/// Fields that curl makes itself.
const OWN: [&str; 2] = ["host", "content-length"];
/// Maximum bytes of a body that stands in the command; a system bounds the length of one word.
const MAX_INLINE: usize = 64 << 10;

/// The commands, the variables that stand for what redaction replaced, and a note.
pub(crate) fn value<'e>(exchanges: impl IntoIterator<Item = &'e Exchange>) -> Value {
    let (mut labels, mut note) = (Labels::default(), None);
    let commands: Vec<String> = exchanges
        .into_iter()
        .map(|exchange| {
            if !exchange.request.body.is_whole() {
                note = Some("the recording does not hold the whole body");
            }
            command(exchange, &mut labels)
        })
        .collect();
    let variables: Vec<String> =
        labels.0.iter().map(|(name, label)| format!("{name}=… # instead of {label}")).collect();
    json!({"command": commands.join("\n\n"), "variables": variables, "note": note})
}

fn command(exchange: &Exchange, labels: &mut Labels) -> String {
    let request = &exchange.request;
    let mut command = "curl --globoff --path-as-is".to_owned();
    let has_body = !request.body.content.is_empty();
    // A response to HEAD has no body to wait for; with one of its own, curl takes no `--head`.
    if request.method == http::Method::HEAD && !has_body {
        command += " --head";
    } else {
        let _ = write!(command, " --request {}", quoted(request.method.as_str(), labels));
    }
    let path = &*request.target.path_and_query;
    // What is no part of a URL goes out as it is.
    if path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        let _ = write!(command, " {}", quoted(&request.target.to_string(), labels));
    } else {
        let origin = format!("{}/", request.target.origin());
        let _ = write!(command, " --request-target {} {}", quoted(path, labels), quoted(&origin, labels));
    }
    for (name, value) in request.headers.iter() {
        if is_hop_by_hop(name) || OWN.contains(&name.as_str()) || has_body && name == "expect" {
            continue;
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        // curl leaves out a field without a value unless it ends in a semicolon.
        let field = if text.is_empty() { format!("{name};") } else { format!("{name}: {text}") };
        let _ = write!(command, " \\\n  --header {}", quoted(&field, labels));
    }
    // What curl adds on its own.
    for (name, is_added) in [("accept", true), ("user-agent", true), ("content-type", has_body)] {
        if is_added && !request.headers.contains(name) {
            let _ = write!(command, " \\\n  --header '{name}:'");
        }
    }
    if has_body {
        match std::str::from_utf8(&request.body.content) {
            Ok(text) if !text.contains('\0') && text.len() <= MAX_INLINE => {
                let _ = write!(command, " \\\n  --data-raw {}", quoted(text, labels));
            }
            _ => {
                let body = STANDARD.encode(&request.body.content);
                command = format!("printf %s {body} | base64 --decode | {command} \\\n  --data-binary @-");
            }
        }
    }
    if !has_body && request.headers.contains("content-length") {
        command += " \\\n  --data-raw '' --header 'content-type:'";
    }
    command
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
    let mut out = String::new();
    let mut from = 0;
    for (range, _) in label::find(text.as_bytes()) {
        if from < range.start {
            out += &shell::quoted(&text[from..range.start]);
        }
        let variable = labels.variable(&text[range.clone()]);
        let _ = write!(out, "\"${variable}\"");
        from = range.end;
    }
    if from < text.len() || out.is_empty() {
        out += &shell::quoted(&text[from..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use contrail_exchange::{Body, Credential, Headers, Request, Target, Timings, Transport};
    use proptest::prelude::*;

    use super::*;

    fn exchange(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Exchange {
        let fields = headers.iter().map(|(name, value)| {
            (name.parse::<http::HeaderName>().unwrap(), http::HeaderValue::from_bytes(value.as_bytes()).unwrap())
        });
        let request = Request {
            method: method.parse().unwrap(),
            target: Target::new("https", "tenant.example", target),
            version: http::Version::HTTP_11,
            headers: fields.collect::<Headers>(),
            body: Body::whole(body.to_owned()),
            credential: Credential::Missing,
        };
        Exchange {
            request,
            response: None,
            started: None,
            timings: Timings::default(),
            transport: Transport::default(),
        }
    }

    /// The words that a shell gives to curl.
    fn words(exchange: &Exchange, before: &str) -> Vec<String> {
        let command = value([exchange])["command"].as_str().unwrap().to_owned();
        let script = format!("curl() {{ printf '%s\\0' \"$@\"; }}\n{before}\n{command}\n");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{script}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    #[test]
    fn a_label_is_a_variable_that_the_reader_sets() {
        let exchange =
            exchange("POST", "/a?b=!token-1!", &[("authorization", "Bearer !token-2!")], "{\"a\":\"!token-1!\"}");
        assert_eq!(
            words(&exchange, "TOKEN_1=one TOKEN_2='t w o'"),
            [
                "--globoff",
                "--path-as-is",
                "--request",
                "POST",
                "https://tenant.example/a?b=one",
                "--header",
                "authorization: Bearer t w o",
                "--header",
                "accept:",
                "--header",
                "user-agent:",
                "--header",
                "content-type:",
                "--data-raw",
                "{\"a\":\"one\"}",
            ]
        );
        let variables = value([&exchange])["variables"].clone();
        assert_eq!(variables, json!(["TOKEN_1=… # instead of !token-1!", "TOKEN_2=… # instead of !token-2!"]));
    }

    #[test]
    fn a_body_that_is_no_text_comes_from_base64() {
        let mut exchange = exchange("PUT", "/a", &[("content-type", "image/png")], "");
        exchange.request.body = Body::whole(vec![0, 255, b'\'']);
        let command = value([&exchange])["command"].as_str().unwrap().to_owned();
        assert!(command.starts_with("printf %s AP8n | base64 --decode | curl "), "{command}");
        assert!(command.ends_with("--data-binary @-"), "{command}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_gives_curl_the_request_byte_by_byte(
            method in "GET|POST|DELETE|BREW",
            target in "/[!\"$-~]{0,30}",
            field in "[ -~]{0,30}",
            body in "\\PC{0,40}|[@\\\\\"'$`\n\r\t !-]{1,20}",
        ) {
            prop_assume!(label::find(target.as_bytes()).chain(label::find(field.as_bytes())).chain(label::find(body.as_bytes())).next().is_none());
            let field = field.trim();
            let exchange = exchange(&method, &target, &[("x-field", field), ("host", "tenant.example")], &body);
            let given = words(&exchange, "");
            let mut expected = vec!["--globoff".to_owned(), "--path-as-is".to_owned(), "--request".to_owned(), method];
            expected.push(format!("https://tenant.example{target}"));
            let field = if field.is_empty() { "x-field;".to_owned() } else { format!("x-field: {field}") };
            expected.extend(["--header".to_owned(), field]);
            for name in ["accept:", "user-agent:"] {
                expected.extend(["--header".to_owned(), name.to_owned()]);
            }
            if !body.is_empty() {
                expected.extend(["--header", "content-type:", "--data-raw", &body].map(str::to_owned));
            }
            prop_assert_eq!(given, expected);
        }
    }
}
