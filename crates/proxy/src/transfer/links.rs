//! `--rewrite-links`: where an answer names the upstream's origin, the client gets contrail's own, so that a client
//! which follows it stays with contrail. What is recorded is the answer as it came.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, header};

use crate::upstream::ClientOrigin;

/// Replaces the upstream's origin in header fields, and at the start of JSON strings as they stream through.
pub(super) struct Links {
    /// The origin, and what replaces it.
    plain: (String, String),
    /// The same at the start of a JSON string: plain, and with its slashes escaped.
    quoted: [(Vec<u8>, Vec<u8>); 2],
    /// The end of what came, which may be the start of an origin.
    held: BytesMut,
}

impl Links {
    /// From the upstream's scheme and authority to the origin by which a client calls contrail.
    pub(super) fn new(scheme: &str, authority: &str, called: &ClientOrigin) -> Option<Self> {
        let plain = (format!("{scheme}://{authority}"), called.origin()?);
        let quoted = |text: &str| format!("\"{text}").into_bytes();
        let escaped = |text: &str| quoted(&text.replace('/', "\\/"));
        let quoted = [(quoted(&plain.0), quoted(&plain.1)), (escaped(&plain.0), escaped(&plain.1))];
        Some(Self { plain, quoted, held: BytesMut::new() })
    }

    /// Changes the fields that lead on. Whether the body is to be rewritten, too: it is JSON; its length is not known
    /// then.
    pub(super) fn fields(&self, headers: &mut HeaderMap) -> bool {
        for name in [header::LOCATION, header::CONTENT_LOCATION, header::LINK] {
            if let header::Entry::Occupied(mut values) = headers.entry(name) {
                for value in values.iter_mut() {
                    let new = value.to_str().ok().map(|text| self.in_field(text));
                    if let Some(new) = new.and_then(|new| HeaderValue::from_str(&new).ok()) {
                        *value = new;
                    }
                }
            }
        }
        let is_json = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
            let essence = value.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json") || essence.to_ascii_lowercase().ends_with("+json")
        });
        let rewrites = is_json && !headers.contains_key(header::CONTENT_ENCODING);
        if rewrites {
            headers.remove(header::CONTENT_LENGTH);
        }
        rewrites
    }

    fn in_field(&self, text: &str) -> String {
        let (from, to) = &self.plain;
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(from.as_str()) {
            let (before, found) = rest.split_at(at);
            let after = &found[from.len()..];
            out.push_str(before);
            out.push_str(if ends(after.as_bytes().first().copied()) { to } else { from });
            rest = after;
        }
        out + rest
    }

    /// The next piece of the body; what may be the start of an origin is held back until the next one.
    pub(super) fn piece(&mut self, data: &[u8]) -> Bytes {
        self.held.extend_from_slice(data);
        let text = self.held.split();
        let mut out = BytesMut::with_capacity(text.len());
        let (mut at, mut copied) = (0, 0);
        while let Some(quote) = memchr::memchr(b'"', &text[at..]).map(|found| at + found) {
            let rest = &text[quote..];
            at = quote + 1;
            for (from, to) in &self.quoted {
                let Some(after) = rest.strip_prefix(from.as_slice()) else {
                    if from.starts_with(rest) {
                        // The rest of it may come yet.
                        self.held = BytesMut::from(rest);
                        out.extend_from_slice(&text[copied..quote]);
                        return out.freeze();
                    }
                    continue;
                };
                match after.first() {
                    None => {
                        self.held = BytesMut::from(rest);
                        out.extend_from_slice(&text[copied..quote]);
                        return out.freeze();
                    }
                    next if ends(next.copied()) => {
                        out.extend_from_slice(&text[copied..quote]);
                        out.extend_from_slice(to);
                        at = quote + from.len();
                        copied = at;
                    }
                    _ => {}
                }
            }
        }
        out.extend_from_slice(&text[copied..]);
        out.freeze()
    }

    /// Whether something is held back.
    pub(super) fn holds_back(&self) -> bool {
        !self.held.is_empty()
    }

    /// What was held back, at the end of the body.
    pub(super) fn rest(&mut self) -> Bytes {
        self.held.split().freeze()
    }
}

/// Whether an origin ends before this byte, and is no part of a longer host or port.
fn ends(next: Option<u8>) -> bool {
    next.is_none_or(|next| !next.is_ascii_alphanumeric() && !matches!(next, b'.' | b'-' | b'_' | b':' | b'@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let called = ClientOrigin { scheme: "http", host: HeaderValue::from_static("127.0.0.1:9") };
        Links::new("https", "api.example", &called).unwrap()
    }

    #[test]
    fn the_upstreams_origin_at_the_start_of_a_json_string_becomes_contrails_however_the_body_is_cut() {
        let body = br#"{"next":"https://api.example/a?b","x":"https:\/\/api.example\/c","end":"https://api.example",
            "other":"https://api.example.org/","port":"https://api.example:8443/","text":"see https://api.example/"}"#;
        let expected = br#"{"next":"http://127.0.0.1:9/a?b","x":"http:\/\/127.0.0.1:9\/c","end":"http://127.0.0.1:9",
            "other":"https://api.example.org/","port":"https://api.example:8443/","text":"see https://api.example/"}"#;
        for size in 1..body.len() {
            let mut links = links();
            let mut out: Vec<u8> = body.chunks(size).flat_map(|piece| links.piece(piece)).collect();
            out.extend(links.rest());
            assert_eq!(out, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn fields_that_lead_on_name_contrail_and_only_json_is_rewritten() {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, HeaderValue::from_static("https://api.example/next"));
        headers.append(header::LINK, HeaderValue::from_static("<https://api.example/?p=2>; rel=\"next\""));
        headers.append(header::LINK, HeaderValue::from_static("<https://api.example.org/>; rel=\"help\""));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/hal+json; charset=utf-8"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("3"));
        assert!(links().fields(&mut headers));
        assert_eq!(headers[header::LOCATION], "http://127.0.0.1:9/next");
        let all: Vec<_> = headers.get_all(header::LINK).iter().collect();
        assert_eq!(all, ["<http://127.0.0.1:9/?p=2>; rel=\"next\"", "<https://api.example.org/>; rel=\"help\""]);
        assert!(!headers.contains_key(header::CONTENT_LENGTH));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
        assert!(!links().fields(&mut headers));
    }
}
