//! The Markdown report (`CommonMark` with the tables of GitHub), for job summaries and comments on changes.

use std::io::{self, Write};

use contrail_exchange::visible::is_hidden;

use super::page::{Branch, Cell, Page, Part, Piece, Rows, is_number, spans};

pub(super) fn write(page: &Page, to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "# {}\n", escape(&page.heading))?;
    for (name, value) in &page.about {
        writeln!(to, "- {name}: {}", markup(value, " "))?;
    }
    for sentence in &page.sentences {
        writeln!(to, "\n{}", markup(sentence, "  \n"))?;
    }
    for Part { heading, rows, notes, .. } in &page.parts {
        writeln!(to, "\n## {}\n", prose(heading))?;
        match rows {
            Rows::List(items) => {
                for item in items {
                    writeln!(to, "- {}", markup(item, " "))?;
                }
            }
            Rows::Table(columns, rows) => table(columns, rows, to)?,
            Rows::Tree(branches) => tree(branches, to)?,
            Rows::Timeline(_) => {}
        }
        for note in notes {
            writeln!(to, "\n{}", prose(note))?;
        }
    }
    Ok(())
}

/// A line for each branch, with the leaves below it.
fn tree(branches: &[Branch], to: &mut dyn Write) -> io::Result<()> {
    fn leaves(Branch { line, below }: &Branch) -> Vec<String> {
        if below.is_empty() { vec![markup(line, " ")] } else { below.iter().flat_map(leaves).collect() }
    }
    for Branch { line, below } in branches {
        let leaves: Vec<String> = below.iter().flat_map(leaves).collect();
        let never = if leaves.is_empty() { "" } else { ", never touched: " };
        writeln!(to, "- {}{never}{}", markup(line, " "), leaves.join(", "))?;
    }
    Ok(())
}

fn table(columns: &[&str], rows: &[Vec<Cell>], to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "| {} |", columns.join(" | "))?;
    let rule = |column: &&str| if is_number(column) { "---:" } else { "---" };
    writeln!(to, "| {} |", columns.iter().map(rule).collect::<Vec<_>>().join(" | "))?;
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| markup(cell, "<br>").replace('|', "\\|")).collect();
        writeln!(to, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

fn markup(cell: &[Piece], line_break: &str) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(_, text) => prose(text),
        Piece::Code(_, text) => code(text),
        Piece::Finding(_, rule, _) => code(rule),
        Piece::Break => line_break.to_owned(),
        Piece::Bar { .. } | Piece::Exhibit(_) => String::new(),
    };
    cell.iter().map(piece).collect()
}

/// A sentence with its code.
fn prose(text: &str) -> String {
    spans(text).map(|(is_code, part)| if is_code { code(part) } else { escape(part) }).collect()
}

/// Text without meaning as markup, in one line: ASCII punctuation that Markdown or HTML reads gets a backslash
/// (`CommonMark`, section 2.4).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '~' | '!' | '&' | '@' => {
                escaped.extend(['\\', character]);
            }
            other => escaped.push_str(&shown(other)),
        }
    }
    escaped
}

/// A character, a space for a control, or the escape of another one that a page would not show or act on.
fn shown(character: char) -> String {
    match character {
        other if other.is_control() => " ".to_owned(),
        other if is_hidden(other) => other.escape_default().to_string(),
        other => other.to_string(),
    }
}

/// A code span: in runs of backticks that are longer than any in the text (`CommonMark`, section 6.1).
fn code(text: &str) -> String {
    let text: String = text.chars().map(shown).collect();
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_the_traffic_is_text() {
        assert_eq!(escape("<b>*x*[y](z)\n# `a`"), "\\<b\\>\\*x\\*\\[y\\](z) \\# \\`a\\`");
        assert_eq!(prose("saw `*` and `a_b`, _"), "saw `*` and `a_b`, \\_");
        assert_eq!(prose("an odd `x` and ` here"), "an odd \\`x\\` and \\` here");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a\r\n<b>"), "`a  <b>`");
        assert_eq!((escape("\u{202e}x"), code("\u{2028}x")), ("\\u{202e}x".to_owned(), "`\\u{2028}x`".to_owned()));
        let mut written = Vec::new();
        table(&["at"], &[vec![vec![super::super::page::code("a|b")]]], &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "| at |\n| --- |\n| `a\\|b` |\n");
    }
}
