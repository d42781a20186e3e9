//! `contrail inspect`: the live page over recordings.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use contrail_inspect::{Facts, Inspector, Reading, Taken};
use contrail_recording::{self as recording, Entry, ReadEnd, ReadTo, Recording};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::{Exemptions, Reported, verdict_name};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    ContractArgs, Failure, Format, Outcome,
    messages::{error_chain, quoted},
    options::{
        SecretArgs, SelectionArgs,
        inspect::{PageArgs, over_ssh},
    },
    printer::warn,
    remote::shown,
    signals::Signals,
    summary::event,
    survey::{self, Sink},
    trails::{self, Source},
    verify::Judge,
};
use crate::config::Sources;

/// Show recordings in the browser, with the contract's passages
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, fixtures, journals, trails, or folders of them; `-` reads standard input; JSON reports of
    /// `replay`, for their misses
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Address of the page; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,
    /// Entry to open first; of several files, the file as the page names it and the entry
    #[arg(long, value_name = "[FILE:]N", value_parser = entry)]
    at: Option<(String, usize)>,
    /// Older recording to compare with, as `contrail diff` does: the list shows what was added, removed or changed
    #[arg(long, value_name = "OLD", conflicts_with = "follow")]
    pub(super) base: Option<PathBuf>,
    /// Filter to begin with, such as `verdict:violates`
    #[arg(long = "where", value_name = "QUERY")]
    query: Option<String>,
    /// Go on reading journals and trails that are still written
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    contract: ContractArgs,
    #[command(flatten)]
    pub(super) page: PageArgs,
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
    args.selection.check(&contract)?;
    let redactor = Arc::new(args.secrets.redactor(&contract)?);
    let (reports, recordings): (Vec<_>, Vec<_>) =
        args.recordings.iter().cloned().partition(|path| Reported::is_report(path));
    let reported = reports.iter().map(|path| read_report(path)).collect::<Result<Vec<_>, Failure>>()?;
    let named = trails::inspect(&recordings, &[])?;
    let base = args.base.as_ref().map(|base| trails::inspect(slice::from_ref(base), &[])).transpose()?;
    if args.follow && named.iter().all(|one| one.trails.is_empty()) {
        return Err("--follow: none of these is a journal or a trail, so nothing is appended to them".into());
    }
    let page = args.page.open(
        bound,
        Arc::clone(&contract),
        args.contract.is_built_in(),
        Arc::clone(&redactor),
        Exemptions::default(),
        args.facts(),
    )?;
    for (path, reported) in reports.iter().zip(reported) {
        reported.end().into_iter().for_each(|end| page.inspector.note(format!("{}: {end}", shown(path))));
        page.inspector.conclude(|collector| collector.reported(reported));
    }
    let of = named.iter().chain(base.iter().flatten()).flat_map(|one| &one.sources).map(Source::size).sum();
    page.inspector.reading(Some(Reading { read: 0, of }));
    let line = format!("{}{}", page.line(), args.fragment(&page.address, recordings.is_empty()));
    for line in [line].into_iter().chain(ssh).chain(["press Ctrl-C to stop".to_owned()]) {
        event(Format::Text, "inspector", page.address.as_str(), &line);
    }
    let failed = Arc::new(AtomicBool::new(false));
    let reader = Reader {
        judge: Judge::new(contract, Duration::ZERO, None),
        inspector: Arc::clone(&page.inspector),
        redactor,
        selection: args.selection.clone(),
        followed: if args.follow { recordings } else { Vec::new() },
        failed: Arc::clone(&failed),
    };
    thread::Builder::new().name("reader".to_owned()).spawn(move || reader.read(named, base, of))?;
    runtime.block_on(signals.end());
    Ok(Outcome { failed: failed.load(Ordering::Relaxed), ..Outcome::CLEAN })
}

