//! What the HTML and the Markdown report show: headings, sentences, lists and tables.

use contrail_contract::Passage;
use contrail_exchange::{
    finding::{Kind, Reason, Rule, UNDOCUMENTED, Unchecked},
    plural::plural,
};

use super::{
    Cited, Facts, Quote, ReportFormat, Stale, Suppressed, Suppression, Unused,
    facts::places,
    times::{self, Timeline, Took},
    touched,
};

/// Maximum rows of a list; the rest is counted.
pub(super) const MAX_ROWS: usize = 1000;

/// Maximum untouched parts of one kind that Markdown names.
const MAX_UNTOUCHED: usize = 20;

/// Maximum reasons for the exit status, and for one aspect that was not checked.
const MAX_REASONS: usize = 20;

/// How good a text is, which colour shows, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Gap,
    Bad,
    /// Detail.
    Dim,
}

/// Part of a sentence.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(Tone, String),
    /// Text of the traffic.
    Code(Tone, String),
    /// The rule of a finding, to which HTML links by this anchor.
    Finding(Tone, &'static str, String),
    Break,
    /// Shares of a whole, which HTML draws: the first one dark, the second one light.
    Bar {
        dark: u64,
        light: u64,
        of: u64,
    },
    /// What HTML shows below the row.
    Exhibit(Box<Exhibit>),
}

/// Request and response of a finding, and what the contract shows of its subject.
#[derive(Debug, Clone)]
pub(super) struct Exhibit {
    pub(super) anchor: String,
    pub(super) quote: Quote,
    pub(super) passages: Vec<Passage>,
}

pub(super) type Cell = Vec<Piece>;

/// A whole report.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) heading: String,
    /// Names and values.
    pub(super) about: Vec<(&'static str, Cell)>,
    pub(super) sentences: Vec<Cell>,
    pub(super) parts: Vec<Part>,
}

/// What stands below one heading.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) tone: Tone,
    pub(super) heading: String,
    pub(super) rows: Rows,
    /// What the rows leave out, and what to know about them.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Rows {
    List(Vec<Cell>),
    Table(&'static [&'static str], Vec<Vec<Cell>>),
    Tree(Vec<Branch>),
    Timeline(Timeline),
}

/// A line of a tree, with what can be unfolded below it.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) line: Cell,
    pub(super) below: Vec<Branch>,
}

pub(super) fn text(text: impl Into<String>) -> Piece {
    Piece::Text(Tone::Plain, text.into())
}

pub(super) fn code(text: impl Into<String>) -> Piece {
    Piece::Code(Tone::Plain, text.into())
}

/// Whether each part of a sentence is code, which stands between backticks.
pub(super) fn spans(sentence: &str) -> impl Iterator<Item = (bool, &str)> {
    let is_paired = sentence.matches('`').count().is_multiple_of(2);
    let parts = sentence.split(move |character| character == '`' && is_paired).enumerate();
    parts.map(|(at, part)| (at % 2 == 1, part)).filter(|(_, part)| !part.is_empty())
}

/// Whether a column holds numbers.
pub(super) fn is_number(column: &str) -> bool {
    matches!(
        column,
        "times" | "accepted" | "401 or 403" | "429" | "too early" | "other" | "violating" | "p50" | "p95" | "max"
    )
}

impl Part {
    pub(super) fn list(tone: Tone, heading: impl Into<String>, items: Vec<Cell>) -> Option<Self> {
        Self::of(tone, heading, items, Rows::List)
    }

    pub(super) fn table(
        tone: Tone,
        heading: impl Into<String>,
        columns: &'static [&'static str],
        rows: Vec<Vec<Cell>>,
    ) -> Option<Self> {
        Self::of(tone, heading, rows, |rows| Rows::Table(columns, rows))
    }

    pub(super) fn tree(heading: impl Into<String>, branches: Vec<Branch>) -> Option<Self> {
        Self::of(Tone::Plain, heading, branches, Rows::Tree)
    }

    fn of<T>(
        tone: Tone,
        heading: impl Into<String>,
        mut rows: Vec<T>,
        make: impl FnOnce(Vec<T>) -> Rows,
    ) -> Option<Self> {
        let more = rows.len().saturating_sub(MAX_ROWS);
        rows.truncate(MAX_ROWS);
        let notes = (more > 0).then(|| format!("and {more} more")).into_iter().collect();
        (!rows.is_empty()).then(|| Self { tone, heading: heading.into(), rows: make(rows), notes })
    }

    /// With these sentences below its rows.
    pub(super) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

