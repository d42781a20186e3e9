//! An open journal: [`Journal::write`] gives a batch of entries to the kernel in one write.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use contrail_redact::{JudgedExchange, Redacted};

use super::{
    account::Leftover,
    batch::{Encoder, EntryBatch},
    chain::{ChainHead, line_digest},
    file::{JournalFile, Unsynced},
    pending,
    trail::{Trail, TrailOptions},
    unrecorded::{self, Unrecorded},
};
use crate::{Attested, JournalContext, WriteError};

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    pub(super) file: JournalFile,
    pub(super) kind: JournalKind,
    pub(super) batch: EntryBatch,
    encoder: Encoder,
    /// Exchanges of batches that could not be written, to be stated once writing works again.
    unrecorded: Option<Unrecorded>,
    alarms: Vec<String>,
}

/// What a journal belongs to.
#[derive(Debug)]
pub(super) enum JournalKind {
    /// A fixture. `pending` are the segments of a killed run's trail that are to be folded with it.
    Fixture { pending: Vec<PathBuf> },
    /// A trail; with the journal of the fixture that is folded from it, if one is.
    Trail { trail: Box<Trail>, fixture: Option<JournalFile> },
}

impl Journal {
    /// Begins a new segment of the trail in `folder` (made with 0700 if need be), chained to the one before it. What a
    /// killed process left unsealed there is sealed first.
    ///
    /// # Errors
    ///
    /// [`WriteError::Locked`] if another process has the trail open; [`WriteError::Io`] for anything the system
    /// refuses.
    pub fn open_trail(
        folder: &Path,
        context: JournalContext,
        options: &TrailOptions,
    ) -> Result<(Self, Leftover), WriteError> {
        let (trail, file, leftover) = Trail::open(folder, options)?;
        let kind = JournalKind::Trail { trail: Box::new(trail), fixture: None };
        Ok((Self::new(file, kind, context), leftover))
    }

    pub(super) fn new(file: JournalFile, kind: JournalKind, context: JournalContext) -> Self {
        let encoder = Encoder::new(context, matches!(kind, JournalKind::Trail { .. }));
        Self { file, kind, batch: EntryBatch::default(), encoder, unrecorded: None, alarms: Vec::new() }
    }

