//! Text that is JSON but for faults that leave no doubt about its structure.

use bytes::Bytes;

use super::{Document, parse, strings};

impl Document {
    /// Parses strictly, or else as [`Document::mended`] does; `None` where neither can.
    #[must_use]
    pub fn parsed_or_mended(text: &Bytes) -> Option<Self> {
        Self::parse(text.clone()).ok().or_else(|| Self::mended(text))
    }

    /// Reads text that names a member twice, starts with a byte-order mark, holds half of a surrogate pair or control
    /// characters, or is not UTF-8 (Latin-1). `None` for other faults.
    ///
    /// The source of the document has the length of `text` and each token at its place; other characters stand for
    /// those that JSON does not allow.
    #[must_use]
    pub fn mended(text: &[u8]) -> Option<Self> {
        let source = Bytes::from(mend(text));
        let parse::Parsed { tape, depth, controls } = parse::parse_with_duplicates(&source).ok()?;
        Some(Self { source, tape, depth, controls })
    }
}

fn mend(text: &[u8]) -> Vec<u8> {
    let mut source = text.to_vec();
    if source.starts_with(b"\xef\xbb\xbf") {
        source[..3].fill(b' ');
    }
    let mut at = 0;
    while let Err(error) = std::str::from_utf8(&source[at..]) {
        at += error.valid_up_to();
        let length = error.error_len().unwrap_or(source.len() - at);
        source[at..at + length].fill(b'?');
        at += length;
    }
    for byte in &mut source {
        if *byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t') {
            *byte = b' ';
        }
    }
    in_strings(&mut source);
    source
}

/// White space that is not escaped, and halves of surrogate pairs, inside strings.
fn in_strings(source: &mut [u8]) {
    let mut inside = false;
    let mut at = 0;
    while at < source.len() {
        match source[at] {
            b'"' => inside = !inside,
            0..0x20 if inside => source[at] = b' ',
            b'\\' if inside => {
                if source.get(at + 1) == Some(&b'u') {
                    match strings::escape(source, at) {
                        Ok(end) => {
                            at = end;
                            continue;
                        }
                        Err(_) if strings::hex(source, at + 2).is_some() => {
                            source[at + 2..at + 6].copy_from_slice(b"fffd");
                        }
                        Err(_) => {}
                    }
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_no_doubt_is_read_with_each_token_at_its_place() {
        for text in [
            &b"{\"a\":1,\"a\":\"x\"}"[..],
            b"\xef\xbb\xbf{\"b\":1,\"a\":\"x\"}",
            b"{\"b\":\"\\ud800\",\"a\":\"x\"}",
            b"{\"b\":\"\\udc00\\ud800\\u0041\",\"a\":\"x\"}",
            b"{\"b\":\"caf\xe9\",\"a\":\"x\"}",
            b"{\"b\":\"\xe9\",\"caf\xe9\":2,\"a\":\"x\"}",
            b"{\"b\":\"one\ntwo\x01\tthree\",\"a\":\"x\"}",
        ] {
            assert!(Document::parse(text.to_vec()).is_err());
            let document = Document::mended(text).unwrap();
            assert_eq!(document.source().len(), text.len());
            let (_, value) = document.root().entries().last().unwrap();
            assert_eq!(&text[value.span()], b"\"x\"", "{}", text.escape_ascii());
        }
    }

    #[test]
    fn what_leaves_a_doubt_is_not_read() {
        for text in
            [&b"{\"a\":1"[..], b"{\"a\":1,}", b"<html>", b"ok", b"{'a':1}", b"{\"a\":1}{", b"", b"{\"a\":\"\\u12"]
        {
            assert!(Document::mended(text).is_none(), "{}", text.escape_ascii());
        }
    }
}
