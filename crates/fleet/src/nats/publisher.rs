//! The thread that sends a trail to its stream.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use contrail_pipeline::{self as pipeline, SharedJournal};
use tokio::runtime;

use super::{
    address::Address,
    journal::SentJournal,
    publish,
    shared::{Phase, Shared},
};
use crate::{
    FleetError,
    forward::{Buffer, Ended, Forward},
    worker::Worker,
};

/// Begins to send the trail in a buffer. Until the stream was reached once, a start needs it; later, the trail waits for a
/// broker that is gone.
pub(crate) fn begin(buffer: &Buffer) -> Result<Arc<dyn Forward>, FleetError> {
    let address = Address::of(&buffer.url)?;
    let no_thread =
        |error: io::Error| FleetError(format!("--trail {}: the system gives no thread: {error}", buffer.url));
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    if !buffer.is_bound()? {
        runtime.block_on(publish::try_once(&address)).map_err(|FleetError(reason)| {
            FleetError(format!("--trail: {reason}; a start needs the stream until a buffer has reached it once"))
        })?;
        buffer.bind()?;
    }
    run(runtime, address, buffer).map_err(no_thread)
}

fn run(runtime: runtime::Runtime, address: Address, buffer: &Buffer) -> io::Result<Arc<dyn Forward>> {
    let shared = Arc::new(Shared::new(address, buffer.clone()));
    let running = Arc::clone(&shared);
    let thread = thread::Builder::new().name("nats".to_owned()).spawn(move || {
        runtime.block_on(publish::run(&running));
        running.done();
        // A look-up of a name may hang beyond its time.
        runtime.shutdown_background();
    })?;
    Ok(Arc::new(Publisher { shared, worker: Worker::new(thread) }))
}

/// Sends a trail to its stream until it ends.
#[derive(Debug)]
struct Publisher {
    shared: Arc<Shared>,
    worker: Worker,
}

impl Forward for Publisher {
    fn journal(&self, journal: SharedJournal) -> Box<dyn pipeline::Journal> {
        Box::new(SentJournal { journal, shared: Arc::clone(&self.shared) })
    }

    fn waiting(&self) -> u64 {
        self.shared.waiting()
    }

    fn failures(&self) -> u64 {
        self.shared.failures()
    }

    fn end(&self, patience: Duration, asked: &AtomicBool) -> Ended {
        let until = Instant::now() + patience;
        self.shared.phase.send_replace(Phase::Ending);
        self.shared.wait_until_done(until, asked);
        self.give_up();
        let waiting = self.shared.waiting();
        let slow = || {
            if asked.load(Ordering::Relaxed) {
                return "a signal ended the sending".to_owned();
            }
            format!("the broker did not take all of it within {} s", patience.as_secs())
        };
        let reasons = (waiting > 0).then(|| self.shared.trouble().unwrap_or_else(slow));
        Ended { waiting, reasons: reasons.into_iter().collect() }
    }
}

impl Publisher {
    fn give_up(&self) {
        self.shared.phase.send_replace(Phase::GivenUp);
        self.worker.join();
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.give_up();
    }
}
