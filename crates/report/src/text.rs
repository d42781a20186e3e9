//! The text report: groups with a count and one sample, what could not be checked, and one line that sums it up.
//!
//! Readable without colour: no information is in the colour alone.

use std::io::{self, Write};

use contrail_exchange::{
    finding::{Blame, Kind, Rule},
    plural::plural,
    visible::visible,
};

use super::{Exit, Facts, Group, Screen, Stale, Tally, facts::places, page::STALE, touched};

const RED: &str = "31";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const DIM: &str = "2";

struct Pen<'a> {
    to: &'a mut dyn Write,
    screen: Screen,
}

impl Pen<'_> {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.screen.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

pub(super) fn write(facts: &Facts<'_>, to: &mut dyn Write, screen: Screen) -> io::Result<()> {
    let mut pen = Pen { to, screen };
    let tally = facts.tally;
    integrity(&mut pen, facts)?;
    groups(&mut pen, facts, Kind::Violation)?;
    groups(&mut pen, facts, Kind::Gap)?;
    let exempt = facts.exemptions.lines(tally);
    for line in &exempt {
        writeln!(pen.to, "{}", visible(line))?;
    }
    if !exempt.is_empty() {
        writeln!(pen.to)?;
    }
    if let Some(further) = tally.further_in_words() {
        writeln!(pen.to, "{further}\n")?;
    }
    if tally.nothing_judged() {
        writeln!(pen.to, "{}: everything\n", pen.paint(BOLD, "Not checked"))?;
    } else if tally.unchecked().next().is_some() {
        writeln!(pen.to, "{}", pen.paint(BOLD, "Not checked"))?;
        for (aspect, count, counts) in tally.unchecked() {
            writeln!(pen.to, "  {aspect}: {} ({})", plural(count, "exchange"), places(&counts))?;
            reasons(tally, aspect, pen.to)?;
        }
        writeln!(pen.to)?;
    }
    for source in facts.stripped {
        writeln!(
            pen.to,
            "authentication is unchecked in {}: no request in it carries Authorization, which browsers leave out of exports",
            if source == "-" { "standard input".into() } else { visible(source) }
        )?;
    }
    if tally.outside > 0 && facts.fails(Rule::OperationUndocumented) {
        writeln!(
            pen.to,
            "{} of other sites or base paths: a gap each, which `--deny` makes fail; `--allow operation.undocumented` lets \
             undocumented operations pass",
            plural(tally.outside, "exchange")
        )?;
    }
    if tally.skipped > 0 {
        writeln!(pen.to, "{} left out: CONNECT, or not HTTP", plural(tally.skipped, "entry"))?;
    }
    if let Some(evicted) = facts.run.evicted_in_words() {
        writeln!(pen.to, "{evicted}")?;
    }
    blame(&mut pen, facts)?;
    aside(&mut pen, facts)?;
    if let Some((status, reasons)) = facts.run.exit.as_ref().and_then(Exit::in_words) {
        writeln!(pen.to, "{}: {}\n", pen.paint(RED, &status), visible(&reasons))?;
    }
    // A command that failed before it read its contract has nothing to sum up.
    if facts.title.title.is_empty() && tally.exchanges == 0 {
        return Ok(());
    }
    if let Some(touched) = facts.coverage.and_then(touched::in_words) {
        writeln!(pen.to, "touched: {touched}; `contrail coverage` lists them\n")?;
    }
    let live = facts.run.unused.is_some();
    writeln!(
        pen.to,
        "{} checked against {}: {} conform, {} with gaps, {} violate{}{}",
        plural(tally.exchanges, if live { "live request" } else { "exchange" }),
        visible(&facts.title.in_words()),
        tally.conforms,
        tally.gap,
        tally.violates,
        tally.unjudged(),
        if live { format!(", {} missed", tally.misses) } else { String::new() }
    )?;
    if live {
        let recorded = tally.recorded;
        writeln!(
            pen.to,
            "{} beside them: {} conform, {} with gaps, {} violate",
            plural(recorded.exchanges, "recorded exchange"),
            recorded.conforms,
            recorded.gap,
            recorded.violates
        )?;
    }
    Ok(())
}

/// Why an aspect was not checked, a line each.
pub(super) fn reasons(tally: &Tally, aspect: &str, to: &mut dyn Write) -> io::Result<()> {
    tally.reasons(aspect).into_iter().try_for_each(|(reason, counts)| {
        let at = if reason.at.is_empty() { String::new() } else { format!("at {}: ", visible(&reason.at)) };
        writeln!(to, "    {at}{} ({})", visible(&reason.reason), visible(&places(&counts)))
    })
}

/// The hash chains of trails.
fn integrity(pen: &mut Pen<'_>, facts: &Facts<'_>) -> io::Result<()> {
    for one in &facts.run.integrity {
        let sentence = visible(&one.sentence_on(pen.screen)).into_owned();
        let fails = facts.run.unrecorded_fails && one.count_of_unrecorded() > 0;
        let sentence = if one.broken.is_some() || fails { pen.paint(RED, &sentence) } else { sentence };
        writeln!(pen.to, "{sentence}")?;
    }
    if facts.run.integrity.is_empty() { Ok(()) } else { writeln!(pen.to) }
}

