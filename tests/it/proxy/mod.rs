//! The proxy on raw sockets: what passes, what waits, what is refused, and what the observer hears.

mod bounds;
mod broken;
pub mod harness;
mod passing;
mod tls;
