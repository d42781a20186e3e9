//! What the sending thread shares with those who wait for it.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use contrail_exchange::plural::plural;
use contrail_recording::{SENT, segment_name};
use tokio::sync::{Notify, watch};

use super::{
    address::Address,
    sent,
    tail::{Position, segments},
};
use crate::forward::Buffer;

/// How long the broker may take for what `--durable` waits for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a wait for the end looks whether it was asked to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a publisher goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// More may be written at any time.
    Running,
    /// No more is written; what there is is still sent.
    Ending,
    /// Nothing is sent any more.
    GivenUp,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) address: Address,
    pub(super) buffer: Buffer,
    /// The file that keeps how much the broker has.
    sent: PathBuf,
    /// There is more to send.
    pub(super) wake: Notify,
    pub(super) phase: watch::Sender<Phase>,
    state: Mutex<State>,
    /// The state has changed.
    changed: Condvar,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    acknowledged: Position,
    /// The farthest place that did not come in time.
    late: Position,
    /// Why nothing is sent, while that is so, and since when.
    trouble: Option<(String, Instant)>,
    /// Nothing more is sent.
    is_done: bool,
}

impl Shared {
    pub(super) fn new(address: Address, buffer: Buffer) -> Self {
        let sent = buffer.folder.join(SENT);
        let acknowledged = sent::load(&sent);
        Self {
            address,
            buffer,
            sent,
            wake: Notify::new(),
            phase: watch::Sender::new(Phase::Running),
            state: Mutex::new(State { acknowledged, ..State::default() }),
            changed: Condvar::new(),
            failures: AtomicU64::new(0),
        }
    }

    pub(super) fn acknowledged(&self) -> Position {
        self.lock().acknowledged
    }

    /// The broker has all before this place.
    pub(super) fn acknowledge(&self, at: Position) {
        let mut state = self.lock();
        state.acknowledged = at;
        let trouble = state.trouble.take();
        drop(state);
        self.changed.notify_all();
        if trouble.is_some() {
            let bytes = plural(self.waiting(), "byte");
            tracing::warn!("the trail is sent to {:?} again; {bytes} in the buffer", self.address);
        }
    }

    /// Nothing can be sent. The first time since something could, it is logged.
    pub(super) fn fails(&self, reason: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        let since = state.trouble.take().map(|(_, since)| since);
        state.trouble = Some((reason.to_owned(), since.unwrap_or_else(Instant::now)));
        drop(state);
        self.changed.notify_all();
        if since.is_none() {
            let (address, folder) = (&self.address, self.buffer.folder.display());
            tracing::error!("the trail cannot be sent to {address:?}; its entries wait in `{folder}`: {reason}");
        }
    }

    /// Waits until the broker has all up to this byte of a segment; else why it does not.
    pub(super) fn wait(&self, segment: u64, offset: u64) -> Result<(), String> {
        self.wait_for(segment, offset, PATIENCE)
    }

