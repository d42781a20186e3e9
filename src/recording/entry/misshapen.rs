//! Which member of an entry has another type than HAR 1.2 says. Looked for only where an entry could not be read.

use crate::json::{Document, Kind, Node};

/// Members that are read, outer ones first; `*` stands for each item of an array.
const MEMBERS: &[(&str, Kind)] = &[
    ("", Kind::Object),
    ("startedDateTime", Kind::String),
    ("request", Kind::Object),
    ("request.method", Kind::String),
    ("request.url", Kind::String),
    ("request.httpVersion", Kind::String),
    ("request.headers", Kind::Array),
    ("request.headers.*", Kind::Object),
    ("request.headers.*.name", Kind::String),
    ("request.headers.*.value", Kind::String),
    ("request.postData", Kind::Object),
    ("request.postData.mimeType", Kind::String),
    ("request.postData.text", Kind::String),
    ("request.postData.params", Kind::Array),
    ("request.postData.params.*", Kind::Object),
    ("request.postData.params.*.name", Kind::String),
    ("request.postData.params.*.value", Kind::String),
    ("response", Kind::Object),
    ("response.httpVersion", Kind::String),
    ("response.headers", Kind::Array),
    ("response.headers.*", Kind::Object),
    ("response.headers.*.name", Kind::String),
    ("response.headers.*.value", Kind::String),
    ("response.content", Kind::Object),
    ("response.content.mimeType", Kind::String),
    ("response.content.text", Kind::String),
    ("response.content.encoding", Kind::String),
    ("timings", Kind::Object),
];

/// The first such member with what it should be, in words: `request.headers` is an object, and an array in HAR 1.2.
pub(super) fn misshapen(entry: &[u8]) -> Option<String> {
    let document = Document::parse(entry.to_vec()).ok()?;
    MEMBERS.iter().find_map(|(path, expected)| {
        let mut nodes = vec![document.root()];
        for name in path.split('.').filter(|name| !name.is_empty()) {
            nodes = match name {
                "*" => nodes.into_iter().flat_map(Node::items).collect(),
                name => nodes.into_iter().filter_map(|node| node.get(name)).collect(),
            };
        }
        let found = nodes.iter().map(|node| node.kind()).find(|kind| *kind != Kind::Null && kind != expected)?;
        let named = if path.is_empty() { "it".to_owned() } else { format!("`{path}`") };
        Some(format!("{named} is {}, and {} in HAR 1.2", a(found), a(*expected)))
    })
}

fn a(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "true or false",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}
