//! The JSON report: the contract, a summary, and every exchange in the order of its file.
//!
//! ```json
//! {"contract": {"title": "…", "version": "…"},
//!  "summary": {"exchanges": 2, "conforms": 1, "gap": 0, "violates": 1, "skipped": 0},
//!  "exchanges": [{"source": "x.har", "entry": 0, "operation": "…", "method": "GET", "url": "…", "status": 200,
//!    "verdict": "violates", "blame": "…", "findings": [{"rule": "…", "kind": "…", "at": "…", "message": "…"}],
//!    "unchecked": ["…"]}]}
//! ```
//!
//! A replay adds `misses` and `unused` after the exchanges, a recording its `proof`, a forward proxy the hosts that it
//! `denied`. The summary comes first, and nobody knows it before the last exchange: the exchanges wait in a [`Spool`].

use std::io::{self, BufRead as _, BufReader, Seek, SeekFrom, Write};

use serde::Serialize;
use tempfile::SpooledTempFile;

use super::{
    Cited, Denied, Exit, Facts, Integrity, Missed, Place, Proof, Recorded, Unauthenticated, Unused,
    facts::OperationsCalled,
    tally::{conclusion, is_auth},
    verdict_name,
};
use crate::{
    finding::Finding,
    redact::{Judged, Redacted, Redactor},
};

/// Bytes that are kept in memory before the temporary file is made.
const IN_MEMORY: usize = 4 << 20;

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
    #[serde(skip_serializing_if = "is_false")]
    miss: bool,
    blame: Option<&'static str>,
    findings: Vec<Item<'a>>,
    unchecked: Vec<&'static str>,
}

/// A finding as it is written: here, and in the lines of a live proxy.
#[derive(Debug, Serialize)]
pub struct Item<'a> {
    rule: &'static str,
    kind: &'static str,
    at: &'a str,
    message: String,
}

/// For fields that are left out where they do not apply.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

impl<'a> From<&'a Finding> for Item<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self { rule: finding.rule.id(), kind: finding.kind().name(), at: &finding.at, message: finding.message() }
    }
}

impl Spool {
    pub(super) fn new() -> Self {
        Self { file: tempfile::spooled_tempfile(IN_MEMORY), empty: true, line: Vec::new() }
    }

    pub(super) fn add(
        &mut self,
        place: Place<'_>,
        judged: &Redacted<Judged>,
        other: Option<Unauthenticated>,
    ) -> io::Result<()> {
        let verdict = &judged.verdict;
        let Cited { line, started, method, url, status, .. } = Cited::new(place, judged);
        let findings = || verdict.findings.iter().filter(|finding| other.is_none() || !is_auth(finding.rule));
        let exchange = Exchange {
            source: place.source,
            entry: place.entry,
            line,
            started,
            operation: verdict.operation.as_deref(),
            method,
            url,
            status,
            verdict: verdict_name(conclusion(findings()), place.miss.is_some()),
            miss: place.miss.is_some(),
            blame: other.map_or(verdict.blame, |other| other.blame).map(crate::finding::Blame::name),
            findings: findings().map(Item::from).collect(),
            unchecked: other
                .map_or(verdict.unchecked, |other| other.unchecked)
                .iter()
                .map(crate::finding::Unchecked::name)
                .collect(),
        };
        self.line.clear();
        if !self.empty {
            self.line.extend_from_slice(b",\n");
        }
        serde_json::to_writer(&mut self.line, &exchange)?;
        self.empty = false;
        self.file.write_all(&self.line)
    }

    pub(super) fn absorb(&mut self, mut other: Self) -> io::Result<()> {
        if other.empty {
            return Ok(());
        }
        if !self.empty {
            self.file.write_all(b",\n")?;
        }
        self.empty = false;
        other.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut other.file, &mut self.file)?;
        Ok(())
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

#[derive(Serialize)]
struct Contract<'a> {
    title: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Summary {
    exchanges: u64,
    conforms: u64,
    gap: u64,
    violates: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<u64>,
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Recorded>,
}

pub(super) fn head(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let contract = Contract { title: &facts.title.title, version: &facts.title.version };
    let tally = facts.tally;
    let replayed = facts.run.unused.is_some();
    let summary = Summary {
        exchanges: tally.exchanges,
        conforms: tally.conforms,
        gap: tally.gap,
        violates: tally.violates,
        misses: replayed.then_some(tally.misses),
        skipped: tally.skipped,
        recorded: replayed.then_some(tally.recorded),
    };
    write!(
        to,
        "{{\"contract\": {},\n \"summary\": {},\n \"exchanges\": [",
        serde_json::to_string(&contract)?,
        serde_json::to_string(&summary)?
    )
}

pub(super) fn tail(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let run = facts.run;
    let aside = Aside {
        operations_called: facts.called(),
        misses: run.unused.is_some().then(|| run.misses().collect()),
        denied: run.denied().collect(),
        unused: run.unused.as_deref(),
        proof: run.proof.as_ref(),
        integrity: &run.integrity,
        further_misses: run.further_misses,
        further_denied: run.further_denied,
        exit: run.exit.as_ref(),
    };
    to.write_all(b"]")?;
    if let serde_json::Value::Object(members) = serde_json::to_value(&aside)? {
        for (name, value) in members {
            write!(to, ",\n \"{name}\": {value}")?;
        }
    }
    to.write_all(b"}\n")
}

/// What the run came to besides findings, where it applies.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Aside<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    operations_called: Option<OperationsCalled<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<Vec<&'a Missed>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<Denied<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused: Option<&'a [Unused]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a Proof>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    integrity: &'a [Integrity],
    #[serde(skip_serializing_if = "is_zero")]
    further_misses: u64,
    #[serde(skip_serializing_if = "is_zero")]
    further_denied: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<&'a Exit>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(count: &u64) -> bool {
    *count == 0
}
