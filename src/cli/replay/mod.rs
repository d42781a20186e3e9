//! `contrail replay`: serve recordings.
//!
//! Live requests are judged as they come, without authentication (CI has no real token). What was recorded is judged
//! once, beside the traffic, after the listener is ready; its violations count even if no client requests it.

mod args;
mod behaviour;
mod gates;
mod messages;
mod missing;
mod recorded;
mod scopes;
mod terms;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread::{self, JoinHandle},
};

use contrail_contract::CheckOptions;
use contrail_exchange::{DecodeLimits, TenantFacts, label};
use contrail_inspect::Facts;
use contrail_proxy::upstream::Upstream;
use contrail_recording::{self as recording, Entry, FixturePath, ReadError, TENANT_ORIGIN};
use contrail_redact::Renumbering;
use contrail_replay::{Builder, Names, Replay, ReplayOr, ReplayUpstream, Settings};
use contrail_report::Reason;

pub use self::args::Args;
use self::{
    missing::Missing,
    recorded::RecordingVerdicts,
    terms::{Pending, Terms},
};
use super::{
    Failure, Outcome,
    messages::error_chain,
    metrics::Monitoring,
    nothing,
    options::judge::Setup,
    outbound::OutboundPolicy,
    report_files::{self, Used},
    sources, summary, survey, trails,
};

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    for fixture in &args.fixtures {
        used.recording(fixture);
        if args.missing.record_missing {
            used.fixture(fixture);
        }
    }
    args.missing.upstream.uses(&mut used);
    args.judge.check_reports(&args.proxy, used)?;
    report_files::or_failure(&args.judge.report, || replay(args))
}

fn replay(args: &Args) -> Result<Outcome, Failure> {
    let monitoring = Monitoring::of(&args.proxy, &args.missing.upstream)?;
    let bound = args.proxy.inspect.bind()?;
    let terms = Arc::new(Pending { args: args.judge.clone(), made: OnceLock::new() });
    scopes::documented(&args.ignore, &terms)?;
    let options = args.judge.options(CheckOptions { auth: args.check_auth, ..CheckOptions::default() });
    // Without --record-missing it only says what the tenant is called; replay alone never asks one.
    let named = args.missing.upstream.origin();
    let upstream = args.missing.record_missing.then_some(&args.missing.upstream);
    let mut proxy = args.proxy.clone();
    if let (None, Some(origin)) = (upstream, &named) {
        proxy.listeners.intercept.push(format!("{}:{}", origin.bracketed_host(), origin.port));
    }
    let names = proxy.listeners.intercepted_origins()?;
    let called = named.as_ref().map(ToString::to_string);
    let tenant = Names::new(called.as_deref(), names.iter().map(String::as_str));
    // With it, what an intercepted host lacks is asked of that host.
    let tenant = Names { apart: upstream.is_some(), ..tenant };
    let missing = upstream.map(|upstream| Missing::begin(args, upstream, terms.get()?, &options)).transpose()?;
    let altered = trails::altered(&args.fixtures)?;
    // Beside each other: of the terms, most recordings need nothing.
    let (terms, loaded) = thread::scope(|scope| {
        let loading = scope.spawn(|| load(args, tenant, &terms));
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
        viewer: page.as_ref().map(|page| Arc::clone(&page.intake) as _),
        ..Setup::default()
    })?;
    let limits = DecodeLimits { bytes: args.judge.max_decoded, ratio: args.judge.max_ratio };
    let taking_up = Arc::clone(&pipeline);
    let tenants = names.iter().filter(|origin| !replay.has_recordings_of_origin(origin)).map(String::as_str);
    let recorded = ReplayUpstream::new(Arc::clone(&replay), Arc::clone(&redactor), tokens, limits)
        .redacting_after(move || taking_up.process_batches())
        .called(tenants.chain(named.as_ref().map(|origin| &*origin.authority)));
    let (origin, outbound) = match &missing {
        None => (TENANT_ORIGIN, OutboundPolicy::Memory),
        Some(missing) => (missing.origin(), missing.outbound()),
    };

    proxy.page.clone_from(&page);
    proxy.direct.clone_from(&args.direct);
    proxy.for_command = missing.as_ref().map(|missing| missing.for_command(&proxy)).unwrap_or_default();

    let mut judging = None;
    let routes = Arc::clone(&contract);
    let upstream = |with_intercepted: &dyn Fn(Arc<dyn Upstream>) -> Arc<dyn Upstream>| -> Arc<dyn Upstream> {
        let answering: Arc<dyn Upstream> = match &missing {
            None => Arc::new(recorded),
            Some(missing) => Arc::new(ReplayOr::new(recorded, with_intercepted(missing.upstream()))),
        };
        behaviour::applied(args, &routes, answering)
    };
    let ran = proxy.run(&pipeline, upstream, origin, &outbound, || {
        messages::ready(args.judge.format, &replay);
        if let Some(missing) = &missing {
            missing.print_start(&proxy);
        }
        let (replay, pipeline) = (Arc::clone(&replay), Arc::clone(&pipeline));
        let policy = args.judge.policy.clone();
        judging = Some(thread::spawn(move || recorded::judge(&replay, &contract, &options, &policy, &pipeline)));
    });
    let (mut judged, mut undone) = joined(judging);

    let mut outcome = pipeline.finish();
    monitoring.end(args.proxy.drain, &mut outcome.counts);
    drop(pipeline);
    let recorded = missing.map(|missing| missing.end(ran.as_ref().ok(), &outcome)).unwrap_or_default();
    let ran = ran?;
    let unproven = recorded.proof.as_ref().is_some_and(|proof| !proof.good);
    if let Some(proof) = recorded.proof {
        outcome.collector.proved(proof);
    }
    for trail in altered {
        outcome.collector.integrity(trail);
    }
    let gates = gates::apply(&args.judge.policy, &mut outcome.collector, &replay, &mut judged.stale);
    let mut exit = Outcome {
        findings: outcome.collector.fails() || unproven || gates.findings,
        misses: outcome.counts.misses > 0 || gates.denied,
        command: ran.failure(),
        ..Outcome::CLEAN
    };
    let mut rows = recorded.rows;
    undone.extend(recorded.undone);
    // Without recordings there was nothing to request.
    if !replay.is_empty()
        && let Some(reason) = nothing::unrequested(&args.judge.policy, &outcome, &ran, exit)
    {
        rows.push(nothing::row(&reason));
        undone.push(reason);
    }
    summary::conclude(&mut outcome, &mut exit, undone, &redactor, &args.judge.report);
    messages::end(args.judge.format, &outcome, &replay, &judged, rows);
    summary::reports(&mut outcome, &redactor, &args.judge.report)?;
    args.proxy.inspect.end(page, outcome.collector, exit.status(), None);
    Ok(exit)
}

