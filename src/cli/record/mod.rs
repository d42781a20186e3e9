//! `contrail record`: proxy, check, record.
//!
//! The proxy writes a journal beside the fixture. At the end the journal is folded into the fixture, the fixture proves
//! itself ([`proof`]), and the journal goes. A journal that a killed run left is folded first, marked `unproven`.

mod proof;

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    Failure, Format, Outcome,
    serve::{JudgeArgs, ProxyArgs},
    summary::{self, Extra},
    watch::{FilterArgs, TrailArgs, UpstreamArgs},
};
use crate::{
    contract::{CheckOptions, Contract},
    pipeline,
    recording::{Check, FoldOptions, FoldSource, Folded, Journal, JournalContext, Keep, Take, fold},
    redact::Redactor,
};

/// Proxy, check and record
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The fixture: a folder with a file per body, or one file if the name ends in .har
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Add to the fixture that is there
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Replace the fixture that is there, once the recording is whole
    #[arg(long)]
    overwrite: bool,
    /// Record this operation anew and keep the rest of the fixture that is there; repeatable
    #[arg(long, value_name = "OPERATION", conflicts_with_all = ["append", "overwrite"])]
    replace: Vec<String>,
    /// Keep transient answers: all of them, or those of `429`, `408`, `5xx` or one status of it; repeatable
    #[arg(long, value_name = "STATUS", num_args = 0..=1, default_missing_value = "all")]
    keep: Vec<Keep>,
    /// Leave the upstream's origin in the fixture instead of https://tenant.example
    #[arg(long)]
    keep_host: bool,
    #[command(flatten)]
    trail: TrailArgs,
    #[command(flatten)]
    upstream: UpstreamArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    proxy: ProxyArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let contract = args.judge.contract.load()?;
    known_operations(&contract, &args.replace)?;
    let existed = exists(args)?;
    let ready = args.upstream.ready(&args.proxy)?;
    let redactor = args.judge.redactor(&contract)?;
    let setup = args.filter.setup(&ready.origin);
    let bench = Bench {
        args,
        contract,
        redactor,
        options: CheckOptions { clock_skew: args.judge.clock_skew, ..setup.options.clone() },
    };
    let context = JournalContext { upstream: ready.origin.as_str().into(), contract: bench.contract.hash().into() };
    let path = args.trail.path().unwrap_or_else(|| Journal::path_for(&args.out));
    let (mut journal, leftover) = Journal::open(&path, context)?;
    let mut earlier = existed && !args.overwrite;
    if leftover.entries > 0 || leftover.torn > 0 {
        earlier |= bench.recover(&mut journal, leftover.entries, earlier)?;
    }

    let journal = Arc::new(Mutex::new(journal));
    let pipeline = args.judge.pipeline(super::serve::Setup {
        contract: Some(Arc::clone(&bench.contract)),
        redactor: Some(Arc::clone(&bench.redactor)),
        journal: Some(Box::new(Arc::clone(&journal))),
        ..setup
    })?;
    let ran = args
        .proxy
        .run(&pipeline, Arc::clone(&ready.upstream), &ready.origin, &args.upstream.reach(), || ready.introduce());
    let mut outcome = pipeline.finish(args.judge.collector("", ""));
    drop(pipeline);
    let ran = match ran {
        Ok(ran) => ran,
        Err(failure) => {
            // Nothing ran, so nothing is to be folded.
            if outcome.counts.exchanges == 0 && !args.trail.is_kept() {
                remove(journal)?;
            }
            return Err(failure);
        }
    };

    let before = if earlier { proof::verdicts(&args.out, &bench.contract, &bench.options)? } else { Vec::new() };
    let folded = bench.fold(&path, earlier, &args.replace, false)?;
    let problems = proof::prove(&args.out, &path, before, &bench.contract, &bench.options, &bench.redactor)?;
    if args.trail.is_kept() {
        drop(journal);
    } else {
        remove(journal)?;
    }
    let next = format!("contrail replay {}", quoted(&args.out));
    summary::print(args.judge.format, &outcome, &bench.extra(&folded, &problems, &path), Some(&next));
    summary::reports(&mut outcome, &bench.redactor, &args.judge.report)?;
    Ok(Outcome {
        findings: outcome.collector.fails() || !problems.is_empty(),
        failed: outcome.counts.lost(),
        command: ran.command.filter(|status| *status != 0),
        ..Outcome::CLEAN
    })
}

