//! Decodes the escapes of a string.

use super::error::{LenientError, LenientFault};
use crate::json::strings::{self, LANES};

/// The inside of a string whose escapes were found good, with them undone.
pub(super) fn unescape(inside: &[u8]) -> Vec<u8> {
    // No escape stands for more bytes than it has. A block is taken whole; what of it is not plain is written over.
    let mut out = vec![0; inside.len() + LANES];
    let (mut at, mut length) = (0, 0);
    while at < inside.len() {
        let rest = &inside[at..];
        let plain = match (rest.first_chunk::<LANES>(), out[length..].first_chunk_mut()) {
            (Some(block), Some(room)) => {
                *room = *block;
                strings::plain(block)
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
                let Ok((code, after)) = escape(inside, at) else { break };
                length += encode(code, &mut out[length..]);
                at = after;
            }
        }
    }
    out.truncate(length);
    out
}

/// What the escape at `at` stands for, half of a surrogate pair for itself, and the position after it.
#[inline]
pub(super) fn escape(text: &[u8], at: usize) -> Result<(u32, usize), LenientError> {
    let code = match text.get(at + 1).ok_or(LenientFault::Cut)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unit_or_pair(text, at),
        _ => return Err(LenientFault::Grammar.into()),
    };
    Ok((code.into(), at + 2))
}

fn unit_or_pair(text: &[u8], at: usize) -> Result<(u32, usize), LenientError> {
    let unit = |at: usize| {
        strings::hex(text, at).ok_or(if text.len() < at + 4 { LenientFault::Cut } else { LenientFault::Grammar })
    };
    let code = unit(at + 2)?;
    if (0xD800..0xDC00).contains(&code)
        && text[at + 6..].starts_with(b"\\u")
        && let low @ 0xDC00..0xE000 = unit(at + 8)?
    {
        return Ok((0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12));
    }
    Ok((code, at + 6))
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
