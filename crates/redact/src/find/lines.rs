//! JSON inside a text: all of it, a line of it, or the lines of an event.

use std::ops::Range;

use contrail_exchange::json::Document;

use super::walk::Places;
use crate::{Redactor, mark::Mark};

/// What begins a line of an event's data (HTML, section 9.2.6).
const DATA: &[u8] = b"data:";

/// What may precede the first line of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Redactor {
    /// JSON inside a text: the whole of it, or line by line (newline-delimited JSON, event streams). Whether all of
    /// the text was read as JSON.
    pub(super) fn detect_lines(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) -> bool {
        let mut start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        if self.detect_document(&text[start..], depth, out, |range| start + range.start..start + range.end) {
            return true;
        }
        if memchr::memchr2(b'\n', b'\r', text).is_none() && !text[start..].starts_with(DATA) {
            return false;
        }
        let is_stream = text[start..].starts_with(DATA)
            || [b"\ndata:", b"\rdata:"].iter().any(|data| memchr::memmem::find(text, *data).is_some());
        let mut event = Event::default();
        while start < text.len() {
            let line = line(&text[start..], is_stream);
            let data = line.strip_prefix(DATA);
            let from = start + if data.is_some() { DATA.len() } else { 0 };
            if data.is_some() || line.len() < text.len() {
                let line = data.unwrap_or(line);
                self.detect_document(line, depth, out, |range| from + range.start..from + range.end);
            }
            start += line.len();
            if let Some(data) = data {
                event.lines.push((event.data.len(), from));
                event.data.extend_from_slice(data);
            }
            // JSON in the data of an event may spread over several lines.
            if start == text.len() || data.is_none() && line.trim_ascii().is_empty() {
                let event = std::mem::take(&mut event);
                if event.lines.len() > 1 {
                    self.detect_document(&event.data, depth, out, |range| event.source(&range));
                }
            }
        }
        false
    }

    /// Secrets of a JSON document, which stands in a text where `source` says. Whether it is one.
    fn detect_document(
        &self,
        text: &[u8],
        depth: usize,
        out: &mut Vec<Mark>,
        source: impl Fn(Range<usize>) -> Range<usize>,
    ) -> bool {
        if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return false;
        }
        let Ok(document) = Document::parse(text.to_vec()) else { return false };
        let mut marks = Vec::new();
        self.detect_json(&document, &Places::of_body(&[]), depth - 1, &mut marks);
        out.extend(marks.into_iter().map(|mark| Mark {
            range: source(mark.range.clone()),
            place: None,
            whole: false,
            ..mark
        }));
        true
    }
}

/// The first line of a text, with its end; in a stream of events a CR alone is one.
fn line(text: &[u8], is_stream: bool) -> &[u8] {
    let end = memchr::memchr2(b'\n', if is_stream { b'\r' } else { b'\n' }, text).map_or(text.len(), |end| end + 1);
    let end = end + usize::from(text[..end].ends_with(b"\r") && text[end..].starts_with(b"\n"));
    &text[..end]
}

/// The data of an event.
#[derive(Default)]
struct Event {
    data: Vec<u8>,
    /// Where each line begins in the data, and where in the text.
    lines: Vec<(usize, usize)>,
}

impl Event {
    /// Where a range of the data stands in the text. No string or number of JSON goes over the end of a line.
    fn source(&self, range: &Range<usize>) -> Range<usize> {
        let line = self.lines.partition_point(|(at, _)| *at <= range.start).saturating_sub(1);
        let (at, from) = self.lines.get(line).copied().unwrap_or_default();
        from + range.start - at..from + range.end - at
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn json_that_an_event_stream_splits_over_several_lines_is_read_as_one() {
        for (text, expected) in [
            (
                "data: {\"a\":1,\ndata: \"token\":\ndata:  \"abc\"}\n\n",
                "data: {\"a\":1,\ndata: \"token\":\ndata:  \"!token-1!\"}\n\n",
            ),
            (
                "id: 1\ndata: [\ndata:{\"token\":\nevent: x\ndata:\"abc\"}]",
                "id: 1\ndata: [\ndata:{\"token\":\nevent: x\ndata:\"!token-1!\"}]",
            ),
            ("data: {\"token\":\"abc\"}\n\ndata: {}\n", "data: {\"token\":\"!token-1!\"}\n\ndata: {}\n"),
            ("data: {\"token\":\n\ndata: \"abc\"}\n", "data: {\"token\":\n\ndata: \"abc\"}\n"),
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
