//! The JSON writer: strings, numbers and instants, straight into a buffer.

use std::{
    ops::Range,
    time::{Duration, SystemTime},
};

use jiff::{
    Timestamp,
    fmt::{StdIoWrite, temporal::DateTimePrinter},
};

use super::{document::Document, slot::Kind, strings::needs_escape};

/// Text that is no JSON string yet, as it is.
pub fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// A JSON string literal.
pub fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escaped(text, out);
    out.push(b'"');
}

/// JSON string literals in brackets.
pub fn strings<'a>(list: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for text in list {
        comma(&mut first, out);
        string(text, out);
    }
    out.push(b']');
}

/// A comma, but not before the first.
pub fn comma(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

/// An object while its members are written, with the commas between them.
#[derive(Debug)]
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Object<'o> {
    /// Opens an object.
    pub fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    /// Closes it.
    pub fn end(self) {
        self.out.push(b'}');
    }

    /// Where the value of a member goes, whose name needs no escape.
    pub fn value(&mut self, name: &str) -> &mut Vec<u8> {
        comma(&mut self.first, self.out);
        self.out.push(b'"');
        raw(self.out, name);
        raw(self.out, "\":");
        self.out
    }

    /// A member that is an object.
    pub fn object(&mut self, name: &str) -> Object<'_> {
        Object::begin(self.value(name))
    }

    /// A member that is a string.
    pub fn text(&mut self, name: &str, text: &str) {
        string(text, self.value(name));
    }

    /// A member that is a string, where there is one.
    pub fn some_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// A member that is a list of strings.
    pub fn texts<'a>(&mut self, name: &str, list: impl IntoIterator<Item = &'a str>) {
        strings(list.into_iter(), self.value(name));
    }

    /// A member that is a whole number, where there is one.
    pub fn some_number(&mut self, name: &str, some: Option<impl itoa::Integer>) {
        if let Some(some) = some {
            number(some, self.value(name));
        }
    }

    /// A member that is `true`, where it is.
    pub fn flag(&mut self, name: &str, is: bool) {
        if is {
            raw(self.value(name), "true");
        }
    }
}

/// The high bit of each byte of a word, which no ASCII has.
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Whether a JSON string can hold these bytes as they are, and all of them are ASCII.
pub fn is_plain(bytes: &[u8]) -> bool {
    let plain = |bytes: &[u8; 8]| {
        let word = u64::from_le_bytes(*bytes);
        (needs_escape(word) | word & HIGH) == 0
    };
    // The last eight overlap what came before them.
    match bytes.last_chunk() {
        Some(last) => bytes.as_chunks().0.iter().all(plain) && plain(last),
        None => bytes.iter().all(|byte| matches!(byte, b' '..0x80) && !matches!(byte, b'"' | b'\\')),
    }
}

/// A piece that is being written: it is taken away at 512 bytes, with room behind for what sixteen can become escaped,
/// or for two copies of [`COPIED`] and their backslashes.
type Piece = [u8; 512 + 16 * 6 + 32];

/// Bytes that are copied at a time, though a string may be shorter: with a fixed size the processor has no branch to
/// guess, and most strings fit.
const COPIED: usize = 32;

/// The inside of a JSON string literal.
pub fn escaped(text: &str, out: &mut Vec<u8>) {
    escaped_bytes(text.as_bytes(), out);
}

fn escaped_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() <= 64 && is_plain(bytes) {
        return out.extend_from_slice(bytes);
    }
    out.reserve(bytes.len() + bytes.len() / 4);
    let (mut piece, mut length): (Piece, _) = ([0; _], 0);
    let (chunks, rest) = bytes.as_chunks::<16>();
    // A space stands for itself.
    let mut last = [b' '; 16];
    last[..rest.len()].copy_from_slice(rest);
    for chunk in chunks.iter().chain([&last]) {
        if length >= 512 {
            out.extend_from_slice(&piece[..length]);
            length = 0;
        }
        length = put(&mut piece, length, chunk);
    }
    length -= last.len() - rest.len();
    out.extend_from_slice(&piece[..length]);
}