/// Reads the JSON report of a replay.
fn read_report(path: &Path) -> Result<Reported, Failure> {
    Reported::read(path)
        .map_err(|error| format!("`{}` is no JSON report of `contrail replay`: {error}", path.display()).into())
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
        let files: Vec<String> = self.recordings.iter().map(|path| quoted(path)).collect();
        let arguments = format!("{}{}", files.join(" "), self.contract.command_line());
        let (mut command, learn) = (format!("contrail inspect {arguments}"), format!("contrail learn {arguments}"));
        let mut title = [names.join(", ")].into_iter().chain(self.selection.filters()).collect::<Vec<_>>().join(" ");
        let base = self.base.as_ref().map(|base| base.display().to_string());
        if let (Some(path), Some(base)) = (&self.base, &base) {
            command = format!("{command} --base {}", quoted(path));
            title = format!("{base} → {title}");
        }
        Facts { mode: "inspect", title, command: Some(command), learn: Some(learn), base, ..Facts::default() }
    }

    /// The page's place to begin with, behind the token. Reports have nothing but misses.
    fn fragment(&self, address: &str, only_reports: bool) -> String {
        let at = self.at.as_ref();
        let pairs = [
            ("source", at.map(|(file, _)| file.clone()).filter(|file| !file.is_empty())),
            ("entry", at.map(|(_, entry)| entry.to_string())),
            ("q", self.query.clone()),
        ];
        let pairs = pairs
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", utf8_percent_encode(&value?, NON_ALPHANUMERIC))));
        let place = match pairs.collect::<Vec<_>>().join("&") {
            place if !place.is_empty() => format!("/exchanges?{place}"),
            _ if only_reports => "/misses".to_owned(),
            _ => return String::new(),
        };
        if address.contains('#') { place } else { format!("#{place}") }
    }
}

/// Reads recordings into the page.
struct Reader {
    judge: Judge,
    inspector: Arc<Inspector>,
    redactor: Arc<Redactor>,
    selection: SelectionArgs,
    /// What is still written.
    followed: Vec<PathBuf>,
    failed: Arc<AtomicBool>,
}

/// What was made of an entry: its index, its line, whether it is outside the contract's base path.
type Made = (usize, Option<usize>, bool, JudgedExchange);

impl Reader {
    /// Reads all of them, then what is appended to those that are followed.
    fn read(&self, named: Vec<trails::Inspected>, base: Option<Vec<trails::Inspected>>, of: u64) {
        let mut sink = Showing {
            reader: self,
            name: "".into(),
            read: 0,
            of,
            here: <_>::default(),
            read_to: HashMap::new(),
            held: None,
        };
        let unread = match base {
            Some(base) => self.read_both(base, named, &mut sink),
            None => self.read_one(named, &mut sink),
        };
        let unread = unread.unwrap_or_else(|error| {
            let what = error_chain(&*error);
            warn(&what);
            self.inspector.note(what);
            1
        });
        if unread > 0 {
            self.failed_of("some entries could not be read; contrail printed the reasons");
        }
        self.inspector.reading(None);
        while !self.followed.is_empty() {
            thread::sleep(LOOK);
            self.read_appended(&mut sink);
        }
    }

    /// Reads one recording; how many entries could not be read.
    fn read_one(&self, named: Vec<trails::Inspected>, sink: &mut Showing<'_>) -> Result<u64, Failure> {
        let unread = survey::read(named, |source| self.judge.open(source), |entry| self.judged(entry), sink)?;
        Ok(unread.count())
    }

    /// Reads an old recording and a new one, so that each exchange comes with what became of it.
    fn read_both(
        &self,
        old: Vec<trails::Inspected>,
        new: Vec<trails::Inspected>,
        sink: &mut Showing<'_>,
    ) -> Result<u64, Failure> {
        let mut read = |named| -> Result<(u64, Vec<Taken>), Failure> {
            sink.held = Some(Vec::new());
            let unread = self.read_one(named, sink)?;
            Ok((unread, sink.held.take().unwrap_or_default()))
        };
        let ((unread, old), (more, new)) = (read(old)?, read(new)?);
        self.inspector.add_both(&old, &new);
        Ok(unread + more)
    }

    fn failed_of(&self, why: &str) {
        self.inspector.note(why.to_owned());
        self.failed.store(true, Ordering::Relaxed);
    }

    fn judged(&self, Entry { index, line, mut exchange, note }: Entry) -> Made {
        let outside = !self.judge.contract.covers(exchange.request.target.path());
        let verdict = self.judge.verdict(&mut exchange, note.as_ref());
        let mut judged = JudgedExchange::new(exchange, verdict);
        // What a label stands for was taken out when the recording was made.
        judged.touched.elsewhere = !recording::labels_of(&judged.exchange).is_empty();
        (index, line, outside, judged)
    }

