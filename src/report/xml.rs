//! Text in XML and HTML.

/// Text as it may stand in XML and HTML: markup escaped, and what XML 1.0 cannot hold as text (`\u{0}`), so that names
/// stay apart.
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
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
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
            escape("<a href=\"x\">'&\u{1}\u{1b}\u{ffff}\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\\u{1}\\u{1b}\\u{ffff}&#10;"
        );
    }
}
