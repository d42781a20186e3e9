//! `contrail record`: proxy, check, record.
//!
//! The proxy writes a journal beside the fixture. At the end the journal is folded into the fixture, the fixture proves
//! itself ([`proof`]), and the journal goes. A journal that a killed run left is folded first, marked `unproven`.

mod builder;
mod leftovers;
pub(super) mod nothing;
mod proof;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub(super) use builder::{FixtureBuilder, FoldError, Opened, Proven, remove};
use leftovers::Leftovers;
pub(super) use proof::replayed;
use serde_json::Value;

use super::{
    Failure, Outcome,
    messages::error_chain,
    options::{
        Network,
        filter::FilterArgs,
        judge::{JudgeArgs, Setup},
        limits::ProxyArgs,
        trail::TrailArgs,
        upstream::UpstreamArgs,
    },
    report_files::{self, Used},
    run::Ran,
    summary,
    wrap::Ended,
};
use crate::{
    contract::Contract,
    exchange::TenantFacts,
    pipeline,
    plural::plural,
    recording::{self, Folded, Journal, JournalContext, Keep, Place, Renew, SetAside, is_single_file},
    report::{Proof, Reason},
};

/// Proxy and check traffic, and record it as a fixture
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Path of the fixture: a folder with one file per body, or a single file if the name ends in .har
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Add to the existing fixture
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Replace the existing fixture once the recording is complete; keep it if CMD fails or contrail is stopped while
    /// CMD runs
    #[arg(long)]
    overwrite: bool,
    /// Replace the recordings of this operation and keep the rest of the existing fixture; replace none if CMD fails or
    /// contrail is stopped while CMD runs; repeatable
    #[arg(long, value_name = "OPERATION", conflicts_with_all = ["append", "overwrite"])]
    replace: Vec<String>,
    /// Keep transient responses: all, or those with status `429`, `408`, `5xx` or a single 5xx status; repeatable
    #[arg(long, value_name = "STATUS", num_args = 0..=1, default_missing_value = "all")]
    keep: Vec<Keep>,
    /// Keep the upstream's origin in the fixture instead of `https://tenant.example`
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

impl Args {
    /// How it listens, and who answers.
    pub(super) fn network(&self) -> Network<'_> {
        Network { proxy: &self.proxy, upstream: &self.upstream, trail: Some(&self.trail) }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.fixture(&args.out);
    args.trail.uses(&mut used);
    args.upstream.uses(&mut used);
    args.judge.check_reports(&args.proxy, used)?;
    report_files::or_failure(&args.judge.report, || record(args))
}

/// Refuses a trail in the fixture's own folder, which holds a fixture and nothing else.
fn not_in_fixture(args: &Args) -> Result<(), Failure> {
    let Some(trail) = &args.trail.trail else { return Ok(()) };
    if recording::resolved(trail).starts_with(recording::resolved(&args.out)) {
        let (trail, out) = (trail.display(), args.out.display());
        return Err(
            format!("--trail: `{trail}` is in the folder of the fixture `{out}`; name a folder elsewhere").into()
        );
    }
    Ok(())
}

