//! A receiver of OpenTelemetry's protocol, which keeps what it gets and answers as a test says.

use std::{
    collections::VecDeque,
    io::{BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::{Metric, metric::Data, number_data_point},
    trace::v1::Span,
};
use prost::Message as _;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::wire::{Message, read};

/// What a test waits for at most; beyond it something hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// An answer: status, further header fields, and body.
pub struct Reply(pub u16, pub &'static str, pub Vec<u8>);

#[derive(Default)]
struct Kept {
    requests: Vec<Message>,
    replies: VecDeque<Reply>,
    of_metrics: VecDeque<Reply>,
    /// Nothing is answered.
    silent: bool,
}

/// See the module. Its threads end with the process.
#[derive(Clone)]
pub struct Receiver {
    pub address: SocketAddr,
    kept: Arc<(Mutex<Kept>, Condvar)>,
}

impl Receiver {
    pub fn start() -> Self {
        Self::listen(None)
    }

    /// One that speaks TLS.
    pub fn with_tls(config: ServerConfig) -> Self {
        Self::listen(Some(Arc::new(config)))
    }

    fn listen(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self { address: listener.local_addr().unwrap(), kept: Arc::default() };
        let serving = receiver.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (serving, tls, stream) = (serving.clone(), tls.clone(), stream.unwrap());
                thread::spawn(move || match tls {
                    None => serving.serve(stream),
                    Some(tls) => serving.serve(StreamOwned::new(ServerConnection::new(tls).unwrap(), stream)),
                });
            }
        });
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn serve(&self, mut stream: impl Read + Write) {
        while let Ok(request) = read(&mut BufReader::new(&mut stream), false, false) {
            let (kept, changed) = &*self.kept;
            let mut kept = kept.lock().unwrap();
            kept.requests.push(request);
            changed.notify_all();
            if kept.silent {
                drop(changed.wait_while(kept, |kept| kept.silent).unwrap());
                return;
            }
            let is_traces = kept.requests.last().is_some_and(is_traces);
            let replies = if is_traces { &mut kept.replies } else { &mut kept.of_metrics };
            let Reply(status, fields, body) = replies.pop_front().unwrap_or(Reply(200, "", Vec::new()));
            drop(kept);
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
            if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
                return;
            }
        }
    }

    /// Adds an answer to metrics.
    pub fn will_answer_metrics(&self, reply: Reply) {
        self.kept.0.lock().unwrap().of_metrics.push_back(reply);
    }

    /// Adds an answer to traces; after the last one, everything is taken.
    pub fn will_answer(&self, reply: Reply) {
        self.kept.0.lock().unwrap().replies.push_back(reply);
    }

    /// From now on nothing is answered.
    pub fn falls_silent(&self) {
        self.kept.0.lock().unwrap().silent = true;
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Message> {
        self.kept.0.lock().unwrap().requests.clone()
    }

    /// Those with traces.
    pub fn traces(&self) -> Vec<Message> {
        self.requests().into_iter().filter(is_traces).collect()
    }

    /// Waits until so many requests with traces have come.
    pub fn waits_for(&self, requests: usize) {
        let (kept, changed) = &*self.kept;
        let lacks = |kept: &mut Kept| kept.requests.iter().filter(|request| is_traces(request)).count() < requests;
        let waiting = changed.wait_timeout_while(kept.lock().unwrap(), PATIENCE, lacks);
        assert!(!waiting.unwrap().1.timed_out(), "{requests} requests never came");
    }

    /// The spans of all requests.
    pub fn spans(&self) -> Vec<Span> {
        let requests = self.traces().into_iter();
        let decoded = requests.map(|request| ExportTraceServiceRequest::decode(&*request.body).unwrap());
        let scopes = decoded.flat_map(|request| request.resource_spans).flat_map(|spans| spans.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// The last request of metrics.
    pub fn metrics(&self) -> Vec<Metric> {
        let requests = self.requests();
        let last = requests.iter().rfind(|request| request.start.contains("/v1/metrics")).unwrap();
        let decoded = ExportMetricsServiceRequest::decode(&*last.body).unwrap();
        let scopes = decoded.resource_metrics.into_iter().flat_map(|metrics| metrics.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }
}

fn is_traces(request: &Message) -> bool {
    request.start.contains("/v1/traces ")
}

/// The value of an attribute, as text; empty if it is not there.
pub fn attribute(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|pair| pair.key == key);
    match found.and_then(|pair| pair.value.as_ref()?.value.clone()) {
        None => String::new(),
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(value)) => value.to_string(),
        Some(Value::ArrayValue(list)) => list.values.into_iter().map(listed).collect::<Vec<_>>().join(","),
        other => panic!("{other:?}"),
    }
}

fn listed(value: AnyValue) -> String {
    match value.value {
        Some(Value::StringValue(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The sum of a metric's points with these attributes.
pub fn sum(metrics: &[Metric], name: &str, with: &[(&str, &str)]) -> i64 {
    let metric = metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("there is no {name}"));
    let has = |attributes: &[KeyValue]| with.iter().all(|(key, value)| attribute(attributes, key) == *value);
    match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => {
            let points = sum.data_points.iter().filter(|point| has(&point.attributes));
            points.map(|point| whole(point.value.unwrap())).sum()
        }
        Data::Gauge(gauge) => {
            let points = gauge.data_points.iter().filter(|point| has(&point.attributes));
            points.map(|point| whole(point.value.unwrap())).sum()
        }
        Data::Histogram(histogram) => {
            let points = histogram.data_points.iter().filter(|point| has(&point.attributes));
            points.map(|point| i64::try_from(point.count).unwrap()).sum()
        }
        other => panic!("{other:?}"),
    }
}

fn whole(value: number_data_point::Value) -> i64 {
    match value {
        number_data_point::Value::AsInt(number) => number,
        number_data_point::Value::AsDouble(number) => panic!("{number} is no whole number"),
    }
}
