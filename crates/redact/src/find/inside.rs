//! Texts inside of a text: JSON, as all of it or a line of it; base64 and hex.

use contrail_exchange::json::Document;

use super::{fields::fields, grammar::looks_like_form, walk::Places};
use crate::{
    Redactor,
    mark::{self, Mark},
    runs,
};

/// What begins a line of an event's data (HTML, section 9.2.6).
const DATA: &[u8] = b"data:";

/// What may precede the first line of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Redactor {
    /// Text in base64 or hex with a secret in it: all of the run is one place. It is a JSON document, a form, or any
    /// other.
    pub(super) fn detect_runs(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        runs::decode(text, |found| {
            let (plain, mut inner) = (&found.plain, Vec::new());
            let is_json = self.detect_document(plain, 0, depth, &mut inner);
            if !is_json && looks_like_form(plain) {
                self.detect_fields(plain, &fields(plain), false, &mut inner);
            } else if !is_json {
                self.detect_text(plain, depth - 1, &mut inner);
            }
            out.extend(inner.into_iter().map(|mark| Mark::part(found.source(text, &mark.range), mark.secret)));
        });
    }

    /// JSON inside a text: the whole of it, or line by line (newline-delimited JSON, event streams). Whether all of
    /// the text was read as JSON.
    pub(super) fn detect_lines(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) -> bool {
        let mut start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        if self.detect_document(&text[start..], start, depth, out) {
            return true;
        }
        for line in text[start..].split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            start += line.len();
            let data = line.strip_prefix(DATA).unwrap_or(line);
            if data.len() < text.len() {
                self.detect_document(data, start - data.len(), depth, out);
            }
        }
        false
    }

    /// Secrets of a JSON document that begins at `start` of a text. Whether it is one.
    fn detect_document(&self, text: &[u8], start: usize, depth: usize, out: &mut Vec<Mark>) -> bool {
        if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return false;
        }
        let Ok(document) = Document::parse(text.to_vec()) else { return false };
        let found = |inner: &mut _| _ = self.detect_json(&document, &Places::of_body(&[]), depth - 1, inner);
        mark::inside(out, start, None, found).iter_mut().for_each(Mark::become_part);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn json_in_the_events_of_a_stream_is_read_line_by_line() {
        for (text, expected) in [
            ("data: {\"a\":1,\ndata: \"token\": \"abc\"}\n\n", "data: {\"a\":1,\ndata: \"token\": \"!token-1!\"}\n\n"),
            ("data: {\"token\":\"abc\"}\n\ndata: {}\n", "data: {\"token\":\"!token-1!\"}\n\ndata: {}\n"),
            ("id: 1\ndata: {\"tokens\":[\"a\"]}", "id: 1\ndata: {\"tokens\":[\"!token-1!\"]}"),
        ] {
            for (end, before) in [("\n", ""), ("\r\n", ""), ("\r", ""), ("\n", "\u{feff}"), ("\r", "\u{feff}")] {
                let written = |text: &str| format!("{before}{}", text.replace('\n', end));
                assert_eq!(*Redactor::default().text(&written(text)), written(expected));
            }
        }
    }

    #[test]
    fn json_on_a_line_of_any_length_is_read() {
        let long = "a".repeat((1 << 20) + 1);
        let text = format!("{{}}\n{{\"a\":\"{long}\",\"name\":\"Authorization\",\"value\":\"Xk9mT2vL\"}}\n");
        let kept = Redactor::default().text(&text).into_inner();
        assert!(kept.ends_with("\"value\":\"!credential-1!\"}\n"), "{}", &kept[kept.len() - 60..]);
    }
}
