//! GraphQL requests (`{"query": "query Name { … }"}`): as much of the language as comparing and naming them takes.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem::Finder;

use crate::{
    Request,
    json::{self, Document, Kind, Node},
};

/// The tokens of a document; `None` for any other text. White space, commas and comments are none (GraphQL, section
/// 2.1.7).
fn tokens(text: &str) -> Option<Vec<&str>> {
    let bytes = text.as_bytes();
    let while_of = |from: usize, is: fn(u8) -> bool| bytes[from..].iter().take_while(|byte| is(**byte)).count();
    let of_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while let Some(byte) = bytes.get(at).copied() {
        let length = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += while_of(at, |byte| !matches!(byte, b'\n' | b'\r'));
                continue;
            }
            b'{' | b'[' | b'(' => {
                open.push(byte);
                1
            }
            b'}' | b']' | b')' => {
                let opened = open.pop()?;
                if !matches!((opened, byte), (b'{', b'}') | (b'[', b']') | (b'(', b')')) {
                    return None;
                }
                1
            }
            b'!' | b'$' | b'&' | b':' | b'=' | b'@' | b'|' => 1,
            b'.' if text[at..].starts_with("...") => 3,
            b'"' => string(&text[at..])?,
            b'-' | b'0'..=b'9' => 1 + while_of(at + 1, |byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte)),
            _ if of_name(byte) => while_of(at, of_name),
            _ => return None,
        };
        found.push(&text[at..at + length]);
        at += length;
    }
    let begins = matches!(found.first().copied(), Some("{" | "query" | "mutation" | "subscription" | "fragment"));
    (begins && found.last().copied() == Some("}") && open.is_empty()).then_some(found)
}

/// How long the string is with which a text begins.
fn string(text: &str) -> Option<usize> {
    if text.starts_with("\"\"\"") {
        let mut from = 3;
        loop {
            let end = from + text[from..].find("\"\"\"")?;
            if !text[..end].ends_with('\\') {
                return Some(end + 3);
            }
            from = end + 3;
        }
    }
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' | b'\r' => return None,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Whether this is the text of a document.
#[must_use]
pub fn is_document(text: &str) -> bool {
    tokens(text).is_some()
}

/// The body of a GraphQL request in the form in which all that mean the same are equal; `None` for any other JSON.
#[must_use]
pub fn normal(body: &Document) -> Option<Document> {
    let query = body.root().get("query")?.as_str()?;
    let query = tokens(&query)?.join(" ");
    let is_nothing = |name: &str, value: Node<'_>| match name {
        "variables" => value.kind() == Kind::Null || value.kind() == Kind::Object && value.is_empty(),
        "operationName" => value.kind() == Kind::Null,
        _ => false,
    };
    let mut text = String::from("{");
    for (name, value) in body.root().members().filter(|(name, value)| !is_nothing(name, *value)) {
        if text.len() > 1 {
            text.push(',');
        }
        json::quote(&name, &mut text);
        text.push(':');
        if name == "query" { json::quote(&query, &mut text) } else { text.push_str(value.raw()) }
    }
    text.push('}');
    Document::parse(text).ok()
}

/// The name of the operation that a GraphQL request asks for: the one that it states, else that of the only one.
#[must_use]
pub fn operation_name(request: &Request) -> Option<String> {
    static QUERY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"query\""));
    QUERY.find(&request.body.content)?;
    let body = request.body.document().ok()?;
    let query = body.root().get("query")?.as_str()?;
    let tokens = tokens(&query)?;
    let stated = body.root().get("operationName").and_then(Node::as_str);
    let name = stated.map(Cow::into_owned).or_else(|| only_name(&tokens).map(str::to_owned))?;
    let is_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    ((1..=100).contains(&name.len()) && name.bytes().all(is_name)).then_some(name)
}

fn only_name<'a>(tokens: &[&'a str]) -> Option<&'a str> {
    let mut depth = 0_usize;
    let mut names = Vec::new();
    for pair in tokens.windows(2) {
        match pair[0] {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "query" | "mutation" | "subscription" if depth == 0 => names.push(pair[1]),
            _ => {}
        }
    }
    names.first().copied().filter(|_| names.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal_of(body: &str) -> Option<String> {
        let document = normal(&Document::parse(body.to_owned()).unwrap())?;
        Some(String::from_utf8(document.source().to_vec()).unwrap())
    }

    #[test]
    fn white_space_commas_comments_and_empty_members_do_not_count() {
        let one = normal_of(r#"{"query":"query A($id: ID!) { user(id: $id, n: -1.5e3) { ...F name } }"}"#);
        let other = "{\"operationName\":null,\"query\":\"# who\\nquery A($id:ID!){\\n  user(id:$id n:-1.5e3){...F,name}}\\n\
                     \",\"variables\":{}}";
        assert!(one.is_some());
        assert_eq!(normal_of(other), one);
        assert_eq!(normal_of(&other.replace("{}}", "null}")), one);
        assert_ne!(normal_of(&other.replace("name", "names")), one);
        assert_ne!(normal_of(&other.replace("{}}", "{\"id\":1}}")), one);
        let text = |text: &str| tokens(&format!("{{ a(b: {text}) }}")).map(|tokens| tokens.len());
        assert_eq!(text(r#""a # , b""#), Some(8));
        assert_eq!(text(r#""\" )""#), Some(8));
        assert_eq!(text("\"\"\" \" \\\"\"\" , \"\"\""), Some(8));
    }

    #[test]
    fn what_is_no_document_of_graphql_stays_as_it_is() {
        for query in ["select 1", "", "{", "{ a ) }", "{ a", "hello {}", "{ \\\"a }", "{ a ; }", "query"] {
            assert_eq!(normal_of(&format!("{{\"query\":\"{query}\"}}")), None, "{query}");
        }
        for body in ["[1]", r#"{"query":{"a":1}}"#, r#"{"q":"{ a }"}"#, "1"] {
            assert_eq!(normal_of(body), None, "{body}");
        }
    }

    #[test]
    fn the_name_is_the_stated_one_or_that_of_the_only_operation() {
        let name = |text: &str| only_name(&tokens(text).unwrap()).map(str::to_owned);
        assert_eq!(name("query A { query { b } } fragment F on T { c }").as_deref(), Some("A"));
        assert_eq!(name("query A { b } mutation B { c }"), None);
        assert_eq!(name("{ b }"), None);
    }
}
