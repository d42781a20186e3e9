//! `contrail show`: exchanges as people read them, also in `git diff`.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs,
    io::{self, IsTerminal as _, Write},
    iter,
    ops::Range,
    path::{Path, PathBuf},
    slice,
    time::Duration,
};

use bytes::Bytes;
use contrail_exchange::{
    Body, Exchange, Headers, Presence,
    finding::{Finding, Kind, Rule},
    is_hop_by_hop,
    plural::plural,
    visible::{visible, visible_lines},
};
use contrail_recording::{self as recording, Entry, Recording, is_per_run};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::{About, Marks, laid_out, request_line, verdict_name};
use serde_json::Value;

use super::{
    ContractArgs, Failure, Outcome,
    messages::{error_chain, quoted},
    options::SecretArgs,
    printer::{Printer, warn},
    survey::{self, Sink},
    trails::{self, Source},
    verify::Judge,
};

/// Lines of a body that are shown, beside those that findings are about.
const MAX_LINES: usize = 20;
/// Characters of a line that are shown.
const MAX_COLUMNS: usize = 200;
/// Bytes of a JSON body that reads well in one line.
const SHORT: usize = 80;

/// Print exchanges of a recording, with findings at their lines
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR file of any tool, fixture, journal or trail; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(super) recording: PathBuf,
    /// Only these: the number of an entry, as reports count, or method and path, as in 'GET /orders'
    #[arg(value_name = "ENTRY")]
    entries: Vec<Wanted>,
    /// Print every header field, and bodies whole
    #[arg(long)]
    full: bool,
    /// Print every header field, bodies as they were recorded, and no findings
    #[arg(long, conflicts_with = "full")]
    raw: bool,
    /// Print the name of a body's file instead of the body, and then judge nothing; for `git diff`
    #[arg(long)]
    names: bool,
    #[command(flatten)]
    contract: ContractArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// An entry that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Number(usize),
    Request { method: String, path: String },
}

impl std::str::FromStr for Wanted {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.parse(), text.split_once(' ')) {
            (Ok(number), _) => Ok(Self::Number(number)),
            (_, Some((method, path))) if path.starts_with('/') => {
                Ok(Self::Request { method: method.to_ascii_uppercase(), path: path.to_owned() })
            }
            _ => Err("expected the number of an entry, or method and path in one word, such as 'GET /orders'"),
        }
    }
}

