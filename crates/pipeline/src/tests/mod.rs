mod durable;
mod enforce;
mod several;

use std::{
    future::Future as _,
    io::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    Body, Credential, DecodeLimits, Exchange, Headers, Request, Response, Target, Timings, Transport, token::TokenCache,
};
use contrail_proxy::{
    Committed, Completed, Observer as _,
    upstream::{AnswerMeta, Problem, RequestKey},
};
use contrail_recording::{self as recording, EntryBatch};
use contrail_redact::{JudgedExchange, Plan, Redacted, Redactor};
use contrail_report::{Collector, Title};

use super::{
    console::{LineStart, numbered},
    *,
};

/// Bytes of bodies that the event loop judges.
const MAX_INLINE: usize = 64 << 10;

/// A journal in memory that can fail.
#[derive(Debug, Clone, Default)]
struct Memory {
    entries: Arc<AtomicUsize>,
    writes: Arc<AtomicUsize>,
    full: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
    /// Bytes of each entry.
    entry: usize,
    durable: bool,
    disk: Option<Disk>,
    /// What was late is safe.
    caught_up: Arc<AtomicBool>,
    gate: Option<Disk>,
}

/// A disk that syncs, or is written, when the test lets it, with the result that the test gives.
#[derive(Debug, Clone)]
struct Disk {
    begun: Sender<()>,
    result: Arc<Mutex<Receiver<io::Result<()>>>>,
}

impl Disk {
    fn new() -> (Self, Receiver<()>, Sender<io::Result<()>>) {
        let (begun, beginning) = channel();
        let (tell, result) = channel();
        (Self { begun, result: Arc::new(Mutex::new(result)) }, beginning, tell)
    }

    fn act(&self) -> io::Result<()> {
        self.begun.send(()).unwrap();
        self.result.lock().unwrap().recv().unwrap()
    }
}

impl Memory {
    /// One whose disk the test controls: when a sync begins, and its result.
    fn durable() -> (Self, Receiver<()>, Sender<io::Result<()>>) {
        let (disk, beginning, tell) = Disk::new();
        (Self { durable: true, disk: Some(disk), ..Self::default() }, beginning, tell)
    }
}

impl Encode for Memory {
    fn another(&self) -> Box<dyn Encode> {
        Box::new(self.clone())
    }

    fn encode(&mut self, _: &Redacted<JudgedExchange>, _: &Attestation, batch: &mut EntryBatch) {
        assert!(!self.panics.load(Ordering::Relaxed), "a bug");
        self.entries.fetch_add(1, Ordering::Relaxed);
        batch.lines.extend(vec![b' '; self.entry]);
    }
}

