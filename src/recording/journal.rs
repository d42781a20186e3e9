//! The journal: one entry per line, append-only, the only thing that the proxy writes.
//!
//! [`Journal::add`] encodes into a batch, [`Journal::write`] gives the batch to the kernel in one write. A killed process
//! loses at most the torn last line; the next start drops it. One process at a time: the file (of a trail, the folder) is
//! locked as long as the journal is open.
//!
//! A journal that is folded says so itself, before the fixture is replaced and after: whenever a process is killed, the
//! next start knows whether the entries are in the fixture.

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ring::digest::{Context, SHA256};
use serde::Deserialize;

use super::{
    Attested, WriteError,
    chain::{self, ChainHead},
    disk::{folder_of, make_folder, make_private, private, refused},
    write::{self, JournalContext},
};
use crate::redact::{Judged, Redacted};

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    /// A failed batch could not be taken back yet.
    torn: bool,
    batch: Vec<u8>,
    context: JournalContext,
    trail: Option<Trail>,
}

/// What was in a journal already when it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Whole entries that are in no fixture.
    pub entries: usize,
    /// Bytes of a torn last line, dropped.
    pub torn: u64,
}

/// What a kept journal has besides: segments and a chain.
#[derive(Debug)]
struct Trail {
    folder: PathBuf,
    /// Held as long as the trail is open.
    _lock: File,
    head: ChainHead,
    /// The segments of this run.
    segments: Vec<PathBuf>,
    number: u64,
    rotate_at: u64,
}

/// Bytes after which a trail begins a new segment.
const SEGMENT: u64 = 64 << 20;

/// How the lines begin that say what became of a journal.
pub(super) const FOLD_START: &[u8] = b"{\"_fold\"";

impl Journal {
    /// The journal of a fixture: beside it, its name with `.journal` after it.
    #[must_use]
    pub fn path_for(fixture: &Path) -> PathBuf {
        // Components drop a trailing slash: `name/` has its journal in `name.journal`.
        let mut name = fixture.components().as_path().as_os_str().to_owned();
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
        let (leftover, length) = recover(&mut file).map_err(refused("read", path))?;
        let mut journal = Self::new(path, file, length, context);
        if Self::is_folded(path) {
            journal.discard()?;
            return Ok((journal, Leftover::default()));
        }
        Ok((journal, leftover))
    }

    /// Begins a new segment of the trail in `folder` (made with 0700 if need be), chained to the one before it. What a
    /// killed process left unsealed there is sealed first.
    ///
    /// # Errors
    ///
    /// [`WriteError::Locked`] if another process has the trail open; [`WriteError::Io`] for anything the system refuses.
    pub fn open_trail(folder: &Path, context: JournalContext) -> Result<(Self, Leftover), WriteError> {
        make_folder(folder)?;
        let lock = locked(&folder.join("lock"), folder)?;
        make_private(&lock).map_err(refused("make private", folder))?;
        let mut numbers: Vec<u64> = Vec::new();
        for item in fs::read_dir(folder).map_err(refused("read", folder))? {
            let item = item.map_err(refused("read", folder))?;
            numbers.extend(item.file_name().to_str().and_then(segment_number));
        }
        numbers.sort_unstable();
        let mut head = ChainHead::default();
        let mut leftover = Leftover::default();
        // The last segment that has a chain; a process killed at its very start may have left one without.
        for number in numbers.iter().rev() {
            let path = folder.join(segment_name(*number));
            let mut file = private().read(true).append(true).open(&path).map_err(refused("open", &path))?;
            let (found, _) = recover(&mut file).map_err(refused("read", &path))?;
            leftover.torn += found.torn;
            let (end, unsealed) = chain::end_of(&path).map_err(refused("read", &path))?;
            let Some(end) = end else { continue };
            head = end;
            if !unsealed.is_empty() {
                let mut line = Vec::new();
                head.seal(&unsealed, &mut line);
                file.write_all(&line).map_err(refused("write", &path))?;
            }
            break;
        }
        let number = numbers.last().map_or(1, |last| last + 1);
        let trail =
            Trail { folder: folder.to_path_buf(), _lock: lock, head, segments: Vec::new(), number, rotate_at: SEGMENT };
        let path = folder.join(segment_name(number));
        let file = new_segment(&path)?;
        let mut journal = Self::new(&path, file, 0, context);
        journal.trail = Some(trail);
        journal.begin_segment().map_err(refused("write", &path))?;
        Ok((journal, leftover))
    }

    fn new(path: &Path, file: File, length: u64, context: JournalContext) -> Self {
        Self { path: path.to_path_buf(), file, length, torn: false, batch: Vec::new(), context, trail: None }
    }