impl Wanted {
    fn is(&self, number: usize, exchange: &Exchange) -> bool {
        match self {
            Self::Number(wanted) => *wanted == number,
            Self::Request { method, path } => {
                let target = &exchange.request.target;
                exchange.request.method.as_str() == method
                    && (target.path() == path || *target.path_and_query == **path)
            }
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let apart = without_body_files(&args.recording, args.names);
    if args.names && !io::stdout().is_terminal() && print_as_it_stands(&args.recording, apart.as_ref())? {
        return Ok(Outcome::CLEAN);
    }
    // Who cannot read the bodies judges nothing.
    let none = ContractArgs { contract: vec!["none".into()], overlay: Vec::new() };
    let contract = if apart.is_some() { none.load_quietly()? } else { args.contract.load_quietly()? };
    let judge = Judge::new(contract, Duration::ZERO, None);
    let redactor = args.secrets.redactor(&judge.contract)?;
    let named = trails::inspect(slice::from_ref(&args.recording), &[])?;
    let several = named.iter().map(|one| one.sources.len()).sum::<usize>() > 1;
    let work = |Entry { index, mut exchange, note, .. }: Entry| {
        let is_wanted = args.entries.is_empty() || args.entries.iter().any(|wanted| wanted.is(index, &exchange));
        is_wanted.then(|| {
            let verdict = judge.verdict(&mut exchange, note.as_ref());
            (index, Box::new(JudgedExchange::new(exchange, verdict)))
        })
    };
    let pen = Pen { to: Printer::stdout(), numbered: io::stdout().is_terminal(), full: args.full, raw: args.raw };
    let mut showing = Showing { pen, redactor: &redactor, several, shown: 0 };
    let open = |source: &Source| match &apart {
        Some(har) => recording::open_text(&source.path, har),
        None => judge.open(source),
    };
    let unreadable = survey::read(named, open, work, &mut showing)?;
    let Showing { mut pen, shown, .. } = showing;
    pen.to.flush()?;
    if shown == 0 && !args.entries.is_empty() {
        let file = quoted(&args.recording);
        return Err(format!("{file} has no such entry; `contrail show {file}` prints them all").into());
    }
    Ok(Outcome { failed: unreadable.count() > 0, ..Outcome::CLEAN })
}

/// Prints a file whose entries cannot be read, a conflict of a merge for example: where what git runs fails, git shows
/// no file at all. Whether it did.
fn print_as_it_stands(path: &Path, apart: Option<&Bytes>) -> Result<bool, Failure> {
    if !path.is_file() {
        return Ok(false);
    }
    let opened = apart.map_or_else(|| recording::open(path), |har| recording::open_text(path, har));
    let read = opened.and_then(|mut recording| recording.try_for_each(|entry| entry.map(drop)));
    let Err(error) = read else { return Ok(false) };
    warn(&error_chain(&error));
    let mut printer = Printer::stdout();
    printer.write_all(&fs::read(path)?)?;
    printer.flush()?;
    Ok(true)
}

/// A HAR file with the names of body files in the place of bodies: of `all`, or of those that are missing. `git` hands
/// over an old file without what is beside it.
fn without_body_files(path: &Path, all: bool) -> Option<Bytes> {
    let text = path.is_file().then(|| fs::read(path).ok()).flatten()?.into();
    let mut files = recording::named_body_files(path, &text);
    files.retain(|(file, _)| all || !file.exists());
    if files.is_empty() {
        return None;
    }
    let mut har: Value = serde_json::from_slice(&text).ok()?;
    for entry in har.pointer_mut("/log/entries")?.as_array_mut()? {
        for place in ["/request/postData", "/response/content"] {
            let Some(body) = entry.pointer_mut(place).and_then(Value::as_object_mut) else { continue };
            let name = body.get("_file").and_then(Value::as_str).map(str::to_owned);
            if let Some(name) = name.filter(|name| files.iter().any(|(file, _)| file.ends_with(name))) {
                body.remove("_file");
                body.insert("text".to_owned(), format!("(in {name})").into());
            }
        }
    }
    serde_json::to_vec(&har).ok().map(Bytes::from)
}

struct Showing<'a> {
    pen: Pen,
    redactor: &'a Redactor,
    several: bool,
    shown: usize,
}

impl Sink<Option<(usize, Box<JudgedExchange>)>> for Showing<'_> {
    fn begin(&mut self, source: &Source, _: &Recording) {
        if self.several {
            // A failure of the output shows with the next exchange.
            let _ = writeln!(self.pen.to, "==== {} ====", visible(&source.name()));
        }
    }

    fn take(&mut self, made: Option<(usize, Box<JudgedExchange>)>) -> Result<(), Failure> {
        let Some((number, judged)) = made else { return Ok(()) };
        if self.shown > 0 {
            writeln!(self.pen.to)?;
        }
        self.shown += 1;
        let judged = self.redactor.redact(*judged);
        Ok(self.pen.exchange(number, &judged)?)
    }
}

/// A finding, and what of a message it is about.
type Found<'a> = (&'a Finding, &'a About<'a>);

/// How exchanges are printed.
struct Pen {
    to: Printer,
    /// The number of an entry is printed: in a diff, an inserted one would change all that follow.
    numbered: bool,
    full: bool,
    raw: bool,
}

