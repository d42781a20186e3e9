//! Reads the recordings, judges them, and writes the tables.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufWriter, Write as _},
    sync::Arc,
};

use contrail_exchange::{plural::plural, token::Jwks};
use contrail_fleet::parquet::{Counts, GroupLimits, Place, Row, Rows, Spool, TABLES, Tables};
use contrail_recording::{Entry, ReadEnd, Recording};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::Title;
use serde::Serialize;

use super::{
    Args,
    folder::{Staged, file_name},
};
use crate::cli::{
    Failure, Format, Outcome,
    options::contract::title,
    printer::{Printer, line},
    report_files::Used,
    survey::{self, Sink},
    trails::{Inspected, Source},
    verify::Judge,
};

pub(super) fn write(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.recordings(&args.recordings);
    used.contract(&args.contract);
    used.files("key set", &args.jwks);
    used.files("head file", &args.head);
    used.spare("--parquet", &args.parquet)?;
    let keys = args.jwks.as_deref().map(Jwks::read).transpose()?;
    let judge = Judge::new(args.contract.load()?, args.clock_skew, keys);
    args.selection.check(&judge.contract)?;
    let redactor = args.secrets.redactor(&judge.contract)?;
    let named = survey::unaltered(&args.recordings, &args.head, "nothing is exported from")?;
    let staged = Staged::begin(&args.parquet, args.overwrite)?;
    let title = title(&judge.contract);
    let mut export = Export::new(args, &judge, &redactor, &title, &staged)?;
    let work = |Entry { index, line, mut exchange, note }: Entry| {
        let verdict = judge.verdict(&mut exchange, note.as_ref());
        (index, line, JudgedExchange::new(exchange, verdict))
    };
    let unreadable = survey::read(named, |source| judge.open(source), work, &mut export)?;
    judge.warn_of_unchecked_signatures();
    let (counts, left_out, skipped, files) = export.finish(args)?;
    if counts.exchanges == 0 {
        let why = if left_out == 0 { "the recordings hold no exchange" } else { "the options leave out all of them" };
        return Err(format!("there was no exchange to export, so no table is written: {why}").into());
    }
    let out = args.parquet.display();
    staged.commit().map_err(|error| {
        format!("cannot put the tables into `{out}`: {error}; name another folder, or one inside it")
    })?;
    let printed = Printed {
        contract: Contract { title: &title.title, version: &title.version, hash: &title.hash },
        contrail: env!("CARGO_PKG_VERSION"),
        filters: args.selection.filters(),
        summary: counts,
        left_out,
        skipped,
        unreadable: unreadable.count(),
        tables: files,
    };
    printed.print(args)?;
    Ok(Outcome { failed: unreadable.count() > 0, ..Outcome::CLEAN })
}

/// What the command prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    contract: Contract<'a>,
    contrail: &'static str,
    filters: Vec<String>,
    summary: Counts,
    left_out: u64,
    skipped: u64,
    unreadable: u64,
    tables: Vec<Written>,
}

#[derive(Serialize)]
struct Contract<'a> {
    title: &'a str,
    version: &'a str,
    hash: &'a str,
}

/// One table.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    file: String,
    rows: u64,
    row_groups: u64,
    bytes: u64,
}

impl Printed<'_> {
    fn print(&self, args: &Args) -> io::Result<()> {
        match args.format {
            Format::Text => {
                let rows = |at: usize| self.tables.get(at).map_or(0, |table| table.rows);
                let exchanges = plural(self.summary.exchanges, "exchange");
                let findings = format!("{} of findings", plural(rows(1), "row"));
                let tokens = plural(rows(2), "token");
                line(&format!("{exchanges}, {findings}, {tokens} in {}", args.parquet.display()));
                Ok(())
            }
            Format::Json => {
                let mut printer = Printer::stdout();
                serde_json::to_writer_pretty(&mut printer, self)?;
                printer.write_all(b"\n")?;
                printer.flush()
            }
        }
    }
}

