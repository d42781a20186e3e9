//! Finds the end of a line.

/// A line, its end included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) bytes: &'a [u8],
    /// It ends in a carriage return and a line feed, and no control character (nor a tab) is before them. If not, that
    /// is not known.
    pub(super) plain: bool,
}

impl<'a> Line<'a> {
    /// The first whole line of these bytes. One look shows where a plain one ends and that it is plain.
    pub(super) fn first(bytes: &'a [u8]) -> Option<Self> {
        let at = control(bytes)?;
        let plain = matches!(bytes[at..], [b'\r', b'\n', ..]);
        let end = if plain { at + 1 } else { at + memchr::memchr(b'\n', &bytes[at..])? };
        Some(Self { bytes: &bytes[..=end], plain })
    }
}

/// One in each byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// The high bit of each.
const HIGH: u64 = ONES << 7;

/// Whether a byte is a control character or a tab.
fn is_control_or_tab(byte: u8) -> bool {
    byte < b' ' || byte == 0x7f
}

/// Position of the first control character or tab, or one before it that is behind a byte which no text in UTF-8 has.
fn control(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let position = |rest: &[u8], within: usize| Some(bytes.len() - rest.len() + within);
    // Most of a token is passed here. Without a way out in the middle, so that many bytes are looked at in one step.
    while let Some((block, behind)) = rest.split_first_chunk::<32>() {
        if block.iter().fold(false, |found, byte| found | is_control_or_tab(*byte)) {
            break;
        }
        rest = behind;
    }
    while let Some((word, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*word);
        // The high bit of each byte below a space, and of each DEL; and of some behind a byte from which something is
        // borrowed (a mark is there already) or carried (0xff).
        let marks = (word.wrapping_sub(ONES * 0x20) | word.wrapping_add(ONES)) & !word & HIGH;
        if marks != 0 {
            return position(rest, marks.trailing_zeros() as usize / 8);
        }
        rest = behind;
    }
    let within = rest.iter().position(|byte| is_control_or_tab(*byte))?;
    position(rest, within)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by two looks.
    fn slowly(bytes: &[u8]) -> Option<Line<'_>> {
        let bytes = &bytes[..=memchr::memchr(b'\n', bytes)?];
        let text = bytes.strip_suffix(b"\r\n");
        Some(Line {
            bytes,
            plain: text.is_some_and(|text| !text.iter().any(|byte| *byte == b'\t' || byte.is_ascii_control())),
        })
    }

    #[test]
    fn a_byte_ends_a_line_or_spoils_it_wherever_it_stands_in_a_word() {
        for at in 0..80 {
            for byte in 0..=u8::MAX {
                let mut bytes = [b'x'; 80];
                bytes[at] = byte;
                for line in [bytes.to_vec(), [&bytes[..], b"\r\n"].concat(), [&bytes[..], b"\nnext"].concat()] {
                    assert_eq!(Line::first(&line), slowly(&line), "{byte} at {at}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_line_is_what_two_looks_make_of_it(
            parts in proptest::collection::vec(
                proptest::sample::select(&["text of more than a word", ": ", "é", "\r\n", "\n", "\r", "\t", "\0", "\x7f", "~"][..]),
                0..12,
            ),
            start in 0..16_usize,
        ) {
            let bytes = parts.concat().into_bytes();
            let bytes = &bytes[start.min(bytes.len())..];
            if let Some(line) = Line::first(bytes) {
                let slowly = slowly(bytes).unwrap();
                prop_assert_eq!(line.bytes, slowly.bytes);
                prop_assert!(slowly.plain || !line.plain);
            } else {
                prop_assert_eq!(slowly(bytes), None);
            }
        }
    }
}
