//! Sessions in a recording: one journal takes them all, and at its end each becomes a fixture of its own.
//!
//! Before anything is folded, each session gets a journal beside its fixture and the common one goes. From there on a
//! killed contrail leaves what a killed recording of that fixture leaves.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use contrail_exchange::plural::plural;
use contrail_pipeline::{Pipeline, SharedJournal};
use contrail_proxy::{
    sessions::{self, UNNAMED, is_name},
    side::Serving,
    upstream::Problem,
};
use contrail_recording::{self as recording, EntryBatch, FixturePath, Journal, JournalContext, Renew, SetAside};
use contrail_report::Proof;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{
    args::{Args, renewal, replaces},
    builder::{FixtureBuilder, Opened, remove},
    end::{Before, End, Ending},
};
use crate::cli::{
    Failure, Format,
    control::{self, Control, Controlled, Ended, Listed},
    options::{
        limits::ProxyArgs,
        sessions::{fixture_of, recorded},
    },
    summary::{self, event},
};

/// The sessions of a recording.
#[derive(Default)]
pub(super) struct Sessions {
    folder: PathBuf,
    held: Mutex<BTreeMap<Arc<str>, Count>>,
    control: Mutex<Option<Control>>,
    /// What the exchanges go through on their way to the journal.
    pipeline: OnceLock<Weak<Pipeline>>,
}

/// What became of a session.
#[derive(Debug, Default)]
struct Count {
    is_open: bool,
    requests: usize,
    /// Where in the journal it was started last: what stands before was recorded for an earlier start.
    from: u64,
    /// Its test failed, so it stays as it was unless it is started again.
    failed: bool,
}

/// The part of a journal's line that names its session.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_contrail")]
    own: Own,
}

#[derive(Deserialize)]
struct Own {
    session: Option<String>,
}

/// The fixture of a session: the one that is there, else a folder.
fn place(folder: &Path, name: &str) -> PathBuf {
    fixture_of(folder, name).unwrap_or_else(|| folder.join(name))
}

impl Sessions {
    /// Of this folder. Where it holds fixtures, the options have to say what becomes of them.
    pub(super) fn new(args: &Args, folder: &Path) -> Result<Self, Failure> {
        if args.out.is_some() {
            return Err("--sessions DIR and --out PATH both name where to record; leave one of them out".into());
        }
        if args.trail.folder().is_some() {
            return Err(
                "--trail keeps one fixture's exchanges, and --sessions records many; leave one of them out".into()
            );
        }
        FixturePath::writable(&folder.join(UNNAMED))?;
        recording::make_folder(folder)?;
        let is_named = args.append || replaces(args);
        if !is_named && let Some(first) = recorded(folder).first() {
            return Err(format!(
                "{} holds recorded sessions ({first}, for one); --append adds to them, --overwrite replaces those that are \
                 recorded again, --replace OPERATION records one operation again",
                folder.display()
            )
            .into());
        }
        let control = Mutex::new(Control::bind(&args.sessions)?);
        Ok(Self { folder: folder.to_owned(), control, ..Self::default() })
    }

    /// The journal of all of them. What a killed run left is folded first, or set aside by `--overwrite`.
    pub(super) fn open(
        &self,
        args: &Args,
        builder: &FixtureBuilder,
        context: &JournalContext,
    ) -> Result<SharedJournal, Failure> {
        let path = Journal::path_for(&self.folder);
        let (mut journal, leftover) = Journal::open(&path, context.clone())?;
        builder.report_torn(&path, leftover.torn);
        if leftover.entries > 0 && args.overwrite {
            let kept = SetAside::Before.put(&path)?;
            let exchanges = plural(leftover.entries, "exchange");
            let line = format!("{exchanges} of a killed run are in {}, because of --overwrite", kept.display());
            event(builder.format, "set_aside", leftover.entries, &line);
            (journal, _) = Journal::open(&path, context.clone())?;
        } else if leftover.entries > 0 {
            if let Some(renewal) = &leftover.renewal {
                return Err(builder.unfinished(renewal, &journal, leftover.entries));
            }
            self.split(&path, context, Renew::Missing, false)?;
            journal.discard()?;
        }
        for journal in journals(&self.folder)? {
            let builder = FixtureBuilder { out: journal.with_extension(""), ..builder.clone() };
            let existed = FixturePath::prepare(&builder.out)?.is_taken();
            let Opened { journal, .. } = builder.open(context.clone(), existed, false)?;
            journal.remove()?;
        }
        journal.renews(renewal(args))?;
        Ok(Arc::new(Mutex::new(journal)))
    }

