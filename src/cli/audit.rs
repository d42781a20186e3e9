//! `contrail audit`: who called what with which scopes, over recordings; a trail's chain is checked first.

use std::{io::Write as _, path::PathBuf, time::Duration};

use super::{
    ContractArgs, Failure, Format, Outcome,
    options::{contract::plan, policy::PolicyArgs},
    printer::{Printer, warn},
    trails::{self, Source},
    verify::{self, Judge},
};
use crate::{
    exchange::{Credential, Exchange},
    recording::{Entry, Note},
    redact::{Judged, Redactor},
    report::audit::Audit,
    token::Jwks,
};

/// Report who called what with which scopes; check the hash chain of a trail first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Trails, journals, fixtures, HAR files of any tool, or folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    recordings: Vec<PathBuf>,
    /// File with heads of the trail's hash chain, written by `--head-to`; the chain must contain those of its
    /// trail; repeatable
    #[arg(long, value_name = "FILE")]
    head: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Tolerance for the `exp` and `nbf` of tokens
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = super::options::values::seconds_or_none)]
    clock_skew: Duration,
    /// JSON Web Key Set to check the signatures of tokens that a file still contains
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let keys = args.jwks.as_deref().map(Jwks::read).transpose()?;
    let judge = Judge::new(args.contract.load()?, args.clock_skew, keys);
    let redactor = Redactor::new(plan(&judge.contract, &[])?);
    let mut found = Found::default();
    for inspected in trails::inspect(&args.recordings, &args.head)? {
        // A folder without a trail counts as one recording.
        let others =
            if inspected.trails.is_empty() { std::slice::from_ref(&inspected.name) } else { &inspected.others };
        for other in others {
            found.audit.file(&other.display().to_string());
        }
        for integrity in inspected.trails {
            found.audit.integrity(integrity);
        }
        for source in &inspected.sources {
            let before = found.audit.exchanges();
            match read(source, &judge, &redactor, &args.policy, &mut found) {
                Ok(()) => verify::warn_if_empty(source, found.audit.exchanges() - before),
                // An altered line may be no entry any more. The report names it.
                Err(error) if source.altered => warn(&format!("the rest of it is not checked: {error}")),
                Err(error) => return Err(error),
            }
        }
    }
    judge.warn_of_unchecked_signatures();
    let Found { audit, failing } = found;
    let mut printer = Printer::stdout();
    match args.format {
        Format::Text => audit.text(&mut printer)?,
        Format::Json => audit.json(&judge.contract, &mut printer)?,
    }
    printer.flush()?;
    let failed = audit.exchanges() == 0 && !audit.altered();
    Ok(Outcome { findings: failing || audit.altered(), failed, ..Outcome::CLEAN })
}

/// What was found so far.
#[derive(Clone, Default)]
struct Found {
    audit: Audit,
    failing: bool,
}

impl Found {
    fn take(
        &mut self,
        mut exchange: Exchange,
        note: Option<&Note>,
        judge: &Judge,
        redactor: &Redactor,
        policy: &PolicyArgs,
    ) {
        let verdict = judge.settled(&mut exchange, note);
        let judged = redactor.redact(Judged::new(exchange, verdict));
        self.failing |= policy.fails(&judged.verdict);
        self.audit.exchange(&judged, &judge.contract);
    }
}

/// Takes in one recording. A browser's export carries no `Authorization` anywhere, and then nobody can say who called.
/// That shows at the end only, and standard input can be read only once: until an entry carries one, both are kept.
fn read(
    source: &Source,
    judge: &Judge,
    redactor: &Redactor,
    policy: &PolicyArgs,
    found: &mut Found,
) -> Result<(), Failure> {
    let mut recording = judge.open(source)?;
    let mut stripped = (!recording.head().by_contrail).then(|| found.clone());
    while let Some(entry) = recording.next() {
        let Entry { exchange, note, .. } = entry?;
        stripped = stripped.filter(|_| !recording.carries_authorization());
        if let Some(stripped) = &mut stripped {
            let mut exchange = exchange.clone();
            exchange.request.credential = Credential::Unknown;
            stripped.take(exchange, note.as_ref(), judge, redactor, policy);
        }
        found.take(exchange, note.as_ref(), judge, redactor, policy);
    }
    verify::report_torn(&source.path, recording.head().torn);
    if let Some(stripped) = stripped.filter(|_| !recording.head().by_contrail) {
        *found = stripped;
    }
    Ok(())
}
