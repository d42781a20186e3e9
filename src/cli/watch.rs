//! `contrail watch`: proxy and check.

use std::sync::{Arc, Mutex};

use contrail_inspect::Facts;
use contrail_recording::JournalContext;

use super::{
    Failure, Outcome,
    messages::quoted,
    metrics::Monitoring,
    nothing,
    options::{
        FilterArgs, Network,
        judge::{JudgeArgs, Setup},
        limits::ProxyArgs,
        trail::TrailArgs,
        upstream::UpstreamArgs,
    },
    report_files::{self, Used},
    summary,
};

/// Proxy and check traffic; with --trail, keep an audit trail
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trail: TrailArgs,
    #[command(flatten)]
    upstream: UpstreamArgs,
    #[command(flatten)]
    pub(super) filter: FilterArgs,
    #[command(flatten)]
    pub(super) judge: JudgeArgs,
    #[command(flatten)]
    pub(super) proxy: ProxyArgs,
}

impl Args {
    /// How it listens, and who answers.
    pub(super) fn network(&self) -> Network<'_> {
        Network {
            proxy: &self.proxy,
            upstream: &self.upstream,
            contract: Some(&self.judge.contract),
            trail: Some(&self.trail),
            sessions: None,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    args.trail.uses(&mut used);
    args.upstream.uses(&mut used);
    args.judge.check_reports(&args.proxy, used)?;
    report_files::or_failure(&args.judge.report, || watch(args))
}

fn watch(args: &Args) -> Result<Outcome, Failure> {
    let monitoring = Monitoring::of(&args.proxy, &args.upstream)?;
    let bound = args.proxy.inspect.bind()?;
    let contract = args.judge.contract.load_to_serve()?;
    let ready = args.upstream.ready(&args.proxy, &contract)?;
    let mut setup = args.filter.setup(ready.origins());
    if args.trail.durable && args.trail.trail.is_none() {
        return Err("--durable needs something to write: name a folder with --trail DIR".into());
    }
    let (mut trail, mut forwarder) = (None, None);
    let context = || JournalContext { upstream: ready.origin.as_str().into(), contract: contract.hash().into() };
    if let Some(mut journal) = args.trail.open(context, args.judge.format)? {
        forwarder = args.trail.forward(&journal, None)?;
        if args.trail.durable {
            journal.set_durable();
        }
        let journal = Arc::new(Mutex::new(journal));
        trail = Some(Arc::clone(&journal));
        setup.journal = Some(match &forwarder {
            Some(forwarder) => forwarder.journal(journal),
            None => Box::new(journal),
        });
        setup.durable = args.trail.durable;
    }
    (setup.metrics, setup.tracer) = (monitoring.metrics(), monitoring.tracer());
    let redactor = args.judge.redactor(&contract)?;
    let facts = Facts {
        mode: "watch",
        title: format!("watching {}", ready.origin),
        upstream: ready.origin.clone(),
        command: args.trail.folder().map(|folder| format!("contrail inspect {}", quoted(&folder))),
        learn: args
            .trail
            .folder()
            .map(|folder| format!("contrail learn {}{}", quoted(&folder), args.judge.contract.command_line())),
        ..Facts::default()
    };
    let page = args.proxy.inspect.open(bound, &args.judge, &contract, &redactor, facts)?;
    setup.viewer = page.as_ref().map(|page| Arc::clone(&page.inspector) as _);
    let pipeline = args.judge.pipeline(Setup { contract: Some(contract), redactor: Some(redactor), ..setup })?;
    let for_command = ready.for_command(&args.proxy, pipeline.redactor());
    let proxy =
        ProxyArgs { for_command, page: page.clone(), rewrite_links: args.filter.rewrite_links, ..args.proxy.clone() };
    let introduce = || ready.introduce(&proxy, args.judge.format);
    let ran = proxy.run(
        &pipeline,
        |by_origin| by_origin(ready.by_origin()),
        &ready.sites,
        &args.upstream.outbound(),
        introduce,
    )?;
    let mut outcome = pipeline.finish();
    monitoring.end(args.proxy.drain, &mut outcome.counts);
    let (mut undone, patience) = (Vec::new(), args.proxy.drain);
    let mut kept = match &trail {
        Some(trail) => args.trail.end(trail, pipeline.redactor(), &mut outcome.counts),
        None => Vec::new(),
    };
    args.trail.forwarded(forwarder.as_ref(), patience, &mut kept, &mut undone);
    let next = args.trail.verifying().map(|next| next + &args.judge.contract.command_line());
    let mut exit = Outcome {
        findings: outcome.collector.fails(),
        misses: args.judge.policy.denies_hosts(&mut outcome.collector),
        command: ran.failure(),
        ..Outcome::CLEAN
    };
    outcome.collector.upstream(&ready.origin);
    if let Some(reason) = nothing::unrequested(&args.judge.policy, &outcome, &ran, exit) {
        kept.push(nothing::row(&reason));
        undone.push(reason);
    }
    summary::conclude(&mut outcome, &mut exit, undone, pipeline.redactor(), &args.judge.report);
    summary::print(args.judge.format, &outcome, &kept, next.as_deref());
    summary::reports(&mut outcome, pipeline.redactor(), &args.judge.report)?;
    args.proxy.inspect.end(page, outcome.collector, exit.status(), next);
    Ok(exit)
}
