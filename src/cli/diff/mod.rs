//! `contrail diff`: what changed between two recordings, or between two contracts.

mod contracts;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::Contract;
use contrail_exchange::finding::Verdict;
use contrail_recording::{self as recording, Ignore, MatchRules, Scope};
use contrail_redact::{JudgedExchange, Redactor};
use contrail_report::diff::{self as compared, Item};

use super::{
    ContractArgs, Failure, Outcome,
    options::{OutputArgs, contract::plan},
    printer::warn,
    report_files::{self, Used},
    sources, survey, trails,
};

use crate::config::Sources;

/// Compare two recordings, or recordings under two contracts
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The old and the new recording to compare: fixtures, journals, HAR files of any tool, or folders of them; with
    /// two `--contract` options, any number of recordings to judge under both contracts
    #[arg(value_name = "FILE")]
    pub(in crate::cli) recordings: Vec<PathBuf>,
    /// The command line names the old contract and the new one.
    #[arg(skip)]
    pub(super) contracts: bool,
    /// Ignore this part of requests, and of response bodies and headers: `query:NAME`, `pointer:/a/b` (`*` for any one
    /// member or item), `path:N` (N-th segment, from 1), `header:NAME` or `body`, optionally after `OPERATION=` or
    /// `METHOD /path/*=`; repeatable
    #[arg(long, value_name = "[SCOPE=]WHAT")]
    pub(super) ignore: Vec<Ignore>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}

impl Args {
    /// Two contracts are compared if the command line names them; those of a variable or of the file judge together.
    pub(in crate::cli) fn set_mode(&mut self, sources: &Sources) {
        self.contracts = self.contract.contract.len() == 2 && sources.is_flag("contract");
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.recordings(&args.recordings);
    used.contract(&args.contract);
    report_files::check(&args.output.report, &mut used)?;
    report_files::or_failure(&args.output.report, || match (&args.contract.contract[..], &args.recordings[..]) {
        ([old, new], _) if args.contracts => contracts::diff(args, old, new),
        (_, [a, b]) => diff(args, a, b),
        _ => Err("name two recordings to compare, A and B, or two contracts: --contract OLD --contract NEW".into()),
    })
}

fn diff(args: &Args, a: &Path, b: &Path) -> Result<Outcome, Failure> {
    let wanted = report_files::wanted(&args.output.report, args.output.format)?;
    let contract = args.contract.load()?;
    let redactor = Redactor::new(plan(&contract, &[])?);
    sources::warn_of_journals(&args.recordings);
    let altered = trails::altered(&args.recordings)?;
    let mut rules = MatchRules { ignore: args.ignore.clone(), ..MatchRules::default() };
    let (old, new) = (read(a, &mut rules, &contract)?, read(b, &mut rules, &contract)?);
    let items = |read: Vec<Read>| -> Vec<Item> {
        let item =
            |(index, operation, exchange): Read| Item::new(index, operation.as_deref(), exchange, &rules, &redactor);
        read.into_iter().map(item).collect()
    };
    let (old, new) = (items(old), items(new));
    if old.is_empty() && new.is_empty() {
        return Err(format!("neither `{}` nor `{}` holds an exchange", a.display(), b.display()).into());
    }
    let (one, other) = (fs::canonicalize(a), fs::canonicalize(b));
    if one.is_ok_and(|one| other.is_ok_and(|other| one == other)) {
        warn("A and B are the same recording");
    }
    for scope in args.ignore.iter().filter_map(|rule| rule.scope.as_ref()) {
        let is_known = |item: &Item| {
            let request = &item.exchange.exchange.request;
            scope.holds(Some(&item.operation), request.method.as_str(), request.target.path())
        };
        let is_documented = |name: &String| contract.operations().any(|operation| *operation.id == **name);
        let is_operation = matches!(scope, Scope::Operation(name) if is_documented(name));
        if !is_operation && !old.iter().chain(&new).any(is_known) {
            return Err(format!(
                "--ignore {scope}: neither the contract nor a recording has such an operation; `contrail contract` \
                 lists them, and METHOD PATH names a request that is not documented"
            )
            .into());
        }
    }
    let comparison = compared::compare(old, new);
    let (a, b) = (a.display().to_string(), b.display().to_string());
    report_files::write_all(&wanted, |kind, to, _| comparison.write(kind, [&a, &b], to))?;
    Ok(Outcome { findings: comparison.differs() || !altered.is_empty(), ..Outcome::CLEAN })
}

/// An exchange with its index and its documented operation.
type Read = (usize, Option<String>, JudgedExchange);

/// The exchanges of a recording; its rules for comparing requests are added.
fn read(named: &Path, rules: &mut MatchRules, contract: &Arc<Contract>) -> Result<Vec<Read>, Failure> {
    let mut items = Vec::new();
    for source in recording::sources(named)? {
        let mut recording = recording::open(&source)?;
        rules.add(&recording.head().rules);
        for entry in recording.by_ref() {
            let entry = entry?;
            let operation = contract.operation_of(&entry.exchange.request).map(str::to_owned);
            let exchange = JudgedExchange::new(entry.exchange, Verdict::default());
            items.push((entry.index, operation, exchange));
        }
        survey::report_torn(&source, recording.head().torn);
    }
    Ok(items)
}
