//! A text with one coding undone, and the way back to where each byte came from.

use std::ops::Range;

use super::find::steps::looked;

/// A decoded text; every byte of it knows its place in the source.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) text: Vec<u8>,
    /// Where in the source the byte or the escape begins that each byte comes from; one more for the end.
    origins: Vec<u32>,
}

/// An escape undone.
struct Undone {
    bytes: [u8; 4],
    /// How many of the bytes count.
    decoded: u8,
    /// The length of the escape.
    coded: u8,
}

impl Undone {
    fn byte(byte: u8, coded: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], decoded: 1, coded }
    }

    fn character(character: char, coded: usize) -> Option<Self> {
        let mut bytes = [0; 4];
        let decoded = u8::try_from(character.encode_utf8(&mut bytes).len()).ok()?;
        Some(Self { bytes, decoded, coded: u8::try_from(coded).ok()? })
    }
}

impl View {
    /// With `%XX` undone (and `+` read as a space, in queries and forms); `None` if there is nothing to undo, or more
    /// text than is looked at. A `%` without two digits stays.
    pub(crate) fn percent(source: &[u8], plus: bool) -> Option<Self> {
        // Without `plus` the second is the first again.
        let blank = if plus { b'+' } else { b'%' };
        Self::undo(source, |text| memchr::memchr2(b'%', blank, text), |text| percent_at(text, plus))
    }

    /// With JSON's escapes undone, leniently: what is no escape stays; `None` if there is nothing to undo.
    pub(crate) fn unescape(source: &[u8]) -> Option<Self> {
        Self::undo(source, |text| memchr::memchr(b'\\', text), escape_at)
    }

    /// With the five entities of XML and numeric ones undone; `None` if there is none.
    pub(crate) fn entities(source: &[u8]) -> Option<Self> {
        Self::undo(source, |text| memchr::memchr(b'&', text), entity_at)
    }

    /// Undoes what `undo` knows, where `next` says that something may begin.
    fn undo(
        source: &[u8],
        next: impl Fn(&[u8]) -> Option<usize>,
        undo: impl Fn(&[u8]) -> Option<Undone>,
    ) -> Option<Self> {
        let end = u32::try_from(source.len()).ok()?;
        let (mut view, mut at, mut copied) = (Self::default(), 0, 0);
        while let Some(skipped) = source.get(at..).and_then(&next) {
            at += skipped;
            let Some(undone) = undo(&source[at..]) else {
                at += 1;
                continue;
            };
            if copied == 0 {
                view.text.reserve(source.len());
                view.origins.reserve(source.len() + 1);
            }
            view.copy(source, copied..at);
            for byte in &undone.bytes[..usize::from(undone.decoded)] {
                view.push(*byte, at);
            }
            at += usize::from(undone.coded);
            copied = at;
        }
        if copied == 0 {
            return None;
        }
        looked(source.len());
        view.copy(source, copied..source.len());
        view.origins.push(end);
        Some(view)
    }

    #[allow(clippy::cast_possible_truncation)] // `undo` refuses longer sources
    fn copy(&mut self, source: &[u8], range: Range<usize>) {
        self.origins.extend(range.start as u32..range.end as u32);
        self.text.extend_from_slice(&source[range]);
    }

    #[allow(clippy::cast_possible_truncation)] // as above
    fn push(&mut self, byte: u8, origin: usize) {
        self.origins.push(origin as u32);
        self.text.push(byte);
    }

    /// Where a range of the decoded text stands in the source; whole escapes only.
    pub(crate) fn source(&self, range: &Range<usize>) -> Range<usize> {
        let end = range.end.max(range.start + 1);
        let last = self.origins[end - 1];
        let after = self.origins[end..].iter().find(|origin| **origin != last).unwrap_or(&last);
        self.origins[range.start] as usize..*after as usize
    }
}

/// Whether a text begins with a percent-encoded byte or an entity.
pub(crate) fn is_coded(text: &[u8]) -> bool {
    percent_at(text, false).is_some() || entity(text).is_some()
}

