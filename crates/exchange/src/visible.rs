//! Foreign text on a terminal: nothing in it may move the cursor, break the line or reverse the reading order.

use std::borrow::Cow;

/// Whether a terminal or a page could act on a character, or not show it.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with escapes (`\n`, `\u{1b}`) for what a terminal could act on.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    // Without an early end, so that many bytes are looked at together.
    if text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// The same of a text of several lines, which keeps them.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_shown_and_everything_else_is() {
        for (text, expected) in [
            ("/a?b=~c d", "/a?b=~c d"),
            ("Grüße, हिन्दी, 日本\n", "Grüße, हिन्दी, 日本\\n"),
            ("\x1b[2J\x7f\0", "\\u{1b}[2J\\u{7f}\\u{0}"),
            ("\u{9b}", "\\u{9b}"),
            ("a\u{202e}b\u{200b}\u{feff}", "a\\u{202e}b\\u{200b}\\u{feff}"),
        ] {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(visible_lines("a\n\x1b\r\n"), "a\n\\u{1b}\\r\n");
    }
}
