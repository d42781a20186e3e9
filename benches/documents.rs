//! How fast the traffic of any document is judged, beside that of the built-in contract.
//!
//! ```text
//! cargo bench --bench documents -- --documents DIR [--bytes N] [--slowest N] [--only TEXT]
//! ```
//!
//! - An exchange: a request and an answer of the sandbox, its longest list repeated up to 1 KB. The time of one check,
//!   the token known already, and its ratio to the fastest exchange of the built-in contract of its size, measured in
//!   turns with it. The size is that of both bodies and the query.
//! - An answer: its longest list repeated up to a size, in MB/s; then the same with a member that nothing documents in
//!   the last item, which the fast path leaves to the gap walker; then with a wrong type in every item, for the judge.
//!   What cannot grow to 64 KB is counted and left out.
//!
//! A figure is the best of several runs of one thread, reading the JSON included. Medians are those of a document's
//! operations. With `--bytes 0` only exchanges are measured.

#![allow(clippy::print_stdout, clippy::cast_precision_loss)] // a table of speeds

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use contrail_contract::{CheckOptions, Contract, schema::Schema};
use contrail_exchange::{
    Body, Exchange, Headers, Request, Response, Target, Timings, Transport, finding::Verdict, json::Document,
    token::TokenCache,
};
use contrail_sandbox::{
    Answers as _, Ask,
    mock::{Mock, Sample},
};
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use serde_json::{Value, json};

/// Bound on the time for one figure.
const BUDGET: Duration = Duration::from_millis(50);

/// Smallest answer whose speed counts, in bytes: a smaller one is all start and end.
const LARGE: usize = 64 << 10;

/// Size up to which the answer of an exchange grows, in bytes.
const EXCHANGE: usize = 1 << 10;

struct Options {
    documents: Vec<PathBuf>,
    bytes: usize,
    slowest: usize,
    only: String,
}

struct Figure {
    name: String,
    bytes: usize,
    /// The best of several runs.
    time: Duration,
    note: &'static str,
}

impl Figure {
    /// In bytes per microsecond.
    fn speed(&self) -> f64 {
        self.bytes as f64 / self.micros()
    }

    fn micros(&self) -> f64 {
        self.time.as_secs_f64() * 1e6
    }
}

/// What the sandbox answers to a request of an operation.
struct Answered {
    sample: Sample,
    schema: Schema,
    status: u16,
    /// Several of them, the first to that request.
    answers: Vec<Value>,
}

fn main() {
    let options = options();
    let named = |file: &PathBuf| (file.display().to_string(), load(file));
    let built_in = Contract::built_in();
    built_in.prepare();
    let mut references =
        References { contract: &built_in, answered: answered(&built_in, ""), by_size: BTreeMap::new() };
    let built_in = (contrail_contract::BUILT_IN.to_owned(), Arc::clone(&built_in));
    for (name, contract) in std::iter::once(built_in).chain(options.documents.iter().map(named)) {
        contract.prepare();
        let answered = answered(&contract, &options.only);
        let exchanges =
            answered.iter().filter_map(|one| TestExchange::new(&contract, one, EXCHANGE).measure(&mut references));
        print_exchanges(&name, exchanges.collect(), answered.len(), options.slowest);
        let large = answered.iter().filter_map(|one| Some((one, grown(one.answers.clone(), options.bytes)?)));
        let large: Vec<_> = large.filter(|(_, body)| body.to_string().len() >= LARGE).collect();
        let small = answered.len() - large.len();
        for (note, change) in [
            ("", Value::clone as fn(&Value) -> Value),
            (", with a gap", with_unknown_member),
            (", wrong", with_wrong_types),
        ] {
            let figure = |(answered, body): &(&Answered, Value)| {
                measure_answer(&answered.sample.operation, &answered.schema, &change(body))
            };
            print_answers(&format!("{name}{note}"), large.iter().map(figure).collect(), small, options.slowest);
        }
    }
}

fn options() -> Options {
    let mut options = Options { documents: Vec::new(), bytes: 1 << 20, slowest: 3, only: String::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
        match arg.as_str() {
            "--documents" => {
                let folder = std::fs::read_dir(value()).expect("the folder can be read");
                options.documents = folder.map(|entry| entry.expect("an entry").path()).collect();
                options.documents.sort();
            }
            "--bytes" => options.bytes = value().parse().expect("a number"),
            "--slowest" => options.slowest = value().parse().expect("a number"),
            "--only" => options.only = value(),
            "--bench" => {} // cargo's
            other => panic!("`{other}` is no option"),
        }
    }
    options
}

