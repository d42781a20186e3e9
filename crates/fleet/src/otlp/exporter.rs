//! The thread that sends traces and metrics.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use contrail_exchange::plural::plural;
use contrail_pipeline::{Traced, Tracer};
use contrail_proxy::metrics::Metrics;
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceResponse, trace::v1::ExportTraceServiceResponse},
    resource::v1::Resource,
};
use prost::Message as _;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    client::{Client, SendOutcome, Signal},
    points,
    queue::{Queue, Unqueued},
    record::Record,
    routes::Routes,
    spans::{self, Ids},
    variables,
};
use crate::{FleetError, Receiver, telemetry::Export, worker::Worker};

/// How often spans are sent, if no batch is full before.
const SPANS: Duration = Duration::from_secs(1);

/// How often metrics are sent.
const METRICS: Duration = Duration::from_secs(10);

/// The waits after failures grow from this one to the other.
const WAITS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// Maximum time that a receiver may ask to wait.
const MAX_WAIT: Duration = Duration::from_mins(5);

/// How long the exporter goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Exchanges come.
    Running,
    /// No more come; what there is is still sent.
    Ending,
    /// Nothing is sent any more.
    GivenUp,
}

/// Begins to send.
pub(crate) fn begin(receiver: &Receiver, metrics: Arc<Metrics>) -> Result<Arc<dyn Export>, FleetError> {
    let variables = |name: &str| std::env::var_os(name);
    let client = Client::new(receiver, variables::headers(&variables)?)?;
    let system = |error: io::Error| FleetError(format!("--otlp {}: the system gives no thread: {error}", receiver.url));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
    let shared = Arc::new(Shared {
        client,
        metrics,
        resource: variables::resource(&variables)?,
        routes: Routes::default(),
        queue: Queue::new(receiver.queue),
        phase: watch::Sender::new(Phase::Running),
        troubles: Mutex::default(),
    });
    Exporter::begin(shared, runtime).map(|exporter| Arc::new(exporter) as _).map_err(system)
}

/// Sends until it is ended.
#[derive(Debug)]
struct Exporter {
    shared: Arc<Shared>,
    worker: Worker,
}

