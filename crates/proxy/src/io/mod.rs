//! Clocks, timers and copying between sockets: what the proxy and the live upstream share.

pub mod clock;
pub mod pass_on;
pub mod timer;
