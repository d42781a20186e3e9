//! The collected facts of an audit, and its reports.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
    time::SystemTime,
};

use contrail_contract::Contract;
use contrail_exchange::{
    finding::{self, Kind, Rule, UNDOCUMENTED},
    json::second,
    plural::plural,
    visible::visible,
};
use contrail_recording::Unrecorded;
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde_json::{Value, json};

use super::{
    caller::{Caller, is_claim},
    client::{BEYOND, caller_name, client_of},
    hours, tables,
    waits::Waits,
};
use crate::{
    ExchangeRef, Exemptions, Exit, Facts, Group, Integrity, Reason, ReportFormat, Run, Screen, Tally, Title, TrailLink,
    Unread,
    baseline::Listed,
    cases,
    coverage::{ContractParts, Coverage, Touched},
    facts::places,
    page::{self, Page},
    rendered::Report,
    text, touched,
};

/// Maximum callers that are listed separately; calls of further ones are counted together.
const MAX_NAMES: usize = 10_000;

/// The calls in a set of recordings, added one exchange at a time.
#[derive(Debug, Clone)]
pub struct Audit {
    first: Option<SystemTime>,
    last: Option<SystemTime>,
    tally: Tally,
    coverage: Coverage,
    run: Run,
    callers: BTreeMap<String, Caller>,
    waits: Waits,
    /// Without a chain.
    unproven: Vec<String>,
    files: Vec<String>,
    /// What the audit is restricted to, as options.
    filters: Vec<String>,
    left_out: u64,
    /// Entries that could not be read.
    pub unreadable: Unread,
    /// The trail whose recording is read.
    trail: Option<usize>,
}

/// What an audit is about.
#[derive(Debug, Clone)]
pub struct About<'a> {
    /// The contract in force.
    pub contract: &'a Contract,
    /// The same, as reports name it.
    pub title: Title,
    /// The rules that make the command fail.
    pub failing: Vec<Rule>,
    /// Findings of an earlier run, which do not.
    pub exemptions: Exemptions,
}

impl Audit {
    /// An empty one, restricted by these options; `coverage` has the contract's parts.
    #[must_use]
    pub fn new(filters: Vec<String>, coverage: Coverage) -> Self {
        Self {
            first: None,
            last: None,
            tally: Tally::default(),
            coverage,
            run: Run::default(),
            callers: BTreeMap::new(),
            waits: Waits::default(),
            unproven: Vec::new(),
            files: Vec::new(),
            filters,
            left_out: 0,
            unreadable: Unread::default(),
            trail: None,
        }
    }

    /// Notes the results of the checks of trails' chains; before their recordings, which are read in this order.
    pub fn integrity(&mut self, mut trails: Vec<Integrity>) {
        let mut before = self.files.len();
        for link in trails.iter_mut().filter_map(|trail| trail.link.as_deref_mut()) {
            link.sources.0 = before;
            before += link.sources.1;
        }
        self.run.integrity.append(&mut trails);
    }

    /// Notes that this recording is no trail, so that nothing proves that it is as it was written.
    pub fn file(&mut self, name: &str) {
        self.unproven.push(name.to_owned());
    }

    /// Notes a file that is read.
    pub fn source(&mut self, name: &str) {
        let number = self.files.len();
        let holds = |link: &TrailLink| (link.sources.0..link.sources.0 + link.sources.1).contains(&number);
        self.trail = self.run.integrity.iter().position(|trail| trail.link.as_deref().is_some_and(holds));
        self.files.push(name.to_owned());
    }

    /// Notes that the recording, a journal without a chain, states exchanges that could not be recorded.
    pub fn unrecorded(&mut self, unrecorded: Unrecorded) {
        match self.trail.and_then(|trail| self.run.integrity.get_mut(trail)) {
            Some(held) => unrecorded.add_to(&mut held.unrecorded),
            None => self
                .run
                .integrity
                .extend(self.files.last().map(|journal| Integrity::unrecorded(journal.clone(), unrecorded))),
        }
    }

    /// Whether exchanges that a trail or journal could not record make the audit fail.
    pub const fn unrecorded_fails(&mut self, fails: bool) {
        self.run.unrecorded_fails = fails;
    }

