//! Sending: messages in order, a bounded number of them on the way, each acknowledged.
//!
//! Where anything goes wrong, the connection is closed and all begins again behind the last message that the broker
//! acknowledged, together with all before it. What it has already it drops by its id.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use async_nats::{Client, Event, HeaderMap, StatusCode, Subject, Subscriber, header::NATS_MESSAGE_ID};
use futures_core::Stream as _;
use serde::Deserialize;
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, sleep_until, timeout},
};

use super::{
    CHAIN_HEADER,
    address::Address,
    connect::{self, cannot_connect},
    shared::{Phase, Shared},
    tail::{Message, Position, Tail},
};
use crate::FleetError;

/// Maximum messages that are not acknowledged yet.
const MAX_MESSAGES: usize = 2048;

/// Maximum bytes of them, beyond one message.
const MAX_BYTES: u64 = 8 << 20;

/// How long the broker may take for one message.
const ACK_PATIENCE: Duration = Duration::from_secs(10);

/// Entries of this time are sent together where nobody waits for them, and acknowledgements of this time are read
/// together: fewer wakes and system calls.
const GATHER: Duration = Duration::from_millis(20);

/// How often the buffer is looked after.
const BETWEEN_TIDYING: Duration = Duration::from_secs(1);

/// The first wait after a failure; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Room in a message for what its id takes.
const HEADERS: usize = 512;

/// Sends all there is until the end.
pub(super) async fn run(shared: &Shared) {
    let mut phase = shared.phase.subscribe();
    tokio::select! {
        () = send(shared) => {}
        () = tidy(shared) => {}
        _ = phase.wait_for(|phase| *phase == Phase::GivenUp) => {}
    }
    shared.tidy();
}

/// Makes the stream if need be, and looks whether it takes trails.
pub(super) async fn try_once(address: &Address) -> Result<(), FleetError> {
    let client = connect::connect(address, |_| {}).await?;
    ensure(&client, address).await
}

async fn ensure(client: &Client, address: &Address) -> Result<(), FleetError> {
    let any_trail = "0".repeat(32);
    connect::ensure(&connect::jetstream(client), address, &format!("{}.{any_trail}", address.stream)).await
}

/// Looks after the buffer.
async fn tidy(shared: &Shared) {
    loop {
        shared.tidy();
        sleep(BETWEEN_TIDYING).await;
    }
}

