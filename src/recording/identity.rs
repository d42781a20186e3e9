//! What makes two requests the same request: method, raw path, decoded query and body, by value.
//!
//! Replay compares requests by the same [`Parts`]. Here they become a key to sort by, in which redacted places stand for
//! any value: which number a label has depends on the order of the recording.

use ring::digest::{Context, SHA256};

use super::parts::{Content, Field, Parts, Value};
use crate::{
    exchange::{Body, Place, Request},
    json::{self, Document},
};

/// A request's identity. Sorts by path, method, query and body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    path: String,
    method: String,
    query: Vec<(String, String)>,
    body: Option<[u8; 32]>,
}

impl Identity {
    /// The identity of a redacted request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let parts = Parts::of(request);
        let text = |bytes: &[u8]| unnumbered(&String::from_utf8_lossy(bytes));
        Self {
            path: unnumbered(&parts.path),
            method: parts.method.as_str().to_owned(),
            query: parts.query.iter().map(|pair| (text(&pair.name), text(&pair.value))).collect(),
            body: body(&parts.body, &request.body),
        }
    }
}

/// A digest of the body's value; `None` for no body.
fn body(content: &Content, body: &Body) -> Option<[u8; 32]> {
    let redacted = &body.redacted;
    let mut digest = Context::new(&SHA256);
    let mut part = |bytes: &[u8]| {
        digest.update(&(bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    let masked = redacted.iter().any(String::is_empty) && !(body.malformed && matches!(content, Content::Bytes(_)));
    match content {
        Content::Absent => return None,
        Content::Unseen(_) => part(b"unseen"),
        _ if masked => part(b"redacted"),
        Content::Json(document) => {
            part(b"json");
            part(value(document, redacted, "").as_bytes());
        }
        Content::Form(fields) => {
            part(b"form");
            for held in fields {
                part(field(held, redacted).as_bytes());
            }
        }
        Content::Multipart(fields) => {
            part(b"multipart");
            for held in fields {
                part(field(held, redacted).as_bytes());
            }
        }
        Content::Bytes(bytes) => {
            part(b"bytes");
            part(unnumbered_bytes(bytes).as_ref());
        }
    }
    let mut out = [0; 32];
    out.copy_from_slice(digest.finish().as_ref());
    Some(out)
}

fn field(field: &Field, redacted: &[Place]) -> String {
    let name = String::from_utf8_lossy(&field.name);
    let mut place = String::new();
    json::push_pointer(&mut place, &name);
    let held = match &field.value {
        _ if redacted.contains(&place) => "!".to_owned(),
        Value::Bytes(bytes) => unnumbered(&String::from_utf8_lossy(bytes)),
        Value::Json(document) => value(document, redacted, &place),
    };
    format!("{name}\0{}\0{held}", field.file.as_deref().unwrap_or_default())
}

/// The canonical text of a document, redacted places (of those below `base`) taken out.
fn value(document: &Document, redacted: &[Place], base: &str) -> String {
    let mut edits: Vec<_> = redacted
        .iter()
        .filter_map(|place| document.pointer(place.strip_prefix(base)?))
        .map(|node| (node.span(), b"null".to_vec()))
        .collect();
    edits.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
    // A place inside another one goes with it.
    let mut end = 0;
    edits.retain(|(span, _)| {
        let apart = span.start >= end;
        if apart {
            end = span.end;
        }
        apart
    });
    let mut text = String::new();
    if edits.is_empty() {
        document.root().canonical(&mut text);
    } else {
        match Document::parse(json::splice(document.source(), &edits)) {
            Ok(document) => document.root().canonical(&mut text),
            Err(_) => document.root().canonical(&mut text),
        }
    }
    unnumbered(&text)
}

/// The text with every label's number and padding taken out.
fn unnumbered(text: &str) -> String {
    String::from_utf8_lossy(unnumbered_bytes(text.as_bytes()).as_ref()).into_owned()
}

/// `!kind-12..!` and `!12!` become `!!` (see [`crate::redact`] for what a label looks like).
pub(super) fn unnumbered_bytes(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(start) = memchr::memchr(b'!', &text[at..]).map(|found| at + found) {
        let rest = &text[start + 1..];
        let kind = rest.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-').count();
        let digits = rest[kind..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let dots = rest[kind + digits..].iter().take_while(|byte| **byte == b'.').count();
        let end = kind + digits + dots;
        if digits == 0 || rest.get(end) != Some(&b'!') {
            at = start + 1;
            continue;
        }
        let out = out.get_or_insert_with(Vec::new);
        out.extend_from_slice(&text[copied..start]);
        out.extend_from_slice(b"!!");
        at = start + end + 2;
        copied = at;
    }
    match out {
        None => text.into(),
        Some(mut out) => {
            out.extend_from_slice(&text[copied..]);
            out.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue, Method, Version};

    use super::*;
    use crate::{
        exchange::{Headers, Target},
        token::Credential,
    };

    fn request(method: Method, path: &str, mime: &'static str, body: &str) -> Request {
        let mut headers = Headers::new();
        headers.append(HeaderName::from_static("content-type"), HeaderValue::from_static(mime));
        Request {
            method,
            target: Target::new("https", "a.example", path),
            version: Version::HTTP_11,
            headers,
            body: if body.is_empty() { Body::default() } else { Body::whole(body.to_owned()) },
            credential: Credential::Missing,
        }
    }

    fn same(left: &str, right: &str, mime: &'static str) -> bool {
        let of = |body| Identity::of(&request(Method::POST, "/x", mime, body));
        of(left) == of(right)
    }

    #[test]
    fn bodies_are_the_same_by_value() {
        let json = "application/json";
        assert!(same(r#"{"a":1.0,"b":2}"#, r#"{ "b":2, "a":1 }"#, json));
        assert!(!same(r#"{"a":1}"#, r#"{"a":"1"}"#, json));
        let form = "application/x-www-form-urlencoded";
        assert!(same("a=1&b=%7B%22x%22%3A1%7D", "b=%7B%22x%22%3A+1%7D&a=1", form));
        assert!(!same("a=1", "a=1&a=1", form));
        assert!(!same("", "{}", json));
    }

    #[test]
    fn paths_are_raw_and_queries_are_decoded_in_any_order() {
        let of = |path| Identity::of(&request(Method::GET, path, "a/b", ""));
        assert_ne!(of("/a|b"), of("/a%7Cb"));
        assert_eq!(of("/a?x=1+2&y=3"), of("/a?y=3&x=1%202"));
        assert_ne!(of("/a?x=1+2"), of("/a?x=1%2B2"));
    }

    #[test]
    fn a_label_is_the_same_whatever_its_number() {
        let of = |path| Identity::of(&request(Method::GET, path, "a/b", ""));
        assert_eq!(of("/u/!token-3!?k=!7..!"), of("/u/!token-12!?k=!8..!"));
        assert_ne!(of("/u/!token-x!"), of("/u/!token-y!"));
        assert_ne!(of("/u/!"), of("/u/!!"));
    }

    #[test]
    fn a_redacted_place_stands_for_any_value() {
        let of = |body: &str, place: &str| {
            let mut request = request(Method::POST, "/x", "application/json", body);
            request.body.redacted = vec![place.to_owned(), "/gone".to_owned()];
            Identity::of(&request)
        };
        assert_eq!(of(r#"{"pin":12,"a":1}"#, "/pin"), of(r#"{"pin":45,"a":1}"#, "/pin"));
        assert_ne!(of(r#"{"pin":12,"a":1}"#, "/pin"), of(r#"{"pin":45,"a":2}"#, "/pin"));
    }
}
