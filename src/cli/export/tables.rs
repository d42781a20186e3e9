//! Reads the recordings, judges them, and writes the tables.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Serialize;

use super::{
    Args,
    folder::{Staged, file_name},
};
use crate::{
    cli::{
        Failure, Format, Outcome,
        options::contract::title,
        printer::{Printer, line},
        progress::Progress,
        report_files::Used,
        trails::{self, Inspected, Source},
        verify::{self, Judge},
    },
    exchange::Credential,
    fleet::parquet::{Counts, GroupLimits, Place, Row, Rows, Spool, TABLES, Tables},
    plural::plural,
    recording::Entry,
    redact::{JudgedExchange, Redactor},
    report::Title,
    token::Jwks,
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
    let inspected = trails::inspect(&args.recordings, &args.head)?;
    if let Some(broken) = inspected.iter().flat_map(|one| &one.trails).find_map(|trail| trail.broken.as_ref()) {
        let hint = "`contrail audit` reports on it";
        return Err(format!("nothing is exported from a trail that was altered: {broken}; {hint}").into());
    }
    let staged = Staged::begin(&args.parquet, args.overwrite)?;
    let title = title(&judge.contract);
    let mut export = Export::new(args, &judge, &redactor, &title, &staged)?;
    let mut progress = Progress::new();
    for one in &inspected {
        progress.files(one.sources.len());
        export.read_all(one, &mut progress)?;
    }
    drop(progress);
    judge.warn_of_unchecked_signatures();
    let unreadable = export.unreadable;
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
        unreadable,
        tables: files,
    };
    printed.print(args)?;
    Ok(Outcome { failed: unreadable > 0, ..Outcome::CLEAN })
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
    unreadable: u64,
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
            unreadable: 0,
        })
    }

    /// Reads what one argument names.
    fn read_all(&mut self, named: &Inspected, progress: &mut Progress) -> Result<(), Failure> {
        // The segments of the trails come first, in the order of the trails.
        let trails = named.trails.iter().flat_map(|trail| {
            let segments = trail.link.as_ref().map_or(0, |link| link.sources.1);
            std::iter::repeat_n(trail.id.as_deref().map(Arc::<str>::from), segments)
        });
        for (source, trail) in named.sources.iter().zip(trails.chain(std::iter::repeat(None))) {
            let before = self.read_so_far();
            let left_out = self.read(source, trail.as_ref(), progress)?;
            verify::warn_if_empty(source, self.read_so_far() - before + left_out);
            self.unreadable += left_out;
        }
        Ok(())
    }

    /// Reads one recording. What contrail did not write waits in the spool: see [`Spool`].
    fn read(&mut self, source: &Source, trail: Option<&Arc<str>>, progress: &mut Progress) -> Result<u64, Failure> {
        progress.file();
        let recording = self.judge.open(source)?;
        let name: Arc<str> = source.name().into();
        let judge = self.judge;
        let by_contrail = recording.head().by_contrail;
        // A browser's export carries no `Authorization` anywhere, so its callers are unknown. Until an entry carries
        // one, both outcomes are kept.
        let mut carries_authorization = false;
        let is_open = AtomicBool::new(!by_contrail);
        let judged = |Entry { mut exchange, note, .. }: Entry| {
            let verdict = judge.verdict(&mut exchange, note.as_ref());
            JudgedExchange::new(exchange, verdict)
        };
        let work = |entry: Entry| {
            let place = (entry.index, entry.line);
            let carries = entry.exchange.request.headers.contains("authorization");
            // A thread may learn late that it is not needed.
            let stripped = is_open.load(Ordering::Relaxed).then(|| {
                let mut entry = entry.clone();
                entry.exchange.request.credential = Credential::Unknown;
                judged(entry)
            });
            (place, carries, judged(entry), stripped)
        };
        let end = recording.each(work, |((entry, line), carries, judged, stripped)| -> Result<(), Failure> {
            progress.exchange();
            if carries {
                carries_authorization = true;
                is_open.store(false, Ordering::Relaxed);
            }
            let place = Place { trail: trail.cloned(), source: Arc::clone(&name), entry, line };
            let row = self.row(place.clone(), judged);
            if by_contrail {
                return self.put(row);
            }
            let stripped = stripped.filter(|_| !carries_authorization).and_then(|judged| self.row(place, judged));
            self.spool.add(row.as_ref(), stripped.as_ref()).map_err(|error| unspooled(&error).into())
        })?;
        progress.clear();
        if !by_contrail {
            self.spool.end_of_file(!carries_authorization && !end.head.by_contrail);
        }
        self.skipped += end.skipped as u64;
        verify::report_unproven(&name, end.head.unproven);
        Ok(verify::report_left_out(source, &end))
    }

    /// The row of an exchange, if the options select it.
    fn row(&mut self, place: Place, judged: JudgedExchange) -> Option<Row> {
        let judged = self.redactor.redact(judged);
        let is_selected = self.args.selection.selects(&judged, &self.judge.contract);
        is_selected.then(|| self.rows.of(place, &judged))
    }

    fn read_so_far(&self) -> u64 {
        self.tables.counts().exchanges + self.left_out + self.spool.exchanges()
    }

    fn put(&mut self, row: Option<Row>) -> Result<(), Failure> {
        let Some(row) = row else {
            self.left_out += 1;
            return Ok(());
        };
        self.tables.add(&row).map_err(|error| failed(self.args, &error))
    }

    /// Writes what waits, and ends the files.
    fn finish(mut self, args: &Args) -> Result<(Counts, u64, u64, Vec<Written>), Failure> {
        std::mem::take(&mut self.spool).take(self.redactor, |row| self.put(row))?;
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
