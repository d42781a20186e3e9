//! State that all connections of a proxy share.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use http::header::InvalidHeaderValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Observer, Settings,
    capture::{BodyCapture, Budget},
};
use crate::{
    metrics::Gauges,
    transfer::destination::Destination,
    upstream::{Failure, FailureKind, ReverseListener, Upstream, UpstreamKind},
};

/// A proxy: settings, the upstream that answers, and the observer that listens. Shared by all its connections.
#[derive(Debug)]
pub struct Proxy {
    pub(super) settings: Settings,
    /// Where requests for each upstream go.
    pub(super) upstreams: Vec<Destination>,
    /// The reverse listeners of several upstreams.
    pub(super) reverse: OnceLock<Arc<[ReverseListener]>>,
    /// Permits for further connections, over all listeners.
    pub(super) connection_permits: Arc<Semaphore>,
    /// Permits for further requests to the upstream.
    pub(super) upstream_permits: Arc<Semaphore>,
    pub(super) captured: Budget,
    /// Exchanges in progress.
    pub(super) exchanges: AtomicUsize,
    /// Why exchanges in progress are cut, once contrail does that.
    pub(super) cut: OnceLock<&'static str>,
    pub(super) upstream: Arc<dyn Upstream>,
    /// The upstream is [`UpstreamKind::Live`].
    pub(super) is_live: bool,
    pub(super) observer: Arc<dyn Observer>,
}

impl Proxy {
    /// Puts the parts together.
    ///
    /// # Errors
    ///
    /// If an upstream's authority cannot stand in a Host header.
    pub fn new(
        settings: Settings,
        upstream: Arc<dyn Upstream>,
        observer: Arc<dyn Observer>,
    ) -> Result<Arc<Self>, InvalidHeaderValue> {
        let upstreams = settings.upstreams.iter().map(Destination::upstream).collect::<Result<_, _>>()?;
        let connection_permits = Arc::new(Semaphore::new(settings.max_connections.min(Semaphore::MAX_PERMITS)));
        let upstream_permits = Arc::new(Semaphore::new(settings.max_upstream.min(Semaphore::MAX_PERMITS)));
        let captured = Budget::new(settings.max_captured);
        Ok(Arc::new(Self {
            settings,
            upstreams,
            reverse: OnceLock::new(),
            connection_permits,
            upstream_permits,
            captured,
            exchanges: AtomicUsize::new(0),
            cut: OnceLock::new(),
            is_live: upstream.kind() == UpstreamKind::Live,
            upstream,
            observer,
        }))
    }

    /// Lets clients of one upstream find the others: by scheme, place of the upstream and port of each reverse listener.
    pub fn opened(&self, listeners: impl Iterator<Item = (&'static str, usize, u16)>) {
        let upstreams = &self.settings.upstreams;
        if upstreams.len() > 1 {
            let of = |(scheme, place, port): (_, usize, _)| {
                Some(ReverseListener { upstream: upstreams.get(place)?.clone(), scheme, port })
            };
            let _ = self.reverse.set(listeners.filter_map(of).collect());
        }
    }

    /// Exchanges in progress are about to be cut; `reason` is what is recorded of each.
    pub fn cutting(&self, reason: &'static str) {
        let _ = self.cut.set(reason);
    }

    /// An empty copy of a body.
    pub(super) fn body_capture(&self) -> BodyCapture {
        BodyCapture::new(self.settings.max_capture, self.captured.clone())
    }

    /// A permit for a request to a live upstream, within `permit_timeout`.
    pub(super) async fn upstream_permit(&self) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if !self.is_live {
            return Ok(None);
        }
        if let Ok(permit) = Arc::clone(&self.upstream_permits).try_acquire_owned() {
            return Ok(Some(permit));
        }
        let waiting = Box::pin(tokio::time::timeout(
            self.settings.permit_timeout,
            Arc::clone(&self.upstream_permits).acquire_owned(),
        ));
        match waiting.await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            Ok(Err(_)) | Err(_) => {
                let seconds = self.settings.permit_timeout.as_secs_f32();
                let cause = format!("as many requests as --max-upstream were with the upstream for {seconds} s");
                Err(Failure::new(FailureKind::Busy, cause))
            }
        }
    }

    /// Who answers.
    #[must_use]
    pub fn upstream(&self) -> Arc<dyn Upstream> {
        Arc::clone(&self.upstream)
    }

    /// What is in use at present.
    #[must_use]
    pub fn in_use(&self) -> Gauges {
        let max = self.settings.max_connections.min(Semaphore::MAX_PERMITS);
        Gauges {
            connections: max.saturating_sub(self.connection_permits.available_permits()) as u64,
            max_connections: max as u64,
            exchanges: self.exchanges.load(Ordering::Relaxed) as u64,
            captured: self.settings.max_captured.saturating_sub(self.captured.left()) as u64,
            ..Gauges::default()
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
