//! Collects what the reports of many exchanges show.

use std::{io, sync::Arc};

use contrail_contract::Contract;
use contrail_exchange::finding::{Finding, Rule};
use contrail_redact::{JudgedExchange, Redacted, Redactor};

use super::{
    CleanVerdict, Covered, ExchangeRef, Exemptions, Exit, Facts, Group, Integrity, Proof, Reason, Reported, Run, Stale,
    Suppressed, Tally, Title, Unused, exemptions::Exemption, spool::Spool,
};
use crate::coverage::{ContractParts, Coverage, Touched};

/// Collects the verdicts of exchanges for reports of them; [`Collector::write`] writes one.
#[derive(Debug)]
pub struct Collector {
    title: Title,
    contract: Option<Arc<Contract>>,
    coverage: Option<Coverage>,
    tally: Tally,
    listed: Option<Spool>,
    stripped: Vec<String>,
    failing: Vec<Rule>,
    exemptions: Exemptions,
    pub(super) run: Run,
    sources: Vec<String>,
    upstream: Option<String>,
}

impl Collector {
    /// An empty one. `listed` says whether a JSON report will be asked for; `failing` are the rules that make the
    /// command fail (a report marks them).
    #[must_use]
    pub fn new(title: Title, failing: Vec<Rule>, listed: bool) -> Self {
        Self {
            title,
            contract: None,
            coverage: None,
            tally: Tally::default(),
            listed: listed.then(Spool::new),
            stripped: Vec::new(),
            failing,
            exemptions: Exemptions::default(),
            run: Run::default(),
            sources: Vec::new(),
            upstream: None,
        }
    }

    /// The same with the contract, whose passages reports show.
    #[must_use]
    pub fn with_contract(self, contract: Arc<Contract>) -> Self {
        Self { contract: Some(contract), ..self }
    }

    /// The same with the parts of the contract, of which reports show the touched ones.
    #[must_use]
    pub fn with_parts(self, parts: Arc<ContractParts>) -> Self {
        Self { coverage: Some(Coverage::new(parts)), ..self }
    }

    /// The parts to look for in exchanges, if reports show them.
    #[must_use]
    pub fn parts(&self) -> Option<&Arc<ContractParts>> {
        self.coverage.as_ref().map(Coverage::parts)
    }

    /// An exchange touched these parts.
    pub fn touched(&mut self, touched: &Touched) {
        if let Some(coverage) = &mut self.coverage {
            coverage.take(touched);
        }
    }

    /// The same, where some findings do not make the command fail.
    #[must_use]
    pub fn with_exemptions(self, exemptions: Exemptions) -> Self {
        Self { exemptions, ..self }
    }

