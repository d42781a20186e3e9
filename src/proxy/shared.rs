//! What all connections of a proxy share.

use std::sync::{Arc, OnceLock, atomic::AtomicUsize};

use http::HeaderValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Observer, Settings,
    capture::{Budget, Copy},
};
use crate::upstream::{Failure, FailureKind, Kind, Upstream};

/// A proxy: settings, the upstream that answers, and the observer that listens. Shared by all its connections.
#[derive(Debug)]
pub struct Proxy {
    pub(super) settings: Settings,
    pub(super) host: HeaderValue,
    /// Connections that are still free, over all listeners.
    pub(super) slots: Arc<Semaphore>,
    /// Requests that may go to the upstream besides those that are there.
    pub(super) turns: Arc<Semaphore>,
    pub(super) captured: Budget,
    /// How many exchanges are in progress.
    pub(super) exchanges: AtomicUsize,
    /// Why exchanges in progress are cut, once contrail does that.
    pub(super) cut: OnceLock<&'static str>,
    pub(super) upstream: Arc<dyn Upstream>,
    /// The upstream is [`Kind::Live`].
    pub(super) is_live: bool,
    pub(super) observer: Arc<dyn Observer>,
}

impl Proxy {
    /// Puts the parts together.
    ///
    /// # Errors
    ///
    /// If the upstream's authority cannot stand in a Host header.
    pub fn new(
        settings: Settings,
        upstream: Arc<dyn Upstream>,
        observer: Arc<dyn Observer>,
    ) -> Result<Arc<Self>, http::header::InvalidHeaderValue> {
        let host = HeaderValue::from_str(&settings.authority)?;
        let slots = Arc::new(Semaphore::new(settings.max_connections.min(Semaphore::MAX_PERMITS)));
        let turns = Arc::new(Semaphore::new(settings.max_upstream.min(Semaphore::MAX_PERMITS)));
        let captured = Budget::new(settings.max_captured);
        Ok(Arc::new(Self {
            settings,
            host,
            slots,
            turns,
            captured,
            exchanges: AtomicUsize::new(0),
            cut: OnceLock::new(),
            is_live: upstream.kind() == Kind::Live,
            upstream,
            observer,
        }))
    }

    /// Exchanges in progress are about to be cut; `reason` is what is recorded of each.
    pub fn cutting(&self, reason: &'static str) {
        let _ = self.cut.set(reason);
    }

    /// An empty copy of a body.
    pub(super) fn copy(&self) -> Copy {
        Copy::new(self.settings.max_capture, self.captured.clone())
    }

    /// A place among the requests that are with the upstream, where they are counted, if one comes free in time.
    pub(super) async fn turn(&self) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if !self.is_live {
            return Ok(None);
        }
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Ok(Some(turn));
        }
        let waiting = Box::pin(tokio::time::timeout(self.settings.turn, Arc::clone(&self.turns).acquire_owned()));
        match waiting.await {
            Ok(Ok(turn)) => Ok(Some(turn)),
            Ok(Err(_)) | Err(_) => {
                let seconds = self.settings.turn.as_secs_f32();
                let cause = format!("as many requests as --max-upstream were with the upstream for {seconds} s");
                Err(Failure::new(FailureKind::Busy, cause))
            }
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
