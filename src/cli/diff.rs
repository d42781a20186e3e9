//! `contrail diff`: what changed between two recordings.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    ContractArgs, Failure, Format, Outcome,
    options::contract::plan,
    printer::warn,
    report_files::{self, Used},
    sources, verify,
};
use crate::{
    contract::Contract,
    finding::Verdict,
    recording::{self, without_run},
    redact::{Judged, Redactor},
    replay::{Ignore, IgnoreSet},
    report::{
        Request,
        diff::{self as compared, Item},
    },
};

/// Compare two recordings, operation by operation and field by field
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Old recording: a fixture, a journal, a HAR file of any tool, or a folder of them
    #[arg(value_name = "A")]
    a: PathBuf,
    /// New recording
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Ignore this part of bodies: `pointer:/a/b` (`*` for any one member or item) or `body`, optionally after
    /// `OPERATION=`; repeatable
    #[arg(long, value_name = "[OPERATION=]WHAT")]
    ignore: Vec<Ignore>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write a report as text, json, html, markdown, junit, sarif, github or csv to FILE, or to standard output
    /// instead of the usual output; repeatable
    #[arg(long, value_name = "FORMAT[=FILE]")]
    report: Vec<Request>,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.recording(&args.a);
    used.recording(&args.b);
    used.contract(&args.contract);
    report_files::check(&args.report, &mut used)?;
    report_files::or_failure(&args.report, || diff(args))
}

fn diff(args: &Args) -> Result<Outcome, Failure> {
    let wanted = report_files::wanted(&args.report, args.format)?;
    let contract = args.contract.load()?;
    let redactor = Redactor::new(plan(&contract, &[])?);
    sources::warn_of_journals(&[args.a.clone(), args.b.clone()]);
    let (a, b) = (read(&args.a, &contract, &redactor)?, read(&args.b, &contract, &redactor)?);
    if a.is_empty() && b.is_empty() {
        return Err(format!("neither `{}` nor `{}` holds an exchange", args.a.display(), args.b.display()).into());
    }
    let (one, other) = (fs::canonicalize(&args.a), fs::canonicalize(&args.b));
    if one.is_ok_and(|one| other.is_ok_and(|other| one == other)) {
        warn("A and B are the same recording");
    }
    let ignored = |operation: &str, place: &[String]| {
        !args.ignore.is_empty() && IgnoreSet::of(&args.ignore, Some(operation)).leaves_out_place(place)
    };
    let comparison = compared::compare(a, b, &ignored);
    let (a, b) = (args.a.display().to_string(), args.b.display().to_string());
    report_files::write_all(&wanted, |kind, to, _| comparison.write(kind, [&a, &b], to))?;
    Ok(Outcome { findings: comparison.differs(), ..Outcome::CLEAN })
}

fn read(named: &Path, contract: &Arc<Contract>, redactor: &Redactor) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    for source in recording::sources(named)? {
        let mut recording = recording::open(&source)?;
        for entry in recording.by_ref() {
            let mut entry = entry?;
            without_run(&mut entry.exchange);
            let request = &entry.exchange.request;
            let operation = contract
                .operation_id(request.method.as_str(), request.target.path())
                .map_or_else(|| format!("{} {}", request.method, request.target.path()), |id| id.to_string());
            let exchange = redactor.redact(Judged::new(entry.exchange, Verdict::default()));
            let operation = redactor.text(&operation).into_inner();
            items.push(Item { entry: entry.index, operation, exchange });
        }
        verify::report_torn(&source, recording.head().torn);
    }
    Ok(items)
}
