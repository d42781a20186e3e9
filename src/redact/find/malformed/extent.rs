//! How far a value reaches in text that is nearly JSON.

/// Longest name between quotes.
pub(super) const MAX_NAME: usize = 200;

/// Longest comment that is skipped.
const MAX_COMMENT: usize = 4 << 10;

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn skip(text: &[u8], at: usize, what: impl Fn(u8) -> bool) -> usize {
    at + text[at..].iter().take_while(|byte| what(**byte)).count()
}

/// Past white space and comments.
pub(super) fn blank(text: &[u8], mut at: usize) -> usize {
    loop {
        at = skip(text, at, |byte| byte.is_ascii_whitespace());
        let rest = &text[at..text.len().min(at + MAX_COMMENT)];
        let length = if rest.starts_with(b"/*") {
            memchr::memmem::find(rest, b"*/").map(|end| end + 2)
        } else if rest.starts_with(b"//") {
            memchr::memchr(b'\n', rest).map(|end| end + 1)
        } else {
            None
        };
        match length {
            Some(length) => at += length,
            None => return at,
        }
    }
}

/// Whether what stands at `at` can follow a value.
pub(super) fn ends_value(text: &[u8], at: usize) -> bool {
    let at = blank(text, skip(text, at, |byte| byte == b'\\'));
    text.get(at).is_none_or(|byte| matches!(byte, b',' | b'}' | b']' | b')' | b';' | b'>' | b'&' | b'<'))
}

/// The end of the string whose opening quote is at `at`, behind `slashes` backslashes: a quote of its kind that a value
/// may end with, else the end of the text.
pub(super) fn quoted(text: &[u8], at: usize, slashes: usize) -> usize {
    let quote = text[at];
    let mut from = at + 1;
    while let Some(found) = memchr::memchr(quote, &text[from..]).map(|found| from + found) {
        let before = text[at + 1..found].iter().rev().take_while(|byte| **byte == b'\\').count();
        let closes = if slashes == 0 { before % 2 == 0 } else { before <= slashes };
        if closes && ends_value(text, found + 1) {
            return found - before.min(slashes);
        }
        // The name of a member: what opens its object is missing, so nothing says where that ends.
        if closes && from == at + 1 && text.get(blank(text, found + 1)) == Some(&b':') {
            break;
        }
        from = found + 1;
    }
    text.len()
}

/// The end of the object or array that begins at `at`: whether its strings are read as such or not, the later one.
pub(super) fn container(text: &[u8], at: usize) -> usize {
    balanced(text, at, false).max(balanced(text, at, true))
}

fn balanced(text: &[u8], at: usize, strings: bool) -> usize {
    let mut open = 0_usize;
    let mut inside = None;
    let mut escaped = false;
    for (offset, byte) in text[at..].iter().enumerate() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (byte, inside) {
            (b'\\', _) => escaped = strings,
            (byte, Some(quote)) if *byte == quote => inside = None,
            (byte, None) if strings && is_quote(*byte) => inside = Some(*byte),
            (b'{' | b'[', None) => open += 1,
            (b'}' | b']', None) => {
                open -= 1;
                if open == 0 {
                    return at + offset + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}
