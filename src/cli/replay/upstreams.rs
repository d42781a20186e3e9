//! Which upstreams a replay stands for: those that its recordings name, and those that `--upstream` names.

use std::collections::HashSet;

use contrail_exchange::{TENANT_NAME, upstreams};
use contrail_recording::{self as recording, FixturePath};

use super::{args::Args, missing::Missing};
use crate::cli::{
    Failure,
    options::sessions::{fixture_of, recorded},
    outbound::UpstreamSite,
};

/// The names of the upstreams in their order; empty where none has a name.
pub(super) fn names(args: &Args) -> Result<Vec<String>, Failure> {
    let folder = args.sessions.sessions.as_deref();
    let sessions = folder.map(|folder| recorded(folder).into_iter().filter_map(|name| fixture_of(folder, &name)));
    let mut names: Vec<String> = Vec::new();
    let mut is_tenants = false;
    for named in args.fixtures.iter().cloned().chain(sessions.into_iter().flatten()) {
        if args.missing.record_missing && !FixturePath::find(&named)?.is_taken() {
            continue; // what is asked for makes it
        }
        for source in recording::sources(&named)?.iter().filter(|source| source.is_file()) {
            // What cannot be read is reported when it is read whole.
            let Ok(mut opened) = recording::open(source) else { continue };
            let entry = if opened.head().journal { opened.next() } else { None };
            let stated = entry.and_then(|entry| entry.ok()?.note?.upstream).filter(|stated| stated.contains('='));
            let stated = upstreams(stated.as_deref().unwrap_or_default()).map(|(name, _)| name.to_owned());
            let stated: Vec<String> = opened.head().upstreams.iter().cloned().chain(stated).collect();
            is_tenants |= stated.is_empty();
            names.extend(stated);
        }
    }
    if is_tenants && (!names.is_empty() || args.missing.upstream.has_names()) {
        names.insert(0, TENANT_NAME.to_owned());
    }
    if !names.is_empty() || args.missing.upstream.has_names() {
        names.extend(origins(args).into_iter().map(|(name, _)| name));
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// The origins that `--upstream` names, each with the name of its upstream.
pub(super) fn origins(args: &Args) -> Vec<(String, String)> {
    let origins = args.missing.upstream.origins();
    origins.map(|(name, origin)| (name.map_or(TENANT_NAME, |name| name).to_owned(), origin.to_string())).collect()
}

/// How clients call the upstreams of these names: by the hosts that `--upstream` names, else by those of the recording.
///
/// # Errors
///
/// With `--record-missing`, a recorded upstream has no `--upstream`.
pub(super) fn sites(args: &Args, names: &[String], missing: Option<&Missing>) -> Result<Vec<UpstreamSite>, Failure> {
    if let Some(missing) = missing {
        let sites = missing.sites();
        let Some(name) = names.iter().find(|name| !sites.iter().any(|site| site.name() == *name)) else {
            return Ok(sites.to_vec());
        };
        let option = if name == TENANT_NAME { String::new() } else { format!("{name}=") };
        let wrong =
            format!("--record-missing: the fixture has the upstream {name}, too; say where it is with --upstream");
        return Err(format!("{wrong} {option}URL").into());
    }
    let site = |name: &str| {
        let recorded = UpstreamSite::recorded(name);
        let mut origins = args.missing.upstream.origins();
        match origins.find(|(of, _)| of.is_some_and(|of| &**of == name)) {
            Some((_, origin)) => UpstreamSite { called: UpstreamSite::new(None, origin.clone()).called, ..recorded },
            None => recorded,
        }
    };
    Ok(if names.is_empty() { vec![site(TENANT_NAME)] } else { names.iter().map(|name| site(name)).collect() })
}
