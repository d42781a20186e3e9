//! How a connection comes in: accepting, TLS, routes of requests, the forward proxy's CONNECT.

pub mod authority;
pub(super) mod connection;
pub mod forward;
pub mod listener;
mod passthrough;
pub mod tls;
