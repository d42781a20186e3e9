//! `contrail verify`: check recordings against the contract, offline.
//!
//! Entries stream: one at a time is read, checked, redacted and counted, so memory does not grow with the file. A file
//! that another tool wrote goes through redaction before anything of it is reported; one of our own does too, which
//! changes nothing in it.

use std::{
    io::{self, Write as _},
    path::Path,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use super::{
    ContractArgs, Failure, Format, Outcome,
    policy::PolicyArgs,
    printer::{Printer, private_file},
};
use crate::{
    contract::{CheckOptions, Contract},
    exchange::Exchange,
    finding::{Rule, Verdict},
    json,
    recording::{self, ChainHead, Checked, Entry, Note, settle},
    redact::{Judged, Plan, Redactor},
    report::{Collector, Kind, Place, Request, Title, Unauthenticated},
    token::{Credential, Jwks, TokenFacts},
};

/// Check recordings against the contract
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, journals, or folders of them; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    recordings: Vec<PathBuf>,
    /// How to print what was found
    #[arg(long, value_enum, default_value = "text", env = "CONTRAIL_FORMAT")]
    format: Format,
    /// Write a report as well: text, json, junit or html, to a file or (without one) in place of what is printed;
    /// repeatable
    #[arg(long, value_name = "FORMAT[=FILE]")]
    report: Vec<Request>,
    /// Tolerance for a token's `exp` and `nbf`, in seconds
    #[arg(long, value_name = "SECS", default_value_t = 0, env = "CONTRAIL_CLOCK_SKEW")]
    clock_skew: u64,
    /// Deepest nesting of JSON that is looked at, at most 2000; what nests deeper is unchecked
    #[arg(long, value_name = "N", default_value_t = json::MAX_DEPTH, env = "CONTRAIL_MAX_DEPTH")]
    max_depth: usize,
    /// JSON Web Key Set; with it, signatures of tokens are checked where a file still has the token
    #[arg(long, value_name = "FILE", env = "CONTRAIL_JWKS")]
    jwks: Option<PathBuf>,
    /// Heads of a trail's chain that were kept elsewhere (`--head-to` of record and watch): the chain has to go through them
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    json::limit_depth(args.max_depth);
    let judge = Judge {
        contract: args.contract.load()?,
        options: CheckOptions { clock_skew: Duration::from_secs(args.clock_skew), ..CheckOptions::default() },
        keys: args.jwks.as_deref().map(Jwks::read).transpose()?,
    };
    let wanted = wanted(args)?;
    let failing = Rule::ALL.iter().copied().filter(|rule| args.policy.fails_on_rule(*rule)).collect();
    let title = Title { title: judge.contract.title().to_owned(), version: judge.contract.version().to_owned() };
    let listed = wanted.iter().any(|request| request.kind == Kind::Json);
    let mut collector = Collector::new(title, failing, listed);
    let redactor = Redactor::new(Plan::default());

    let kept = match &args.head {
        Some(file) => recording::heads(file)
            .map_err(|error| format!("cannot read the kept heads `{}`: {error}", file.display()))?,
        None => Vec::new(),
    };
    let mut altered = false;
    for named in &args.recordings {
        let sources = recording::sources(named)?;
        let whole = chain(named, &sources, &kept)?;
        altered |= !whole;
        for source in sources {
            match read(&source, &judge, &redactor, &mut collector) {
                Ok(()) => {}
                Err(error) if whole => return Err(error),
                // What was altered may be no entry any more; where that is has been said.
                Err(error) => {
                    let _ = writeln!(io::stderr(), "contrail: the rest of it is not checked: {error}");
                }
            }
        }
    }
    for request in &wanted {
        write(request, &redactor, &mut collector)?;
    }
    Ok(Outcome { findings: altered || collector.fails(), ..Outcome::CLEAN })
}

/// Those of the sources that may be segments of a trail.
pub(super) fn journals(sources: &[PathBuf]) -> Vec<PathBuf> {
    sources.iter().filter(|path| path.extension().is_some_and(|name| name == "journal")).cloned().collect()
}

/// What the chain in these journals of what was named says; `None` if there is none.
pub(super) fn check_chain(named: &Path, journals: &[PathBuf], kept: &[ChainHead]) -> Result<Option<Checked>, Failure> {
    let checked = recording::check_chain(journals, kept, named.is_dir());
    Ok(checked.map_err(|error| format!("cannot read the trail `{}`: {error}", named.display()))?)
}

