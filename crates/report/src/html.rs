//! The HTML report: one self-contained page, no script, nothing loaded, everything recorded escaped.

use std::{
    io::{self, Write},
    ops::Range,
};

use contrail_contract::Passage;

use super::{
    page::{Cell, Exhibit, Page, Part, Piece, Rows, Tone, is_number},
    quote::Quoted,
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
tr:not(.more) td:first-child code { white-space: nowrap }
td { overflow-wrap: break-word }
h1, h2, li { overflow-wrap: anywhere }
.dim { opacity: .8; font-size: .9em; overflow-wrap: anywhere }
.scroll { overflow-x: auto }
tr.more td { padding-top: 0 }
tr:has(+ tr.more) td { border-bottom: 0 }
summary { cursor: pointer; opacity: .8; font-size: .9em }
.exhibit { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem }
.exhibit h3 { margin: .6rem 0 .2rem; font-size: .95em }
.exhibit p { margin: 0 }
section { min-width: 0 }
pre { margin: 0; padding: .6rem; max-height: 28rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: #8882; border-radius: .3rem }
mark { background: light-dark(#ffd7d3, #7a2b26); color: inherit; border-radius: .15rem }
@media (max-width: 45rem) {
  table, tbody, tr, td { display: block }
  tr:has(th) { display: none }
  tr:not(.more) td { display: flex; gap: .6rem; padding: .1rem 0; border: 0; text-align: left }
  tr:not(.more) td:has(> div:empty) { display: none }
  tr:not(.more) td::before { content: attr(data-column); min-width: 5.5rem; opacity: .75 }
  tr { border-bottom: 1px solid #8886; padding: .5rem 0 }
  tr:has(+ tr.more) { border: 0 }
  tr.more { padding-top: 0 }
  tr.more td { border: 0 }
  td { min-width: 0 }
  tr:not(.more) td:first-child code { white-space: normal }
  td > * { min-width: 0; overflow-wrap: anywhere }
}
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
    for Part { tone, heading, rows, notes } in &page.parts {
        writeln!(to, "<h2{}>{}</h2>", class(*tone), escape(heading))?;
        match rows {
            Rows::List(items) => list(items, to)?,
            Rows::Table(columns, rows) => table(columns, rows, to)?,
        }
        for note in notes {
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
            write!(to, "<td{} data-column=\"{column}\"><div>{}</div>", number(column), markup(cell))?;
        }
        for piece in row.iter().flatten() {
            if let Piece::Exhibit(shown) = piece {
                exhibit(shown, columns.len(), to)?;
            }
        }
    }
    writeln!(to, "\n</table></div>")
}

/// Request, response and contract of a finding, in a row of its own.
fn exhibit(shown: &Exhibit, columns: usize, to: &mut dyn Write) -> io::Result<()> {
    let Exhibit { quote, passages } = shown;
    write!(to, "\n<tr class=more><td colspan={columns}><details><summary>Request, response, contract</summary>")?;
    write!(to, "<div class=exhibit>")?;
    quoted("Request", &quote.request, to)?;
    if let Some(response) = &quote.response {
        quoted("Response", response, to)?;
    }
    for Passage { document, at, text } in passages {
        let (document, at) = (escape(document), breakable(at));
        write!(
            to,
            "<section><h3>Contract</h3><p class=dim>{document} <code>{at}</code><pre>{}</pre></section>",
            lines(text)
        )?;
    }
    write!(to, "</div></details>")
}

fn quoted(heading: &str, Quoted { text, mark }: &Quoted, to: &mut dyn Write) -> io::Result<()> {
    write!(to, "<section><h3>{heading}</h3>")?;
    let head = text.find("\n\n").unwrap_or(text.len());
    let line = text[..head].find('\n').unwrap_or(head);
    if line == head || mark.as_ref().is_none_or(|mark| mark.start < head) {
        marked(text, 0, mark.as_ref(), to)?;
    } else {
        // A mark in the body would stand below all header fields.
        marked(&text[..line], 0, None, to)?;
        marked(text.get(head + 2..).unwrap_or_default(), head + 2, mark.as_ref(), to)?;
        write!(to, "<details><summary>Header fields</summary>")?;
        marked(&text[line + 1..head], 0, None, to)?;
        write!(to, "</details>")?;
    }
    write!(to, "</section>")
}

/// A text that begins at `from`, with the part of a larger one that is marked.
fn marked(text: &str, from: usize, mark: Option<&Range<usize>>, to: &mut dyn Write) -> io::Result<()> {
    let divided = |mark: &Range<usize>| {
        let mark = mark.start.checked_sub(from)?..mark.end.checked_sub(from)?;
        Some((text.get(..mark.start)?, text.get(mark.clone())?, text.get(mark.end..)?))
    };
    match mark.and_then(divided) {
        Some((before, marked, after)) => {
            write!(to, "<pre>{}<mark>{}</mark>{}</pre>", lines(before), lines(marked), lines(after))
        }
        None => write!(to, "<pre>{}</pre>", lines(text)),
    }
}

/// Escaped text of several lines.
fn lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

fn markup(cell: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(Tone::Plain, text) => escape(text),
        Piece::Text(tone, text) => format!("<span{}>{}</span>", class(*tone), escape(text)),
        Piece::Code(tone, text) => format!("<code{}>{}</code>", class(*tone), breakable(text)),
        Piece::Break => "<br>".to_owned(),
        Piece::Exhibit(_) => String::new(),
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
