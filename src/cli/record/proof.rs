//! The self-proof of a recording: what was written replays against itself, verifies as it was judged live, and holds
//! none of the secrets that went by.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    Request, TenantFacts,
    finding::{UNDOCUMENTED, Verdict},
    label,
};
use contrail_recording::{self as recording, Entry, ReadError, Staged, reconcile};
use contrail_redact::Redactor;
use contrail_replay::{Builder, Names, Settings, Unproven};

use crate::cli::Failure;

/// A verdict without what a fixture leaves out: operation, and rule and place of each finding, without labels' numbers.
type Gist = (Option<String>, Vec<(&'static str, String)>);

/// Verdicts, and how often each was given.
pub(in crate::cli) type Verdicts = BTreeMap<Gist, usize>;

/// The verdicts that a recording gives when it is verified.
pub(super) fn verdicts(har: &Path, contract: &Contract, options: &CheckOptions) -> Result<Verdicts, Failure> {
    let mut verdicts = Verdicts::new();
    for entry in recording::open(har)? {
        *verdicts.entry(verdict(&entry?, contract, options)).or_default() += 1;
    }
    Ok(verdicts)
}

fn verdict(entry: &Entry, contract: &Contract, options: &CheckOptions) -> Gist {
    let attested = entry.note.as_ref().and_then(|note| note.attested.as_ref());
    gist(&reconcile(contract.check(&entry.exchange, options), attested, contract.hash()))
}

fn gist(verdict: &Verdict) -> Gist {
    let findings = verdict.findings.iter().map(|finding| (finding.rule.id(), label::unnumbered(&finding.at))).collect();
    (verdict.operation.as_deref().map(str::to_owned), findings)
}

/// What a replay of a fixture against itself shows.
pub(in crate::cli) struct Replayed {
    /// What does not replay as itself.
    pub(in crate::cli) problems: Vec<String>,
    /// See [`Replay::told_apart_by_order`](contrail_replay::Replay::told_apart_by_order).
    pub(in crate::cli) by_order: usize,
}

/// Proves a fixture; what is wrong with it, if anything, in `problems`. `before` are the verdicts of what it held already.
pub(super) fn prove(
    fixture: &Staged,
    journals: &[PathBuf],
    before: &Verdicts,
    contract: &Arc<Contract>,
    options: &CheckOptions,
) -> Result<Replayed, Failure> {
    let mut problems = verified(fixture.har(), journals, before, contract, options)?;
    let replayed = replayed(fixture.har(), &fixture.place().display().to_string(), contract)?;
    problems.extend(replayed.problems);
    Ok(Replayed { problems, ..replayed })
}

/// The places of a fixture where a secret that went by still stands: the entry and the part of it, or else the byte of
/// the file.
pub(super) fn secrets(fixture: &Staged, redactor: &Redactor) -> Result<Vec<String>, Failure> {
    let in_files = in_files(fixture, redactor)?;
    if in_files.is_empty() {
        return Ok(in_files);
    }
    let mut found = Vec::new();
    for entry in recording::open(fixture.har())? {
        let Entry { exchange, index, .. } = entry?;
        let request = &exchange.request;
        let mut look = |place: &str, bytes: &[u8]| {
            for hit in redactor.scan(bytes) {
                found.push(format!(
                    "entry {index} ({}): {place} holds a secret ({}, {}) at byte {}",
                    *redactor.text(&format!("{} {}", request.method, request.target.path_and_query)),
                    hit.kind,
                    hit.form,
                    hit.offset
                ));
            }
        };
        look("the request's target", request.target.path_and_query.as_bytes());
        let response = exchange.response.as_ref().map(|response| ("response", &response.headers, &response.body));
        for (side, headers, body) in
            [Some(("request", &request.headers, &request.body)), response].into_iter().flatten()
        {
            for (name, value) in headers.iter() {
                let place = format!("the {side}'s header field `{}`", *redactor.text(name.as_str()));
                look(&format!("the name of {place}"), name.as_str().as_bytes());
                look(&place, value.as_bytes());
            }
            look(&format!("the {side}'s body"), &body.content);
        }
    }
    // What stands in no message: notes, names of files.
    Ok(if found.is_empty() { in_files } else { found })
}

/// The bytes of the files where a secret stands.
fn in_files(fixture: &Staged, redactor: &Redactor) -> Result<Vec<String>, Failure> {
    /// Bytes that are searched at a time; a longer line is searched whole.
    const BLOCK: usize = 1 << 20;
    let mut found = Vec::new();
    let mut files: Vec<(PathBuf, &Path)> = fixture.files().map(|(file, place)| (place, file)).collect();
    files.sort();
    for (place, file) in files {
        let mut input = BufReader::with_capacity(256 << 10, File::open(file)?);
        let (mut block, mut offset) = (Vec::new(), 0);
        loop {
            block.clear();
            while block.len() < BLOCK && input.read_until(b'\n', &mut block)? > 0 {}
            if block.is_empty() {
                break;
            }
            for hit in redactor.scan(&block) {
                let (kind, form, offset) = (hit.kind, hit.form, offset + hit.offset);
                found.push(format!("{} holds a secret ({kind}, {form}) at byte {offset}", place.display()));
            }
            offset += block.len();
        }
    }
    Ok(found)
}

/// Compares the verdicts of verification with the live ones.
fn verified(
    har: &Path,
    journals: &[PathBuf],
    before: &Verdicts,
    contract: &Contract,
    options: &CheckOptions,
) -> Result<Vec<String>, Failure> {
    let mut given = before.clone();
    for journal in journals {
        for entry in recording::open(journal)? {
            if let Some(note) = entry?.note {
                *given.entry(gist(&note.verdict)).or_default() += 1;
            }
        }
    }
    let mut problems = Vec::new();
    for (index, entry) in recording::open(har)?.enumerate() {
        let gist = verdict(&entry?, contract, options);
        match given.get_mut(&gist) {
            Some(left) if *left > 0 => *left -= 1,
            _ => problems.push(format!(
                "entry {index} ({}): `contrail verify` reports [{}], the live check did not; please report this",
                gist.0.as_deref().unwrap_or(UNDOCUMENTED),
                gist.1.iter().map(|(rule, at)| format!("{rule} {at}")).collect::<Vec<_>>().join(", ")
            )),
        }
    }
    Ok(problems)
}

/// Replays every exchange of the fixture, in order. Messages call the fixture `name`.
pub(in crate::cli) fn replayed(har: &Path, name: &str, contract: &Arc<Contract>) -> Result<Replayed, Failure> {
    let routes = Arc::clone(contract);
    let recording = recording::open(har)?;
    let mut builder = Builder::new(Settings {
        rules: recording.head().rules.clone(),
        names: Names::default(),
        exhausted: None,
        operation_of: Arc::new(move |upstream, method, path| routes.operation_id_at(upstream, method, path)),
        tenant: Arc::clone(contract) as Arc<dyn TenantFacts>,
        has_label: Arc::new(label::has_label),
        redact: Arc::new(Request::clone), // it is the recording that is asked
        redact_failure: Arc::new(str::to_owned),
    })?;
    builder.source(name);
    let preparer = builder.preparer();
    recording.each_or_fail(
        |entry| preparer.prepare(entry, false),
        |prepared| {
            builder.push(prepared);
            Ok::<(), ReadError>(())
        },
    )?;
    let shown =
        |unproven: Unproven| format!("{} ({}) does not replay: {}", unproven.entry, unproven.request, unproven.instead);
    let replay = builder.finish();
    let unfit = replay.unfit().into_iter().flat_map(|(why, entries)| {
        entries.into_iter().map(move |(entry, request)| format!("{entry} ({request}) cannot be replayed: {why}"))
    });
    let problems = replay.proof().into_iter().map(shown).chain(unfit).collect();
    Ok(Replayed { problems, by_order: replay.told_apart_by_order() })
}
