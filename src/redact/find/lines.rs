//! JSON inside a text: all of it, a line of it, or the lines of an event.

use std::ops::Range;

use super::{detect::MAX_SEARCHED, walk::Places};
use crate::json::Document;
use crate::redact::{Redactor, mark::Mark};

/// What begins a line of an event's data (HTML, section 9.2.6).
const DATA: &[u8] = b"data:";

impl Redactor {
    /// JSON inside a text: the whole of it, or line by line (newline-delimited JSON, event streams). Whether all of
    /// the text was read as JSON.
    pub(super) fn detect_lines(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) -> bool {
        if self.detect_document(text, depth, out, |range| range) {
            return true;
        }
        if memchr::memchr(b'\n', text).is_none() {
            return false;
        }
        let mut start = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let skip = if line.starts_with(DATA) { DATA.len() } else { 0 };
            let from = start + skip;
            self.detect_document(&line[skip..], depth, out, |range| from + range.start..from + range.end);
            start += line.len();
        }
        if text.starts_with(DATA) || memchr::memmem::find(text, b"\ndata:").is_some() {
            self.detect_events(text, depth, out);
        }
        false
    }

    /// JSON in the data of an event that spreads over several lines.
    fn detect_events(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        let mut event = Event::default();
        let mut start = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n').chain([&b""[..]]) {
            if let Some(data) = line.strip_prefix(DATA) {
                event.lines.push((event.data.len(), start + DATA.len()));
                event.data.extend_from_slice(data);
            } else if line.trim_ascii().is_empty() {
                let event = std::mem::take(&mut event);
                if event.lines.len() > 1 {
                    self.detect_document(&event.data, depth, out, |range| event.source(&range));
                }
            }
            start += line.len();
        }
    }

    /// Secrets of a JSON document, which stands in a text where `source` says. Whether it is one.
    fn detect_document(
        &self,
        text: &[u8],
        depth: usize,
        out: &mut Vec<Mark>,
        source: impl Fn(Range<usize>) -> Range<usize>,
    ) -> bool {
        if text.len() > MAX_SEARCHED || !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
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
    use crate::redact::Redactor;

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
            ("data: {\"token\":\n\ndata: \"abc\"}\n", "data: {\"token\":\n\ndata: \"abc\"}\n"),
        ] {
            let redactor = Redactor::default();
            assert_eq!(*redactor.text(text), expected);
        }
    }
}
