//! A text with one coding undone, and the way back to where each byte came from.

use std::ops::Range;

/// A decoded text; every byte of it knows its place in the source.
#[derive(Debug)]
pub(super) struct View {
    pub(super) text: Vec<u8>,
    /// Where each decoded byte begins in the source; one more for the end.
    origin: Vec<u32>,
}

impl View {
    /// With `%XX` undone (and `+` read as a space, in queries and forms); `None` if there is nothing to undo, or more
    /// text than is looked at. A `%` without two digits stays.
    pub(super) fn percent(source: &[u8], plus: bool) -> Option<Self> {
        if memchr::memchr(b'%', source).is_none() && !(plus && memchr::memchr(b'+', source).is_some()) {
            return None;
        }
        let mut view = Self::with_capacity(source)?;
        let mut at = 0;
        let mut decoded = false;
        while at < source.len() {
            let (byte, length) = match source[at] {
                b'%' => match (hex(source.get(at + 1)), hex(source.get(at + 2))) {
                    (Some(high), Some(low)) => (high << 4 | low, 3),
                    _ => (b'%', 1),
                },
                b'+' if plus => (b' ', 1),
                other => (other, 1),
            };
            decoded |= length == 3 || byte != source[at];
            view.push(byte, at);
            at += length;
        }
        decoded.then(|| view.closed(source))
    }

    /// With JSON's escapes undone, leniently: what is no escape stays; `None` if there is nothing to undo.
    pub(super) fn unescape(source: &[u8]) -> Option<Self> {
        memchr::memchr(b'\\', source)?;
        let mut view = Self::with_capacity(source)?;
        let mut at = 0;
        let mut decoded = false;
        while at < source.len() {
            let simple = match (source[at], source.get(at + 1)) {
                (b'\\', Some(b'"')) => Some(b'"'),
                (b'\\', Some(b'\\')) => Some(b'\\'),
                (b'\\', Some(b'/')) => Some(b'/'),
                (b'\\', Some(b'b')) => Some(8),
                (b'\\', Some(b'f')) => Some(12),
                (b'\\', Some(b'n')) => Some(b'\n'),
                (b'\\', Some(b'r')) => Some(b'\r'),
                (b'\\', Some(b't')) => Some(b'\t'),
                _ => None,
            };
            if let Some(byte) = simple {
                decoded = true;
                view.push(byte, at);
                at += 2;
            } else if let Some((character, length)) = unicode_escape(source, at) {
                decoded = true;
                let mut buffer = [0; 4];
                for byte in character.encode_utf8(&mut buffer).bytes() {
                    view.push(byte, at);
                }
                at += length;
            } else {
                view.push(source[at], at);
                at += 1;
            }
        }
        decoded.then(|| view.closed(source))
    }

    /// With the five entities of XML and numeric ones undone; `None` if there is none.
    pub(super) fn entities(source: &[u8]) -> Option<Self> {
        memchr::memchr(b'&', source)?;
        let mut view = Self::with_capacity(source)?;
        let mut at = 0;
        let mut decoded = false;
        while at < source.len() {
            if let Some((character, length)) = entity(&source[at..]) {
                decoded = true;
                let mut buffer = [0; 4];
                for byte in character.encode_utf8(&mut buffer).bytes() {
                    view.push(byte, at);
                }
                at += length;
            } else {
                view.push(source[at], at);
                at += 1;
            }
        }
        decoded.then(|| view.closed(source))
    }

    /// Where a range of the decoded text stands in the source; whole escapes only.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.origin[range.start] as usize;
        let last = self.origin[range.end.max(range.start + 1) - 1];
        let end = self.origin[range.end.max(range.start + 1)..].iter().find(|origin| **origin != last);
        start..end.map_or(start, |end| *end as usize)
    }

    fn with_capacity(source: &[u8]) -> Option<Self> {
        u32::try_from(source.len()).ok()?;
        Some(Self { text: Vec::with_capacity(source.len()), origin: Vec::with_capacity(source.len() + 1) })
    }

    #[allow(clippy::cast_possible_truncation)] // `with_capacity` refuses longer sources
    fn push(&mut self, byte: u8, at: usize) {
        self.text.push(byte);
        self.origin.push(at as u32);
    }

    #[allow(clippy::cast_possible_truncation)]
    fn closed(mut self, source: &[u8]) -> Self {
        self.origin.push(source.len() as u32);
        self
    }
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
}

/// The character of the `\u` escape (or pair of them) at `at`, and its length in the source.
fn unicode_escape(source: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let digits = source.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |value, byte| Some(value << 4 | u32::from(hex(Some(byte))?)))
    };
    let first = unit(at)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    let second = unit(at + 6).filter(|second| (0xdc00..0xe000).contains(second) && first < 0xdc00)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|character| (character, 12))
}

fn entity(text: &[u8]) -> Option<(char, usize)> {
    let end = text.iter().take(10).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(text[..end].strip_prefix(b"&")?).ok()?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back<'a>(view: &View, source: &'a str, part: &str) -> &'a str {
        let at = view.text.windows(part.len()).position(|window| window == part.as_bytes()).unwrap();
        &source[view.source(&(at..at + part.len()))]
    }

    #[test]
    fn a_part_of_a_percent_encoded_text_is_found_in_its_source() {
        let source = "a%20s%33cret+%zz%2";
        let view = View::percent(source.as_bytes(), true).unwrap();
        assert_eq!(view.text, b"a s3cret %zz%2");
        assert_eq!(back(&view, source, "s3cret"), "s%33cret");
        assert_eq!(back(&view, source, "t "), "t+");
        assert!(View::percent(b"plain+text", false).is_none());
        assert!(View::percent(b"100%", false).is_none());
    }

    #[test]
    fn a_part_of_an_escaped_text_is_found_in_its_source() {
        let source = r"x\u0073\/\ud83d\ude00é\n\q";
        let view = View::unescape(source.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(view.text.clone()).unwrap(), "xs/😀é\n\\q");
        assert_eq!(back(&view, source, "s/"), r"\u0073\/");
        assert_eq!(back(&view, source, "😀"), r"\ud83d\ude00");
        assert_eq!(back(&view, source, "\u{1f600}é"), r"\ud83d\ude00é");
        assert!(View::unescape(br"\q").is_none());
        assert!(View::unescape(br"\ud800").is_none());
    }

    #[test]
    fn a_part_of_a_text_with_entities_is_found_in_its_source() {
        let source = "a&lt;s&#x33;c&gt; & &nope;";
        let view = View::entities(source.as_bytes()).unwrap();
        assert_eq!(view.text, b"a<s3c> & &nope;");
        assert_eq!(back(&view, source, "s3c"), "s&#x33;c");
    }
}
