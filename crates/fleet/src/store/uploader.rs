//! The thread that uploads the closed segments of a trail, and removes here what the store has.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::{Path as FilePath, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use contrail_recording::{HELD, begin_of, private, segment_name};
use object_store::{Error, path::Path};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    connect::Place,
    error, layout,
    upload::{Uploaded, create, upload},
};
use crate::{Buffer, Ended, FleetError, Forward, segments, worker::Worker};

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The waits after failures grow from this one to the other.
const WAITS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// The time in which the store has to take the first small object.
const PROBE: Duration = Duration::from_secs(20);

/// Uploads a trail until it is ended.
#[derive(Debug)]
pub(crate) struct Uploader {
    shared: Arc<Shared>,
    worker: Worker,
}

#[derive(Debug)]
struct Shared {
    buffer: Buffer,
    place: Place,
    trail: Path,
    phase: watch::Sender<Phase>,
    waiting: AtomicU64,
    failures: AtomicU64,
    state: Mutex<State>,
}

/// How long an uploader goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The last segment is still written.
    Running,
    /// No more is written; what there is is still uploaded.
    Ending,
    /// Nothing is uploaded any more.
    GivenUp,
}

#[derive(Debug, Default)]
struct State {
    /// Segments that the store has.
    stored: BTreeSet<u64>,
    /// The segment of whose name the store has something else.
    other: Option<u64>,
    /// Why nothing can be uploaded, while that is so.
    trouble: Option<String>,
}

