//! A kept journal: a folder of segments, `trail-00000001.journal` and so on, one hash chain across all of them
//! ([`super::chain`]), and the file elsewhere that is to keep the chain's head.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    account::{Leftover, cut},
    chain::{self, ChainHead},
    destination::refuse_other,
    doubt::doubt,
    file::JournalFile,
    heads::HeadFile,
    segments::{LOCK, segment_name, segment_number},
};
use crate::{
    WriteError,
    disk::{failed_to, folder_of, is_at, locked, make_folder, make_private, private},
};

/// How a trail is kept.
#[derive(Debug, Clone)]
pub struct TrailOptions {
    /// Bytes after which it continues in a new segment.
    pub segment: u64,
    /// The file that keeps the chain's head: a line is added at the start, at each new segment and at the end.
    pub head_to: Option<PathBuf>,
    /// The URL of the place beyond this machine that it goes to, without credentials. A folder keeps its first one.
    pub destination: Option<String>,
}

impl Default for TrailOptions {
    fn default() -> Self {
        Self { segment: 64 << 20, head_to: None, destination: None }
    }
}

/// What a kept journal has besides: segments and a chain.
#[derive(Debug)]
pub(super) struct Trail {
    folder: PathBuf,
    /// Held as long as the trail is open.
    lock: File,
    pub(super) head: ChainHead,
    /// The segments of this run.
    pub(super) segments: Vec<PathBuf>,
    number: u64,
    rotate_at: u64,
    /// Nothing is written while this is set: the folder holds as much as it may.
    pub(super) full: Arc<AtomicBool>,
    heads: Option<HeadFile>,
    /// Why the trail is not the one of which heads were kept, if so.
    pub(super) doubt: Option<String>,
}

impl Trail {
    /// Begins a segment in `folder`; its file, and what a killed process left.
    pub(super) fn open(folder: &Path, options: &TrailOptions) -> Result<(Self, JournalFile, Leftover), WriteError> {
        make_folder(folder)?;
        let lock = lock(folder)?;
        refuse_other(folder, options.destination.as_deref())?;
        if let Some(path) = options.head_to.as_ref().filter(|path| is_within(path, folder)) {
            let reason = "it is in the trail's folder, where it proves nothing; name a file elsewhere for `--head-to`";
            return Err(WriteError::Unwritable { path: path.clone(), reason: reason.to_owned() });
        }
        let (heads, kept) = options.head_to.as_deref().map(HeadFile::open).transpose()?.unzip();
        let mut numbers: Vec<u64> = Vec::new();
        for item in fs::read_dir(folder).map_err(failed_to("read", folder))? {
            let item = item.map_err(failed_to("read", folder))?;
            numbers.extend(item.file_name().to_str().and_then(segment_number));
        }
        numbers.sort_unstable();
        let (mut head, leftover) = recovered(folder, &numbers)?;
        if head.seq > 0 && head.trail.is_empty() {
            let reason = "its trail has no id, so nothing can be added to it; name another folder".to_owned();
            return Err(WriteError::Unwritable { path: folder.to_path_buf(), reason });
        }
        head.identify().map_err(failed_to("make an id for the trail", folder))?;
        let mut found = None;
        if let Some(kept) = kept {
            kept.refuse_other(&head)?;
            let segments: Vec<PathBuf> = numbers.iter().map(|number| folder.join(segment_name(*number))).collect();
            found = doubt(&kept, &head, &segments).map_err(failed_to("read", folder))?;
        }
        let number = numbers.last().map_or(0, |last| *last);
        let folder = folder.to_path_buf();
        let mut trail = Self {
            folder,
            lock,
            head,
            segments: Vec::new(),
            number,
            rotate_at: options.segment.max(1),
            full: Arc::default(),
            heads,
            doubt: found,
        };
        let file = trail.next_segment()?;
        trail.keep_head()?;
        Ok((trail, file, leftover))
    }

