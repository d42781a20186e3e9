//! How fast the answers of any document are judged: MB/s of the slowest schemas of each.
//!
//! ```text
//! cargo bench --bench documents -- --documents DIR [--bytes N] [--slowest N] [--only TEXT]
//! ```
//!
//! Each operation's answer is the sandbox's, with its longest list repeated up to a size; then the same with a member that
//! nothing documents in the last item, which the fast path leaves to the judge and the gap walker. Without a folder, the
//! built-in contract is measured. A figure is the best of several runs of one thread, reading the JSON included.

#![allow(clippy::print_stdout, clippy::cast_precision_loss)] // a table of speeds

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use contrail::{
    contract::{Contract, schema::Schema},
    json::Document,
    mock::Mock,
    sandbox::{Answers as _, Ask},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Bound on the time for one figure.
const BUDGET: Duration = Duration::from_millis(200);

struct Options {
    documents: Vec<PathBuf>,
    bytes: usize,
    slowest: usize,
    only: String,
}

struct Figure {
    name: String,
    bytes: usize,
    /// Bytes per microsecond.
    speed: f64,
    note: &'static str,
}

fn main() {
    let options = options();
    let contracts = match &options.documents[..] {
        [] => vec![(contrail::contract::BUILT_IN.to_owned(), Contract::built_in())],
        files => files.iter().map(|file| (file.display().to_string(), load(file))).collect(),
    };
    for (name, contract) in contracts {
        contract.prepare();
        let bodies = bodies(&contract, options.bytes, &options.only);
        let (plain, with_gap): (Vec<_>, Vec<_>) = bodies
            .iter()
            .map(|(id, schema, body)| {
                let figure = |value: &Value| measure(id, schema, value);
                (figure(body), figure(&with_unknown_member(body)))
            })
            .unzip();
        print(&name, plain, options.slowest);
        print(&format!("{name}, with a gap"), with_gap, options.slowest);
    }
}

fn options() -> Options {
    let mut options = Options { documents: Vec::new(), bytes: 1 << 20, slowest: 5, only: String::new() };
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

/// Operations with the schema of their success and an answer.
fn bodies(contract: &Arc<Contract>, bytes: usize, only: &str) -> Vec<(String, Schema, Value)> {
    let mocks: Vec<Mock> =
        (0..4).map(|seed| Mock::new(Arc::clone(contract), None, seed).expect("randomness for a key")).collect();
    let mut bodies = Vec::new();
    for (id, sample) in mocks[0].samples().into_iter().filter(|(id, _)| id.contains(only)) {
        let Some(sample) = sample else { continue };
        let path = sample.target.split('?').next().unwrap_or_default();
        let Some(found) = contract.find(sample.method.as_str(), path) else { continue };
        let Some(success) = found.operation.responses.success() else { continue };
        let Some(schema) = success.content.iter().find_map(|content| content.schema.clone()) else { continue };
        let headers: HeaderMap = sample
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?)))
            .collect();
        let ask = Ask { method: &sample.method, target: &sample.target, headers: &headers, body: &sample.body };
        let mut answers: Vec<Value> = Vec::new();
        for mock in &mocks {
            let answer = mock.answer_now(&ask);
            if answer.status.is_success() {
                answers.extend(serde_json::from_slice::<Value>(&answer.body));
            }
        }
        if let Some(body) = grown(answers, bytes) {
            bodies.push((id, schema, body));
        }
    }
    bodies
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

fn measure(id: &str, schema: &Schema, value: &Value) -> Figure {
    let text = Bytes::from(value.to_string());
    let is_origin = |_: &str| false;
    let judge = || {
        let document = Document::parse(text.clone()).expect("JSON");
        schema.judge(&document, &is_origin)
    };
    let note = match judge() {
        Ok(judged) if !judged.violations.is_empty() => "violates",
        Ok(judged) if !judged.gaps.is_empty() => "gaps",
        Ok(_) => "conforms",
        Err(_) => "not judged",
    };
    let repeat = (64_000 / text.len()).max(1);
    let (started, mut best) = (Instant::now(), Duration::MAX);
    while started.elapsed() < BUDGET {
        let one = Instant::now();
        for _ in 0..repeat {
            let _ = std::hint::black_box(judge());
        }
        best = best.min(one.elapsed());
    }
    let speed = (text.len() * repeat) as f64 / (best.as_secs_f64() * 1e6);
    Figure { name: id.to_owned(), bytes: text.len(), speed, note }
}

fn print(name: &str, mut figures: Vec<Figure>, slowest: usize) {
    figures.sort_by(|a, b| a.speed.total_cmp(&b.speed));
    let mut seen = HashSet::new();
    let notes: Vec<&str> = figures.iter().map(|figure| figure.note).filter(|note| seen.insert(*note)).collect();
    let counts: Vec<String> = notes
        .iter()
        .map(|note| format!("{} {note}", figures.iter().filter(|figure| figure.note == *note).count()))
        .collect();
    let median = figures.get(figures.len() / 2).map_or(0.0, |figure| figure.speed);
    let below = figures.iter().filter(|figure| figure.speed < 50.0).count();
    println!("{name}: {} answers ({}); median {median:.0} MB/s; below 50: {below}", figures.len(), counts.join(", "));
    for figure in figures.iter().take(slowest) {
        println!("  {:>7.1} MB/s {:>9} bytes  {}  {}", figure.speed, figure.bytes, figure.note, figure.name);
    }
}
