//! The console's queue: a thread of its own writes the lines, so that a stalled reader of standard error slows no
//! exchange. Lines beyond the bound are dropped, counted and reported.
//!
//! The thread pauses after each write: the lines of that moment cost one write and one wake together.

use std::{
    fmt, io,
    io::Write,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use contrail_exchange::plural::plural;

use super::LineFormat;

/// Maximum bytes of lines that wait for the reader of standard error.
const MAX_QUEUED: usize = 1 << 20;

/// How long the thread rests after it wrote.
const MOMENT: Duration = Duration::from_millis(20);

/// Bytes of lines that end its rest.
const ENOUGH: usize = 64 << 10;

/// Where exchange lines go.
pub struct Console {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// Lines dropped since the last report of it.
    unreported: u64,
    dropped: u64,
    thread: Doing,
    /// An urgent line is queued.
    urgent: bool,
    closed: bool,
}

/// What the thread does.
#[derive(Default, PartialEq, Eq)]
enum Doing {
    /// It writes, or has been woken.
    #[default]
    Busy,
    /// It waits for lines.
    Asleep,
    /// It has just written, and waits for many lines, or time.
    Resting,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.unreported == 0
    }

    fn is_due(&self) -> bool {
        self.urgent || self.closed || self.bytes.len() >= ENOUGH
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Console {
    /// To this writer, by a thread that begins now. `format` shapes its own lines.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn new(mut writer: impl Write + Send + 'static, format: LineFormat) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let queue = Arc::clone(&shared);
        let thread = thread::Builder::new().name("console".to_owned()).spawn(move || {
            let mut batch = Vec::new();
            while queue.next(format, &mut batch) {
                // A reader of the lines gets one attempt.
                let _ = writer.write_all(&batch).and_then(|()| writer.flush());
            }
        })?;
        Ok(Self { shared, writer: Mutex::new(Some(thread)) })
    }

    /// Queues whole lines and empties the buffer; drops them if too much is queued.
    pub(super) fn push(&self, lines: &mut Vec<u8>) {
        let mut queue = self.shared.lock();
        if queue.bytes.len() + lines.len() > MAX_QUEUED {
            let count = memchr::memchr_iter(b'\n', lines).count() as u64;
            queue.unreported += count;
            queue.dropped += count;
        } else {
            queue.bytes.extend_from_slice(lines);
        }
        lines.clear();
        self.shared.wake(queue);
    }

    /// Queues an urgent line, beyond the bound if need be.
    pub(super) fn insist(&self, line: &[u8]) {
        let mut queue = self.shared.lock();
        queue.bytes.extend_from_slice(line);
        queue.urgent = true;
        self.shared.wake(queue);
    }

    /// How many lines were dropped since the beginning.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.lock().dropped
    }

    /// Waits until all that is queued is written, and ends. How many lines were dropped since the beginning. What is
    /// pushed later is not shown.
    pub fn close(&self) -> u64 {
        let mut queue = self.shared.lock();
        queue.closed = true;
        self.shared.wake(queue);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
        self.shared.lock().dropped
    }
}

impl Shared {
    /// Wakes the thread if it has a reason to wake and is not woken yet.
    fn wake(&self, mut queue: MutexGuard<'_, Queue>) {
        if queue.thread == Doing::Asleep || queue.thread == Doing::Resting && queue.is_due() {
            queue.thread = Doing::Busy;
            drop(queue);
            self.more.notify_one();
        }
    }

    /// Rests, then puts what is to be written next into `batch`, which is what was written last; waits for it. Whether
    /// there is anything, else it is the end.
    fn next(&self, format: LineFormat, batch: &mut Vec<u8>) -> bool {
        let mut queue = self.lock();
        if !batch.is_empty() {
            queue.thread = Doing::Resting;
            let rested = self.more.wait_timeout_while(queue, MOMENT, |queue| !queue.is_due());
            queue = rested.unwrap_or_else(PoisonError::into_inner).0;
        }
        while queue.is_empty() && !queue.closed {
            queue.thread = Doing::Asleep;
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        (queue.thread, queue.urgent) = (Doing::Busy, false);
        batch.clear();
        batch.shrink_to(ENOUGH);
        std::mem::swap(&mut queue.bytes, batch);
        let dropped = std::mem::take(&mut queue.unreported);
        drop(queue);
        if dropped > 0 {
            let line = match format {
                LineFormat::Text { .. } => {
                    let are = if dropped == 1 { "is" } else { "are" };
                    let lines = plural(dropped, "line");
                    format!("{lines} {are} not shown: standard error is read too slowly\n")
                }
                LineFormat::Json => format!("{}\n", serde_json::json!({"lines_dropped": dropped})),
            };
            batch.extend_from_slice(line.as_bytes());
        }
        !batch.is_empty()
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A reader that takes something only when the test lets it.
    struct Stalled(Receiver<()>, Sender<Vec<u8>>);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            let _ = self.1.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stalls_blocks_nobody_and_the_lines_that_it_misses_are_counted() {
        let (go, stalled) = channel();
        let (taken, read) = channel();
        let console = Console::new(Stalled(stalled, taken), LineFormat::PLAIN).unwrap();
        let line = [vec![b'x'; 1023], vec![b'\n']].concat();
        for _ in 0..3000 {
            console.push(&mut line.clone());
        }
        console.insist(b"ALARM\n");
        drop(go);
        let dropped = console.close();
        let text: Vec<u8> = read.iter().flatten().collect();
        let text = String::from_utf8(text).unwrap();
        assert!((900..3000).contains(&dropped), "{dropped}");
        assert_eq!(text.lines().filter(|line| line.starts_with('x')).count() as u64, 3000 - dropped);
        assert!(text.contains("ALARM\n"));
        assert!(text.contains("lines are not shown: standard error is read too slowly"), "no word of it");
    }

    /// A writer that counts how often it is written to.
    struct Counted(Sender<usize>);

    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(memchr::memchr_iter(b'\n', bytes).count());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_without_anybody_closing_and_those_that_follow_are_written_together() {
        let (sender, written) = channel();
        let console = Console::new(Counted(sender), LineFormat::PLAIN).unwrap();
        console.push(&mut b"first\n".to_vec());
        let mut lines = written.recv().unwrap();
        for _ in 0..50 {
            console.push(&mut b"line\n".to_vec());
        }
        lines += written.recv().unwrap();
        assert!(lines > 1, "what came while the thread rested is written when it wakes");
        console.insist(b"ALARM\n");
        assert_eq!(console.close(), 0);
        let mut writes = 2;
        for batch in written {
            (lines, writes) = (lines + batch, writes + 1);
        }
        assert_eq!(lines, 52);
        assert!(writes < 52, "{writes} writes");
    }
}