fn record(args: &Args) -> Result<Outcome, Failure> {
    let contract = args.judge.contract.load()?;
    known_operations(&contract, "--replace", &args.replace)?;
    known_operations(&contract, "--only", &args.filter.only)?;
    not_in_fixture(args)?;
    let existed = exists(args)?;
    let ready = args.upstream.ready(&args.proxy, &contract)?;
    let redactor = args.judge.redactor(&contract)?;
    let setup = args.filter.setup(&ready.origin);
    let builder = FixtureBuilder {
        out: args.out.clone(),
        keep: args.keep.clone(),
        keep_host: args.keep_host,
        format: args.judge.format,
        contract,
        redactor,
        options: args.judge.options(setup.options.clone()),
    };
    let context = JournalContext { upstream: ready.origin.as_str().into(), contract: builder.contract.hash().into() };
    // Opened first: it mends what a killed run left of its last segment.
    let trail = args.trail.open(&context, args.judge.format)?;
    let Opened { mut journal, leftovers, killed, recovered } = builder.open(context, existed, args.overwrite)?;
    let earlier = existed || recovered;
    if earlier || leftovers.is_some() {
        journal.renews(renewal(args))?;
    }
    let mut journal = match trail {
        Some(trail) => trail.with_fixture(journal)?,
        None => journal,
    };
    if args.trail.durable {
        journal.set_durable();
    }
    let journal = Arc::new(Mutex::new(journal));
    let pipeline = args.judge.pipeline(Setup {
        contract: Some(Arc::clone(&builder.contract)),
        redactor: Some(Arc::clone(&builder.redactor)),
        journal: Some(Box::new(Arc::clone(&journal))),
        durable: args.trail.durable,
        ..setup
    })?;
    let proxy = ProxyArgs { for_command: ready.for_command(&args.proxy, &builder.redactor), ..args.proxy.clone() };
    let introduce = || ready.introduce(&proxy, args.judge.format);
    let tenant = Arc::clone(&builder.contract) as Arc<dyn TenantFacts>;
    let ran =
        proxy.run(&pipeline, Arc::clone(&ready.upstream), &ready.origin, &args.upstream.reach(), tenant, introduce);
    let mut outcome = pipeline.finish();
    outcome.collector.upstream(&ready.origin);
    drop(pipeline);
    let ran = match ran {
        Ok(ran) => ran,
        Err(failure) => {
            // Nothing ran, so nothing is to be folded.
            if outcome.counts.exchanges == 0 {
                remove(journal);
                if let Some(leftovers) = leftovers {
                    leftovers.restore()?;
                }
            }
            return Err(failure);
        }
    };

    let trail = args.trail.end(&journal, &builder.redactor, &mut outcome.counts);
    let context = RunContext { earlier, recovered, ran: &ran, outcome: &outcome };
    let End { mut extra, next, proof, mut undone, fate } = end(args, &builder, journal, &context, trail);
    match leftovers.map(|leftovers| settle_leftovers(leftovers, fate, killed)).transpose() {
        Ok(settled) => extra.extend(settled.into_iter().flatten()),
        Err(failure) => undone.push(Reason::new("failed", error_chain(&*failure), "")),
    }
    let mut exit = Outcome {
        findings: outcome.collector.fails() || proof.as_ref().is_some_and(|proof| !proof.good),
        command: ran.failure(),
        ..Outcome::CLEAN
    };
    if let Some(proof) = proof {
        outcome.collector.proved(proof);
    }
    summary::conclude(&mut outcome, &mut exit, undone, &builder.redactor, &args.judge.report);
    summary::print(args.judge.format, &outcome, &extra, next.as_deref());
    summary::reports(&mut outcome, &builder.redactor, &args.judge.report)?;
    Ok(exit)
}

/// Removes the killed run's journal if the new recording replaced it, else puts it back. Returns the
/// lines for the summary.
fn settle_leftovers(leftovers: Leftovers, fate: Fate, killed: usize) -> Result<summary::Extra, Failure> {
    let what = format!("{} of a killed run", plural(killed, "exchange"));
    match fate {
        Fate::Replaced => {
            leftovers.discard()?;
            Ok(vec![("discarded, because of --overwrite", what.into())])
        }
        Fate::Nothing => {
            let path = leftovers.restore()?;
            Ok(vec![("left as they were", format!("{what} in {}", path.display()).into())])
        }
        Fate::NotFolded => Ok(Vec::new()),
    }
}

/// What became of a recording.
#[derive(Debug, Default)]
struct End {
    extra: summary::Extra,
    next: Option<String>,
    /// The proof of the fixture, if there is one.
    proof: Option<Proof>,
    /// What was to be recorded and is not in the fixture.
    undone: Vec<Reason>,
    /// What became of what was there before.
    fate: Fate,
}