impl Exporter {
    fn begin(shared: Arc<Shared>, runtime: Runtime) -> io::Result<Self> {
        let running = Arc::clone(&shared);
        let thread = thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            runtime.block_on(running.run());
            // A look-up of a name may hang beyond its time.
            runtime.shutdown_background();
        })?;
        Ok(Self { shared, worker: Worker::new(thread) })
    }

    fn give_up(&self) {
        self.shared.phase.send_replace(Phase::GivenUp);
        self.worker.join();
        let left = self.shared.queue.close();
        add(&self.shared.metrics.telemetry.dropped, left);
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Tracer for Exporter {
    fn exchange(&self, traced: &Traced<'_>) {
        let telemetry = &self.shared.metrics.telemetry;
        let Err(unqueued) = self.shared.queue.push(Record::of(traced)) else { return };
        add(&telemetry.dropped, 1);
        add(&telemetry.too_large, usize::from(unqueued == Unqueued::TooLarge));
    }
}

impl Export for Exporter {
    fn end(&self, patience: Duration, asked: &AtomicBool) {
        self.shared.phase.send_replace(Phase::Ending);
        self.worker.wait(patience, asked);
        self.give_up();
    }
}

/// What is wrong at present and was logged.
#[derive(Debug, Default)]
struct Troubles {
    /// What could not be sent when it was logged.
    failing: Option<Signal>,
    /// The receiver refuses traces, or metrics.
    refusing: [bool; 2],
    /// It took a part only of traces, or of metrics.
    partial: [bool; 2],
}

#[derive(Debug)]
struct Shared {
    client: Client,
    metrics: Arc<Metrics>,
    resource: Resource,
    routes: Routes,
    queue: Queue,
    phase: watch::Sender<Phase>,
    troubles: Mutex<Troubles>,
}

/// Spans that are being sent.
struct Batch {
    body: Bytes,
    spans: usize,
    weight: usize,
}

/// Nothing more can be sent now; the receiver may have asked to wait so long.
struct Later(Option<Duration>);

impl Shared {
    async fn run(&self) {
        let mut phase = self.phase.subscribe();
        tokio::select! {
            () = self.send() => {}
            _ = phase.wait_for(|phase| *phase == Phase::GivenUp) => {}
        }
    }

    async fn send(&self) {
        let mut phase = self.phase.subscribe();
        let (mut batch, mut wait, mut metrics_at) = (None, WAITS[0], Instant::now() + METRICS);
        loop {
            let is_ending = *phase.borrow_and_update() != Phase::Running;
            let sent = self.pass(&mut batch, &mut metrics_at, is_ending).await;
            let (pause, is_well) = match sent {
                Ok(()) if is_ending => return,
                Ok(()) => {
                    wait = WAITS[0];
                    (SPANS, true)
                }
                Err(Later(asked)) => {
                    let longer = (wait * 2).min(WAITS[1]);
                    let wait = std::mem::replace(&mut wait, longer);
                    (pause(wait, asked), false)
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.queue.is_enough(), if is_well => {}
                // At the end it is tried at once.
                _ = phase.changed() => wait = WAITS[0],
            }
        }
    }

    /// Sends what there is.
    async fn pass(&self, batch: &mut Option<Batch>, metrics_at: &mut Instant, is_ending: bool) -> Result<(), Later> {
        loop {
            if !is_ending && Instant::now() >= *metrics_at {
                // The next ones hold what these do.
                let asked = self.send_metrics().await.err().and_then(|Later(asked)| asked);
                *metrics_at = Instant::now() + asked.unwrap_or_default().clamp(METRICS, MAX_WAIT);
            }
            if batch.is_none() {
                *batch = self.next();
            }
            let Some(next) = &*batch else { break };
            let telemetry = &self.metrics.telemetry;
            match self.client.post(Signal::Traces, next.body.clone()).await {
                SendOutcome::Taken(answer) => {
                    let partial = ExportTraceServiceResponse::decode(answer).ok().and_then(|said| said.partial_success);
                    let rejected = partial.as_ref().map_or(0, |partial| partial.rejected_spans);
                    let rejected = usize::try_from(rejected).unwrap_or(0).min(next.spans);
                    self.works(Signal::Traces);
                    self.partly(Signal::Traces, rejected);
                    add(&telemetry.rejected, rejected);
                    add(&telemetry.sent, next.spans - rejected);
                }
                SendOutcome::Refused(status) => {
                    add(&telemetry.rejected, next.spans);
                    self.refuses(Signal::Traces, &format!("refuses traces with {status}"));
                }
                SendOutcome::Foreign(status) => {
                    add(&telemetry.rejected, next.spans);
                    self.refuses(Signal::Traces, &foreign(Signal::Traces, status));
                }
                SendOutcome::Failed { cause, after } => return Err(self.fails(Signal::Traces, &cause, after)),
            }
            self.queue.settle(next.weight);
            *batch = None;
        }
        if is_ending {
            self.send_metrics().await?;
        }
        Ok(())
    }

    /// The next spans, encoded.
    fn next(&self) -> Option<Batch> {
        let (records, weight) = self.queue.take();
        if records.is_empty() {
            return None;
        }
        let request = spans::request(&records, &self.resource, &self.routes, &mut SystemIds::default());
        Some(Batch { body: request.encode_to_vec().into(), spans: records.len(), weight })
    }

    /// Sends all that is counted since the start. What could not be sent is in the next ones, too.
    async fn send_metrics(&self) -> Result<(), Later> {
        let request = points::request(&self.metrics, &self.resource, &self.routes, SystemTime::now());
        match self.client.post(Signal::Metrics, request.encode_to_vec().into()).await {
            SendOutcome::Taken(answer) => {
                let partial = ExportMetricsServiceResponse::decode(answer).ok().and_then(|said| said.partial_success);
                let rejected = partial.map_or(0, |partial| partial.rejected_data_points);
                self.works(Signal::Metrics);
                self.partly(Signal::Metrics, usize::try_from(rejected).unwrap_or(0));
                Ok(())
            }
            SendOutcome::Refused(status) => {
                self.refuses(Signal::Metrics, &format!("refuses metrics with {status}"));
                Ok(())
            }
            SendOutcome::Foreign(status) => {
                self.refuses(Signal::Metrics, &foreign(Signal::Metrics, status));
                Ok(())
            }
            SendOutcome::Failed { cause, after } => Err(self.fails(Signal::Metrics, &cause, after)),
        }
    }

    /// Nothing can be sent. The first time since something could, it is logged.
    fn fails(&self, signal: Signal, cause: &str, after: Option<Duration>) -> Later {
        add(&self.metrics.telemetry.failures, 1);
        let mut troubles = self.troubles();
        if troubles.failing.is_none() {
            troubles.failing = Some(signal);
            tracing::error!(
                "telemetry cannot be sent: {cause}; traffic continues, and spans wait until --otlp-queue is full"
            );
        }
        Later(after)
    }

    /// The receiver will never take this, and does so.
    fn refuses(&self, signal: Signal, does: &str) {
        add(&self.metrics.telemetry.failures, 1);
        self.reached(signal);
        if !std::mem::replace(&mut self.troubles().refusing[signal as usize], true) {
            tracing::error!("{} {does}; they are dropped until it takes them", self.client.url());
        }
    }

    fn works(&self, signal: Signal) {
        self.reached(signal);
        if std::mem::take(&mut self.troubles().refusing[signal as usize]) {
            tracing::warn!("{} takes {} again", self.client.url(), signal.name());
        }
    }

    /// The receiver answers.
    fn reached(&self, signal: Signal) {
        if self.troubles().failing.take_if(|failing| *failing == signal).is_some() {
            let dropped = plural(self.metrics.telemetry.dropped.load(Ordering::Relaxed), "span");
            tracing::warn!("telemetry is sent to {} again; {dropped} dropped so far", self.client.url());
        }
    }

    /// The receiver took all but so much of a request.
    fn partly(&self, signal: Signal, rejected: usize) {
        let was = std::mem::replace(&mut self.troubles().partial[signal as usize], rejected > 0);
        if rejected > 0 && !was {
            let what = if signal == Signal::Traces { "span" } else { "data point" };
            let (url, rejected) = (self.client.url(), plural(rejected as u64, what));
            tracing::warn!("{url} rejected {rejected} of a request and took the rest; its log may say why");
        }
    }

    fn troubles(&self) -> std::sync::MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer of another type than protobuf does.
fn foreign(signal: Signal, status: http::StatusCode) -> String {
    let name = signal.name();
    format!(
        "answers {name} with {status} and another Content-Type than application/x-protobuf; check the URL of --otlp"
    )
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

/// Random bytes of the system, fetched for many ids at once.
#[derive(Default)]
struct SystemIds(Vec<u8>);

impl Ids for SystemIds {
    fn fill(&mut self, bytes: &mut [u8]) {
        if self.0.len() < bytes.len() {
            self.0.resize(4096, 0);
            let _ = SystemRandom::new().fill(&mut self.0);
        }
        let rest = self.0.len() - bytes.len();
        bytes.copy_from_slice(&self.0[rest..]);
        self.0.truncate(rest);
        // An id of zeros would be none.
        if let Some(last) = bytes.last_mut().filter(|last| **last == 0) {
            *last = 1;
        }
    }
}

/// How long to wait after a failure: as long as the receiver asks, within bounds. One that asks for no time at all does
/// not get requests without a pause.
fn pause(wait: Duration, asked: Option<Duration>) -> Duration {
    spread(wait).max(asked.unwrap_or_default().min(MAX_WAIT))
}

/// A wait that differs from that of other proxies: between a half and all of it.
fn spread(wait: Duration) -> Duration {
    let mut random = [0];
    let _ = SystemRandom::new().fill(&mut random);
    wait.mul_f64(0.5 + f64::from(random[0]) / 510.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_asks_for_no_wait_gets_pauses_all_the_same() {
        let asked = |asked: u64| pause(WAITS[0], Some(Duration::from_millis(asked)));
        assert!(asked(0) >= WAITS[0] / 2 && pause(WAITS[1], Some(Duration::ZERO)) >= WAITS[1] / 2);
        assert_eq!((asked(2_000), asked(u64::MAX)), (Duration::from_secs(2), MAX_WAIT));
        assert!(pause(WAITS[0], None) <= WAITS[0]);
    }
}
