//! `contrail audit`: who called what with which scopes, over recordings; a trail's chain is checked first.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::{
    ContractArgs, Failure, Outcome,
    options::{self, OutputArgs, SecretArgs, SelectionArgs, policy::PolicyArgs},
    printer::warn,
    progress::Progress,
    remote::shown,
    report_files::{self, Used},
    trails::{self, Source},
    verify::{self, Judge},
};
use crate::{
    coverage::{ContractParts, Coverage, Touched},
    exchange::Credential,
    finding::Rule,
    recording::Entry,
    redact::{JudgedExchange, Redactor},
    report::{
        ExchangeRef, Exit, Reason,
        audit::{About, Audit},
    },
    token::Jwks,
};

/// Report who called what with which scopes; check the hash chain of a trail first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Trails, journals, fixtures, HAR files of any tool, or folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// File with heads of the trail's hash chain, written by `--head-to`; the chain must contain those of its
    /// trail; repeatable
    #[arg(long, value_name = "FILE")]
    head: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Tolerance for the `exp` and `nbf` of tokens
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = super::options::values::seconds_or_none)]
    clock_skew: Duration,
    /// JSON Web Key Set to check the signatures of tokens that a file still contains
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.recordings(&args.recordings);
    used.contract(&args.contract);
    used.files("key set", &args.jwks);
    used.files("baseline", &args.policy.baseline);
    used.files("head file", &args.head);
    report_files::check(&args.output.report, &mut used)?;
    report_files::or_failure(&args.output.report, || audit(args))
}

/// Prints the audit of recordings.
fn audit(args: &Args) -> Result<Outcome, Failure> {
    let wanted = report_files::wanted(&args.output.report, args.output.format)?;
    let keys = args.jwks.as_deref().map(Jwks::read).transpose()?;
    let judge = Judge::new(args.contract.load()?, args.clock_skew, keys);
    args.selection.check(&judge.contract)?;
    let mut audit = Audit::new(args.selection.filters(), Coverage::new(ContractParts::of(&judge.contract)));
    args.collect(&judge, &args.secrets.redactor(&judge.contract)?, &mut audit)?;
    let failing: Vec<Rule> = Rule::ALL.iter().copied().filter(|rule| args.policy.fails_on_rule(*rule)).collect();
    let exemptions = args.policy.exemptions()?;
    let nothing = audit.exchanges() == 0 && !audit.altered();
    audit.unrecorded_fails(args.policy.fails_on_unrecorded(true));
    let found = audit.failing_reasons(&failing, &exemptions);
    let nothing = nothing.then(|| Reason::new("nothing-checked", "there was no exchange to audit", ""));
    let undone: Vec<Reason> = nothing.into_iter().chain(Reason::unreadable(audit.unreadable)).collect();
    let outcome = Outcome { findings: !found.is_empty(), failed: !undone.is_empty(), ..Outcome::CLEAN };
    audit.ended(Exit { status: outcome.status(), reasons: undone.into_iter().chain(found).collect() });
    let about =
        About { contract: &judge.contract, title: options::contract::title(&judge.contract), failing, exemptions };
    report_files::write_all(&wanted, |kind, to, _| audit.write(kind, &about, to))?;
    Ok(outcome)
}

impl Args {
    /// Reads the recordings.
    fn collect(&self, judge: &Judge, redactor: &Redactor, audit: &mut Audit) -> Result<(), Failure> {
        let reading = Reading { args: self, judge, redactor };
        let mut progress = Progress::new();
        for inspected in trails::inspect(&self.recordings, &self.head)? {
            progress.files(inspected.sources.len());
            // A folder without a trail counts as one recording.
            let is_one = inspected.trails.is_empty() && !inspected.repeated;
            let others = if is_one { std::slice::from_ref(&inspected.name) } else { &inspected.others };
            for other in others {
                audit.file(&shown(other));
            }
            audit.integrity(inspected.trails);
            for source in &inspected.sources {
                let before = audit.read();
                match reading.read(source, audit, &mut progress) {
                    Ok(left_out) => verify::warn_if_empty(source, audit.read() - before + left_out),
                    // The report names the altered line.
                    Err(error) if source.altered => warn(&format!("the rest of it is not checked: {error}")),
                    Err(error) => return Err(error),
                }
            }
        }
        drop(progress);
        judge.warn_of_unchecked_signatures();
        audit.evicted(redactor.counters().forgotten);
        audit.redact(redactor);
        Ok(())
    }
}

