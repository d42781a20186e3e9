//! `contrail record`: proxy, check, record.
//!
//! The proxy writes a journal beside the fixture. At the end the journal is folded into the fixture, the fixture proves
//! itself ([`proof`]), and the journal goes. A journal that a killed run left is folded first, marked `unproven`.

mod args;
mod builder;
mod end;
mod leftovers;
mod proof;
mod sessions;

use std::{
    fs, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

pub use args::Args;
use args::{exists, not_in_fixture, renewal};
pub(super) use builder::{FixtureBuilder, FoldError, Opened, remove};
use contrail_inspect::Facts;
use contrail_pipeline as pipeline;
use contrail_recording::{Journal, JournalContext, Scope, WriteError};
pub(super) use end::stoppable;
use end::{Before, End, Ending};
pub(super) use proof::replayed;
use sessions::Sessions;

use super::{
    Failure, Outcome,
    messages::quoted,
    metrics::Monitoring,
    options::{
        inspect::Page,
        judge::{Setup, known_operations},
        limits::ProxyArgs,
        upstream::Ready,
    },
    report_files::{self, Used},
    run::RunEnd,
    summary,
};

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    used.fixture(args.out());
    args.trail.uses(&mut used);
    args.upstream.uses(&mut used);
    args.judge.check_reports(&args.proxy, used)?;
    let missing = missing_folders(args.out());
    let ended = report_files::or_failure(&args.judge.report, || record(args));
    for folder in missing {
        // Only an empty one goes: nothing was recorded.
        let _ = fs::remove_dir(folder);
    }
    ended
}

/// The folders down to `path` that a recording would make, the innermost first.
fn missing_folders(path: &Path) -> Vec<&Path> {
    path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect()
}

fn record(args: &Args) -> Result<Outcome, Failure> {
    let monitoring = Monitoring::of(&args.proxy, &args.upstream)?;
    let bound = args.proxy.inspect.bind()?;
    let contract = args.judge.contract.load_to_serve()?;
    let operations = args.replace.iter().filter_map(Scope::operation);
    known_operations(&contract, "--replace", operations)?;
    known_operations(&contract, "--only", &args.filter.only)?;
    args.matching.check(&contract)?;
    not_in_fixture(args)?;
    if args.kept.keep_host && args.upstream.has_names() {
        let wrong = "--keep-host keeps origins, and an upstream with a name is recorded by it; leave one of them out";
        return Err(wrong.into());
    }
    let sessions = args.sessions.sessions.as_deref().map(|folder| Sessions::new(args, folder)).transpose()?;
    let sessions = sessions.map(Arc::new);
    let existed = sessions.is_none() && exists(args)?;
    let ready = args.upstream.ready(&args.proxy, &contract)?;
    let redactor = args.judge.redactor(&contract)?;
    let setup = args.filter.setup(ready.origins());
    let builder = FixtureBuilder {
        out: args.out().to_owned(),
        kept: args.kept.clone(),
        rules: args.matching.rules(),
        format: args.judge.format,
        contract,
        redactor,
        options: args.judge.options(setup.options.clone()),
        silence: false,
    };
    let facts = Facts {
        mode: "record",
        title: format!("recording {} → {}", ready.origin, args.out().display()),
        upstream: ready.origin.clone(),
        learn: Some(format!("contrail learn {}{}", quoted(args.out()), args.judge.contract.command_line())),
        ..Facts::default()
    };
    let page = args.proxy.inspect.open(bound, &args.judge, &builder.contract, &builder.redactor, facts)?;
    let context = JournalContext { upstream: ready.origin.as_str().into(), contract: builder.contract.hash().into() };
    let (journal, before) = match &sessions {
        None => open(args, &builder, &context, existed)?,
        Some(sessions) => (sessions.open(args, &builder, &context)?, Before::default()),
    };
    let held_by = Some(Journal::path_for(args.out()));
    let forwarder = args.trail.forward(&journal.lock().unwrap_or_else(PoisonError::into_inner), held_by);
    let forwarder = match forwarder {
        Ok(forwarder) => forwarder,
        Err(failure) => {
            remove(journal);
            before.restore()?;
            return Err(failure);
        }
    };
    let setup = Setup {
        viewer: page.as_ref().map(|page| Arc::clone(&page.inspector) as _),
        journal: Some(match &forwarder {
            Some(forwarder) => forwarder.journal(Arc::clone(&journal)),
            None => Box::new(Arc::clone(&journal)),
        }),
        metrics: monitoring.metrics(),
        tracer: monitoring.tracer(),
        ..setup
    };
    let (ran, mut outcome) = serve(args, &builder, &ready, &monitoring, setup, page.as_ref(), sessions.as_ref())?;
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
    let ending = Ending { args, builder: &builder, before: &before, ran: &ran, outcome: &outcome };
    let end = match &sessions {
        None => ending.end(journal, trail),
        Some(sessions) => sessions.end(&ending, journal, &context),
    };
    let mut end = end.clear_leftovers(before);
    // The fold is done with the segments.
    args.trail.forwarded(forwarder.as_ref(), args.proxy.drain, &mut end.rows, &mut end.undone);
    report(args, &builder, end, &ran, outcome, page)
}