/// An export that is under way.
struct Export<'a> {
    args: &'a Args,
    judge: &'a Judge,
    redactor: &'a Redactor,
    rows: Rows,
    tables: Tables<BufWriter<File>>,
    spool: Spool,
    left_out: u64,
    skipped: u64,
    /// The trails of the recordings that come.
    trails: VecDeque<Option<Arc<str>>>,
    /// The recording that is read.
    place: Place,
    /// Contrail did not write it, so that its rows wait: see [`Spool`].
    waits: bool,
}

impl<'a> Export<'a> {
    fn new(
        args: &'a Args,
        judge: &'a Judge,
        redactor: &'a Redactor,
        title: &Title,
        staged: &Staged,
    ) -> Result<Self, Failure> {
        let facts = [
            ("contract", format!("{} {}", title.title, title.version)),
            ("contract-hash", title.hash.clone()),
            ("filters", args.selection.filters().join(" ")),
        ];
        let [exchanges, findings, tokens] = TABLES.map(|(table, _)| staged.file(table));
        let limits = GroupLimits { rows: args.group_rows, bytes: args.group_bytes };
        let tables =
            Tables::new([exchanges?, findings?, tokens?], &facts, limits).map_err(|error| failed(args, &error))?;
        let rows = Rows::new(Arc::clone(&judge.contract));
        Ok(Self {
            args,
            judge,
            redactor,
            rows,
            tables,
            spool: Spool::default(),
            left_out: 0,
            skipped: 0,
            trails: VecDeque::new(),
            place: Place::default(),
            waits: false,
        })
    }

    fn put(&mut self, row: &Row) -> Result<(), Failure> {
        self.tables.add(row).map_err(|error| failed(self.args, &error))
    }

    /// Writes what waits, and ends the files.
    fn finish(mut self, args: &Args) -> Result<(Counts, u64, u64, Vec<Written>), Failure> {
        std::mem::take(&mut self.spool).take(self.redactor, |row| self.put(&row))?;
        let Self { tables, left_out, skipped, .. } = self;
        let counts = tables.counts().clone();
        let mut files = Vec::new();
        let finished = tables.finish().map_err(|error| failed(args, &error))?;
        for ((table, _), (rows, row_groups, file)) in TABLES.iter().zip(finished) {
            let bytes = synced(file).map_err(|error| failed(args, &error))?;
            files.push(Written { file: file_name(table), rows, row_groups, bytes });
        }
        Ok((counts, left_out, skipped, files))
    }
}

impl Sink<(usize, Option<usize>, JudgedExchange)> for Export<'_> {
    fn named(&mut self, argument: &mut Inspected) {
        // The segments of the trails come first, in the order of the trails.
        self.trails = argument
            .trails
            .iter()
            .flat_map(|trail| {
                let segments = trail.link.as_ref().map_or(0, |link| link.sources.1);
                std::iter::repeat_n(trail.id.as_deref().map(Arc::from), segments)
            })
            .collect();
    }

    fn begin(&mut self, source: &Source, recording: &Recording) {
        self.place =
            Place { trail: self.trails.pop_front().flatten(), source: source.name().into(), ..Place::default() };
        self.waits = !recording.head().by_contrail;
    }

    fn take(&mut self, (entry, line, judged): (usize, Option<usize>, JudgedExchange)) -> Result<(), Failure> {
        let judged = self.redactor.redact(judged);
        if !self.args.selection.selects(&judged, &self.judge.contract) {
            self.left_out += 1;
            return Ok(());
        }
        let row = self.rows.of(Place { entry, line, ..self.place.clone() }, &judged);
        if self.waits { self.spool.add(&row).map_err(|error| unspooled(&error).into()) } else { self.put(&row) }
    }

    fn end(&mut self, _: &Source, end: &ReadEnd) {
        self.skipped += end.skipped as u64;
        survey::report_unproven(&self.place.source, end.head.unproven);
    }
}

/// Brings a file to the disk; its bytes.
fn synced(file: BufWriter<File>) -> io::Result<u64> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn failed(args: &Args, error: &dyn std::fmt::Display) -> Failure {
    format!("cannot write the tables of `{}`: {error}; nothing is exported", args.parquet.display()).into()
}

fn unspooled(error: &io::Error) -> String {
    format!("cannot write a temporary file: {error}; set TMPDIR to a folder with room")
}
