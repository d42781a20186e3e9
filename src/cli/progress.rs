//! How far a command is with its recordings, on a terminal.

use std::{
    cell::RefCell,
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use contrail_exchange::plural::plural;

/// The time between two lines.
const PERIOD: Duration = Duration::from_millis(500);

/// A line that is printed now and then, in place, if standard error is a terminal.
#[derive(Debug)]
struct Line {
    /// When it is due; `None` if it is never printed.
    due: Option<Instant>,
    printed: bool,
}

impl Line {
    fn new() -> Self {
        Self { due: io::stderr().is_terminal().then(|| Instant::now() + PERIOD), printed: false }
    }

    fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    fn print(&mut self, text: &str) {
        self.due = Some(Instant::now() + PERIOD);
        self.printed = true;
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }

    /// Removes the line, before something else is printed.
    fn clear(&mut self) {
        if std::mem::take(&mut self.printed) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// `43 %`; `None` where the size is unknown.
fn share(done: u64, of: u64) -> Option<String> {
    (of > 0).then(|| format!("{} %", 100 * u128::from(done.min(of)) / u128::from(of)))
}

/// Counts exchanges of recordings that are read.
#[derive(Debug)]
pub(super) struct Progress {
    /// Recordings, and those that were begun.
    files: (usize, usize),
    exchanges: u64,
    /// Bytes of all recordings, and of those before this one.
    bytes: (u64, u64),
    /// The bytes of this one, and those that were read.
    here: (u64, Arc<AtomicU64>),
    line: Line,
}

impl Progress {
    /// So many recordings of so many bytes are to be read.
    pub(super) fn new(files: usize, bytes: u64) -> Self {
        Self { files: (files, 0), exchanges: 0, bytes: (bytes, 0), here: (0, Arc::default()), line: Line::new() }
    }

    /// The next recording begins: its bytes, and those that were read.
    pub(super) fn file(&mut self, bytes: u64, read: Arc<AtomicU64>) {
        self.files.1 += 1;
        self.bytes.1 += self.here.0;
        self.here = (bytes, read);
    }

    /// One more exchange is done.
    pub(super) fn exchange(&mut self) {
        self.exchanges += 1;
        // A clock read for each exchange would cost more than the line.
        if self.exchanges.is_multiple_of(256) && self.line.is_due() {
            let text = self.text();
            self.line.print(&text);
        }
    }

    /// `12800 exchanges, 43 %, recording 3 of 12`.
    fn text(&self) -> String {
        let ((all, begun), (of, before)) = (self.files, self.bytes);
        let share = share(before + self.here.1.load(Ordering::Relaxed), of);
        let share = share.map(|share| format!(", {share}")).unwrap_or_default();
        format!("{}{share}, recording {begun} of {all}", plural(self.exchanges, "exchange"))
    }

    /// Removes the line, before something else is printed.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}

/// Prints how far a fold is: bytes that are done, and all of them.
pub(super) fn folding() -> impl Fn(u64, u64) {
    let line = RefCell::new(Line::new());
    move |done, of| {
        let mut line = line.borrow_mut();
        if line.is_due() {
            line.print(&format!("folding, {}", share(done, of).unwrap_or_default()));
        }
        if done >= of {
            line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_share_of_all_bytes_where_they_are_known() {
        let mut progress = Progress::new(2, 400);
        progress.file(100, Arc::new(100.into()));
        let read = Arc::new(AtomicU64::new(0));
        progress.file(300, Arc::clone(&read));
        read.store(99, Ordering::Relaxed);
        progress.exchange();
        assert_eq!(progress.text(), "1 exchange, 49 %, recording 2 of 2");
        let mut unknown = Progress::new(1, 0);
        unknown.file(0, Arc::default());
        assert_eq!(unknown.text(), "0 exchanges, recording 1 of 1");
    }
}