impl Pen {
    fn exchange(&mut self, number: usize, judged: &JudgedExchange) -> io::Result<()> {
        let (exchange, verdict) = (&judged.exchange, &judged.verdict);
        let marks: Vec<Marks<'_>> = verdict.findings.iter().map(|finding| Marks::of(exchange, finding)).collect();
        if !self.raw {
            let number = if self.numbered { format!("{number} ") } else { String::new() };
            let name = verdict.operation.as_deref().map(|name| format!("{} ", visible(name))).unwrap_or_default();
            let word = verdict_name(verdict.conclusion(), false);
            self.painted("1", &format!("---- {number}{name}{word} ----"))?;
        }
        let findings = &verdict.findings;
        let of_request: Vec<Found<'_>> = findings.iter().zip(marks.iter().map(|marks| &marks.request)).collect();
        let of_response: Vec<Found<'_>> = findings.iter().zip(marks.iter().map(|marks| &marks.response)).collect();
        let request = &exchange.request;
        // HTTP/2 as browsers export it has no such field.
        let host = Some(&*request.target.authority).filter(|host| !host.is_empty() && !self.raw);
        let host = host.filter(|_| request.headers.get("host").is_none());
        self.message(&request_line(exchange), host, &request.headers, &request.body, &of_request)?;
        writeln!(self.to)?;
        let why = exchange.transport.unfinished().map(visible);
        match exchange.response.as_ref().filter(|response| response.status != 0) {
            None => match why {
                Some(why) => writeln!(self.to, "(no response: {why})")?,
                None => writeln!(self.to, "(no response)")?,
            },
            Some(response) => {
                let reason =
                    http::StatusCode::from_u16(response.status).ok().and_then(|status| status.canonical_reason());
                let line = format!("{} {}", response.status, reason.unwrap_or_default());
                self.message(line.trim_end(), None, &response.headers, &response.body, &of_response)?;
                let is_found = findings.iter().any(|finding| finding.rule == Rule::TransportIncomplete);
                if let Some(why) = why.filter(|_| !is_found && !self.raw) {
                    writeln!(self.to, "(the exchange is not whole: {why})")?;
                }
            }
        }
        let placed = |marks: &Marks<'_>| marks.request != About::Nothing || marks.response != About::Nothing;
        let elsewhere = findings.iter().zip(&marks).filter(|(_, marks)| !placed(marks)).map(|(finding, _)| finding);
        elsewhere.collect::<Vec<_>>().into_iter().try_for_each(|finding| self.finding("", finding))
    }