/// A JSON string literal that holds this document, whose quotes need not be looked for; whether it was written, which a
/// document with control characters is not.
pub fn document(document: &Document, out: &mut Vec<u8>) -> bool {
    if document.controls {
        return false;
    }
    let source: &[u8] = document.source();
    out.reserve(source.len() + source.len() / 4);
    out.push(b'"');
    let (mut piece, mut length, mut copied): (Piece, _, _) = ([0; _], 0, 0);
    for slot in document.tape.iter().filter(|slot| slot.kind() == Kind::String) {
        let (open, close) = (slot.start as usize, slot.end as usize - 1);
        if length < 512
            && !slot.is_marked()
            && let Some(end) = put_short(&mut piece, length, source, copied, open, close)
        {
            (length, copied) = (end, close);
            continue;
        }
        length = copy(&mut piece, length, source, copied..open, out);
        length = put_backslash(&mut piece, length);
        copied = open;
        if slot.is_marked() {
            out.extend_from_slice(&piece[..length]);
            out.push(b'"');
            escaped_bytes(&source[open + 1..close], out);
            (length, copied) = (0, close);
        }
        length = copy(&mut piece, length, source, copied..close, out);
        length = put_backslash(&mut piece, length);
        copied = close;
    }
    length = copy(&mut piece, length, source, copied..source.len(), out);
    out.extend_from_slice(&piece[..length]);
    out.push(b'"');
    true
}

/// Puts text where the piece ends; where it ends then.
#[inline]
fn copy(piece: &mut Piece, mut length: usize, text: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> usize {
    let mut at = range.start;
    while at < range.end {
        if length >= 512 {
            out.extend_from_slice(&piece[..length]);
            length = 0;
        }
        let taken = (range.end - at).min(COPIED);
        match text[at..].first_chunk::<COPIED>() {
            Some(chunk) => put_bytes(piece, length, *chunk),
            None => piece[length..length + taken].copy_from_slice(&text[at..at + taken]),
        }
        (at, length) = (at + taken, length + taken);
    }
    length
}

/// Puts what stands between two strings and the inside of the second where the piece ends, with both quotes of the
/// second escaped but for the closing one itself; where it ends then. `None` if they are longer than what is copied at a
/// time.
#[inline]
fn put_short(piece: &mut Piece, end: usize, source: &[u8], between: usize, open: usize, close: usize) -> Option<usize> {
    if open - between > COPIED || close - open > COPIED {
        return None;
    }
    put_bytes::<COPIED>(piece, end, *source.get(between..)?.first_chunk()?);
    let end = put_backslash(piece, end + (open - between));
    put_bytes::<COPIED>(piece, end, *source.get(open..)?.first_chunk()?);
    Some(put_backslash(piece, end + (close - open)))
}

#[inline]
fn put_backslash(piece: &mut Piece, at: usize) -> usize {
    put_bytes(piece, at, [b'\\']);
    at + 1
}

/// Puts sixteen bytes, escaped, where the piece ends; where it ends then.
fn put(piece: &mut Piece, end: usize, chunk: &[u8; 16]) -> usize {
    put_bytes(piece, end, *chunk);
    let word = |at: usize| chunk[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let (one, two) = (word(0), word(8));
    let (marks_of_one, marks_of_two) = (needs_escape(one), needs_escape(two));
    if marks_of_one | marks_of_two == 0 {
        return end + chunk.len();
    }
    let end = end + 8 + spread(piece, end, one, marks_of_one);
    put_bytes(piece, end, two.to_le_bytes());
    end + 8 + spread(piece, end, two, marks_of_two)
}

/// Puts an escape where each mark is, and what is behind the mark behind the escape. How many bytes that added.
#[inline]
fn spread(piece: &mut Piece, start: usize, word: u64, mut marks: u64) -> usize {
    let mut added = 0;
    while marks != 0 {
        let bits = marks.trailing_zeros() & !7;
        let rest = word >> bits;
        let at = start + added + bits as usize / 8;
        let [byte, ..] = rest.to_le_bytes();
        if byte < b' ' {
            added += put_control(piece, at, byte, rest >> 8);
        } else {
            put_bytes(piece, at, [b'\\']);
            put_bytes(piece, at + 1, rest.to_le_bytes());
            added += 1;
        }
        marks &= marks - 1;
    }
    added
}

#[inline]
fn put_bytes<const N: usize>(piece: &mut Piece, at: usize, bytes: [u8; N]) {
    if let Some(place) = piece[at..].first_chunk_mut() {
        *place = bytes;
    }
}

/// Puts the escape of a control character, and what is behind it. How many bytes that added.
#[cold]
fn put_control(piece: &mut Piece, at: usize, byte: u8, behind: u64) -> usize {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            put_bytes(piece, at, [b'\\', b'u', b'0', b'0', high, low]);
            put_bytes(piece, at + 6, behind.to_le_bytes());
            return 5;
        }
    };
    put_bytes(piece, at, [b'\\', letter]);
    put_bytes(piece, at + 2, behind.to_le_bytes());
    1
}

