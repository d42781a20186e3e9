//! Decodes the escapes of a string.

use super::error::LenientError;
use crate::json::strings;

/// Appends a string from the escape at `at` on, and gives the position after its closing quote.
pub(super) fn unescape(text: &[u8], mut at: usize, out: &mut Vec<u8>) -> Result<usize, LenientError> {
    const PIECE: usize = 512;
    // With room for what the last escape stands for.
    let (mut piece, mut length) = ([0; PIECE + 4], 0);
    loop {
        // A word is taken whole; what of it is not plain is written over.
        let Some(room) = piece[..PIECE].get_mut(length..).and_then(<[u8]>::first_chunk_mut) else {
            out.extend_from_slice(&piece[..length]);
            length = 0;
            continue;
        };
        *room = match text.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => *word,
            None => last_word(text, at)?,
        };
        let plain = strings::plain(*room);
        (at, length) = (at + plain, length + plain);
        if plain == room.len() {
            continue;
        }
        match (text.get(at), text.get(at + 1)) {
            (Some(b'"'), _) => {
                out.extend_from_slice(&piece[..length]);
                return Ok(at + 1);
            }
            // Most escapes.
            (_, Some(byte @ (b'"' | b'\\'))) => {
                piece[length] = *byte;
                (at, length) = (at + 2, length + 1);
            }
            _ => {
                let code;
                (code, at) = escape(text, at)?;
                length += encode(code, &mut piece[length..]);
            }
        }
    }
}

/// The bytes from `at` on, fewer than a word, with nothing behind them.
#[cold]
fn last_word(text: &[u8], at: usize) -> Result<[u8; 8], LenientError> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty()).ok_or(LenientError::Cut)?;
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    Ok(word)
}

/// What the escape at `at` stands for, half of a surrogate pair for itself, and the position after it.
#[inline]
pub(super) fn escape(text: &[u8], at: usize) -> Result<(u32, usize), LenientError> {
    let code = match text.get(at + 1).ok_or(LenientError::Cut)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unit_or_pair(text, at),
        _ => return Err(LenientError::Grammar),
    };
    Ok((code.into(), at + 2))
}

fn unit_or_pair(text: &[u8], at: usize) -> Result<(u32, usize), LenientError> {
    let unit = |at: usize| {
        strings::hex(text, at).ok_or(if text.len() < at + 4 { LenientError::Cut } else { LenientError::Grammar })
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
