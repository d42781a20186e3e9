//! The command line: one file per subcommand, exit codes, and the printer.
//!
//! Exit status everywhere: 0 nothing wrong; 1 violations or differences (gaps too, under `--deny gaps`); 2 could not do
//! its work; 3 replay misses. Where several apply: 2, then 3, then 1.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use tokio::signal::unix::{SignalKind, signal};

use self::messages::complain;
pub use self::{
    options::{ContractArgs, Format},
    outcome::{CommandStatus, Failure, Outcome},
    parse::command,
};
use crate::config::Sources;

pub mod audit;
pub mod ca;
pub mod completions;
pub mod contract;
mod control;
pub mod coverage;
pub mod demo;
pub mod diff;
mod env_file;
mod environment;
pub mod explain;
pub mod export;
mod help;
pub mod ignore;
pub mod import;
pub mod inspect;
mod kinds;
pub mod learn;
pub mod listeners;
mod log;
pub mod merge;
mod messages;
mod metrics;
mod namespace;
mod nothing;
mod open_files;
pub mod options;
mod outbound;
mod outcome;
pub mod pack;
mod parse;
mod paths;
pub mod printer;
mod progress;
pub mod record;
pub mod redact;
mod reload;
mod remote;
pub mod replay;
mod report_files;
pub mod run;
pub mod sandbox;
pub mod scan;
pub mod settings;
pub mod show;
mod signals;
mod sources;
mod summary;
mod survey;
mod trails;
pub mod unused;
pub mod verify;
pub mod watch;
mod wrap;

/// Parses the arguments, runs the command, prints the error chain, and gives the exit status.
#[must_use]
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // The message may quote what a peer sent, secrets included; the place never does.
        let place = panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let _ = writeln!(io::stderr(), "contrail: internal error{place}; please report it");
    }));
    completions::answer();
    // If this fails, a file size limit kills the process, as it does any other; that is no reason not to start.
    let _ = survive_size_limits();
    let (cli, sources) = match parse::parse() {
        Ok(parsed) => parsed,
        Err(status) => return status,
    };
    if let Err(wrong) = log::start(std::env::var(log::VARIABLE).ok().as_deref()) {
        return complain(&*Failure::from(wrong), &Sources::default());
    }
    match cli.run() {
        Ok(outcome) => ExitCode::from(outcome.status()),
        Err(error) => complain(&*error, &sources),
    }
}

/// Lets a write beyond a file size limit (`ulimit -f`) fail, as on a full disk, instead of ending the process. The
/// handler outlives its runtime and is not inherited by commands that contrail runs.
fn survive_size_limits() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _in_it = runtime.enter();
    signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)).map(drop)
}
