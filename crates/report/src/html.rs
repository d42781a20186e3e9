//! The HTML report: one self-contained page, no script, nothing loaded, everything recorded escaped.

use std::{
    io::{self, Write},
    ops::Range,
};

use contrail_contract::Passage;
use contrail_exchange::plural::plural;

use super::{
    page::{Branch, Cell, Exhibit, Page, Part, Piece, Rows, Tone, is_number, spans},
    quote::Quoted,
    times::{Bar, Timeline},
    xml::escape,
};

/// Lines beside a mark that an exhibit shows at once, and lines of a body without a mark.
const NEAR: usize = 6;
const UNMARKED: usize = 12;
/// The same in bytes, for long lines.
const NEAR_BYTES: usize = 400;

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; --bad: light-dark(#b3261e, #ff8a80); --gap: light-dark(#8a5a00, #ffc35c); --good: light-dark(#1b6e3c, #7fd69b) }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8886 }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem }
dt { opacity: .75 }
dd { margin: 0; overflow-wrap: anywhere }
tr:not(.more) td:first-child code { white-space: nowrap }
td { overflow-wrap: break-word }
h1, h2, li, p { overflow-wrap: anywhere }
.dim { opacity: .8; font-size: .9em; overflow-wrap: anywhere }
.scroll { overflow-x: auto }
tr.more td { padding-top: 0 }
tr:has(+ tr.more) td { border-bottom: 0 }
summary { cursor: pointer; opacity: .8; font-size: .9em }
.tree { list-style: none; padding: 0 }
.tree .tree { padding-left: 1.5rem }
.tree > li { padding: .1rem 0 0 1rem }
.tree > li:has(> details) { padding-left: 0 }
.tree summary { opacity: 1; font-size: 1em }
.bar { width: min(8rem, 25%); height: .6rem; margin-right: .6rem; border-radius: .15rem; background: #8883; fill: light-dark(#4a6fa5, #86aee6) }
td .bar { display: block }
.timeline { width: 100%; height: 4rem; border-bottom: 1px solid #8886; fill: #8889 }
.timeline .bad { fill: var(--bad) }
.timeline .gap { fill: var(--gap) }
a { color: inherit }
a:not(:hover) { text-decoration: none }
.exhibit { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem }
.exhibit { scroll-margin-top: 13rem }
.exhibit h3 { margin: .6rem 0 .2rem; font-size: .95em }
.exhibit p { margin: 0 }
section { min-width: 0 }
section > * + pre, section > * + details { margin-top: .25rem }
tr:has(+ tr.more :target), tr:target { background: light-dark(#fff4d6, #3a3217) }
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
@media print {
  :root { color-scheme: light; font-size: 11px }
  body { margin: 0; padding: 0; max-width: none }
  details::details-content { content-visibility: visible; block-size: auto }
  summary { list-style: none }
  .scroll, pre { overflow: visible; max-height: none }
  mark { print-color-adjust: exact }
  section, tr:not(.more) { break-inside: avoid }
  h2, tr:has(+ tr.more) { break-after: avoid }
}
.bad { color: var(--bad) }
.gap { color: var(--gap) }
.good { color: var(--good) }
</style>
"#;

pub(super) fn write(page: &Page, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(HEAD.as_bytes())?;
    let heading = escape(&page.heading);
    writeln!(to, "<title>{heading}: contrail report</title>\n<h1>{heading}</h1>\n<dl>")?;
    for (name, value) in &page.about {
        writeln!(to, "<dt>{name}<dd>{}", markup(value))?;
    }
    writeln!(to, "</dl>")?;
    for sentence in &page.sentences {
        match &sentence[..] {
            [Piece::Text(tone, text)] => writeln!(to, "<p{}>{}</p>", class(*tone), prose(text))?,
            pieces => writeln!(to, "<p>{}</p>", markup(pieces))?,
        }
    }
    for Part { tone, heading, rows, notes } in &page.parts {
        writeln!(to, "<h2{}>{}</h2>", class(*tone), prose(heading))?;
        match rows {
            Rows::List(items) => list(items, to)?,
            Rows::Table(columns, rows) => table(columns, rows, to)?,
            Rows::Tree(branches) => tree(branches, to)?,
            Rows::Timeline(bars) => timeline(bars, to)?,
        }
        for note in notes {
            writeln!(to, "<p>{}</p>", prose(note))?;
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

fn tree(branches: &[Branch], to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "<ul class=tree>")?;
    for Branch { line, below } in branches {
        if below.is_empty() {
            writeln!(to, "<li>{}", markup(line))?;
        } else {
            writeln!(to, "<li><details><summary>{}</summary>", markup(line))?;
            tree(below, to)?;
            writeln!(to, "</details>")?;
        }
    }
    writeln!(to, "</ul>")
}

/// A bar for each span of time, what is wrong on top of it.
fn timeline(timeline: &Timeline, to: &mut dyn Write) -> io::Result<()> {
    let Some((first, last)) = timeline.span() else { return Ok(()) };
    let highest = timeline.bars().map(|(_, bar)| bar.all).max().unwrap_or(1);
    write!(
        to,
        "<svg class=timeline viewBox=\"0 0 {} 100\" preserveAspectRatio=none role=img \
         aria-label=\"Exchanges by the time of their start\">",
        last - first + 1
    )?;
    for (at, Bar { all, gap, wrong }) in timeline.bars() {
        write!(to, "<g><title>{}: {}", timeline.instant(at), plural(all, "exchange"))?;
        for (count, what) in [(wrong, "wrong"), (gap, "with gaps")] {
            if count > 0 {
                write!(to, ", {count} {what}")?;
            }
        }
        write!(to, "</title>")?;
        let mut top = 100 - (all * 100).div_ceil(highest);
        for (count, name) in [(wrong, "bad"), (gap, "gap"), (all - gap - wrong, "rest")] {
            let height = (count * 100).div_ceil(highest).max(2 * u64::from(count > 0)).min(100 - top);
            if height > 0 {
                write!(to, "<rect class={name} x={} y={top} width=.8 height={height} />", at - first)?;
            }
            top += height;
        }
        write!(to, "</g>")?;
    }
    writeln!(to, "</svg>")
}

fn table(columns: &[&str], rows: &[Vec<Cell>], to: &mut dyn Write) -> io::Result<()> {
    let number = |column: &str| if is_number(column) { " class=n" } else { "" };
    write!(to, "<div class=scroll><table><tr>")?;
    for column in columns {
        write!(to, "<th{}>{column}", number(column))?;
    }
    for row in rows {
        match (row.first().map(Vec::as_slice), row.iter().flatten().any(|piece| matches!(piece, Piece::Exhibit(_)))) {
            (Some([Piece::Finding(_, _, anchor)]), false) => write!(to, "\n<tr id=\"{}\">", escape(anchor))?,
            _ => write!(to, "\n<tr>")?,
        }
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

/// Request, response and contract of a finding, in a row of its own. A link to the anchor opens it.
fn exhibit(shown: &Exhibit, columns: usize, to: &mut dyn Write) -> io::Result<()> {
    let Exhibit { anchor, quote, passages } = shown;
    write!(to, "\n<tr class=more><td colspan={columns}><details><summary>Request, response, contract</summary>")?;
    write!(to, "<div class=exhibit id=\"{}\">", escape(anchor))?;
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

/// A message: its first line, then what holds the mark, then the rest.
fn quoted(heading: &str, Quoted { text, mark }: &Quoted, to: &mut dyn Write) -> io::Result<()> {
    write!(to, "<section><h3>{heading}</h3>")?;
    let head = text.find("\n\n").unwrap_or(text.len());
    let line = text[..head].find('\n').unwrap_or(head);
    let (fields, body) = ((line + 1).min(head)..head, (head + 2).min(text.len())..text.len());
    let is_marked = |range: &Range<usize>| mark.as_ref().is_some_and(|mark| range.contains(&mark.start));
    let mut part = |range: &Range<usize>| {
        let mark = mark.as_ref().filter(|_| is_marked(range));
        marked(
            &text[range.clone()],
            mark.map(|mark| mark.start - range.start..mark.end.min(range.end) - range.start),
            to,
        )
    };
    part(&(0..line))?;
    if is_marked(&fields) {
        part(&fields)?;
        part(&body)?;
    } else {
        part(&body)?;
        folded("Header fields", &text[fields], to)?;
    }
    write!(to, "</section>")
}

/// A text with the lines around its mark, or its first ones; the others are folded.
fn marked(text: &str, mark: Option<Range<usize>>, to: &mut dyn Write) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let near = if mark.is_some() { NEAR } else { UNMARKED };
    let mark = mark.unwrap_or(0..0);
    let (Some(above), Some(inside), Some(below)) =
        (text.get(..mark.start), text.get(mark.clone()), text.get(mark.end..))
    else {
        return write!(to, "<pre>{}</pre>", lines(text));
    };
    let from = above.rmatch_indices('\n').nth(near).map_or(0, |(at, _)| at + 1);
    let from = above.ceil_char_boundary(from.max(above.len().saturating_sub(NEAR_BYTES)));
    let end = below.match_indices('\n').nth(near).map_or(below.len(), |(at, _)| at);
    let end = below.floor_char_boundary(end.min(2 * NEAR_BYTES));
    folded("More above", &above[..from], to)?;
    write!(to, "<pre>{}", lines(&above[from..]))?;
    if !inside.is_empty() {
        write!(to, "<mark>{}</mark>", lines(inside))?;
    }
    write!(to, "{}</pre>", lines(&below[..end]))?;
    folded("More below", below[end..].strip_prefix('\n').unwrap_or(&below[end..]), to)
}

fn folded(what: &str, text: &str, to: &mut dyn Write) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    write!(to, "<details><summary>{what}</summary><pre>{}</pre></details>", lines(text))
}

/// Escaped text of several lines.
fn lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

fn markup(cell: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(Tone::Plain, text) => prose(text),
        Piece::Text(tone, text) => format!("<span{}>{}</span>", class(*tone), prose(text)),
        Piece::Code(tone, text) => format!("<code{}>{}</code>", class(*tone), breakable(text)),
        Piece::Finding(tone, rule, anchor) => {
            format!("<a href=\"#{}\"><code{}>{rule}</code></a>", escape(anchor), class(*tone))
        }
        Piece::Break => "<br>".to_owned(),
        Piece::Bar { dark, light, of } => {
            let [dark, light] = [dark, light].map(|part| part.saturating_mul(1000) / (*of).max(1));
            format!(
                "<svg class=bar viewBox=\"0 0 1000 1\" preserveAspectRatio=none aria-hidden=true>\
                 <rect width={light} height=1 opacity=.4 /><rect width={dark} height=1 /></svg>"
            )
        }
        Piece::Exhibit(_) => String::new(),
    };
    cell.iter().map(piece).collect()
}

/// A sentence with its code.
fn prose(text: &str) -> String {
    let part = |(is_code, part)| if is_code { format!("<code>{}</code>", escape(part)) } else { escape(part) };
    spans(text).map(part).collect()
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
