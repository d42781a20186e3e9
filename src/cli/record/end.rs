//! The end of a recording: the journal becomes the fixture and goes, or stays where the fixture could not be replaced.

use std::{collections::BTreeMap, path::Path, sync::PoisonError};

use contrail_exchange::plural::plural;
use contrail_pipeline::{self as pipeline, SharedJournal};
use contrail_recording::{Folded, Journal, Renew, SetAside, is_single_file};
use contrail_report::{Proof, Reason};
use serde_json::Value;

use super::{
    args::{Args, renewal, replaces},
    builder::{FixtureBuilder, FoldError, Proven, filled, remove},
    leftovers::Leftovers,
};
use crate::cli::{
    CommandStatus, Failure,
    messages::{error_chain, quoted},
    nothing,
    run::RunEnd,
    signals::EndsAtOnce,
    summary,
};

/// What was there before the recording.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// There is a fixture already, be it that of the left-over journal.
    pub(super) fixture: bool,
    /// A left-over journal was folded into it.
    pub(super) recovered: bool,
    /// The killed run's journal, where `--overwrite` is to replace it.
    pub(super) leftovers: Option<Leftovers>,
    /// Exchanges of the killed run.
    pub(super) killed: usize,
}

impl Before {
    /// Puts the killed run's journal back.
    pub(super) fn restore(self) -> Result<(), Failure> {
        if let Some(leftovers) = self.leftovers {
            leftovers.restore()?;
        }
        Ok(())
    }
}

/// What became of a recording.
#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) rows: summary::Rows,
    pub(super) next: Option<String>,
    /// The proof of the fixture, if there is one.
    pub(super) proof: Option<Proof>,
    /// What was to be recorded and is not in the fixture.
    pub(super) undone: Vec<Reason>,
    /// What became of what was there before.
    fate: Fate,
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

