//! The HTML report: one self-contained page, no script, nothing loaded, everything recorded escaped.

use std::io::{self, Write};

use super::{Facts, junit::escape, places};
use crate::{
    finding::{Kind, Rule},
    plural::plural,
};

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>contrail report</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8886 }
td.n { text-align: right; font-variant-numeric: tabular-nums }
code { overflow-wrap: anywhere }
.sample { opacity: .75; font-size: .9em }
</style>
"#;

pub(super) fn write(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let tally = facts.tally;
    to.write_all(HEAD.as_bytes())?;
    writeln!(to, "<h1>{} {}</h1>", escape(&facts.title.title), escape(&facts.title.version))?;
    writeln!(
        to,
        "<p>{}: {} conform, {} with gaps, {} in violation.</p>",
        plural(tally.exchanges - tally.outside, "exchange"),
        tally.conforms,
        tally.gap - tally.outside,
        tally.violates
    )?;
    groups(facts, Kind::Violation, "Violations: the document is contradicted", to)?;
    groups(facts, Kind::Gap, "Gaps: the document is silent", to)?;
    if tally.unchecked().next().is_some() {
        writeln!(to, "<h2>Not checked</h2>\n<table><tr><th>aspect<th>exchanges<th>where")?;
        for (aspect, count, counts) in tally.unchecked() {
            writeln!(to, "<tr><td><code>{aspect}</code><td class=n>{count}<td>{}", escape(&places(&counts)))?;
        }
        writeln!(to, "</table>")?;
    }
    writeln!(to, "<h2>Left out</h2>\n<ul>")?;
    for source in facts.stripped {
        let source = escape(source);
        writeln!(to, "<li>Authentication is unchecked in {source}: this file's producer strips Authorization.")?;
    }
    if tally.ungrouped > 0 {
        writeln!(to, "<li>{} at further places.", plural(tally.ungrouped, "finding"))?;
    }
    writeln!(to, "<li>{} outside the contract (another site or base path).", plural(tally.outside, "exchange"))?;
    writeln!(to, "<li>{} not HTTP.", plural(tally.skipped, "recorded item"))?;
    writeln!(to, "</ul>\n</html>")
}

fn groups(facts: &Facts<'_>, kind: Kind, heading: &str, to: &mut dyn Write) -> io::Result<()> {
    let groups = facts.tally.groups(kind);
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(to, "<h2>{heading}</h2>\n<table><tr><th>rule<th>operation<th>at<th>times<th>first")?;
    for group in groups {
        let sample = &group.sample;
        let message = if group.rule == Rule::OperationUndocumented && group.operation.is_none() {
            String::new()
        } else {
            format!("{}<br>", escape(&sample.message))
        };
        writeln!(
            to,
            "<tr><td><code>{}</code><td>{}<td><code>{}</code><td class=n>{}<td>{message}<span class=sample>{} entry {}: <code>{} {}</code> &rarr; {}</span>",
            group.rule.id(),
            escape(group.operation.as_deref().unwrap_or("")),
            escape(&group.place),
            group.count,
            escape(&sample.source),
            sample.entry,
            escape(&sample.method),
            escape(&sample.url),
            sample.status
        )?;
    }
    writeln!(to, "</table>")
}
