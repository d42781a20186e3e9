//! `contrail verify`: check recordings against the contract, offline.
//!
//! Entries stream: they are read and checked on all cores, redacted and counted in order, so memory does not grow with
//! the file. What is reported of an exchange goes through redaction first, whatever wrote the file. Where nothing is
//! (it conforms, and no report lists it), another tool's exchange is still searched for secrets, since one may come
//! again in an exchange that is reported; one of our own went through redaction when it was written.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    Credential, Exchange, Request as ExchangeRequest, SignatureCheck, TokenFacts,
    finding::{NO_AUTHORIZATION, Rule, Unchecked, Verdict},
    json,
    plural::plural,
    token::{self, Jwks, TokenCache},
};
use contrail_recording::{self as recording, Entry, Note, ReadEnd, ReadError, Recording, reconcile};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::{
    CleanVerdict, Collector, ExchangeRef, Exit, Integrity, Reason, ReportFormat, Request, Screen,
    coverage::{ContractParts, Touched},
};

use super::{
    ContractArgs, Failure, Format, Outcome,
    options::{SecretArgs, policy::PolicyArgs},
    printer::warn,
    remote::shown,
    report_files::{self, Used},
    survey::{self, Sink},
    trails::{self, Inspected, Source},
};

/// Check recordings against the contract
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, journals, or folders of them; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Write a report as text, json, html, markdown, junit, sarif, github or csv to FILE, or to standard output
    /// instead of the usual output; repeatable
    #[arg(long, value_name = "FORMAT[=FILE]")]
    report: Vec<Request>,
    /// Tolerance for the `exp` and `nbf` of tokens
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = super::options::values::seconds_or_none)]
    clock_skew: Duration,
    /// Maximum nesting of JSON that is judged, at most 2000; deeper bodies are unchecked
    #[arg(long, value_name = "N", default_value_t = json::MAX_DEPTH, value_parser = super::options::values::depth)]
    max_depth: usize,
    /// JSON Web Key Set to check the signatures of tokens that a file still contains
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    /// File with heads of the trail's hash chain, written by `--head-to`; the chain must contain those of its
    /// trail; repeatable
    #[arg(long, value_name = "FILE")]
    head: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    report_files::check(&args.report, &mut args.uses())?;
    report_files::or_failure(&args.report, || verify(args))
}

fn verify(args: &Args) -> Result<Outcome, Failure> {
    let keys = args.jwks.as_deref().map(Jwks::read).transpose()?;
    let mut judge = Judge::new(args.contract.load()?, args.clock_skew, keys);
    judge.options.max_depth = args.max_depth;
    let wanted = report_files::wanted(&args.report, args.format)?;
    let failing = Rule::ALL.iter().copied().filter(|rule| args.policy.fails_on_rule(*rule)).collect();
    let listed = wanted.iter().any(|request| request.kind == ReportFormat::Json);
    let mut collector = Collector::new(super::options::contract::title(&judge.contract), failing, listed)
        .with_contract(Arc::clone(&judge.contract))
        .with_parts(ContractParts::of(&judge.contract))
        .with_exemptions(args.policy.exemptions()?);
    collector.unrecorded_fails(args.policy.fails_on_unrecorded(false));
    let redactor = args.secrets.redactor(&judge.contract)?;

    let (listed, parts) = (collector.lists(), collector.parts().cloned());
    let work = |Entry { index, line, mut exchange, note }: Entry| {
        let outside = !judge.contract.covers(exchange.request.target.path());
        let verdict = judge.verdict(&mut exchange, note.as_ref());
        let unauthenticated = verdict.reasons.iter().any(|reason| reason.reason == NO_AUTHORIZATION);
        let touched = parts.as_ref().map(|parts| parts.touched_by(&exchange));
        let by_contrail = note.is_some();
        let remark = match CleanVerdict::of(&verdict, &exchange).filter(|_| !listed) {
            Some(counted) => Remark::Nothing { counted, searched: (!by_contrail).then(|| Box::new(exchange)) },
            None => Remark::Something(Box::new(JudgedExchange::new(exchange, verdict))),
        };
        Verified { index, line, outside, by_contrail, unauthenticated, touched, remark }
    };
    let named = trails::inspect(&args.recordings, &args.head)?;
    let mut verification = Verification::new(&mut collector, &redactor);
    let unreadable = survey::read(named, |source| judge.open(source), work, &mut verification)?;
    judge.warn_of_unchecked_signatures();
    let altered = collector.run().integrity.iter().any(|one| one.broken.is_some());
    let nothing = collector.tally().exchanges == 0 && !altered;
    let outcome = Outcome { findings: collector.fails(), failed: nothing || unreadable.count() > 0, ..Outcome::CLEAN };
    let nothing = nothing.then(|| Reason::new("nothing-checked", "there was no exchange to check", ""));
    let undone = nothing.into_iter().chain(Reason::unreadable(unreadable));
    let reasons = undone.chain(collector.failing_reasons()).collect();
    collector.evicted(redactor.counters().forgotten);
    collector.ended(Exit { status: outcome.status(), reasons });
    report_files::write_all(&wanted, |kind, to, screen| collector.write(kind, &redactor, to, screen))?;
    Ok(outcome)
}

