//! SIGHUP: a proxy reads the files of its certificates again.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use contrail_proxy::{entry::tls::CertificateFiles, metrics::Metrics, upstream::Upstream};

use super::{Format, listeners::warn_of_time, messages::error_chain, summary::event};

/// What can be read again, and where to say so.
#[derive(Debug)]
pub(super) struct Reload {
    /// The files of `--cert` and `--key`.
    pub(super) files: Option<CertificateFiles>,
    /// May have certificates from files of its own.
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) format: Format,
    /// The run is over: nothing changes any more, and nothing is printed.
    pub(super) ended: Mutex<bool>,
}

impl Reload {
    /// Begins a thread that reads the files once per message, so that no exchange waits for the disk or the console.
    pub(super) fn begin(self: &Arc<Self>) -> SyncSender<()> {
        // A message that waits stands for all signals that come meanwhile.
        let (asking, asked) = sync_channel(1);
        let reload = Arc::clone(self);
        let thread = thread::Builder::new().name("reload".to_owned());
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
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *ended {
            return;
        }
        let front = match &self.files {
            Some(files) => files.reload().map(|()| vec!["--cert", "--key"]).map_err(|error| error_chain(&error)),
            None => Ok(Vec::new()),
        };
        let (mut options, mut failed) = (Vec::new(), false);
        for reloaded in [front, self.upstream.reload_certificates()] {
            match reloaded {
                Ok(more) => options.extend(more),
                Err(error) => {
                    self.failed(&error);
                    failed = true;
                }
            }
        }
        if let Some(files) = self.files.as_ref().filter(|_| options.contains(&"--cert")) {
            warn_of_time(&files.certificate);
        }
        if !options.is_empty() {
            let said = format!("reloaded {}; new connections use them", options.join(" "));
            event(self.format, "reloaded", options, &said);
            self.count(true);
        } else if !failed {
            let said = "SIGHUP: no certificate of this run comes from a file that can be read again";
            event(self.format, "reloaded", options, said);
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