fn percent_at(text: &[u8], plus: bool) -> Option<Undone> {
    match text {
        [b'%', high, low, ..] => Some(Undone::byte(hex(Some(high))? << 4 | hex(Some(low))?, 3)),
        [b'+', ..] if plus => Some(Undone::byte(b' ', 1)),
        _ => None,
    }
}

fn escape_at(text: &[u8]) -> Option<Undone> {
    let byte = match text.strip_prefix(b"\\")?.first()? {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        same @ (b'"' | b'\\' | b'/') => *same,
        _ => return unicode_escape(text, 0).and_then(|(character, length)| Undone::character(character, length)),
    };
    Some(Undone::byte(byte, 2))
}

fn entity_at(text: &[u8]) -> Option<Undone> {
    entity(text).and_then(|(character, length)| Undone::character(character, length))
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
            let (digits, radix) = digits.strip_prefix(['x', 'X']).map_or((digits, 10), |digits| (digits, 16));
            // `from_str_radix` also reads a sign, which no entity has.
            let number = u32::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))?;
            char::from_u32(number)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_numeric_entity_has_no_sign() {
        assert_eq!(entity(b"&#x41;"), Some(('A', 6)));
        assert_eq!(entity(b"&#65;"), Some(('A', 5)));
        for signed in [&b"&#x+41;"[..], b"&#+65;", b"&#-65;", b"&#x-41;"] {
            assert_eq!(entity(signed), None, "{}", String::from_utf8_lossy(signed));
        }
    }

    fn back<'a>(view: &View, source: &'a str, part: &str) -> &'a str {
        let at = view.text.windows(part.len()).position(|window| window == part.as_bytes()).unwrap();
        &source[view.source(&(at..at + part.len()))]
    }

    /// Byte by byte, and for each where it begins in the source; one more for the end.
    fn slowly(source: &[u8], undo: impl Fn(&[u8]) -> Option<Undone>) -> (Vec<u8>, Vec<usize>) {
        let (mut text, mut origin, mut at) = (Vec::new(), Vec::new(), 0);
        while at < source.len() {
            let undone = undo(&source[at..]).unwrap_or_else(|| Undone::byte(source[at], 1));
            for byte in &undone.bytes[..usize::from(undone.decoded)] {
                text.push(*byte);
                origin.push(at);
            }
            at += usize::from(undone.coded);
        }
        origin.push(source.len());
        (text, origin)
    }

    fn assert_like_slowly(source: &[u8], view: Option<View>, undo: impl Fn(&[u8]) -> Option<Undone>) {
        let (text, origin) = slowly(source, &undo);
        let Some(view) = view else {
            assert!((0..source.len()).all(|at| undo(&source[at..]).is_none()), "{source:?}");
            return;
        };
        assert_eq!(view.text, text);
        for start in 0..text.len() {
            for end in start + 1..=text.len() {
                let after = origin[end..].iter().find(|after| **after != origin[end - 1]);
                let expected = origin[start]..after.copied().unwrap_or(origin[start]);
                assert_eq!(view.source(&(start..end)), expected, "{start}..{end} of {source:?}");
            }
        }
    }

    const PARTS: &[&str] = &[
        "%",
        "4",
        "a",
        "\\",
        "x",
        "u",
        "n",
        "d83",
        "é",
        "+",
        "&",
        ";",
        "l",
        "%41",
        "%c3",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\n",
        "\\\"",
        "&lt;",
        "&#x33;",
        "&#",
    ];

    proptest! {
        #[test]
        fn a_view_is_what_undoing_byte_by_byte_gives(parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..24)) {
            let source = parts.concat();
            let source = source.as_bytes();
            for plus in [false, true] {
                assert_like_slowly(source, View::percent(source, plus), |text| percent_at(text, plus));
            }
            assert_like_slowly(source, View::unescape(source), escape_at);
            assert_like_slowly(source, View::entities(source), entity_at);
        }
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