impl Args {
    /// The files that are read.
    fn uses(&self) -> Used {
        let mut used = Used::default();
        used.recordings(&self.recordings);
        used.contract(&self.contract);
        used.files("key set", &self.jwks);
        used.files("baseline", &self.policy.baseline);
        used.files("head file", &self.head);
        used
    }
}

/// What became of one entry on the thread that checked it.
struct Verified {
    index: usize,
    line: Option<usize>,
    outside: bool,
    by_contrail: bool,
    unauthenticated: bool,
    touched: Option<Touched>,
    remark: Remark,
}

/// What there is to report of an exchange.
enum Remark {
    /// That it was there. `searched` is the exchange, if it may hold secrets.
    Nothing { counted: CleanVerdict, searched: Option<Box<Exchange>> },
    /// Something of it.
    Something(Box<JudgedExchange>),
}

/// Collects what was verified.
struct Verification<'a> {
    collector: &'a mut Collector,
    redactor: &'a Redactor,
    parts: Option<Arc<ContractParts>>,
    /// The recording that is read.
    name: String,
    /// Its producer leaves out `Authorization`.
    strips: bool,
    /// The contract asks for it in an exchange of the recording.
    unauthenticated: bool,
}

impl<'a> Verification<'a> {
    fn new(collector: &'a mut Collector, redactor: &'a Redactor) -> Self {
        let parts = collector.parts().cloned();
        Self { collector, redactor, parts, name: String::new(), strips: false, unauthenticated: false }
    }
}

impl Sink<Verified> for Verification<'_> {
    fn named(&mut self, argument: &mut Inspected) {
        let mut chained = false;
        let trails = std::mem::take(&mut argument.trails).into_iter();
        for integrity in trails.filter(|one| one.entries.is_some() || !one.unread.is_empty()) {
            chained |= integrity.entries.is_some();
            let screen = Screen { terminal: io::stderr().is_terminal(), ..Screen::default() };
            warn(integrity.broken.as_ref().unwrap_or(&integrity.sentence_on(screen)));
            self.collector.integrity(integrity);
        }
        for other in argument.others.iter().filter(|_| chained) {
            warn(&format!("`{}` is not part of the chain: nothing proves that it is unaltered", shown(other)));
        }
    }

    fn begin(&mut self, source: &Source, recording: &Recording) {
        (self.name, self.strips, self.unauthenticated) = (source.name(), recording.strips_authorization(), false);
    }

    fn take(&mut self, checked: Verified) -> Result<(), Failure> {
        let Verified { index: entry, line, outside, by_contrail, .. } = checked;
        self.unauthenticated |= checked.unauthenticated;
        let place = ExchangeRef { source: &self.name, entry, line, outside, ..ExchangeRef::default() };
        let redacted = match checked.remark {
            Remark::Nothing { counted, searched } => {
                self.collector.clean_verdict(place, &counted);
                searched.map(|exchange| self.redactor.redact(JudgedExchange::new(exchange, Verdict::default())))
            }
            Remark::Something(judged) => {
                let redacted = self.redactor.redact(*judged);
                self.collector.exchange(place, &redacted)?;
                Some(redacted)
            }
        };
        // What contrail wrote went through redaction then.
        let touched = match (&self.parts, checked.touched, redacted.filter(|_| !by_contrail)) {
            (Some(parts), Some(before), Some(redacted)) => Some(parts.touched_by_redacted(before, &redacted)),
            (_, touched, _) => touched,
        };
        if let Some(touched) = touched {
            self.collector.touched(&touched);
        }
        Ok(())
    }

    fn end(&mut self, source: &Source, end: &ReadEnd) {
        self.collector.source(&*self.name);
        if self.strips && self.unauthenticated {
            self.collector.stripped(&*self.name);
        }
        self.collector.skipped(end.skipped as u64);
        if let Some(lost) = end.head.unrecorded.clone().filter(|_| !source.chained) {
            let integrity = Integrity::unrecorded(self.name.clone(), lost);
            warn(&integrity.sentence());
            self.collector.integrity(integrity);
        }
        survey::report_unproven(&self.name, end.head.unproven);
    }
}

