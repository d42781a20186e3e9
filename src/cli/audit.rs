//! `contrail audit`: who called what with which scopes, over recordings; a trail's chain is checked first.

use std::{path::PathBuf, sync::Arc, time::Duration};

use contrail_contract::Contract;
use contrail_exchange::{finding::Rule, token::Jwks};
use contrail_recording::{Entry, ReadEnd, Recording};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::{
    ExchangeRef, Exit, Reason,
    audit::{About, Audit},
    coverage::{ContractParts, Coverage, Touched},
};

use super::{
    ContractArgs, Failure, Outcome,
    options::{self, OutputArgs, SecretArgs, SelectionArgs, policy::PolicyArgs},
    remote::shown,
    report_files::{self, Used},
    survey::{self, Sink},
    trails::{self, Inspected, Source},
    verify::Judge,
};

/// Report who called what with which scopes, and check a trail
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
    report_files::write_all(&wanted, |kind, to, screen| audit.write(kind, &about, to, screen))?;
    Ok(outcome)
}

impl Args {
    /// Reads the recordings.
    fn collect(&self, judge: &Judge, redactor: &Redactor, audit: &mut Audit) -> Result<(), Failure> {
        let parts = Arc::clone(audit.parts());
        let work = |Entry { index, line, mut exchange, note }: Entry| {
            let touched = parts.touched_by(&exchange);
            let outside = !judge.contract.covers(exchange.request.target.path());
            let verdict = judge.verdict(&mut exchange, note.as_ref());
            let (by_contrail, exchange) = (note.is_some(), JudgedExchange::new(exchange, verdict));
            Judged { index, line, outside, by_contrail, touched, exchange }
        };
        let named = trails::inspect(&self.recordings, &self.head)?;
        let mut auditing =
            Auditing { selection: &self.selection, contract: &judge.contract, redactor, audit, name: String::new() };
        let unreadable = survey::read(named, |source| judge.open(source), work, &mut auditing)?;
        audit.unreadable = unreadable;
        judge.warn_of_unchecked_signatures();
        audit.evicted(redactor.counters().forgotten);
        audit.redact(redactor);
        Ok(())
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

/// Takes judged entries into an audit.
struct Auditing<'a> {
    selection: &'a SelectionArgs,
    contract: &'a Contract,
    redactor: &'a Redactor,
    audit: &'a mut Audit,
    /// The recording that is read.
    name: String,
}

impl Sink<Judged> for Auditing<'_> {
    fn named(&mut self, argument: &mut Inspected) {
        // A folder without a trail counts as one recording.
        let is_one = argument.trails.is_empty() && !argument.repeated;
        let others = if is_one { std::slice::from_ref(&argument.name) } else { &argument.others };
        for other in others {
            self.audit.file(&shown(other));
        }
        self.audit.integrity(std::mem::take(&mut argument.trails));
    }

    fn begin(&mut self, source: &Source, _: &Recording) {
        self.name = source.name();
        self.audit.source(&self.name);
    }

    fn take(&mut self, judged: Judged) -> Result<(), Failure> {
        let Judged { index: entry, line, outside, by_contrail, touched, exchange } = judged;
        let judged = self.redactor.redact(exchange);
        let started = judged.exchange.started;
        if self.selection.is_within_hour_of(started) {
            self.audit.started(started);
        }
        if self.selection.selects(&judged, self.contract) {
            let place = ExchangeRef { source: &self.name, entry, line, outside, ..ExchangeRef::default() };
            // What contrail wrote went through redaction then.
            let touched = if by_contrail { touched } else { self.audit.parts().touched_by_redacted(touched, &judged) };
            self.audit.exchange(place, &judged, &touched, self.contract);
        } else {
            self.audit.left_out(&judged, self.contract);
        }
        Ok(())
    }

    fn end(&mut self, source: &Source, end: &ReadEnd) {
        if let Some(lost) = end.head.unrecorded.clone().filter(|_| !source.chained) {
            self.audit.unrecorded(lost);
        }
    }
}
