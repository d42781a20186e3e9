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

impl View {
    /// With `%XX` undone (and `+` read as a space, in queries and forms); `None` if there is nothing to undo, or more
    /// text than is looked at. A `%` without two digits stays.
    pub(crate) fn percent(source: &[u8], plus: bool) -> Option<Self> {
        // Without `plus` the second is the first again.
        let blank = if plus { b'+' } else { b'%' };
        Self::undo(source, |text| memchr::memchr2(b'%', blank, text), |text| percent_at(text, plus), true)
    }

    /// With JSON's escapes undone, leniently: what is no escape stays; `None` if there is nothing to undo.
    pub(crate) fn unescape(source: &[u8]) -> Option<Self> {
        Self::undo(source, |text| memchr::memchr(b'\\', text), escape_at, false)
    }

    /// With the five entities of XML and numeric ones undone; `None` if there is none.
    pub(crate) fn entities(source: &[u8]) -> Option<Self> {
        Self::undo(source, |text| memchr::memchr(b'&', text), entity_at, false)
    }

    /// Undoes what `undo` knows, where `next` says that something may begin: it gives a character, or a byte, and the
    /// length of what stands for it.
    #[allow(clippy::cast_possible_truncation)] // longer sources are refused
    fn undo(
        source: &[u8],
        next: impl Fn(&[u8]) -> Option<usize>,
        undo: impl Fn(&[u8]) -> Option<(char, usize)>,
        is_bytes: bool,
    ) -> Option<Self> {
        let end = u32::try_from(source.len()).ok()?;
        let (mut view, mut at, mut copied) = (Self::default(), 0, 0);
        while let Some(skipped) = source.get(at..).and_then(&next) {
            at += skipped;
            let Some((character, length)) = undo(&source[at..]) else {
                at += 1;
                continue;
            };
            if copied == 0 {
                view.text.reserve(source.len());
                view.origins.reserve(source.len() + 1);
            }
            view.copy(source, copied..at);
            match u8::try_from(character) {
                Ok(byte) if is_bytes => view.text.push(byte),
                _ => view.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            view.origins.resize(view.text.len(), at as u32);
            at += length;
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
    percent_at(text, false).is_some() || entity_at(text).is_some()
}

fn percent_at(text: &[u8], plus: bool) -> Option<(char, usize)> {
    match text {
        [b'%', high, low, ..] => Some(((hex(*high)? << 4 | hex(*low)?).into(), 3)),
        [b'+', ..] if plus => Some((' ', 1)),
        _ => None,
    }
}

fn escape_at(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.strip_prefix(b"\\")?.first()? {
        b'b' => '\x08',
        b'f' => '\x0c',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        same @ (b'"' | b'\\' | b'/') => char::from(*same),
        _ => return unicode_escape(text, 0),
    };
    Some((character, 2))
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The character of the `\u` escape (or pair of them) at `at`, and its length in the source.
fn unicode_escape(source: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let digits = source.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |value, byte| Some(value << 4 | u32::from(hex(*byte)?)))
    };
    let first = unit(at)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    let second = unit(at + 6).filter(|second| (0xdc00..0xe000).contains(second) && first < 0xdc00)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|character| (character, 12))
}

fn entity_at(text: &[u8]) -> Option<(char, usize)> {
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
        assert_eq!(entity_at(b"&#x41;"), Some(('A', 6)));
        assert_eq!(entity_at(b"&#65;"), Some(('A', 5)));
        for signed in [&b"&#x+41;"[..], b"&#+65;", b"&#-65;", b"&#x-41;"] {
            assert_eq!(entity_at(signed), None, "{}", String::from_utf8_lossy(signed));
        }
    }

    fn back<'a>(view: &View, source: &'a str, part: &str) -> &'a str {
        let at = view.text.windows(part.len()).position(|window| window == part.as_bytes()).unwrap();
        &source[view.source(&(at..at + part.len()))]
    }

    /// Byte by byte, and for each where it begins in the source; one more for the end.
    fn slowly(source: &[u8], undo: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> (Vec<u8>, Vec<usize>) {
        let (mut text, mut origin, mut at) = (Vec::new(), Vec::new(), 0);
        while at < source.len() {
            let (undone, length) = undo(&source[at..]).unwrap_or_else(|| (vec![source[at]], 1));
            text.extend_from_slice(&undone);
            origin.resize(text.len(), at);
            at += length;
        }
        origin.push(source.len());
        (text, origin)
    }

    fn assert_like_slowly(source: &[u8], view: Option<View>, undo: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) {
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
                assert_like_slowly(source, View::percent(source, plus), |text| {
                    percent_at(text, plus).map(|(byte, length)| (vec![u8::try_from(byte).unwrap()], length))
                });
            }
            let utf8 = |(character, length): (char, usize)| (character.to_string().into_bytes(), length);
            assert_like_slowly(source, View::unescape(source), |text| escape_at(text).map(utf8));
            assert_like_slowly(source, View::entities(source), |text| entity_at(text).map(utf8));
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
