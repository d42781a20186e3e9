//! SIGHUP: a proxy reads the files of its certificates and of its contract again.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use super::{
    Failure, Format,
    listeners::warn_of_time,
    messages::error_chain,
    options::{
        ContractArgs,
        contract::warn,
        judge::{JudgeArgs, known_operations},
    },
    summary::event,
};
use crate::{
    contract::{Contract, model::ParameterIn},
    metrics::Metrics,
    pipeline::Pipeline,
    plural::plural,
    proxy::entry::tls::CertificateFiles,
    upstream::{Upstream, irregular},
};

/// Stack of the thread that compiles a contract: what the main thread has, which compiled the first one.
const STACK: usize = 8 << 20;

/// Whether SIGHUP has a run read its contract again.
#[derive(Debug, Clone)]
pub enum ContractReload {
    /// No, it is built in.
    BuiltIn,
    /// No, since something that this run makes is about one contract.
    Refused(&'static str),
    /// From these files.
    Files {
        /// Which they are.
        files: ContractArgs,
        /// The operations that the contract must have (`--only`).
        only: Vec<String>,
    },
}

impl ContractReload {
    /// Of a run with these options; `records` if it makes a fixture.
    pub(super) fn of(judge: &JudgeArgs, only: &[String], records: bool) -> Self {
        if judge.contract.is_built_in() {
            Self::BuiltIn
        } else if records {
            Self::Refused("a recording keeps its contract; SIGHUP reloads certificates only")
        } else if !judge.report.is_empty() {
            Self::Refused("a run with --report keeps its contract; SIGHUP reloads certificates only")
        } else {
            Self::Files { files: judge.contract.clone(), only: only.to_vec() }
        }
    }
}

/// What can be read again, and where to say so.
#[derive(Debug)]
pub(super) struct Reload {
    /// The files of `--cert` and `--key`.
    pub(super) files: Option<CertificateFiles>,
    /// May have certificates from files of its own.
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) contract: ContractReload,
    /// The contract of the start, by which secrets are redacted.
    pub(super) start: Arc<Contract>,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) format: Format,
    /// The run is over: nothing changes any more, and nothing is printed.
    pub(super) ended: Mutex<bool>,
}

impl Reload {
    /// Begins a thread that reads the files once per message, since a contract takes a while to compile.
    pub(super) fn begin(self: &Arc<Self>) -> SyncSender<()> {
        // A message that waits stands for all signals that come meanwhile.
        let (asking, asked) = sync_channel(1);
        let reload = Arc::clone(self);
        let thread = thread::Builder::new().name("reload".to_owned()).stack_size(STACK);
        let spawned = thread.spawn(move || asked.iter().for_each(|()| reload.run()));
        if let Err(error) = spawned {
            self.failed(&format!("SIGHUP: cannot start a thread: {error}"));
        }
        asking
    }

    /// The run is over.
    pub(super) fn end(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Reads the files and says what came of it. What cannot be used changes nothing.
    fn run(&self) {
        let contract = match &self.contract {
            ContractReload::Files { files, only } => Some((files, self.compiled(files, only))),
            _ => None,
        };
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *ended {
            return;
        }
        let mut succeeded = self.certificates();
        match contract {
            Some((files, Ok(contract))) => {
                self.replace(files, contract);
                succeeded = true;
            }
            Some((_, Err(error))) => self.failed(&error_chain(&*error)),
            None => {}
        }
        match self.contract {
            ContractReload::Refused(why) => event(self.format, "contract", self.start.hash(), why),
            ContractReload::BuiltIn if !succeeded && self.files.is_none() => {
                let said =
                    "SIGHUP: no certificate and no contract of this run comes from a file that can be read again";
                event(self.format, "reloaded", Vec::<String>::new(), said);
            }
            _ => {}
        }
        if succeeded {
            self.count(true);
        }
    }

    /// Reads the certificates again; whether there were some that can be used.
    fn certificates(&self) -> bool {
        let front = match &self.files {
            Some(files) => files.reload().map(|()| vec!["--cert", "--key"]).map_err(|error| error_chain(&error)),
            None => Ok(Vec::new()),
        };
        let mut options = Vec::new();
        for reloaded in [front, self.upstream.reload_certificates()] {
            match reloaded {
                Ok(more) => options.extend(more),
                Err(error) => self.failed(&error),
            }
        }
        if let Some(files) = self.files.as_ref().filter(|_| options.contains(&"--cert")) {
            warn_of_time(&files.certificate);
        }
        if options.is_empty() {
            return false;
        }
        let said = format!("reloaded {}; new connections use them", options.join(" "));
        event(self.format, "reloaded", options, &said);
        true
    }

    /// The contract that the files hold now; `None` if it is the one in force.
    fn compiled(&self, files: &ContractArgs, only: &[String]) -> Result<Option<Arc<Contract>>, Failure> {
        let mut all = files.contract.iter().chain(&files.overlay);
        if let Some((file, why)) = all.find_map(|file| Some((file, irregular(file)?))) {
            return Err(format!("cannot read `{}` again: {why}", file.display()).into());
        }
        let contract = files.load_quietly()?;
        if contract.hash() == self.pipeline.contract().hash() {
            return Ok(None);
        }
        known_operations(&contract, "--only", only)?;
        let knows = |place, name: &str| {
            let is_same = |held: &str| held == name || place == ParameterIn::Header && held.eq_ignore_ascii_case(name);
            place == ParameterIn::Cookie || self.start.api_keys().any(|(at, held)| at == place && is_same(held))
        };
        if let Some((_, name)) = contract.api_keys().find(|(place, name)| !knows(*place, name)) {
            let why = "and redaction knows only those of the start; restart contrail to use the new contract";
            return Err(format!("the new contract declares the API key `{name}`, {why}").into());
        }
        contract.prepare();
        Ok(Some(contract))
    }

    /// Puts a contract into force and says what changed.
    fn replace(&self, files: &ContractArgs, contract: Option<Arc<Contract>>) {
        let before = self.pipeline.contract();
        let Some(contract) = contract else {
            return event(
                self.format,
                "contract",
                before.hash(),
                &format!("read {files} again: the contract is unchanged"),
            );
        };
        warn(&contract);
        let (was, is) = (before.operations().count(), contract.operations().count());
        let unusable = contract.documents().iter().map(|document| document.unusable_places().count()).sum::<usize>();
        let hash = contract.hash();
        let said = format!(
            "reloaded {files}: {} ({was} before), {}; exchanges that end from now on are judged by it (sha256 {hash})",
            plural(is as u64, "operation"),
            plural(unusable as u64, "unusable place"),
        );
        self.pipeline.replace_contract(Arc::clone(&contract));
        event(self.format, "contract", hash, &said);
    }

    fn failed(&self, error: &str) {
        let alarm = format!("{error}; what was read before stays in force");
        event(self.format, "alarm", alarm.as_str(), &format!("ALARM: {alarm}"));
        self.count(false);
    }

    fn count(&self, succeeded: bool) {
        if let Some(metrics) = &self.metrics {
            metrics.reloaded(succeeded);
        }
    }
}