async fn send(shared: &Shared) {
    let mut tail = Tail::new(&shared.buffer.folder);
    let mut wait = FIRST_WAIT;
    loop {
        let before = shared.acknowledged();
        let ended = match Session::open(shared, &mut tail).await {
            Ok(session) => session.run().await,
            Err(error) => Err(error),
        };
        let Err(error) = ended else { return };
        shared.fails(&error.to_string());
        if shared.acknowledged() > before {
            wait = FIRST_WAIT;
        }
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// A connection, and the messages on it.
struct Session<'a> {
    shared: &'a Shared,
    tail: &'a mut Tail,
    client: Client,
    /// Where the broker acknowledges messages: `INBOX.NUMBER`.
    inbox: String,
    acknowledgements: Subscriber,
    /// Why the connection is of no use any more.
    failures: mpsc::UnboundedReceiver<String>,
    phase: watch::Receiver<Phase>,
    window: Window,
}

impl<'a> Session<'a> {
    async fn open(shared: &'a Shared, tail: &'a mut Tail) -> Result<Self, FleetError> {
        let address = &shared.address;
        let (failed, failures) = mpsc::unbounded_channel();
        let client = connect::connect(address, move |event| {
            let reason = match event {
                Event::Disconnected | Event::Closed => "the connection was lost".to_owned(),
                Event::ServerError(error) => error.to_string(),
                _ => return,
            };
            let _ = failed.send(reason);
        })
        .await?;
        ensure(&client, address).await?;
        let inbox = client.new_inbox();
        let subscribed = client.subscribe(format!("{inbox}.*")).await;
        let acknowledgements = subscribed.map_err(|error| cannot_connect(address, error))?;
        let acknowledged = shared.acknowledged();
        tail.go_to(acknowledged, client.max_payload().saturating_sub(HEADERS));
        let (phase, window) = (shared.phase.subscribe(), Window::new(acknowledged));
        Ok(Self { shared, tail, client, inbox, acknowledgements, failures, phase, window })
    }

    /// Sends until the end; else why it cannot go on.
    async fn run(mut self) -> Result<(), FleetError> {
        let mut is_dry = false;
        loop {
            if !is_dry {
                let filled = timeout(ACK_PATIENCE, self.fill()).await;
                is_dry = filled.unwrap_or_else(|_| Err(slow()))?;
            }
            if is_dry && self.window.is_empty() && *self.phase.borrow() != Phase::Running {
                return Ok(());
            }
            let late = self.window.oldest().map(|sent| sent + ACK_PATIENCE);
            let shared = self.shared;
            tokio::select! {
                acknowledged = next(&mut self.acknowledgements) => {
                    let mut message = acknowledged;
                    while let Some(acknowledged) = message {
                        self.window.take(&acknowledged)?;
                        message = ready(&mut self.acknowledgements).await;
                    }
                    self.advanced();
                }
                reason = self.failures.recv() => return Err(FleetError(reason.unwrap_or_default())),
                () = shared.wake.notified(), if is_dry => {
                    if !shared.buffer.durable {
                        // The whole thread, so that the connection does not wake for each acknowledgement.
                        thread::sleep(GATHER);
                    }
                    is_dry = false;
                }
                // What was written last is sent, too.
                _ = self.phase.changed() => is_dry = false,
                () = sleep_until(late.unwrap_or_else(Instant::now).into()), if late.is_some() => return Err(slow()),
            }
        }
    }

    /// Sends as much as there may be on the way; whether nothing is left.
    async fn fill(&mut self) -> Result<bool, FleetError> {
        let unreadable = |error| {
            FleetError(format!("the trail in `{}` cannot be read: {error}", self.shared.buffer.folder.display()))
        };
        while !self.window.is_full() {
            let Some(message) = self.tail.next().map_err(unreadable)? else { return Ok(true) };
            let number = self.window.sent(&message);
            let mut headers = HeaderMap::new();
            headers.insert(NATS_MESSAGE_ID, message.place.to_string());
            if let Some(chain) = &message.chain {
                // A line of the chain is JSON of numbers and hexadecimal digits.
                headers.insert(CHAIN_HEADER, str::from_utf8(chain).unwrap_or_default());
            }
            let stream = &self.shared.address.stream;
            let subject = Subject::from(format!("{stream}.{}", message.place.trail));
            let reply = Subject::from(format!("{}.{number}", self.inbox));
            let sent = self.client.publish_with_reply_and_headers(subject, reply, headers, message.payload).await;
            sent.map_err(|error| cannot_connect(&self.shared.address, error))?;
        }
        Ok(false)
    }

    /// Tells those who wait for it what the broker has.
    fn advanced(&self) {
        if self.shared.acknowledged() != self.window.acknowledged {
            self.shared.acknowledge(self.window.acknowledged);
        }
    }
}

fn slow() -> FleetError {
    FleetError(format!("no acknowledgement within {} s", ACK_PATIENCE.as_secs()))
}

/// The next message of a subscription.
async fn next(messages: &mut Subscriber) -> Option<async_nats::Message> {
    poll_fn(|context| Pin::new(&mut *messages).poll_next(context)).await
}

/// The next one if it is there already.
async fn ready(messages: &mut Subscriber) -> Option<async_nats::Message> {
    poll_fn(|context| match Pin::new(&mut *messages).poll_next(context) {
        Poll::Ready(message) => Poll::Ready(message),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// The messages on the way.
struct Window {
    /// The number of the first one.
    first: u64,
    on_the_way: VecDeque<OnTheWay>,
    bytes: u64,
    /// The broker has all before.
    acknowledged: Position,
}

struct OnTheWay {
    end: Position,
    bytes: u64,
    sent: Instant,
    is_acknowledged: bool,
}

/// What the broker says of a message.
#[derive(Deserialize)]
struct Acknowledgement {
    seq: Option<u64>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    description: Option<String>,
}

impl Window {
    fn new(acknowledged: Position) -> Self {
        Self { first: 0, on_the_way: VecDeque::new(), bytes: 0, acknowledged }
    }

    fn is_empty(&self) -> bool {
        self.on_the_way.is_empty()
    }

    fn is_full(&self) -> bool {
        self.on_the_way.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    /// When the first of them was sent.
    fn oldest(&self) -> Option<Instant> {
        self.on_the_way.front().map(|first| first.sent)
    }

    /// Adds a message; its number.
    fn sent(&mut self, message: &Message) -> u64 {
        let place = &message.place;
        let end = Position { segment: place.segment, offset: place.end() };
        self.bytes += place.length;
        let sent = Instant::now();
        self.on_the_way.push_back(OnTheWay { end, bytes: place.length, sent, is_acknowledged: false });
        self.first + self.on_the_way.len() as u64 - 1
    }

    /// Takes an acknowledgement.
    fn take(&mut self, message: &async_nats::Message) -> Result<(), FleetError> {
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            return Err(FleetError("no stream takes its messages any more".to_owned()));
        }
        let Ok(said) = serde_json::from_slice::<Acknowledgement>(&message.payload) else { return Ok(()) };
        if let Some(refusal) = said.error {
            let reason = refusal.description.unwrap_or_else(|| "no reason given".to_owned());
            return Err(FleetError(format!("the stream refused an entry: {reason}")));
        }
        let number: Option<u64> = message.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        let index = number.and_then(|number| number.checked_sub(self.first));
        let found = index.and_then(|index| self.on_the_way.get_mut(usize::try_from(index).ok()?));
        if let Some(found) = found.filter(|_| said.seq.is_some()) {
            found.is_acknowledged = true;
        }
        while let Some(first) = self.on_the_way.pop_front_if(|first| first.is_acknowledged) {
            self.first += 1;
            self.bytes -= first.bytes;
            self.acknowledged = first.end;
        }
        Ok(())
    }
}
