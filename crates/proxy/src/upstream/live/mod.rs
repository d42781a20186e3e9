//! A live tenant: HTTP/1.1 or HTTP/2 over plain TCP or TLS, with a small pool of kept-alive connections.

mod client;
mod connect;
mod counted;
mod framing;
mod pool;
mod receiving;
mod retry;
mod sending;
mod settings;
mod tls;
mod via;

pub use self::{
    client::Live,
    pool::ClientConnection,
    settings::{Access, Http2, Limits},
    tls::SetupError,
    via::{Via, ViaError},
};