impl Page {
    /// The page of a command that judged exchanges.
    pub(super) fn of(facts: &Facts<'_>, kind: ReportFormat) -> Self {
        let exhibits = kind == ReportFormat::Html;
        let mut page = Self::about(facts);
        page.sentences.push(sums(facts));
        page.sentences.extend(integrity(facts));
        page.parts.extend(
            [
                timeline(facts).filter(|_| exhibits),
                misses(facts),
                proof(facts),
                groups(facts, Kind::Violation, "Violations: the document is contradicted", exhibits),
                groups(facts, Kind::Gap, "Gaps: the document is silent", exhibits),
                baseline(facts),
                suppressions(facts),
                denied(facts),
                unused(facts),
                stale(facts),
                durations(facts),
                unchecked(facts),
                facts.coverage.and_then(|coverage| {
                    let most = if exhibits { MAX_ROWS } else { MAX_UNTOUCHED };
                    Part::tree("Coverage of the contract", touched::tree(coverage, touched::kinds(coverage), most))
                }),
                left_out(facts),
            ]
            .into_iter()
            .flatten(),
        );
        page
    }

    /// What the report is about, and what made it.
    pub(super) fn about(facts: &Facts<'_>) -> Self {
        let title = facts.title;
        let mut about: Vec<_> = exit(facts).map(|exit| ("result", exit)).into_iter().collect();
        if !title.hash.is_empty() {
            about.push(("contract", vec![code(&title.hash)]));
        }
        about.extend(facts.upstream.map(|upstream| ("upstream", vec![text(upstream)])));
        about.extend(facts.sources.iter().take(MAX_ROWS).map(|source| ("recording", vec![text(source)])));
        if facts.sources.len() > MAX_ROWS {
            about.push(("and", vec![text(format!("{} more", facts.sources.len() - MAX_ROWS))]));
        }
        let made = if facts.made.is_empty() { String::new() } else { format!("{}, ", facts.made) };
        about.push(("made", vec![text(format!("{made}by contrail {}", env!("CARGO_PKG_VERSION")))]));
        Self { heading: title.in_words(), about, ..Self::default() }
    }
}

/// What was counted, in a sentence or two.
fn sums(facts: &Facts<'_>) -> Cell {
    let tally = facts.tally;
    let replays = facts.run.unused.is_some();
    let of = |conforms: u64, gap: u64, violates: u64| {
        [
            Piece::Text(Tone::Good, format!("{conforms} conform")),
            text(", "),
            Piece::Text(Tone::Gap, format!("{gap} with gaps")),
            text(", "),
            Piece::Text(Tone::Bad, format!("{violates} violate")),
        ]
    };
    let all = plural(tally.exchanges, if replays { "live request" } else { "exchange" });
    let mut sentence = vec![text(format!("{all}: "))];
    sentence.extend(of(tally.conforms, tally.gap, tally.violates));
    if replays {
        let recorded = tally.recorded;
        sentence.extend([
            text(", "),
            Piece::Text(Tone::Bad, format!("{} missed", tally.misses)),
            text("."),
            Piece::Break,
        ]);
        sentence.push(text(format!("{} beside them: ", plural(recorded.exchanges, "recorded exchange"))));
        sentence.extend(of(recorded.conforms, recorded.gap, recorded.violates));
    }
    sentence.push(text("."));
    sentence
}

/// When the exchanges were; nothing if all were at once, or no instant is known.
fn timeline(facts: &Facts<'_>) -> Option<Part> {
    let timeline = facts.tally.timeline();
    let (first, last) = timeline.span().filter(|(first, last)| first < last)?;
    let highest = timeline.bars().map(|(_, bar)| bar.all).max()?;
    let note = format!(
        "From {} to {}. A bar is {}; the highest has {}.",
        timeline.instant(first),
        timeline.instant(last),
        timeline.width(),
        plural(highest, "exchange")
    );
    let heading = "Timeline".to_owned();
    Some(Part { tone: Tone::Plain, heading, rows: Rows::Timeline(timeline.clone()), notes: vec![note] })
}

/// How long the exchanges of each operation took, the slowest first.
fn durations(facts: &Facts<'_>) -> Option<Part> {
    let mut all: Vec<_> = facts.tally.durations().collect();
    all.sort_by(|a, b| b.p95.total_cmp(&a.p95));
    let slowest = all.first()?.p95;
    let row = |took: &Took<'_>| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most 1000
        let share = |part: f64| (part / slowest * 1000.0) as u64;
        let bar = Piece::Bar { dark: share(took.p50), light: share(took.p95), of: 1000 };
        let mut row = vec![vec![text(took.operation.unwrap_or(UNDOCUMENTED)), bar]];
        row.push(vec![text(took.exchanges.to_string())]);
        row.extend([took.p50, took.p95, took.max].map(|millis| vec![text(times::in_words(millis))]));
        row
    };
    let columns = &["operation", "times", "p50", "p95", "max"];
    Part::table(Tone::Plain, "Durations", columns, all.iter().map(row).collect())
}

