//! `contrail replay`: serve recordings.
//!
//! Live requests are judged as they come, without authentication (CI has no real token). What was recorded is judged
//! once, beside the traffic, after the listener is ready; its violations count even if no client requests it.

mod args;
mod behaviour;
mod end;
mod gates;
mod load;
mod messages;
mod missing;
mod recorded;
mod scopes;
mod sessions;
mod terms;
mod upstreams;

use std::{
    sync::{Arc, OnceLock},
    thread::{self, JoinHandle},
};

use contrail_contract::CheckOptions;
use contrail_exchange::{DecodeLimits, TENANT_NAME};
use contrail_inspect::Facts;
use contrail_proxy::{sessions::UNNAMED, upstream::Upstream};
use contrail_replay::{Names, Replay, ReplayOr, ReplayUpstream};
use contrail_report::Reason;

pub use self::args::Args;
use self::{
    end::Ending,
    load::Loader,
    missing::Missing,
    recorded::RecordingVerdicts,
    sessions::{BySession, Sessions},
    terms::{Pending, Terms},
};
use super::{
    Failure, Outcome,
    kinds::{self, FileKind},
    messages::{error_chain, quoted},
    metrics::Monitoring,
    options::judge::Setup,
    outbound::OutboundPolicy,
    report_files::{self, Used},
    run::ByOrigin,
    trails,
};

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    for fixture in &args.fixtures {
        used.recording(fixture);
        if args.missing.record_missing {
            used.fixture(fixture);
        }
    }
    if let Some(folder) = &args.sessions.sessions {
        used.recording(folder);
    }
    args.missing.upstream.uses(&mut used);
    if let Some(file) = &args.used {
        used.spare("--used", file)?;
        kinds::replaces("--used", file, FileKind::Other)?;
    }
    args.judge.check_reports(&args.proxy, used)?;
    report_files::or_failure(&args.judge.report, || replay(args))
}

