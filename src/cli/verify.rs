//! `contrail verify`: check recordings against the contract, offline.
//!
//! Entries stream: they are read and checked on all cores, redacted and counted in order, so memory does not grow with
//! the file. What is reported of an exchange goes through redaction first, whatever wrote the file. Where nothing is
//! (it conforms, and no report lists it), another tool's exchange is still searched for secrets, since one may come
//! again in an exchange that is reported; one of our own went through redaction when it was written.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    ContractArgs, Failure, Format, Outcome,
    options::{SecretArgs, policy::PolicyArgs},
    printer::warn,
    progress::Progress,
    remote::shown,
    report_files::{self, Used},
    trails::{self, Source},
};
use crate::{
    contract::{CheckOptions, Contract},
    coverage::{ContractParts, Touched},
    exchange::{Credential, Exchange, Request as ExchangeRequest, SignatureCheck, TokenFacts},
    finding::{Rule, Unchecked, Verdict},
    json,
    plural::plural,
    recording::{self, Entry, Note, ReadEnd, ReadError, Recording, reconcile},
    redact::{JudgedExchange, Redactor},
    report::{CleanVerdict, Collector, ExchangeRef, Exit, Integrity, Reason, ReportFormat, Request, Unauthenticated},
    token::{self, Jwks, TokenCache},
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

    let mut progress = Progress::new();
    let mut unreadable = 0;
    for inspected in trails::inspect(&args.recordings, &args.head)? {
        progress.files(inspected.sources.len());
        let chained = integrity(inspected.trails, &mut collector);
        for other in inspected.others.iter().filter(|_| chained) {
            warn(&format!("`{}` is not part of the chain: nothing proves that it is unaltered", shown(other)));
        }
        for source in &inspected.sources {
            let before = collector.tally().exchanges;
            match read(source, &judge, &redactor, &mut collector, &mut progress) {
                Ok(left_out) => {
                    unreadable += left_out;
                    warn_if_empty(source, collector.tally().exchanges - before + left_out);
                }
                // The result of the chain's check names the altered line.
                Err(error) if source.altered => warn(&format!("the rest of it is not checked: {error}")),
                Err(error) => return Err(error),
            }
        }
    }
    drop(progress);
    judge.warn_of_unchecked_signatures();
    let altered = collector.run().integrity.iter().any(|one| one.broken.is_some());
    let nothing = collector.tally().exchanges == 0 && !altered;
    let outcome = Outcome { findings: collector.fails(), failed: nothing || unreadable > 0, ..Outcome::CLEAN };
    let nothing = nothing.then(|| Reason::new("nothing-checked", "there was no exchange to check", ""));
    let undone = nothing.into_iter().chain(Reason::unreadable(unreadable));
    let reasons = undone.chain(collector.failing_reasons()).collect();
    collector.evicted(redactor.counters().forgotten);
    collector.ended(Exit { status: outcome.status(), reasons });
    report_files::write_all(&wanted, |kind, to, colour| collector.write(kind, &redactor, to, colour))?;
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

/// States the results of the checks of chains; whether there are any.
fn integrity(trails: Vec<Integrity>, collector: &mut Collector) -> bool {
    let mut chained = false;
    for integrity in trails.into_iter().filter(|one| one.entries.is_some() || !one.unread.is_empty()) {
        chained |= integrity.entries.is_some();
        warn(integrity.broken.as_ref().unwrap_or(&integrity.sentence()));
        collector.integrity(integrity);
    }
    chained
}

/// Warns of a recording without an entry, unless a chain proves that it is empty.
pub(super) fn warn_if_empty(source: &Source, entries: u64) {
    if entries == 0 && !source.chained {
        let name = if source.path.as_os_str() == "-" { "standard input".to_owned() } else { source.name() };
        warn(&format!("nothing was checked in `{name}`: it holds no exchange"));
    }
}

/// What became of one entry on the thread that checked it.
struct Verified {
    index: usize,
    line: Option<usize>,
    outside: bool,
    by_contrail: bool,
    carries_authorization: bool,
    /// The other outcome, as long as it is unknown whether the file's producer strips the header.
    unauthenticated: Option<Unauthenticated>,
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

fn read(
    source: &Source,
    judge: &Judge,
    redactor: &Redactor,
    collector: &mut Collector,
    progress: &mut Progress,
) -> Result<u64, Failure> {
    progress.file();
    let name = source.name();
    let recording = judge.open(source)?;
    let by_contrail = recording.head().by_contrail;
    let (listed, parts) = (collector.lists(), collector.parts().cloned());
    // Decided as soon as an entry carries the header, else at the end: see `Collector`. Threads that check may learn of
    // it late, and then give an outcome too many.
    let (mut decided, known) = (false, AtomicBool::new(false));
    let work = |entry: Entry| {
        let Entry { index, line, mut exchange, note } = entry;
        let outside = !judge.contract.covers(exchange.request.target.path());
        let verdict = judge.verdict(&mut exchange, note.as_ref());
        let open = note.is_none() && !by_contrail && !known.load(Ordering::Relaxed);
        let unauthenticated = open.then(|| judge.unauthenticated(&mut exchange));
        let touched = parts.as_ref().map(|parts| parts.touched_by(&exchange));
        let carries_authorization = exchange.request.headers.contains("authorization");
        let remark = match CleanVerdict::of(&verdict, exchange.timings.total()).filter(|_| !listed) {
            Some(counted) => Remark::Nothing { counted, searched: note.is_none().then(|| Box::new(exchange)) },
            None => Remark::Something(Box::new(JudgedExchange::new(exchange, verdict))),
        };
        let by_contrail = note.is_some();
        Verified { index, line, outside, by_contrail, carries_authorization, unauthenticated, touched, remark }
    };
    let ended = recording.each(work, |checked| -> Result<(), Failure> {
        progress.exchange();
        if !decided && checked.carries_authorization {
            collector.end_of_file(&name, false)?;
            decided = true;
            known.store(true, Ordering::Relaxed);
        }
        let open = !decided && !checked.by_contrail && !by_contrail;
        let unauthenticated = checked.unauthenticated.filter(|_| open);
        let Verified { index: entry, line, outside, .. } = checked;
        let place = ExchangeRef { source: &name, entry, line, outside, ..ExchangeRef::default() };
        let redacted = match checked.remark {
            Remark::Nothing { counted, searched } => {
                collector.clean_verdict(place, &counted, unauthenticated);
                searched.map(|exchange| redactor.redact(JudgedExchange::new(exchange, Verdict::default())))
            }
            Remark::Something(judged) => {
                let redacted = redactor.redact(*judged);
                collector.exchange(place, &redacted, unauthenticated)?;
                Some(redacted)
            }
        };
        // What contrail wrote went through redaction then.
        let touched = match (&parts, checked.touched, redacted.filter(|_| !checked.by_contrail)) {
            (Some(parts), Some(before), Some(redacted)) => Some(parts.touched_by_redacted(before, &redacted)),
            (_, touched, _) => touched,
        };
        if let Some(touched) = touched {
            collector.touched(&touched);
        }
        Ok(())
    })?;
    progress.clear();
    collector.source(&name);
    collector.end_of_file(&name, !decided && !ended.head.by_contrail)?;
    collector.skipped(ended.skipped as u64);
    let left_out = report_left_out(source, &ended);
    if let Some(lost) = ended.head.unrecorded.filter(|_| !source.chained) {
        let integrity = Integrity::unrecorded(name.clone(), lost);
        warn(&integrity.sentence());
        collector.integrity(integrity);
    }
    report_unproven(&name, ended.head.unproven);
    Ok(left_out)
}

/// Warns of what was left out of a recording: a torn last line, and entries that could not be read. The number of the
/// latter: a command that left out one fails. Those of an altered trail do not count: that it was altered says more.
#[must_use]
pub(super) fn report_left_out(source: &Source, ended: &ReadEnd) -> u64 {
    report_torn(&source.path, ended.head.torn);
    let unreadable = &ended.unreadable;
    unreadable.first.iter().for_each(|sentence| warn(&format!("left out {sentence}")));
    let rest = unreadable.count - unreadable.first.len();
    if rest > 0 {
        warn(&format!("left out {} more that could not be read", plural(rest as u64, "entry")));
    }
    if source.altered { 0 } else { unreadable.count as u64 }
}

/// Warns of a fixture that never proved itself.
pub(super) fn report_unproven(name: &str, unproven: bool) {
    if unproven {
        warn(&format!("`{name}` is unproven: it was never replayed, verified and scanned at the end of its recording"));
    }
}

/// Warns of a journal whose last line is torn.
pub(super) fn report_torn(journal: &Path, bytes: u64) {
    if bytes > 0 {
        warn(&torn(journal, bytes));
    }
}

/// Its description.
pub(super) fn torn(journal: &Path, bytes: u64) -> String {
    let (journal, bytes) = (shown(journal), plural(bytes, "byte"));
    format!(
        "left out a torn last line of `{journal}` ({bytes}): contrail was killed while it wrote the exchange, or is still writing it"
    )
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
        let recording = recording::open_up_to(&source.path, source.length)?;
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

    /// The verdict's other outcome, if it turns out that the file's producer strips the header.
    fn unauthenticated(&self, exchange: &mut Exchange) -> Unauthenticated {
        let held = std::mem::replace(&mut exchange.request.credential, Credential::Unknown);
        let verdict = self.contract.check(exchange, &self.options);
        exchange.request.credential = held;
        Unauthenticated { unchecked: verdict.unchecked, blame: verdict.blame }
    }
}