    /// Takes the requests of a proxy, whose exchanges go through this pipeline, and orders to start and end sessions
    /// until what this gives is dropped.
    pub(super) fn begin(
        self: &Arc<Self>,
        proxy: &mut ProxyArgs,
        pipeline: &Arc<Pipeline>,
    ) -> Result<Option<Serving>, Failure> {
        let _ = self.pipeline.set(Arc::downgrade(pipeline));
        control::begin(self, &self.control, proxy)
    }

    /// How long the journal is, once all that ended is in it.
    fn length(&self) -> u64 {
        if let Some(pipeline) = self.pipeline.get().and_then(Weak::upgrade) {
            pipeline.flush();
        }
        fs::metadata(Journal::path_for(&self.folder)).map_or(0, |journal| journal.len())
    }

    /// Gives each session its part of the journal at `path`, as a journal beside its fixture. `whole` says that the
    /// recording came to its end, so that it may replace what is there.
    fn split(
        &self,
        path: &Path,
        context: &JournalContext,
        renew: Renew<'_>,
        whole: bool,
    ) -> Result<Vec<String>, Failure> {
        let mut file = File::open(path)?;
        let parts = self.parts(&file)?;
        for (name, lines) in &parts {
            let out = place(&self.folder, name);
            let (mut journal, _) = Journal::open(&Journal::path_for(&out), context.clone())?;
            journal.discard()?;
            if FixturePath::find(&out)?.is_taken() {
                journal.renews(renew)?;
            }
            for (offset, length) in lines {
                let mut batch = EntryBatch::default();
                batch.lines.resize(*length, 0);
                file.seek(SeekFrom::Start(*offset))?;
                file.read_exact(&mut batch.lines)?;
                journal.take(&mut batch);
                journal.write()?;
            }
            if whole {
                journal.ended()?;
            }
        }
        Ok(parts.into_keys().collect())
    }

    /// Where the lines of each session stand in a journal: offset and length.
    fn parts(&self, journal: &File) -> Result<BTreeMap<String, Vec<(u64, usize)>>, Failure> {
        let (mut input, mut line, mut offset) = (BufReader::new(journal), Vec::new(), 0);
        let held = self.held();
        let mut parts: BTreeMap<String, Vec<(u64, usize)>> = BTreeMap::new();
        loop {
            line.clear();
            let length = input.read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(parts);
            }
            // What the journal states of itself has such a member first.
            if !line.starts_with(b"{\"_") {
                let Line { own } = serde_json::from_slice(&line)?;
                let name = own.session.unwrap_or_else(|| UNNAMED.to_owned());
                if !is_name(&name) {
                    return Err(
                        format!("the journal names a session `{}`, which is no name", name.escape_debug()).into()
                    );
                }
                if held.get(&*name).is_none_or(|count| !count.failed && offset >= count.from) {
                    parts.entry(name).or_default().push((offset, length));
                }
            }
            offset += length as u64;
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Count>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds the journal: each session becomes a fixture, which proves itself, or stays as it was.
    pub(super) fn end(&self, ending: &Ending<'_>, journal: SharedJournal, context: &JournalContext) -> End {
        if ending.outcome.counts.exchanges == 0 {
            // Only an empty one goes.
            let _ = fs::remove_dir(&self.folder);
            return ending.end(journal, summary::Rows::new());
        }
        let path = journal.lock().unwrap_or_else(PoisonError::into_inner).path().to_owned();
        let split = self.split(&path, context, renewal(ending.args), ending.ran.cut_short().is_none());
        let names = match split {
            Ok(names) => names,
            Err(failure) => return End::failed(&*failure),
        };
        let mut all = AllEnds::default();
        all.end.rows.extend(remove(journal));
        let failed: Vec<String> =
            self.held().iter().filter(|(_, count)| count.failed).map(|(name, _)| name.to_string()).collect();
        if !failed.is_empty() {
            all.end.rows.push(("not recorded, because their tests failed", failed.join(", ").into()));
        }
        if names.is_empty() {
            let _ = fs::remove_dir(&self.folder);
        } else if recorded(&self.folder).is_empty() {
            recording::write_git_files_for_all(&self.folder);
        }
        // Lines of exchanges come before those of sessions.
        ending.outcome.console.close();
        for name in &names {
            let end = self.fold(ending, name, context).unwrap_or_else(|failure| End::failed(&*failure));
            all.add(name, end, ending.builder.format);
        }
        all.end(names.len(), ending)
    }

    fn fold(&self, ending: &Ending<'_>, name: &str, context: &JournalContext) -> Result<End, Failure> {
        // A session may be that of a test whose client gives up; the tenant is there if it answered another.
        let counts = &ending.outcome.counts;
        let own: u64 = counts.answered.values().sum();
        let silence = counts.exchanges > own + counts.without_answer;
        let builder = FixtureBuilder { out: place(&self.folder, name), silence, ..ending.builder.clone() };
        let before = Before { fixture: FixturePath::prepare(&builder.out)?.is_taken(), ..Before::default() };
        let (journal, _) = Journal::open(&Journal::path_for(&builder.out), context.clone())?;
        let ending = Ending { builder: &builder, before: &before, ..*ending };
        Ok(ending.end(Arc::new(Mutex::new(journal)), summary::Rows::new()))
    }
}

/// The journals of a killed run beside the fixtures of sessions.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut journals = Vec::new();
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        if path.extension().is_some_and(|ending| ending == "journal") && !SetAside::is_name(&path) {
            journals.push(path);
        }
    }
    Ok(journals)
}