/// What the live page shows of a replay besides its exchanges.
fn facts(args: &Args) -> Facts {
    let fixtures: Vec<String> = args.fixtures.iter().map(|path| path.display().to_string()).collect();
    Facts { mode: "replay", title: format!("replaying {}", fixtures.join(", ")), ..Facts::default() }
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

/// Takes the recordings in, in the order in which they were named.
fn load(args: &Args, names: Names, terms: &Arc<Pending>) -> Result<Replay, Failure> {
    let (routes, plan, failures) = (Arc::clone(terms), Arc::clone(terms), Arc::clone(terms));
    let mut builder = Builder::new(Settings {
        ignore: args.ignore.clone(),
        names,
        exhausted: args.exhausted,
        // Without terms nothing of this is used.
        operation_of: Arc::new(move |method, path| routes.get().ok()?.contract.operation_id(method, path)),
        tenant: Arc::clone(terms) as Arc<dyn TenantFacts>,
        has_label: Arc::new(label::has_label),
        redact: Arc::new(move |request| match plan.get() {
            Ok(terms) => terms.redactor.request(request).into_inner(),
            Err(_) => request.clone(),
        }),
        redact_failure: Arc::new(move |failure| match failures.get() {
            Ok(terms) => terms.redactor.failure(failure).into_inner(),
            Err(_) => String::new(),
        }),
    })?;
    let preparer = builder.preparer();
    let more_rules = !args.judge.redact.is_empty();
    if !args.missing.record_missing {
        sources::warn_of_journals(&args.fixtures);
    }
    let sources = sources_of(args)?;
    let several = sources.last().is_some_and(|(set, _)| *set > 0);
    let mut numbers = Renumbering::default();
    for (set, source) in sources {
        builder.source(&source.display().to_string());
        let work = |entry: Entry| {
            // Our own recordings went through the plan when they were made; a rule that was added since did not.
            // Labels are numbered in the file's order, so that is done in it.
            let redact = entry.note.is_none() || more_rules;
            if redact || several { Err((Box::new(entry), redact)) } else { Ok(preparer.prepare(entry, false)) }
        };
        let ended = recording::open(&source)?.each_or_fail(work, |worked| {
            builder.push(worked.unwrap_or_else(|(mut entry, redact)| {
                if several {
                    keep_labels_apart(&mut numbers, set, &mut entry);
                }
                preparer.prepare(*entry, redact)
            }));
            Ok::<(), ReadError>(())
        })?;
        if ended.head.torn > 0 {
            let said = survey::torn(&source, ended.head.torn);
            summary::event(args.judge.format, "torn", ended.head.torn, &said);
        }
    }
    Ok(builder.finish())
}

/// What is to be read, each with the number of its set of labels: journals of one path were written by one recorder,
/// which numbered the labels of all of them; every other file has labels of its own.
fn sources_of(args: &Args) -> Result<Vec<(u32, PathBuf)>, Failure> {
    let (mut found, mut sets) = (Vec::new(), 0..);
    for named in &args.fixtures {
        if args.missing.record_missing && !FixturePath::find(named)?.is_taken() {
            continue; // what is asked for makes it
        }
        let mut journals = None;
        for source in recording::sources(named)? {
            let is_journal = source.extension().is_some_and(|extension| extension == "journal");
            let set = if is_journal { *journals.get_or_insert_with(|| sets.next()) } else { sets.next() };
            found.push((set.unwrap_or(u32::MAX), source));
        }
    }
    Ok(found)
}

/// Gives the labels of an entry numbers that no other set has: read as they stand, `!token-1!` of two fixtures would be
/// one token, and one user would get the answers of another. Other tools' files have no labels.
fn keep_labels_apart(numbers: &mut Renumbering, set: u32, entry: &mut Entry) {
    if entry.note.is_some() {
        numbers.in_source(set);
        numbers.exchange(&mut entry.exchange);
    }
}
