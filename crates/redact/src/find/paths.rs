//! Secrets in a path, by the segment before them: `/token/…`, `/reset/…`, `/invite/…`.

use std::sync::LazyLock;

use ahash::AHashMap;

use super::{
    named::Emit,
    names::{self, Counts, FieldContext},
    steps::looked,
};
use crate::{kind::Kind, label};

/// Segments before a code that opens something.
static BEFORE_CODES: LazyLock<AHashMap<String, Kind>> = LazyLock::new(|| names::counted(Counts::Segment).collect());

/// Segments that look random behind one with a name that announces one. What follows a plural (`/tokens/…`) is an
/// identifier. Between the two may stand the id of whom the code is for: `/reset/MQ/…`.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    // The kind of secret that the last segment announces, and where that segment ends.
    let mut announced: Option<(Kind, usize)> = None;
    for slash in memchr::memchr_iter(b'/', text) {
        let start = slash + 1;
        let end = start + text[start..].iter().take_while(|byte| is_segment(**byte)).count();
        looked(end - slash);
        let segment = &text[start..end];
        // What ends a sentence ends no segment.
        let dots = segment.iter().rev().take_while(|byte| matches!(byte, b'.' | b':')).count();
        let value = &segment[..segment.len() - dots];
        if let Some((kind, _)) = announced.filter(|(_, end)| *end == slash)
            && is_random(value)
            && !label::holds(value)
        {
            emit(start..start + value.len(), kind);
            announced = None;
        } else if let Some((kind, _)) = announced.filter(|(_, end)| *end == slash).filter(|_| is_id(segment)) {
            announced = Some((kind, end));
        } else {
            announced = kind_after(segment).map(|kind| (kind, end));
        }
    }
}

fn is_segment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$*+=:@".contains(&byte)
}

/// What a segment states about the next one.
fn kind_after(name: &[u8]) -> Option<Kind> {
    /// Longest name of a segment.
    const MAX_NAME: usize = 60;
    let name = std::str::from_utf8(name).ok().filter(|name| (3..=MAX_NAME).contains(&name.len()))?;
    if !name.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.')) {
        return None;
    }
    let short: String =
        name.bytes().filter(u8::is_ascii_alphabetic).map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let is_plural = short.ends_with('s');
    let ends_word = |at: &usize| name.as_bytes().get(*at).is_none_or(|byte| !byte.is_ascii_lowercase());
    let first = (1..=name.len()).find(ends_word).map(|end| name[..end].to_ascii_lowercase());
    let code = BEFORE_CODES.get(&short).or_else(|| BEFORE_CODES.get(&first?).filter(|_| !is_plural));
    code.copied().or_else(|| names::by_name(name, FieldContext::Member).filter(|_| !is_plural))
}

/// Whether a segment may be a short id, of digits or in base64, rather than a word.
fn is_id(segment: &[u8]) -> bool {
    (1..=8).contains(&segment.len())
        && segment.iter().all(u8::is_ascii_alphanumeric)
        && !segment.iter().all(u8::is_ascii_lowercase)
}

/// Whether a segment looks drawn at random: a word of it mixes letters and digits, or it is a UUID. The name of a file
/// is none.
fn is_random(segment: &[u8]) -> bool {
    /// Minimum characters of a random-looking word.
    const MIN_WORD: usize = 12;
    let is_file =
        segment.rsplit(|byte| *byte == b'.').next().is_some_and(|end| end.len() < 6 && end.len() < segment.len());
    let mut words = segment.split(|byte| !byte.is_ascii_alphanumeric());
    !is_file && (is_uuid(segment) || words.any(|word| word.len() >= MIN_WORD && is_mixed(word)))
}

/// Whether letters and digits change places more than once: `a1b2` does, `sha256` does not.
fn is_mixed(word: &[u8]) -> bool {
    word.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count() > 1
}

fn is_uuid(segment: &[u8]) -> bool {
    let mut lengths = segment.split(|byte| *byte == b'-').map(<[u8]>::len);
    segment.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-') && lengths.by_ref().eq([8, 4, 4, 4, 12])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::steps::holds_linear;

    fn found(text: &str) -> Vec<&str> {
        crate::tests::steps::found(text, find)
    }

    #[test]
    fn a_random_segment_behind_a_telling_one_is_a_secret() {
        let secret = "BYOvfZ8UzDzV8fUkkibj";
        for before in [
            "/token/",
            "/v1/access_token/",
            "https://a.example/reset/",
            "/invite/",
            "see /api-key/",
            "/reset-password/",
        ] {
            for after in ["", "/x", "?a=b", "#x", " and more", "\"", ". So", ":"] {
                assert_eq!(found(&format!("{before}{secret}{after}")), [secret], "{before}{after}");
            }
        }
        for before in ["/reset/MQ/", "/reset/42/", "/verify-email/", "/confirmEmail/", "/password-reset/Mjg0/"] {
            assert_eq!(found(&format!("{before}{secret}/")), [secret], "{before}");
        }
        assert_eq!(found("/verify/3f0c2a7e-1b2c-4d5e-8f90-a1b2c3d4e5f6").len(), 1);
    }

    #[test]
    fn what_only_stands_in_a_path_is_no_secret() {
        for path in [
            "/oauth/token/",
            "/oauth/token/introspect",
            "/tokens/BYOvfZ8UzDzV8fUkkibj",
            "/reset-policies/BYOvfZ8UzDzV8fUkkibj",
            "/reset/settings/BYOvfZ8UzDzV8fUkkibj",
            "/refresh-tokens/rtk_8s7df6s8df7a",
            "/secrets/BYOvfZ8UzDzV8fUkkibj",
            "/rate-limit-policies/rlp_1a2b3c4d5e6f7g",
            "/verifiable-credentials/verification/templates/vct_1a2b3c4d5e6f7g",
            "/token/settings-and-lifetimes-2026",
            "/assets/token/main-4f3a2b1c9d8e.js",
            "/password/application-config-12345",
            "/token/!token-1!",
            "token/BYOvfZ8UzDzV8fUkkibj",
        ] {
            assert!(found(path).is_empty(), "{path}: {:?}", found(path));
        }
    }

    #[test]
    fn a_path_is_read_in_time_that_grows_with_it_and_no_faster() {
        for piece in ["/token", "/", "/token/", "a/", "/reset/a1b2c3d4e5f6g7"] {
            holds_linear(piece, |text| find(text, &mut |_, _| {}));
        }
    }
}