fn replay(args: &Args) -> Result<Outcome, Failure> {
    let monitoring = Monitoring::of(&args.proxy, &args.missing.upstream)?;
    let bound = args.proxy.inspect.bind()?;
    let terms = Arc::new(Pending { args: args.judge.clone(), made: OnceLock::new() });
    scopes::documented(&args.matching, &terms)?;
    let options = args.judge.options(CheckOptions { auth: args.check_auth, ..CheckOptions::default() });
    // Without --record-missing it only says what the upstreams are called; replay alone never asks one.
    let named = args.missing.upstream.tenant();
    let upstream = args.missing.record_missing.then_some(&args.missing.upstream);
    let mut proxy = args.proxy.clone();
    if let (None, Some(origin)) = (upstream, &named) {
        proxy.listeners.intercept.push(format!("{}:{}", origin.bracketed_host(), origin.port));
    }
    let names = proxy.listeners.intercepted_origins()?;
    let tenant = Names::new(named.map(ToString::to_string).as_deref(), names.iter().map(String::as_str));
    // With it, what an intercepted host lacks is asked of that host.
    let tenant = Names { apart: upstream.is_some(), upstreams: upstreams::names(args)?, ..tenant };
    let missing = upstream.map(|upstream| Missing::begin(args, upstream, terms.get()?, &options)).transpose()?;
    let sites = upstreams::sites(args, &tenant.upstreams, missing.as_ref())?;
    let altered = trails::altered(&args.fixtures)?;
    let loader = || Loader::new(args, tenant.clone(), &terms);
    let sessions = Sessions::of(args, loader)?;
    // Beside each other: of the terms, most recordings need nothing.
    let (terms, loaded) = thread::scope(|scope| {
        let loading = scope.spawn(|| match &sessions {
            None => loader().load(&args.fixtures),
            Some(sessions) => sessions.load(UNNAMED),
        });
        (terms.get().cloned(), loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    // An error of the terms is reported first, whichever came first.
    let Terms { contract, redactor, tokens } = terms?;
    let replay = Arc::new(loaded?);
    behaviour::check(args, &contract, &replay)?;
    let page = args.proxy.inspect.open(bound, &args.judge, &contract, &redactor, facts(args))?;
    let pipeline = args.judge.pipeline(Setup {
        options: options.clone(),
        contract: Some(Arc::clone(&contract)),
        redactor: Some(Arc::clone(&redactor)),
        tokens: Some(Arc::clone(&tokens)),
        journal: missing.as_ref().map(Missing::journal),
        metrics: monitoring.metrics(),
        tracer: monitoring.tracer(),
        viewer: page.as_ref().map(|page| Arc::clone(&page.inspector) as _),
        ..Setup::default()
    })?;
    let limits = DecodeLimits { bytes: args.judge.max_decoded, ratio: args.judge.max_ratio };
    let (taking_up, redacting) = (Arc::downgrade(&pipeline), Arc::clone(&redactor));
    let named = upstreams::origins(args);
    let answering = move |replay: Arc<Replay>| {
        let taking_up = taking_up.clone();
        let tenants = names.iter().filter(|origin| !replay.has_recordings_of_origin(origin));
        let tenants = tenants.map(|origin| (TENANT_NAME, &**origin));
        let named = named.iter().map(|(name, origin)| (&**name, &**origin));
        ReplayUpstream::new(Arc::clone(&replay), Arc::clone(&redacting), Arc::clone(&tokens), limits)
            .redacting_after(move || _ = taking_up.upgrade().map(|pipeline| pipeline.process_batches()))
            .called(tenants.chain(named))
    };
    let recorded = answering(Arc::clone(&replay));
    let behaving = behaviour::of(args, &contract);
    let behave = behaving.clone();
    let of_session = move |one: &_, name| behave(Arc::new(answering(Arc::clone(one)).of_session(name)), one);
    let serving = sessions.as_ref().map(|sessions| sessions.begin(&mut proxy, &replay, of_session)).transpose()?;
    let outbound = missing.as_ref().map_or(OutboundPolicy::Memory, Missing::outbound);

    proxy.page.clone_from(&page);
    proxy.direct.clone_from(&args.direct);
    proxy.for_command = missing.as_ref().map(|missing| missing.for_command(&proxy)).unwrap_or_default();

    let mut judging = None;
    let upstream = |by_origin: &dyn Fn(ByOrigin) -> Arc<dyn Upstream>| -> Arc<dyn Upstream> {
        let answering: Arc<dyn Upstream> = match (&missing, &sessions) {
            (_, Some(sessions)) => return Arc::new(BySession(Arc::clone(sessions))),
            (None, None) => Arc::new(recorded),
            (Some(missing), None) => Arc::new(ReplayOr::new(recorded, by_origin(missing.upstreams()))),
        };
        behaving(answering, &replay)
    };
    let ran = proxy.run(&pipeline, upstream, &sites, &outbound, || {
        messages::ready(args.judge.format, &replay, sessions.as_deref());
        if let Some(missing) = &missing {
            missing.print_start(&proxy);
        }
        let (replay, pipeline, contract) = (Arc::clone(&replay), Arc::clone(&pipeline), Arc::clone(&contract));
        let (policy, options) = (args.judge.policy.clone(), options.clone());
        let judge = move || recorded::judge(replay.entries(), &contract, &options, &policy, &pipeline);
        judging = Some(thread::spawn(judge));
    });
    drop(serving);
    let ((mut judged, undone), mut replays) = (joined(judging), vec![replay]);
    for (replay, own) in sessions.iter().flat_map(|sessions| sessions.named()) {
        let entries = replay.entries().filter(|recorded| own.contains(recorded.source));
        judged.add(recorded::judge(entries, &contract, &options, &args.judge.policy, &pipeline)?);
        replays.push(replay);
    }

    let mut outcome = pipeline.finish();
    monitoring.end(args.proxy.drain, &mut outcome.counts);
    drop(pipeline);
    let recorded = missing.map(|missing| missing.end(ran.as_ref().ok(), &outcome)).unwrap_or_default();
    let ran = ran?;
    for trail in altered {
        outcome.collector.integrity(trail);
    }
    let ending = Ending { args, redactor: &redactor, replays, sessions: sessions.as_deref(), judged, undone, recorded };
    let exit = ending.end(&mut outcome, &ran)?;
    args.proxy.inspect.end(page, outcome.collector, exit.status(), None);
    Ok(exit)
}

/// What the live page shows of a replay besides its exchanges.
fn facts(args: &Args) -> Facts {
    let fixtures = args.sessions.sessions.iter().chain(&args.fixtures);
    let fixtures: Vec<String> = fixtures.map(|path| path.display().to_string()).collect();
    let begins = match (&args.sessions.sessions, args.fixtures.as_slice()) {
        (Some(folder), _) => Some(format!("record --sessions {} --append", quoted(folder))),
        (None, [one]) => Some(format!("replay {} --record-missing", quoted(one))),
        (None, _) => None,
    };
    let given = args.missing.upstream.command_line(|_, _| true);
    let upstreams = if given.is_empty() { " --upstream URL" } else { &given };
    let contract = args.judge.contract.command_line();
    let words: String = args.proxy.command.iter().flat_map(|word| [" ".to_owned(), quoted(word.as_ref())]).collect();
    let command = if words.is_empty() { words } else { format!(" --{words}") };
    let record = begins.map(|begins| format!("contrail {begins}{upstreams}{contract}{command}"));
    Facts { mode: "replay", title: format!("replaying {}", fixtures.join(", ")), record, ..Facts::default() }
}

/// What the check of the recorded exchanges gave, and why it gave nothing.
fn joined(judging: Option<JoinHandle<Result<RecordingVerdicts, Failure>>>) -> (RecordingVerdicts, Vec<Reason>) {
    let why = match judging.map(JoinHandle::join) {
        None => return Default::default(),
        Some(Ok(Ok(judged))) => return (judged, Vec::new()),
        Some(Ok(Err(error))) => error_chain(&*error),
        Some(Err(_)) => "the check of them failed; please report it".to_owned(),
    };
    let why = format!("the recorded exchanges were not judged: {why}");
    (RecordingVerdicts::default(), vec![Reason::new("not-judged", why, "")])
}
