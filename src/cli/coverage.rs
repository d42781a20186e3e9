//! `contrail coverage`: which parts of the contract recordings touch.

use std::{path::PathBuf, sync::Arc};

use super::{
    ContractArgs, Failure, Outcome,
    options::{OutputArgs, SecretArgs, contract::title},
    progress::Progress,
    report_files::{self, Used},
    trails::{self, Source},
    verify,
};
use crate::{
    coverage::{ContractParts, Coverage, Minimum},
    finding::Verdict,
    recording::{self, Entry},
    redact::{JudgedExchange, Redactor},
    report::coverage::Covered,
};

/// Report which parts of the contract recordings touch, and which they never do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, journals, trails, or folders of them; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Fail if a smaller share is touched, such as `operations=0.8`; of operations, statuses, parameters,
    /// media-types, fields, enum-values or variants; repeatable
    #[arg(long, value_name = "PART=SHARE", value_delimiter = ',')]
    min_coverage: Vec<Minimum>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.recordings(&args.recordings);
    used.contract(&args.contract);
    report_files::check(&args.output.report, &mut used)?;
    report_files::or_failure(&args.output.report, || coverage(args))
}

fn coverage(args: &Args) -> Result<Outcome, Failure> {
    let wanted = report_files::wanted(&args.output.report, args.output.format)?;
    let contract = args.contract.load()?;
    let redactor = args.secrets.redactor(&contract)?;
    let mut coverage = Coverage::new(ContractParts::of(&contract));
    let (mut files, mut unreadable) = (Vec::new(), 0);
    let mut progress = Progress::new();
    for inspected in trails::inspect(&args.recordings, &[])? {
        progress.files(inspected.sources.len());
        if let Some(broken) = inspected.trails.iter().find_map(|trail| trail.broken.as_ref()) {
            return Err(format!("no coverage is counted from a trail that was altered: {broken}").into());
        }
        for source in &inspected.sources {
            let before = coverage.exchanges();
            let left_out = read(source, &redactor, &mut coverage, &mut progress)?;
            verify::warn_if_empty(source, coverage.exchanges() - before + left_out);
            unreadable += left_out;
            files.push(source.name());
        }
    }
    drop(progress);
    let covered =
        Covered { title: title(&contract), coverage: &coverage, files, unreadable, minimums: &args.min_coverage };
    report_files::write_all(&wanted, |kind, to, _| covered.write(kind, to))?;
    let status = covered.exit().status;
    Ok(Outcome { findings: status == 1, failed: status == 2, ..Outcome::CLEAN })
}

fn read(
    source: &Source,
    redactor: &Redactor,
    coverage: &mut Coverage,
    progress: &mut Progress,
) -> Result<u64, Failure> {
    progress.file();
    let parts = Arc::clone(coverage.parts());
    let work = |Entry { exchange, note, .. }: Entry| {
        let touched = parts.touched_by(&exchange);
        // An entry of contrail's own went through redaction when it was written.
        (touched, note.is_none().then(|| JudgedExchange::new(exchange, Verdict::default())))
    };
    let recording = recording::open_up_to(&source.path, source.length)?;
    let end = recording.each(work, |(touched, foreign)| -> Result<(), Failure> {
        let touched = match foreign {
            Some(judged) => parts.touched_by_redacted(touched, &redactor.redact(judged)),
            None => touched,
        };
        coverage.take(&touched);
        progress.exchange();
        Ok(())
    })?;
    progress.clear();
    Ok(verify::report_left_out(source, &end))
}
