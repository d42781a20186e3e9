//! The proxy on raw sockets: what passes, what waits, what is refused, and what the observer hears.

pub mod bench;
mod bounds;
mod broken;
mod passing;
mod tls;