/// Opens the journals. The fixture's holds nothing of a killed run any more: that is folded, or set aside.
fn open(
    args: &Args,
    builder: &FixtureBuilder,
    context: &JournalContext,
    existed: bool,
) -> Result<(pipeline::SharedJournal, Before), Failure> {
    if let Some(error) = missing_segment(&Journal::path_for(args.out())) {
        return Err(error.into());
    }
    // Opened first: it mends what a killed run left of its last segment.
    let trail = args.trail.open(|| context.clone(), args.judge.format)?;
    let Opened { mut journal, leftovers, killed, recovered } =
        builder.open(context.clone(), existed, args.overwrite)?;
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

/// The error about a segment that the journal of a killed recording names and that is gone: the trail is about to make
/// another one of that name.
fn missing_segment(journal: &Path) -> Option<WriteError> {
    if !journal.is_file() || Journal::is_folded(journal) {
        return None;
    }
    let error = Journal::sources(journal).err()?;
    matches!(&error, WriteError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound).then_some(error)
}

/// Runs the proxy until it is stopped. Where it cannot start, the outcome says whether something was recorded.
fn serve(
    args: &Args,
    builder: &FixtureBuilder,
    ready: &Ready,
    monitoring: &Monitoring,
    setup: Setup,
    page: Option<&Arc<Page>>,
    sessions: Option<&Arc<Sessions>>,
) -> Result<(Result<RunEnd, Failure>, pipeline::Outcome), Failure> {
    let pipeline = args.judge.pipeline(Setup {
        contract: Some(Arc::clone(&builder.contract)),
        redactor: Some(Arc::clone(&builder.redactor)),
        durable: args.trail.durable,
        ..setup
    })?;
    let for_command = ready.for_command(&args.proxy, &builder.redactor);
    let (rewrite_links, event_times) = (args.filter.rewrite_links, args.kept.keep_timings);
    let mut proxy = ProxyArgs { for_command, page: page.cloned(), rewrite_links, event_times, ..args.proxy.clone() };
    let serving = sessions.map(|sessions| sessions.begin(&mut proxy, &pipeline)).transpose()?;
    let introduce = || ready.introduce(&proxy, args.judge.format);
    let ran = proxy.run(
        &pipeline,
        |by_origin| by_origin(ready.by_origin()),
        &ready.sites,
        &args.upstream.outbound(),
        introduce,
    );
    drop(serving);
    let mut outcome = pipeline.finish();
    monitoring.end(args.proxy.drain, &mut outcome.counts);
    outcome.collector.upstream(&ready.origin);
    Ok((ran, outcome))
}

/// Prints the summary and writes the reports.
fn report(
    args: &Args,
    builder: &FixtureBuilder,
    end: End,
    ran: &RunEnd,
    mut outcome: pipeline::Outcome,
    page: Option<Arc<Page>>,
) -> Result<Outcome, Failure> {
    let mut exit = Outcome {
        findings: outcome.collector.fails() || end.proof.as_ref().is_some_and(|proof| !proof.good),
        misses: args.judge.policy.denies_hosts(&mut outcome.collector),
        command: ran.failure(),
        ..Outcome::CLEAN
    };
    if let Some(proof) = end.proof {
        outcome.collector.proved(proof);
    }
    summary::conclude(&mut outcome, &mut exit, end.undone, &builder.redactor, &args.judge.report);
    summary::print(args.judge.format, &outcome, &end.rows, end.next.as_deref());
    summary::reports(&mut outcome, &builder.redactor, &args.judge.report)?;
    let next = args.out().exists().then(|| format!("contrail inspect {}", quoted(args.out())));
    args.proxy.inspect.end(page, outcome.collector, exit.status(), next);
    Ok(exit)
}
