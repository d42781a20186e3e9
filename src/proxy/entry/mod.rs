//! How a connection comes in: listeners, TLS, the forward proxy's CONNECT, event loops.

pub mod authority;
pub mod forward;
pub(super) mod intercept;
pub mod listener;
pub mod tls;
pub mod workers;
