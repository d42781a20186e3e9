//! The bytes of an exchange that waits for long.

use std::{iter, mem};

use bytes::Bytes;
use http::HeaderValue;

use super::{Body, Exchange, Headers};

/// The header values and bodies of an exchange, in one block: what came from a socket are slices of the buffers of up to
/// 128 KiB that it was read into. To put them back takes longer than to take them out, since each value is looked through
/// again.
#[derive(Debug)]
pub struct Packed {
    bytes: Vec<u8>,
    is_recorded: bool,
}

impl Packed {
    /// Takes them out of an exchange, but not out of a response that `is_recorded`, whose bytes are the recording's.
    pub fn of(exchange: &mut Exchange, is_recorded: bool) -> Self {
        let sizes = messages(exchange, is_recorded).map(|(headers, body)| {
            headers.iter().map(|(_, value)| LENGTH + value.len()).sum::<usize>() + LENGTH + body.content.len()
        });
        let mut bytes = Vec::with_capacity(sizes.sum());
        for (headers, body) in messages(exchange, is_recorded) {
            for (_, value) in headers.iter_mut() {
                add(&mut bytes, value.as_bytes());
                *value = HeaderValue::from_static("");
            }
            add(&mut bytes, &body.content);
            body.content = Bytes::new();
            mem::take(&mut body.read);
        }
        Self { bytes, is_recorded }
    }

    /// Puts them back into the exchange that they are of.
    pub fn put_back(self, exchange: &mut Exchange) {
        let mut bytes = Bytes::from(self.bytes);
        for (headers, body) in messages(exchange, self.is_recorded) {
            for (_, value) in headers.iter_mut() {
                // What was a value is one again.
                *value = HeaderValue::from_maybe_shared(next(&mut bytes)).unwrap_or(HeaderValue::from_static("?"));
            }
            body.content = next(&mut bytes);
        }
    }

    /// How many bytes they are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

fn messages(exchange: &mut Exchange, is_recorded: bool) -> impl Iterator<Item = (&mut Headers, &mut Body)> {
    let Exchange { request, response, .. } = exchange;
    let response = response.as_mut().filter(|_| !is_recorded);
    iter::once((&mut request.headers, &mut request.body))
        .chain(response.map(|response| (&mut response.headers, &mut response.body)))
}

/// Bytes of the length that stands before each part.
const LENGTH: usize = size_of::<usize>();

fn add(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&part.len().to_le_bytes());
    bytes.extend_from_slice(part);
}

fn next(bytes: &mut Bytes) -> Bytes {
    let len = bytes.split_to(LENGTH).first_chunk().copied().map_or(0, usize::from_le_bytes);
    bytes.split_to(len)
}
