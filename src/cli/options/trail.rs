//! The audit trail that a proxy keeps.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    sync::PoisonError,
};

use super::{Format, values::size};
use crate::{
    cli::{
        Failure,
        messages::{lacking, quoted},
        report_files::Used,
        summary,
    },
    pipeline,
    plural::plural,
    recording::{Journal, JournalContext, TrailOptions},
    redact::Redactor,
};

/// Where the audit journal is kept
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Audit trail")]
pub struct TrailArgs {
    /// Keep the journal in this folder as an audit trail: segments with a hash chain
    #[arg(long, value_name = "DIR")]
    pub trail: Option<PathBuf>,
    /// Maximum size of a trail segment
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = size::<u64>)]
    pub trail_segment: u64,
    /// Append the head of the trail's hash chain to this file at the start, at each new segment and at the end; writers
    /// of the trail should not have write access to it
    #[arg(long, value_name = "FILE")]
    pub head_to: Option<PathBuf>,
    /// Complete a response only after its entry is on disk; 503 while the journal cannot be written
    #[arg(long)]
    pub durable: bool,
}

impl TrailArgs {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(in crate::cli) fn lacking(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        (self.trail.is_none() && typed("head-to")).then(|| lacking("head-to", "--trail DIR"))
    }

    /// The files that a trail writes.
    pub(in crate::cli) fn uses(&self, used: &mut Used) {
        if let Some(folder) = &self.trail {
            used.tree("trail", folder);
        }
        used.files("head file", &self.head_to);
    }

    /// The command that checks the trail, held to the heads that were kept of it.
    pub(in crate::cli) fn verifying(&self) -> Option<String> {
        let trail = quoted(self.trail.as_deref()?);
        Some(match self.head_to.as_deref().filter(|heads| heads.is_file()) {
            Some(heads) => format!("contrail verify {trail} --head {}", quoted(heads)),
            None => format!("contrail verify {trail}"),
        })
    }

    /// Opens the trail, if there is to be one.
    pub(in crate::cli) fn open(
        &self,
        context: impl FnOnce() -> JournalContext,
        format: Format,
    ) -> Result<Option<Journal>, Failure> {
        let Some(folder) = &self.trail else { return Ok(None) };
        let options = TrailOptions { segment: self.trail_segment, head_to: self.head_to.clone() };
        let (journal, leftover) = Journal::open_trail(folder, context(), &options)?;
        if let Some(alarm) = journal.doubt() {
            summary::event(format, "alarm", alarm, &format!("ALARM: {alarm}"));
        }
        if leftover.torn > 0 {
            let (folder, bytes) = (folder.display(), plural(leftover.torn, "byte"));
            let lines = format!(
                "dropped a torn last line from the last segment of `{folder}` ({bytes}): contrail was killed while it wrote the exchange"
            );
            summary::event(format, "torn", leftover.torn, &lines);
        }
        Ok(Some(journal))
    }

    /// Ends the trail, if this is one: keeps its head elsewhere, and counts the entries that hold a secret that was
    /// recognised later. Returns the lines for the summary.
    pub(in crate::cli) fn end(
        &self,
        journal: &pipeline::SharedJournal,
        redactor: &Redactor,
        counts: &mut pipeline::Counts,
    ) -> summary::Rows {
        let Some(folder) = &self.trail else { return Vec::new() };
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        // What could not be written before may fit now.
        if let Err(error) = journal.write() {
            counts.journal_error.get_or_insert(error.to_string());
        }
        let mut lines: summary::Rows = vec![("trail", folder.display().to_string().into())];
        lines.extend(journal.head().map(|head| ("head of its chain", head.hash.clone().into())));
        if let Err(error) = journal.ensure() {
            counts.journal_error.get_or_insert(error.to_string());
        }
        counts.trail_error = journal.doubt().map(str::to_owned);
        counts.head_error = journal.keep_head().err().map(|error| error.with_cause());
        let alarms = journal.alarms();
        if !alarms.is_empty() {
            lines.push(("ALARM", alarms.join("; ").into()));
        }
        (counts.late, counts.reread_error) = late(&journal.segments(), redactor);
        lines
    }
}

/// How many entries hold a secret that was recognised after they were written; also the first segment that cannot be
/// read again, with the cause.
fn late(segments: &[PathBuf], redactor: &Redactor) -> (u64, Option<String>) {
    let (mut late, mut unread) = (0, None);
    for segment in segments {
        if let Err(error) = late_in(segment, redactor, &mut late) {
            unread.get_or_insert_with(|| format!("`{}`: {error}", segment.display()));
        }
    }
    (late, unread)
}

fn late_in(segment: &Path, redactor: &Redactor, late: &mut u64) -> io::Result<()> {
    for line in BufReader::new(File::open(segment)?).split(b'\n') {
        *late += u64::from(!redactor.scan(&line?).is_empty());
    }
    Ok(())
}
