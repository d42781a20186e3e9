//! `--record-missing`: what was not recorded is asked of the tenant, and added to the fixture.
//!
//! The one exception to "replay opens no socket": it prints that, and CI refuses it unless it is forced.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use contrail_contract::CheckOptions;
use contrail_pipeline::{self as pipeline, Outcome, SharedJournal};
use contrail_recording::{FixturePath, Journal, JournalContext, MatchRules, Renew};
use contrail_report::{Proof, Reason};

use super::{args::Args, terms::Terms};
use crate::cli::{
    Failure,
    environment::ci,
    nothing,
    options::{
        keep::KeepArgs,
        limits::ProxyArgs,
        upstream::{Ready, UpstreamArgs},
    },
    outbound::{OutboundPolicy, UpstreamSite},
    record::{FixtureBuilder, FoldError, Opened, remove, stoppable},
    run::{ByOrigin, RunEnd},
    summary::{Rows, event},
};

/// What is being recorded beside the replay.
#[derive(Debug)]
pub(super) struct Missing {
    ready: Ready,
    outbound: OutboundPolicy,
    builder: FixtureBuilder,
    path: PathBuf,
    journal: SharedJournal,
    /// The fixture is there already.
    earlier: bool,
}

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct MissingOutcome {
    pub(super) rows: Rows,
    /// The proof of the fixture, if something was added to it.
    pub(super) proof: Option<Proof>,
    /// What was missing and could not be recorded.
    pub(super) undone: Option<Reason>,
}

impl Missing {
    /// Opens the journal; a left-over one is folded first.
    pub(super) fn begin(
        args: &Args,
        upstream: &UpstreamArgs,
        terms: &Terms,
        options: &CheckOptions,
    ) -> Result<Self, Failure> {
        if let Some(value) = ci().filter(|_| !args.missing.force) {
            let why = format!("--record-missing reaches the network, and this is CI (CI={value})");
            return Err(format!("{why}; --force allows it").into());
        }
        let [fixture] = args.fixtures.as_slice() else {
            return Err("--record-missing adds to one fixture; name one".into());
        };
        let place = FixturePath::prepare(fixture)?;
        let ready = upstream.ready(&args.proxy, &terms.contract)?;
        let builder = FixtureBuilder {
            out: fixture.clone(),
            kept: KeepArgs::default(),
            rules: MatchRules::default(),
            format: args.judge.format,
            contract: Arc::clone(&terms.contract),
            redactor: Arc::clone(&terms.redactor),
            options: options.clone(),
            silence: false,
        };
        let context = JournalContext { upstream: ready.origin.as_str().into(), contract: terms.contract.hash().into() };
        let path = Journal::path_for(fixture);
        let existed = place.is_taken();
        let Opened { journal, recovered, .. } = builder.open(context, existed, false)?;
        let earlier = existed || recovered;
        Ok(Self {
            ready,
            outbound: upstream.outbound(),
            builder,
            path,
            journal: Arc::new(Mutex::new(journal)),
            earlier,
        })
    }

    pub(super) fn journal(&self) -> Box<dyn pipeline::Journal> {
        Box::new(Arc::clone(&self.journal))
    }

    /// The upstreams, which are asked for what was not recorded.
    pub(super) fn upstreams(&self) -> ByOrigin {
        self.ready.by_origin()
    }

    pub(super) fn sites(&self) -> &[UpstreamSite] {
        &self.ready.sites
    }

    pub(super) fn outbound(&self) -> OutboundPolicy {
        self.outbound.clone()
    }

    /// Says that this replay is not confined to the recording.
    pub(super) fn print_start(&self, proxy: &ProxyArgs) {
        let (origin, fixture) = (&self.ready.origin, self.builder.out.display());
        let said =
            format!("contrail forwards requests that {fixture} lacks to {origin}, and records them (--record-missing)");
        event(self.builder.format, "record_missing", origin.as_str(), &said);
        self.ready.introduce(proxy, self.builder.format);
    }

    /// What a command is given to be a client of the embedded tenant.
    pub(super) fn for_command(&self, proxy: &ProxyArgs) -> Vec<(&'static str, String)> {
        self.ready.for_command(proxy, &self.builder.redactor)
    }

    /// Folds what was recorded into the fixture. Where no answer of the tenant was, the fixture stays as it is.
    pub(super) fn end(self, ran: Option<&RunEnd>, outcome: &Outcome) -> MissingOutcome {
        let left = [self.path.clone()];
        self.fold(ran, outcome).unwrap_or_else(|failure| {
            let error = FoldError::from(failure);
            MissingOutcome { rows: error.rows(&left), undone: Some(error.reason()), ..MissingOutcome::default() }
        })
    }

    fn fold(self, ran: Option<&RunEnd>, outcome: &Outcome) -> Result<MissingOutcome, Failure> {
        let written = self.path.metadata().is_ok_and(|journal| journal.len() > 0);
        if !written && self.earlier || ran.is_none() && !self.earlier {
            let mut rows: Rows = vec![("added", "nothing".into())];
            rows.extend(remove(self.journal));
            return Ok(MissingOutcome { rows, ..MissingOutcome::default() });
        }
        let _stoppable = stoppable(&self.path);
        let before = if self.earlier { self.builder.verdicts()? } else { BTreeMap::new() };
        let folded = {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.ensure()?;
            self.builder.fold_and_prove(&journal, self.earlier, Renew::Nothing, &before)
        };
        let proven = match folded {
            Ok(proven) => proven,
            Err(error) => {
                let (rows, proof) = (error.rows(&error.keep(&self.journal, false)), error.proof());
                let undone = proof.is_none().then(|| error.reason());
                return Ok(MissingOutcome { rows, proof, undone });
            }
        };
        if proven.folded.nothing {
            let fixture = self.builder.out.display().to_string();
            let ran = ran.cloned().unwrap_or_default();
            let cause = nothing::cause(outcome, &proven.folded, &ran);
            let mut rows = nothing::lines(&fixture, self.earlier, &cause);
            rows.extend(remove(self.journal));
            return Ok(MissingOutcome { rows, undone: Some(nothing::reason(cause)), ..MissingOutcome::default() });
        }
        let rows = self.builder.rows(&proven, remove(self.journal));
        Ok(MissingOutcome { rows, proof: proven.proof, undone: None })
    }
}
