//! The HTML report: one self-contained page, no script, nothing loaded, everything recorded escaped.

use std::io::{self, Write};

use super::{Facts, Unused, facts::places, junit::escape};
use crate::{
    finding::{Kind, Rule},
    plural::plural,
};

/// Most rows of a list; the rest is counted.
const MAX_ROWS: usize = 1000;

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
td:first-child code, td.name { white-space: nowrap }
td, li { overflow-wrap: break-word }
.sample, .near { opacity: .8; font-size: .9em; overflow-wrap: anywhere }
.scroll { overflow-x: auto }
.violation, .bad { color: var(--bad) }
.gap { color: var(--gap) }
.good { color: var(--good) }
</style>
"#;

pub(super) fn write(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(HEAD.as_bytes())?;
    about(facts, to)?;
    sums(facts, to)?;
    exit(facts, to)?;
    integrity(facts, to)?;
    misses(facts, to)?;
    proof(facts, to)?;
    groups(facts, Kind::Violation, "Violations: the document is contradicted", to)?;
    groups(facts, Kind::Gap, "Gaps: the document is silent", to)?;
    denied(facts, to)?;
    unused(facts, to)?;
    unchecked(facts, to)?;
    left_out(facts, to)?;
    writeln!(to, "</html>")
}

/// What the report is about, and what made it.
fn about(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let title = facts.title;
    writeln!(to, "<h1>{} {}</h1>\n<dl>", escape(&title.title), escape(&title.version))?;
    if !title.hash.is_empty() {
        writeln!(to, "<dt>contract<dd><code>{}</code>", escape(&title.hash))?;
    }
    if let Some(upstream) = facts.upstream {
        writeln!(to, "<dt>upstream<dd>{}", escape(upstream))?;
    }
    for source in facts.sources.iter().take(MAX_ROWS) {
        writeln!(to, "<dt>recording<dd>{}", escape(source))?;
    }
    if facts.sources.len() > MAX_ROWS {
        writeln!(to, "<dt>and<dd>{} more", facts.sources.len() - MAX_ROWS)?;
    }
    writeln!(to, "<dt>made<dd>{}, by contrail {}\n</dl>", facts.made, env!("CARGO_PKG_VERSION"))
}

/// What was counted, in a sentence or two.
fn sums(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let tally = facts.tally;
    let replays = facts.run.unused.is_some();
    write!(
        to,
        "<p>{}: <span class=good>{} conform</span>, <span class=gap>{} with gaps</span>, <span class=bad>{} in violation</span>",
        plural(tally.exchanges, if replays { "live request" } else { "exchange" }),
        tally.conforms,
        tally.gap,
        tally.violates
    )?;
    if !replays {
        return writeln!(to, ".</p>");
    }
    let recorded = tally.recorded;
    writeln!(
        to,
        ", <span class=bad>{} missed</span>.<br>{} beside them: {} conform, {} with gaps, {} in violation.</p>",
        tally.misses,
        plural(recorded.exchanges, "recorded exchange"),
        recorded.conforms,
        recorded.gap,
        recorded.violates
    )
}

/// The hash chains of trails.
fn integrity(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    for one in &facts.run.integrity {
        let class = match (&one.broken, one.entries) {
            (Some(_), _) => " class=bad",
            (None, None) => "",
            (None, Some(_)) => " class=good",
        };
        writeln!(to, "<p{class}>{}</p>", escape(&one.sentence()))?;
    }
    Ok(())
}

/// The exit status, if no other part of the page shows the reason for it.
fn exit(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let exit = facts.run.exit.as_ref().filter(|exit| exit.further().next().is_some());
    let Some(exit) = exit else { return Ok(()) };
    writeln!(to, "<h2 class=bad>Exit status {}</h2>\n<ul>", exit.status)?;
    for reason in &exit.reasons {
        writeln!(to, "<li>{}", breakable(&reason.in_words()))?;
    }
    writeln!(to, "</ul>")
}

fn groups(facts: &Facts<'_>, kind: Kind, heading: &str, to: &mut dyn Write) -> io::Result<()> {
    let groups = facts.tally.groups(kind);
    if groups.is_empty() {
        return Ok(());
    }
    let class = kind.name();
    table(&format!("<h2 class={class}>{heading}</h2>"), &["rule", "operation", "at", "times", "first"], to)?;
    for group in groups {
        let sample = &group.sample;
        let message = if group.rule == Rule::OperationUndocumented && group.operation.is_none() {
            String::new()
        } else {
            format!("{}<br>", escape(&sample.message))
        };
        writeln!(
            to,
            "<tr><td><code class={class}>{}</code><td class=name>{}<td><code>{}</code><td class=n>{}<td>{message}\
             <span class=sample>{} entry {}: <code>{} {}</code> &rarr; {}</span>",
            group.rule.id(),
            escape(group.operation.as_deref().unwrap_or("")),
            breakable(&group.place),
            group.count,
            escape(&sample.source),
            sample.entry,
            escape(&sample.method),
            breakable(&sample.url),
            sample.status
        )?;
    }
    writeln!(to, "</table></div>")
}