fn load(file: &PathBuf) -> Arc<Contract> {
    Contract::load(std::slice::from_ref(file), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Operations with the schema of their success and answers of JSON.
fn answered(contract: &Arc<Contract>, only: &str) -> Vec<Answered> {
    let mocks: Vec<Mock> =
        (0..4).map(|seed| Mock::new(Arc::clone(contract), None, seed).expect("randomness for a key")).collect();
    let mut all = Vec::new();
    for (_, sample) in mocks[0].samples().into_iter().filter(|(id, _)| id.contains(only)) {
        let Some(sample) = sample else { continue };
        let path = sample.target.split('?').next().unwrap_or_default();
        let Some(found) = contract.find(sample.method.as_str(), path) else { continue };
        let Some(success) = found.operation.responses.success() else { continue };
        let Some(schema) = success.content.iter().find_map(|content| content.schema.clone()) else { continue };
        let headers: HeaderMap = fields(&sample).collect();
        let ask = Ask { method: &sample.method, target: &sample.target, headers: &headers, body: &sample.body };
        let (mut status, mut answers) = (0, Vec::new());
        for answer in mocks.iter().map(|mock| mock.answer_now(&ask)).filter(|answer| answer.status.is_success()) {
            status = answer.status.as_u16();
            answers.extend(serde_json::from_slice::<Value>(&answer.body));
        }
        if !answers.is_empty() {
            all.push(Answered { sample, schema, status, answers });
        }
    }
    all
}

fn fields(sample: &Sample) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    sample.headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
}

/// The first answer, its longest list filled with the items of all of them up to a size.
fn grown(mut answers: Vec<Value>, bytes: usize) -> Option<Value> {
    let at = longest(answers.first()?);
    let items: Vec<Value> = match &at {
        None => return answers.into_iter().next(),
        Some(at) => answers.iter().filter_map(|answer| answer.pointer(at)?.as_array()).flatten().cloned().collect(),
    };
    let mut body = answers.swap_remove(0);
    let (mut size, list) = (body.to_string().len(), body.pointer_mut(&at?)?.as_array_mut()?);
    let sizes: Vec<usize> = items.iter().map(|item| item.to_string().len() + 1).collect();
    for (item, more) in items.iter().zip(sizes).cycle() {
        if size >= bytes {
            break;
        }
        list.push(item.clone());
        size += more;
    }
    Some(body)
}

/// Where the list with the longest text is.
fn longest(value: &Value) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    let mut todo = vec![(String::new(), value)];
    while let Some((at, value)) = todo.pop() {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let size = value.to_string().len();
                if found.as_ref().is_none_or(|(held, _)| *held < size) {
                    found = Some((size, at));
                }
            }
            Value::Object(members) => {
                let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
                todo.extend(members.iter().map(|(name, value)| (format!("{at}/{}", escaped(name)), value)));
            }
            _ => {}
        }
    }
    found.map(|(_, at)| at)
}

/// Adds a member to the last object of the longest list, or to the value.
fn with_unknown_member(body: &Value) -> Value {
    let mut body = body.clone();
    let at = longest(&body).unwrap_or_default();
    let last = match body.pointer_mut(&at) {
        Some(Value::Array(items)) => items.last_mut(),
        other => other,
    };
    if let Some(Value::Object(members)) = last {
        members.insert("nobody documents this".to_owned(), json!(1));
    }
    body
}

/// Puts an object in place of the last scalar of each object of the longest list, or of each scalar in it.
fn with_wrong_types(body: &Value) -> Value {
    let mut body = body.clone();
    let at = longest(&body).unwrap_or_default();
    for item in body.pointer_mut(&at).and_then(Value::as_array_mut).into_iter().flatten() {
        let place = match item {
            Value::Object(members) => members.values_mut().rfind(|value| !value.is_object() && !value.is_array()),
            other => Some(other),
        };
        if let Some(place) = place {
            *place = json!({"wrong": [1]});
        }
    }
    body
}

/// The fastest exchanges of the built-in contract, by their size.
struct References<'c> {
    contract: &'c Contract,
    answered: Vec<Answered>,
    by_size: BTreeMap<usize, TestExchange<'c>>,
}

impl<'c> References<'c> {
    fn of_size(&mut self, bytes: usize) -> &mut TestExchange<'c> {
        let Self { contract, answered, by_size } = self;
        by_size.entry(bytes.div_ceil(EXCHANGE / 4)).or_insert_with_key(|size| {
            let bytes = size * EXCHANGE / 4;
            let all =
                answered.iter().map(|one| TestExchange::new(contract, one, bytes.saturating_sub(sent(&one.sample))));
            let alike =
                all.filter_map(|mut one| one.counts(one.bytes(), bytes).then(|| (best(64, &mut || one.check()), one)));
            alike.min_by_key(|(time, _)| *time).expect("an exchange of that size").1
        })
    }
}

/// The bytes of a request that are judged: its query and its body.
fn sent(sample: &Sample) -> usize {
    let query = sample.target.split_once('?').map_or(0, |(_, query)| query.len());
    query + sample.body.len()
}

struct TestExchange<'c> {
    contract: &'c Contract,
    exchange: Exchange,
    sample: Sample,
    answer: Bytes,
}

