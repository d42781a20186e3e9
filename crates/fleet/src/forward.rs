//! What brings a trail from its folder to the place that a URL names.

use std::{
    error::Error,
    fmt,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use contrail_pipeline::{self as pipeline, SharedJournal};
#[cfg(feature = "fleet")]
use contrail_recording::{is_noted_destination, note_destination};

use super::RemoteUrl;
#[cfg(feature = "fleet")]
use super::Scheme;

/// A trail's folder from which segments are brought elsewhere.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// Where to.
    pub url: RemoteUrl,
    /// The folder.
    pub folder: PathBuf,
    /// The id of the trail in it.
    pub trail: String,
    /// Maximum bytes of its segments.
    pub limit: u64,
    /// Set while they have more; the journal writes nothing then.
    pub full: Arc<AtomicBool>,
    /// A journal that names these segments; while it exists, all of them stay.
    pub held_by: Option<PathBuf>,
    /// A response waits until its entry is safe.
    pub durable: bool,
}

#[cfg(feature = "fleet")]
impl Buffer {
    /// Has the folder remember where its trail goes: one chain is never in two places. The place has taken a first object
    /// or connection by then, so that no folder is bound to a mistyped one, and nothing of the trail.
    pub(super) fn bind(&self) -> Result<(), FleetError> {
        note_destination(&self.folder, &self.url.to_string()).map_err(|error| FleetError(error.with_cause()))
    }

    /// Whether the place took something before, so that it is waited for where it cannot be reached now.
    pub(super) fn is_bound(&self) -> Result<bool, FleetError> {
        is_noted_destination(&self.folder, &self.url.to_string()).map_err(|error| FleetError(error.with_cause()))
    }
}

/// What is left in the folder at the end of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Bytes that are only there.
    pub waiting: u64,
    /// Why, and everything else that people have to know.
    pub reasons: Vec<String>,
}

/// Why a place could not be used: one sentence with what to do, never with a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetError(pub(super) String);

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for FleetError {}

/// Brings a trail to its place, as it is written.
pub(super) trait Forward: fmt::Debug + Send + Sync {
    /// The journal that the pipeline writes to.
    fn journal(&self, journal: SharedJournal) -> Box<dyn pipeline::Journal> {
        Box::new(journal)
    }

    /// Bytes that are only in the folder.
    fn waiting(&self) -> u64;

    /// How often it failed so far.
    fn failures(&self) -> u64;

    /// Brings what is left, for at most `patience`, and until `asked`. Nothing is written to the trail any more.
    fn end(&self, patience: Duration, asked: &AtomicBool) -> Ended;
}

/// Brings a trail to its place until it is [ended](Self::end).
#[derive(Debug, Clone)]
pub struct Forwarder(Arc<dyn Forward>);

impl Forwarder {
    /// Begins, after the place has taken a first small object or connection.
    ///
    /// # Errors
    ///
    /// The place refuses, or cannot be reached and took nothing of this buffer before.
    pub fn begin(buffer: &Buffer) -> Result<Self, FleetError> {
        begin(buffer).map(Self)
    }

    /// The journal that the pipeline writes to.
    #[must_use]
    pub fn journal(&self, journal: SharedJournal) -> Box<dyn pipeline::Journal> {
        self.0.journal(journal)
    }

    /// Bytes that are only in the folder.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.0.waiting()
    }

    /// How often it failed so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.0.failures()
    }

    /// Brings what is left, for at most `patience`, and until `asked` is true. Nothing is to be written to the trail any
    /// more.
    #[must_use]
    pub fn end(&self, patience: Duration, asked: &AtomicBool) -> Ended {
        self.0.end(patience, asked)
    }
}

#[cfg(feature = "fleet")]
fn begin(buffer: &Buffer) -> Result<Arc<dyn Forward>, FleetError> {
    match buffer.url.scheme() {
        Scheme::Nats => super::nats::begin(buffer),
        _ => Ok(Arc::new(super::store::Uploader::begin(buffer)?)),
    }
}

#[cfg(not(feature = "fleet"))]
fn begin(buffer: &Buffer) -> Result<Arc<dyn Forward>, FleetError> {
    Err(FleetError(format!("`{}` {}", buffer.url, super::NOT_BUILT)))
}

/// A local copy of what a URL names: a file, or a folder of files.
///
/// # Errors
///
/// The place refuses or cannot be reached, there is nothing of this name, or the copy cannot be written.
#[cfg(feature = "fleet")]
pub fn fetch(url: &RemoteUrl) -> Result<PathBuf, FleetError> {
    match url.scheme() {
        Scheme::Nats => super::nats::fetch(url),
        _ => super::store::fetch(url),
    }
}

/// A local copy of what a URL names; this contrail cannot make one.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "fleet"))]
pub fn fetch(url: &RemoteUrl) -> Result<PathBuf, FleetError> {
    Err(FleetError(format!("`{url}` {}", super::NOT_BUILT)))
}
