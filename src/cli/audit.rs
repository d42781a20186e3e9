//! `contrail audit`: who called what with which scopes, over recordings; a trail's chain is checked first.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    ContractArgs, Failure, Format, Outcome,
    policy::PolicyArgs,
    printer::Printer,
    verify::{self, Judge},
};
use crate::{
    recording::{self, ChainHead, Entry},
    redact::{Judged, Plan, Redactor},
    report::audit::{Audit, Integrity},
    token::Credential,
};

/// Who called what with which scopes; a trail's chain is always checked first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Trails, journals, fixtures, HAR files of any tool, or folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    recordings: Vec<PathBuf>,
    /// Heads of a trail's chain that were kept elsewhere (`--head-to` of record and watch): the chain has to go through them
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// How to print the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Tolerance for a token's `exp` and `nbf`, in seconds
    #[arg(long, value_name = "SECS", default_value_t = 0, value_parser = super::values::whole::<u64>)]
    clock_skew: u64,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let judge = Judge::new(args.contract.load()?, Duration::from_secs(args.clock_skew), None);
    let redactor = Redactor::new(Plan::default());
    let kept = verify::kept_heads(args.head.as_deref())?;
    let mut audit = Audit::default();
    let mut failing = false;
    for named in &args.recordings {
        let sources = recording::sources(named)?;
        integrity(named, &sources, &kept, &mut audit)?;
        for source in sources {
            let stripped = recording::strips_authorization(&source)?;
            for entry in judge.open(&source)? {
                let Entry { mut exchange, note, .. } = entry?;
                if stripped {
                    exchange.request.credential = Credential::Unknown;
                }
                let verdict = judge.settled(&mut exchange, note.as_ref());
                let judged = redactor.redact(Judged::new(exchange, verdict));
                failing |= args.policy.fails(&judged.verdict);
                audit.exchange(&judged, &judge.contract);
            }
        }
    }
    let mut printer = Printer::stdout();
    match args.format {
        Format::Text => audit.text(&mut printer)?,
        Format::Json => audit.json(&judge.contract, &mut printer)?,
    }
    printer.flush()?;
    Ok(Outcome { findings: failing || audit.altered(), ..Outcome::CLEAN })
}

/// Checks the chain of what was named, if it is a trail.
fn integrity(named: &Path, sources: &[PathBuf], kept: &[ChainHead], audit: &mut Audit) -> Result<(), Failure> {
    let trail = named.display().to_string();
    let segments = verify::journals(sources);
    if segments.is_empty() && kept.is_empty() {
        audit.file(&trail);
        return Ok(());
    }
    audit.integrity(match verify::check_chain(named, &segments, kept)? {
        None => Integrity { trail, entries: None, unsealed: 0, head: None, broken: None },
        Some(checked) => Integrity {
            trail,
            entries: Some(checked.entries),
            unsealed: checked.unsealed,
            head: Some(checked.head.hash.clone()),
            broken: checked.broken.map(|broken| broken.to_string()),
        },
    });
    Ok(())
}