impl Journal for Memory {
    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(self.clone())
    }

    fn write(&mut self, batch: &mut EntryBatch) -> io::Result<()> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        batch.clear();
        if let Some(gate) = &self.gate {
            gate.act()?;
        }
        if self.full.load(Ordering::Relaxed) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn unsynced(&mut self) -> Sync {
        let Some(disk) = self.disk.clone() else { return Box::new(|| Ok(())) };
        Box::new(move || disk.act())
    }

    fn is_late(&self) -> bool {
        !self.caught_up.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn collector() -> Collector {
    Collector::new(Title::default(), Vec::new(), false)
}

fn pipeline(checker: Checker, journal: &Memory) -> (Arc<Pipeline>, Output) {
    let entries: Box<dyn Journal> = Box::new(journal.clone());
    pipeline_with(checker, Some(entries), journal.durable)
}

fn pipeline_with(checker: Checker, journal: Option<Box<dyn Journal>>, durable: bool) -> (Arc<Pipeline>, Output) {
    let output = Output::default();
    let pipeline = Pipeline::new(Parts {
        judge: Judge {
            contract: Contract::built_in(),
            checker,
            options: CheckOptions::default(),
            tokens: Arc::new(TokenCache::new(Duration::ZERO, None)),
            decode: DecodeLimits::default(),
            only: Vec::new(),
            exclude: Vec::new(),
            verdicts: VerdictCache::default(),
        },
        redactor: Arc::new(Redactor::new(Plan::default())),
        enforce: Enforce::All,
        collector: collector(),
        journal,
        durable,
        max_inline: MAX_INLINE,
        lines: LineFormat::PLAIN,
        quiet: false,
        console: Console::new(output.clone(), LineFormat::PLAIN).unwrap(),
        metrics: None,
        tracer: None,
        viewer: None,
    })
    .unwrap();
    (pipeline, output)
}

#[test]
fn a_verdict_is_shared_by_requests_with_the_same_status_where_their_credentials_are_not_judged() {
    let judge = |auth| Judge {
        contract: Contract::built_in(),
        checker: Contract::check,
        options: CheckOptions { auth, ..CheckOptions::default() },
        tokens: Arc::new(TokenCache::new(Duration::ZERO, None)),
        decode: DecodeLimits::default(),
        only: Vec::new(),
        exclude: Vec::new(),
        verdicts: VerdictCache::default(),
    };
    let meta = AnswerMeta {
        response_judged_elsewhere: true,
        same_request: Some(RequestKey::default()),
        ..AnswerMeta::default()
    };
    let answered = |status| {
        let mut exchange = exchange();
        exchange.response.as_mut().unwrap().status = status;
        exchange
    };
    let key = meta.same_request.clone().unwrap();
    let verdict = |judge: &Judge, exchange| judge.judge(exchange, &meta).0.verdict;

    let judging = judge(true);
    verdict(&judging, answered(200));
    assert_eq!(judging.verdicts.get(&key, 200), None, "the next one may have another token");
    let judge = judge(false);
    let cached = |status| judge.verdicts.get(&key, status);
    let mut cut = answered(200);
    cut.transport.incomplete = Some("the client went away".to_owned());
    verdict(&judge, cut);
    assert_eq!(cached(200), None, "the next one may be whole");
    let mut asking = answered(200);
    asking.request.target.path_and_query = "/api/v2/connection-profiles/templates?what=this".into();
    assert_eq!(verdict(&judge, asking).findings.len(), 1);
    assert_eq!(cached(200), None, "findings may be many");
    let first = verdict(&judge, answered(200));
    assert_eq!(cached(200), Some(first.clone()));
    assert_eq!(verdict(&judge, answered(200)), first);
    assert_ne!(verdict(&judge, answered(400)).blame, first.blame, "whose business it is depends on the status");
    assert_eq!((cached(200), cached(400)), (Some(first), None));
}

fn exchange() -> Box<Exchange> {
    Box::new(Exchange {
        request: Request {
            method: http::Method::GET,
            target: Target::new("https", "tenant.example", "/api/v2/connection-profiles/templates"),
            version: http::Version::HTTP_11,
            headers: Headers::new(),
            body: Body::default(),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 401,
            version: http::Version::HTTP_11,
            headers: Headers::new(),
            body: Body::default(),
        }),
        started: Some(SystemTime::now()),
        timings: Timings::default(),
        transport: Transport::default(),
    })
}

/// The same with another status.
fn answered(status: u16) -> Box<Exchange> {
    let mut exchange = exchange();
    if let Some(response) = &mut exchange.response {
        response.status = status;
    }
    exchange
}

fn ended() -> Completed {
    let (meta, ended) = (AnswerMeta::default(), std::time::Instant::now());
    Completed {
        exchange: exchange(),
        meta,
        took: Duration::ZERO,
        ended,
        held: false,
        alone: false,
        calls_contrail: false,
    }
}

/// Lines without the time that judging took.
fn untimed(lines: &str) -> String {
    let mut words: Vec<&str> = lines.split(' ').collect();
    for at in 1..words.len() {
        if words[at].trim_end() == "ms" {
            words[at - 1] = "N";
        }
    }
    words.join(" ")
}

fn panics(_: &Contract, _: &Exchange, _: &CheckOptions) -> contrail_exchange::finding::Verdict {
    panic!("a bug")
}

#[tokio::test]
async fn a_checker_that_panics_costs_one_exchange_its_verdict_and_never_the_recording() {
    let journal = Memory::default();
    let (pipeline, output) = pipeline(panics, &journal);
    let written = pipeline.on_completed(ended());
    pipeline.flush();
    written.await.unwrap();
    assert_eq!(journal.entries.load(Ordering::Relaxed), 1);
    let outcome = pipeline.finish();
    assert_eq!(outcome.counts.unjudged, 1);
    assert!(outcome.counts.lost(), "the exit status says so");
    outcome.console.close();
    // Nothing that was not checked counts as checked.
    assert_eq!(outcome.collector.tally().unchecked().count(), contrail_exchange::finding::Unchecked::ALL.len());
    assert_eq!(untimed(&output.text()), "401 GET /api/v2/connection-profiles/templates - unjudged N ms\n");
}