/// Checks the chain of a trail, if it is one, and says what came of it; false if the trail was altered.
fn chain(named: &Path, sources: &[PathBuf], kept: &[ChainHead]) -> Result<bool, Failure> {
    let Some(checked) = check_chain(named, &journals(sources), kept)? else { return Ok(true) };
    let named = named.display();
    let line = match &checked.broken {
        Some(broken) => broken.to_string(),
        None => format!(
            "the chain of the trail `{named}` is whole: {} entries, {} after its last link, head {}",
            checked.entries, checked.unsealed, checked.head.hash
        ),
    };
    let _ = writeln!(io::stderr(), "contrail: {line}");
    Ok(checked.broken.is_none())
}

/// The reports to write: what `--report` asks for, and `--format` on standard output unless a `--report` goes there.
fn wanted(args: &Args) -> Result<Vec<Request>, Failure> {
    let mut wanted = args.report.clone();
    let printed = wanted.iter().filter(|request| request.file.is_none()).count();
    if printed > 1 {
        return Err(
            "only one `--report` can go to standard output; give the others a file: `--report FORMAT=FILE`".into()
        );
    }
    if printed == 0 {
        let kind = match args.format {
            Format::Text => Kind::Text,
            Format::Json => Kind::Json,
        };
        wanted.insert(0, Request { kind, file: None });
    }
    Ok(wanted)
}

fn write(request: &Request, redactor: &Redactor, collector: &mut Collector) -> Result<(), Failure> {
    match &request.file {
        None => {
            let mut printer = Printer::stdout();
            let colour = printer.colour();
            collector.write(request.kind, redactor, &mut printer, colour)?;
            printer.flush()?;
        }
        Some(path) => {
            let failed = |error| format!("cannot write the report `{}`: {error}", path.display());
            let mut file = std::io::BufWriter::new(private_file(path).map_err(failed)?);
            collector.write(request.kind, redactor, &mut file, false).map_err(failed)?;
            file.flush().map_err(failed)?;
        }
    }
    Ok(())
}

fn read(path: &Path, judge: &Judge, redactor: &Redactor, collector: &mut Collector) -> Result<(), Failure> {
    let name = path.display().to_string();
    let mut recording = recording::open(path)?;
    // Settled as soon as an entry carries the header, else at the end: see `Collector`.
    let mut settled = false;
    while let Some(entry) = recording.next() {
        let Entry { index, mut exchange, note } = entry?;
        if !settled && recording.carries_authorization() {
            collector.end_of_file(&name, false)?;
            settled = true;
        }
        let open = !settled && note.is_none() && !recording.head().by_contrail;
        let place =
            Place { source: &name, entry: index, outside: !judge.contract.covers(exchange.request.target.path()) };
        let verdict = judge.settled(&mut exchange, note.as_ref());
        let unauthenticated = open.then(|| judge.unauthenticated(&mut exchange));
        let judged = redactor.redact(Judged::new(exchange, verdict));
        collector.exchange(place, &judged, unauthenticated)?;
    }
    collector.end_of_file(&name, !settled && !recording.head().by_contrail)?;
    collector.skipped(recording.skipped() as u64);
    if recording.head().unproven {
        let _ = writeln!(
            io::stderr(),
            "contrail: `{name}` is unproven: it was folded after a crash, so nobody has replayed it against itself"
        );
    }
    Ok(())
}

/// Judges entries of recordings.
pub(super) struct Judge {
    pub(super) contract: Arc<Contract>,
    pub(super) options: CheckOptions,
    pub(super) keys: Option<Jwks>,
}

impl Judge {
    /// The verdict on an entry: what the file gives on its own, with what was attested.
    pub(super) fn settled(&self, exchange: &mut Exchange, note: Option<&Note>) -> Verdict {
        self.credential(exchange, note.is_none());
        let verdict = self.contract.check(exchange, &self.options);
        settle(verdict, note.and_then(|note| note.attested.as_ref()), self.contract.hash())
    }

    /// Decodes the token again, with the tolerance and the keys of this run: from the header where the file has it,
    /// else from the instants among its facts. A fixture has neither, and keeps the outcome of then.
    fn credential(&self, exchange: &mut Exchange, foreign: bool) {
        let skew = self.options.clock_skew;
        let request = &mut exchange.request;
        if foreign {
            if !matches!(request.credential, Credential::Missing | Credential::Unknown) {
                request.credential = Credential::decode(&request.headers, exchange.started, skew, self.keys.as_ref());
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
