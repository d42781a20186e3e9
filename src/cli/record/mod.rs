//! `contrail record`: proxy, check, record.
//!
//! The proxy writes a journal beside the fixture. At the end the journal is folded into the fixture, the fixture proves
//! itself ([`proof`]), and the journal goes. A journal that a killed run left is folded first, marked `unproven`.

mod builder;
mod end;
mod leftovers;
pub(super) mod nothing;
mod proof;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

pub(super) use builder::{FixtureBuilder, FoldError, Opened, Proven, remove};
use end::{Before, End, Ending};
pub(super) use proof::replayed;

use super::{
    Failure, Outcome,
    options::{
        Network,
        filter::FilterArgs,
        judge::{JudgeArgs, Setup},
        limits::ProxyArgs,
        trail::TrailArgs,
        upstream::{Ready, UpstreamArgs},
    },
    report_files::{self, Used},
    run::Ran,
    summary,
};
use crate::{
    contract::Contract,
    exchange::TenantFacts,
    pipeline,
    recording::{self, JournalContext, Keep, Place, Renew},
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
    let (journal, before) = open(args, &builder, &ready.origin, existed)?;
    let (ran, mut outcome) = serve(args, &builder, &ready, &journal, setup)?;
    let ran = match ran {
        Ok(ran) => ran,
        Err(failure) => {
            // Nothing ran, so nothing is to be folded.
            if outcome.counts.exchanges == 0 {
                remove(journal);
                before.restore()?;
            }
            return Err(failure);
        }
    };
    let trail = args.trail.end(&journal, &builder.redactor, &mut outcome.counts);
    let end = Ending { args, builder: &builder, before: &before, ran: &ran, outcome: &outcome }.end(journal, trail);
    report(args, &builder, end.settle(before), &ran, outcome)
}

/// Opens the journals. The fixture's holds nothing of a killed run any more: that is folded, or set aside.
fn open(
    args: &Args,
    builder: &FixtureBuilder,
    origin: &str,
    existed: bool,
) -> Result<(pipeline::SharedJournal, Before), Failure> {
    let context = JournalContext { upstream: origin.into(), contract: builder.contract.hash().into() };
    // Opened first: it mends what a killed run left of its last segment.
    let trail = args.trail.open(&context, args.judge.format)?;
    let Opened { mut journal, leftovers, killed, recovered } = builder.open(context, existed, args.overwrite)?;
    let before = Before { fixture: existed || recovered, recovered, leftovers, killed };
    if before.fixture || before.leftovers.is_some() {
        journal.renews(renewal(args))?;
    }
    if let Some(trail) = trail {
        journal = trail.with_fixture(journal)?;
    }
    if args.trail.durable {
        journal.set_durable();
    }
    Ok((Arc::new(Mutex::new(journal)), before))
}

/// Runs the proxy until it is stopped. Where it cannot start, the outcome says whether something was recorded.
fn serve(
    args: &Args,
    builder: &FixtureBuilder,
    ready: &Ready,
    journal: &pipeline::SharedJournal,
    setup: Setup,
) -> Result<(Result<Ran, Failure>, pipeline::Outcome), Failure> {
    let pipeline = args.judge.pipeline(Setup {
        contract: Some(Arc::clone(&builder.contract)),
        redactor: Some(Arc::clone(&builder.redactor)),
        journal: Some(Box::new(Arc::clone(journal))),
        durable: args.trail.durable,
        ..setup
    })?;
    let proxy = ProxyArgs { for_command: ready.for_command(&args.proxy, &builder.redactor), ..args.proxy.clone() };
    let introduce = || ready.introduce(&proxy, args.judge.format);
    let tenant = Arc::clone(&builder.contract) as Arc<dyn TenantFacts>;
    let ran =
        proxy.run(&pipeline, Arc::clone(&ready.upstream), &ready.origin, &args.upstream.outbound(), tenant, introduce);
    let mut outcome = pipeline.finish();
    outcome.collector.upstream(&ready.origin);
    Ok((ran, outcome))
}

/// Prints the summary and writes the reports.
fn report(
    args: &Args,
    builder: &FixtureBuilder,
    end: End,
    ran: &Ran,
    mut outcome: pipeline::Outcome,
) -> Result<Outcome, Failure> {
    let mut exit = Outcome {
        findings: outcome.collector.fails() || end.proof.as_ref().is_some_and(|proof| !proof.good),
        command: ran.failure(),
        ..Outcome::CLEAN
    };
    if let Some(proof) = end.proof {
        outcome.collector.proved(proof);
    }
    summary::conclude(&mut outcome, &mut exit, end.undone, &builder.redactor, &args.judge.report);
    summary::print(args.judge.format, &outcome, &end.extra, end.next.as_deref());
    summary::reports(&mut outcome, &builder.redactor, &args.judge.report)?;
    Ok(exit)
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
