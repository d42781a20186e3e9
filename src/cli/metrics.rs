//! `--metrics`: the listener of metrics and probes, and the servers that it reports on.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Failure, listeners::bind};
use crate::{
    contract::Contract,
    finding::Verdict,
    metrics::{Exchanges, Gauges, Metrics, MetricsListener, Observed, Serving, Subject},
    pipeline::Pipeline,
    proxy::Proxy,
    sandbox::{Answer, Answers, Ask},
};

/// An open metrics listener; it answers until this is dropped.
#[derive(Debug)]
pub(super) struct MetricsServer {
    metrics: Arc<Metrics>,
    #[expect(dead_code, reason = "it ends when it is dropped")]
    serving: Serving,
}

impl MetricsServer {
    /// Opens one at this address, if there is to be one. From now on probes get answers.
    ///
    /// # Errors
    ///
    /// The address is malformed or taken.
    pub(super) fn open(address: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(address) = address else { return Ok(None) };
        let listener = MetricsListener::bind(bind("--metrics", address))?;
        let metrics = Arc::new(Metrics::new(listener.address));
        let serving = listener.serve(Arc::clone(&metrics))?;
        Ok(Some(Self { metrics, serving }))
    }

    pub(super) fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }
}

/// Where metrics are served.
pub(super) fn url(metrics: &Metrics) -> String {
    format!("http://{}", metrics.address)
}

/// The line that says so.
pub(super) fn line(metrics: &Metrics) -> String {
    format!("listening on {} (metrics)", url(metrics))
}

/// A proxy that runs.
#[derive(Debug)]
pub(super) struct RunningProxy {
    pipeline: Weak<Pipeline>,
    proxy: Weak<Proxy>,
}

impl RunningProxy {
    pub(super) fn new(pipeline: &Arc<Pipeline>, proxy: &Arc<Proxy>) -> Self {
        Self { pipeline: Arc::downgrade(pipeline), proxy: Arc::downgrade(proxy) }
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
        let in_use = self.proxy.upgrade().map(|proxy| proxy.in_use()).unwrap_or_default();
        Gauges { lines_dropped: self.of_pipeline(Pipeline::lines_dropped), ..in_use }
    }

    fn contract(&self) -> Option<String> {
        // To ask for the hash of one that is not compiled would compile it.
        self.of_pipeline(|pipeline| pipeline.is_prepared().then(|| pipeline.contract().hash().to_owned()))
    }

    fn is_prepared(&self) -> bool {
        self.of_pipeline(Pipeline::is_prepared)
    }

    fn write_again(&self) {
        self.of_pipeline(Pipeline::write_again);
    }
}

/// A sandbox whose answers are counted. Nothing about them is judged.
#[derive(Debug)]
pub(super) struct Counted<T> {
    inner: Arc<T>,
    contract: Arc<Contract>,
    exchanges: Arc<Mutex<Exchanges>>,
}

impl<T> Counted<T> {
    /// Counts by the operations of this contract.
    pub(super) fn new(inner: Arc<T>, contract: Arc<Contract>) -> Self {
        Self { inner, contract, exchanges: Arc::default() }
    }

    /// What metrics ask.
    pub(super) fn subject(&self) -> Box<dyn Subject> {
        Box::new(RunningSandbox(Arc::clone(&self.exchanges)))
    }
}

impl<T: Answers> Answers for Counted<T> {
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