/// The ends of all sessions as one.
#[derive(Default)]
struct AllEnds {
    end: End,
    entries: u64,
    changed: bool,
    failed: usize,
    problems: Vec<String>,
    holds_secrets: bool,
    notes: Vec<String>,
    proven: usize,
}

impl AllEnds {
    fn add(&mut self, name: &str, end: End, format: Format) {
        let End { rows, proof, undone, .. } = end;
        let mut line = format!("[{name}]");
        for (row, value) in &rows {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(line, " {row}: {shown};");
        }
        let value = |row: &str| rows.iter().find(|(held, _)| *held == row).map(|(_, value)| value);
        self.entries += value("entries").and_then(Value::as_u64).unwrap_or_default();
        let changed = value("changed").and_then(Value::as_bool).unwrap_or_default();
        self.changed |= changed;
        if let Some(proof) = &proof {
            self.proven += 1;
            self.problems.extend(proof.problems.iter().map(|problem| format!("[{name}] {problem}")));
            self.notes.extend(proof.note.iter().map(|note| format!("[{name}] {note}")));
            self.holds_secrets |= proof.holds_secrets;
            line.push_str(if proof.good { " proof: good" } else { " PROOF FAILED" });
        }
        let is_good = undone.is_empty() && proof.as_ref().is_some_and(|proof| proof.good);
        self.failed += usize::from(!is_good);
        // People read of what is new and of what went wrong.
        if format == Format::Json || changed || !is_good {
            event(format, "recorded_session", name, line.trim_end_matches(';'));
        }
        for mut reason in undone {
            reason.detail = format!("[{name}] {}", reason.detail);
            match self.end.undone.iter_mut().find(|held| held.kind == reason.kind && held.what == reason.what) {
                Some(held) => held.detail = format!("{}; {}", held.detail, reason.detail),
                None => self.end.undone.push(reason),
            }
        }
    }

    fn end(self, sessions: usize, ending: &Ending<'_>) -> End {
        let Self { mut end, entries, changed, failed, problems, holds_secrets, notes, proven } = self;
        end.rows.extend([
            ("fixture", ending.builder.out.display().to_string().into()),
            ("sessions", sessions.into()),
            ("entries", entries.into()),
            ("changed", changed.into()),
        ]);
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        end.proof = (proven > 0).then_some(Proof { good: problems.is_empty(), problems, note, holds_secrets });
        end.next = (failed == 0).then(|| ending.replay("--sessions "));
        end
    }
}

impl sessions::Sessions for Sessions {
    fn request(&self, name: &str) -> Result<Arc<str>, Problem> {
        let mut held = self.held();
        let known = held.get_key_value(name).map(|(name, _)| Arc::clone(name));
        let name = match known {
            Some(name) => name,
            None => {
                FixturePath::find(&place(&self.folder, name))
                    .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, "bad-session", error.with_cause()))?;
                name.into()
            }
        };
        let count = held.entry(Arc::clone(&name)).or_default();
        count.is_open = true;
        count.requests += 1;
        Ok(name)
    }
}

impl Controlled for Sessions {
    fn start(&self, name: &str) -> Result<(), Problem> {
        let from = self.length();
        self.held().insert(name.into(), Count { is_open: true, from, ..Count::default() });
        Ok(())
    }

    fn end(&self, name: &str, failed: bool) -> Result<Ended, Problem> {
        let mut held = self.held();
        let count = held.entry(name.into()).or_default();
        count.is_open = false;
        count.failed |= failed;
        Ok(Ended { requests: std::mem::take(&mut count.requests), ..Ended::default() })
    }

    fn list(&self) -> Vec<Listed> {
        let held = self.held();
        let open = held.iter().filter(|(_, count)| count.is_open);
        open.map(|(name, count)| Listed { name: Arc::clone(name), requests: count.requests, misses: 0 }).collect()
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("folder", &self.folder).finish_non_exhaustive()
    }
}