/// A whole number.
pub fn number(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Milliseconds with three places after the point, or none; `none` where it was not measured.
pub fn millis(duration: Option<Duration>, none: &str, out: &mut Vec<u8>) {
    let Some(duration) = duration else { return raw(out, none) };
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    number(micros / 1000, out);
    let rest = micros % 1000;
    if rest != 0 {
        // Three digits, with leading zeros.
        let thousand = out.len();
        number(1000 + rest, out);
        out[thousand] = b'.';
    }
}

/// An instant to the millisecond in UTC (RFC 3339); `none` where there is none, or a year beyond 9999.
pub fn instant(at: Option<SystemTime>, none: &str, out: &mut Vec<u8>) {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    match at.map(Timestamp::try_from) {
        Some(Ok(at)) if PRINTER.print_timestamp(&at, StdIoWrite(&mut *out)).is_ok() => {}
        _ => raw(out, none),
    }
}

/// An instant to the second in UTC (RFC 3339), as reports cite it; `None` beyond the year 9999.
pub fn second(at: SystemTime) -> Option<String> {
    Timestamp::try_from(at).ok().map(|at| format!("{at:.0}"))
}

/// Replaces spans (ascending, not overlapping) of `source`.
#[must_use]
pub fn splice(source: &[u8], edits: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    let grown: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let mut out = Vec::with_capacity(source.len() + grown);
    let mut copied = 0;
    for (span, text) in edits {
        debug_assert!(copied <= span.start && span.start <= span.end && span.end <= source.len());
        out.extend_from_slice(source.get(copied..span.start).unwrap_or_default());
        out.extend_from_slice(text);
        copied = span.end;
    }
    out.extend_from_slice(source.get(copied..).unwrap_or_default());
    out
}

/// Whether a text reads as a number, `true`, `false` or `null`, so that only its quotation marks make it a string.
pub fn reads_as_another_scalar(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || serde_json::from_str::<serde_json::Number>(text).is_ok()
}

/// Appends a JSON string literal, quotes included, with the minimal escapes of RFC 8259.
pub fn quote(text: &str, out: &mut String) {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    string(text, &mut quoted);
    // The writer copies UTF-8 and adds ASCII.
    out.push_str(str::from_utf8(&quoted).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap().split_off("before".len())
    }

    proptest! {
        #[test]
        fn a_string_is_escaped_as_serde_escapes_it(
            text in "([ -~]|\\PC|[\"\\\\]|[\\x00-\\x1f\"\\\\]|[a-z]{5,40}){0,60}", times in 1_usize..20
        ) {
            let text = text.repeat(times);
            prop_assert_eq!(written(|out| string(&text, out)), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn a_document_is_written_as_its_text_is(
            items in prop::collection::vec(("([ -~]|\\PC|[\"\\\\]|[\\x00-\\x1f]|[a-z]{5,40}){0,9}", any::<i32>(), any::<bool>()), 0..60),
            pretty in any::<bool>(),
        ) {
            let items: Vec<_> = items
                .into_iter()
                .map(|(text, number, named)| if named { json!({ text: number }) } else { json!([text, number, null, ""]) })
                .collect();
            let form = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
            let source = form(&items).unwrap();
            let document = Document::parse(source.clone()).unwrap();
            let mut written_so = false;
            let text = written(|out| written_so = super::document(&document, out));
            prop_assert_eq!(written_so, !source.contains('\n'));
            let expected = if written_so { serde_json::to_string(&source).unwrap() } else { String::new() };
            prop_assert_eq!(text, expected);
        }

        #[test]
        fn plain_text_is_what_serde_would_not_escape_and_ascii(text in "[ -~]{0,20}|\\PC{0,5}|[\\x00-\\x7f]{0,9}") {
            let plain = text.is_ascii() && serde_json::to_string(&text).unwrap().len() == text.len() + 2;
            prop_assert_eq!(is_plain(text.as_bytes()), plain);
        }

        #[test]
        fn a_number_is_written_as_everybody_writes_it(unsigned in any::<u64>(), number in any::<i64>(), shift in 0..64_u32) {
            let (unsigned, number) = (unsigned >> shift, number >> shift);
            prop_assert_eq!(written(|out| super::number(unsigned, out)), unsigned.to_string());
            prop_assert_eq!(written(|out| super::number(number, out)), number.to_string());
        }

        #[test]
        fn an_instant_is_written_as_the_calendar_has_it(millis in 0_u64..253_402_207_201_000, nanos in 0_u64..1_000_000) {
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(millis) + Duration::from_nanos(nanos);
            let expected = format!("{:.3}", jiff::Timestamp::try_from(at).unwrap());
            prop_assert_eq!(written(|out| instant(Some(at), "", out)), expected);
        }
    }

    #[test]
    fn every_byte_of_ascii_is_escaped_as_serde_escapes_it_wherever_it_stands() {
        for byte in 0..0x80_u8 {
            for before in 0..40 {
                let text = format!("{}{}{}", "x".repeat(before), char::from(byte), "y".repeat(80));
                assert_eq!(written(|out| string(&text, out)), serde_json::to_string(&text).unwrap(), "{byte} {before}");
            }
        }
    }

    #[test]
    fn text_of_nothing_but_the_longest_escapes_stays_whole() {
        for length in [1, 15, 16, 17, 85, 86, 511, 512, 513, 5000] {
            let text = "\u{1}".repeat(length);
            assert_eq!(written(|out| string(&text, out)), serde_json::to_string(&text).unwrap(), "{length}");
        }
    }

    #[test]
    fn instants_at_the_edges_of_the_calendar_are_right_or_left_out() {
        let at = |seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap();
        for (at, expected) in [
            (at(0), "1970-01-01T00:00:00.000Z"),
            (at(951_782_400), "2000-02-29T00:00:00.000Z"),
            (at(4_107_542_399), "2100-02-28T23:59:59.000Z"),
            (at(4_107_542_400), "2100-03-01T00:00:00.000Z"),
            (at(253_402_207_199), "9999-12-30T21:59:59.000Z"),
            (at(253_402_207_200), "9999-12-30T22:00:00.000Z"),
            (at(253_402_207_201), "none"),
            (SystemTime::UNIX_EPOCH - Duration::from_millis(1), "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(written(|out| instant(Some(at), "none", out)), expected);
        }
        assert_eq!(written(|out| instant(None, "none", out)), "none");
    }

    #[test]
    fn milliseconds_have_three_places_or_none() {
        let text = |micros| written(|out| millis(Some(Duration::from_micros(micros)), "-1", out));
        assert_eq!([text(0), text(7), text(1_000), text(12_340)], ["0", "0.007", "1", "12.340"]);
        assert_eq!(written(|out| millis(None, "-1", out)), "-1");
    }
}
