//! Folds a journal into a fixture, and proves the fixture.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::plural::plural;
use contrail_pipeline as pipeline;
use contrail_recording::{
    self as recording, Check, FixturePath, FoldOptions, FoldSource, Folded, Journal, JournalContext, MatchRules, Prove,
    Renew, Renewal, SetAside, Staged, Take, Unrecorded, WriteError, fold,
};
use contrail_redact::Redactor;
use contrail_report::{Proof, Reason};

use super::{
    leftovers::Leftovers,
    proof::{self, Replayed, Verdicts},
};
use crate::cli::{
    Failure, Format,
    messages::{error_chain, quoted},
    nothing,
    options::keep::KeepArgs,
    progress::folding,
    summary::{Rows, event},
};

const NOT_FOLDED: &str = "NOT FOLDED into the fixture";
const HOLDS_SECRETS: &str = "the fixture would hold a secret";
const NOT_FINISHED: &str = "FOLDED, and not finished";

/// What makes a fixture of a journal, and proves it.
#[derive(Debug, Clone)]
pub(in crate::cli) struct FixtureBuilder {
    /// The fixture.
    pub(in crate::cli) out: PathBuf,
    /// What it keeps of the run.
    pub(in crate::cli) kept: KeepArgs,
    /// Rules for comparing requests, which the fixture is to hold.
    pub(in crate::cli) rules: MatchRules,
    /// How lines are shaped.
    pub(in crate::cli) format: Format,
    /// The contract in force.
    pub(in crate::cli) contract: Arc<Contract>,
    /// What takes secrets out.
    pub(in crate::cli) redactor: Arc<Redactor>,
    /// How exchanges are judged.
    pub(in crate::cli) options: CheckOptions,
    /// Whether requests that clients gave up are enough for a fixture.
    pub(in crate::cli) silence: bool,
}

/// The recording's journal, and what a killed run left in it.
pub(in crate::cli) struct Opened {
    pub(in crate::cli) journal: Journal,
    /// The killed run's journal, where `--overwrite` is to replace it.
    pub(super) leftovers: Option<Leftovers>,
    /// Exchanges of the killed run.
    pub(super) killed: usize,
    /// They were folded into the fixture.
    pub(in crate::cli) recovered: bool,
}

/// A journal that became a fixture, or changed none.
#[derive(Debug, Default)]
pub(in crate::cli) struct Proven {
    pub(in crate::cli) folded: Folded,
    /// The fixture's proof; `None` where nothing was written.
    pub(in crate::cli) proof: Option<Proof>,
    /// Requests that replay tells apart by their order only.
    pub(in crate::cli) by_order: usize,
}

/// Why a fold did not come to its end.
#[derive(Debug)]
pub(in crate::cli) enum FoldError {
    /// Nothing was replaced; the exchanges are in the journal.
    NotFolded(Failure),
    /// The new fixture would have held secrets, at these places. Nothing was replaced; the exchanges are in the
    /// journal.
    HoldsSecrets(Vec<String>),
    /// The fixture holds the exchanges; what failed came after that.
    Unfinished(WriteError),
}

impl From<Failure> for FoldError {
    fn from(failure: Failure) -> Self {
        Self::NotFolded(failure)
    }
}

impl From<WriteError> for FoldError {
    fn from(error: WriteError) -> Self {
        if error.is_committed() { Self::Unfinished(error) } else { Self::NotFolded(error.into()) }
    }
}

impl FoldError {
    /// Why the exit status is not 0.
    pub(in crate::cli) fn reason(&self) -> Reason {
        match self {
            Self::NotFolded(failure) => Reason::new("not-folded", NOT_FOLDED, error_chain(&**failure)),
            Self::HoldsSecrets(_) => Reason::shown("not-folded", HOLDS_SECRETS),
            Self::Unfinished(error) => Reason::new("not-finished", NOT_FINISHED, error_chain(error)),
        }
    }

    /// The proof that failed, if that is what it is.
    pub(in crate::cli) fn proof(&self) -> Option<Proof> {
        let Self::HoldsSecrets(problems) = self else { return None };
        Some(Proof { good: false, problems: problems.clone(), note: None, holds_secrets: true })
    }

