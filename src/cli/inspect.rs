//! `contrail inspect`: the live page over recordings.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use contrail_inspect::{Facts, Inspector, Reading, Taken};
use contrail_recording::{Entry, ReadEnd, Recording};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::{Unread, verdict_name};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    ContractArgs, Failure, Format, Outcome,
    messages::{error_chain, quoted},
    options::{
        SecretArgs,
        inspect::{PageArgs, over_ssh},
    },
    printer::warn,
    signals::Signals,
    summary::event,
    survey::{self, Sink},
    trails::{self, Source},
    verify::Judge,
};
use crate::config::Sources;

/// Show recordings in the browser, each finding with its bytes and the contract's passage
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, fixtures, journals, trails, or folders of them; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Address of the page; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,
    /// Entry to open first; of several files, the file as the page names it and the entry
    #[arg(long, value_name = "[FILE:]N", value_parser = entry)]
    at: Option<(String, usize)>,
    /// Filter to begin with, such as `verdict:violates`
    #[arg(long = "where", value_name = "QUERY")]
    query: Option<String>,
    #[command(flatten)]
    contract: ContractArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _in_it = runtime.enter();
        Signals::new()?
    };
    let bound = args.page.bind("--listen", &args.listen)?;
    let ssh = over_ssh(bound.listener.address);
    let contract = args.contract.load()?;
    let redactor = Arc::new(args.secrets.redactor(&contract)?);
    let named = trails::inspect(&args.recordings, &[])?;
    let page = args.page.open(
        bound,
        Arc::clone(&contract),
        args.contract.is_built_in(),
        Arc::clone(&redactor),
        args.facts(),
    )?;
    let of = named.iter().flat_map(|one| &one.sources).map(size).sum();
    page.inspector.reading(Some(Reading { read: 0, of }));
    let line = format!("{}{}", page.line(), args.fragment(&page.address));
    for line in [line].into_iter().chain(ssh).chain(["press Ctrl-C to stop".to_owned()]) {
        event(Format::Text, "inspector", page.address.as_str(), &line);
    }
    let judge = Judge::new(contract, Duration::ZERO, None);
    let inspector = Arc::clone(&page.inspector);
    let failed = Arc::new(AtomicBool::new(false));
    let fails = Arc::clone(&failed);
    let reading = move || {
        let unread = match read(named, of, &judge, &inspector, &redactor) {
            Ok(unread) => unread.count(),
            Err(error) => {
                let what = error_chain(&*error);
                warn(&what);
                inspector.note(what);
                1
            }
        };
        if unread > 0 {
            inspector.note("some entries could not be read; contrail printed the reasons".to_owned());
            fails.store(true, Ordering::Relaxed);
        }
        inspector.reading(None);
    };
    thread::Builder::new().name("reader".to_owned()).spawn(reading)?;
    runtime.block_on(signals.end());
    Ok(Outcome { failed: failed.load(Ordering::Relaxed), ..Outcome::CLEAN })
}

/// `N`, or `FILE:N`.
fn entry(text: &str) -> Result<(String, usize), &'static str> {
    let (file, entry) = text.rsplit_once(':').unwrap_or(("", text));
    let entry = entry.parse().map_err(|_| "write the number of an entry, as in 41 or checkout.har:41")?;
    Ok((file.to_owned(), entry))
}

impl Args {
    /// The address of a proxy, which a variable or `contrail.toml` sets, is not the page's.
    pub(super) fn ignore_listen(&mut self, sources: &Sources) {
        if !sources.is_flag("listen") {
            "127.0.0.1:0".clone_into(&mut self.listen);
        }
    }

    fn facts(&self) -> Facts {
        let names: Vec<String> = self.recordings.iter().map(|path| path.display().to_string()).collect();
        let quoted: Vec<String> = self.recordings.iter().map(|path| quoted(path)).collect();
        let command = format!("contrail inspect {}{}", quoted.join(" "), self.contract.command_line());
        Facts { mode: "inspect", title: names.join(", "), command: Some(command), ..Facts::default() }
    }

    /// The page's place to begin with, behind the token.
    fn fragment(&self, address: &str) -> String {
        let at = self.at.as_ref();
        let pairs = [
            ("source", at.map(|(file, _)| file.clone()).filter(|file| !file.is_empty())),
            ("entry", at.map(|(_, entry)| entry.to_string())),
            ("q", self.query.clone()),
        ];
        let pairs = pairs
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", utf8_percent_encode(&value?, NON_ALPHANUMERIC))));
        match pairs.collect::<Vec<_>>().join("&") {
            place if place.is_empty() => String::new(),
            place if address.contains('#') => format!("/exchanges?{place}"),
            place => format!("#/exchanges?{place}"),
        }
    }
}

/// Reads, judges and redacts the recordings into the page.
fn read(
    named: Vec<trails::Inspected>,
    of: u64,
    judge: &Judge,
    inspector: &Inspector,
    redactor: &Redactor,
) -> Result<Unread, Failure> {
    let work = |Entry { index, line, mut exchange, note }: Entry| {
        let outside = !judge.contract.covers(exchange.request.target.path());
        let verdict = judge.verdict(&mut exchange, note.as_ref());
        (index, line, outside, JudgedExchange::new(exchange, verdict))
    };
    let mut sink = Showing { inspector, redactor, name: "".into(), read: 0, of };
    survey::read(named, |source| judge.open(source), work, &mut sink)
}

/// Bytes of a recording.
fn size(source: &Source) -> u64 {
    std::fs::metadata(&source.path).map_or(0, |file| file.len())
}

/// Hands exchanges to the page.
struct Showing<'a> {
    inspector: &'a Inspector,
    redactor: &'a Redactor,
    /// The recording that is read.
    name: Arc<str>,
    read: u64,
    of: u64,
}

impl Sink<(usize, Option<usize>, bool, JudgedExchange)> for Showing<'_> {
    fn named(&mut self, argument: &mut trails::Inspected) {
        for integrity in std::mem::take(&mut argument.trails) {
            self.inspector.conclude(|collector| collector.integrity(integrity));
        }
    }

    fn begin(&mut self, source: &Source, _: &Recording) {
        self.name = source.name().into();
    }

    fn take(&mut self, made: (usize, Option<usize>, bool, JudgedExchange)) -> Result<(), Failure> {
        let (entry, line, outside, judged) = made;
        let verdict = verdict_name(judged.verdict.conclusion(), false);
        let timings = judged.exchange.timings;
        let is_timed = timings.send.is_some() || timings.wait.is_some() || timings.receive.is_some();
        self.inspector.add(&Taken {
            took: is_timed.then(|| timings.total()),
            judged: self.redactor.redact(judged),
            source: Arc::clone(&self.name),
            entry,
            line,
            outside,
            verdict,
            miss: None,
            remarks: Vec::new(),
        });
        Ok(())
    }

    fn end(&mut self, source: &Source, end: &ReadEnd) {
        self.inspector.conclude(|collector| collector.skipped(end.skipped as u64));
        self.read += size(source);
        self.inspector.reading(Some(Reading { read: self.read, of: self.of }));
        survey::report_unproven(&self.name, end.head.unproven);
    }
}
