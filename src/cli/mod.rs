//! The command line: one file per subcommand, exit codes, and the printer.
//!
//! Exit status everywhere: 0 nothing wrong; 1 violations or differences (gaps too, under `--deny gaps`); 2 could not do
//! its work; 3 replay misses. Where several apply: 2, then 3, then 1.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use clap::{FromArgMatches as _, Parser, Subcommand, parser::ValueSource};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    config::{self, Completed},
    contract::{Contract, ContractError},
    report::Title,
    visible::visible,
};

pub mod audit;
pub mod ca;
pub mod contract;
pub mod demo;
pub mod diff;
mod environment;
pub mod explain;
pub mod import;
pub mod listeners;
mod log;
mod open_files;
pub mod pack;
mod policy;
pub mod printer;
pub mod record;
pub mod redact;
mod refold;
pub mod replay;
mod report_files;
pub mod sandbox;
pub mod scan;
pub mod serve;
mod summary;
mod values;
pub mod verify;
pub mod watch;
mod wrap;

/// A verifying, recording and replaying proxy between API clients and a real tenant
#[derive(Debug, Parser)]
#[command(name = "contrail", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Record(record::Args),
    Watch(watch::Args),
    Replay(replay::Args),
    Verify(verify::Args),
    Audit(audit::Args),
    Diff(diff::Args),
    Contract(contract::Args),
    Explain(explain::Args),
    Scan(scan::Args),
    Redact(redact::Args),
    Import(import::Args),
    Pack(pack::PackArgs),
    Unpack(pack::UnpackArgs),
    Sandbox(sandbox::Args),
    Ca(ca::Args),
}

/// What a command came to; the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Violations or differences (or gaps, where denied).
    pub findings: bool,
    /// Replay misses.
    pub misses: bool,
    /// The status of a wrapped command, if it is not 0; it comes before contrail's own.
    pub command: Option<u8>,
    /// Part of the work could not be done, and it has been said.
    pub failed: bool,
}

impl Outcome {
    /// Nothing wrong.
    pub const CLEAN: Self = Self { findings: false, misses: false, command: None, failed: false };

    /// The exit status that it gives.
    fn status(self) -> u8 {
        match self {
            Self { command: Some(status), .. } => status,
            Self { failed: true, .. } => 2,
            Self { misses: true, .. } => 3,
            Self { findings: true, .. } => 1,
            _ => 0,
        }
    }
}

/// What a command could not do: printed as one line (its chain of causes joined by `: `), exit status 2.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How findings and lines are shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Most warnings about a contract that a command prints at its start.
const MAX_WARNINGS: usize = 10;

/// Which contract is in force
#[derive(Debug, Clone, clap::Args)]
pub struct ContractArgs {
    /// OpenAPI 3.1 or 3.0 document, JSON or YAML [default: the built-in tenant contract]
    #[arg(long, value_name = "FILE", env = "CONTRAIL_CONTRACT")]
    pub contract: Option<PathBuf>,
    /// OpenAPI Overlay 1.0 to apply to it; repeatable, in order
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
}

impl ContractArgs {
    /// Loads and compiles it, and prints what of it is mostly a slip (an overlay's action that changes nothing).
    ///
    /// # Errors
    ///
    /// As [`Contract::load`].
    pub fn load(&self) -> Result<Arc<Contract>, ContractError> {
        if self.contract.is_none() && self.overlay.is_empty() {
            return Ok(Contract::built_in());
        }
        let contract = Contract::load(self.contract.as_deref(), &self.overlay)?;
        let warnings = contract.warnings();
        let mut stderr = std::io::stderr().lock();
        for warning in warnings.iter().take(MAX_WARNINGS) {
            let _ = writeln!(stderr, "contrail: warning: {warning}");
        }
        if let Some(more) = warnings.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
            let _ = writeln!(stderr, "contrail: {more} more warnings; `contrail contract` lists them");
        }
        Ok(contract)
    }
}

/// What a report calls a contract.
fn title(contract: &Contract) -> Title {
    Title {
        title: contract.title().to_owned(),
        version: contract.version().to_owned(),
        hash: contract.hash().to_owned(),
    }
}

/// The whole command line as clap sees it, for tests that hold the documentation to it.
#[must_use]
pub fn command() -> clap::Command {
    use clap::CommandFactory as _;
    config::with_variables(Cli::command())
}

/// Parses the arguments, runs the command, prints the error chain, and gives the exit status.
#[must_use]
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // The message may quote what a peer sent, secrets included; the place never does.
        let place = panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let _ = writeln!(std::io::stderr(), "contrail: internal error{place}; please report it");
    }));
    // Without it a limit kills, as everywhere; that is no reason not to start.
    let _ = survive_size_limits();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    if let Err(wrong) = log::start(std::env::var(log::VARIABLE).ok().as_deref()) {
        return complain(&*Failure::from(wrong));
    }
    let result = match &cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Record(args) => record::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Contract(args) => contract::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Scan(args) => scan::run(args),
        Command::Redact(args) => redact::run(args),
        Command::Import(args) => import::run(args),
        Command::Pack(args) => pack::run_pack(args),
        Command::Unpack(args) => pack::run_unpack(args),
        Command::Sandbox(args) => sandbox::run(args),
        Command::Ca(args) => ca::run(args),
    };
    match result {
        Ok(outcome) => ExitCode::from(outcome.status()),
        Err(error) => complain(&*error),
    }
}

