//! The way to the console: lines are queued within a bound and written by a thread of its own, so that a reader of
//! standard error that stalls slows no exchange. What does not fit the bound is dropped, counted and said.

use std::{
    fmt, io,
    io::Write,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use super::LineFormat;

/// Most bytes of lines that wait for the reader of standard error.
const BOUND: usize = 1 << 20;

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
    /// Lines dropped since it was last said.
    unsaid: u64,
    dropped: u64,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Console {
    /// To this writer, by a thread that begins now. `format` shapes what it says itself.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn new(mut writer: impl Write + Send + 'static, format: LineFormat) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let queue = Arc::clone(&shared);
        let thread = thread::Builder::new().name("console".to_owned()).spawn(move || {
            while let Some(batch) = queue.next(format) {
                // Nobody who reads the lines is owed more than an attempt.
                let _ = writer.write_all(&batch).and_then(|()| writer.flush());
            }
        })?;
        Ok(Self { shared, writer: Mutex::new(Some(thread)) })
    }

    /// Queues whole lines and empties the buffer; drops them if too much is queued.
    pub(super) fn push(&self, lines: &mut Vec<u8>) {
        let mut queue = self.shared.lock();
        if queue.bytes.len() + lines.len() > BOUND {
            let count = memchr::memchr_iter(b'\n', lines).count() as u64;
            queue.unsaid += count;
            queue.dropped += count;
        } else {
            queue.bytes.extend_from_slice(lines);
        }
        drop(queue);
        lines.clear();
        self.shared.more.notify_one();
    }

    /// Queues what has to be said, whatever else is queued.
    pub(super) fn insist(&self, line: &[u8]) {
        self.shared.lock().bytes.extend_from_slice(line);
        self.shared.more.notify_one();
    }

    /// Waits until all that is queued is written, and ends. How many lines were dropped since the beginning. What is
    /// pushed later is not shown.
    pub fn close(&self) -> u64 {
        self.shared.lock().closed = true;
        self.shared.more.notify_one();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
        self.shared.lock().dropped
    }
}

impl Shared {
    /// What is to be written next; waits for it. `None` at the end.
    fn next(&self, format: LineFormat) -> Option<Vec<u8>> {
        let mut queue = self.lock();
        loop {
            let mut batch = std::mem::take(&mut queue.bytes);
            let dropped = std::mem::take(&mut queue.unsaid);
            if dropped > 0 {
                let line = match format {
                    LineFormat::Text => format!("{dropped} lines are not shown: standard error is read too slowly\n"),
                    LineFormat::Json => format!("{}\n", serde_json::json!({"lines_dropped": dropped})),
                };
                batch.extend_from_slice(line.as_bytes());
            }
            if !batch.is_empty() {
                return Some(batch);
            }
            if queue.closed {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
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

    /// A reader that takes something only when it is told to.
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
    fn a_reader_that_stalls_blocks_nobody_and_what_it_misses_is_counted_and_said() {
        let (go, stalled) = channel();
        let (taken, read) = channel();
        let console = Console::new(Stalled(stalled, taken), LineFormat::Text).unwrap();
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
}
