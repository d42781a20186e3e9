//! The journal: one entry per line, append-only, the only thing that the proxy writes.
//!
//! [`Journal::add`] encodes into a batch, [`Journal::write`] gives the batch to the kernel in one write. A killed process
//! loses at most the torn last line; the next start drops it. One process at a time: the file (of a trail, the folder) is
//! locked as long as the journal is open. One that somebody removes meanwhile is made anew.
//!
//! A journal that is folded says so itself, before the fixture is replaced and after: whenever a process is killed, the
//! next start knows whether the entries are in the fixture.

pub(super) mod chain;
pub(super) mod check;
pub(super) mod fold_log;
pub(super) mod heads;
pub(super) mod pending;
pub(super) mod rewrite;
pub(super) mod set_aside;
pub(super) mod trail;
pub(super) mod unrecorded;

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use ring::digest::{Context, SHA256};

use super::{
    Attested, Renew, WriteError,
    disk::{folder_of, make_folder, make_private, private, refused},
    entry::encode::{self, JournalContext},
    journal::{
        chain::ChainHead,
        fold_log::{FoldLog, Renewal},
        trail::{Trail, TrailOptions},
        unrecorded::Unrecorded,
    },
    read,
};
use crate::{
    hex::hex,
    redact::{Judged, Redacted},
};

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Arc<File>,
    length: u64,
    writes: u64,
    /// A failed batch could not be taken back yet.
    torn: bool,
    batch: Vec<u8>,
    /// The exchanges of the batch.
    batched: Option<Unrecorded>,
    /// Exchanges of batches that could not be written, to be stated once writing works again.
    unrecorded: Option<Unrecorded>,
    context: JournalContext,
    tokens: encode::Tokens,
    trail: Option<Trail>,
    /// Of a trail from which a fixture is to be folded: the journal beside that.
    beside: Option<Box<Journal>>,
    /// Segments of a trail that are to be folded with this journal.
    owed: Vec<PathBuf>,
    /// Keep account of what is not on the disk yet.
    durable: bool,
    unsynced: Unsynced,
    alarms: Vec<String>,
}

/// Files that were written and may not be on the disk yet.
#[derive(Debug, Default)]
pub struct Unsynced {
    files: Vec<Arc<File>>,
    /// Folders in which files were made.
    folders: Vec<PathBuf>,
}

impl Unsynced {
    /// Waits until they are.
    ///
    /// # Errors
    ///
    /// The system's. Nobody knows then what is on the disk; a later success does not tell.
    pub fn sync(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync_data())?;
        self.folders.iter().try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

/// What was in a journal already when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Whole entries that are in no fixture.
    pub entries: usize,
    /// Entries of the fixture that they were to replace; `None` if they are only added.
    pub renewal: Option<Renewal>,
    /// Bytes of a torn last line, dropped.
    pub torn: u64,
}

/// Writes after which the journal looks whether its file is still where it was made. That it was removed is seen at
/// once; that it was moved elsewhere, where it goes on growing whole, is not.
const BETWEEN_LOOKS: u64 = 16;

impl Journal {
    /// The journal of a fixture: beside it, its name with `.journal` after it.
    #[must_use]
    pub fn path_for(fixture: &Path) -> PathBuf {
        // Components drop a trailing slash: `name/` has its journal in `name.journal`.
        let plain = fixture.components().as_path();
        // `.` and `..` have no name to append to.
        let named = if plain.file_name().is_none() { fs::canonicalize(plain).ok() } else { None };
        let mut name = named.unwrap_or_else(|| plain.to_owned()).into_os_string();
        name.push(".journal");
        PathBuf::from(name)
    }

    /// Opens a journal to append to, makes it (0600) and its folder (0700) if need be, locks it, and drops a torn last
    /// line, and all of it if it was folded.
    ///
    /// # Errors
    ///
    /// [`WriteError::Locked`] if another process has it open; [`WriteError::Io`] for anything the system refuses.
    pub fn open(path: &Path, context: JournalContext) -> Result<(Self, Leftover), WriteError> {
        make_folder(folder_of(path))?;
        let mut file = locked(path, path)?;
        make_private(&file).map_err(refused("make private", path))?;
        let (mut leftover, length) = recover(&mut file).map_err(refused("read", path))?;
        let mut journal = Self::new(path, file, length, context);
        let log = FoldLog::read(path).map_err(refused("read", path))?;
        if log.is_folded() {
            journal.discard()?;
            return Ok((journal, Leftover::default()));
        }
        let (owed, entries) = pending::named_in(path)?;
        journal.owed = owed;
        leftover.entries += entries;
        leftover.renewal = log.renewal;
        if leftover.entries == 0 {
            // What a killed run without entries was to replace says nothing of the next one.
            journal.discard()?;
            leftover.renewal = None;
        }
        Ok((journal, leftover))
    }