fn misses(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let run = facts.run;
    if run.missed() == 0 {
        return Ok(());
    }
    table("<h2 class=bad>Missed: no recording answers these requests</h2>", &["why", "request", "times", "near"], to)?;
    for missed in run.misses() {
        let near: Vec<String> = missed.near().map(|near| breakable(&near)).collect();
        writeln!(
            to,
            "<tr><td><code class=bad>{}</code><td><code>{}</code><td class=n>{}<td>{}<br><span class=near>{}</span>",
            missed.reason,
            breakable(&missed.request),
            missed.count,
            breakable(&missed.detail),
            near.join("<br>")
        )?;
    }
    writeln!(to, "</table></div>")?;
    if run.further_misses > 0 {
        writeln!(to, "<p>And {} of other requests.</p>", plural(run.further_misses, "miss"))?;
    }
    Ok(())
}

fn proof(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let Some(proof) = facts.run.proof.as_ref().filter(|proof| !proof.good) else { return Ok(()) };
    writeln!(to, "<h2 class=bad>Proof failed: the fixture does not give back what was recorded</h2>\n<ul>")?;
    for problem in proof.problems.iter().take(MAX_ROWS) {
        writeln!(to, "<li>{}", breakable(problem))?;
    }
    more(proof.problems.len(), to)?;
    writeln!(to, "</ul>")
}

fn denied(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let run = facts.run;
    if run.denials() == 0 {
        return Ok(());
    }
    let heading = "<h2>Denied: the forward proxy opens no connection to these hosts</h2>";
    table(heading, &["host", "why", "times"], to)?;
    for denied in run.denied() {
        let (host, reason) = (escape(denied.host), escape(denied.reason));
        writeln!(to, "<tr><td><code>{host}</code><td>{reason}<td class=n>{}", denied.count)?;
    }
    writeln!(to, "</table></div>")?;
    if run.further_denied > 0 {
        writeln!(to, "<p>And {} to other hosts.</p>", plural(run.further_denied, "request"))?;
    }
    Ok(())
}

fn unused(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let Some(unused) = facts.run.unused.as_deref().filter(|unused| !unused.is_empty()) else { return Ok(()) };
    writeln!(to, "<h2>Unused: no request used these recorded exchanges</h2>\n<ul>")?;
    for Unused { entry, request } in unused.iter().take(MAX_ROWS) {
        writeln!(to, "<li>{}: <code>{}</code>", escape(entry), breakable(request))?;
    }
    more(unused.len(), to)?;
    writeln!(to, "</ul>")
}

fn unchecked(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    if facts.tally.unchecked().next().is_none() {
        return Ok(());
    }
    table("<h2>Not checked</h2>", &["aspect", "times", "where"], to)?;
    for (aspect, count, counts) in facts.tally.unchecked() {
        writeln!(to, "<tr><td><code>{aspect}</code><td class=n>{count}<td>{}", escape(&places(&counts)))?;
    }
    writeln!(to, "</table></div>")
}

/// What the report does not show; nothing if it shows all.
fn left_out(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let tally = facts.tally;
    let mut items: Vec<String> = facts
        .stripped
        .iter()
        .map(|source| {
            format!("Authentication is unchecked in {}: no request in it carries Authorization, which browsers leave out of exports.", escape(source))
        })
        .collect();
    for (count, what, rest) in [
        (tally.ungrouped, "finding", "at further places"),
        (tally.skipped, "recorded item", "left out: CONNECT, or not HTTP"),
    ] {
        if count > 0 {
            items.push(format!("{} {rest}.", plural(count, what)));
        }
    }
    if items.is_empty() {
        return Ok(());
    }
    writeln!(to, "<h2>Left out</h2>\n<ul>\n<li>{}\n</ul>", items.join("\n<li>"))
}

/// A heading, and the head of the table under it.
fn table(heading: &str, columns: &[&str], to: &mut dyn Write) -> io::Result<()> {
    write!(to, "{heading}\n<div class=scroll><table><tr>")?;
    for column in columns {
        let class = if *column == "times" { " class=n" } else { "" };
        write!(to, "<th{class}>{column}")?;
    }
    writeln!(to)
}

/// The line after a list that was cut.
fn more(all: usize, to: &mut dyn Write) -> io::Result<()> {
    if all > MAX_ROWS { writeln!(to, "<li>and {} more", all - MAX_ROWS) } else { Ok(()) }
}

/// Escaped text that may be broken where a name ends, and not within one.
fn breakable(text: &str) -> String {
    let pieces: Vec<String> = text.split_inclusive(['/', '?', '&', ',']).map(escape).collect();
    pieces.join("<wbr>")
}
