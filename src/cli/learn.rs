//! `contrail learn`: what recordings show of what the contract does not.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use super::{
    ContractArgs, Failure, Format, Outcome,
    kinds::{self, FileKind},
    options::SecretArgs,
    printer::{Printer, write_whole},
    progress::Progress,
    report_files::Used,
    trails::{self, Source},
    verify::{self, Judge},
};
use crate::{
    learn::Learner,
    plural::plural,
    recording::Entry,
    redact::{JudgedExchange, Redactor},
    visible::visible,
};

/// Print what recordings show of what the contract does not, as an OpenAPI Overlay
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
    let mut progress = Progress::new();
    let mut unreadable = 0;
    for inspected in trails::inspect(&args.recordings, &[])? {
        progress.files(inspected.sources.len());
        if let Some(broken) = inspected.trails.iter().find_map(|trail| trail.broken.as_ref()) {
            return Err(format!("nothing is learned from a trail that was altered: {broken}").into());
        }
        for source in &inspected.sources {
            let before = learner.exchanges();
            let left_out = read(source, &judge, &redactor, &mut learner, &mut progress)?;
            verify::warn_if_empty(source, learner.exchanges() - before + left_out);
            unreadable += left_out;
        }
    }
    drop(progress);
    if learner.exchanges() == 0 {
        return Err("nothing is learned from recordings without an exchange, so no overlay is written".into());
    }
    let outcome = Outcome { failed: unreadable > 0, ..Outcome::CLEAN };
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

fn read(
    source: &Source,
    judge: &Judge,
    redactor: &Redactor,
    learner: &mut Learner,
    progress: &mut Progress,
) -> Result<u64, Failure> {
    let file: Arc<str> = source.name().into();
    progress.file();
    let work = |entry: Entry| {
        let Entry { index, mut exchange, note, .. } = entry;
        let verdict = judge.verdict(&mut exchange, note.as_ref());
        (index, JudgedExchange::new(exchange, verdict))
    };
    let end = judge.open(source)?.each(work, |(index, judged)| -> Result<(), Failure> {
        learner.exchange(&file, index, &redactor.redact(judged));
        progress.exchange();
        Ok(())
    })?;
    progress.clear();
    verify::report_unproven(&file, end.head.unproven);
    Ok(verify::report_left_out(source, &end))
}
