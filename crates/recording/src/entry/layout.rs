//! How a fixture is laid out for review: one member per line, small groups on one, bodies pretty where that is
//! lossless.

use bytes::Bytes;
use contrail_exchange::json::{self, Document, Kind, Node};

/// Widest group that stays on one line.
const LINE: usize = 100;

/// Appends `document` from the column `indent` on; groups of scalars that fit stay on one line.
pub(crate) fn lay_out(document: &Document, indent: usize, out: &mut Vec<u8>) {
    lay_out_node(document.root(), indent, out);
}

/// Our own entries are a few levels deep: their bodies are strings.
fn lay_out_node(node: Node<'_>, indent: usize, out: &mut Vec<u8>) {
    let (open, close) = match node.kind() {
        Kind::Object => (b'{', b'}'),
        Kind::Array => (b'[', b']'),
        _ => return out.extend_from_slice(node.raw().as_bytes()),
    };
    if node.is_empty() {
        return out.extend([open, close]);
    }
    let object = node.kind() == Kind::Object;
    let inline = node.span().len() <= LINE && children(node).all(|child| !is_container(child) || child.is_empty());
    out.push(open);
    let mut first = true;
    let mut before = |out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            out.push(b',');
            if inline {
                out.push(b' ');
            }
        } else if inline && object {
            out.push(b' ');
        }
        if !inline {
            line(indent + 2, out);
        }
    };
    for (name, value) in node.entries() {
        before(out);
        out.extend_from_slice(name.raw().as_bytes());
        out.extend_from_slice(b": ");
        lay_out_node(value, indent + 2, out);
    }
    for item in node.items() {
        before(out);
        lay_out_node(item, indent + 2, out);
    }
    if !inline {
        line(indent, out);
    } else if object {
        out.push(b' ');
    }
    out.push(close);
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.entries().map(|(_, value)| value).chain(node.items())
}

fn is_container(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::Object | Kind::Array)
}

fn line(indent: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + indent, b' ');
}

/// A body laid out for reading, with a line feed at its end; `None` if compacting that would not give back these bytes,
/// or if there is nothing to lay out.
pub(crate) fn pretty_body(content: &Bytes) -> Option<Vec<u8>> {
    if !matches!(content.first(), Some(b'{' | b'[')) {
        return None;
    }
    let document = Document::parse(content.clone()).ok()?;
    if document.root().is_empty() {
        return None;
    }
    let mut pretty = json::pretty(&document);
    pretty.push(b'\n');
    let pretty = Bytes::from(pretty);
    let again = json::compact(&Document::parse(pretty.clone()).ok()?);
    (again == content[..]).then(|| pretty.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pretty(text: &str) -> Option<String> {
        pretty_body(&Bytes::copy_from_slice(text.as_bytes())).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_body_is_laid_out_only_if_its_bytes_come_back() {
        assert_eq!(pretty(r#"{"b":1.0,"a":"\u0041"}"#).unwrap(), "{\n  \"b\": 1.0,\n  \"a\": \"\\u0041\"\n}\n");
        for kept_as_it_came in
            [r#"{"a": 1}"#, "{\"a\":1}\n", " [1]", "{}", "[]", "5", "\"x\"", "{\"a\":", r#"{"a":1,"a":2}"#]
        {
            assert_eq!(pretty(kept_as_it_came), None, "{kept_as_it_came}");
        }
    }

    #[test]
    fn small_groups_stay_on_one_line() {
        let text =
            br#"{"headers":[{"name":"accept","value":"*/*"}],"cookies":[],"x":{"list":["a",1],"none":{}},"y":[[1]]}"#;
        let mut out = Vec::new();
        lay_out(&Document::parse(text.to_vec()).unwrap(), 2, &mut out);
        let expected = r#"{
    "headers": [
      { "name": "accept", "value": "*/*" }
    ],
    "cookies": [],
    "x": {
      "list": ["a", 1],
      "none": {}
    },
    "y": [
      [1]
    ]
  }"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn laying_out_moves_white_space_only(names in prop::collection::vec("[a-z \"\\\\]{0,30}", 0..6), nested: bool) {
            let mut value = serde_json::json!({"names": names, "n": 1.50});
            if nested {
                value = serde_json::json!([value.clone(), {"inner": value}]);
            }
            let text = value.to_string();
            let mut out = Vec::new();
            lay_out(&Document::parse(text.clone().into_bytes()).unwrap(), 4, &mut out);
            prop_assert_eq!(json::compact(&Document::parse(out).unwrap()), text.into_bytes());
        }
    }
}
