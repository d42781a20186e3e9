//! A JSON report, read again: what it states of a replay besides exchanges.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use serde::Deserialize;

use super::{Missed, Run, Stale, Unused};

/// What a JSON report states of a replay besides exchanges.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    /// Only the report of a replay has them.
    misses: Vec<Missed>,
    #[serde(default)]
    denied: Vec<ReportedDenied>,
    unused: Option<Vec<Unused>>,
    #[serde(default)]
    stale: Vec<Stale>,
    #[serde(default)]
    further_misses: u64,
    #[serde(default)]
    further_denied: u64,
    exit: Option<ReportedExit>,
}

#[derive(Debug, Deserialize)]
struct ReportedDenied {
    host: String,
    reason: String,
    count: u64,
}

#[derive(Debug, Deserialize)]
struct ReportedExit {
    status: u8,
    because: Vec<String>,
}

impl Reported {
    /// Whether this file begins as a JSON report does; a recording does not.
    #[must_use]
    pub fn is_report(path: &Path) -> bool {
        let begins = || -> io::Result<bool> {
            if !path.metadata()?.is_file() {
                return Ok(false);
            }
            let mut file = BufReader::new(File::open(path)?);
            let start = file.fill_buf()?.trim_ascii_start();
            Ok(start.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"contract\"")))
        };
        begins().unwrap_or(false)
    }

    /// Reads a report.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is not the report of a replay.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_reader(BufReader::new(File::open(path)?))?)
    }

    /// How the run ended, in a sentence.
    #[must_use]
    pub fn end(&self) -> Option<String> {
        let ReportedExit { status, because } = self.exit.as_ref()?;
        let colon = if because.is_empty() { "" } else { ": " };
        Some(format!("the run ended with exit status {status}{colon}{}", because.join("; ")))
    }

    pub(super) fn add_to(self, run: &mut Run) {
        self.misses.into_iter().for_each(|missed| run.add_misses(missed));
        for ReportedDenied { host, reason, count } in self.denied {
            run.deny(&host, &reason, count);
        }
        if let Some(unused) = self.unused {
            run.unused.get_or_insert_default().extend(unused);
        }
        run.stale.extend(self.stale);
        run.further_misses += self.further_misses;
        run.further_denied += self.further_denied;
    }
}

#[cfg(test)]
mod tests {
    use contrail_redact::{Plan, Redactor};

    use super::*;
    use crate::{Collector, Exit, Reason, ReportFormat, Screen, Title};

    #[test]
    fn a_report_that_is_read_again_states_what_the_run_did() {
        let mut collector = Collector::new(Title::default(), Vec::new(), true);
        let missed = |request: &str, reason: &'static str, count| Missed {
            request: request.to_owned(),
            operation: Some("getUser".to_owned()),
            reason: reason.into(),
            count,
            detail: "nothing recorded".to_owned(),
            nearest: Vec::new(),
            session: None,
        };
        collector.run.add_misses(missed("GET /a", "unfit", 3));
        collector.run.add_misses(missed("GET /b", "exhausted", 1));
        collector.denied("elsewhere.invalid:443", "tunnel-denied");
        collector.unused(vec![Unused {
            entry: "a.har entry 1".to_owned(),
            request: "GET /c".to_owned(),
            session: None,
        }]);
        collector.ended(Exit { status: 3, reasons: vec![Reason::shown("misses", "4 replay misses")] });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contrail.json");
        let redactor = Redactor::new(Plan::new::<&str>(&[]).unwrap());
        collector.write(ReportFormat::Json, &redactor, &mut File::create(&path).unwrap(), Screen::default()).unwrap();

        assert!(Reported::is_report(&path));
        let reported = Reported::read(&path).unwrap();
        assert_eq!(reported.end().unwrap(), "the run ended with exit status 3: 4 replay misses");
        let mut again = Collector::new(Title::default(), Vec::new(), false);
        again.reported(reported);
        let run = again.run();
        assert!(run.misses().eq(collector.run().misses()));
        assert_eq!((run.denials(), run.unused().len()), (1, 1));
    }

    #[test]
    fn a_recording_is_no_report() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a.har", "{\"log\": {}}"), ("empty", ""), ("b.journal", "{\"startedDateTime\": 1}\n")] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert!(!Reported::is_report(&path), "{name}");
        }
        assert!(!Reported::is_report(folder.path()));
        assert!(!Reported::is_report(Path::new("-")));
    }
}