/// Misses, denied hosts, unused recordings and a failed proof.
fn aside(pen: &mut Pen<'_>, facts: &Facts<'_>) -> io::Result<()> {
    let run = facts.run;
    if run.missed() > 0 {
        writeln!(pen.to, "{}", pen.paint(BOLD, "Missed: no recording answers these requests"))?;
        for missed in run.misses() {
            let request = pen.paint(RED, &visible(&missed.shown()));
            writeln!(pen.to, "  {request}  {} ({})", pen.paint(BOLD, &times(missed.count)), missed.reason)?;
            for near in missed.near() {
                writeln!(pen.to, "    {}", visible(&near))?;
            }
        }
        if run.further_misses > 0 {
            writeln!(pen.to, "  and {} of other requests", plural(run.further_misses, "miss"))?;
        }
        writeln!(pen.to)?;
    }
    if run.denials() > 0 {
        writeln!(pen.to, "{}", pen.paint(BOLD, "Denied: the forward proxy opens no connection to these hosts"))?;
        for denied in run.denied() {
            writeln!(pen.to, "  {}  {} ({})", visible(denied.host), times(denied.count), denied.reason)?;
        }
        if run.further_denied > 0 {
            writeln!(pen.to, "  and {} to other hosts", plural(run.further_denied, "request"))?;
        }
        writeln!(pen.to)?;
    }
    if let Some(unused) = run.unused.as_deref().filter(|unused| !unused.is_empty()) {
        writeln!(pen.to, "{}", pen.paint(BOLD, "Unused: no request used these recorded exchanges"))?;
        for unused in unused {
            writeln!(pen.to, "  {}", visible(&unused.shown()))?;
        }
        writeln!(pen.to)?;
    }
    if !run.stale.is_empty() {
        writeln!(pen.to, "{}", pen.paint(BOLD, STALE))?;
        for Stale { entry, request, why, .. } in &run.stale {
            writeln!(pen.to, "  {}: {}: {}", visible(entry), visible(request), visible(why))?;
        }
        writeln!(pen.to)?;
    }
    if let Some(proof) = run.proof.as_ref().filter(|proof| !proof.good) {
        writeln!(pen.to, "{}", pen.paint(RED, &format!("Proof FAILED: {}", proof.failure())))?;
        for problem in &proof.problems {
            writeln!(pen.to, "  {}", visible(problem))?;
        }
        writeln!(pen.to)?;
    }
    Ok(())
}

fn groups(pen: &mut Pen<'_>, facts: &Facts<'_>, kind: Kind) -> io::Result<()> {
    let groups = facts.tally.groups(kind);
    if groups.is_empty() {
        return Ok(());
    }
    let (heading, code) = match kind {
        Kind::Violation => ("Violations: the document is contradicted", RED),
        Kind::Gap => ("Gaps: the document is silent", YELLOW),
    };
    writeln!(pen.to, "{}", pen.paint(BOLD, heading))?;
    let mut undocumented = false;
    for group in groups {
        if group.rule == Rule::OperationUndocumented && group.operation.is_none() {
            if !undocumented {
                let note = mark(facts, group.rule);
                writeln!(pen.to, "  {}{note}", pen.paint(code, group.rule.id()))?;
                undocumented = true;
            }
            let exempt = facts.exemption(group).map(|exempt| format!(" ({})", exempt.word())).unwrap_or_default();
            writeln!(pen.to, "    {}  {}{exempt}", visible(&group.place), times(group.count))?;
            continue;
        }
        one(pen, facts, group, code)?;
    }
    writeln!(pen.to)
}

fn one(pen: &mut Pen<'_>, facts: &Facts<'_>, group: &Group, code: &str) -> io::Result<()> {
    let sample = &group.sample;
    let operation = &visible(group.operation.as_deref().unwrap_or("no documented operation"));
    let at = if group.place.is_empty() { String::new() } else { format!(" at {}", visible(&group.place)) };
    let note = match facts.exemption(group) {
        Some(exempt) => format!(" ({})", exempt.word()),
        None => mark(facts, group.rule).to_owned(),
    };
    writeln!(
        pen.to,
        "  {}{note}  {operation}{at}  {}",
        pen.paint(code, group.rule.id()),
        pen.paint(BOLD, &times(group.count))
    )?;
    writeln!(pen.to, "    {}", visible(&group.message()))?;
    let at = if sample.at == group.place { String::new() } else { format!(", at {}", sample.at) };
    let example = format!("{}{at}", *sample.cited);
    writeln!(pen.to, "    {}", pen.paint(DIM, &visible(&example)))
}

/// Notes where the exit status differs from what the kind alone would give.
fn mark(facts: &Facts<'_>, rule: Rule) -> &'static str {
    match (rule.kind(), facts.fails(rule)) {
        (Kind::Violation, false) => " (allowed)",
        (Kind::Gap, true) => " (denied)",
        _ => "",
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn blame(pen: &mut Pen<'_>, facts: &Facts<'_>) -> io::Result<()> {
    let count = |blame| facts.tally.blame(blame);
    let (caught, laxer, stricter) = (count(Blame::Caught), count(Blame::Laxer), count(Blame::Stricter));
    if caught > 0 {
        writeln!(pen.to, "the tenant refused {}: the client is at fault", plural(caught, "violating request"))?;
    }
    if laxer > 0 {
        let text = "it is laxer than its documentation";
        writeln!(pen.to, "the tenant accepted {}: {text}", plural(laxer, "violating request"))?;
    }
    if stricter > 0 {
        let text = "it is stricter than its documentation";
        writeln!(pen.to, "the tenant refused {} with 400: {text}", plural(stricter, "conforming request"))?;
    }
    Ok(())
}
