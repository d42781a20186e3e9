//! Two contracts: what changed, and which recorded exchanges conform to the old one and violate the new one.

use std::{path::Path, time::Duration};

use contrail_contract::{Contract, compare::compare};
use contrail_exchange::{
    Exchange,
    finding::{Kind, Verdict},
};
use contrail_recording::{Entry, Recording};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::{
    ExchangeRef, Unread,
    contracts::{Changes, Failing},
};

use super::Args;
use crate::cli::{
    ContractArgs, Failure, Outcome,
    options::contract::{plan, title, with_facts},
    report_files,
    survey::{self, Sink},
    trails::Source,
    verify::Judge,
};

pub(super) fn diff(args: &Args, old: &Path, new: &Path) -> Result<Outcome, Failure> {
    let wanted = report_files::wanted(&args.output.report, args.output.format)?;
    let load =
        |file: &Path| ContractArgs { contract: vec![file.to_owned()], overlay: args.contract.overlay.clone() }.load();
    let (was, is) = (load(old)?, load(new)?);
    let redactor = Redactor::new(with_facts(plan(&was, &[])?, &is));
    let mut changes = Changes {
        contracts: [(old.display().to_string(), title(&was)), (new.display().to_string(), title(&is))],
        changes: compare(&was, &is),
        recordings: Vec::new(),
        exchanges: 0,
        unreadable: Unread::default(),
        no_longer_failing: 0,
        failing: Vec::new(),
    };
    let (old, new) = (Judge::new(was, Duration::ZERO, None), Judge::new(is, Duration::ZERO, None));
    let work = |Entry { index, line, mut exchange, note }: Entry| {
        let failed = violates(&old.verdict(&mut exchange, note.as_ref()));
        let verdict = new.verdict(&mut exchange, note.as_ref());
        Compared { index, line, by_contrail: note.is_some(), failed, exchange: Box::new(exchange), verdict }
    };
    let named = survey::unaltered(&args.recordings, &[], "no exchange is judged of")?;
    let mut comparing = Comparing { contract: &new.contract, redactor: &redactor, changes: &mut changes };
    changes.unreadable = survey::read(named, |source| old.open(source), work, &mut comparing)?;
    changes.redact(&redactor);
    report_files::write_all(&wanted, |kind, to, _| changes.write(kind, to))?;
    let status = changes.exit().status;
    Ok(Outcome { findings: status == 1, failed: status == 2, ..Outcome::CLEAN })
}

/// What became of an entry.
struct Compared {
    index: usize,
    line: Option<usize>,
    by_contrail: bool,
    /// It violates the old contract.
    failed: bool,
    exchange: Box<Exchange>,
    /// Under the new contract.
    verdict: Verdict,
}

fn violates(verdict: &Verdict) -> bool {
    verdict.findings.iter().any(|finding| finding.kind() == Kind::Violation)
}

struct Comparing<'a> {
    /// The new one.
    contract: &'a Contract,
    redactor: &'a Redactor,
    changes: &'a mut Changes,
}

impl Sink<Compared> for Comparing<'_> {
    fn begin(&mut self, source: &Source, _: &Recording) {
        self.changes.recordings.push(source.name());
    }

    fn take(&mut self, compared: Compared) -> Result<(), Failure> {
        let Compared { index: entry, line, by_contrail, failed, exchange, verdict } = compared;
        self.changes.exchanges += 1;
        let fails = violates(&verdict);
        self.changes.no_longer_failing += u64::from(failed && !fails);
        if failed || !fails {
            if !by_contrail {
                // For its secrets, which may come again.
                let _ = self.redactor.redact(JudgedExchange::new(exchange, verdict));
            }
            return Ok(());
        }
        let operation = self.contract.operation_of(&exchange.request).map(str::to_owned);
        let source = self.changes.recordings.last().map_or("", String::as_str);
        let place = ExchangeRef { source, entry, line, ..ExchangeRef::default() };
        let judged = self.redactor.redact(JudgedExchange::new(exchange, verdict));
        let failing = Failing::new(place, operation.as_deref(), &judged);
        self.changes.failing.push(failing);
        Ok(())
    }
}
