//! The inside of string literals: where it ends, and its escapes.

use wide::u8x16;

use super::error::{SyntaxError, SyntaxFault};

/// How many bytes are looked at together.
pub(super) const LANES: usize = 16;

/// One in each byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// The high bit of each.
const HIGH: u64 = ONES << 7;

/// Position of the next quote or backslash from `at` on; the source's length if there is none.
#[inline]
pub(super) fn special(source: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = source.get(at..).and_then(<[u8]>::first_chunk) {
        let bytes = u8x16::new(*bytes);
        let found = (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'))).to_bitmask();
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += LANES;
    }
    let rest = source.get(at..).unwrap_or_default();
    rest.iter().position(|byte| matches!(*byte, b'"' | b'\\')).map_or(source.len(), |found| at + found)
}

/// Position of the next byte from `at` on that a string cannot hold as it is: a quote, a backslash, a control character;
/// the source's length if there is none.
#[inline]
pub(super) fn plain_end(source: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = source.get(at..).and_then(<[u8]>::first_chunk) {
        let bytes = u8x16::new(*bytes);
        let quotes = bytes.simd_eq(u8x16::splat(b'"'));
        let backslashes = bytes.simd_eq(u8x16::splat(b'\\'));
        let controls = bytes.simd_le(u8x16::splat(0x1F));
        let others = (quotes | backslashes | controls).to_bitmask();
        if others != 0 {
            return at + others.trailing_zeros() as usize;
        }
        at += LANES;
    }
    last_plain_end(source, at)
}

/// The same where fewer bytes are left.
#[inline(never)]
fn last_plain_end(source: &[u8], at: usize) -> usize {
    let rest = source.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| !matches!(**byte, b'"' | b'\\' | ..0x20)).count()
}

/// A bit for each byte that is no digit, the first byte's the least.
#[inline]
pub(super) fn no_digits(bytes: &[u8; LANES]) -> u32 {
    (u8x16::new(*bytes) - u8x16::splat(b'0')).simd_gt(u8x16::splat(9)).to_bitmask()
}

/// How many of these bytes come before the first backslash.
#[inline]
pub(super) fn plain(bytes: &[u8; LANES]) -> usize {
    (u8x16::new(*bytes).simd_eq(u8x16::splat(b'\\')).to_bitmask() | 1 << LANES).trailing_zeros() as usize
}

/// The high bit of each byte of a word that a string literal cannot hold as it is: below a space, a quote, a backslash.
#[inline]
pub(super) fn needs_escape(word: u64) -> u64 {
    // No sum carries into the next byte, since the high bits are off; a high bit that is on then says "another byte".
    let low = word & !HIGH;
    let above = low + ONES * (0x80 - 0x20);
    let no_quote = (low ^ (ONES * u64::from(b'"'))) + !HIGH;
    let no_backslash = (low ^ (ONES * u64::from(b'\\'))) + !HIGH;
    !((above & no_quote & no_backslash) | word) & HIGH
}

/// Position of the first control character.
pub(super) fn control(text: &[u8]) -> Option<usize> {
    // A fold rather than `any`: without an early exit it is vectorised.
    if text.iter().fold(u8::MAX, |least, byte| least.min(*byte)) >= 0x20 {
        return None;
    }
    text.iter().position(|byte| *byte < 0x20)
}

/// Checks the escape at `at` and gives the position after it.
pub(super) fn escape(source: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let fault = |fault| Err(SyntaxError { fault, offset: at });
    match source.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match hex(source, at + 2) {
            None => fault(SyntaxFault::Grammar),
            Some(0xD800..0xDC00) => match source.get(at + 6..at + 8) {
                Some(b"\\u") => match hex(source, at + 8) {
                    Some(0xDC00..0xE000) => Ok(at + 12),
                    Some(_) => fault(SyntaxFault::LoneSurrogate),
                    None => fault(SyntaxFault::Grammar),
                },
                _ => fault(SyntaxFault::LoneSurrogate),
            },
            Some(0xDC00..0xE000) => fault(SyntaxFault::LoneSurrogate),
            Some(_) => Ok(at + 6),
        },
        _ => fault(SyntaxFault::Grammar),
    }
}

/// The four hexadecimal digits at `at`.
pub(super) fn hex(source: &[u8], at: usize) -> Option<u32> {
    source.get(at..at + 4)?.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?))
}

/// Undoes the escapes of a string's inside, which the pass has found well-formed.
pub(super) fn unescape(inner: &str) -> String {
    let bytes = inner.as_bytes();
    let mut out = String::with_capacity(inner.len());
    let mut copied = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[copied..]) {
        let at = copied + found;
        out.push_str(&inner[copied..at]);
        copied = at + 2;
        match bytes.get(at + 1) {
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                let mut code = hex(bytes, at + 2).unwrap_or(0xFFFD);
                copied = at + 6;
                if (0xD800..0xDC00).contains(&code) {
                    let low = hex(bytes, at + 8).unwrap_or(0xDC00);
                    code = 0x10000 + ((code - 0xD800) << 10) + (low & 0x3FF);
                    copied = at + 12;
                }
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(char::from(*other)),
            None => {}
        }
    }
    out.push_str(&inner[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_part_of_a_string_ends_at_what_it_cannot_hold_wherever_that_stands() {
        for length in [20, 40] {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = vec![b'x'; length];
                    text[at] = byte;
                    let end = if matches!(byte, b'"' | b'\\' | ..0x20) { at } else { length };
                    assert_eq!(plain_end(&text, 0), end, "{byte} at {at} of {length}");
                    assert_eq!(plain_end(&text, at + 1), length);
                }
            }
        }
    }
}
