//! Durable writes: what waits for the journal, and what is on the disk before a response ends.

use super::*;

#[tokio::test]
async fn under_durable_what_a_panicking_checker_did_not_judge_is_on_the_disk_before_its_response_ends() {
    let (journal, begun, tell) = Memory::durable();
    let (pipeline, _) = pipeline(panics, &journal);
    let mut written = written(&pipeline);
    begun.recv().unwrap();
    assert!(is_pending(&mut written));
    tell.send(Ok(())).unwrap();
    written.await.unwrap();
    assert!(pipeline.refuses(&exchange().request).is_none());
    assert_eq!(journal.entries.load(Ordering::Relaxed), 1);
    assert_eq!(pipeline.finish().counts.unjudged, 1);
}

#[test]
fn entries_that_wait_for_one_write_are_bounded_however_many_end_in_one_turn() {
    let journal = Memory { entry: 1 << 20, ..Memory::default() };
    let (pipeline, _) = pipeline(Contract::check, &journal);
    // All in one turn of the event loop: nothing flushes in between.
    let written: Vec<_> = (0..batches::MAX_PENDING + 2).map(|_| pipeline.on_completed(ended())).collect();
    assert_eq!(journal.writes.load(Ordering::Relaxed), batches::MAX_PENDING / 4);
    let queue = pipeline.finish().counts.queue;
    assert_eq!((queue.most_bytes, queue.most_exchanges), (4 << 20, 4));
    assert_eq!(queue.writes, batches::MAX_PENDING as u64 / 4 + 1);
    drop(written);
}

#[test]
fn bodies_that_wait_for_the_end_of_a_turn_are_bounded() {
    let journal = Memory::default();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    let with_body = || {
        let mut ended = ended();
        ended.exchange.request.body = Body::whole(vec![b' '; batches::MAX_BYTES / 2]);
        ended
    };
    let one = pipeline.on_completed(with_body());
    assert_eq!(journal.entries.load(Ordering::Relaxed), 0);
    let other = pipeline.on_completed(with_body());
    assert_eq!(journal.entries.load(Ordering::Relaxed), 2);
    drop((one, other));
}

#[test]
fn without_a_journal_a_response_waits_only_where_another_event_loop_may_meet_its_secrets_first() {
    let (pipeline, said) = pipeline_with(Contract::check, None, false);
    // Else it would be left to a thread.
    pipeline.contract().prepare();
    let of_this_loop = pipeline.batches.begin();
    assert!(!is_pending(&mut Box::pin(pipeline.on_completed(ended()))));
    pipeline.process_batch(&of_this_loop);
    std::thread::scope(|scope| scope.spawn(|| pipeline.batches.begin()).join().unwrap());
    let mut waits = Box::pin(pipeline.on_completed(ended()));
    assert!(is_pending(&mut waits));
    pipeline.process_batch(&of_this_loop);
    assert!(!is_pending(&mut waits));
    let outcome = pipeline.finish();
    outcome.console.close();
    assert_eq!((outcome.counts.exchanges, said.text().lines().count()), (2, 2));
}

#[test]
fn what_ended_before_is_taken_up_before_a_refusal_is_put_in_words() {
    let journal = Memory::default();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    drop(pipeline.on_completed(ended()));
    assert_eq!(journal.entries.load(Ordering::Relaxed), 0);
    assert!(pipeline.admit_request(&mut exchange()).is_err());
    assert_eq!(journal.entries.load(Ordering::Relaxed), 1);
}

