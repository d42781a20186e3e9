//! The layers around a client's socket, below HTTP: strict HTTP/1 framing, time limits, informational responses.
//!
//! Each layer is an IO that wraps the next. From hyper down to the socket:
//!
//! ```text
//! hyper
//!   interim::Between    writes informational responses (1xx) while hyper writes nothing
//!   strict::Strict      scans HTTP/1 heads and framing
//!   rewind::Rewind      replays the first bytes, which were read to detect the protocol
//!   timers::Guarded     times heads and idle connections; half-closed clients
//!   (TLS)
//!   stall::Patient      times writes
//! TcpStream, or the inside of a CONNECT
//! ```
//!
//! The layers share a [`state::ConnectionState`]. Nothing here imports a module above this folder but `host` and
//! `tunnel`.

pub(super) mod chunk;
pub(super) mod fault;
pub(super) mod frames;
pub(super) mod head;
pub(super) mod informational;
pub(super) mod interim;
mod line;
pub(super) mod rewind;
pub(super) mod stall;
pub(super) mod state;
pub(super) mod strict;
pub(super) mod timers;