impl Uploader {
    /// Writes a first small object, so that wrong credentials are found before the first exchange, and begins.
    ///
    /// # Errors
    ///
    /// The store refuses; or it cannot be reached, and took nothing of this buffer before.
    pub(crate) fn begin(buffer: &Buffer) -> Result<Self, FleetError> {
        let place = Place::of(&buffer.url)?;
        let system = |error: io::Error| FleetError(format!("cannot upload to {}: {error}", buffer.url));
        if let Some(journal) = &buffer.held_by {
            hold(&buffer.folder, journal).map_err(system)?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let trail = layout::trail(&place.prefix, &buffer.trail);
        let shared = Arc::new(Shared {
            buffer: buffer.clone(),
            place,
            trail,
            phase: watch::Sender::new(Phase::Running),
            waiting: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            state: Mutex::default(),
        });
        runtime.block_on(shared.probe(buffer.is_bound()?))?;
        buffer.bind()?;
        let running = Arc::clone(&shared);
        let thread = thread::Builder::new().name("upload".to_owned()).spawn(move || {
            runtime.block_on(running.run());
            // A look-up of a name may hang beyond its time.
            runtime.shutdown_background();
        });
        Ok(Self { shared, worker: Worker::new(thread.map_err(system)?) })
    }

    fn give_up(&self) {
        self.shared.phase.send_replace(Phase::GivenUp);
        self.worker.join();
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Forward for Uploader {
    fn waiting(&self) -> u64 {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }

    fn end(&self, patience: Duration, asked: &AtomicBool) -> Ended {
        self.shared.phase.send_replace(Phase::Ending);
        self.worker.wait(patience, asked);
        self.give_up();
        let waiting = self.shared.measure(true).unwrap_or_default();
        let state = self.shared.state();
        let other = state.other.map(|number| self.shared.alarm(number));
        let slow = || {
            if asked.load(Ordering::Relaxed) {
                return "a signal ended the upload".to_owned();
            }
            format!("the store did not take it within {} s", patience.as_secs_f32())
        };
        let trouble = (waiting > 0 && state.other.is_none()).then(|| state.trouble.clone().unwrap_or_else(slow));
        Ended { waiting, reasons: other.into_iter().chain(trouble).collect() }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes who keeps the trail. A store that took something before is waited for.
    async fn probe(&self, is_bound: bool) -> Result<(), FleetError> {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        let about = json!({"trail": self.buffer.trail, "host": host}).to_string();
        let location = layout::about(&self.trail);
        let url = &self.place.url;
        let (is_passing, said) = match timeout(PROBE, create(&*self.place.store, &location, about.into())).await {
            Ok(Ok(()) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. })) => return Ok(()),
            Ok(Err(error)) => (error::is_passing(&error), error::said(url, "write to", &error)),
            Err(_) => (true, FleetError(format!("cannot write to {url}: no answer within {} s", PROBE.as_secs()))),
        };
        if is_passing && is_bound {
            self.fails(&said.0);
            return Ok(());
        }
        Err(said)
    }

    async fn run(&self) {
        let mut phase = self.phase.subscribe();
        tokio::select! {
            () = self.upload_all() => {}
            () = async { loop {
                let _ = self.measure(false);
                sleep(LOOK).await;
            } } => {}
            _ = phase.wait_for(|phase| *phase == Phase::GivenUp) => {}
        }
    }

    async fn upload_all(&self) {
        let mut phase = self.phase.subscribe();
        let mut wait = WAITS[0];
        loop {
            let is_ending = *phase.borrow_and_update() != Phase::Running;
            let before = self.state().stored.len();
            let pause = match self.pass(is_ending).await {
                Ok(()) if is_ending => return,
                Ok(()) => {
                    wait = WAITS[0];
                    LOOK
                }
                Err(said) => {
                    self.fails(&said);
                    if self.state().stored.len() > before {
                        wait = WAITS[0];
                    }
                    let longer = (wait * 2).min(WAITS[1]);
                    std::mem::replace(&mut wait, longer)
                }
            };
            if timeout(pause, phase.changed()).await.is_ok() {
                wait = WAITS[0];
            }
        }
    }

    /// Uploads what is closed, and removes what the store has. At the end, all is closed. Behind a segment of whose name
    /// the store has something else, nothing goes there: it would continue a chain that is not this one.
    async fn pass(&self, is_ending: bool) -> Result<(), String> {
        let folder = &self.buffer.folder;
        let system = |error: io::Error| format!("cannot read `{}`: {error}", folder.display());
        let numbers = segments(folder).map_err(system)?;
        let Some(&last) = numbers.last() else { return Ok(()) };
        // One whose first line is not written yet continues nothing: the segment before it holds the chain's end.
        let mut begun = None;
        for number in numbers.iter().rev() {
            if begin_of(&folder.join(segment_name(*number))).map_err(system)?.is_some() {
                begun = Some(*number);
                break;
            }
        }
        let end = if is_ending { last + 1 } else { begun.unwrap_or(0) };
        for &number in numbers.iter().filter(|number| **number < end) {
            if self.state().other.is_some() {
                break;
            }
            if !self.state().stored.contains(&number) {
                let segment = folder.join(segment_name(number));
                let uploaded = upload(&*self.place.store, &self.trail, number, &segment).await;
                match uploaded.map_err(|error| error::said(&self.place.url, "write to", &error).0)? {
                    Uploaded::Done => {
                        self.state().stored.insert(number);
                        self.works();
                    }
                    Uploaded::Other => {
                        self.state().other = Some(number);
                        self.failures.fetch_add(1, Ordering::Relaxed);
                        tracing::error!("{}", self.alarm(number));
                    }
                }
            }
            let is_stored = self.state().stored.contains(&number);
            // The next start continues the chain of the last one.
            if is_stored && Some(number) < begun && !is_held(folder) {
                fs::remove_file(folder.join(segment_name(number))).map_err(system)?;
            }
        }
        self.works();
        let _ = self.measure(is_ending);
        Ok(())
    }

    /// Counts the bytes that are only here, and stops the journal while the folder holds as much as it may.
    fn measure(&self, is_ended: bool) -> io::Result<u64> {
        let (mut all, mut waiting) = (0, 0);
        for number in segments(&self.buffer.folder)? {
            let Ok(file) = fs::metadata(self.buffer.folder.join(segment_name(number))) else { continue };
            all += file.len();
            waiting += if self.state().stored.contains(&number) { 0 } else { file.len() };
        }
        self.waiting.store(waiting, Ordering::Relaxed);
        self.buffer.full.store(!is_ended && all >= self.buffer.limit, Ordering::Relaxed);
        Ok(waiting)
    }

    fn fails(&self, said: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let is_new = self.state().trouble.replace(said.to_owned()).is_none();
        if is_new {
            tracing::error!("{said}; segments wait in `{}`", self.buffer.folder.display());
        }
    }

    fn works(&self) {
        if self.state().trouble.take().is_some() {
            tracing::warn!("{} takes segments again", self.place.url);
        }
    }

    fn alarm(&self, number: u64) -> String {
        let (name, url, trail) = (segment_name(number), &self.place.url, &self.buffer.trail);
        let folder = self.buffer.folder.display();
        format!(
            "ALARM: {url} has another {trail}/{name} than `{folder}`; compare the two, and remove the wrong one; nothing more of this trail is uploaded until the next start"
        )
    }
}

/// Notes that a recording's journal needs the segments.
fn hold(folder: &FilePath, journal: &FilePath) -> io::Result<()> {
    let journal = std::path::absolute(journal)?;
    let mut held = needed(folder);
    held.push(journal);
    let mut file = private().write(true).create(true).truncate(true).open(folder.join(HELD))?;
    let lines: Vec<String> = held.iter().map(|journal| format!("{}\n", journal.display())).collect();
    file.write_all(lines.concat().as_bytes())
}

/// The journals of recordings that were noted and are still there, because their fold did not end.
fn needed(folder: &FilePath) -> Vec<PathBuf> {
    let noted = fs::read_to_string(folder.join(HELD)).unwrap_or_default();
    noted.lines().map(PathBuf::from).filter(|journal| journal.exists()).collect()
}

fn is_held(folder: &FilePath) -> bool {
    !needed(folder).is_empty()
}
