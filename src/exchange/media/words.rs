//! Encoded words, as mail clients write what is not ASCII (RFC 2047).

use base64::{Engine as _, prelude::BASE64_STANDARD};

/// A value that a mail client wrote in encoded words (RFC 2047), decoded; `None` if there is none in it.
pub(crate) fn encoded_words(value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = value;
    let mut is_coded = false;
    while let Some(at) = memchr::memmem::find(rest, b"=?") {
        let mut pieces = rest[at + 2..].splitn(4, |byte| *byte == b'?');
        let (_, coding, text, after) = (pieces.next(), pieces.next(), pieces.next(), pieces.next());
        let (Some(coding), Some(text), Some(after)) = (coding, text, after.and_then(|after| after.strip_prefix(b"=")))
        else {
            break;
        };
        // White space between two words separates them only.
        if !is_coded || !rest[..at].trim_ascii().is_empty() {
            out.extend_from_slice(&rest[..at]);
        }
        match coding {
            b"b" | b"B" => out.extend(BASE64_STANDARD.decode(text).ok()?),
            b"q" | b"Q" => out.extend(quoted_printable(text)),
            _ => return None,
        }
        is_coded = true;
        rest = after;
    }
    out.extend_from_slice(rest);
    is_coded.then_some(out)
}

/// Undoes the `Q` coding of an encoded word.
fn quoted_printable(text: &[u8]) -> Vec<u8> {
    let coded: Vec<u8> = text.iter().map(|byte| if *byte == b'_' { b' ' } else { *byte }).collect();
    let mut out = Vec::with_capacity(coded.len());
    let mut rest = coded.as_slice();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'=') {
            Some(decoded) => {
                out.push(decoded);
                rest = &after[2..];
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_decoded() {
        for (value, expected) in [
            ("=?utf-8?B?Y2xpZW50X3NlY3JldA==?=", Some("client_secret")),
            ("=?UTF-8?q?client=5Fsecret?=", Some("client_secret")),
            ("=?utf-8?Q?a_b?= =?utf-8?b?Yw==?=", Some("a bc")),
            ("x =?utf-8?Q?=C3=A9?= y", Some("x é y")),
            ("=?utf-8?Q?a=?=", Some("a=")),
            ("=?utf-8?B?!?=", None),
            ("=?utf-8?X?a?=", None),
            ("client_secret", None),
            ("=?utf-8?Q?a", None),
        ] {
            let found = encoded_words(value.as_bytes());
            assert_eq!(found.as_deref().map(String::from_utf8_lossy).as_deref(), expected, "{value}");
        }
    }
}