/// Lets a write beyond a limit on file sizes (`ulimit -f`) fail, as on a full disk, instead of ending the process. The
/// handler outlives the runtime that it is made in, and does not pass to commands that are run.
fn survive_size_limits() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _in_it = runtime.enter();
    signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)).map(drop)
}

/// The command line, completed by variables and by `contrail.toml`; else the exit status.
fn parse() -> Result<Cli, ExitCode> {
    let command = command();
    let given = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for (wrong, meant) in config::misspelt_variables(&command, given) {
        let _ = writeln!(std::io::stderr(), "contrail: no option reads {}; did you mean {meant}?", visible(&wrong));
    }
    let Completed { arguments, from_file } =
        config::with_file(&command, std::env::args_os().collect(), config::FILE.as_ref())
            .map_err(|error| complain(&error))?;
    let ends_in_dashes = arguments.last().is_some_and(|last| last == "--");
    let named = arguments.iter().skip(1).find_map(|argument| {
        let name = argument.to_str()?;
        command.find_subcommand(name).map(|_| name.to_owned())
    });
    let parsed = command
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches).map(|cli| (matches, cli)));
    let (matches, cli) = parsed.map_err(|error| {
        use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as OverviewInstead;
        if error.use_stderr() && error.kind() != OverviewInstead {
            let _ = writeln!(std::io::stderr(), "contrail: {}", one_line(&error.to_string(), named.as_deref()));
        } else {
            let _ = error.print();
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })?;
    // A variable or the file speaks to many commands, and what does not apply to this one stays unused.
    let typed = |option: &str| {
        let id = option.replace('-', "_");
        let given = matches.subcommand().and_then(|(_, given)| {
            given.try_contains_id(&id).ok()?;
            given.value_source(&id)
        });
        given == Some(ValueSource::CommandLine) && !from_file.iter().any(|long| long == option)
    };
    let Some(network) = cli.command.network() else { return Ok(cli) };
    let proxy = network.proxy;
    if let Command::Replay(args) = &cli.command
        && let Some(wrong) = args.misplaced(&typed)
    {
        return Err(complain(&*Failure::from(wrong)));
    }
    if ends_in_dashes && proxy.command.is_empty() {
        return Err(complain(&*Failure::from("no command follows `--`; name one behind it, or leave `--` out")));
    }
    if let Some(wrong) = network.lacking(&typed) {
        return Err(complain(&*Failure::from(wrong)));
    }
    let intercepts = !proxy.doors.intercept.is_empty();
    if let Some(idle) = network.upstream.idle(intercepts, &typed) {
        let _ = writeln!(std::io::stderr(), "contrail: {idle}");
    }
    Ok(cli)
}

impl Command {
    /// How it listens, and who answers, if it is a proxy.
    fn network(&self) -> Option<watch::Network<'_>> {
        match self {
            Self::Record(args) => Some(args.network()),
            Self::Watch(args) => Some(args.network()),
            Self::Replay(args) => Some(args.network()),
            _ => None,
        }
    }
}

/// clap's message as one line: what is wrong, its first tip, and whose help tells more.
fn one_line(message: &str, command: Option<&str>) -> String {
    let (wrong, rest) = message.split_once("\n\n").unwrap_or((message, ""));
    let wrong = wrong.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    // How to write what looks like an option as an argument is no help where it is one, misspelt.
    let tips = rest.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tips.into_iter().find(|tip| !tip.starts_with("to pass '"));
    let tip = tip.map(|tip| format!("; {tip}")).unwrap_or_default();
    let command = command.map(|command| format!(" {command}")).unwrap_or_default();
    visible(&format!("{wrong}{tip}; `contrail{command} --help` tells more")).into_owned()
}

/// Prints an error and its chain of causes as one line.
fn complain(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "contrail: {}", said(error));
    ExitCode::from(2)
}

/// An error and its chain of causes, as one line.
fn said(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    let refused = std::iter::successors(Some(error), |error| error.source()).any(|error| {
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    });
    if refused && !line.contains(';') {
        line.push_str("; check the permissions of the file and of its folder, or name another place");
    }
    let line = if line.contains('\n') { line.split_whitespace().collect::<Vec<_>>().join(" ") } else { line };
    visible(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_permission_says_what_to_do_and_an_error_steers_no_terminal() {
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        let error = ContractError::Unreadable { file: "a\u{1b}.yaml".into(), source: refused() };
        assert_eq!(
            said(&error),
            "cannot read `a\\u{1b}.yaml`: permission denied; check the permissions of the file and of its folder, or name \
             another place"
        );
        let error = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(said(&error), "entity not found");
    }

    #[test]
    fn a_usage_error_is_one_line_with_what_is_wrong_a_tip_and_whose_help_tells_more() {
        let wrong = |words: &[&str]| {
            one_line(&command().try_get_matches_from(words).unwrap_err().to_string(), words.get(1).copied())
        };
        assert_eq!(
            wrong(&["contrail", "verify"]),
            "the following required arguments were not provided: <FILE>...; `contrail verify --help` tells more"
        );
        assert_eq!(
            wrong(&["contrail", "record", "--lissten", "x"]),
            "unexpected argument '--lissten' found; a similar argument exists: '--listen'; `contrail record --help` tells more"
        );
        assert_eq!(
            wrong(&["contrail", "watch", "--bogus"]),
            "unexpected argument '--bogus' found; `contrail watch --help` tells more"
        );
        assert!(wrong(&["contrail", "nothing"]).starts_with("unrecognized subcommand 'nothing'"));
    }
}