    /// Where it is; of a trail, its present segment.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that this run wrote, in order.
    #[must_use]
    pub fn segments(&self) -> Vec<PathBuf> {
        self.trail.as_ref().map_or_else(|| vec![self.path.clone()], |trail| trail.segments.clone())
    }

    /// The end of the chain, of a trail. Whoever keeps it elsewhere can tell later that nothing before it was changed.
    #[must_use]
    pub fn head(&self) -> Option<&ChainHead> {
        self.trail.as_ref().map(|trail| &trail.head)
    }

    /// Adds an entry to the batch.
    pub fn add(&mut self, judged: &Redacted<Judged>, attested: Option<&Attested>) {
        write::encode(judged, attested, &self.context, &mut self.batch);
    }

    /// Gives the batch to the kernel, in one write.
    ///
    /// # Errors
    ///
    /// The system's. The batch is dropped and what got into the file of it is taken back, so that the journal stays
    /// usable.
    pub fn write(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let written = self.write_batch();
        self.batch.clear();
        self.batch.shrink_to(1 << 20);
        written?;
        if self.trail.as_ref().is_some_and(|trail| self.length >= trail.rotate_at) {
            self.rotate()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> io::Result<()> {
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
            .and_then(|()| self.file.write_all(&self.batch));
        self.torn = written.is_err() && self.file.set_len(self.length).is_err();
        written?;
        self.length += self.batch.len() as u64;
        if let (Some(trail), Some(head)) = (&mut self.trail, head) {
            trail.head = head;
        }
        Ok(())
    }

    /// Goes on in a new segment.
    fn rotate(&mut self) -> io::Result<()> {
        let Some(trail) = &mut self.trail else { return Ok(()) };
        let path = trail.folder.join(segment_name(trail.number + 1));
        let file = new_segment(&path).map_err(io::Error::other)?;
        trail.number += 1;
        (self.path, self.file, self.length, self.torn) = (path, file, 0, false);
        self.begin_segment()
    }

    /// Writes the line that ties a new segment to the chain.
    fn begin_segment(&mut self) -> io::Result<()> {
        if let Some(trail) = &mut self.trail {
            trail.segments.push(self.path.clone());
        }
        self.write_batch()?;
        self.batch.clear();
        Ok(())
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Removes the journal: it was folded. A trail stays.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn remove(self) -> Result<(), WriteError> {
        if self.trail.is_some() {
            return Ok(());
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
        self.length = 0;
        self.file.set_len(0).map_err(refused("empty", &self.path))
    }

    /// Whether the journal at `path` says that its entries are in a fixture, and that is so.
    #[must_use]
    pub fn is_folded(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        let mut input = BufReader::with_capacity(256 << 10, file);
        let mut last = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) if line.ends_with(b"\n") => std::mem::swap(&mut last, &mut line),
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        if !last.starts_with(FOLD_START) {
            return false;
        }
        match serde_json::from_slice(&last) {
            Ok(FoldLine { fold: Fold { done: true, .. } }) => true,
            Ok(FoldLine { fold: Fold { har: Some(har), sha256: Some(sha256), .. } }) => {
                File::open(har).and_then(|mut har| file_digest(&mut har)).is_ok_and(|found| found == sha256)
            }
            _ => false,
        }
    }

    /// Says that the fixture `har` is about to be replaced by one of this digest, which holds the journal's entries.
    pub(super) fn folding(&self, har: &Path, sha256: &str) -> Result<(), WriteError> {
        let har = std::path::absolute(har).map_err(refused("find", har))?;
        let mut line = FOLD_START.to_vec();
        line.extend_from_slice(b":{\"har\":");
        write::string(&har.to_string_lossy(), &mut line);
        line.extend_from_slice(format!(",\"sha256\":\"{sha256}\"}}}}\n").as_bytes());
        self.say(&line)
    }

    /// Says that this was done.
    pub(super) fn folded(&self) -> Result<(), WriteError> {
        let mut line = FOLD_START.to_vec();
        line.extend_from_slice(b":{\"done\":true}}\n");
        self.say(&line)
    }

    fn say(&self, line: &[u8]) -> Result<(), WriteError> {
        if self.trail.is_some() {
            return Ok(());
        }
        (&self.file).write_all(line).map_err(refused("write", &self.path))
    }
}

fn segment_name(number: u64) -> String {
    format!("trail-{number:08}.journal")
}

fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("trail-")?.strip_suffix(".journal")?.parse().ok()
}

fn new_segment(path: &Path) -> Result<File, WriteError> {
    private().append(true).create_new(true).open(path).map_err(refused("make", path))
}

/// Opens and locks the file that is at `path` now; `what` is what people know it by.
fn locked(path: &Path, what: &Path) -> Result<File, WriteError> {
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

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Counts the whole entries and cuts off what follows the last whole line.
fn recover(file: &mut File) -> io::Result<(Leftover, u64)> {
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
            entries += usize::from(!line.starts_with(FOLD_START) && !line.starts_with(chain::START));
        } else {
            torn = read;
        }
    }
    if torn > 0 {
        file.set_len(whole)?;
    }
    Ok((Leftover { entries, torn }, whole))
}

/// As much of a fold line as tells what became of the journal.
#[derive(Deserialize)]
struct FoldLine {
    #[serde(rename = "_fold")]
    fold: Fold,
}

#[derive(Deserialize)]
struct Fold {
    har: Option<PathBuf>,
    sha256: Option<String>,
    #[serde(default)]
    done: bool,
}

/// The SHA-256 of what can be read, hexadecimal.
pub(super) fn file_digest(file: &mut File) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut chunk = vec![0; 64 << 10];
    file.seek(SeekFrom::Start(0))?;
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(chain::hex(context.finish().as_ref()));
        }
        context.update(&chunk[..read]);
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn context() -> JournalContext {
        JournalContext { upstream: "https://up.example".into(), contract: "c".into() }
    }

    fn open(path: &Path) -> (Journal, Leftover) {
        Journal::open(path, context()).unwrap()
    }

    #[test]
    fn the_journal_stands_beside_the_fixture_in_both_layouts() {
        for (fixture, journal) in
            [("a/name/", "a/name.journal"), ("a/name", "a/name.journal"), ("x.har", "x.har.journal")]
        {
            assert_eq!(Journal::path_for(Path::new(fixture)), Path::new(journal));
        }
    }

    #[test]
    fn a_torn_last_line_is_dropped_at_the_next_start_and_nothing_else() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        for (text, kept, entries) in
            [("{1}\n{2}\n{3", "{1}\n{2}\n", 2), ("{1", "", 0), ("", "", 0), ("{1}\n", "{1}\n", 1)]
        {
            fs::write(&path, text).unwrap();
            let (mut journal, leftover) = open(&path);
            assert_eq!(leftover, Leftover { entries, torn: (text.len() - kept.len()) as u64 });
            journal.batch.extend(b"{4}\n");
            journal.write().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}{{4}}\n"));
        }
    }

    #[test]
    fn a_second_writer_is_told_that_there_is_a_first() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let (first, _) = open(&path);
        let said = Journal::open(&path, context()).unwrap_err().to_string();
        assert_eq!(
            said,
            format!(
                "another process is writing to the journal `{}`; stop it, or record to another place",
                path.display()
            )
        );
        drop(first);
        open(&path);
    }

    #[test]
    fn a_journal_that_was_removed_is_made_anew() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let (journal, _) = open(&path);
        journal.remove().unwrap();
        assert!(!path.exists());
        open(&path);
        assert!(path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_a_journal_and_the_folders_made_for_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a/b/x.journal");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        drop(open(&path));
        assert_eq!((mode(&path), mode(folder_of(&path)), mode(&folder.path().join("a"))), (0o600, 0o700, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        open(&path);
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_journal_that_was_folded_is_empty_at_the_next_start() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let har = folder.path().join("x.har");
        let with = |marks: &dyn Fn(&Journal)| {
            fs::write(&path, "{1}\n{2}\n").unwrap();
            let (journal, _) = open(&path);
            marks(&journal);
            drop(journal);
            open(&path).1.entries
        };
        fs::write(&har, "abc").unwrap();
        let digest = file_digest(&mut File::open(&har).unwrap()).unwrap();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(with(&|journal| journal.folding(&har, "0000").unwrap()), 2);
        assert_eq!(with(&|journal| journal.folding(&har, &digest).unwrap()), 0);
        fs::write(&har, "edited since").unwrap();
        assert_eq!(with(&|journal| journal.folding(&har, &digest).unwrap()), 2);
        let both = |journal: &Journal| {
            journal.folding(&har, &digest).unwrap();
            journal.folded().unwrap();
        };
        assert_eq!(with(&both), 0);
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    /// A trail of these batches; each batch's entries are these lines.
    fn trail(folder: &Path, batches: &[&[&str]]) -> (Vec<PathBuf>, ChainHead) {
        let (mut journal, _) = Journal::open_trail(folder, context()).unwrap();
        for batch in batches {
            journal.batch.extend(batch.iter().flat_map(|line| format!("{line}\n").into_bytes()));
            journal.write().unwrap();
        }
        (journal.segments(), journal.head().unwrap().clone())
    }

    fn segments(folder: &Path) -> Vec<PathBuf> {
        crate::recording::sources(folder).unwrap()
    }

    #[test]
    fn a_trail_is_one_chain_across_its_segments_and_runs() {
        let folder = TempDir::new().unwrap();
        let (first, _) = trail(folder.path(), &[&["{1}", "{2}"], &["{3}"]]);
        let (second, head) = trail(folder.path(), &[&["{4}"]]);
        assert_eq!(segments(folder.path()), [first, second].concat());
        let checked = chain::check_chain(&segments(folder.path())).unwrap().unwrap();
        assert_eq!(checked, chain::Checked { head, entries: 4, unsealed: 0, broken: None });
        let said = Journal::open_trail(folder.path(), context())
            .map(|opened| Journal::open_trail(folder.path(), context()).map(|_| drop(opened)).unwrap_err().to_string());
        assert!(said.unwrap().contains("another process"));
    }

    #[test]
    fn a_trail_goes_on_in_a_new_segment_when_one_is_full() {
        let folder = TempDir::new().unwrap();
        let (mut journal, _) = Journal::open_trail(folder.path(), context()).unwrap();
        journal.trail.as_mut().unwrap().rotate_at = 300;
        for _ in 0..4 {
            journal.batch.extend(b"{1}\n");
            journal.write().unwrap();
        }
        assert!(journal.segments().len() > 1);
        assert_eq!(journal.segments(), segments(folder.path()));
        let checked = chain::check_chain(&journal.segments()).unwrap().unwrap();
        assert_eq!((checked.entries, checked.broken), (4, None));
    }

    #[test]
    fn what_a_killed_process_left_is_sealed_at_the_next_start() {
        let folder = TempDir::new().unwrap();
        let (first, _) = trail(folder.path(), &[&["{1}"]]);
        let mut text = fs::read(&first[0]).unwrap();
        text.extend_from_slice(b"{2}\n{3");
        fs::write(&first[0], text).unwrap();
        let unsealed = chain::check_chain(&first).unwrap().unwrap();
        assert_eq!((unsealed.entries, unsealed.unsealed, unsealed.broken), (1, 1, None));
        trail(folder.path(), &[&["{4}"]]);
        let checked = chain::check_chain(&segments(folder.path())).unwrap().unwrap();
        assert_eq!((checked.entries, checked.unsealed, checked.broken), (3, 0, None));
    }

    #[test]
    fn the_first_line_that_was_altered_is_named() {
        let folder = TempDir::new().unwrap();
        let (first, _) = trail(folder.path(), &[&["{1}", "{2}", "{3}"], &["{4}"]]);
        trail(folder.path(), &[&["{5}", "{6}"]]);
        let segments = segments(folder.path());
        let whole = fs::read_to_string(&first[0]).unwrap();
        // 1: the chain's start; 2 to 4: entries; 5: chain; 6: entry; 7: chain
        let check = |change: &dyn Fn(&mut Vec<String>)| {
            let mut lines: Vec<String> = whole.split_inclusive('\n').map(str::to_owned).collect();
            change(&mut lines);
            fs::write(&first[0], lines.concat()).unwrap();
            let broken = chain::check_chain(&segments).unwrap().unwrap().broken.unwrap();
            (broken.segment == first[0], broken.line, broken.reason)
        };
        let said = |line, reason: &str| (true, line, reason.to_owned());
        assert_eq!(check(&|lines| lines[2] = "{X}\n".into()), said(3, "this line was altered"));
        let early = "this line stands too early; a line before it was removed, or put elsewhere";
        assert_eq!(check(&|lines| drop(lines.remove(1))), said(2, early));
        assert_eq!(check(&|lines| drop(lines.remove(3))), said(4, "1 of the lines before this one were removed"));
        assert_eq!(check(&|lines| lines.swap(1, 2)), said(2, early));
        assert_eq!(check(&|lines| lines.insert(2, "{X}\n".into())), said(3, "this line was added"));
        assert_eq!(check(&|lines| lines.insert(2, "{1}\n".into())), said(3, "this line stands twice, or too late"));
        let altered = "this line of the chain was altered";
        assert_eq!(check(&|lines| lines[4] = lines[4].replace("\"seq\":1", "\"seq\":2")), said(5, altered));
        let gone =
            "batch 1 of the chain is expected here and this is batch 2; lines before it were removed, or put elsewhere";
        assert_eq!(check(&|lines| drop(lines.drain(1..5))), said(3, gone));
        // A batch cut off at a segment's end is missed by the next segment.
        let (in_first, line, _) = check(&|lines| lines.truncate(5));
        assert_eq!((in_first, line), (false, 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_batch_that_cannot_be_written_is_said_and_the_next_one_can() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let (mut journal, _) = open(&path);
        journal.batch.extend(b"{1}\n");
        journal.write().unwrap();
        let file = std::mem::replace(&mut journal.file, File::options().write(true).open("/dev/full").unwrap());
        journal.batch.extend(b"{2}\n");
        assert!(journal.write().is_err());
        journal.file = file;
        journal.batch.extend(b"{3}\n");
        journal.write().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{1}\n{3}\n");
    }
}
