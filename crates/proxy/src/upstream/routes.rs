//! The upstreams of a proxy, and others by their origin: what a forward proxy opens besides the upstreams.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use contrail_exchange::{self as exchange, Target};

use super::{
    Answer, AnswerFuture, ClientOrigin, Failure, FailureKind, Origin, Request, Upstream,
    live::{self, Live},
};

/// Maximum further origins that are remembered; beyond it all are forgotten.
const MAX_ORIGINS: usize = 256;

/// Sends each request to the upstream of its target.
pub struct Routes {
    upstreams: Vec<(Origin, Arc<dyn Upstream>)>,
    others: Mutex<HashMap<String, Arc<Live>>>,
    access: live::Access,
    limits: live::Limits,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes").field("upstreams", &self.upstreams).finish_non_exhaustive()
    }
}

impl Routes {
    /// Requests for the origin of one of `upstreams` go there, others to a live upstream of their own, reached as
    /// `access` says.
    #[must_use]
    pub fn new(upstreams: Vec<(Origin, Arc<dyn Upstream>)>, access: live::Access, limits: live::Limits) -> Self {
        Self { upstreams, others: Mutex::default(), access, limits }
    }

    /// The upstream that has this origin.
    fn of(&self, target: &Target) -> Option<&Arc<dyn Upstream>> {
        let is = |origin: &Origin| *target.authority == *origin.authority && *target.scheme == *origin.scheme();
        self.upstreams.iter().find(|(origin, _)| is(origin)).map(|(_, upstream)| upstream)
    }

    fn other(&self, origin: &str) -> Result<Arc<Live>, Failure> {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = others.get(origin) {
            return Ok(Arc::clone(live));
        }
        let unreachable = |cause: &dyn fmt::Display| {
            Failure::new(FailureKind::Unreachable, format!("cannot reach {origin}: {cause}"))
        };
        let parsed: Origin = origin.parse().map_err(|error| unreachable(&error))?;
        let live = Live::new(parsed, self.access.clone(), self.limits).map_err(|error| unreachable(&error))?;
        let live = Arc::new(live);
        if others.len() >= MAX_ORIGINS {
            others.clear();
        }
        others.insert(origin.to_owned(), Arc::clone(&live));
        Ok(live)
    }
}

impl Upstream for Routes {
    fn answer(&self, request: Request) -> AnswerFuture<'_> {
        if let Some(upstream) = self.of(&request.target) {
            return upstream.answer(request);
        }
        Box::pin(async move {
            let live = self.other(&request.target.origin())?;
            live.answer(request).await
        })
    }

    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        let mut options = Vec::new();
        for (_, upstream) in &self.upstreams {
            options.extend(upstream.reload_certificates()?);
        }
        for other in self.others.lock().unwrap_or_else(PoisonError::into_inner).values() {
            options.extend(other.reload_certificates()?);
        }
        options.sort_unstable();
        options.dedup();
        Ok(options)
    }

    fn answer_from_memory(&self, request: &mut exchange::Request, called: Option<&ClientOrigin>) -> Option<Answer> {
        self.of(&request.target)?.answer_from_memory(request, called)
    }
}
