//! `contrail coverage`: which parts of the contract recordings touch.

use std::{path::PathBuf, sync::Arc};

use contrail_exchange::finding::Verdict;
use contrail_recording::{self as recording, Entry};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::coverage::{ContractParts, Coverage, Covered, Minimum, Touched};

use super::{
    ContractArgs, Failure, Outcome,
    options::{OutputArgs, SecretArgs, contract::title},
    report_files::{self, Used},
    survey::{self, Sink},
    trails::Source,
};

/// Report which parts of the contract recordings touch
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
    let parts = Arc::clone(coverage.parts());
    let work = |Entry { exchange, note, .. }: Entry| {
        let touched = parts.touched_by(&exchange);
        // An entry of contrail's own went through redaction when it was written.
        (touched, note.is_none().then(|| JudgedExchange::new(exchange, Verdict::default())))
    };
    let named = survey::unaltered(&args.recordings, &[], "no coverage is counted from")?;
    let files = named.iter().flat_map(|one| &one.sources).map(Source::name).collect();
    let open = |source: &Source| recording::open_up_to(&source.path, source.length);
    let unreadable = survey::read(named, open, work, &mut Covering { coverage: &mut coverage, redactor: &redactor })?;
    let covered =
        Covered { title: title(&contract), coverage: &coverage, files, unreadable, minimums: &args.min_coverage };
    report_files::write_all(&wanted, |kind, to, _| covered.write(kind, to))?;
    let status = covered.exit().status;
    Ok(Outcome { findings: status == 1, failed: status == 2, ..Outcome::CLEAN })
}

struct Covering<'a> {
    coverage: &'a mut Coverage,
    redactor: &'a Redactor,
}

impl Sink<(Touched, Option<JudgedExchange>)> for Covering<'_> {
    fn take(&mut self, (touched, foreign): (Touched, Option<JudgedExchange>)) -> Result<(), Failure> {
        let touched = match foreign {
            Some(judged) => self.coverage.parts().touched_by_redacted(touched, &self.redactor.redact(judged)),
            None => touched,
        };
        self.coverage.take(&touched);
        Ok(())
    }
}