    /// Reads what was appended to journals since they were read, and segments that are new. A journal that is gone was
    /// folded into its fixture; its exchanges were read.
    fn read_appended(&self, sink: &mut Showing<'_>) {
        let segments = self.followed.iter().filter_map(|path| recording::find(path).ok());
        for path in segments.flat_map(|found| found.trails).flat_map(|trail| trail.segments) {
            let Some(from) = sink.read_to.get(&resolved(&path)).copied().unwrap_or(Some(ReadTo::default())) else {
                continue;
            };
            let has_grown = std::fs::metadata(&path).is_ok_and(|file| file.len() > from.offset);
            let Some(appended) = has_grown.then(|| recording::open_again(&path, from).ok()).flatten() else { continue };
            sink.name = shown(&path).into();
            let ended = appended.each(|entry| self.judged(entry), |made| sink.take(made));
            let to = ended.map(|end| {
                end.unreadable.first.iter().for_each(|sentence| self.failed_of(sentence));
                end.head.read_to
            });
            let to = to.unwrap_or_else(|error: Failure| {
                self.failed_of(&error_chain(&*error));
                None
            });
            sink.read_to.insert(resolved(&path), to);
        }
    }
}

/// How often followed recordings are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Hands exchanges to the page.
struct Showing<'a> {
    reader: &'a Reader,
    /// The recording that is read.
    name: Arc<str>,
    /// Bytes of all recordings, and of those that were read to their end.
    of: u64,
    read: u64,
    /// Bytes of this one that were read, and exchanges of it.
    here: (Arc<AtomicU64>, usize),
    /// How far each journal was read, by its resolved path; `None` of what is not read any more.
    read_to: HashMap<PathBuf, Option<ReadTo>>,
    /// Where two recordings are compared, the exchanges of the one that is read.
    held: Option<Vec<Taken>>,
}

/// A path whose other spellings are the same.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Showing<'_> {
    /// Reports how much was read, so many bytes of this recording included.
    fn report(&self, here: u64) {
        self.reader.inspector.reading(Some(Reading { read: self.read + here, of: self.of }));
    }
}

impl Sink<Made> for Showing<'_> {
    fn named(&mut self, argument: &mut trails::Inspected) {
        for integrity in std::mem::take(&mut argument.trails) {
            self.reader.inspector.conclude(|collector| collector.integrity(integrity));
        }
    }

    fn begin(&mut self, source: &Source, recording: &Recording) {
        self.here = (recording.bytes_read(), 0);
        self.name = source.name().into();
        self.read_to.insert(resolved(&source.path), None);
    }

    fn take(&mut self, made: Made) -> Result<(), Failure> {
        self.here.1 += 1;
        if self.here.1.is_multiple_of(256) {
            self.report(self.here.0.load(Ordering::Relaxed));
        }
        let (entry, line, outside, judged) = made;
        let Reader { judge, inspector, redactor, selection, .. } = self.reader;
        let verdict = verdict_name(judged.verdict.conclusion(), false);
        let timings = judged.exchange.timings;
        let is_timed = timings.send.is_some() || timings.wait.is_some() || timings.receive.is_some();
        let judged = redactor.redact(judged);
        if !selection.selects(&judged, &judge.contract) {
            return Ok(());
        }
        let taken = Taken {
            took: is_timed.then(|| timings.total()),
            judged,
            source: Arc::clone(&self.name),
            entry,
            line,
            outside,
            verdict,
            miss: None,
            remarks: Vec::new(),
        };
        match &mut self.held {
            Some(held) => held.push(taken),
            None => inspector.add(&taken),
        }
        Ok(())
    }

    fn end(&mut self, source: &Source, end: &ReadEnd) {
        let inspector = &self.reader.inspector;
        inspector.conclude(|collector| collector.skipped(end.skipped as u64));
        self.read += source.size();
        self.report(0);
        self.read_to.insert(resolved(&source.path), end.head.read_to);
        survey::report_unproven(&self.name, end.head.unproven);
    }
}