impl End {
    /// The end could not be brought about.
    fn failed(failure: &(dyn std::error::Error + 'static)) -> Self {
        Self { undone: vec![Reason::new("failed", error_chain(failure), "")], fate: Fate::NotFolded, ..Self::default() }
    }
}

/// What a recording made of what was there before.
#[derive(Debug, Default, Clone, Copy)]
enum Fate {
    /// It replaced it.
    #[default]
    Replaced,
    /// It held nothing to replace it with.
    Nothing,
    /// It is still in the journal.
    NotFolded,
}

/// What is known at the end of a recording.
struct RunContext<'a> {
    /// There was a fixture already.
    earlier: bool,
    /// A left-over journal was folded into it.
    recovered: bool,
    ran: &'a Ran,
    outcome: &'a pipeline::Outcome,
}

/// Folds the journal, proves the fixture, and removes the journal.
fn end(
    args: &Args,
    builder: &FixtureBuilder,
    journal: pipeline::SharedJournal,
    context: &RunContext<'_>,
    trail: summary::Extra,
) -> End {
    if renewal(args) != Renew::Nothing
        && context.earlier
        && context.outcome.counts.exchanges > 0
        && let Some(ended) = context.ran.cut_short()
    {
        return spare(args, journal, ended, trail).unwrap_or_else(|failure| End::failed(&*failure));
    }
    let before =
        if args.overwrite && context.earlier { builder.requests().unwrap_or_default() } else { BTreeMap::new() };
    let folded = if context.outcome.counts.exchanges == 0 {
        Ok(Proven { folded: Folded { nothing: true, ..Folded::default() }, proof: None })
    } else {
        // Where the tenant answered every request, nothing stays of what --overwrite replaces.
        let counts = &context.outcome.counts;
        let unanswered = !counts.answered.is_empty() || counts.without_answer > 0;
        folded(args, builder, &journal, context.earlier && (unanswered || !args.overwrite))
    };
    match folded {
        Ok(Proven { folded, proof }) => {
            let mut end = if folded.nothing {
                let fixture = args.out.display().to_string();
                let cause = nothing::cause(context.outcome, &folded, context.ran);
                let mut extra = nothing::said(&fixture, args.out.exists(), &cause);
                extra.extend(trail);
                // A start without a command may be there for what a killed run left.
                let fails = !context.recovered || !args.proxy.command.is_empty();
                let undone = fails.then(|| nothing::reason(cause)).into_iter().collect();
                End { extra, undone, fate: Fate::Nothing, ..End::default() }
            } else {
                let mut extra = builder.extra(&folded, trail);
                extra.extend(failed(&args.out));
                let dropped = dropped(before, &builder.requests().unwrap_or_default());
                if dropped > 0 {
                    extra.push(("entries of the old fixture that are not in this one", dropped.into()));
                }
                End {
                    extra,
                    next: proof
                        .as_ref()
                        .is_some_and(|proof| proof.good)
                        .then(|| format!("contrail replay {}", quoted(&args.out))),
                    proof,
                    undone: nothing::unanswered(&folded).map(|why| nothing::not_anew(&why)).into_iter().collect(),
                    fate: Fate::Replaced,
                }
            };
            end.extra.extend(alarms(&journal));
            end.extra.extend(remove(journal));
            end
        }
        Err(error) => {
            let left = journal.lock().unwrap_or_else(PoisonError::into_inner).segments();
            let mut extra = error.extra(&left);
            let undone = vec![error.reason()];
            extra.extend(trail);
            if let FoldError::Unfinished(_) = error {
                return End { extra, undone, ..End::default() };
            }
            // A trail can be packed as a whole folder.
            let files: Vec<String> = left.iter().map(|path| quoted(path)).collect();
            let source = args.trail.trail.as_deref().map_or_else(|| files.join(" "), quoted);
            let next = Some(format!("mend the cause, then contrail pack {source} --out ANOTHER.har"));
            End { extra, next, undone, fate: Fate::NotFolded, ..End::default() }
        }
    }
}

