//! The proxy: listeners, limits, hop-by-hop headers, the capture of an exchange. It sees neither contracts nor files.
//!
//! A connection is anything that reads and writes ([`entry::listener::serve_connection`]); a request on it is forwarded by
//! [`reverse`], whatever kind of listener it came through. What went by is handed to an [`Observer`] as an
//! [`Exchange`], and the *end* of the response waits until the observer has written it down: what a client has whole,
//! the journal has. Everything before the end streams; where the upstream's head and end came in one, they leave in one
//! write, and nothing is waited for but the write of the journal in the same turn of the event loop.

mod capture;
pub mod entry;
mod host;
mod observer;
mod settings;
mod shared;
mod shutdown;
pub mod transfer;
mod tunnel;
mod wire;
pub mod workers;

pub use self::{
    host::HostPort,
    observer::{Ended, Holds, Observer, Written},
    settings::{Audience, Settings},
    shared::Proxy,
};
