//! Percent-encoding, and the pairs of a query or form.

use std::{borrow::Cow, ops::Range};

use contrail_exchange::media::{self, Field};

/// Percent-encoding or UTF-8 that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadEncoding;

impl BadEncoding {
    /// What was expected instead.
    pub(crate) const EXPECTED: &'static str = "percent-encoded UTF-8";
}

/// Decodes a text in which a plus sign is a plus sign: a path segment, a header's value.
pub(crate) fn decode_plain(raw: &str) -> Result<Cow<'_, str>, BadEncoding> {
    if memchr::memchr(b'%', raw.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(raw));
    }
    decode(raw.as_bytes(), Some(raw), false)
}

/// Decodes a name or value of a query or form: a plus sign is a space.
pub(super) fn decode_query(raw: &str) -> Result<Cow<'_, str>, BadEncoding> {
    decode(raw.as_bytes(), Some(raw), true)
}

/// `text` is the same, if it is known to be UTF-8.
fn decode<'r>(raw: &'r [u8], text: Option<&'r str>, plus: bool) -> Result<Cow<'r, str>, BadEncoding> {
    let coded = |rest: &[u8]| rest.iter().position(|byte| *byte == b'%' || (plus && *byte == b'+'));
    let Some(mut at) = coded(raw) else {
        return text.or_else(|| std::str::from_utf8(raw).ok()).map(Cow::Borrowed).ok_or(BadEncoding);
    };
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        out.extend_from_slice(&rest[..at]);
        rest = match &rest[at..] {
            [b'%', high, low, tail @ ..] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).ok_or(BadEncoding);
                out.push(u8::try_from(digit(high)? << 4 | digit(low)?).map_err(|_| BadEncoding)?);
                tail
            }
            [b'+', tail @ ..] => {
                out.push(b' ');
                tail
            }
            [] => break,
            _ => return Err(BadEncoding),
        };
        at = coded(rest).unwrap_or(rest.len());
    }
    String::from_utf8(out).map(Cow::Owned).map_err(|_| BadEncoding)
}

/// One `name=value` of a query or form.
#[derive(Debug)]
pub(crate) struct Pair<'a> {
    /// The name, decoded; if its encoding is broken, the raw text with what is no UTF-8 replaced.
    pub(crate) name: Result<Cow<'a, str>, Cow<'a, str>>,
    /// The value, likewise.
    pub(crate) value: Result<Cow<'a, str>, Cow<'a, str>>,
    /// The value as it was sent; empty if that is no UTF-8.
    pub(crate) raw: &'a str,
}

/// The pairs of a raw query or form, in order.
pub(crate) fn pairs(raw: &[u8]) -> impl Iterator<Item = Pair<'_>> {
    let whole = std::str::from_utf8(raw).ok();
    let text = move |at: Range<usize>| match whole {
        Some(whole) => whole.get(at),
        None => std::str::from_utf8(&raw[at]).ok(),
    };
    let decoded = move |at: Range<usize>| {
        let raw = &raw[at.clone()];
        decode(raw, text(at), true).map_err(|BadEncoding| String::from_utf8_lossy(raw))
    };
    let pairs = media::fields(raw).filter(|field| field.name.start < field.value.end);
    pairs.map(move |Field { name, value }| Pair {
        name: decoded(name),
        value: decoded(value.clone()),
        raw: text(value).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_is_strict_and_a_plus_is_a_space_in_queries_only() {
        assert_eq!(decode_plain("a%7Cb+c%2Fd").unwrap(), "a|b+c/d");
        assert_eq!(decode_query("a%2Bb+c%3D").unwrap(), "a+b c=");
        assert_eq!(decode_plain("%C3%A4ä").unwrap(), "ää");
        for bad in ["%", "%4", "a%zz", "%ff", "%C3", "%+1"] {
            assert_eq!(decode_plain(bad), Err(BadEncoding), "{bad}");
        }
    }

    #[test]
    fn a_field_is_decoded_beside_one_that_is_no_utf_8() {
        let found: Vec<_> = pairs(b"a=b&%C3\xA4=\xC3%A4&c=\xFF").collect();
        let texts: Vec<_> = found.iter().map(|pair| (pair.name.as_deref(), pair.value.as_deref(), pair.raw)).collect();
        let bad = "\u{FFFD}";
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], (Ok("a"), Ok("b"), "b"));
        assert_eq!(texts[1], (Ok("ä"), Ok("ä"), ""));
        assert_eq!((texts[2].0, texts[2].1.map_err(|seen| &**seen), texts[2].2), (Ok("c"), Err(bad), ""));
    }
}
