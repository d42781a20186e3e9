//! What stands around a client's socket: strict HTTP/1 framing, time limits, informational responses.

mod chunk;
pub(super) mod frames;
mod head;
pub(super) mod interim;
mod line;
pub(super) mod rarely;
pub(super) mod rewind;
pub(super) mod stall;
pub(super) mod state;
pub(super) mod strict;
