//! Text in XML and HTML.

use contrail_exchange::visible::is_hidden;

/// Text as it may stand in XML and HTML: markup escaped, and what XML 1.0 cannot hold or a page would not show or act on
/// as text (`\u{0}`, `\u{202e}`), so that names stay apart and a line keeps its order.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            other if is_hidden(other) || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                escaped.extend(other.escape_default());
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_characters_that_xml_cannot_hold_never_get_out() {
        assert_eq!(
            escape("<a href=\"x\">'&\u{1}\u{1b}\u{ffff}\u{202e}\u{2028}\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\\u{1}\\u{1b}\\u{ffff}\\u{202e}\\u{2028}&#10;"
        );
    }
}
