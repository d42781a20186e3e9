//! JSON pointers (RFC 6901).

use std::borrow::Cow;

/// Appends `/` and one reference token to a JSON pointer, escaped (RFC 6901, section 3).
pub fn push_pointer(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// The reference tokens of a JSON pointer, unescaped (RFC 6901, section 4).
pub fn pointer_tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape_pointer)
}

/// A reference token, unescaped.
#[must_use]
pub fn unescape_pointer(token: &str) -> Cow<'_, str> {
    if token.contains('~') { Cow::Owned(token.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(token) }
}