    /// The number of the present segment.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn is_full(&self, length: u64) -> bool {
        length >= self.rotate_at
    }

    /// Whether the folder holds as much as it may.
    pub(super) fn refuses(&self) -> io::Result<()> {
        if !self.full.load(Ordering::Relaxed) {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!("`{folder}` holds as much as --trail-buffer-size allows"),
        ))
    }

    /// Makes the next segment, its first line tied to the chain; its file. Where that fails, nothing of it is left and
    /// the trail is as it was.
    pub(super) fn next_segment(&mut self) -> Result<JournalFile, WriteError> {
        let Some(number) = self.number.checked_add(1) else {
            let reason = "it has the highest number that a segment can have; move it away".to_owned();
            return Err(WriteError::Unwritable { path: self.folder.join(segment_name(self.number)), reason });
        };
        let path = self.folder.join(segment_name(number));
        let mut file =
            private().read(true).append(true).create_new(true).open(&path).map_err(failed_to("make", &path))?;
        let mut head = self.head.clone();
        let mut line = Vec::new();
        head.begin(&mut line);
        if let Err(error) = file.try_lock().map_err(io::Error::from).and_then(|()| file.write_all(&line)) {
            let _ = fs::remove_file(&path);
            return Err(failed_to("write", &path)(error));
        }
        self.number = number;
        self.head = head;
        let file = JournalFile::new(&path, file, line.len() as u64);
        self.segments.push(path);
        Ok(file)
    }

    /// Adds the head to the file that keeps it, if there is one, and waits for the disk. The text is a warning.
    pub(super) fn keep_head(&mut self) -> Result<Option<String>, WriteError> {
        self.heads.as_mut().map_or(Ok(None), |heads| heads.add(&self.head))
    }

    /// Takes the lock again if the folder was removed under it.
    pub(super) fn lock_again(&mut self) -> Result<(), WriteError> {
        if !is_at(&self.lock, &self.folder.join(LOCK)) {
            self.lock = lock(&self.folder)?;
        }
        Ok(())
    }
}

/// Whether a file is, or would be, in a folder that is there.
fn is_within(path: &Path, folder: &Path) -> bool {
    let parent = folder_of(path).canonicalize();
    parent.is_ok_and(|parent| folder.canonicalize().is_ok_and(|folder| parent.starts_with(folder)))
}

fn lock(folder: &Path) -> Result<File, WriteError> {
    let lock = locked(&folder.join(LOCK), folder)?;
    make_private(&lock).map_err(failed_to("make private", folder))?;
    Ok(lock)
}

/// Drops the torn line and adopts the whole ones that a killed process left; the end of the chain.
fn recovered(folder: &Path, numbers: &[u64]) -> Result<(ChainHead, Leftover), WriteError> {
    let mut leftover = Leftover::default();
    // Somebody can remove the file of the lock. The segments that a process writes to are locked, too: it may be about
    // to lock the last one, and writes to the one before it meanwhile.
    for number in numbers.iter().rev().take(2) {
        let path = folder.join(segment_name(*number));
        let segment = File::open(&path).map_err(failed_to("open", &path))?;
        if let Err(fs::TryLockError::WouldBlock) = segment.try_lock() {
            return Err(WriteError::Locked { path: folder.to_path_buf() });
        }
    }
    // The last segment that has a chain; a process killed at its very start may have left one without.
    for number in numbers.iter().rev() {
        let path = folder.join(segment_name(*number));
        let mut file = private().read(true).append(true).open(&path).map_err(failed_to("open", &path))?;
        leftover.torn += cut(&path, &file)?.torn;
        let (head, unsealed) = chain::end_of(&path).map_err(failed_to("read", &path))?;
        let Some(mut head) = head else { continue };
        if !unsealed.is_empty() {
            let mut line = Vec::new();
            head.seal(&unsealed, true, &mut line);
            file.write_all(&line).map_err(failed_to("write", &path))?;
            leftover.adopted =
                unsealed.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        }
        return Ok((head, leftover));
    }
    Ok((ChainHead::default(), leftover))
}
