//! A strict HTTP proxy that reports each exchange to an [`Observer`]. It forwards to any [`upstream`] (the network,
//! recordings, a tenant in memory), and knows neither contracts nor files.
//!
//! `entry` accepts connections and decides where each request goes, `transfer` carries one request and its response,
//! and `wire` holds the layers around a client's socket. Imports point down that list, and to the files beside them.
//!
//! Each exchange goes to an [`Observer`]. The *end* of its response waits until the observer has written it: what a
//! client has whole, the journal has. Everything before the end streams. Where the upstream's head and end come in one
//! piece, they leave in one write.

mod capture;
pub mod entry;
mod host;
pub mod io;
pub mod metrics;
mod observer;
pub mod sessions;
mod settings;
mod shared;
mod shutdown;
pub mod side;
pub mod transfer;
mod tunnel;
pub mod upstream;
mod wire;
pub mod workers;

pub use self::transfer::endings::held_back;
pub use self::{
    host::HostPort,
    observer::{Committed, Completed, HoldPolicy, Observer},
    settings::{Audience, Settings},
    shared::Proxy,
};
