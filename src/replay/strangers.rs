//! Which hosts are the tenant's, where clients keep the tenant's own address and no option names it.
//!
//! A fixture calls the tenant `tenant.example`, and matching goes by no host. So a host is the tenant's once a request
//! to it was answered from the recording, or was one that the tenant has (its method and path are recorded or
//! documented).

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use super::Replay;
use crate::{
    exchange::{Request, Target},
    recording::TENANT_ORIGIN,
};

/// Maximum hosts that are known as the tenant's.
const MAX_HOSTS: usize = 1000;

/// The hosts that are known as the tenant's, as `host:port`.
#[derive(Debug)]
pub struct Strangers(RwLock<HashSet<String>>);

impl Strangers {
    /// At first these origins are known, and the hosts that the recordings name.
    pub fn new<'a>(replay: &Replay, origins: impl IntoIterator<Item = &'a str>) -> Self {
        let origins = origins.into_iter().chain([TENANT_ORIGIN]);
        let named = origins.filter_map(|origin| {
            let (scheme, authority) = origin.split_once("://")?;
            Some(Target::new(scheme, authority, "/").host_and_port())
        });
        Self(RwLock::new(named.chain(replay.hosts().cloned()).collect()))
    }

    /// Whether this host is known as the tenant's.
    #[must_use]
    pub fn knows(&self, host: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(host)
    }

    /// A request to this host was answered.
    pub(super) fn learn(&self, target: &Target) {
        // Nearly all requests: those to the reverse listener.
        if TENANT_ORIGIN.strip_prefix("https://") == Some(&*target.authority) {
            return;
        }
        let host = target.host_and_port();
        if !self.knows(&host) {
            let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() < MAX_HOSTS {
                known.insert(host);
            }
        }
    }

    /// The host of a request that nothing answers, if it is none of the tenant's.
    pub(super) fn stranger(&self, replay: &Replay, request: &Request) -> Option<String> {
        let host = request.target.host_and_port();
        if self.knows(&host) {
            return None;
        }
        if replay.resembles(request) {
            self.learn(&request.target);
            return None;
        }
        Some(host)
    }
}