    /// The files that hold the entries of the journal at `path`: itself, and the segments of a trail that it names.
    ///
    /// # Errors
    ///
    /// One of them cannot be read.
    pub fn sources(path: &Path) -> Result<Vec<PathBuf>, WriteError> {
        let (mut sources, _) = pending::named_in(path)?;
        sources.insert(0, path.to_path_buf());
        Ok(sources)
    }

    /// Notes in the journal beside a fixture, which is kept open with this trail, that the fixture is to be folded from
    /// this trail's segments.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn owe(&mut self, beside: Self) -> Result<(), WriteError> {
        for segment in self.trail.iter().flat_map(|trail| &trail.segments) {
            beside.note(segment)?;
        }
        self.beside = Some(Box::new(beside));
        Ok(())
    }

    fn note(&self, segment: &Path) -> Result<(), WriteError> {
        let line = pending::line(segment).map_err(refused("find", segment))?;
        (&*self.file).write_all(&line).map_err(refused("write", &self.path))
    }

    /// Begins a new segment of the trail in `folder` (made with 0700 if need be), chained to the one before it. What a
    /// killed process left unsealed there is sealed first.
    ///
    /// # Errors
    ///
    /// [`WriteError::Locked`] if another process has the trail open; [`WriteError::Io`] for anything the system refuses.
    pub fn open_trail(
        folder: &Path,
        context: JournalContext,
        options: &TrailOptions,
    ) -> Result<(Self, Leftover), WriteError> {
        let (mut trail, path, file, length, leftover) = Trail::open(folder, options)?;
        let mut journal = Self::new(&path, file, length, context);
        journal.alarms = trail.warnings();
        journal.trail = Some(trail);
        Ok((journal, leftover))
    }

    fn new(path: &Path, file: File, length: u64, context: JournalContext) -> Self {
        let file = Arc::new(file);
        Self {
            path: path.to_path_buf(),
            file,
            length,
            writes: 0,
            torn: false,
            batch: Vec::new(),
            batched: None,
            unrecorded: None,
            context,
            tokens: encode::Tokens::default(),
            trail: None,
            beside: None,
            owed: Vec::new(),
            durable: false,
            unsynced: Unsynced::default(),
            alarms: Vec::new(),
        }
    }

    /// Keeps account of what has to be synced from here on, for [`Journal::unsynced`].
    pub fn set_durable(&mut self) {
        self.durable = true;
        self.is_new();
    }

    /// Goes on in this file.
    fn go_on_in(&mut self, file: File) {
        self.file = Arc::new(file);
        self.torn = false;
        self.is_new();
    }

    /// The present file was made, so its folder has to be synced too.
    fn is_new(&mut self) {
        if self.durable {
            self.unsynced.files.push(Arc::clone(&self.file));
            self.unsynced.folders.push(folder_of(&self.path).to_path_buf());
        }
    }

    /// What was written since this was last asked, to be synced; of a journal that was [set so](Self::set_durable).
    pub fn unsynced(&mut self) -> Unsynced {
        std::mem::take(&mut self.unsynced)
    }

    /// Bytes in the batch.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.batch.len()
    }

    /// What happened to the files since this was last asked that people have to know, though nothing was lost.
    pub fn alarms(&mut self) -> Vec<String> {
        std::mem::take(&mut self.alarms)
    }

    /// Where it is; of a trail, its present segment.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that this run wrote, in order; of a journal beside a fixture, with what it names of a killed run's trail.
    #[must_use]
    pub fn segments(&self) -> Vec<PathBuf> {
        match &self.trail {
            Some(trail) => trail.segments.clone(),
            None => [&self.path].into_iter().chain(&self.owed).cloned().collect(),
        }
    }

    /// The end of the chain, of a trail. Whoever keeps it elsewhere can tell later that nothing before it was changed.
    #[must_use]
    pub fn head(&self) -> Option<&ChainHead> {
        self.trail.as_ref().map(|trail| &trail.head)
    }

    /// Adds an entry to the batch.
    pub fn add(&mut self, judged: &Redacted<Judged>, attested: Option<&Attested>) {
        encode::encode_next(judged, attested, &self.context, &mut self.tokens, &mut self.batch);
        unrecorded::add(&mut self.batched, Unrecorded::one(judged.exchange.started));
    }

    /// Gives the batch to the kernel, in one write.
    ///
    /// # Errors
    ///
    /// The system's. The batch is dropped and what got into the file of it is taken back, so that the journal stays
    /// usable. The next batch that can be written begins with a line that states how many exchanges were dropped.
    pub fn write(&mut self) -> io::Result<()> {
        if self.batch.is_empty() && self.unrecorded.is_none() {
            return Ok(());
        }
        if let Some(unrecorded) = &self.unrecorded {
            let mut line = Vec::new();
            unrecorded.write(&mut line);
            self.batch.splice(0..0, line);
        }
        let written = self.write_batch();
        self.batch.clear();
        self.batch.shrink_to(1 << 20);
        let batched = self.batched.take();
        if written.is_err() {
            if let Some(batched) = batched {
                unrecorded::add(&mut self.unrecorded, batched);
            }
        } else {
            self.unrecorded = None;
        }
        written?;
        if self.trail.as_ref().is_some_and(|trail| trail.is_full(self.length)) {
            self.rotate();
        }
        Ok(())
    }

    fn write_batch(&mut self) -> io::Result<()> {
        self.writes = self.writes.wrapping_add(1);
        if self.durable || self.writes.is_multiple_of(BETWEEN_LOOKS) || is_removed(&self.file) {
            self.ensure()?;
        }
        let mut head = None;
        if let Some(trail) = &self.trail {
            let mut next = trail.head.clone();
            let mut line = Vec::new();
            next.seal(&self.batch, &mut line);
            self.batch.extend_from_slice(&line);
            head = Some(next);
        }
        // Appending goes on at the file's end, wherever that is: what is left of a failed batch goes first.
        let written = if self.torn { self.file.set_len(self.length) } else { Ok(()) }
            .and_then(|()| (&*self.file).write_all(&self.batch));
        self.torn = written.is_err() && self.file.set_len(self.length).is_err();
        written?;
        self.length += self.batch.len() as u64;
        if self.durable && !self.unsynced.files.iter().any(|file| Arc::ptr_eq(file, &self.file)) {
            self.unsynced.files.push(Arc::clone(&self.file));
        }
        if let (Some(trail), Some(head)) = (&mut self.trail, head) {
            trail.head = head;
        }
        Ok(())
    }

    /// Goes on in a new segment; in the old one if none can be made.
    fn rotate(&mut self) {
        let Some(trail) = &mut self.trail else { return };
        match trail.next_segment() {
            Ok((path, file, length)) => {
                (self.path, self.length) = (path, length);
                self.go_on_in(file);
                if let Some(Err(error)) = self.beside.as_ref().map(|beside| beside.note(&self.path)) {
                    let why = "were contrail killed, the next start would not know of the new segment";
                    self.alarms.push(format!("{why}: {error}"));
                }
            }
            Err(error) => self.alarms.push(format!("the trail goes on in a segment that is full: {error}")),
        }
        if let Err(error) = self.keep_head() {
            self.alarms.push(format!("the head of the trail was not kept: {}", error.with_cause()));
        }
    }

    /// Adds the head of a trail to the file that keeps it, if there is one.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; the next head can be written all the same.
    pub fn keep_head(&mut self) -> Result<(), WriteError> {
        let warning = self.trail.as_mut().map_or(Ok(None), Trail::keep_head)?;
        self.alarms.extend(warning);
        Ok(())
    }

    /// Checks that the file is still at its path. A removed file is created again with its full content; the
    /// [alarms](Self::alarms) report it.
    ///
    /// # Errors
    ///
    /// It cannot be made anew, or another file has taken its place.
    pub fn ensure(&mut self) -> io::Result<()> {
        if is_at(&self.file, &self.path) {
            return Ok(());
        }
        if fs::symlink_metadata(&self.path).is_ok() {
            let path = self.path.display();
            return Err(io::Error::other(format!("another file has taken the place of `{path}`; move it away")));
        }
        make_folder(folder_of(&self.path)).map_err(io::Error::other)?;
        if let Some(trail) = &mut self.trail {
            trail.lock_again().map_err(io::Error::other)?;
        }
        let file = private().read(true).append(true).create_new(true).open(&self.path)?;
        let copied = file.try_lock().map_err(io::Error::from).and_then(|()| {
            (&*self.file).seek(SeekFrom::Start(0))?;
            io::copy(&mut (&*self.file).take(self.length), &mut &file)
        });
        match copied {
            Ok(copied) if copied == self.length => {}
            failed => {
                // Half a journal would be taken for a whole one.
                fs::remove_file(&self.path)?;
                return Err(failed.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
            }
        }
        self.go_on_in(file);
        let path = self.path.display();
        self.alarms.push(format!("`{path}` was removed while it was written; it was made anew with all that it held"));
        Ok(())
    }

    /// Removes the journal: it was folded. A trail stays, without the journal beside its fixture.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn remove(self) -> Result<(), WriteError> {
        if self.trail.is_some() {
            return self.beside.map_or(Ok(()), |beside| beside.remove());
        }
        fs::remove_file(&self.path).map_err(refused("remove", &self.path))
    }

    /// Drops all entries: they are to be recorded anew, or were folded. A trail keeps them.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn discard(&mut self) -> Result<(), WriteError> {
        if self.trail.is_some() {
            return Ok(());
        }
        self.batch.clear();
        self.owed.clear();
        self.length = 0;
        self.file.set_len(0).map_err(refused("empty", &self.path))
    }

    /// Whether the journal at `path` says that its entries are in a fixture, and that is so.
    #[must_use]
    pub fn is_folded(path: &Path) -> bool {
        FoldLog::read(path).is_ok_and(|log| log.is_folded())
    }

    /// The journal beside the fixture at `path`, if it holds exchanges that are in no fixture.
    #[must_use]
    pub fn left_beside(path: &Path) -> Option<PathBuf> {
        let journal = Self::path_for(path);
        if !journal.is_file() || Self::is_folded(&journal) {
            return None;
        }
        let owes = pending::named_in(&journal).is_ok_and(|(segments, _)| !segments.is_empty());
        let holds = owes || read::open(&journal).is_ok_and(|mut recording| recording.next().is_some());
        holds.then_some(journal)
    }

    /// Which entries of its fixture the recording in the journal at `path` was to replace; `None` if it only adds.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn renewal(path: &Path) -> Result<Option<Renewal>, WriteError> {
        Ok(FoldLog::read(path).map_err(refused("read", path))?.renewal)
    }

    /// Records, before the first entry, which entries of its fixture this recording replaces.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn renews(&mut self, renew: Renew<'_>) -> Result<(), WriteError> {
        let Some(line) = fold_log::renews(renew).map_err(refused("write", &self.path))? else { return Ok(()) };
        (&*self.file).write_all(&line).map_err(refused("write", &self.path))?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Records that the recording is whole: from here on a fold of it can be finished by the next start.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn ended(&self) -> Result<(), WriteError> {
        self.say(fold_log::ended())
    }

    /// Says that the fixture `har` is about to be replaced by one of this digest, which holds the journal's entries.
    pub(super) fn folding(&self, har: &Path, sha256: &str) -> Result<(), WriteError> {
        self.say(fold_log::folding(har, sha256))?;
        // Were it not on the disk when the fixture is, the next start would fold the entries a second time.
        let beside = self.beside.as_deref().filter(|_| self.trail.is_some()).unwrap_or(self);
        beside.file.sync_data().map_err(refused("write", &beside.path))
    }

    /// Says that this was done.
    pub(super) fn folded(&self) -> Result<(), WriteError> {
        self.say(fold_log::done())
    }

    fn say(&self, line: io::Result<Vec<u8>>) -> Result<(), WriteError> {
        if self.trail.is_some() {
            return self.beside.as_ref().map_or(Ok(()), |beside| beside.say(line));
        }
        line.and_then(|line| (&*self.file).write_all(&line)).map_err(refused("write", &self.path))
    }
}

