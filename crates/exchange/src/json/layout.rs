//! Moving white space, and nothing else.

use super::Document;

/// From this depth on, values stay on one line; otherwise indentation alone could multiply a hostile document by
/// thousands.
const LAID_OUT_DEPTH: usize = 32;

/// Lays the document out for reading: two spaces, one member per line. Only white space outside strings changes.
#[must_use]
pub fn pretty(document: &Document) -> Vec<u8> {
    let source = document.source();
    let mut out = Vec::with_capacity(source.len() + source.len() / 2);
    let mut depth = 0;
    tokens(source, |token, empty| match token {
        b"{" | b"[" => {
            out.extend_from_slice(token);
            depth += 1;
            if !empty {
                line(&mut out, depth);
            }
        }
        b"}" | b"]" => {
            if !empty {
                // Outside of the limit the line was never broken on the way in.
                if depth <= LAID_OUT_DEPTH {
                    line(&mut out, depth - 1);
                }
            }
            depth -= 1;
            out.extend_from_slice(token);
        }
        b"," => {
            out.extend_from_slice(token);
            line(&mut out, depth);
        }
        b":" => out.extend_from_slice(if depth <= LAID_OUT_DEPTH { b": " } else { b":" }),
        other => out.extend_from_slice(other),
    });
    out
}

fn line(out: &mut Vec<u8>, depth: usize) {
    if depth <= LAID_OUT_DEPTH {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    }
}

/// Takes out all white space between tokens.
#[must_use]
pub fn compact(document: &Document) -> Vec<u8> {
    let mut out = Vec::with_capacity(document.source().len());
    tokens(document.source(), |token, _| out.extend_from_slice(token));
    out
}

/// Calls `each` with every token of a well-formed source, and whether it is the bracket of an empty container.
fn tokens(source: &[u8], mut each: impl FnMut(&[u8], bool)) {
    let mut at = 0;
    let mut after_open = false;
    while let Some(byte) = source.get(at) {
        let end = match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {
                at += 1;
                continue;
            }
            b'"' => string_end(source, at),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => at + 1,
            _ => source[at..]
                .iter()
                .position(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',' | b'}' | b']'))
                .map_or(source.len(), |length| at + length),
        };
        let opens = matches!(byte, b'{' | b'[');
        let empty = if opens {
            let following = source[end..].iter().find(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
            matches!(following, Some(b'}' | b']'))
        } else {
            after_open && matches!(byte, b'}' | b']')
        };
        each(&source[at..end], empty);
        after_open = opens;
        at = end;
    }
}

fn string_end(source: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = source.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if source[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    source.len()
}