    fn wait_for(&self, segment: u64, offset: u64, patience: Duration) -> Result<(), String> {
        let (until, begun) = (Position { segment, offset }, Instant::now());
        let mut state = self.lock();
        while state.acknowledged < until {
            let since = state.trouble.as_ref().map_or(begun, |(_, since)| begun.min(*since));
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                state.late = state.late.max(until);
                let reason = state.trouble.as_ref().map(|(reason, _)| reason.clone());
                return Err(reason.unwrap_or_else(|| format!("no answer within {} s", patience.as_secs())));
            }
            state = self.wait_for_change(state, left);
        }
        Ok(())
    }

    /// Whether the broker still lacks something that did not come in time.
    pub(super) fn is_late(&self) -> bool {
        let state = self.lock();
        state.acknowledged < state.late
    }

    /// Waits until all is sent, the instant has come, or `asked` is true.
    pub(super) fn wait_until_done(&self, until: Instant, asked: &AtomicBool) {
        let mut state = self.lock();
        while !state.is_done && !asked.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.wait_for_change(state, left.min(LOOK));
        }
    }

    pub(super) fn done(&self) {
        self.lock().is_done = true;
        self.changed.notify_all();
    }

    /// Bytes of the segments that the broker has not acknowledged.
    pub(super) fn waiting(&self) -> u64 {
        let (folder, acknowledged) = (&self.buffer.folder, self.acknowledged());
        let bytes = |number: u64| {
            let length = fs::metadata(folder.join(segment_name(number))).map_or(0, |file| file.len());
            if number == acknowledged.segment { length.saturating_sub(acknowledged.offset) } else { length }
        };
        let numbers = segments(folder).unwrap_or_default();
        numbers.into_iter().filter(|number| *number >= acknowledged.segment).map(bytes).sum()
    }

    /// Keeps account of what the broker has, removes segments of which it has all, and looks how much is left.
    pub(super) fn tidy(&self) {
        let at = self.acknowledged();
        if sent::load(&self.sent) != at
            && let Err(error) = sent::store(&self.sent, at)
        {
            // More is sent again at the next start, and counts once.
            tracing::debug!(%error, "cannot note what was sent");
        }
        let Buffer { folder, full, limit, held_by, .. } = &self.buffer;
        let is_held = held_by.as_ref().is_some_and(|journal| journal.exists());
        let mut bytes = 0;
        for number in segments(folder).unwrap_or_default() {
            let path = folder.join(segment_name(number));
            if number < at.segment && !is_held {
                if let Err(error) = fs::remove_file(&path) {
                    tracing::warn!("cannot remove `{}`, which the broker has: {error}", path.display());
                }
                continue;
            }
            bytes += fs::metadata(&path).map_or(0, |file| file.len());
        }
        full.store(bytes >= *limit, Ordering::Relaxed);
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.lock().trouble.as_ref().map(|(reason, _)| reason.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_change<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::RemoteUrl;

    fn shared(folder: &tempfile::TempDir) -> Shared {
        let url: RemoteUrl = "nats://h/S".parse().unwrap();
        let address = Address::of(&url).unwrap();
        let folder = folder.path().to_path_buf();
        let buffer = Buffer {
            url,
            folder,
            trail: String::new(),
            limit: 250,
            full: Arc::default(),
            held_by: None,
            durable: true,
        };
        let shared = Shared::new(address, buffer);
        shared.acknowledge(Position { segment: 1, offset: 100 });
        shared
    }

    #[test]
    fn what_the_broker_has_is_waited_for_no_longer_and_the_rest_until_patience_ends() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        shared.wait_for(1, 100, Duration::ZERO).unwrap();
        shared.wait_for(0, 5000, Duration::ZERO).unwrap();
        assert_eq!(shared.wait_for(1, 101, Duration::ZERO).unwrap_err(), "no answer within 0 s");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| shared.wait_for(2, 7, Duration::from_hours(1)));
            shared.acknowledge(Position { segment: 2, offset: 7 });
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn while_a_broker_fails_for_longer_than_patience_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        shared.fails("gone");
        assert!(!shared.is_late());
        assert_eq!(shared.wait_for(1, 101, Duration::from_nanos(1)).unwrap_err(), "gone");
        shared.fails("still gone");
        assert_eq!((shared.failures(), shared.trouble().as_deref()), (2, Some("still gone")));
        // Another connection alone acknowledges nothing.
        shared.acknowledge(Position { segment: 1, offset: 100 });
        assert!(shared.trouble().is_none() && shared.is_late());
        shared.acknowledge(Position { segment: 1, offset: 101 });
        assert!(!shared.is_late());
    }

    #[test]
    fn segments_of_which_the_broker_has_all_go_and_the_others_fill_the_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let mut shared = shared(&folder);
        let held = folder.path().join("fixture.journal");
        shared.buffer.held_by = Some(held.clone());
        for (number, bytes) in [(1, 100), (2, 100), (3, 100)] {
            fs::write(folder.path().join(segment_name(number)), vec![b' '; bytes]).unwrap();
        }
        fs::write(&held, "").unwrap();
        assert_eq!(shared.waiting(), 200);
        shared.acknowledge(Position { segment: 3, offset: 40 });
        shared.tidy();
        assert!(segments(folder.path()).unwrap() == [1, 2, 3] && shared.buffer.full.load(Ordering::Relaxed));
        fs::remove_file(&held).unwrap();
        shared.tidy();
        assert!(segments(folder.path()).unwrap() == [3] && !shared.buffer.full.load(Ordering::Relaxed));
        assert_eq!((shared.waiting(), sent::load(&folder.path().join(SENT))), (60, shared.acknowledged()));
    }
}
