//! The HTML report: one self-contained page, no script, nothing loaded, everything recorded escaped.

use std::io::{self, Write};

use super::{
    page::{Cell, Page, Part, Piece, Rows, Tone, is_number},
    xml::escape,
};

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>contrail report</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; --bad: light-dark(#b3261e, #ff8a80); --gap: light-dark(#8a5a00, #ffc35c); --good: light-dark(#1b6e3c, #7fd69b) }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8886 }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem }
dt { opacity: .75 }
dd { margin: 0; overflow-wrap: anywhere }
td:first-child code { white-space: nowrap }
td, li { overflow-wrap: break-word }
.dim { opacity: .8; font-size: .9em; overflow-wrap: anywhere }
.scroll { overflow-x: auto }
.bad { color: var(--bad) }
.gap { color: var(--gap) }
.good { color: var(--good) }
</style>
"#;

pub(super) fn write(page: &Page, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(HEAD.as_bytes())?;
    writeln!(to, "<h1>{}</h1>\n<dl>", escape(&page.heading))?;
    for (name, value) in &page.about {
        writeln!(to, "<dt>{name}<dd>{}", markup(value))?;
    }
    writeln!(to, "</dl>")?;
    for sentence in &page.sentences {
        match &sentence[..] {
            [Piece::Text(tone, text)] => writeln!(to, "<p{}>{}</p>", class(*tone), escape(text))?,
            pieces => writeln!(to, "<p>{}</p>", markup(pieces))?,
        }
    }
    for Part { tone, heading, rows, note } in &page.parts {
        writeln!(to, "<h2{}>{}</h2>", class(*tone), escape(heading))?;
        match rows {
            Rows::List(items) => list(items, to)?,
            Rows::Table(columns, rows) => table(columns, rows, to)?,
        }
        if let Some(note) = note {
            writeln!(to, "<p>{}</p>", escape(note))?;
        }
    }
    writeln!(to, "</html>")
}

fn list(items: &[Cell], to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "<ul>")?;
    for item in items {
        writeln!(to, "<li>{}", markup(item))?;
    }
    writeln!(to, "</ul>")
}

fn table(columns: &[&str], rows: &[Vec<Cell>], to: &mut dyn Write) -> io::Result<()> {
    let number = |column: &str| if is_number(column) { " class=n" } else { "" };
    write!(to, "<div class=scroll><table><tr>")?;
    for column in columns {
        write!(to, "<th{}>{column}", number(column))?;
    }
    for row in rows {
        write!(to, "\n<tr>")?;
        for (column, cell) in columns.iter().zip(row) {
            write!(to, "<td{}>{}", number(column), markup(cell))?;
        }
    }
    writeln!(to, "\n</table></div>")
}

fn markup(cell: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(Tone::Plain, text) => escape(text),
        Piece::Text(tone, text) => format!("<span{}>{}</span>", class(*tone), escape(text)),
        Piece::Code(tone, text) => format!("<code{}>{}</code>", class(*tone), breakable(text)),
        Piece::Break => "<br>".to_owned(),
    };
    cell.iter().map(piece).collect()
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => " class=good",
        Tone::Gap => " class=gap",
        Tone::Bad => " class=bad",
        Tone::Dim => " class=dim",
    }
}

/// Escaped text that may be broken where a name ends, and not within one.
fn breakable(text: &str) -> String {
    let pieces: Vec<String> = text.split_inclusive(['/', '?', '&', ',']).map(escape).collect();
    pieces.join("<wbr>")
}