#[test]
fn lines_of_a_terminal_and_json_lines_have_the_exchanges_number_in_reports_and_its_time() {
    let clocked = LineFormat::Text { colour: false, verbose: true, clock: true };
    let number = |format, text: &str, before| {
        let mut lines = text.as_bytes().to_vec();
        let start = |at, before| LineStart { at, before, started: Some(SystemTime::UNIX_EPOCH) };
        // An exchange without a line, as under --quiet, has a number, too.
        let mut starts = vec![start(0, 0), start(text.rfind(before).unwrap(), 2)];
        let mut out = b"old\n".to_vec();
        numbered(&mut lines, &mut starts, format, 7, &mut out);
        assert!(lines.is_empty() && starts.is_empty());
        String::from_utf8(out).unwrap()
    };
    let text = "200 GET /a\n    a finding\n404 GET /b\n";
    assert_eq!(number(clocked, text, "404"), "old\n7 00:00:00Z 200 GET /a\n    a finding\n9 00:00:00Z 404 GET /b\n");
    assert_eq!(number(LineFormat::PLAIN, text, "404"), format!("old\n{text}"));
    assert_eq!(
        number(LineFormat::Json, "{\"a\":1}\n{\"b\":1}\n", "{"),
        "old\n{\"a\":1,\"entry\":7,\"started\":\"1970-01-01T00:00:00.000Z\"}\n\
         {\"b\":1,\"entry\":9,\"started\":\"1970-01-01T00:00:00.000Z\"}\n"
    );
}

/// As of a contract whose operation has no id.
fn nameless(_: &Contract, _: &Exchange, _: &CheckOptions) -> contrail_exchange::finding::Verdict {
    let operation = Some("GET /connection-profiles/templates".into());
    contrail_exchange::finding::Verdict { operation, ..contrail_exchange::finding::Verdict::default() }
}

#[tokio::test]
async fn the_line_of_an_operation_without_an_id_names_it_once() {
    let (pipeline, output) = pipeline(nameless, &Memory::default());
    let written = pipeline.on_completed(ended());
    pipeline.flush();
    written.await.unwrap();
    pipeline.finish().console.close();
    assert_eq!(untimed(&output.text()), "401 GET /api/v2/connection-profiles/templates conforms N ms\n");
}

/// What becomes of an exchange whose response is held.
fn admitted(pipeline: &Pipeline, exchange: Box<Exchange>) -> Result<(), Problem> {
    let mut written = Box::pin(pipeline.on_completed(Completed { exchange, held: true, ..ended() }));
    assert!(is_pending(&mut written), "it waits until it is judged");
    pipeline.flush();
    match written.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(admitted) => admitted,
        Poll::Pending => panic!("judged, and still held"),
    }
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_stops_no_traffic_and_is_reported_once_and_counted() {
    let journal = Memory { full: Arc::new(true.into()), ..Memory::default() };
    let (pipeline, output) = pipeline(Contract::check, &journal);
    for _ in 0..2 {
        let written = pipeline.on_completed(ended());
        pipeline.flush();
        written.await.unwrap();
    }
    let outcome = pipeline.finish();
    outcome.console.close();
    assert_eq!(output.text().matches("ALARM: the journal cannot be written").count(), 1, "{}", output.text());
    assert_eq!(outcome.counts.unwritten, 2);
    assert!(outcome.counts.lost());
}

#[tokio::test]
async fn all_exchanges_that_end_in_one_turn_are_written_at_once_and_only_then_released() {
    let journal = Memory::default();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    let writer = writer(&pipeline);
    let batches: Vec<_> = (0..5)
        .map(|_| {
            let pipeline = Arc::clone(&pipeline);
            tokio::spawn(async move { pipeline.on_completed(ended()).await })
        })
        .collect();
    for turn in batches {
        turn.await.unwrap().unwrap();
    }
    assert_eq!(journal.entries.load(Ordering::Relaxed), 5);
    assert_eq!(journal.writes.load(Ordering::Relaxed), 1);
    pipeline.on_completed(ended()).await.unwrap();
    assert_eq!(journal.writes.load(Ordering::Relaxed), 2);
    writer.abort();
}

