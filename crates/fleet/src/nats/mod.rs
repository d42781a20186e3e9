//! Trails in NATS JetStream: `nats://HOST/STREAM`.
//!
//! The trail is written to a folder first, as every trail is. A thread sends its lines to the stream, one message per
//! entry, and keeps account of what the broker acknowledged ([`begin`]). [`fetch`] writes the trails of a stream into
//! folders again, byte for byte, so that their chains prove what the broker gave.
//!
//! A message is published to `STREAM.TRAIL`, where `TRAIL` is the id in the trail's chain. Its `Nats-Msg-Id` names the
//! trail, the segment, the first byte and the number of bytes. The broker drops what comes twice within its window of
//! duplicates, the reader what comes later.

mod address;
mod connect;
mod journal;
mod place;
mod publish;
mod publisher;
mod read;
mod rebuild;
mod sent;
mod shared;
mod tail;
#[cfg(test)]
mod tests;

pub(super) use publisher::begin;
pub(super) use read::fetch;

/// The header of a message that holds the line of the chain after the entry.
const CHAIN_HEADER: &str = "Contrail-Chain";
