//! JSON Web Tokens in a text: parts of base64url with dots between, the first of them a JSON object.

use std::{io::Read, ops::Range};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::steps::looked;
use crate::runs::MIN_RUN;

/// Shortest header in base64url, which names an algorithm.
const MIN_HEADER: usize = MIN_RUN;

/// Every token of a text. A header may begin inside a longer word: letters that adjoin a token do not hide it.
pub(super) fn find(text: &[u8], mut emit: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'e', &text[at..]).map(|found| at + found) {
        if !is_start(&text[start..]) {
            at = start + 1;
            continue;
        }
        let end = start + text[start..].iter().take_while(|byte| is_part(**byte)).count();
        looked(end - start);
        at = end;
        if text.get(end) != Some(&b'.') {
            continue;
        }
        if let Some(header) = header(&text[start..end]) {
            let all = text[end..].iter().take_while(|byte| is_part(**byte) || **byte == b'.').count();
            looked(all);
            at = end + all;
            let dots = text[end..at].iter().rev().take_while(|byte| **byte == b'.').count();
            emit(start + header..at - dots);
        }
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Whether a text begins like an object in base64: `{` and a quote or white space.
fn is_start(text: &[u8]) -> bool {
    matches!(text, [b'e', b'y' | b'w', ..])
}

/// Where the header of a token begins in a part, so that `eyebrow.example.com` is none.
fn header(part: &[u8]) -> Option<usize> {
    // Of the four ways to align base64 each is decoded once, for all places that may begin a header.
    let mut decoded: [Option<Vec<u8>>; 4] = Default::default();
    let starts = (0..(part.len() + 1).saturating_sub(MIN_HEADER)).filter(|at| is_start(&part[*at..]));
    starts.into_iter().find(|at| {
        let (skipped, first) = (at / 4, at % 4);
        let text = decoded[first].get_or_insert_with(|| {
            looked(part.len() - first);
            BASE64_URL_SAFE_NO_PAD.decode(&part[first..]).unwrap_or_default()
        });
        text.get(skipped * 3..).is_some_and(is_object)
    })
}

/// Whether the text is a JSON object, whole.
fn is_object(text: &[u8]) -> bool {
    serde_json::from_reader::<_, serde_json::Map<String, serde_json::Value>>(Counted(text)).is_ok()
}

/// A text that counts what is read of it.
struct Counted<'t>(&'t [u8]);

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(buffer)?;
        looked(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::steps::holds_linear, *};

    fn tokens(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        find(text.as_bytes(), |range| out.push(&text[range]));
        out
    }

    #[test]
    fn a_token_is_found_behind_any_letters_and_without_the_dots_that_end_a_sentence() {
        let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256"}"#);
        let token = format!("{header}.e30.c2ln");
        for before in ["", "x", "xy", "xyz", "ey", "eyJ", "a.b.", "eyebrow."] {
            for after in ["", ".", "...", " and", "&x=1"] {
                assert_eq!(tokens(&format!("{before}{token}{after}")), [&token], "{before} {after}");
            }
        }
        assert_eq!(tokens(&format!("{token} {token}.")), [&token, &token]);
        assert!(tokens("eyebrow-model.example.com").is_empty());
        assert!(tokens(&header).is_empty(), "a header without a part behind it");
    }

    #[test]
    fn the_search_for_tokens_takes_time_that_grows_with_the_text_and_no_faster() {
        let nested = BASE64_URL_SAFE_NO_PAD.encode("{\"a\":{\"b\":{ \"c\":");
        for piece in ["eyJ", "eyJh", "ey", "eyA", "ewo", "eyJhIjoi", "eyJ.", "eyJhbGciOiJIUzI1NiJ9", &nested] {
            holds_linear(piece, |text| {
                find(text, |_| {});
                find(&[text, b".e30"].concat(), |_| {});
            });
        }
    }
}
