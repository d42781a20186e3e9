//! Reading recordings for a replay.

use std::{path::PathBuf, sync::Arc};

use contrail_exchange::{TenantFacts, label};
use contrail_recording::{self as recording, Entry, FixturePath, MatchRules, ReadError, Recording, Renumbering};
use contrail_replay::{Builder, Names, Replay, Settings};

use super::{args::Args, terms::Pending};
use crate::cli::{Failure, Format, sources, summary, survey};

/// A recording to be read, with the number of its set of labels; opened if it comes only once.
type ToRead = (u32, PathBuf, Option<Recording>);

/// What recordings are read by.
pub(super) struct Loader {
    settings: Settings,
    /// Our own recordings went through the plan when they were made; a rule was added since.
    more_rules: bool,
    /// A recording may be missing: what it lacks is recorded.
    records_missing: bool,
    format: Format,
}

impl Loader {
    pub(super) fn new(args: &Args, names: Names, terms: &Arc<Pending>) -> Self {
        let (routes, plan, failures) = (Arc::clone(terms), Arc::clone(terms), Arc::clone(terms));
        Self {
            settings: Settings {
                rules: args.matching.rules(),
                names,
                exhausted: args.exhausted,
                // Without terms nothing of this is used.
                operation_of: Arc::new(move |upstream, method, path| {
                    routes.get().ok()?.contract.operation_id_at(upstream, method, path)
                }),
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
            },
            more_rules: !args.judge.redact.is_empty(),
            records_missing: args.missing.record_missing,
            format: args.judge.format,
        }
    }

    /// Takes the recordings in, in the order in which they are named.
    pub(super) fn load(&self, fixtures: &[PathBuf]) -> Result<Replay, Failure> {
        if !self.records_missing {
            sources::warn_of_journals(fixtures);
        }
        let sources = self.sources(fixtures)?;
        let several = sources.last().is_some_and(|(set, _)| *set > 0);
        let (sources, rules) = self.opened(sources)?;
        let mut builder = Builder::new(Settings { rules, ..self.settings.clone() })?;
        let preparer = builder.preparer();
        let mut numbers = Renumbering::default();
        for (set, source, opened) in sources {
            builder.source(&source.display().to_string());
            let work = |entry: Entry| {
                // Labels are numbered in the file's order, so that is done in it.
                let redact = entry.note.is_none() || self.more_rules;
                if redact || several { Err((Box::new(entry), redact)) } else { Ok(preparer.prepare(entry, false)) }
            };
            let recording = opened.map_or_else(|| recording::open(&source), Ok)?;
            let ended = recording.each_or_fail(work, |worked| {
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
                summary::event(self.format, "torn", ended.head.torn, &said);
            }
        }
        Ok(builder.finish())
    }

    /// The rules for comparing requests: those that are given and those of every recording, which are needed before the
    /// first entry is read.
    fn opened(&self, sources: Vec<(u32, PathBuf)>) -> Result<(Vec<ToRead>, MatchRules), ReadError> {
        let (mut rules, mut opened) = (self.settings.rules.clone(), Vec::new());
        let is_one = sources.len() == 1;
        for (set, source) in sources {
            let recording = recording::open(&source)?;
            rules.add(&recording.head().rules);
            let is_kept = is_one || !source.is_file();
            opened.push((set, source, is_kept.then_some(recording)));
        }
        Ok((opened, rules))
    }

    /// What is to be read, each with the number of its set of labels: journals of one path were written by one recorder,
    /// which numbered the labels of all of them; every other file has labels of its own.
    fn sources(&self, fixtures: &[PathBuf]) -> Result<Vec<(u32, PathBuf)>, Failure> {
        let (mut found, mut sets) = (Vec::new(), 0..);
        for named in fixtures {
            if self.records_missing && !FixturePath::find(named)?.is_taken() {
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
}

/// Gives the labels of an entry numbers that no other set has: read as they stand, `!token-1!` of two fixtures would be
/// one token, and one user would get the answers of another. Other tools' files have no labels.
fn keep_labels_apart(numbers: &mut Renumbering, set: u32, entry: &mut Entry) {
    if entry.note.is_some() {
        numbers.in_source(set);
        numbers.exchange(&mut entry.exchange);
    }
}
