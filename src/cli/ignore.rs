//! `contrail ignore`: rules for comparing requests, from two recordings of the same run.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::Contract;
use contrail_exchange::{plural::plural, shell};
use contrail_recording::{self as recording, without_run};
use contrail_redact::Redactor;
use contrail_replay::{Asked, suggest};

use super::{ContractArgs, Failure, Outcome, messages::quoted, options::contract::plan, printer::line};

/// Suggest what comparisons of requests should ignore
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print an option `--ignore` for each place that differs and looks drawn for one run: a UUID, an instant, a nonce
    /// or a counter
    #[arg(long, required = true)]
    suggest: bool,
    /// Two recordings of the same run
    #[arg(value_names = ["A", "B"], num_args = 2, required = true)]
    pub(in crate::cli) recordings: Vec<PathBuf>,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let contract = args.contract.load()?;
    let redactor = Redactor::new(plan(&contract, &[])?);
    let read = |path: &PathBuf| read(path, &contract, &redactor);
    let read: Vec<Vec<Asked>> = args.recordings.iter().map(read).collect::<Result<_, _>>()?;
    let Ok([a, b]) = <[Vec<Asked>; 2]>::try_from(read) else {
        return Err("name two recordings of the same run".into());
    };
    let suggested = suggest(a, b);
    let mut out = io::stdout().lock();
    for rule in &suggested.rules {
        writeln!(out, "--ignore {}", shell::word(&rule.to_string()))?;
    }
    if suggested.rules.is_empty() {
        line("no place differs that looks like a UUID, an instant, a nonce or a counter");
    }
    for (path, alone) in args.recordings.iter().zip(suggested.alone).filter(|(_, alone)| *alone > 0) {
        let requests = plural(alone, "request");
        line(&format!("{requests} of {} differ otherwise; `contrail diff` shows in what", quoted(path)));
    }
    Ok(Outcome::CLEAN)
}

fn read(named: &Path, contract: &Arc<Contract>, redactor: &Redactor) -> Result<Vec<Asked>, Failure> {
    let mut all = Vec::new();
    for source in recording::sources(named)? {
        for entry in recording::open(&source)? {
            let recording::Entry { mut exchange, note, .. } = entry?;
            without_run(&mut exchange);
            let operation = contract.operation_of(&exchange.request).map(str::to_owned);
            let request = redactor.request(&exchange.request).into_inner();
            all.push(Asked { operation, request, order: note.and_then(|note| note.order) });
        }
    }
    Ok(all)
}