/// Opens and locks the file that is at `path` now; `what` is what people know it by.
pub(super) fn locked(path: &Path, what: &Path) -> Result<File, WriteError> {
    loop {
        let mut options = private();
        let file =
            options.read(true).append(true).create(true).open(path).map_err(refused("open the journal", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WriteError::Locked { path: what.to_path_buf() }),
            Err(TryLockError::Error(error)) => return Err(refused("lock", path)(error)),
        }
        // Whoever held the lock may have folded and removed the file since it was opened here.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Whether no name leads to the file any more; the cheap part of [`is_at`].
fn is_removed(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|open| open.nlink() == 0)
}

/// Whether the file is the one that is at `path`.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Counts the whole entries and cuts off what follows the last whole line.
pub(super) fn recover(file: &mut File) -> io::Result<(Leftover, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(256 << 10, &mut *file);
    let mut line = Vec::new();
    let (mut whole, mut entries, mut torn) = (0, 0, 0);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            break;
        }
        if line.ends_with(b"\n") {
            whole += read;
            entries += usize::from(pending::is_entry(&line));
        } else {
            torn = read;
        }
    }
    if torn > 0 {
        file.set_len(whole)?;
    }
    Ok((Leftover { entries, torn, renewal: None }, whole))
}

/// The SHA-256 of what can be read, hexadecimal.
pub(super) fn file_digest(file: &mut File) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut chunk = vec![0; 64 << 10];
    file.seek(SeekFrom::Start(0))?;
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(hex(context.finish().as_ref()));
        }
        context.update(&chunk[..read]);
    }
}

#[cfg(test)]
mod tests;
