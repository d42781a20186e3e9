//! How far a command is with its recordings, on a terminal.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use contrail_exchange::plural::plural;

/// The time between two lines.
const PERIOD: Duration = Duration::from_millis(500);

/// Counts exchanges and prints the count now and then, in place, if standard error is a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    /// Recordings, and those that were begun.
    files: (usize, usize),
    exchanges: u64,
    /// When the next line is due; `None` if none is ever printed.
    due: Option<Instant>,
    printed: bool,
}

impl Progress {
    /// So many recordings are to be read.
    pub(super) fn new(files: usize) -> Self {
        let due = io::stderr().is_terminal().then(|| Instant::now() + PERIOD);
        Self { files: (files, 0), exchanges: 0, due, printed: false }
    }

    /// The next recording begins.
    pub(super) const fn file(&mut self) {
        self.files.1 += 1;
    }

    /// One more exchange is done.
    pub(super) fn exchange(&mut self) {
        self.exchanges += 1;
        let Some(due) = self.due else { return };
        // A clock read for each exchange would cost more than the line.
        if self.exchanges.is_multiple_of(256) && Instant::now() >= due {
            self.due = Some(Instant::now() + PERIOD);
            self.printed = true;
            let _ = write!(io::stderr(), "\r\x1b[K{}", self.line());
        }
    }

    /// `12800 exchanges, recording 3 of 12`.
    fn line(&self) -> String {
        let (all, begun) = self.files;
        format!("{}, recording {begun} of {all}", plural(self.exchanges, "exchange"))
    }

    /// Removes the line, before something else is printed.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.printed) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