/// The hash chains of trails.
fn integrity(facts: &Facts<'_>) -> Vec<Cell> {
    let lost = |one: &super::Integrity| facts.run.unrecorded_fails && one.count_of_unrecorded() > 0;
    let sentence = |one: &super::Integrity| {
        let tone = match one.entries {
            _ if one.broken.is_some() || lost(one) => Tone::Bad,
            Some(_) => Tone::Good,
            None => Tone::Plain,
        };
        vec![Piece::Text(tone, one.sentence())]
    };
    facts.run.integrity.iter().map(sentence).collect()
}

/// The exit status and every reason for it.
fn exit(facts: &Facts<'_>) -> Option<Cell> {
    let exit = facts.run.exit.as_ref()?;
    let tone = if exit.status == 0 { Tone::Good } else { Tone::Bad };
    let mut reasons: Vec<String> = exit.reasons.iter().take(MAX_REASONS).map(super::Reason::in_words).collect();
    let more = exit.reasons.len() - reasons.len();
    if more > 0 {
        reasons.push(format!("and {more} more"));
    }
    let colon = if reasons.is_empty() { "" } else { ": " };
    let status = Piece::Text(tone, format!("Exit status {}", exit.status));
    Some(vec![status, text(format!("{colon}{}", reasons.join("; ")))])
}

fn groups(facts: &Facts<'_>, kind: Kind, heading: &str, exhibits: bool) -> Option<Part> {
    let tone = if kind == Kind::Violation { Tone::Bad } else { Tone::Gap };
    let row = |group: &super::Group| {
        let sample = &group.sample;
        let mut first = Vec::new();
        if let Some(exempt) = facts.exemption(group) {
            first.extend([Piece::Text(Tone::Dim, exempt.reason()), Piece::Break]);
        }
        if group.rule != Rule::OperationUndocumented || group.operation.is_some() {
            first.extend([text(group.message()), Piece::Break]);
        }
        let Cited { method, url, status, .. } = &*sample.cited;
        first.extend([
            Piece::Text(Tone::Dim, format!("{}: ", sample.cited.place())),
            Piece::Code(Tone::Dim, format!("{method} {url}")),
            Piece::Text(Tone::Dim, format!(" → {status}")),
        ]);
        let anchor = group.anchor();
        if let Some(quote) = sample.quote.as_deref().filter(|_| exhibits) {
            let (anchor, quote, passages) = (anchor.clone(), quote.clone(), facts.passages(group));
            first.push(Piece::Exhibit(Box::new(Exhibit { anchor, quote, passages })));
        }
        let tone = if facts.exemption(group).is_some() { Tone::Dim } else { tone };
        vec![
            vec![Piece::Finding(tone, group.rule.id(), anchor)],
            vec![text(group.operation.as_deref().unwrap_or_default())],
            vec![code(&group.place)],
            vec![text(group.count.to_string())],
            first,
        ]
    };
    let rows = facts.tally.groups(kind).into_iter().map(row).collect();
    Part::table(tone, heading, &["rule", "operation", "at", "times", "first"], rows)
}

/// What the baseline covered.
fn baseline(facts: &Facts<'_>) -> Option<Part> {
    let lines = facts.exemptions.covered(facts.tally)?.lines();
    Part::list(Tone::Plain, "Baseline", lines.into_iter().map(|line| vec![text(line)]).collect())
}

/// What each suppression covered.
fn suppressions(facts: &Facts<'_>) -> Option<Part> {
    let row = |suppressed: &Suppressed<'_>| {
        let Suppression { until, reason, source, .. } = suppressed.suppression;
        let until = if suppressed.is_expired {
            Piece::Text(Tone::Bad, format!("expired on {until}"))
        } else {
            text(until.to_string())
        };
        vec![
            vec![code(suppressed.suppression.about())],
            vec![text(suppressed.count.to_string())],
            vec![until],
            vec![text(reason), Piece::Break, Piece::Text(Tone::Dim, source.clone())],
        ]
    };
    let suppressed = facts.exemptions.suppressed(facts.tally);
    let is_expired = suppressed.iter().any(|one| one.is_expired);
    let tone = if is_expired { Tone::Bad } else { Tone::Plain };
    Part::table(tone, "Suppressions", &["finding", "times", "until", "why"], suppressed.iter().map(row).collect())
}

