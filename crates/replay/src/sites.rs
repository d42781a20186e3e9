//! Sites: what the tenant is called, and whose a host is. Every other upstream, and every other host that was recorded,
//! is a site of its own.

use contrail_exchange::{TENANT_NAME, Target, is_upstream_name, named_host};

/// What the tenant is called beside `tenant.example`, as host and port.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The upstream's.
    pub upstream: Option<String>,
    /// Hosts that are the tenant's unless they are recorded.
    pub intercepted: Vec<String>,
    /// Intercepted hosts are none of the tenant's, recorded or not.
    pub apart: bool,
    /// The names of the upstreams, if one has a name. Where there are several, no host is taken for one that no option
    /// and no recording names.
    pub upstreams: Vec<String>,
}

/// What a request's site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownSite {
    Tenant,
    /// Another host that is recorded, or would be.
    Recorded,
    /// Neither recorded nor named.
    Unknown,
}

impl Names {
    /// Of origins.
    pub fn new<'a>(upstream: Option<&str>, intercepted: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            upstream: upstream.and_then(host_of),
            intercepted: intercepted.into_iter().filter_map(host_of).collect(),
            ..Self::default()
        }
    }

    /// Whether there are several upstreams.
    pub(super) fn are_several(&self) -> bool {
        self.upstreams.len() > 1
    }

    /// The name of the upstream of this site, if it is one and has a name.
    pub(super) fn upstream_of<'a>(&'a self, site: &str) -> Option<&'a str> {
        let host = site.strip_suffix(":443")?;
        let mut named = self.upstreams.iter().filter(|name| *name != TENANT_NAME);
        named.find(|name| named_host(name) == host).map(String::as_str)
    }

    /// Whether this host is one of the tenant's, if nothing is recorded under its own name.
    pub(super) fn are_the_tenants(&self, site: &str) -> bool {
        let is_intercepted = || self.intercepted.iter().any(|name| name == site);
        self.upstream.as_deref() == Some(site) || !self.apart && is_intercepted()
    }
}

/// The name of the upstream that recordings call by this site, if it has one.
pub(super) fn upstream_at(site: &str) -> Option<&str> {
    site.strip_suffix(":443")?.strip_suffix(&*named_host("")).filter(|name| is_upstream_name(name))
}

/// Host and port of an origin.
pub(super) fn host_of(origin: &str) -> Option<String> {
    let (scheme, authority) = origin.split_once("://")?;
    Some(Target::new(scheme, authority, "/").host_and_port())
}
