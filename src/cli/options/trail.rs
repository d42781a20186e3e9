//! The audit trail that a proxy keeps.

use std::{
    ffi::OsString,
    fmt,
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    sync::PoisonError,
    time::Duration,
};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use contrail_exchange::plural::plural;
use contrail_fleet::{self as fleet, Buffer, Forwarder, RemoteUrl, UrlError};
use contrail_pipeline as pipeline;
use contrail_recording::{Journal, JournalContext, TrailOptions, WriteError};
use contrail_redact::Redactor;
use contrail_report::Reason;

use super::{Format, values::size};
use crate::cli::{
    Failure,
    messages::{lacking, quoted},
    report_files::Used,
    signals::end_asked,
    summary,
};

/// Where the audit journal is kept
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Audit trail")]
pub struct TrailArgs {
    /// Keep the journal as an audit trail, segments with a hash chain, in this folder, or beyond this machine:
    /// `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, `file:///FOLDER` or `nats://HOST/STREAM` (needs the feature `fleet`)
    #[arg(long, value_name = "DIR|URL", value_parser = OsStringValueParser::new().try_map(TrailTarget::parse))]
    pub trail: Option<TrailTarget>,
    /// Folder where a trail beyond this machine waits for its upload, one for each proxy [default: one of the URL's own
    /// in `$XDG_STATE_HOME/contrail/trails` or `~/.local/state/contrail/trails`]
    #[arg(long, value_name = "DIR")]
    pub trail_buffer: Option<PathBuf>,
    /// Maximum size of that folder; beyond it, exchanges are not recorded, as on a full disk
    #[arg(long, value_name = "BYTES", default_value = "10GiB", value_parser = size::<u64>)]
    pub trail_buffer_size: u64,
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
        if self.trail.is_none() && typed("head-to") {
            return Some(lacking("head-to", "--trail DIR"));
        }
        let Some(TrailTarget::Remote(url)) = &self.trail else {
            let mut idle = ["trail-buffer", "trail-buffer-size"].into_iter().filter(|option| typed(option));
            return idle.next().map(|option| lacking(option, "--trail URL"));
        };
        if !fleet::IS_BUILT {
            return Some(format!("`--trail {url}` {}", fleet::NOT_BUILT));
        }
        let lost = "no folder for the buffer of --trail: neither XDG_STATE_HOME nor HOME is set; name one with --trail-buffer DIR";
        self.folder().is_none().then(|| lost.to_owned())
    }

    /// The folder that the trail is written to.
    pub(in crate::cli) fn folder(&self) -> Option<PathBuf> {
        match self.trail.as_ref()? {
            TrailTarget::Folder(folder) => Some(folder.clone()),
            TrailTarget::Remote(url) => self.trail_buffer.clone().or_else(|| fleet::buffer_of(url)),
        }
    }

    /// The files that a trail writes.
    pub(in crate::cli) fn uses(&self, used: &mut Used) {
        if let Some(folder) = self.folder() {
            used.tree("trail", &folder);
        }
        used.files("head file", &self.head_to);
    }

    /// The command that checks the trail, held to the heads that were kept of it.
    pub(in crate::cli) fn verifying(&self) -> Option<String> {
        let trail = quoted(self.trail.as_ref()?.to_string().as_ref());
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
        let Some(folder) = self.folder() else { return Ok(None) };
        let destination = match &self.trail {
            Some(TrailTarget::Remote(url)) => Some(url.to_string()),
            _ => None,
        };
        let options = TrailOptions { segment: self.trail_segment, head_to: self.head_to.clone(), destination };
        let opened = Journal::open_trail(&folder, context(), &options);
        let (journal, leftover) = opened.map_err(|error| self.taken(error))?;
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
        if leftover.adopted > 0 {
            let (folder, lines) = (folder.display(), plural(leftover.adopted as u64, "line"));
            let text = format!(
                "adopted {lines} at the end of `{folder}` that no link of its chain covers: contrail was killed before \
                 it wrote the link, or somebody added them"
            );
            summary::event(format, "adopted", leftover.adopted, &text);
        }
        Ok(Some(journal))
    }

    /// What another proxy's lock on the folder means where that is a buffer.
    fn taken(&self, error: WriteError) -> Failure {
        match (&self.trail, &error) {
            (Some(TrailTarget::Remote(url)), WriteError::Locked { path }) => format!(
                "another contrail writes its trail to {url} through `{}`; name another folder with --trail-buffer DIR",
                path.display()
            )
            .into(),
            _ => error.into(),
        }
    }

    /// Begins to bring the trail beyond this machine, if it is to go there. While the journal `held_by` exists, which
    /// names the trail's segments, all of them also stay here.
    pub(in crate::cli) fn forward(
        &self,
        journal: &Journal,
        held_by: Option<PathBuf>,
    ) -> Result<Option<Forwarder>, Failure> {
        let Some((TrailTarget::Remote(url), folder)) = self.trail.as_ref().zip(self.folder()) else { return Ok(None) };
        let head = journal.head();
        let buffer = Buffer {
            url: url.clone(),
            folder,
            trail: head.map(|head| head.trail.clone()).unwrap_or_default(),
            limit: self.trail_buffer_size,
            full: journal.full().unwrap_or_default(),
            held_by,
            durable: self.durable,
        };
        Ok(Some(Forwarder::begin(&buffer)?))
    }

    /// Brings the rest of the trail beyond this machine, for at most this time, and until a signal. Adds a line about it,
    /// and a reason if something is left.
    pub(in crate::cli) fn forwarded(
        &self,
        forwarder: Option<&Forwarder>,
        patience: Duration,
        rows: &mut summary::Rows,
        undone: &mut Vec<Reason>,
    ) {
        let Some((forwarder, folder)) = forwarder.zip(self.folder()) else { return };
        let fleet::Ended { waiting, reasons } = forwarder.end(patience, &end_asked());
        if waiting > 0 {
            let (folder, waiting) = (quoted(&folder), plural(waiting, "byte"));
            rows.push(("not uploaded yet", format!("{waiting} in {folder}; the next start tries again").into()));
        }
        if waiting > 0 || !reasons.is_empty() {
            undone.push(Reason::new("not-uploaded", "the trail was not uploaded whole", reasons.join("; ")));
        }
    }

    /// Ends the trail, if this is one: keeps its head elsewhere, and counts the entries that hold a secret that was
    /// recognised later. Returns the lines for the summary.
    pub(in crate::cli) fn end(
        &self,
        journal: &pipeline::SharedJournal,
        redactor: &Redactor,
        counts: &mut pipeline::Counts,
    ) -> summary::Rows {
        let Some(target) = &self.trail else { return Vec::new() };
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        // What could not be written before may fit now.
        if let Err(error) = journal.write() {
            counts.journal_error.get_or_insert(error.to_string());
        }
        let mut lines: summary::Rows = vec![("trail", target.to_string().into())];
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
        let mut segments = journal.segments();
        if let TrailTarget::Remote(_) = target {
            // What is elsewhere by now may be gone here.
            let written = segments.len();
            segments.retain(|segment| segment.exists());
            let gone = written - segments.len();
            lines.extend((gone > 0).then(|| ("uploaded segments, not searched again for secrets", gone.into())));
        }
        (counts.late, counts.reread_error) = late(&segments, redactor);
        lines
    }
}

/// Where a trail goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrailTarget {
    /// A folder.
    Folder(PathBuf),
    /// Beyond this machine.
    Remote(RemoteUrl),
}

impl TrailTarget {
    fn parse(value: OsString) -> Result<Self, UrlError> {
        match value.to_str() {
            Some(text) if text.contains("://") || RemoteUrl::is_meant(text.as_ref()) => text.parse().map(Self::Remote),
            _ => Ok(Self::Folder(value.into())),
        }
    }
}

impl fmt::Display for TrailTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Remote(url) => url.fmt(f),
        }
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