fn misses(facts: &Facts<'_>) -> Option<Part> {
    let row = |missed: &super::Missed| {
        let mut near = vec![text(&missed.detail)];
        near.extend(missed.near().flat_map(|near| [Piece::Break, Piece::Text(Tone::Dim, near)]));
        vec![
            vec![Piece::Code(Tone::Bad, missed.reason.to_string())],
            vec![code(missed.shown())],
            vec![text(missed.count.to_string())],
            near,
        ]
    };
    let rows = facts.run.misses().map(row).collect();
    let further = facts.run.further_misses;
    let note = (further > 0).then(|| format!("And {} of other requests.", plural(further, "miss")));
    let columns = &["why", "request", "times", "near"];
    Part::table(Tone::Bad, "Missed: no recording answers these requests", columns, rows)
        .map(|part| part.with_notes(note))
}

fn proof(facts: &Facts<'_>) -> Option<Part> {
    let proof = facts.run.proof.as_ref().filter(|proof| !proof.good)?;
    let problems = proof.problems.iter().map(|problem| vec![text(problem)]).collect();
    Part::list(Tone::Bad, format!("Proof failed: {}", proof.failure()), problems)
}

fn denied(facts: &Facts<'_>) -> Option<Part> {
    let row = |denied: super::Denied<'_>| {
        vec![vec![code(denied.host)], vec![text(denied.reason)], vec![text(denied.count.to_string())]]
    };
    let rows = facts.run.denied().map(row).collect();
    let further = facts.run.further_denied;
    let note = (further > 0).then(|| format!("And {} to other hosts.", plural(further, "request")));
    let heading = "Denied: the forward proxy opens no connection to these hosts";
    Part::table(Tone::Plain, heading, &["host", "why", "times"], rows).map(|part| part.with_notes(note))
}

fn unused(facts: &Facts<'_>) -> Option<Part> {
    let unused = facts.run.unused.as_deref().unwrap_or_default();
    let item = |Unused { entry, request, .. }: &Unused| vec![text(format!("{entry}: ")), code(request)];
    let items = unused.iter().map(item).collect();
    Part::list(Tone::Plain, "Unused: no request used these recorded exchanges", items)
}

/// The heading of the recorded exchanges that do not fit the contract any more.
pub(super) const STALE: &str = "Stale: these recorded exchanges do not fit the contract any more";

fn stale(facts: &Facts<'_>) -> Option<Part> {
    let row = |Stale { entry, request, why, .. }: &Stale| vec![vec![text(entry)], vec![code(request)], vec![text(why)]];
    let rows = facts.run.stale.iter().map(row).collect();
    Part::table(Tone::Plain, STALE, &["entry", "request", "why"], rows)
}

fn unchecked(facts: &Facts<'_>) -> Option<Part> {
    let unchecked = facts.tally.unchecked();
    let why = |aspect| {
        let reasons = facts.tally.reasons(aspect);
        let mut why: Cell = Vec::new();
        for (Reason { at, reason, .. }, counts) in reasons.iter().take(MAX_REASONS) {
            if !why.is_empty() {
                why.push(Piece::Break);
            }
            if !at.is_empty() {
                why.extend([text("at "), code(at), text(": ")]);
            }
            why.push(text(&**reason));
            why.push(Piece::Text(Tone::Dim, format!(" ({})", places(counts))));
        }
        match (Unchecked::from_name(aspect), reasons.len().saturating_sub(MAX_REASONS)) {
            (Some(aspect), _) if reasons.is_empty() => why.push(text(aspect.not_shown())),
            (_, 0) => {}
            (_, more) => why.extend([Piece::Break, text(format!("and {more} more"))]),
        }
        why
    };
    let rows = unchecked.map(|(aspect, count, counts)| {
        vec![vec![code(aspect)], vec![text(count.to_string())], vec![text(places(&counts))], why(aspect)]
    });
    Part::table(Tone::Plain, "Not checked", &["aspect", "times", "where", "why"], rows.collect())
}

/// What the report does not show; nothing if it shows all.
fn left_out(facts: &Facts<'_>) -> Option<Part> {
    let tally = facts.tally;
    let stripped = |source: &String| {
        vec![text(format!(
            "Authentication is unchecked in {source}: no request in it carries Authorization, which browsers leave out of \
             exports."
        ))]
    };
    let mut items: Vec<Cell> = facts.stripped.iter().map(stripped).collect();
    for (count, what, rest) in [
        (tally.ungrouped, "finding", "at further places"),
        (tally.skipped, "recorded item", "left out: CONNECT, or not HTTP"),
    ] {
        if count > 0 {
            items.push(vec![text(format!("{} {rest}.", plural(count, what)))]);
        }
    }
    items.extend(facts.run.evicted_in_words().map(|evicted| vec![text(format!("{evicted}."))]));
    Part::list(Tone::Plain, "Left out", items)
}