/// Keeps the old fixture, since the command was cut short, and the new recording beside it.
fn spare(args: &Args, journal: pipeline::SharedJournal, ended: Ended, trail: summary::Extra) -> Result<End, Failure> {
    let why =
        if ended.interrupted { "contrail was stopped while the command ran".to_owned() } else { ended.in_words() };
    let option = if args.overwrite { "--overwrite" } else { "--replace" };
    let why = format!("{why}, so {option} replaced nothing");
    let fixture = format!("{}, as it was", args.out.display());
    let mut extra: summary::Extra = vec![nothing::not_recorded_anew(&why), ("fixture", fixture.into())];
    extra.extend(alarms(&journal));
    if args.trail.trail.is_some() {
        extra.extend(remove(journal));
    } else {
        let path = journal.lock().unwrap_or_else(PoisonError::into_inner).path().to_owned();
        let kept = SetAside::Failed.put(&path)?;
        extra.push(("the new recording is in", kept.display().to_string().into()));
        // No command takes single operations from a journal.
        if args.overwrite {
            let (command, fixture) = (if is_single_file(&args.out) { "pack" } else { "unpack" }, quoted(&args.out));
            let force = format!("contrail {command} {} --out {fixture} --overwrite", quoted(&kept));
            extra.push(("to replace the fixture all the same", force.into()));
        }
    }
    extra.extend(trail);
    Ok(End { extra, undone: vec![nothing::not_anew(&why)], fate: Fate::Nothing, ..End::default() })
}

/// The journals of earlier runs that failed.
fn failed(out: &Path) -> Option<(&'static str, Value)> {
    let paths = SetAside::Failed.all(&Journal::path_for(out));
    let paths: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
    (!paths.is_empty()).then(|| ("recordings of earlier runs that failed, to be removed", paths.join(" ").into()))
}

/// How many of the old entries have no counterpart: the same request, as often.
fn dropped(before: BTreeMap<String, usize>, now: &BTreeMap<String, usize>) -> usize {
    before.into_iter().map(|(request, count)| count.saturating_sub(*now.get(&request).unwrap_or(&0))).sum()
}

/// What happened to the journal that has not been said yet.
fn alarms(journal: &pipeline::SharedJournal) -> Option<(&'static str, Value)> {
    let alarms = journal.lock().unwrap_or_else(PoisonError::into_inner).alarms();
    (!alarms.is_empty()).then(|| ("ALARM", alarms.join("; ").into()))
}

/// Folds the journal and proves the fixture.
fn folded(
    args: &Args,
    builder: &FixtureBuilder,
    journal: &pipeline::SharedJournal,
    earlier: bool,
) -> Result<Proven, FoldError> {
    let before = match earlier.then(|| builder.verdicts()).transpose() {
        // What is to be replaced may be broken.
        Err(_) if args.overwrite => Vec::new(),
        verdicts => verdicts?.unwrap_or_default(),
    };
    let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
    journal.ensure().map_err(Failure::from)?;
    journal.ended()?;
    builder.fold_and_prove(&journal, earlier, renewal(args), &before)
}

/// What the recording replaces.
fn renewal(args: &Args) -> Renew<'_> {
    match args.replace.as_slice() {
        _ if args.overwrite => Renew::Everything,
        [] => Renew::Nothing,
        list => Renew::Operations(list),
    }
}

/// Whether there is a fixture already; if so, the options have to say what becomes of it.
fn exists(args: &Args) -> Result<bool, Failure> {
    let there = Place::prepare(&args.out)?.is_taken();
    if !there || args.append || args.overwrite || !args.replace.is_empty() {
        return Ok(there);
    }
    Err(format!(
        "{} exists already; --append adds to it, --overwrite replaces it, --replace OPERATION records one operation anew",
        args.out.display()
    )
    .into())
}

fn known_operations(contract: &Contract, option: &str, named: &[String]) -> Result<(), Failure> {
    let known = |name: &String| contract.operations().any(|operation| *operation.id == **name);
    match named.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(format!("{option} {name}: the contract has no such operation; `contrail contract` lists them").into())
        }
    }
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