/// How recordings are read.
struct Reading<'a> {
    args: &'a Args,
    judge: &'a Judge,
    redactor: &'a Redactor,
}

impl Reading<'_> {
    /// Takes in one recording. A browser's export carries no `Authorization` anywhere, so its callers are unknown.
    /// That shows at the end only, and standard input can be read only once: until an entry carries one, both are kept.
    fn read(&self, source: &Source, audit: &mut Audit, progress: &mut Progress) -> Result<u64, Failure> {
        let recording = self.judge.open(source)?;
        let name = source.name();
        audit.source(&name);
        progress.file();
        let mut stripped = (!recording.head().by_contrail).then(|| audit.clone());
        let is_open = AtomicBool::new(stripped.is_some());
        let parts = audit.parts().clone();
        let work = |entry: Entry| {
            let touched = parts.touched_by(&entry.exchange);
            let carries_authorization = entry.exchange.request.headers.contains("authorization");
            // A thread may learn late that it is not needed.
            let other = is_open.load(Ordering::Relaxed).then(|| {
                let mut entry = entry.clone();
                entry.exchange.request.credential = Credential::Unknown;
                self.judged(entry, touched.clone())
            });
            (carries_authorization, self.judged(entry, touched), other)
        };
        let end = recording.each(work, |(carries_authorization, judged, other)| -> Result<(), Failure> {
            progress.exchange();
            if carries_authorization {
                stripped = None;
                is_open.store(false, Ordering::Relaxed);
            }
            if let (Some(stripped), Some(other)) = (&mut stripped, other) {
                self.take(&name, other, stripped);
            }
            self.take(&name, judged, audit);
            Ok(())
        })?;
        progress.clear();
        let left_out = verify::report_left_out(source, &end);
        if let Some(lost) = end.head.unrecorded.filter(|_| !source.chained) {
            audit.unrecorded(lost);
        }
        if let Some(stripped) = stripped.filter(|_| !end.head.by_contrail) {
            *audit = stripped;
        }
        audit.unreadable += left_out;
        Ok(left_out)
    }

    fn judged(&self, entry: Entry, touched: Touched) -> Judged {
        let Entry { index, line, mut exchange, note } = entry;
        let outside = !self.judge.contract.covers(exchange.request.target.path());
        let verdict = self.judge.verdict(&mut exchange, note.as_ref());
        let (by_contrail, exchange) = (note.is_some(), JudgedExchange::new(exchange, verdict));
        Judged { index, line, outside, by_contrail, touched, exchange }
    }

    fn take(&self, source: &str, judged: Judged, audit: &mut Audit) {
        let Judged { index, line, outside, by_contrail, touched, exchange } = judged;
        let judged = self.redactor.redact(exchange);
        let started = judged.exchange.started;
        if self.args.selection.is_within_hour_of(started) {
            audit.started(started);
        }
        if self.args.selection.selects(&judged, &self.judge.contract) {
            let place = ExchangeRef { source, entry: index, line, outside, ..ExchangeRef::default() };
            // What contrail wrote went through redaction then.
            let touched = if by_contrail { touched } else { audit.parts().touched_by_redacted(touched, &judged) };
            audit.exchange(place, &judged, &touched, &self.judge.contract);
        } else {
            audit.left_out(&judged, &self.judge.contract);
        }
    }
}

/// An entry and its verdict, not yet redacted.
struct Judged {
    index: usize,
    line: Option<usize>,
    outside: bool,
    by_contrail: bool,
    touched: Touched,
    exchange: JudgedExchange,
}