    /// The journals that hold the exchanges still. One whose fixture would hold a secret gets another name, so that the
    /// next recording does not fold it; in a trail it stays.
    pub(in crate::cli) fn keep(&self, journal: &pipeline::SharedJournal, in_trail: bool) -> Vec<PathBuf> {
        let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(self, Self::HoldsSecrets(_))
            && !in_trail
            && let Ok(kept) = SetAside::Failed.put(journal.path())
        {
            return vec![kept];
        }
        journal.segments()
    }

    /// The lines for the summary: the state of the disk, and where the exchanges are, if any was written.
    pub(in crate::cli) fn rows(&self, journals: &[PathBuf]) -> Rows {
        let (state, still) = match self {
            Self::NotFolded(failure) => ((NOT_FOLDED, error_chain(&**failure)), "the exchanges are still in"),
            Self::HoldsSecrets(_) => ((NOT_FOLDED, HOLDS_SECRETS.to_owned()), "the exchanges are still in"),
            Self::Unfinished(error) => ((NOT_FINISHED, error_chain(error)), "the exchanges are also still in"),
        };
        let files = filled(journals);
        let mut rows: Rows = vec![(state.0, state.1.into())];
        rows.extend((!files.is_empty()).then(|| (still, files.into())));
        rows
    }
}

/// The journals that are not empty, as a shell reads them.
pub(super) fn filled(journals: &[PathBuf]) -> String {
    let is_empty = |path: &PathBuf| path.metadata().is_ok_and(|journal| journal.len() == 0);
    let files: Vec<String> = journals.iter().filter(|path| !is_empty(path)).map(|path| quoted(path)).collect();
    files.join(" ")
}

impl FixtureBuilder {
    /// Says that the last line of a left-over journal was torn, and dropped.
    pub(in crate::cli) fn report_torn(&self, journal: &Path, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let message = format!(
            "dropped a torn last line from {} ({}): contrail was killed while it wrote the exchange",
            journal.display(),
            plural(bytes, "byte")
        );
        event(self.format, "torn", bytes, &message);
    }

    /// Opens the fixture's journal; `existed` says that there is a fixture. What a killed run left is folded first, or
    /// put aside where `overwrite` is to replace it.
    pub(in crate::cli) fn open(
        &self,
        context: JournalContext,
        existed: bool,
        overwrite: bool,
    ) -> Result<Opened, Failure> {
        let path = Journal::path_for(&self.out);
        let (mut journal, mut leftover) = Journal::open(&path, context.clone())?;
        if leftover.entries == 0
            && let Some(leftovers) = Leftovers::find(&path)
        {
            leftovers.restore()?;
            (journal, leftover) = Journal::open(&path, context.clone())?;
        }
        self.report_torn(journal.path(), leftover.torn);
        let mut opened = Opened { journal, leftovers: None, killed: leftover.entries, recovered: false };
        if leftover.entries == 0 {
            return Ok(opened);
        }
        if overwrite {
            opened.leftovers = Some(Leftovers::set_aside(&path)?);
            (opened.journal, _) = Journal::open(&path, context)?;
            return Ok(opened);
        }
        let older = Leftovers::find(&path);
        let renew = match &leftover.renewal {
            Some(renewal) if leftover.ended => renewal.renew(),
            Some(renewal) if existed || older.is_some() => {
                return Err(self.unfinished(renewal, &opened.journal, leftover.entries));
            }
            _ if leftover.ended => Renew::Requests,
            _ => Renew::Missing,
        };
        opened.recovered = self.recover(&mut opened.journal, leftover.entries, existed, renew)?;
        if let Some(older) = older.filter(|_| opened.recovered && renew == Renew::Everything) {
            older.discard()?;
        }
        Ok(opened)
    }

    /// Why nothing is recorded beside what a killed run was to replace.
    pub(super) fn unfinished(&self, renewal: &Renewal, journal: &Journal, entries: usize) -> Failure {
        let option = if renewal.scopes.is_some() { "--replace" } else { "--overwrite" };
        let files: Vec<String> = journal.segments().iter().map(|path| quoted(path)).collect();
        format!(
            "{} holds {} of a killed `record {option}`, an incomplete replacement for entries of {}; record with --overwrite \
             to start over, or keep them with `contrail pack {} --out ANOTHER.har` and remove the journal",
            journal.path().display(),
            plural(entries, "exchange"),
            self.out.display(),
            files.join(" "),
        )
        .into()
    }

