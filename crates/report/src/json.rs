//! The JSON report: the contract, a summary, and every exchange in the order of its file.
//!
//! ```json
//! {"contract": {"title": "…", "version": "…"},
//!  "summary": {"exchanges": 2, "conforms": 1, "gap": 0, "violates": 1, "skipped": 0},
//!  "exchanges": [{"source": "x.har", "entry": 0, "operation": "…", "method": "GET", "url": "…", "status": 200,
//!    "verdict": "violates", "blame": "…", "findings": [{"rule": "…", "kind": "…", "at": "…", "message": "…"}],
//!    "unchecked": ["…"], "reasons": [{"aspect": "…", "at": "…", "reason": "…"}]}]}
//! ```
//!
//! The same `findings` follow in groups, which `--baseline` reads. A replay adds `misses`, `unused` and `stale`, a
//! recording its `proof`, a forward proxy the hosts that it `denied`. The summary comes first and needs the last
//! exchange, so the exchanges wait in a [`Spool`].

use std::io::{self, Write};

use contrail_exchange::finding::Kind;
use contrail_redact::Redactor;
use serde::Serialize;

use super::{
    Covered, Denied, Exit, Facts, Integrity, Missed, Proof, Recorded, Stale, Suppressed, Unused, baseline::Listed,
    facts::OperationsCalled, spool::Spool, times::Took, touched,
};

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

pub(super) fn write(
    facts: &Facts<'_>,
    exchanges: Option<&mut Spool>,
    redactor: &Redactor,
    to: &mut dyn Write,
) -> io::Result<()> {
    head(facts, to)?;
    if let Some(exchanges) = exchanges {
        exchanges.copy_to(redactor, to)?;
    }
    tail(facts, to)
}

fn head(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
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

fn tail(facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
    let run = facts.run;
    let groups = [Kind::Violation, Kind::Gap].into_iter().flat_map(|kind| facts.tally.groups(kind));
    let aside = Aside {
        findings: groups.map(|group| Listed::new(group, facts.exemptions)).collect(),
        baseline: facts.exemptions.covered(facts.tally),
        suppressions: facts.exemptions.suppressed(facts.tally),
        operations_called: facts.called(),
        coverage: facts.coverage.and_then(touched::values),
        durations: facts.tally.durations().collect(),
        misses: run.unused.is_some().then(|| run.misses().collect()),
        denied: run.denied().collect(),
        unused: run.unused.as_deref(),
        stale: &run.stale,
        proof: run.proof.as_ref(),
        integrity: &run.integrity,
        further_findings: facts.tally.ungrouped,
        further_misses: run.further_misses,
        further_denied: run.further_denied,
        evicted: run.evicted,
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

/// The results of the run besides findings, where it applies.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Aside<'a> {
    findings: Vec<Listed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Covered<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppressed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations_called: Option<OperationsCalled<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    durations: Vec<Took<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<Vec<&'a Missed>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<Denied<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused: Option<&'a [Unused]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stale: &'a [Stale],
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a Proof>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    integrity: &'a [Integrity],
    #[serde(skip_serializing_if = "is_zero")]
    further_findings: u64,
    #[serde(skip_serializing_if = "is_zero")]
    further_misses: u64,
    #[serde(skip_serializing_if = "is_zero")]
    further_denied: u64,
    #[serde(skip_serializing_if = "is_zero")]
    evicted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<&'a Exit>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(count: &u64) -> bool {
    *count == 0
}
