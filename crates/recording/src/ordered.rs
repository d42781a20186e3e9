//! Work on all cores, with results in order: one thread cuts batches, others work on them, and the caller gets what
//! they make in the order of the batches.
//!
//! Bounded: each thread has one batch waiting, one at hand and one result waiting, whatever the input's size. Batches
//! go round: the n-th to the n-th thread, so that order needs no sorting.

use std::{
    iter,
    num::NonZero,
    panic::resume_unwind,
    sync::mpsc::sync_channel,
    thread::{self, available_parallelism},
};

/// Bytes of text that go to a thread at a time, at least.
pub(super) const BATCH: usize = 128 << 10;

/// Maximum threads; one thread cuts batches for them all.
const MAX_THREADS: usize = 16;

/// One thread per core. Read only where there is more than one batch: the system looks it up in several files each
/// time.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

/// Hands each batch of `next` to a worker, and its result to `take`, in order. One batch is not worth a
/// thread.
///
/// # Errors
///
/// The first of `take`, after which no batch is cut.
pub(super) fn in_order<B: Send, D: Send, W: FnMut(B) -> D + Send, E>(
    threads: impl FnOnce() -> usize,
    mut next: impl FnMut() -> Option<B> + Send,
    worker: impl Fn() -> W,
    mut take: impl FnMut(D) -> Result<(), E>,
) -> Result<(), E> {
    let Some(first) = next() else { return Ok(()) };
    let Some(second) = next() else { return take(worker()(first)) };
    thread::scope(|scope| {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..threads() {
            let (batches, waiting) = sync_channel::<B>(1);
            let (results, done) = sync_channel::<D>(1);
            let mut work = worker();
            scope.spawn(move || {
                while let Ok(batch) = waiting.recv()
                    && results.send(work(batch)).is_ok()
                {}
            });
            to.push(batches);
            from.push(done);
        }
        let batches = [first, second].into_iter().chain(iter::from_fn(next));
        let cutting = scope.spawn(move || {
            for (to, batch) in to.iter().cycle().zip(batches) {
                if to.send(batch).is_err() {
                    break;
                }
            }
        });
        for done in from.iter().cycle() {
            match done.recv() {
                Ok(result) => take(result)?,
                Err(_) => break,
            }
        }
        cutting.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    })
}