/// Whether there is a fixture already; if so, the options have to say what becomes of it.
fn exists(args: &Args) -> Result<bool, Failure> {
    if !args.out.exists() {
        return Ok(false);
    }
    if args.append || args.overwrite || !args.replace.is_empty() {
        return Ok(true);
    }
    Err(format!(
        "{} exists already; --append adds to it, --overwrite replaces it, --replace OPERATION records one operation anew",
        args.out.display()
    )
    .into())
}

fn known_operations(contract: &Contract, named: &[String]) -> Result<(), Failure> {
    let known = |name: &String| contract.model().operations.iter().any(|operation| *operation.id == **name);
    match named.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(format!("--replace {name}: the contract has no such operation; `contrail contract` lists them").into())
        }
    }
}

fn remove(journal: pipeline::SharedJournal) -> Result<(), Failure> {
    if let Ok(journal) = Arc::try_unwrap(journal) {
        journal.into_inner().unwrap_or_else(PoisonError::into_inner).remove()?;
    }
    Ok(())
}

/// What folding needs.
struct Bench<'a> {
    args: &'a Args,
    contract: Arc<Contract>,
    redactor: Arc<Redactor>,
    options: CheckOptions,
}

impl Bench<'_> {
    /// Deals with the journal that a killed run left; whether the fixture holds something now that is to stay.
    fn recover(&self, journal: &mut Journal, entries: usize, earlier: bool) -> Result<bool, Failure> {
        let exchanges = if entries == 1 { "1 exchange".to_owned() } else { format!("{entries} exchanges") };
        let said = if self.args.overwrite {
            format!("discarded {exchanges} of a left-over journal, because of --overwrite")
        } else {
            self.fold(journal.path(), earlier, &[], true)?;
            format!("folded {exchanges} of a left-over journal into {}; it is marked unproven", self.args.out.display())
        };
        let line = match self.args.judge.format {
            Format::Text => said,
            Format::Json => serde_json::json!({"recovered": entries, "message": said}).to_string(),
        };
        let _ = writeln!(io::stderr(), "{line}");
        journal.discard()?;
        Ok(!self.args.overwrite)
    }

    /// Folds the journal into the fixture; after what is there already, if that is to stay.
    fn fold(&self, journal: &Path, earlier: bool, replace: &[String], unproven: bool) -> Result<Folded, Failure> {
        let (kept, new) = match replace {
            [] => (Take::All, Take::All),
            list => (Take::Except(list.to_vec()), Take::Only(list.to_vec())),
        };
        let mut from = Vec::new();
        if earlier {
            from.push(FoldSource { path: self.args.out.clone(), take: kept });
        }
        from.push(FoldSource { path: journal.to_owned(), take: new });
        let check = |exchange: &crate::exchange::Exchange| self.contract.check(exchange, &self.options);
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let options = FoldOptions {
            redactor: &self.redactor,
            check: Some(Check { contract: self.contract.hash(), check: &check }),
            keep: &self.args.keep,
            keep_host: self.args.keep_host,
            unproven,
            today: &today,
            recorded: None,
        };
        Ok(fold(&from, &self.args.out, &options)?)
    }

    /// What the summary says about the fixture.
    fn extra(&self, folded: &Folded, problems: &[String], journal: &Path) -> Extra {
        let mut extra: Extra = Vec::new();
        if !folded.transient.is_empty() {
            let list: Vec<String> =
                folded.transient.iter().map(|(status, count)| format!("{status} × {count}")).collect();
            extra.push(("transient answers left out (--keep keeps them)", list.join(", ").into()));
        }
        for (name, count) in [
            ("answers of contrail's own left out", folded.own_answers),
            ("entries of other operations left out", folded.not_taken),
            ("entries that are not whole", folded.incomplete),
        ] {
            if count > 0 {
                extra.push((name, count.into()));
            }
        }
        extra.push(("fixture", self.args.out.display().to_string().into()));
        extra.push(("entries", folded.entries.into()));
        extra.push(("changed", folded.changed.into()));
        if self.args.trail.is_kept() {
            extra.push(("trail", journal.display().to_string().into()));
        }
        if problems.is_empty() {
            extra.push(("proof", "replayed against itself, verified, scanned for secrets: good".into()));
        } else {
            extra.push(("PROOF FAILED", problems.iter().map(|problem| Value::from(problem.as_str())).collect()));
        }
        extra
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
