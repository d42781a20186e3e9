//! The inside of string literals: where it ends, and its escapes.

use wide::u8x16;

use super::error::{SyntaxError, SyntaxFault};

/// How many bytes are looked at together.
pub(super) const LANES: usize = 16;

/// One in each byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// The high bit of each.
const HIGH: u64 = ONES << 7;

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

/// The position after the escape at `at`, which has to stand for text.
pub(super) fn escape(source: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let fault = |fault| SyntaxError { fault, offset: at };
    match decoded(source, at) {
        Some((0xD800..0xE000, _)) => Err(fault(SyntaxFault::LoneSurrogate)),
        Some((_, after)) => Ok(after),
        None => Err(fault(SyntaxFault::Grammar)),
    }
}

/// What the escape at `at` stands for, half of a surrogate pair for itself, and the position after it.
#[inline]
pub(super) fn decoded(source: &[u8], at: usize) -> Option<(u32, usize)> {
    let code = match source.get(at + 1)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unit_or_pair(source, at),
        _ => return None,
    };
    Some((code.into(), at + 2))
}

fn unit_or_pair(source: &[u8], at: usize) -> Option<(u32, usize)> {
    let code = hex(source, at + 2)?;
    if (0xD800..0xDC00).contains(&code)
        && source[at + 6..].starts_with(b"\\u")
        && let low @ 0xDC00..0xE000 = hex(source, at + 8)?
    {
        return Some((0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12));
    }
    Some((code, at + 6))
}

/// The four hexadecimal digits at `at`.
pub(super) fn hex(source: &[u8], at: usize) -> Option<u32> {
    source.get(at..at + 4)?.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?))
}

/// Undoes the escapes of a string's inside, which were found good.
pub(super) fn unescape(inside: &[u8]) -> Vec<u8> {
    // No escape stands for more bytes than it has. A block is taken whole; what of it is not plain is written over.
    let mut out = vec![0; inside.len() + LANES];
    let (mut at, mut length) = (0, 0);
    while at < inside.len() {
        let rest = &inside[at..];
        let plain = match (rest.first_chunk::<LANES>(), out[length..].first_chunk_mut()) {
            (Some(block), Some(room)) => {
                *room = *block;
                plain(block)
            }
            _ => {
                let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
                out[length..length + plain].copy_from_slice(&rest[..plain]);
                plain
            }
        };
        (at, length) = (at + plain, length + plain);
        if plain == LANES {
            continue;
        }
        match inside.get(at..) {
            // Most escapes.
            Some([_, byte @ (b'"' | b'\\'), ..]) => {
                out[length] = *byte;
                (at, length) = (at + 2, length + 1);
            }
            _ => {
                let Some((code, after)) = decoded(inside, at) else { break };
                length += encode(code, &mut out[length..]);
                at = after;
            }
        }
    }
    out.truncate(length);
    out
}

/// The same of text whose escapes stand for text.
pub(super) fn unescape_text(inside: &str) -> String {
    String::from_utf8(unescape(inside.as_bytes())).unwrap_or_default()
}

/// Writes a character, half of a surrogate pair as if it were one; how many bytes that takes.
#[inline]
fn encode(code: u32, out: &mut [u8]) -> usize {
    match char::from_u32(code) {
        Some(character) => character.encode_utf8(out).len(),
        None => {
            let bytes = [0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F];
            out[..3].copy_from_slice(&bytes.map(|byte| byte.to_le_bytes()[0]));
            3
        }
    }
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
