//! The exchanges of a JSON report, which wait in a temporary file for the summary above them.

use std::{
    borrow::Cow,
    io::{self, BufRead as _, BufReader, Seek, SeekFrom, Write},
};

use contrail_exchange::finding::{Blame, Conclusion, Finding, Reason, Unchecked, Verdict, reasons_of};
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde::Serialize;
use tempfile::SpooledTempFile;

use super::{Cited, ExchangeRef, verdict_name};

/// Bytes that are kept in memory before the temporary file is made.
const MAX_IN_MEMORY: usize = 4 << 20;

/// Exchanges as JSON text, one after the other with `,\n` between them.
#[derive(Debug)]
pub(super) struct Spool {
    file: SpooledTempFile,
    empty: bool,
    line: Vec<u8>,
}

#[derive(Serialize)]
struct Exchange<'a> {
    source: &'a str,
    entry: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    operation: Option<&'a str>,
    method: String,
    url: String,
    status: u16,
    verdict: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    miss: bool,
    blame: Option<&'static str>,
    findings: Vec<WrittenFinding<'a>>,
    unchecked: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Cow<'a, Reason>>,
}

/// A finding as it is written: here, and in the lines of a live proxy.
#[derive(Debug, Serialize)]
pub struct WrittenFinding<'a> {
    rule: &'static str,
    kind: &'static str,
    at: &'a str,
    message: String,
}

impl<'a> From<&'a Finding> for WrittenFinding<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self { rule: finding.rule.id(), kind: finding.kind().name(), at: &finding.at, message: finding.message() }
    }
}

impl Spool {
    pub(super) fn new() -> Self {
        Self { file: tempfile::spooled_tempfile(MAX_IN_MEMORY), empty: true, line: Vec::new() }
    }

    pub(super) fn add(&mut self, place: ExchangeRef<'_>, judged: &Redacted<JudgedExchange>) -> io::Result<()> {
        let Verdict { operation, findings, unchecked, reasons, blame } = &judged.verdict;
        let Cited { line, started, method, url, status, .. } = Cited::new(place, judged);
        let exchange = Exchange {
            source: place.source,
            entry: place.entry,
            line,
            started,
            operation: operation.as_deref(),
            method,
            url,
            status,
            verdict: verdict_name(Conclusion::of(findings.iter(), *unchecked), place.miss.is_some()),
            miss: place.miss.is_some(),
            blame: blame.map(Blame::name),
            findings: findings.iter().map(WrittenFinding::from).collect(),
            unchecked: unchecked.iter().map(Unchecked::name).collect(),
            reasons: reasons_of(*unchecked, reasons).collect(),
        };
        self.line.clear();
        if !self.empty {
            self.line.extend_from_slice(b",\n");
        }
        serde_json::to_writer(&mut self.line, &exchange)?;
        self.empty = false;
        self.file.write_all(&self.line)
    }

    pub(super) fn copy_to(&mut self, redactor: &Redactor, to: &mut dyn Write) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut lines = BufReader::with_capacity(64 << 10, &mut self.file);
        loop {
            self.line.clear();
            if lines.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(());
            }
            // A line is one exchange: escaped as JSON, so it holds no line break of its own.
            match std::str::from_utf8(&self.line) {
                Ok(line) => to.write_all(redactor.text(line).as_bytes())?,
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }
}