impl End {
    /// The end could not be brought about.
    pub(super) fn failed(failure: &(dyn std::error::Error + 'static)) -> Self {
        Self { undone: vec![Reason::new("failed", error_chain(failure), "")], fate: Fate::NotFolded, ..Self::default() }
    }

    /// Removes the killed run's journal if the new recording replaced it, else puts it back.
    pub(super) fn clear_leftovers(mut self, before: Before) -> Self {
        let Some(leftovers) = before.leftovers else { return self };
        match cleared(leftovers, self.fate, before.killed) {
            Ok(rows) => self.rows.extend(rows),
            Err(failure) => self.undone.push(Reason::new("failed", error_chain(&*failure), "")),
        }
        self
    }
}

/// See [`End::clear_leftovers`]; the lines for the summary.
fn cleared(leftovers: Leftovers, fate: Fate, killed: usize) -> Result<summary::Rows, Failure> {
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

/// A recording that is being ended.
pub(super) struct Ending<'a> {
    pub(super) args: &'a Args,
    pub(super) builder: &'a FixtureBuilder,
    pub(super) before: &'a Before,
    pub(super) ran: &'a RunEnd,
    pub(super) outcome: &'a pipeline::Outcome,
}

impl Ending<'_> {
    /// Folds the journal, proves the fixture, and removes the journal. `trail` are the lines about the trail.
    pub(super) fn end(&self, journal: SharedJournal, trail: summary::Rows) -> End {
        let args = self.args;
        if replaces(args)
            && self.before.fixture
            && self.outcome.counts.exchanges > 0
            && let Some(ended) = self.ran.cut_short()
        {
            return self.spare(journal, ended, trail).unwrap_or_else(|failure| End::failed(&*failure));
        }
        let replaced = if args.overwrite && self.before.fixture {
            self.builder.requests().unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        let mut end = match self.fold(&journal) {
            Ok(Proven { folded, .. }) if folded.nothing => self.nothing(&folded, trail),
            Ok(proven) => self.proven(proven, replaced, trail),
            Err(error) => return self.not_folded(&error, &journal, trail),
        };
        end.rows.extend(alarms(&journal));
        end.rows.extend(remove(journal));
        end
    }

    fn fold(&self, journal: &SharedJournal) -> Result<Proven, FoldError> {
        let (args, counts) = (self.args, &self.outcome.counts);
        if counts.exchanges == 0 {
            return Ok(Proven { folded: Folded { nothing: true, ..Folded::default() }, ..Proven::default() });
        }
        let _stoppable = stoppable(journal.lock().unwrap_or_else(PoisonError::into_inner).path());
        // Where the tenant answered every request, nothing stays of what --overwrite replaces.
        let unanswered = !counts.answered.is_empty() || counts.without_answer > 0;
        let earlier = self.before.fixture && (unanswered || !args.overwrite);
        let before = match earlier.then(|| self.builder.verdicts()).transpose() {
            // What is to be replaced may be broken.
            Err(_) if args.overwrite => BTreeMap::new(),
            verdicts => verdicts?.unwrap_or_default(),
        };
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.ensure().map_err(Failure::from)?;
        // What was cut short replaces nothing, also where its fold is killed and the next start folds it.
        let renew = match renewal(args) {
            Renew::Requests if self.ran.cut_short().is_some() => Renew::Missing,
            renew => renew,
        };
        if renew != Renew::Missing {
            journal.ended()?;
        }
        self.builder.fold_and_prove(&journal, earlier, renew, &before)
    }

    /// The tenant gave no answer.
    fn nothing(&self, folded: &Folded, trail: summary::Rows) -> End {
        if nothing::is_allowed(&self.args.judge.policy, self.outcome) {
            let rows = [vec![("added", "nothing".into())], trail].concat();
            return End { rows, fate: Fate::Nothing, ..End::default() };
        }
        let fixture = self.builder.out.display().to_string();
        let cause = nothing::cause(self.outcome, folded, self.ran);
        let mut rows = nothing::lines(&fixture, self.builder.out.exists(), &cause);
        rows.extend(trail);
        // A start without a command may be there for what a killed run left.
        let fails = !self.before.recovered || !self.args.proxy.command.is_empty();
        let undone = fails.then(|| nothing::reason(cause)).into_iter().collect();
        End { rows, undone, fate: Fate::Nothing, ..End::default() }
    }

    /// The fixture is in its place. `replaced` are the requests that it held before `--overwrite`.
    fn proven(&self, proven: Proven, replaced: BTreeMap<String, usize>, trail: summary::Rows) -> End {
        let mut rows = self.builder.rows(&proven, trail);
        let Proven { folded, proof, .. } = proven;
        rows.extend(failed(&self.builder.out));
        let dropped = dropped(replaced, &self.builder.requests().unwrap_or_default());
        if dropped > 0 {
            rows.push(("entries of the old fixture that are not in this one", dropped.into()));
        }
        let good = proof.as_ref().is_some_and(|proof| proof.good);
        End {
            rows,
            next: good.then(|| self.replay("")),
            proof,
            undone: nothing::unanswered(&folded).map(|why| nothing::not_anew(&why)).into_iter().collect(),
            fate: Fate::Replaced,
        }
    }

    /// The command that replays the fixture, which is named after this option.
    pub(super) fn replay(&self, option: &str) -> String {
        let (fixture, contract) = (quoted(&self.builder.out), self.args.judge.contract.command_line());
        // A client that calls it by its address reaches it directly unless replay knows the address. A host is one with a
        // name by this only.
        let upstreams = self.args.upstream.command_line(|name, origin| name.is_some() || origin.is_loopback());
        format!("contrail replay {option}{fixture}{upstreams}{contract}")
    }

    /// The exchanges are still in the journal.
    fn not_folded(&self, error: &FoldError, journal: &SharedJournal, trail: summary::Rows) -> End {
        let left = error.keep(journal, self.args.trail.trail.is_some());
        let mut rows = error.rows(&left);
        let proof = error.proof();
        // A failed proof is a reason of its own.
        let undone = if proof.is_some() { Vec::new() } else { vec![error.reason()] };
        rows.extend(trail);
        if let FoldError::Unfinished(_) = error {
            return End { rows, undone, ..End::default() };
        }
        let files = filled(&left);
        let next = if files.is_empty() {
            "remove the cause, then record again".to_owned()
        } else {
            // A trail can be packed as a whole folder.
            let source = self.args.trail.folder().map_or(files, |folder| quoted(&folder));
            format!("remove the cause, then contrail pack {source} --out ANOTHER.har")
        };
        End { rows, next: Some(next), proof, undone, fate: Fate::NotFolded }
    }

    /// Keeps the old fixture, since the command was cut short, and the new recording beside it.
    fn spare(&self, journal: SharedJournal, ended: CommandStatus, trail: summary::Rows) -> Result<End, Failure> {
        let args = self.args;
        let why =
            if ended.interrupted { "contrail was stopped while the command ran".to_owned() } else { ended.in_words() };
        let option = if args.overwrite { "--overwrite" } else { "--replace" };
        let why = format!("{why}, so {option} replaced nothing");
        let out = &self.builder.out;
        let fixture = format!("{}, unchanged", out.display());
        let mut rows: summary::Rows = vec![nothing::not_recorded_anew(&why), ("fixture", fixture.into())];
        rows.extend(alarms(&journal));
        if args.trail.trail.is_some() {
            rows.extend(remove(journal));
        } else {
            let path = journal.lock().unwrap_or_else(PoisonError::into_inner).path().to_owned();
            let kept = SetAside::Failed.put(&path)?;
            rows.push(("the new recording is in", kept.display().to_string().into()));
            // No command takes single operations from a journal.
            if args.overwrite {
                let (command, fixture) = (if is_single_file(out) { "pack" } else { "unpack" }, quoted(out));
                let force = format!("contrail {command} {} --out {fixture} --overwrite", quoted(&kept));
                rows.push(("to replace the fixture all the same", force.into()));
            }
        }
        rows.extend(trail);
        Ok(End { rows, undone: vec![nothing::not_anew(&why)], fate: Fate::Nothing, ..End::default() })
    }
}

/// A fold that is stopped leaves the journal, as one that is killed does.
pub(in crate::cli) fn stoppable(journal: &Path) -> EndsAtOnce {
    let journal = quoted(journal);
    EndsAtOnce::new(format!(
        "stopped before the exchanges were in the fixture; they are in {journal}, and the next `contrail record` adds \
         them"
    ))
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

/// What happened to the journal and is not printed yet.
fn alarms(journal: &SharedJournal) -> Option<(&'static str, Value)> {
    let alarms = journal.lock().unwrap_or_else(PoisonError::into_inner).alarms();
    (!alarms.is_empty()).then(|| ("ALARM", alarms.join("; ").into()))
}
