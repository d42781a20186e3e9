//! From a journal to a fixture that has proven itself.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use super::proof::{self, Gist};
use crate::{
    cli::{
        Failure, Format,
        summary::{Extra, event},
    },
    contract::{CheckOptions, Contract},
    pipeline,
    plural::plural,
    recording::{self, Check, FoldOptions, FoldSource, Folded, Journal, Keep, Place, Renew, Take, fold},
    redact::Redactor,
    report::Proof,
};

/// What makes a fixture of a journal, and proves it.
#[derive(Debug)]
pub(in crate::cli) struct Bench {
    /// The fixture.
    pub(in crate::cli) out: PathBuf,
    /// Transient answers to keep.
    pub(in crate::cli) keep: Vec<Keep>,
    /// Leave the upstream's origin as it is.
    pub(in crate::cli) keep_host: bool,
    /// How lines are shaped.
    pub(in crate::cli) format: Format,
    /// The contract in force.
    pub(in crate::cli) contract: Arc<Contract>,
    /// What takes secrets out.
    pub(in crate::cli) redactor: Arc<Redactor>,
    /// How exchanges are judged.
    pub(in crate::cli) options: CheckOptions,
}

impl Bench {
    /// Says that the last line of a left-over journal was torn, and dropped.
    pub(in crate::cli) fn say_torn(&self, journal: &Path, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let said = format!(
            "dropped a torn last line from {} ({}): contrail was killed while it wrote the exchange",
            journal.display(),
            plural(bytes, "byte")
        );
        event(self.format, "torn", bytes, &said);
    }

    /// Deals with the journal that a killed run left; whether the fixture holds something now that is to stay.
    pub(in crate::cli) fn recover(
        &self,
        journal: &mut Journal,
        entries: usize,
        earlier: bool,
    ) -> Result<bool, Failure> {
        let exchanges = plural(entries, "exchange");
        let mut filled = false;
        let said = if self.fold(journal, earlier, Renew::Nothing, true)?.nothing {
            format!("discarded {exchanges} of a left-over journal: no answer of the tenant is among them")
        } else {
            filled = true;
            format!("folded {exchanges} of a left-over journal into {}; it is marked unproven", self.out.display())
        };
        event(self.format, "recovered", entries, &said);
        journal.discard()?;
        Ok(filled)
    }

    /// Folds the journal into the fixture; `earlier` says that something is there already.
    pub(in crate::cli) fn fold(
        &self,
        journal: &Journal,
        earlier: bool,
        renew: Renew<'_>,
        unproven: bool,
    ) -> Result<Folded, Failure> {
        let new = if let Renew::Operations(list) = renew { Take::Only(list.to_vec()) } else { Take::All };
        let mut from = Vec::new();
        if earlier {
            from.push(FoldSource { paths: vec![self.har()?], take: Take::All });
        }
        from.push(FoldSource { paths: journal.segments(), take: new });
        let check = |exchange: &crate::exchange::Exchange| self.contract.check(exchange, &self.options);
        let today = recording::today();
        let options = FoldOptions {
            check: Some(Check { contract: self.contract.hash(), check: &check }),
            keep: &self.keep,
            keep_host: self.keep_host,
            unproven,
            journal: Some(journal),
            renews: Some(renew),
            ..FoldOptions::new(&self.redactor, &today)
        };
        Ok(fold(&from, &self.out, &options)?)
    }

    /// The fixture's HAR file.
    fn har(&self) -> Result<PathBuf, Failure> {
        Ok(Place::find(&self.out)?.har().to_path_buf())
    }

    /// The verdicts of what the fixture holds now, for [`Bench::prove`].
    pub(in crate::cli) fn verdicts(&self) -> Result<Vec<Gist>, Failure> {
        proof::verdicts(&self.har()?, &self.contract, &self.options)
    }

    /// Proves the fixture that was folded from `before` and `journals`; what is wrong with it, if anything.
    pub(in crate::cli) fn prove(
        &self,
        folded: &Folded,
        journals: &[PathBuf],
        before: Vec<Gist>,
    ) -> Result<Proof, Failure> {
        let problems =
            proof::prove(&self.out, &self.har()?, journals, before, &self.contract, &self.options, &self.redactor)?;
        let unproven =
            "still marked unproven: what a killed process saw cannot be scanned for (--overwrite starts anew)";
        Ok(Proof { good: problems.is_empty(), problems, note: folded.unproven.then(|| unproven.to_owned()) })
    }

    /// What the summary says about the fixture.
    pub(in crate::cli) fn extra(&self, folded: &Folded, trail: Extra) -> Extra {
        let mut extra: Extra = Vec::new();
        if !folded.transient.is_empty() {
            let list: Vec<String> =
                folded.transient.iter().map(|(status, count)| format!("{status} × {count}")).collect();
            extra.push(("transient answers left out (--keep keeps them)", list.join(", ").into()));
        }
        for (name, count) in [
            ("answers of contrail's own left out", folded.own_answers),
            ("entries of other operations left out", folded.not_taken),
            ("old entries replaced", folded.replaced),
            ("old entries that stay, because the tenant did not answer", folded.stayed),
            ("entries that are not whole", folded.incomplete),
        ] {
            if count > 0 {
                extra.push((name, count.into()));
            }
        }
        extra.extend(super::nothing::unanswered(folded));
        extra.push(("fixture", self.out.display().to_string().into()));
        extra.push(("entries", folded.entries.into()));
        extra.push(("changed", folded.changed.into()));
        extra.extend(trail);
        extra
    }
}

/// Closes a journal that has become a fixture, and removes it.
pub(in crate::cli) fn remove(journal: pipeline::SharedJournal) -> Result<(), Failure> {
    if let Ok(journal) = Arc::try_unwrap(journal) {
        journal.into_inner().unwrap_or_else(PoisonError::into_inner).remove()?;
    }
    Ok(())
}