/// Whether a request has a token whose signature can no longer be checked.
fn is_unsigned(request: &ExchangeRequest) -> bool {
    match &request.credential {
        Credential::Token(facts) => facts.signature == SignatureCheck::NotChecked && facts.unknown_key.is_none(),
        Credential::Unknown => request.headers.contains("authorization"),
        _ => false,
    }
}

/// Judges entries of recordings.
pub(super) struct Judge {
    pub(super) contract: Arc<Contract>,
    options: CheckOptions,
    keys: Option<Arc<Jwks>>,
    tokens: Arc<TokenCache>,
    /// Exchanges with a token whose signature cannot be checked, though there are keys.
    unsigned: AtomicU64,
}

impl Judge {
    pub(super) fn new(contract: Arc<Contract>, clock_skew: Duration, keys: Option<Jwks>) -> Self {
        let keys = keys.map(Arc::new);
        let tokens = Arc::new(TokenCache::new(clock_skew, keys.clone()));
        let options = CheckOptions { clock_skew, signatures: keys.is_some(), ..CheckOptions::default() };
        Self { contract, options, keys, tokens, unsigned: AtomicU64::new(0) }
    }

    /// Warns of the signatures that `--jwks` could not check. Call it once, after the last entry.
    pub(super) fn warn_of_unchecked_signatures(&self) {
        let count = self.unsigned.load(Ordering::Relaxed);
        if count > 0 {
            let exchanges = plural(count, "exchange");
            warn(&format!(
                "signatures: not checked in {exchanges}, where labels replace the tokens; record with --jwks to check them, and verify \
                 without it"
            ));
        }
    }

    /// Opens a recording whose tokens are read with this run's tolerance and keys.
    pub(super) fn open(&self, source: &Source) -> Result<Recording, ReadError> {
        let recording = recording::open_to_judge(&source.path, source.length)?;
        Ok(recording.with_tokens(Arc::clone(&self.tokens)))
    }

    /// The verdict on an entry: what the file gives on its own, with what was attested.
    pub(super) fn verdict(&self, exchange: &mut Exchange, note: Option<&Note>) -> Verdict {
        self.credential(exchange, note.is_none());
        let forgotten = note.is_some() && self.forget_signature(&mut exchange.request);
        if self.keys.is_some() && is_unsigned(&exchange.request) {
            self.unsigned.fetch_add(1, Ordering::Relaxed);
        }
        let verdict = self.contract.check(exchange, &self.options);
        let unchecked = forgotten && verdict.unchecked.contains(Unchecked::Signature);
        let mut verdict = reconcile(verdict, note.and_then(|note| note.attested.as_ref()), self.contract.hash());
        if unchecked && !verdict.unchecked.contains(Unchecked::Signature) {
            verdict.leave(Unchecked::Signature, "the recording does not hold the token");
        }
        verdict
    }

    /// Leaves out that a signature was good by the file, where this run has keys: it was by the keys of the recording,
    /// and they may be others. One that failed has failed. Whether something was left out.
    fn forget_signature(&self, request: &mut ExchangeRequest) -> bool {
        let Credential::Token(facts) = &request.credential else { return false };
        if self.keys.is_none() || facts.signature != SignatureCheck::Good {
            return false;
        }
        let facts = TokenFacts { signature: SignatureCheck::NotChecked, ..(**facts).clone() };
        request.credential = Credential::Token(Arc::new(facts));
        true
    }

    /// Judges the token with the tolerance and the keys of this run. Where the file has it, it was read with them
    /// ([`Judge::open`]), unless the exchange has no instant; else what counts are the instants among its facts. A
    /// fixture has neither, and keeps the outcome of then.
    fn credential(&self, exchange: &mut Exchange, foreign: bool) {
        let skew = self.options.clock_skew;
        let request = &mut exchange.request;
        if foreign {
            if exchange.started.is_none() && !matches!(request.credential, Credential::Missing | Credential::Unknown) {
                request.credential = token::decode(&request.headers, None, skew, self.keys.as_deref());
            }
            return;
        }
        let (Credential::Token(facts), Some(started)) = (&request.credential, exchange.started) else { return };
        if facts.expires_at.is_none() && facts.not_before.is_none() {
            return;
        }
        let time = facts.time_at(started, skew);
        if time != facts.time {
            request.credential = Credential::Token(Arc::new(TokenFacts { time, ..(**facts).clone() }));
        }
    }
}