    /// Notes that an exchange of the recording started then, for the comparison of trails.
    pub fn started(&mut self, at: Option<SystemTime>) {
        let trail = self.trail.and_then(|trail| self.run.integrity.get_mut(trail));
        if let Some(link) = trail.and_then(|trail| trail.link.as_deref_mut()) {
            hours::note(link, at);
        }
    }

    /// Counts an exchange that the filters leave out. Its wait holds for the others, too.
    pub fn left_out(&mut self, judged: &Redacted<JudgedExchange>, contract: &Contract) {
        self.left_out += 1;
        let (exchange, operation) = (&judged.exchange, judged.verdict.operation.as_ref());
        let client = client_of(&exchange.request, contract);
        let client = client.as_deref();
        if self.waits.take(client, operation, exchange, false).unchecked
            && let Some(caller) = self.callers.get_mut(&self.listed_name(caller_name(client, &exchange.request)))
            && let Some(calls) = caller.calls.get_mut(operation.map_or(UNDOCUMENTED, |operation| operation))
        {
            calls.early_unchecked += 1;
        }
    }

    /// Whether a trail was altered.
    #[must_use]
    pub fn altered(&self) -> bool {
        self.run.altered()
    }

    /// The parts of the contract, to look for in exchanges.
    #[must_use]
    pub fn parts(&self) -> &Arc<ContractParts> {
        self.coverage.parts()
    }