    /// The journal of a trail from which a fixture is to be folded. The fixture's journal, which stays open with it,
    /// names the trail's segments.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn with_fixture(mut self, journal: Self) -> Result<Self, WriteError> {
        if let JournalKind::Trail { trail, fixture } = &mut self.kind {
            for segment in &trail.segments {
                pending::note(&journal.file, segment)?;
            }
            *fixture = Some(journal.file);
        }
        Ok(self)
    }

    /// Keeps account of what has to be synced from here on, for [`Journal::unsynced`].
    pub fn set_durable(&mut self) {
        self.file.set_durable();
    }

    /// What was written since this was last asked, to be synced; of a journal that was [set so](Self::set_durable).
    pub fn unsynced(&mut self) -> Unsynced {
        self.file.unsynced()
    }

    /// What happened to the files since this was last asked that people have to know, though nothing was lost.
    pub fn alarms(&mut self) -> Vec<String> {
        std::mem::take(&mut self.alarms)
    }

    /// Where it is; of a trail, its present segment.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The end of a trail: the number of its present segment, and the bytes in it.
    #[must_use]
    pub fn end(&self) -> Option<(u64, u64)> {
        match &self.kind {
            JournalKind::Trail { trail, .. } => Some((trail.number(), self.file.length())),
            JournalKind::Fixture { .. } => None,
        }
    }

    /// The files that this run wrote, in order; of a journal beside a fixture, with what it names of a killed run's
    /// trail.
    #[must_use]
    pub fn segments(&self) -> Vec<PathBuf> {
        match &self.kind {
            JournalKind::Trail { trail, .. } => trail.segments.clone(),
            JournalKind::Fixture { pending } => {
                [self.path()].into_iter().chain(pending.iter().map(PathBuf::as_path)).map(Path::to_path_buf).collect()
            }
        }
    }

    /// The end of the chain, of a trail. A copy kept elsewhere proves later that nothing before it was changed.
    #[must_use]
    pub fn head(&self) -> Option<&ChainHead> {
        match &self.kind {
            JournalKind::Trail { trail, .. } => Some(&trail.head),
            JournalKind::Fixture { .. } => None,
        }
    }

    /// What stops writing to a trail while it is set, because its folder holds as much as it may.
    #[must_use]
    pub fn full(&self) -> Option<Arc<AtomicBool>> {
        match &self.kind {
            JournalKind::Trail { trail, .. } => Some(Arc::clone(&trail.full)),
            JournalKind::Fixture { .. } => None,
        }
    }

    /// Why the trail that was opened is not the one of which heads were kept, if so.
    #[must_use]
    pub fn doubt(&self) -> Option<&str> {
        match &self.kind {
            JournalKind::Trail { trail, .. } => trail.doubt.as_deref(),
            JournalKind::Fixture { .. } => None,
        }
    }

    /// What encodes entries for this journal on a thread of its own; [`Self::take`] takes them.
    #[must_use]
    pub fn encoder(&self) -> Encoder {
        self.encoder.another()
    }

    /// Encodes an entry, and adds it to the batch.
    pub fn add(&mut self, judged: &Redacted<JudgedExchange>, attested: Option<&Attested>) {
        self.encoder.encode(judged, attested, &mut self.batch);
    }

    /// Adds entries to the batch; `more` is empty then.
    pub fn take(&mut self, more: &mut EntryBatch) {
        self.batch.append(more);
    }

    /// Gives the batch to the kernel, in one write.
    ///
    /// # Errors
    ///
    /// The system's. The batch is dropped and what got into the file of it is taken back, so that the journal stays
    /// usable. The next batch that can be written begins with a line that states how many exchanges were dropped.
    pub fn write(&mut self) -> io::Result<()> {
        if self.batch.lines.is_empty() && self.unrecorded.is_none() {
            return Ok(());
        }
        if let Some(unrecorded) = &self.unrecorded {
            let mut line = Vec::new();
            unrecorded.write(&mut line);
            self.batch.digests.insert(0, line_digest(&line));
            self.batch.lines.splice(0..0, line);
        }
        let written = self.write_batch();
        let batched = self.batch.clear();
        if written.is_err() {
            if let Some(batched) = batched {
                unrecorded::add(&mut self.unrecorded, batched);
            }
        } else {
            self.unrecorded = None;
        }
        written?;
        self.rotate_if_full();
        Ok(())
    }

    fn write_batch(&mut self) -> io::Result<()> {
        if self.file.wants_look() {
            self.ensure()?;
        }
        let Self { file, kind, batch, .. } = self;
        let JournalKind::Trail { trail, .. } = kind else { return file.append(&batch.lines) };
        trail.refuses()?;
        let mut head = trail.head.clone();
        head.link(std::mem::take(&mut batch.digests), &mut batch.lines);
        file.append(&batch.lines)?;
        trail.head = head;
        Ok(())
    }

    /// Goes on in a new segment of the trail if the present one is full; in the old one if none can be made.
    fn rotate_if_full(&mut self) {
        let JournalKind::Trail { trail, fixture } = &mut self.kind else { return };
        if !trail.is_full(self.file.length()) {
            return;
        }
        match trail.next_segment() {
            Ok(next) => {
                self.file.go_on_in(next);
                if let Some(Err(error)) = fixture.as_ref().map(|fixture| pending::note(fixture, self.file.path())) {
                    let why = "if contrail is killed now, the next start will not find the new segment";
                    self.alarms.push(format!("{why}: {error}"));
                }
            }
            Err(error) => {
                self.alarms.push(format!("cannot start a new segment; contrail still writes to the full one: {error}"));
            }
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
        if let JournalKind::Trail { trail, .. } = &mut self.kind {
            self.alarms.extend(trail.keep_head()?);
        }
        Ok(())
    }

    /// Checks that the file is still at its path. A removed file is created again with its full content; the
    /// [alarms](Self::alarms) report it.
    ///
    /// # Errors
    ///
    /// It cannot be created again, or another file has taken its place.
    pub fn ensure(&mut self) -> io::Result<()> {
        let lock = || match &mut self.kind {
            JournalKind::Trail { trail, .. } => trail.lock_again(),
            JournalKind::Fixture { .. } => Ok(()),
        };
        if self.file.ensure(lock)? {
            let path = self.file.path().display();
            let alarm = format!("`{path}` was removed during the run; contrail created it again with all its entries");
            self.alarms.push(alarm);
        }
        Ok(())
    }
}
