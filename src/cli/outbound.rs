//! The outbound policy of a proxy: no peer, or its upstream and the hosts that it intercepts.

use contrail_proxy::upstream::{Origin, live, own::OwnAddresses};

/// Where a proxy may open connections to.
#[derive(Debug, Clone)]
pub enum OutboundPolicy {
    /// Nowhere: whatever is intercepted is answered from memory.
    Memory,
    /// To the upstream and to intercepted hosts.
    Anywhere {
        /// How they are reached.
        access: Box<live::Access>,
        /// Where connections for the upstream lead first.
        first: FirstHop,
    },
}

/// Where connections for the upstream lead first.
#[derive(Debug, Clone)]
pub enum FirstHop {
    /// Nowhere: the embedded tenant answers.
    Nothing,
    /// The upstream itself, so its name is looked up here.
    Upstream,
    /// A proxy, which looks the upstream's name up.
    Proxy(live::Via),
}

impl OutboundPolicy {
    /// Where connections for the upstream lead first.
    pub(super) fn first(&self) -> &FirstHop {
        match self {
            Self::Memory => &FirstHop::Nothing,
            Self::Anywhere { first, .. } => first,
        }
    }
}

/// Where a proxy stands: the upstream's origin, its own addresses, and how far it reaches.
#[derive(Debug)]
pub(super) struct Site<'a> {
    pub(super) origin: Origin,
    pub(super) own: OwnAddresses,
    pub(super) outbound: &'a OutboundPolicy,
}
