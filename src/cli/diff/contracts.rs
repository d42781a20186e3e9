//! Two contracts: what changed, and which recorded exchanges conform to the old one and violate the new one.

use std::{path::Path, time::Duration};

use super::args::Args;
use crate::{
    cli::{
        ContractArgs, Failure, Outcome,
        options::contract::{plan, title, with_facts},
        report_files,
        trails::{self, Source},
        verify::{self, Judge},
    },
    contract::compare::compare,
    exchange::Exchange,
    finding::{Kind, Verdict},
    recording::Entry,
    redact::{JudgedExchange, Redactor},
    report::{
        ExchangeRef,
        contracts::{Changes, Failing},
    },
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
        unreadable: 0,
        no_longer_failing: 0,
        failing: Vec::new(),
    };
    let judges = Judges { old: Judge::new(was, Duration::ZERO, None), new: Judge::new(is, Duration::ZERO, None) };
    for inspected in trails::inspect(&args.recordings, &[])? {
        if let Some(broken) = inspected.trails.iter().find_map(|trail| trail.broken.as_ref()) {
            return Err(format!("no exchange of a trail that was altered is judged: {broken}").into());
        }
        for source in &inspected.sources {
            let before = changes.exchanges;
            let left_out = judges.read(source, &redactor, &mut changes)?;
            verify::warn_if_empty(source, changes.exchanges - before + left_out);
            changes.unreadable += left_out;
        }
    }
    changes.redact(&redactor);
    report_files::write_all(&wanted, |kind, to, _| changes.write(kind, to))?;
    let status = changes.exit().status;
    Ok(Outcome { findings: status == 1, failed: status == 2, ..Outcome::CLEAN })
}

struct Judges {
    old: Judge,
    new: Judge,
}

/// What became of an entry.
struct Compared {
    index: usize,
    line: Option<usize>,
    foreign: bool,
    carries_authorization: bool,
    /// Under the old contract and under the new one.
    fails: [Fails; 2],
    exchange: Box<Exchange>,
    verdict: Verdict,
}

/// Whether an exchange violates a contract.
#[derive(Clone, Copy)]
struct Fails {
    at_all: bool,
    /// Apart from what cannot be judged where the producer of a file leaves out `Authorization`.
    without_auth: bool,
}

impl Fails {
    fn of(verdict: &Verdict) -> Self {
        let violations = || verdict.findings.iter().filter(|finding| finding.kind() == Kind::Violation);
        Self {
            at_all: violations().next().is_some(),
            without_auth: violations().any(|finding| !finding.rule.is_auth()),
        }
    }
}

impl Judges {
    fn read(&self, source: &Source, redactor: &Redactor, changes: &mut Changes) -> Result<u64, Failure> {
        let name = source.name();
        let recording = self.old.open(source)?;
        let by_contrail = recording.head().by_contrail;
        let work = |entry: Entry| {
            let Entry { index, line, mut exchange, note } = entry;
            let old = self.old.verdict(&mut exchange, note.as_ref());
            let verdict = self.new.verdict(&mut exchange, note.as_ref());
            Compared {
                index,
                line,
                foreign: note.is_none() && !by_contrail,
                carries_authorization: exchange.request.headers.contains("authorization"),
                fails: [Fails::of(&old), Fails::of(&verdict)],
                exchange: Box::new(exchange),
                verdict,
            }
        };
        // Whether a file's producer leaves out `Authorization` is known at its end.
        let (mut carried, mut candidates) = (false, Vec::new());
        let mut resolved = [0, 0];
        let end = recording.each(work, |one| -> Result<(), Failure> {
            changes.exchanges += 1;
            carried |= one.carries_authorization || !one.foreign;
            let [old, new] = one.fails;
            resolved[0] += u64::from(old.at_all && !new.at_all);
            resolved[1] += u64::from(old.without_auth && !new.without_auth);
            let fails = [!old.at_all && new.at_all, !old.without_auth && new.without_auth];
            if fails == [false; 2] {
                if one.foreign {
                    redactor.recognise(&one.exchange);
                }
                return Ok(());
            }
            let request = &one.exchange.request;
            let operation = self.new.contract.operation_of(request).map(str::to_owned);
            let place = ExchangeRef { source: &name, entry: one.index, line: one.line, ..ExchangeRef::default() };
            let judged = redactor.redact(JudgedExchange::new(one.exchange, one.verdict));
            candidates.push((fails, Failing::new(place, operation.as_deref(), &judged)));
            Ok(())
        })?;
        let which = usize::from(!carried);
        changes.no_longer_failing += resolved[which];
        let failing = candidates.into_iter().filter(|(fails, _)| fails[which]).map(|(_, failing)| failing);
        changes.failing.extend(failing.map(|one: Failing| if carried { one } else { one.without_auth() }));
        changes.recordings.push(name);
        Ok(verify::report_left_out(source, &end))
    }
}
