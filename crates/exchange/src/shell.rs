//! Words of a POSIX shell, for commands that people copy.

/// A word as a shell takes it: quoted where it has to be.
#[must_use]
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%=,~".contains(&byte);
    // At the start, `~` is a home folder.
    if !text.is_empty() && !text.starts_with('~') && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// A text between single quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_change_it() {
        for (text, expected) in [
            ("fixtures/a-b_c.har", "fixtures/a-b_c.har"),
            ("getUser=pointer:/a~1b", "getUser=pointer:/a~1b"),
            ("~/a", "'~/a'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("GET /a/*=body", "'GET /a/*=body'"),
        ] {
            assert_eq!(word(text), expected, "{text}");
        }
    }
}
