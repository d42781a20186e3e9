//! SIGHUP: a proxy reads the files of its certificates again.

use std::sync::Arc;

use super::{Format, listeners::warn_of_time, messages::error_chain, summary::event};
use crate::{
    contract::{BUILT_IN, Contract},
    metrics::Metrics,
    proxy::entry::tls::CertificateFiles,
    upstream::Upstream,
};

/// What can be read again, and where to say so.
#[derive(Debug)]
pub(super) struct Reload {
    /// The files of `--cert` and `--key`.
    pub(super) files: Option<CertificateFiles>,
    /// May have certificates from files of its own.
    pub(super) upstream: Arc<dyn Upstream>,
    /// Stays as it is.
    pub(super) contract: Arc<Contract>,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) format: Format,
}

impl Reload {
    /// Reads the files and says what came of it. What cannot be used changes nothing.
    pub(super) fn run(&self) {
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
        if !options.is_empty() {
            let said = format!("reloaded {}; new connections use them", options.join(" "));
            event(self.format, "reloaded", options, &said);
            self.count(true);
        } else if self.files.is_none() {
            let said = "SIGHUP: no certificate of this run comes from a file that can be read again";
            event(self.format, "reloaded", Vec::<String>::new(), said);
        }
        if self.contract.documents().iter().any(|document| document.name() != BUILT_IN) {
            let said = "the contract stays as it was at the start; restart contrail to change it";
            event(self.format, "contract", self.contract.hash(), said);
        }
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
