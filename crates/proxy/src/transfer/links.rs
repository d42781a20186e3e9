//! `--rewrite-links`: where an answer names an upstream's origin, the client gets contrail's own, so that a client
//! which follows it stays with contrail. What is recorded is the answer as it came.

use bytes::{Bytes, BytesMut};
use contrail_exchange::Target;
use http::{HeaderMap, HeaderValue, header};

use crate::upstream::ClientOrigin;

/// Replaces the upstreams' origins in header fields, and at the start of JSON strings as they stream through.
pub(super) struct Links {
    /// The origins, each with what replaces it.
    plain: Vec<(String, String)>,
    /// The same at the start of a JSON string: plain, and with their slashes escaped.
    quoted: Vec<(Vec<u8>, Vec<u8>)>,
    /// The end of what came, which may be the start of an origin.
    held: BytesMut,
}

impl Links {
    /// From this upstream's origin to the one by which a client calls contrail; then those of the other upstreams.
    pub(super) fn new(upstream: &Target, called: &ClientOrigin) -> Option<Self> {
        let others = called.of_upstreams().filter(|(other, _)| other.upstream != upstream.upstream);
        let others = others.filter_map(|(other, called)| Some((other.origin(), called.origin()?)));
        let plain: Vec<_> = std::iter::once((upstream.origin(), called.origin()?)).chain(others).collect();
        let quoted = |text: &str| format!("\"{text}").into_bytes();
        let escaped = |text: &str| quoted(&text.replace('/', "\\/"));
        let both = |(from, to): &(String, String)| [(quoted(from), quoted(to)), (escaped(from), escaped(to))];
        let quoted = plain.iter().flat_map(both).collect();
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
        self.plain.iter().fold(text.to_owned(), |text, (from, to)| Self::replaced(&text, from, to))
    }

    fn replaced(text: &str, from: &str, to: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(from) {
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
                        break;
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
    use crate::upstream::ReverseListener;

    fn links() -> Links {
        let listener = |authority: &str, scheme, port| ReverseListener {
            upstream: Target { upstream: Some(authority.into()), ..Target::new("https", authority, "") },
            scheme,
            port,
        };
        let listeners = [listener("crm.example:8443", "https", 8), listener("crm.example:8443", "http", 7)];
        let host = HeaderValue::from_static("127.0.0.1:9");
        let called = ClientOrigin { scheme: "http", host, listeners: Some(listeners.into()) };
        Links::new(&Target::new("https", "api.example", "/x"), &called).unwrap()
    }

    #[test]
    fn an_upstreams_origin_at_the_start_of_a_json_string_becomes_contrails_however_the_body_is_cut() {
        let body = br#"{"next":"https://api.example/a?b","x":"https:\/\/api.example\/c","end":"https://api.example",
            "other":"https://api.example.org/","port":"https://api.example:8443/","text":"see https://api.example/",
            "crm":"https://crm.example:8443/y","not":"https://crm.example/"}"#;
        let expected = br#"{"next":"http://127.0.0.1:9/a?b","x":"http:\/\/127.0.0.1:9\/c","end":"http://127.0.0.1:9",
            "other":"https://api.example.org/","port":"https://api.example:8443/","text":"see https://api.example/",
            "crm":"http://127.0.0.1:7/y","not":"https://crm.example/"}"#;
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
        let links_to_both = "<https://api.example/?p=2>; rel=\"next\", <https://crm.example:8443/>; rel=\"crm\"";
        headers.append(header::LINK, HeaderValue::from_static(links_to_both));
        headers.append(header::LINK, HeaderValue::from_static("<https://api.example.org/>; rel=\"help\""));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/hal+json; charset=utf-8"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("3"));
        assert!(links().fields(&mut headers));
        assert_eq!(headers[header::LOCATION], "http://127.0.0.1:9/next");
        let all: Vec<_> = headers.get_all(header::LINK).iter().collect();
        assert_eq!(
            all,
            [
                "<http://127.0.0.1:9/?p=2>; rel=\"next\", <http://127.0.0.1:7/>; rel=\"crm\"",
                "<https://api.example.org/>; rel=\"help\""
            ]
        );
        assert!(!headers.contains_key(header::CONTENT_LENGTH));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
        assert!(!links().fields(&mut headers));
    }
}