    /// A message: its first line, the header fields that count, and its body, each finding below its line.
    fn message(
        &mut self,
        line: &str,
        host: Option<&str>,
        headers: &Headers,
        body: &Body,
        found: &[Found<'_>],
    ) -> io::Result<()> {
        let of = |is: &dyn Fn(&About<'_>) -> bool| -> Vec<&Finding> {
            found.iter().filter(|(_, about)| is(about)).map(|(finding, _)| *finding).collect()
        };
        writeln!(self.to, "{}", visible(line))?;
        for finding in of(&|about| matches!(about, About::Line(_))) {
            self.finding("", finding)?;
        }
        if let Some(host) = host {
            self.line(&visible(&format!("host: {host}")))?;
        }
        for (name, value) in headers.iter() {
            let here = of(&|about| matches!(about, About::Field(field) if name.as_str().eq_ignore_ascii_case(field)));
            if here.is_empty() && !self.full && !self.raw && (is_hop_by_hop(name) || is_per_run(name)) {
                continue;
            }
            let text = format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()));
            self.line(&visible(&text))?;
            for finding in here {
                self.finding("", finding)?;
            }
        }
        for finding in of(&|about| matches!(about, About::Field(field) if headers.get(field).is_none())) {
            self.finding("", finding)?;
        }
        if let Presence::Withheld(reason) = &body.presence {
            writeln!(self.to, "\n(the body is not recorded: {})", reason.name())?;
        } else if !body.content.is_empty() {
            writeln!(self.to)?;
            let bodily = found.iter().filter_map(|(finding, about)| match about {
                About::Body(range) => Some((*finding, range.clone())),
                _ => None,
            });
            self.body(body, &bodily.collect::<Vec<_>>())?;
            if let Presence::Truncated { .. } = &body.presence {
                writeln!(self.to, "(only {} were kept)", plural(body.content.len(), "byte"))?;
            }
        } else {
            for finding in of(&|about| matches!(about, About::Body(_))) {
                self.finding("", finding)?;
            }
        }
        Ok(())
    }

    fn body(&mut self, body: &Body, found: &[(&Finding, Range<usize>)]) -> io::Result<()> {
        let Ok(content) = std::str::from_utf8(&body.content) else {
            if self.raw {
                self.to.write_all(&body.content)?;
                return writeln!(self.to);
            }
            writeln!(self.to, "({} that are no text)", plural(body.content.len(), "byte"))?;
            return found.iter().try_for_each(|(finding, _)| self.finding("", finding));
        };
        if self.raw {
            let content = if self.numbered { visible_lines(content).into() } else { Cow::Borrowed(content) };
            return writeln!(self.to, "{content}");
        }
        let lays_out = content.len() > SHORT && body.document().is_ok();
        let placed = |range: &Range<usize>| {
            if lays_out { laid_out(content, range) } else { (content.to_owned(), range.clone()) }
        };
        let text = placed(&(0..0)).0;
        let line_of = |(finding, range): &(&Finding, Range<usize>)| {
            let range = placed(range).1;
            (text.get(..range.start).map_or(0, |before| before.matches('\n').count()), (*finding).clone())
        };
        let found: Vec<(usize, Finding)> = found.iter().map(line_of).collect();
        let near: BTreeSet<usize> = found.iter().flat_map(|(line, _)| line.saturating_sub(2)..=line + 2).collect();
        let count = text.lines().count();
        let is_shown = |line: usize| self.full || line < MAX_LINES || near.contains(&line);
        let shown: Vec<bool> = (0..count).map(is_shown).collect();
        // To fold a few lines would save nothing.
        let runs = shown.chunk_by(|one, other| one == other);
        let shown: Vec<bool> = runs.flat_map(|run| iter::repeat_n(run[0] || run.len() <= 3, run.len())).collect();
        let mut folded = 0;
        for (index, line) in text.lines().enumerate() {
            if !shown[index] {
                folded += 1;
                continue;
            }
            self.fold(&mut folded)?;
            self.line(&visible(line))?;
            let indent = &line[..line.len() - line.trim_start().len()];
            for (_, finding) in found.iter().filter(|(at, _)| *at == index) {
                self.finding(indent, finding)?;
            }
        }
        self.fold(&mut folded)
    }

    /// A line for those that are not shown.
    fn fold(&mut self, folded: &mut usize) -> io::Result<()> {
        match std::mem::take(folded) {
            0 => Ok(()),
            lines => writeln!(self.to, "… {} (--full)", plural(lines, "line")),
        }
    }

    /// A line, its end cut off if it is long.
    fn line(&mut self, text: &str) -> io::Result<()> {
        let cut = text.char_indices().nth(MAX_COLUMNS).filter(|_| !self.full && !self.raw);
        match cut {
            None => writeln!(self.to, "{text}"),
            Some((at, _)) => writeln!(self.to, "{}… {} (--full)", &text[..at], plural(text.len() - at, "byte")),
        }
    }

    fn finding(&mut self, indent: &str, finding: &Finding) -> io::Result<()> {
        if self.raw {
            return Ok(());
        }
        let at = if finding.at.is_empty() { String::new() } else { format!(" at {}", visible(&finding.at)) };
        let code = if finding.kind() == Kind::Violation { "31" } else { "33" };
        self.painted(code, &format!("{indent}^ {}{at}: {}", finding.rule.id(), finding.short_message()))
    }

    fn painted(&mut self, code: &str, line: &str) -> io::Result<()> {
        if self.to.colour() { writeln!(self.to, "\x1b[{code}m{line}\x1b[0m") } else { writeln!(self.to, "{line}") }
    }
}
