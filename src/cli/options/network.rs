//! The options of a proxy that may need each other.

use super::{limits::ProxyArgs, trail::TrailArgs, upstream::UpstreamArgs};

/// The options of a proxy that may need each other.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Network<'a> {
    pub(in crate::cli) proxy: &'a ProxyArgs,
    pub(in crate::cli) upstream: &'a UpstreamArgs,
    pub(in crate::cli) trail: Option<&'a TrailArgs>,
}

impl Network<'_> {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(in crate::cli) fn lacking(self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let around_command = !self.proxy.command.is_empty();
        let listeners = self.proxy.listeners.misplaced(around_command, typed);
        listeners
            .or_else(|| self.upstream.lacking(typed))
            .or_else(|| self.trail.and_then(|trail| trail.lacking(typed)))
            .or_else(|| self.proxy.telemetry.lacking(typed))
    }
}
