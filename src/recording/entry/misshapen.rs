//! Which member of an entry has another type than HAR 1.2 says, or than contrail writes. Looked for only where an entry
//! could not be read.

use std::collections::BTreeMap;

use crate::json::{
    Document, Kind, Node, SyntaxFault,
    lenient::{LenientError, Raw, Read as _, read_by},
};

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
    ("request.cookies", Kind::Array),
    ("request.cookies.*", Kind::Object),
    ("request.cookies.*.name", Kind::String),
    ("request.postData", Kind::Object),
    ("request.postData.mimeType", Kind::String),
    ("request.postData.text", Kind::String),
    ("request.postData.params", Kind::Array),
    ("request.postData.params.*", Kind::Object),
    ("request.postData.params.*.name", Kind::String),
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

/// As [`MEMBERS`], of `_contrail`.
const OWN: &[(&str, Kind)] = &[
    ("operation", Kind::String),
    ("blame", Kind::String),
    ("contract", Kind::String),
    ("upstream", Kind::String),
    ("originalAudience", Kind::String),
    ("answered", Kind::String),
    ("incomplete", Kind::String),
    ("retried", Kind::Boolean),
    ("clientLeft", Kind::Boolean),
    ("given", Kind::Number),
    ("findings", Kind::Array),
    ("findings.*", Kind::Object),
    ("findings.*.seen", Kind::String),
    ("findings.*.rule", Kind::String),
    ("findings.*.at", Kind::String),
    ("findings.*.expected", Kind::String),
    ("unchecked", Kind::Array),
    ("unchecked.*", Kind::String),
    ("attested", Kind::Object),
    ("attested.blame", Kind::String),
    ("attested.unchecked", Kind::Array),
    ("attested.contract", Kind::String),
    ("attested.findings", Kind::Array),
    ("attested.indexes", Kind::Array),
    ("attested.cleared", Kind::Array),
    ("attested.findings.*", Kind::Object),
    ("attested.indexes.*", Kind::Number),
    ("attested.cleared.*", Kind::Object),
    ("attested.unchecked.*", Kind::String),
    ("attested.findings.*.seen", Kind::String),
    ("attested.cleared.*.seen", Kind::String),
    ("attested.findings.*.rule", Kind::String),
    ("attested.findings.*.at", Kind::String),
    ("attested.findings.*.expected", Kind::String),
    ("attested.cleared.*.rule", Kind::String),
    ("attested.cleared.*.at", Kind::String),
    ("attested.cleared.*.expected", Kind::String),
    ("laidOut", Kind::Array),
    ("laidOut.*", Kind::String),
    ("sha256", Kind::Object),
    ("sha256.request", Kind::String),
    ("sha256.response", Kind::String),
    ("request", Kind::Object),
    ("request.withheld", Kind::String),
    ("request.truncated", Kind::Object),
    ("request.malformed", Kind::Boolean),
    ("request.coded", Kind::Boolean),
    ("request.redacted", Kind::Array),
    ("request.truncated.total", Kind::Number),
    ("request.redacted.*", Kind::String),
    ("request.truncated.kept", Kind::Number),
    ("response", Kind::Object),
    ("response.withheld", Kind::String),
    ("response.truncated", Kind::Object),
    ("response.malformed", Kind::Boolean),
    ("response.coded", Kind::Boolean),
    ("response.redacted", Kind::Array),
    ("response.truncated.total", Kind::Number),
    ("response.redacted.*", Kind::String),
    ("response.truncated.kept", Kind::Number),
];

/// As [`MEMBERS`], of `_contrail.token` where it holds facts.
const TOKEN: &[(&str, Kind)] = &[
    ("", Kind::Object),
    ("malformed", Kind::String),
    ("scheme", Kind::String),
    ("client", Kind::String),
    ("scopes", Kind::Array),
    ("issuer", Kind::String),
    ("outcome", Kind::String),
    ("signature", Kind::String),
    ("encrypted", Kind::Boolean),
    ("unknown", Kind::Boolean),
    ("audience", Kind::Array),
    ("scopes.*", Kind::String),
    ("audience.*", Kind::String),
];

/// The first such member with what it should be, in words: `request.headers` is an object, and an array in HAR 1.2.
pub(super) fn misshapen(entry: &[u8]) -> Option<String> {
    let (path, found, expected) = find(MEMBERS, &Document::parse(entry.to_vec()).ok()?)?;
    let named = if path.is_empty() { "it".to_owned() } else { format!("`{path}`") };
    Some(format!("{named} is {found}, and {expected} in HAR 1.2"))
}

/// What keeps contrail's member at `path` (`_contrail` or `_contrail.token`) from being read; names what is in it where
/// it can.
pub(super) fn misfit(path: &str, own: &str, error: LenientError) -> String {
    let named = match error {
        LenientError::Shape => misshapen_own(path, own),
        LenientError::Surrogate => not_text(own).map(|name| format!("`{path}.{name}`")),
        _ => None,
    };
    match error {
        LenientError::Shape => {
            named.unwrap_or_else(|| format!("`{path}` lacks a member, or has one of another type than contrail writes"))
        }
        LenientError::Surrogate => {
            format!("{} holds half of a surrogate pair", named.unwrap_or_else(|| format!("`{path}`")))
        }
        LenientError::Duplicate(name) => format!("`{path}` has two members `{name}`"),
        LenientError::Cut | LenientError::Grammar => format!("`{path}` is not valid JSON"),
    }
}

fn misshapen_own(path: &str, own: &str) -> Option<String> {
    let text = own.as_bytes();
    let document = Document::parse(text.to_vec()).ok().or_else(|| Document::mended(text))?;
    let (member, found, expected) = find(if path == "_contrail" { OWN } else { TOKEN }, &document)?;
    let dot = if member.is_empty() { "" } else { "." };
    Some(format!("`{path}{dot}{member}` is {found}, and contrail writes {expected} there"))
}

/// The member of an object that holds half of a surrogate pair.
fn not_text(own: &str) -> Option<String> {
    let members = read_by(own.as_bytes(), |reader| {
        let mut members = BTreeMap::new();
        reader.object(|name, reader| {
            members.insert(name.to_owned(), Raw::read(reader)?);
            Ok(())
        })?;
        Ok(members)
    });
    let is_half = |raw: Raw<'_>| {
        Document::parse(raw.get().to_owned()).is_err_and(|error| error.fault == SyntaxFault::LoneSurrogate)
    };
    members.ok()?.into_iter().find(|(_, raw)| is_half(*raw)).map(|(name, _)| name)
}

/// The first of these members that has another type, what it is, and what it should be. Null stands for nothing.
fn find<'m>(members: &'m [(&str, Kind)], document: &Document) -> Option<(&'m str, &'static str, &'static str)> {
    members.iter().find_map(|(path, expected)| {
        let mut nodes = vec![document.root()];
        for name in path.split('.').filter(|name| !name.is_empty()) {
            nodes = match name {
                "*" => nodes.into_iter().flat_map(Node::items).collect(),
                name => nodes.into_iter().filter_map(|node| node.get(name)).collect(),
            };
        }
        let found = nodes.iter().map(|node| node.kind()).find(|kind| *kind != Kind::Null && kind != expected)?;
        Some((*path, a(found), a(*expected)))
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
