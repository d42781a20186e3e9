//! Reading a stream: all that it holds at the start, as trails in folders.

use std::{
    fs,
    future::poll_fn,
    io,
    path::{Path, PathBuf},
    pin::Pin,
    time::Duration,
};

use async_nats::{
    header::NATS_MESSAGE_ID,
    jetstream::{
        self,
        consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull},
        stream::Stream,
    },
};
use contrail_exchange::plural::plural;
use contrail_recording::{make_folder, private};
use futures_core::Stream as _;

use super::{
    CHAIN_HEADER,
    address::Address,
    connect::{self, cannot},
    place::Place,
    rebuild::Rebuild,
};
use crate::{FleetError, RemoteUrl, cache, folders::name_of};

/// Messages that are asked for at a time.
const BATCH: usize = 2000;

/// Bytes that are asked for at a time, beyond one message.
const BATCH_BYTES: usize = 8 << 20;

/// How often in a row reading may fail without a further message.
const ATTEMPTS: u32 = 5;

/// The wait before the next attempt.
const WAIT: Duration = Duration::from_millis(500);

/// After which the broker removes a consumer that nobody uses any more: that of a killed process.
const INACTIVE: Duration = Duration::from_secs(30);

/// Copies what a stream holds now into a folder of the cache; that folder. It changes nothing in the stream.
pub(crate) fn fetch(url: &RemoteUrl) -> Result<PathBuf, FleetError> {
    let address = Address::of(url)?;
    let unwritable = |error: io::Error| unwritable(&address, &error);
    let into = own_folder(url).map_err(unwritable)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unwritable)?;
    let read = runtime.block_on(read_all(&address, &into));
    runtime.shutdown_background();
    let foreign = read?;
    if foreign > 0 {
        let messages = plural(foreign, "message");
        tracing::warn!("left out {messages} of {url} that no contrail wrote");
    }
    Ok(into)
}

/// An empty folder that no other process uses as long as this one runs: always the same one if it can be.
fn own_folder(url: &RemoteUrl) -> io::Result<PathBuf> {
    let nowhere = || io::Error::other("neither XDG_CACHE_HOME nor HOME is set");
    let cache = cache().ok_or_else(nowhere)?;
    make_folder(&cache).map_err(io::Error::other)?;
    for number in 1.. {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let name = name_of(&url.to_string()) + &number;
        let lock = private().append(true).create(true).open(cache.join(format!("{name}.lock")))?;
        if lock.try_lock().is_err() {
            continue;
        }
        // Until the process ends.
        std::mem::forget(lock);
        let folder = cache.join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        make_folder(&folder).map_err(io::Error::other)?;
        return Ok(folder);
    }
    Err(nowhere())
}

/// Writes the trails into folders; how many messages are none of contrail's.
async fn read_all(address: &Address, into: &Path) -> Result<u64, FleetError> {
    let client = connect::connect(address, |_| {}).await?;
    let context = connect::jetstream(&client);
    let Some(stream) = connect::find(&context, address).await? else {
        return Err(FleetError(format!("there is no stream {} at {address}", address.stream)));
    };
    let state = &stream.cached_info().state;
    let mut reading = Reading {
        address,
        into: Rebuild::new(into),
        foreign: 0,
        next: state.first_sequence,
        last: if state.messages == 0 { 0 } else { state.last_sequence },
        bytes: BATCH_BYTES.max(client.max_payload() * 2),
    };
    let mut failed = 0;
    while reading.next <= reading.last {
        let before = reading.next;
        let Err(error) = reading.consume(&stream).await else { break };
        failed = if reading.next > before { 0 } else { failed + 1 };
        if failed == ATTEMPTS {
            return Err(error);
        }
        tokio::time::sleep(WAIT).await;
    }
    reading.into.finish().map_err(|error| unwritable(address, &error))?;
    Ok(reading.foreign)
}

struct Reading<'a> {
    address: &'a Address,
    into: Rebuild,
    foreign: u64,
    /// The first message that is not read yet.
    next: u64,
    last: u64,
    bytes: usize,
}

impl Reading<'_> {
    /// Reads to the end with a consumer, and removes it.
    async fn consume(&mut self, stream: &Stream) -> Result<(), FleetError> {
        let consumer = stream.create_consumer(pull::Config {
            description: Some("contrail reads the trails of this stream".to_owned()),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.next },
            ack_policy: AckPolicy::None,
            inactive_threshold: INACTIVE,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        });
        let consumer = consumer.await.map_err(|error| cannot(self.address, "read", error))?;
        let read = self.batches(&consumer).await;
        // Else the broker does it soon.
        let _ = stream.delete_consumer(&consumer.cached_info().name).await;
        read
    }

    async fn batches(&mut self, consumer: &PullConsumer) -> Result<(), FleetError> {
        let mut delivered = 0;
        while self.next <= self.last {
            let before = self.next;
            let batch = consumer.fetch().max_messages(BATCH).max_bytes(self.bytes).messages().await;
            let mut batch = batch.map_err(|error| cannot(self.address, "read", error))?;
            while let Some(message) = poll_fn(|context| Pin::new(&mut batch).poll_next(context)).await {
                let failed = |error: &dyn std::fmt::Display| {
                    let Address { stream, .. } = self.address;
                    FleetError(format!("cannot read the stream {stream} at {}: {error}", self.address))
                };
                let message = message.map_err(|error| failed(&error))?;
                let info = message.info().map_err(|error| failed(&error))?;
                // One that got lost on the way does not come again.
                if info.consumer_sequence != delivered + 1 {
                    return Err(failed(&"a message got lost on the way"));
                }
                delivered += 1;
                let (sequence, pending) = (info.stream_sequence, info.pending);
                if sequence <= self.last {
                    self.take(&message).map_err(|error| unwritable(self.address, &error))?;
                }
                // The last ones may have been removed meanwhile.
                self.next = if pending == 0 { self.next.max(self.last + 1) } else { sequence + 1 };
            }
            if self.next == before {
                let info = consumer.get_info().await.map_err(|error| cannot(self.address, "read", error))?;
                if info.num_pending == 0 {
                    return Ok(());
                }
                tokio::time::sleep(WAIT / 10).await;
            }
        }
        Ok(())
    }

    fn take(&mut self, message: &jetstream::Message) -> io::Result<()> {
        let header = |name: &str| {
            message.headers.as_ref().and_then(|headers| headers.get(name)).map(async_nats::HeaderValue::as_str)
        };
        let mut bytes = message.payload.to_vec();
        if let Some(chain) = header(CHAIN_HEADER) {
            bytes.extend_from_slice(chain.as_bytes());
            bytes.push(b'\n');
        }
        let place = header(NATS_MESSAGE_ID.as_ref()).and_then(Place::parse);
        match place.filter(|place| place.length == bytes.len() as u64) {
            Some(place) => self.into.add(place, &bytes),
            None => {
                self.foreign += 1;
                Ok(())
            }
        }
    }
}

fn unwritable(address: &Address, error: &io::Error) -> FleetError {
    FleetError(format!("cannot write what was read of {address:?}: {error}"))
}
