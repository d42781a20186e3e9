//! Clocks, timers and copying between sockets: what the proxy and the live upstream share.

pub(crate) mod clock;
pub(crate) mod pass_on;
pub(crate) mod timer;
