//! The outbound policy of a proxy: no peer, or its upstreams and the hosts that it intercepts.

use std::{fmt, sync::Arc};

use contrail_exchange::{TENANT_NAME, Target, named_host};
use contrail_proxy::{
    HostPort,
    upstream::{Origin, live, own::OwnAddresses},
};

/// Where a proxy may open connections to.
#[derive(Debug, Clone)]
pub enum OutboundPolicy {
    /// Nowhere: whatever is intercepted is answered from memory.
    Memory,
    /// To the upstreams and to intercepted hosts.
    Anywhere {
        /// How they are reached.
        access: Box<live::Access>,
        /// Where connections for each upstream lead first.
        first: Vec<FirstHop>,
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
    /// Where connections for each upstream lead first.
    pub(super) fn first(&self) -> &[FirstHop] {
        match self {
            Self::Memory => &[],
            Self::Anywhere { first, .. } => first,
        }
    }
}

/// An upstream as clients of a proxy call it.
#[derive(Debug, Clone)]
pub(super) struct UpstreamSite {
    /// Its name; the tenant has none.
    pub(super) name: Option<Arc<str>>,
    /// Where its requests go.
    pub(super) origin: Origin,
    /// By which host clients of the forward proxy call it.
    pub(super) called: HostPort,
}

impl UpstreamSite {
    pub(super) fn new(name: Option<Arc<str>>, origin: Origin) -> Self {
        let called = HostPort { host: origin.host.to_string(), port: origin.port };
        Self { name, origin, called }
    }

    /// The same as a recording names it: the tenant as `https://tenant.example`.
    pub(super) fn recorded(name: &str) -> Self {
        let host: Arc<str> = named_host(name).into();
        let origin = Origin { https: true, host: Arc::clone(&host), port: 443, authority: host };
        Self::new((name != TENANT_NAME).then(|| name.into()), origin)
    }

    /// Without a path.
    pub(super) fn target(&self) -> Target {
        let target = Target::new(self.origin.scheme(), Arc::clone(&self.origin.authority), "");
        Target { upstream: self.name.clone(), ..target }
    }

    /// Its name, where one is needed.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(TENANT_NAME)
    }
}

/// As `--upstream` has it.
impl fmt::Display for UpstreamSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.iter().try_for_each(|name| write!(f, "{name}="))?;
        write!(f, "{}", self.origin)
    }
}

/// Where a proxy stands: its upstreams, its own addresses, and how far it reaches.
#[derive(Debug)]
pub(super) struct Site<'a> {
    pub(super) upstreams: &'a [UpstreamSite],
    pub(super) own: OwnAddresses,
    pub(super) outbound: &'a OutboundPolicy,
}