    /// Folds the journal that a killed run left; whether the fixture holds something now that is to stay.
    fn recover(&self, journal: &mut Journal, entries: usize, earlier: bool, renew: Renew<'_>) -> Result<bool, Failure> {
        let exchanges = plural(entries, "exchange");
        let mut filled = false;
        let folded = self.fold(journal, earlier, renew, None)?;
        if let Some(unrecorded) = &folded.unrecorded {
            event(self.format, "unrecorded", unrecorded.exchanges, &unrecorded.sentence());
        }
        let message = if folded.nothing {
            format!("discarded {exchanges} of a left-over journal: no answer of the tenant is among them")
        } else {
            filled = true;
            format!("folded {exchanges} of a left-over journal into {}; it is marked unproven", self.out.display())
        };
        event(self.format, "recovered", entries, &message);
        journal.discard()?;
        Ok(filled)
    }

    /// Folds the journal into the fixture, which proves itself before it is put into its place. `earlier` says that
    /// something is there already, and `before` are the [verdicts](Self::verdicts) of that.
    pub(in crate::cli) fn fold_and_prove(
        &self,
        journal: &Journal,
        earlier: bool,
        renew: Renew<'_>,
        before: &Verdicts,
    ) -> Result<Proven, FoldError> {
        let (found, secrets) = (RefCell::new(None), RefCell::new(Vec::new()));
        let journals = journal.segments();
        let prove = |staged: &Staged| {
            let held = proof::secrets(staged, &self.redactor).map_err(WriteError::Check)?;
            if !held.is_empty() {
                *secrets.borrow_mut() = held;
                return Err(WriteError::Check(HOLDS_SECRETS.into()));
            }
            let problems = proof::prove(staged, &journals, before, &self.contract, &self.options);
            *found.borrow_mut() = Some(problems.map_err(WriteError::Check)?);
            Ok(())
        };
        let place = FixturePath::find(&self.out)?;
        let is_first = !place.is_taken();
        let folded = self.fold(journal, earlier, renew, Some(&prove));
        let secrets = secrets.take();
        if !secrets.is_empty() {
            return Err(FoldError::HoldsSecrets(secrets));
        }
        let folded = folded?;
        if is_first && !folded.nothing {
            recording::write_git_files(&place);
        }
        let unproven = "still marked unproven: contrail cannot scan for secrets that a killed process saw (--overwrite starts over)";
        let note = folded.unproven.then(|| unproven.to_owned());
        let missing = folded.unrecorded.as_ref().map(Unrecorded::sentence);
        let Some(Replayed { problems, by_order }) = found.take() else {
            return Ok(Proven { folded, ..Proven::default() });
        };
        let problems: Vec<String> = problems.into_iter().chain(missing).collect();
        let proof = Some(Proof { good: problems.is_empty(), problems, note, holds_secrets: false });
        Ok(Proven { folded, proof, by_order })
    }

    /// Folds the journal into the fixture, which is marked `unproven` without a `prove`.
    fn fold(
        &self,
        journal: &Journal,
        earlier: bool,
        renew: Renew<'_>,
        prove: Option<&Prove<'_>>,
    ) -> Result<Folded, WriteError> {
        let new = if let Renew::Of(list) = renew { Take::Only(list.to_vec()) } else { Take::All };
        let mut from = Vec::new();
        if earlier {
            from.push(FoldSource { paths: vec![self.har()?], take: Take::All });
        }
        from.push(FoldSource { paths: journal.segments(), take: new });
        let check = |exchange: &contrail_exchange::Exchange| self.contract.check(exchange, &self.options);
        let (today, progress) = (recording::today(), folding());
        let options = FoldOptions {
            check: Some(Check { contract: self.contract.hash(), check: &check }),
            keep: &self.kept.keep,
            keep_host: self.kept.keep_host,
            keep_timings: self.kept.keep_timings,
            rules: Some(&self.rules),
            unproven: prove.is_none(),
            journal: Some(journal),
            renews: Some(renew),
            silence: self.silence,
            prove,
            progress: Some(&progress),
            ..FoldOptions::new(&self.redactor, &today)
        };
        fold(&from, &self.out, &options)
    }

