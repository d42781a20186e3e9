//! The lines between the chunks of a request body (RFC 9112, section 7.1), read strictly.

use std::fmt;

use super::head::{Bounds, is_control, is_token, split_field};

/// Longest line before a chunk, extensions included.
const MAX_SIZE_LINE: usize = 4 << 10;

/// Why a chunked body cannot be gone on with; what a body's reader finds inside the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkFault {
    /// Its framing could be read in two ways.
    Malformed(&'static str),
    /// A chunk announces more than the body may have.
    TooLarge,
}

impl fmt::Display for ChunkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "the chunked request body is malformed: {what}"),
            Self::TooLarge => f.write_str("the request body is larger than --max-body"),
        }
    }
}

impl std::error::Error for ChunkFault {}

/// Counts what the lines of one body announce.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    announced: u64,
    trailer_bytes: usize,
    trailers: usize,
}

impl Chunks {
    /// The size that a line announces.
    pub(super) fn size(&mut self, line: &[u8], bounds: &Bounds) -> Result<u64, ChunkFault> {
        let text =
            line.strip_suffix(b"\r\n").ok_or(ChunkFault::Malformed("a chunk's size ends in a bare line feed"))?;
        if line.len() > MAX_SIZE_LINE {
            return Err(ChunkFault::Malformed("a chunk's extensions are too long"));
        }
        let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (digits, extensions) = text.split_at(digits);
        if digits.is_empty() || digits.len() > 16 {
            return Err(ChunkFault::Malformed("a chunk's size is not a number"));
        }
        if !are_extensions(extensions) {
            return Err(ChunkFault::Malformed("something else than an extension follows a chunk's size"));
        }
        let size = digits.iter().fold(0, |size, digit| {
            let value = char::from(*digit).to_digit(16).unwrap_or_default();
            size << 4 | u64::from(value)
        });
        self.announced = self.announced.saturating_add(size);
        if self.announced > bounds.body { Err(ChunkFault::TooLarge) } else { Ok(size) }
    }

    /// A line that is not whole yet.
    pub(super) fn unfinished(line: &[u8], bounds: &Bounds) -> Result<(), ChunkFault> {
        if line.len() > MAX_SIZE_LINE.max(bounds.bytes) {
            return Err(ChunkFault::Malformed("a line between its chunks is too long"));
        }
        Ok(())
    }

    /// A trailer field; whether it was the empty line that ends the body.
    pub(super) fn trailer(&mut self, line: &[u8], bounds: &Bounds) -> Result<bool, ChunkFault> {
        let text = line.strip_suffix(b"\r\n").ok_or(ChunkFault::Malformed("a trailer ends in a bare line feed"))?;
        if text.is_empty() {
            return Ok(true);
        }
        self.trailers += 1;
        self.trailer_bytes += line.len();
        if self.trailers > bounds.fields || self.trailer_bytes > bounds.bytes {
            return Err(ChunkFault::Malformed("its trailers are too many"));
        }
        match split_field(text) {
            Some((_, value)) if !value.iter().any(|byte| is_control(*byte)) => Ok(false),
            _ => Err(ChunkFault::Malformed("a trailer is not a header field")),
        }
    }
}

/// `*( BWS ";" BWS name [ BWS "=" BWS value ] )`
fn are_extensions(mut text: &[u8]) -> bool {
    while !text.is_empty() {
        let Some(rest) = trim(text).strip_prefix(b";") else { return false };
        let Some(rest) = token(trim(rest)) else { return false };
        text = match trim(rest).strip_prefix(b"=") {
            None => rest,
            Some(value) => match token(trim(value)).or_else(|| quoted(trim(value))) {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
    true
}

fn trim(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &text[blanks..]
}

/// What is behind a token.
fn token(text: &[u8]) -> Option<&[u8]> {
    let length = text.iter().take_while(|byte| is_token(**byte)).count();
    (length > 0).then(|| &text[length..])
}

/// What is behind a quoted string.
fn quoted(text: &[u8]) -> Option<&[u8]> {
    let mut bytes = text.strip_prefix(b"\"")?;
    loop {
        bytes = match bytes {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', escaped, rest @ ..] if !is_control(*escaped) => rest,
            [byte, rest @ ..] if !is_control(*byte) && *byte != b'\\' => rest,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { target: 100, bytes: 1000, fields: 10, body: 100 };

    #[test]
    fn a_size_is_hexadecimal_digits_and_well_formed_extensions() {
        for (line, size) in [
            ("5", 5),
            ("005", 5),
            ("1f", 31),
            ("1F", 31),
            ("5;a", 5),
            ("5 ; a = b", 5),
            ("5;a=\"b;\\\"c\";d", 5),
            ("0;a=b", 0),
        ] {
            assert_eq!(Chunks::default().size(format!("{line}\r\n").as_bytes(), &BOUNDS), Ok(size), "{line}");
        }
        for line in [
            "",
            " 5",
            "5 ",
            "5;",
            "+5",
            "-5",
            "0x5",
            "5x",
            "5;=b",
            "5;a=",
            "5;a=\"",
            "5;a=\"b",
            "5;\0",
            "5;a=b c",
            "5,5",
            "\u{ff15}",
            "00000000000000005",
        ] {
            let found = Chunks::default().size(format!("{line}\r\n").as_bytes(), &BOUNDS);
            assert!(matches!(found, Err(ChunkFault::Malformed(_))), "{line}: {found:?}");
        }
        assert!(Chunks::default().size(b"5\n", &BOUNDS).is_err());
    }

    #[test]
    fn what_all_chunks_together_announce_is_bounded() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.size(b"60\r\n", &BOUNDS), Ok(96));
        assert_eq!(chunks.size(b"5\r\n", &BOUNDS), Err(ChunkFault::TooLarge));
        assert_eq!(Chunks::default().size(b"ffffffffffffffff\r\n", &BOUNDS), Err(ChunkFault::TooLarge));
    }

    #[test]
    fn trailers_are_header_fields_and_bounded() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.trailer(b"A: b\r\n", &BOUNDS), Ok(false));
        assert_eq!(chunks.trailer(b"\r\n", &BOUNDS), Ok(true));
        for line in ["A: b\n", "\n", " folded\r\n", "a b: c\r\n", "A\r\n", "A: \r\r\n"] {
            assert!(Chunks::default().trailer(line.as_bytes(), &BOUNDS).is_err(), "{line:?}");
        }
        let mut many = Chunks::default();
        assert!((0..11).any(|_| many.trailer(b"A: b\r\n", &BOUNDS).is_err()));
    }
}