impl<'c> TestExchange<'c> {
    fn new(contract: &'c Contract, answered: &Answered, bytes: usize) -> Self {
        let Answered { sample, status, .. } = answered;
        let answer = Bytes::from(grown(answered.answers.clone(), bytes).unwrap_or_default().to_string());
        let headers: Headers = fields(sample).collect();
        let now = SystemTime::now();
        let credential = TokenCache::new(Duration::ZERO, None).credential(&headers, now);
        let request = Request {
            method: sample.method.clone(),
            target: Target::new("https", "tenant.example", &*sample.target),
            version: Version::HTTP_11,
            headers,
            body: Body::default(),
            credential,
        };
        let json = [(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        let response = Response { status: *status, version: Version::HTTP_11, headers: json, body: Body::default() };
        let exchange = Exchange {
            request,
            response: Some(response),
            started: Some(now),
            timings: Timings::default(),
            transport: Transport::default(),
        };
        Self { contract, exchange, sample: sample.clone(), answer }
    }

    fn bytes(&self) -> usize {
        self.answer.len() + sent(&self.sample)
    }

    /// Of about this size, without findings.
    fn counts(&mut self, size: usize, bytes: usize) -> bool {
        (bytes / 4..bytes * 2).contains(&size) && self.check().findings.is_empty()
    }

    fn check(&mut self) -> Verdict {
        // A body keeps what was read of it.
        self.exchange.request.body = Body::whole(self.sample.body.clone());
        self.exchange.response.as_mut().expect("an answer").body = Body::whole(self.answer.clone());
        self.contract.check(&self.exchange, &CheckOptions::default())
    }

    /// Its time, and how many times as long as the reference it takes; `None` where it does not count.
    fn measure(mut self, references: &mut References<'_>) -> Option<(Figure, f64)> {
        if !self.counts(self.answer.len() + self.sample.body.len(), EXCHANGE) {
            return None;
        }
        let reference = references.of_size(self.bytes());
        let (started, mut time, mut beside) = (Instant::now(), Duration::MAX, Duration::MAX);
        while started.elapsed() < BUDGET {
            time = time.min(run(64, &mut || self.check()));
            beside = beside.min(run(64, &mut || reference.check()));
        }
        let figure = Figure { bytes: self.bytes(), name: self.sample.operation, time, note: "no finding" };
        Some((figure, time.div_duration_f64(beside)))
    }
}

fn measure_answer(id: &str, schema: &Schema, value: &Value) -> Figure {
    let text = Bytes::from(value.to_string());
    let is_origin = |_: &str| false;
    let mut judge = || {
        let document = Document::parse(text.clone()).expect("JSON");
        schema.judge(&document, &is_origin)
    };
    let note = match judge() {
        Ok(judged) if !judged.violations.is_empty() => "violates",
        Ok(judged) if !judged.gaps.is_empty() => "gaps",
        Ok(_) => "conforms",
        Err(_) => "not judged",
    };
    Figure { name: id.to_owned(), bytes: text.len(), time: best(1, &mut judge), note }
}

/// The best time of several runs.
fn best<T>(runs: u32, one: &mut impl FnMut() -> T) -> Duration {
    let (started, mut best) = (Instant::now(), Duration::MAX);
    while started.elapsed() < BUDGET {
        best = best.min(run(runs, one));
    }
    best
}

/// The time of one of some runs.
fn run<T>(runs: u32, one: &mut impl FnMut() -> T) -> Duration {
    let begun = Instant::now();
    for _ in 0..runs {
        let _ = std::hint::black_box(one());
    }
    begun.elapsed() / runs
}

/// Exchanges that count of all, and the medians of their times and ratios.
fn print_exchanges(name: &str, mut figures: Vec<(Figure, f64)>, all: usize, slowest: usize) {
    figures.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let Some(ratio) = figures.get(figures.len() / 2).map(|(_, ratio)| ratio) else { return };
    let above = figures.iter().filter(|(_, ratio)| *ratio > 1.5).count();
    println!("{name}: {} exchanges of {all}; median {ratio:.2} × the built-in's; above 1.5: {above}", figures.len());
    for (figure, ratio) in figures.iter().take(slowest) {
        println!("  {:>7.2} µs {ratio:>6.2} × {:>9} bytes  {}", figure.micros(), figure.bytes, figure.name);
    }
}

fn print_answers(name: &str, mut figures: Vec<Figure>, small: usize, slowest: usize) {
    figures.sort_by(|a, b| a.speed().total_cmp(&b.speed()));
    let median = figures.get(figures.len() / 2).map_or(0.0, Figure::speed);
    let below = figures.iter().take_while(|figure| figure.speed() < 50.0);
    println!(
        "{name}: {} answers ({}), {small} too small; median {median:.0} MB/s; below 50: {}",
        figures.len(),
        counted(figures.iter()),
        counted(below)
    );
    for figure in figures.iter().take(slowest) {
        println!("  {:>7.1} MB/s {:>9} bytes  {}  {}", figure.speed(), figure.bytes, figure.note, figure.name);
    }
}

/// How many figures have each note.
fn counted<'f>(figures: impl Iterator<Item = &'f Figure>) -> String {
    let mut counts = BTreeMap::new();
    for figure in figures {
        *counts.entry(figure.note).or_insert(0) += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(note, count)| format!("{count} {note}")).collect();
    if counts.is_empty() { "0".to_owned() } else { counts.join(", ") }
}