    /// How many exchanges were added.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.tally.exchanges
    }

    /// How many exchanges were read, those that the filters leave out among them.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.tally.exchanges + self.left_out
    }

    /// So many known secrets were evicted.
    pub const fn evicted(&mut self, count: u64) {
        self.run.evicted = count;
    }

    /// The audit ends with this status.
    pub fn ended(&mut self, exit: Exit) {
        hours::compare(&mut self.run.integrity);
        self.run.exit = Some(exit);
    }

    /// Why the audit fails, if it does: altered trails, these rules where nothing exempts the finding, and suppressions
    /// that expired.
    pub fn failing_reasons(&self, rules: &[Rule], exemptions: &Exemptions) -> Vec<Reason> {
        exemptions.failing_reasons(&self.tally, rules, &self.run).collect()
    }

    /// Adds an exchange, which touched these parts of the contract.
    pub fn exchange(
        &mut self,
        place: ExchangeRef<'_>,
        judged: &Redacted<JudgedExchange>,
        touched: &Touched,
        contract: &Contract,
    ) {
        self.coverage.take(touched);
        let exchange = &judged.exchange;
        if let Some(started) = exchange.started {
            self.first = Some(self.first.map_or(started, |first| first.min(started)));
            self.last = Some(self.last.map_or(started, |last| last.max(started)));
        }
        self.tally.add(place, judged);
        let client = client_of(&exchange.request, contract);
        let operation = judged.verdict.operation.as_ref();
        // What is only a claim is not early.
        let counts = operation.is_none() || !is_claim(exchange, true);
        let early = self.waits.take(client.as_deref(), operation, exchange, counts);
        let name = caller_name(client.as_deref(), &exchange.request);
        self.caller(name).take(place, judged, contract, early);
    }

    /// The caller of this name; without room for it, that of all further ones.
    fn caller(&mut self, name: String) -> &mut Caller {
        let name = self.listed_name(name);
        self.callers.entry(name).or_default()
    }

    /// The name under which the calls of a caller are counted.
    fn listed_name(&self, name: String) -> String {
        let has_room = self.callers.len() < MAX_NAMES || self.callers.contains_key(&name);
        if has_room { name } else { format!("{BEYOND}{MAX_NAMES}, counted together") }
    }

    /// The callers, as the JSON report has them.
    #[must_use]
    pub fn callers(&self, contract: &Contract) -> Vec<Value> {
        self.callers.iter().map(|(name, caller)| caller.json(name, contract)).collect()
    }

    /// Which parts of the contract were touched.
    #[must_use]
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Takes out secrets that were recognised after their exchange.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.tally.redact(redactor);
        self.callers.values_mut().for_each(|caller| caller.redact(redactor));
    }

    /// Writes a report.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub fn write(&self, kind: ReportFormat, about: &About<'_>, to: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let facts = Facts {
            title: &about.title,
            contract: Some(about.contract),
            tally: &self.tally,
            coverage: Some(&self.coverage),
            stripped: &[],
            failing: &about.failing,
            exemptions: &about.exemptions,
            run: &self.run,
            sources: &self.files,
            upstream: None,
            made: String::new(),
        };
        match kind {
            ReportFormat::Text => self.text(about, to, screen),
            ReportFormat::Json => self.json(about, to),
            ReportFormat::Csv => {
                tables::csv(&self.callers, self.findings(), self.tally.further(), &self.run.integrity).write(to)
            }
            _ => {
                let mut page = Page::of(&facts, kind);
                page.sentences
                    .splice(0..0, self.head(about, screen).into_iter().skip(1).map(|line| vec![page::text(line)]));
                page.parts.splice(0..0, tables::parts(&self.callers, about.contract));
                Report { page, suites: cases::of(&facts) }.write(kind, &facts, to)
            }
        }
    }

    /// What the audit is about, a line each: the contract first.
    fn head(&self, about: &About<'_>, screen: Screen) -> Vec<String> {
        let (title, hash) = (about.title.in_words(), screen.hash(&about.title.hash));
        let mut exchanges = plural(self.tally.exchanges, "exchange");
        if let (Some(first), Some(last)) = (self.first, self.last) {
            exchanges = format!("{exchanges} from {} to {}", instant(first), instant(last));
        }
        let mut lines = vec![format!("{title} ({hash}), contrail {}", env!("CARGO_PKG_VERSION")), exchanges];
        if !self.filters.is_empty() {
            let left_out = plural(self.left_out, "exchange");
            lines.push(format!("restricted by {}, which leaves out {left_out}", self.filters.join(" ")));
        }
        let unproven = |file: &String| format!("`{file}` is not a trail: nothing proves that it is unaltered");
        lines.extend(self.unproven.iter().map(unproven));
        lines
    }

    /// What the tenant does not enforce comes first.
    fn findings(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> =
            [Kind::Violation, Kind::Gap].into_iter().flat_map(|kind| self.tally.groups(kind)).collect();
        groups.sort_by_key(|group| group.rule != Rule::AuthUnenforced);
        groups
    }

    fn text(&self, about: &About<'_>, out: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let head = self.head(about, screen);
        for line in &head[..2] {
            writeln!(out, "{}", visible(line))?;
        }
        for one in &self.run.integrity {
            writeln!(out, "{}", visible(&one.sentence_on(screen)))?;
        }
        for line in &head[2..] {
            writeln!(out, "{}", visible(line))?;
        }
        let findings = self.findings();
        let unenforced = |group: &&&Group| group.rule == Rule::AuthUnenforced;
        let exempt = &about.exemptions;
        let heading = "not enforced: the tenant accepted what it had to refuse";
        list(out, heading, findings.iter().filter(unenforced), exempt)?;
        for (name, caller) in &self.callers {
            writeln!(out, "\n{}", visible(name))?;
            caller.text(about.contract, out)?;
        }
        for (kind, title) in [(Kind::Violation, "violations"), (Kind::Gap, "gaps")] {
            let groups = findings.iter().filter(|group| group.rule.kind() == kind && !unenforced(group));
            list(out, title, groups, exempt)?;
        }
        if let Some(further) = self.tally.further_in_words() {
            writeln!(out, "\n{further}")?;
        }
        for (at, (aspect, count, counts)) in self.tally.unchecked().enumerate() {
            if at == 0 {
                writeln!(out, "\nnot checked")?;
            }
            writeln!(out, "  {aspect:<26} {count:>6}  {}", visible(&places(&counts)))?;
            text::reasons(&self.tally, aspect, out)?;
        }
        if let Some(touched) = touched::in_words(&self.coverage) {
            writeln!(out, "\ntouched: {touched}; `contrail coverage` lists them")?;
        }
        if let Some(evicted) = self.run.evicted_in_words() {
            writeln!(out, "\n{evicted}")?;
        }
        for (at, line) in about.exemptions.lines(&self.tally).iter().enumerate() {
            let blank = if at == 0 { "\n" } else { "" };
            writeln!(out, "{blank}{}", visible(line))?;
        }
        if let Some((status, reasons)) = self.run.exit.as_ref().and_then(Exit::in_words) {
            writeln!(out, "\n{status}: {}", visible(&reasons))?;
        }
        Ok(())
    }

    fn json(&self, about: &About<'_>, out: &mut dyn Write) -> io::Result<()> {
        let rules: serde_json::Map<String, Value> =
            self.tally.by_rule().map(|(rule, count)| (rule.id().to_owned(), count.into())).collect();
        let unchecked: BTreeMap<&str, u64> = self.tally.unchecked().map(|(aspect, count, _)| (aspect, count)).collect();
        let of_aspect = |(aspect, ..): (&'static str, _, _)| self.tally.reasons(aspect);
        let reason = |(reason, operations): (&finding::Reason, BTreeMap<&str, u64>)| {
            let finding::Reason { aspect, at, reason } = reason;
            json!({"aspect": aspect.name(), "at": at, "reason": reason, "operations": operations})
        };
        let reasons: Vec<_> = self.tally.unchecked().flat_map(of_aspect).map(reason).collect();
        let verdicts: BTreeMap<&str, u64> =
            [("conforms", self.tally.conforms), ("gap", self.tally.gap), ("violates", self.tally.violates)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect();
        let Title { title, version, hash, .. } = &about.title;
        let exemptions = &about.exemptions;
        let findings: Vec<_> = self.findings().into_iter().map(|group| Listed::new(group, exemptions)).collect();
        let mut report = json!({
            "contract": {"title": title, "version": version, "hash": hash},
            "contrail": env!("CARGO_PKG_VERSION"),
            "files": self.files,
            "filters": self.filters,
            "summary": {"exchanges": self.tally.exchanges, "leftOut": self.left_out, "verdicts": verdicts,
                        "from": self.first.map(instant), "to": self.last.map(instant)},
            "integrity": self.run.integrity,
            "unproven": self.unproven,
            "callers": self.callers(about.contract),
            "rules": rules,
            "unchecked": unchecked,
            "reasons": reasons,
            "findings": findings,
            "exit": self.run.exit,
        });
        if self.tally.ungrouped > 0 {
            report["furtherFindings"] = json!(self.tally.ungrouped);
        }
        if self.run.evicted > 0 {
            report["evicted"] = json!(self.run.evicted);
        }
        if let Some(coverage) = touched::values(&self.coverage) {
            report["coverage"] = coverage;
        }
        if let Some(covered) = exemptions.covered(&self.tally) {
            report["baseline"] = json!(covered);
        }
        let suppressed = exemptions.suppressed(&self.tally);
        if !suppressed.is_empty() {
            report["suppressions"] = json!(suppressed);
        }
        writeln!(out, "{report:#}")
    }
}

/// Groups of findings below a heading.
fn list<'a>(
    out: &mut dyn Write,
    heading: &str,
    groups: impl Iterator<Item = &'a &'a Group>,
    exemptions: &Exemptions,
) -> io::Result<()> {
    for (at, group) in groups.enumerate() {
        if at == 0 {
            writeln!(out, "\n{heading}")?;
        }
        let operation = group.operation.as_deref().unwrap_or(UNDOCUMENTED);
        let at = if group.place.is_empty() { String::new() } else { format!(" at {}", group.place) };
        let place = visible(&format!("{operation}{at}")).to_string();
        let exempt = exemptions.of(group).map(|exempt| format!(" ({})", exempt.word())).unwrap_or_default();
        writeln!(out, "  {:<26} {:>6}  {place}{exempt}", group.rule.id(), group.count)?;
        if group.unenforced.is_some() {
            writeln!(out, "    {}", visible(&group.message()))?;
        }
        writeln!(out, "    first {}", visible(&group.sample.cited.to_string()))?;
    }
    Ok(())
}

fn instant(time: SystemTime) -> String {
    second(time).unwrap_or_else(|| "an instant out of range".to_owned())
}
