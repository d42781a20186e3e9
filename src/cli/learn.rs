//! `contrail learn`: what recordings show of what the contract does not.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use contrail_exchange::{plural::plural, visible::visible};
use contrail_recording::{Entry, ReadEnd, Recording};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::learn::Learner;

use super::{
    ContractArgs, Failure, Format, Outcome,
    kinds::{self, FileKind},
    options::SecretArgs,
    printer::{Printer, write_whole},
    report_files::Used,
    survey::{self, Sink},
    trails::Source,
    verify::Judge,
};

/// Print what recordings show beyond the contract, as an overlay
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, journals, trails, or folders of them; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Write the overlay to this file instead of standard output
    #[arg(long, value_name = "OVERLAY")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Output format: text is YAML
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Tolerance for the `exp` and `nbf` of tokens
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = super::options::values::seconds_or_none)]
    clock_skew: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let out = args.out.as_deref().filter(|out| out.as_os_str() != "-");
    if let Some(out) = out.filter(|out| !args.overwrite && out.exists()) {
        return Err(format!("`{}` exists already; add --overwrite to replace it", out.display()).into());
    }
    if let Some(out) = out {
        let mut used = Used::default();
        used.recordings(&args.recordings);
        used.contract(&args.contract);
        used.spare("--out", out)?;
        kinds::replaces("--overwrite", out, FileKind::Overlay)?;
    }
    let judge = Judge::new(args.contract.load()?, args.clock_skew, None);
    let redactor = args.secrets.redactor(&judge.contract)?;
    let mut learner = Learner::new(Arc::clone(&judge.contract));
    let work = |Entry { index, mut exchange, note, .. }: Entry| {
        let verdict = judge.verdict(&mut exchange, note.as_ref());
        (index, JudgedExchange::new(exchange, verdict))
    };
    let named = survey::unaltered(&args.recordings, &[], "nothing is learned from")?;
    let mut learning = Learning { learner: &mut learner, redactor: &redactor, file: "".into() };
    let unreadable = survey::read(named, |source| judge.open(source), work, &mut learning)?;
    if learner.exchanges() == 0 {
        return Err("nothing is learned from recordings without an exchange, so no overlay is written".into());
    }
    let outcome = Outcome { failed: unreadable.count() > 0, ..Outcome::CLEAN };
    let learned = learner.learned();
    let mut stderr = io::stderr().lock();
    for (operation, sentence) in &learned.undecided {
        let _ = writeln!(stderr, "contrail: {}: {}", visible(operation), visible(sentence));
    }
    let from = plural(learner.exchanges(), "exchange");
    let _ = writeln!(stderr, "contrail: learned {} from {from}", plural(learned.facts as u64, "fact"));
    if learned.is_empty() {
        let _ = writeln!(stderr, "contrail: the recordings add nothing to the contract; there is no overlay to write");
        return Ok(outcome);
    }
    let text = match args.format {
        Format::Text => learned.yaml(),
        Format::Json => format!("{:#}\n", learned.overlay()),
    };
    match out {
        Some(out) => {
            let failed = |error: io::Error| format!("cannot write `{}`: {error}", out.display());
            write_whole(out, text.as_bytes()).map_err(failed)?;
            let out = out.display();
            let _ = writeln!(
                stderr,
                "contrail: wrote `{out}`; next: review it, then `contrail verify --overlay {out} FILE`"
            );
        }
        None => {
            let mut printer = Printer::stdout();
            printer.write_all(text.as_bytes())?;
            printer.flush()?;
        }
    }
    Ok(outcome)
}

struct Learning<'a> {
    learner: &'a mut Learner,
    redactor: &'a Redactor,
    /// The recording that is read.
    file: Arc<str>,
}

impl Sink<(usize, JudgedExchange)> for Learning<'_> {
    fn begin(&mut self, source: &Source, _: &Recording) {
        self.file = source.name().into();
    }

    fn take(&mut self, (index, judged): (usize, JudgedExchange)) -> Result<(), Failure> {
        self.learner.exchange(&self.file, index, &self.redactor.redact(judged));
        Ok(())
    }

    fn end(&mut self, _: &Source, end: &ReadEnd) {
        survey::report_unproven(&self.file, end.head.unproven);
    }
}