    /// What the baseline covered, if there is one.
    #[must_use]
    pub fn covered(&self) -> Option<Covered<'_>> {
        self.exemptions.covered(&self.tally)
    }

    /// What each suppression covered.
    #[must_use]
    pub fn suppressed(&self) -> Vec<Suppressed<'_>> {
        self.exemptions.suppressed(&self.tally)
    }

    /// What the baseline and the suppressions covered, a line each.
    #[must_use]
    pub fn exempt(&self) -> Vec<String> {
        self.exemptions.lines(&self.tally)
    }

    /// Whether these findings are new, or why they do not set the exit status; `None` where nothing is known of that.
    #[must_use]
    pub fn state(&self, group: &Group) -> Option<String> {
        let exemption = self.exemptions.of(group).map(Exemption::reason);
        exemption.or_else(|| self.exemptions.known(group).map(|_| "new: not in the baseline".to_owned()))
    }

    /// Why this finding of an exchange does not set the exit status, if it does not.
    #[must_use]
    pub fn exemption(&self, judged: &JudgedExchange, finding: &Finding) -> Option<String> {
        let group = self.tally.group_of(judged, finding)?;
        self.exemptions.of(group).map(Exemption::reason)
    }

    /// Names a recording that the report is about.
    pub fn source(&mut self, name: impl Into<String>) {
        self.sources.push(name.into());
    }

    /// Names recordings that the report is about.
    pub fn sources<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        self.sources.extend(names.map(str::to_owned));
    }

    /// Names the upstream that answered.
    pub fn upstream(&mut self, origin: impl Into<String>) {
        self.upstream = Some(origin.into());
    }

    /// The hash chain of a trail was checked.
    pub fn integrity(&mut self, integrity: Integrity) {
        self.run.integrity.push(integrity);
    }

    /// The results of the run besides findings.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Whether denied requests make the run fail.
    pub const fn denied_fails(&mut self, fails: bool) {
        self.run.denied_fails = fails;
    }

    /// Whether exchanges that a trail or journal could not record make the run fail.
    pub const fn unrecorded_fails(&mut self, fails: bool) {
        self.run.unrecorded_fails = fails;
    }

    /// Whether unused recorded exchanges make the run fail.
    pub const fn unused_fails(&mut self, fails: bool) {
        self.run.unused_fails = fails;
    }

    /// A request was denied to this host and port.
    pub fn denied(&mut self, host: &str, reason: &str) {
        self.run.deny(host, reason, 1);
    }

    /// The sessions that had requests, and how many.
    pub fn sessions(&mut self, sessions: Vec<(String, usize)>) {
        self.run.sessions = sessions;
    }

    /// No request used these exchanges of the recordings that were served.
    pub fn unused(&mut self, unused: Vec<Unused>) {
        self.run.unused = Some(unused);
    }

    /// The recordings that were served have these exchanges that do not fit the contract any more; whether that makes
    /// the run fail.
    pub fn stale(&mut self, stale: Vec<Stale>, fails: bool) {
        (self.run.stale, self.run.stale_fails) = (stale, fails);
    }

    /// The age of a recording makes the run fail.
    pub fn too_old(&mut self, why: String) {
        self.run.too_old = Some(why);
    }

    /// The proof of the fixture that was written had this result.
    pub fn proved(&mut self, proof: Proof) {
        self.run.proof = Some(proof);
    }

    /// So many known secrets were evicted.
    pub const fn evicted(&mut self, count: u64) {
        self.run.evicted = count;
    }

    /// Adds what the JSON report of another run states besides exchanges.
    pub fn reported(&mut self, reported: Reported) {
        reported.add_to(&mut self.run);
    }

    /// The run ends with this status.
    pub fn ended(&mut self, exit: Exit) {
        self.run.exit = Some(exit);
    }

    /// Takes out secrets that were recognised after they were taken in; what a JSON report lists is written without
    /// them.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.tally.redact(redactor);
        self.run.redact(redactor);
    }

    /// Takes one exchange.
    ///
    /// # Errors
    ///
    /// The temporary file of the JSON report could not be written.
    pub fn exchange(&mut self, place: ExchangeRef<'_>, judged: &Redacted<JudgedExchange>) -> io::Result<()> {
        if let Some(miss) = place.miss {
            self.run.miss(miss, judged.verdict.operation.as_deref());
        }
        self.tally.add(place, judged);
        self.listed.as_mut().map_or(Ok(()), |listed| listed.add(place, judged))
    }

    /// Whether a JSON report will be asked for, which lists every exchange.
    #[must_use]
    pub fn lists(&self) -> bool {
        self.listed.is_some()
    }

    /// Counts an exchange without a finding; not for a collector that lists exchanges.
    pub fn clean_verdict(&mut self, place: ExchangeRef<'_>, counted: &CleanVerdict) {
        debug_assert!(!self.lists());
        self.tally.count(place, counted);
    }

    /// The producer of this file leaves out credentials that the contract asks for.
    pub fn stripped(&mut self, source: impl Into<String>) {
        self.stripped.push(source.into());
    }

    /// Counts entries that are not HTTP (`data:`, `blob:`, `ws:`, extension schemes).
    pub fn skipped(&mut self, count: u64) {
        self.tally.skipped += count;
    }

    /// What was counted so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether anything that makes the command fail was found.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.failing_reasons().next().is_some()
    }

    /// The rules that make the command fail and were found, with their counts.
    pub fn failing(&self) -> impl Iterator<Item = (Rule, u64)> {
        self.exemptions.failing(&self.tally, &self.failing)
    }

    /// The reasons for the exit status that the report itself shows: failing rules, altered trails, exchanges that could
    /// not be recorded, and expired suppressions.
    pub fn failing_reasons(&self) -> impl Iterator<Item = Reason> {
        self.exemptions.failing_reasons(&self.tally, &self.failing, &self.run)
    }

    /// What a report is written from, secrets that were recognised meanwhile taken out; and the list of its exchanges.
    pub(super) fn facts(&mut self, redactor: &Redactor) -> (Facts<'_>, Option<&mut Spool>) {
        self.redact(redactor);
        let facts = Facts {
            title: &self.title,
            contract: self.contract.as_deref(),
            tally: &self.tally,
            coverage: self.coverage.as_ref(),
            stripped: &self.stripped,
            failing: &self.failing,
            exemptions: &self.exemptions,
            run: &self.run,
            sources: &self.sources,
            upstream: self.upstream.as_deref(),
            made: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        };
        (facts, self.listed.as_mut())
    }
}