    /// The fixture's HAR file.
    fn har(&self) -> Result<PathBuf, WriteError> {
        Ok(FixturePath::find(&self.out)?.har().to_path_buf())
    }

    /// The requests that the fixture holds now, each with the number of its entries.
    pub(super) fn requests(&self) -> Result<BTreeMap<String, usize>, Failure> {
        let mut requests = BTreeMap::new();
        for entry in recording::open(&self.har()?)? {
            let request = entry?.exchange.request;
            *requests.entry(format!("{} {}", request.method, request.target.named_path())).or_default() += 1;
        }
        Ok(requests)
    }

    /// The verdicts of what the fixture holds now, for [`FixtureBuilder::fold_and_prove`].
    pub(in crate::cli) fn verdicts(&self) -> Result<Verdicts, Failure> {
        proof::verdicts(&self.har()?, &self.contract, &self.options)
    }

    /// The lines for the summary about the fixture.
    pub(in crate::cli) fn rows(&self, proven: &Proven, trail: Rows) -> Rows {
        let Proven { folded, by_order, .. } = proven;
        let mut rows: Rows = Vec::new();
        if !folded.transient.is_empty() {
            let list: Vec<String> =
                folded.transient.iter().map(|(status, count)| format!("{status} × {count}")).collect();
            rows.push(("transient answers left out (--keep keeps them)", list.join(", ").into()));
        }
        for (name, count) in [
            ("answers of contrail's own left out", folded.own_answers),
            ("entries of other operations left out", folded.not_taken),
            ("old entries replaced", folded.replaced),
            ("old entries recorded again without a change", folded.equal),
            ("old entries that stay, because the run was cut short or failed", folded.spared),
            ("old entries that stay, because the tenant did not answer", folded.stayed),
            ("entries that are not whole", folded.incomplete),
            (
                "requests that differ from another one in a secret only; replay answers them in recorded order",
                *by_order,
            ),
        ] {
            if count > 0 {
                rows.push((name, count.into()));
            }
        }
        rows.extend(nothing::unanswered(folded).map(|why| nothing::not_recorded_anew(&why)));
        rows.push(("fixture", self.out.display().to_string().into()));
        rows.push(("entries", folded.entries.into()));
        rows.push(("changed", folded.changed.into()));
        rows.extend(trail);
        rows
    }
}

/// Closes a journal that has become a fixture, and removes it. Returns the line for the summary where
/// that fails.
pub(in crate::cli) fn remove(journal: pipeline::SharedJournal) -> Rows {
    let Ok(journal) = Arc::try_unwrap(journal) else { return Rows::new() };
    match journal.into_inner().unwrap_or_else(PoisonError::into_inner).remove() {
        Ok(()) => Rows::new(),
        Err(error) => {
            let hint = "the next start there drops it, since its exchanges need no fold any more";
            vec![("the journal is left", format!("{}; {hint}", error_chain(&error)).into())]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn said_of(error: &FoldError) -> Vec<String> {
        let rows = error.rows(&[PathBuf::from("a b.journal")]);
        rows.into_iter().map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or_default())).collect()
    }

    #[test]
    fn a_failed_fold_says_whether_the_fixture_holds_the_exchanges() {
        let full = || WriteError::Io { doing: "write", path: "fx".into(), error: io::ErrorKind::StorageFull.into() };
        assert_eq!(
            said_of(&full().into()),
            [
                "NOT FOLDED into the fixture: cannot write `fx`: no storage space",
                "the exchanges are still in: 'a b.journal'"
            ]
        );
        let left = "some of its files wait";
        let late = WriteError::Unfinished { har: "fx/fx.har".into(), left, error: Box::new(full()) };
        assert_eq!(
            said_of(&late.into()),
            [
                "FOLDED, and not finished: `fx/fx.har` holds the new content, but some of its files wait: cannot write \
                 `fx`: no storage space",
                "the exchanges are also still in: 'a b.journal'"
            ]
        );
    }
}
