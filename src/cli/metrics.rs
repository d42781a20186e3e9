//! `--metrics` and `--otlp`: what watches a run, and the servers that it reports on.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use contrail_contract::Contract;
use contrail_exchange::finding::Verdict;
use contrail_fleet::{Receiver, Telemetry};
use contrail_pipeline::{Counts, Pipeline, Tracer};
use contrail_proxy::{
    Proxy,
    metrics::{self, Exchanges, Gauges, Metrics, Observed, Subject},
    side::{Serving, SideListener},
};
use contrail_sandbox::{Answer, Answers, Ask};

use super::{
    Failure,
    listeners::bind,
    options::{limits::ProxyArgs, upstream::UpstreamArgs},
    signals::end_asked,
};

/// What watches a run: an open metrics listener and what sends telemetry, both, or nothing.
#[derive(Debug, Default)]
pub(super) struct Monitoring {
    metrics: Option<Arc<Metrics>>,
    telemetry: Option<Telemetry>,
    #[expect(dead_code, reason = "it ends when it is dropped")]
    serving: Option<Serving>,
}

impl Monitoring {
    /// What the options ask for. From now on probes get answers.
    ///
    /// # Errors
    ///
    /// The address is malformed or taken; telemetry cannot be sent as things are.
    pub(super) fn of(proxy: &ProxyArgs, upstream: &UpstreamArgs) -> Result<Self, Failure> {
        let receiver = proxy.telemetry.receiver(upstream.authorities(None));
        Self::open(proxy.listeners.metrics.as_deref(), receiver.as_ref())
    }

    /// A listener at this address and a sender to this receiver.
    ///
    /// # Errors
    ///
    /// As [`Self::of`].
    pub(super) fn open(address: Option<&str>, receiver: Option<&Receiver>) -> Result<Self, Failure> {
        let listener = address.map(|address| SideListener::bind(bind("--metrics", address))).transpose()?;
        if listener.is_none() && receiver.is_none() {
            return Ok(Self::default());
        }
        let metrics = Arc::new(Metrics::new(listener.as_ref().map(|listener| listener.address)));
        let serving = listener.map(|listener| metrics::serve(listener, Arc::clone(&metrics))).transpose()?;
        let telemetry = receiver.map(|receiver| Telemetry::begin(receiver, Arc::clone(&metrics))).transpose()?;
        Ok(Self { metrics: Some(metrics), telemetry, serving })
    }

    /// Where exchanges are counted, if they are.
    pub(super) fn metrics(&self) -> Option<Arc<Metrics>> {
        self.metrics.clone()
    }

    /// What takes exchanges for telemetry.
    pub(super) fn tracer(&self) -> Option<Arc<dyn Tracer>> {
        self.telemetry.as_ref().map(Telemetry::tracer)
    }

    /// Sends what is left of telemetry, for at most this time, and until a signal, while there still is what it reports
    /// on. Counts what was not sent.
    pub(super) fn end(&self, patience: Duration, counts: &mut Counts) {
        let Some((telemetry, metrics)) = self.telemetry.as_ref().zip(self.metrics.as_ref()) else { return };
        telemetry.end(patience, &end_asked());
        counts.spans_dropped = metrics.telemetry.dropped.load(Ordering::Relaxed);
        counts.spans_too_large = metrics.telemetry.too_large.load(Ordering::Relaxed);
        counts.spans_rejected = metrics.telemetry.rejected.load(Ordering::Relaxed);
    }
}

/// Where metrics are served, if they are.
pub(super) fn url(metrics: &Metrics) -> Option<String> {
    Some(format!("http://{}", metrics.address?))
}

/// The line that says so.
pub(super) fn line(metrics: &Metrics) -> Option<String> {
    Some(format!("listening on {} (metrics)", url(metrics)?))
}

/// A proxy that runs.
#[derive(Debug)]
pub(super) struct RunningProxy {
    pipeline: Weak<Pipeline>,
    proxy: Weak<Proxy>,
    /// What stays true once the proxy has ended.
    bounds: Gauges,
}

impl RunningProxy {
    pub(super) fn new(pipeline: &Arc<Pipeline>, proxy: &Arc<Proxy>) -> Self {
        let bounds = Gauges { max_connections: proxy.in_use().max_connections, ..Gauges::default() };
        Self { pipeline: Arc::downgrade(pipeline), proxy: Arc::downgrade(proxy), bounds }
    }

    fn of_pipeline<T: Default>(&self, ask: impl FnOnce(&Pipeline) -> T) -> T {
        self.pipeline.upgrade().map(|pipeline| ask(&pipeline)).unwrap_or_default()
    }
}

impl Subject for RunningProxy {
    fn exchanges(&self) -> Exchanges {
        self.of_pipeline(Pipeline::exchanges)
    }

    fn gauges(&self) -> Gauges {
        let in_use = self.proxy.upgrade().map_or(self.bounds, |proxy| proxy.in_use());
        Gauges { lines_dropped: self.of_pipeline(Pipeline::lines_dropped), ..in_use }
    }

    fn contract(&self) -> Option<String> {
        // To ask for the hash of one that is not compiled would compile it.
        self.of_pipeline(|pipeline| pipeline.is_prepared().then(|| pipeline.contract().hash().to_owned()))
    }

    fn path_template(&self, operation: &str) -> Option<String> {
        self.of_pipeline(|pipeline| pipeline.contract().path_template(operation))
    }

    fn is_prepared(&self) -> bool {
        self.of_pipeline(Pipeline::is_prepared)
    }

    fn look_again(&self) {
        self.of_pipeline(Pipeline::look_again);
    }

    fn write_again(&self) {
        self.of_pipeline(Pipeline::write_again);
    }
}

/// A sandbox whose answers are counted. Nothing about them is judged.
#[derive(Debug)]
pub(super) struct CountingSandbox<T> {
    inner: Arc<T>,
    contract: Arc<Contract>,
    exchanges: Arc<Mutex<Exchanges>>,
}

impl<T> CountingSandbox<T> {
    /// Counts by the operations of this contract.
    pub(super) fn new(inner: Arc<T>, contract: Arc<Contract>) -> Self {
        Self { inner, contract, exchanges: Arc::default() }
    }

    /// What metrics ask.
    pub(super) fn subject(&self) -> Box<dyn Subject> {
        Box::new(RunningSandbox(Arc::clone(&self.exchanges)))
    }
}

impl<T: Answers> Answers for CountingSandbox<T> {
    fn answer_now(&self, ask: &Ask<'_>) -> Answer {
        let begun = std::time::Instant::now();
        let answer = self.inner.answer_now(ask);
        let took = begun.elapsed();
        let path = ask.target.split('?').next().unwrap_or_default();
        let operation = self.contract.operation_id(ask.method.as_str(), path);
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).count(&Observed {
            verdict: &Verdict { operation, ..Verdict::default() },
            conclusion: "unjudged",
            method: ask.method,
            scheme: "http",
            status: Some(answer.status.as_u16()),
            took,
            answered: None,
            incomplete: answer.cut_at.is_some(),
            captured: [0, 0],
        });
        answer
    }
}

#[derive(Debug)]
struct RunningSandbox(Arc<Mutex<Exchanges>>);

impl Subject for RunningSandbox {
    fn exchanges(&self) -> Exchanges {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