#[test]
fn an_exchange_that_ends_alone_is_written_at_once_with_those_that_wait() {
    let journal = Memory::default();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    let mut waits = Box::pin(pipeline.on_completed(ended()));
    assert!(is_pending(&mut waits));
    let mut last = Box::pin(pipeline.on_completed(Completed { alone: true, ..ended() }));
    assert!(!is_pending(&mut last) && !is_pending(&mut waits));
    assert_eq!(journal.writes.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn under_durable_no_response_ends_before_its_sync_and_one_sync_serves_all_that_were_written_meanwhile() {
    let (journal, begun, tell) = Memory::durable();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    let mut first = written(&pipeline);
    begun.recv().unwrap();
    // The event loop goes on while the disk is busy.
    let mut rest: Vec<_> = (0..5).map(|_| written(&pipeline)).collect();
    assert_eq!(journal.writes.load(Ordering::Relaxed), 6);
    assert!(is_pending(&mut first) && rest.iter_mut().all(is_pending));
    tell.send(Ok(())).unwrap();
    first.await.unwrap();
    begun.recv().unwrap();
    assert!(rest.iter_mut().all(is_pending));
    tell.send(Ok(())).unwrap();
    for written in rest {
        written.await.unwrap();
    }
    let queue = pipeline.finish().counts.queue;
    assert_eq!((queue.writes, queue.syncs, queue.most_exchanges), (6, 2, 5));
}

#[tokio::test]
async fn under_durable_requests_are_refused_while_nothing_can_be_written_and_taken_again_when_something_can() {
    let (journal, _begun, tell) = Memory::durable();
    let (pipeline, said) = pipeline(Contract::check, &journal);
    assert!(pipeline.refuses(&exchange().request).is_none());
    journal.full.store(true, Ordering::Relaxed);
    let refused = written(&pipeline).await.unwrap_err();
    assert_eq!((refused.status.as_u16(), refused.reason), (503, "durable"));
    assert_eq!(pipeline.refuses(&exchange().request).unwrap().reason, "durable");
    journal.full.store(false, Ordering::Relaxed);
    tell.send(Ok(())).unwrap();
    // The refusal is an exchange too, and so shows that there is room again.
    written(&pipeline).await.unwrap();
    assert!(pipeline.refuses(&exchange().request).is_none());
    let outcome = pipeline.finish();
    outcome.console.close();
    assert!(outcome.counts.lost());
    let line = "401 GET /api/v2/connection-profiles/templates getConnectionProfileTemplates violates N ms (auth.missing \
                at Authorization)\n";
    let alarm = "ALARM: the journal cannot be written; requests get 503 until it can (--durable): no storage space\n";
    assert_eq!(untimed(&said.text()), [alarm, line, line].concat());
}

#[tokio::test]
async fn under_durable_a_sync_that_is_late_refuses_requests_and_loses_nothing_until_one_is_done() {
    let (journal, begun, tell) = Memory::durable();
    let (pipeline, said) = pipeline(Contract::check, &journal);
    for _ in 0..2 {
        let refused = written(&pipeline);
        begun.recv().unwrap();
        tell.send(Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer"))).unwrap();
        assert_eq!(refused.await.unwrap_err().reason, "durable");
        assert_eq!(pipeline.refuses(&exchange().request).unwrap().reason, "durable");
    }
    // The refusal is an exchange too; requests are taken again once its sync is done.
    let passed = written(&pipeline);
    begun.recv().unwrap();
    assert!(pipeline.refuses(&exchange().request).is_some());
    tell.send(Ok(())).unwrap();
    passed.await.unwrap();
    assert!(pipeline.refuses(&exchange().request).is_none());
    let outcome = pipeline.finish();
    outcome.console.close();
    assert!(!outcome.counts.lost());
    let alarm = "ALARM: entries wait too long to be safe; requests get 503 until they do not (--durable): no answer\n";
    assert_eq!(said.text().matches("ALARM").count(), 1);
    assert!(said.text().contains(alarm));
}

#[tokio::test]
async fn under_durable_the_next_request_is_taken_once_what_was_late_is_safe() {
    let (journal, begun, tell) = Memory::durable();
    let (pipeline, _) = pipeline(Contract::check, &journal);
    let refused = written(&pipeline);
    begun.recv().unwrap();
    tell.send(Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer"))).unwrap();
    assert_eq!(refused.await.unwrap_err().reason, "durable");
    assert!(pipeline.refuses(&exchange().request).is_some());
    journal.caught_up.store(true, Ordering::Relaxed);
    assert!(pipeline.refuses(&exchange().request).is_none());
    // Its own end waits for the sync.
    let mut passed = written(&pipeline);
    begun.recv().unwrap();
    assert!(is_pending(&mut passed));
    tell.send(Ok(())).unwrap();
    passed.await.unwrap();
    // What cannot be written at all is another state.
    journal.full.store(true, Ordering::Relaxed);
    assert_eq!(written(&pipeline).await.unwrap_err().reason, "durable");
    assert!(pipeline.refuses(&exchange().request).is_some());
}

#[test]
fn a_clock_that_jumps_reorders_nothing_and_panics_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.journal");
    let context = recording::JournalContext { upstream: "https://tenant.example".into(), contract: "c".into() };
    let (journal, _) = recording::Journal::open(&path, context).unwrap();
    let mut journal: SharedJournal = Arc::new(Mutex::new(journal));
    let (pipeline, _) = pipeline(Contract::check, &Memory::default());
    let day = Duration::from_hours(24);
    let now = SystemTime::now();
    let times = [now, now - day, SystemTime::UNIX_EPOCH - day, now + day * 10_000_000, now];
    for (number, time) in times.into_iter().enumerate() {
        let mut exchange = exchange();
        exchange.started = Some(time);
        exchange.request.target = Target::new("https", "tenant.example", format!("/{number}"));
        let (judged, panicked) = pipeline.judge.judge(exchange, &AnswerMeta::default());
        assert!(!panicked);
        let (redacted, attestation) =
            pipeline.judge.redact(&pipeline.redactor, judged, &AnswerMeta::default(), true).unwrap();
        let mut batch = EntryBatch::default();
        Journal::encoder(&journal).encode(&redacted, &attestation, &mut batch);
        Journal::write(&mut journal, &mut batch).unwrap();
    }
    let paths: Vec<String> =
        recording::open(&path).unwrap().map(|entry| entry.unwrap().exchange.request.target.path().to_owned()).collect();
    assert_eq!(paths, ["/0", "/1", "/2", "/3", "/4"]);
}