#[test]
fn a_remark_shows_no_secret_that_was_learnt_after_it_was_worded() {
    let (pipeline, output) = pipeline(Contract::check, &Memory::default());
    let mut ended = ended();
    let secret = "zq0-7580-k3VbT9wXr2";
    ended.exchange.request.headers = [("content-type", "application/x-www-form-urlencoded")]
        .map(|(name, value)| (name.parse().unwrap(), http::HeaderValue::from_static(value)))
        .into_iter()
        .collect();
    ended.exchange.request.body = Body::whole(format!("client_secret={secret}"));
    ended.meta.remarks = vec![format!("/x?b={secret} was not recorded")];
    drop(pipeline.on_completed(ended));
    let outcome = pipeline.finish();
    outcome.console.close();
    let expected = "401 GET /api/v2/connection-profiles/templates getConnectionProfileTemplates violates N ms \
                    (request.body.unexpected, auth.missing at Authorization); /x?b=!client-secret-1! was not recorded\n";
    assert_eq!(untimed(&output.text()), expected);
}

#[tokio::test]
async fn an_entry_that_cannot_be_encoded_costs_its_turn_and_none_that_comes_after() {
    let journal = Memory::default();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    let writer = writer(&pipeline);
    journal.panics.store(true, Ordering::Relaxed);
    assert_eq!(pipeline.on_completed(ended()).await.unwrap_err().reason, "recording-ended");
    journal.panics.store(false, Ordering::Relaxed);
    pipeline.on_completed(ended()).await.unwrap();
    assert_eq!(journal.entries.load(Ordering::Relaxed), 1);
    writer.abort();
    let counts = pipeline.finish().counts;
    assert!(counts.lost());
}

/// An exchange that has ended, and was written.
fn written(pipeline: &Pipeline) -> std::pin::Pin<Box<Committed>> {
    let written = Box::pin(pipeline.on_completed(ended()));
    pipeline.flush();
    written
}

/// Takes up what ends, turn by turn.
fn writer(pipeline: &Arc<Pipeline>) -> tokio::task::JoinHandle<()> {
    let pipeline = Arc::clone(pipeline);
    tokio::spawn(async move { pipeline.run().await })
}

fn is_pending(written: &mut std::pin::Pin<Box<Committed>>) -> bool {
    written.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[tokio::test]
async fn a_sync_that_failed_is_not_made_good_by_a_later_one() {
    let (journal, _begun, tell) = Memory::durable();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    tell.send(Err(io::ErrorKind::Other.into())).unwrap();
    tell.send(Ok(())).unwrap();
    for _ in 0..2 {
        assert_eq!(written(&pipeline).await.unwrap_err().reason, "durable");
        assert!(pipeline.refuses(&exchange().request).is_some());
    }
    assert_eq!(pipeline.finish().counts.unwritten, 2);
}

#[tokio::test]
async fn a_large_body_is_judged_off_the_event_loop_and_in_its_turn() {
    static SERVED: (Mutex<bool>, std::sync::Condvar) = (Mutex::new(false), std::sync::Condvar::new());
    static HELD_UP: AtomicBool = AtomicBool::new(false);
    /// Judges the large body once the event loop has served something else.
    fn waits(contract: &Contract, exchange: &Exchange, options: &CheckOptions) -> contrail_exchange::finding::Verdict {
        if exchange.request.body.content.len() > MAX_INLINE {
            let served = SERVED.0.lock().unwrap();
            let (served, _) = SERVED.1.wait_timeout_while(served, Duration::from_secs(20), |served| !*served).unwrap();
            HELD_UP.store(!*served, Ordering::Relaxed);
        }
        contract.check(exchange, options)
    }
    Contract::built_in().prepare();
    let (pipeline, output) = pipeline_with(waits, None, false);
    let writer = writer(&pipeline);
    tokio::task::yield_now().await;
    let mut large = ended();
    large.exchange.request.body = Body::whole(vec![b' '; MAX_INLINE + 1]);
    large.exchange.request.method = http::Method::PUT;
    assert!(pipeline.is_slow_to_admit(&large.exchange) && !pipeline.is_slow_to_admit(&exchange()));
    let mut large = Box::pin(pipeline.on_completed(large));
    let mut small = Box::pin(pipeline.on_completed(ended()));
    assert!(is_pending(&mut large) && is_pending(&mut small), "the second may show a secret of the first");
    assert!(pipeline.is_slow_to_admit(&exchange()), "its refusal would wait for the large body");
    tokio::task::yield_now().await;
    *SERVED.0.lock().unwrap() = true;
    SERVED.1.notify_all();
    large.await.unwrap();
    small.await.unwrap();
    assert!(!HELD_UP.load(Ordering::Relaxed));
    writer.abort();
    let outcome = pipeline.finish();
    outcome.console.close();
    let lines = output.text();
    let methods: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(methods, ["PUT", "GET"], "{lines}");
}
