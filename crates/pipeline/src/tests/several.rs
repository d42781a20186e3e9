//! Several event loops: what one of them does while another writes.

use std::thread;

use super::*;

/// A journal whose writes the test controls: when one begins, and its result.
fn gated(entry: usize) -> (Memory, Receiver<()>, Sender<io::Result<()>>) {
    let (gate, begun, tell) = Disk::new();
    (Memory { entry, gate: Some(gate), ..Memory::default() }, begun, tell)
}

/// Takes up what ends on this thread, turn by turn.
fn take_up(pipeline: &Pipeline, turns: usize) -> Vec<std::pin::Pin<Box<Committed>>> {
    // Until then, what ends is not judged on its event loop.
    pipeline.contract().prepare();
    let turn = pipeline.batches.begin();
    let take_up = |_| {
        let waits = Box::pin(pipeline.on_completed(ended()));
        pipeline.process_batch(&turn);
        pipeline.write_out();
        waits
    };
    (0..turns).map(take_up).collect()
}

#[test]
fn an_event_loop_goes_on_while_another_writes_and_that_one_writes_for_it() {
    let (journal, begun, tell) = gated(1);
    let (pipeline, _) = pipeline(Contract::check, &journal);
    thread::scope(|scope| {
        let first = scope.spawn(|| take_up(&pipeline, 1));
        begun.recv().unwrap();
        let mut second = scope.spawn(|| take_up(&pipeline, 5)).join().unwrap();
        assert_eq!(journal.entries.load(Ordering::Relaxed), 6);
        assert!(second.iter_mut().all(is_pending), "not written yet");
        (0..2).for_each(|_| tell.send(Ok(())).unwrap());
        let mut first = first.join().unwrap();
        assert!(first.iter_mut().chain(&mut second).all(|waits| !is_pending(waits)));
    });
    assert_eq!(journal.writes.load(Ordering::Relaxed), 2);
    let counts = pipeline.finish().counts;
    assert_eq!((counts.exchanges, counts.queue.most_exchanges), (6, 5));
}

#[test]
fn what_waits_for_another_event_loop_to_write_it_is_bounded() {
    let (journal, begun, tell) = gated(4 << 20);
    let (pipeline, _) = pipeline(Contract::check, &journal);
    thread::scope(|scope| {
        scope.spawn(|| take_up(&pipeline, 1));
        begun.recv().unwrap();
        scope.spawn(|| take_up(&pipeline, 3));
        while journal.entries.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        (0..4).for_each(|_| tell.send(Ok(())).unwrap());
    });
    let counts = pipeline.finish().counts;
    assert_eq!((counts.exchanges, counts.queue.most_bytes), (4, 4 << 20));
}

#[test]
fn each_thread_that_takes_up_what_ends_on_it_has_a_batch_of_its_own() {
    let batches = batches::Batches::default();
    let first = batches.here();
    assert!(Arc::ptr_eq(&batches.begin(), first) && !batches.are_several());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert!(Arc::ptr_eq(batches.here(), first), "until it says that it does");
                let own = batches.begin();
                assert!(Arc::ptr_eq(batches.here(), &own) && Arc::ptr_eq(&batches.begin(), &own));
                assert!(!Arc::ptr_eq(&own, first));
            });
        }
    });
    assert!(batches.are_several());
    assert_eq!(batches.each().count(), 9);
}
