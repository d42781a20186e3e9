//! Parses arguments, variables and `contrail.toml` into a command.

use std::{
    env,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    slice,
};

use clap::{FromArgMatches as _, Parser, Subcommand, error::ErrorKind};
use contrail_exchange::visible::visible;
use contrail_fleet::RemoteUrl;
use contrail_proxy::upstream::masked;

use super::{
    Failure, Outcome, audit, ca, completions, contract, coverage, demo, diff, explain, export, help, ignore, import,
    inspect, learn, merge,
    messages::{complain, early_option, usage_error},
    namespace,
    options::{
        Network,
        common::CommonArgs,
        inspect::PageArgs,
        policy::{self, PolicyArgs},
    },
    pack, paths,
    printer::{self, warn},
    record, redact, remote, replay, sandbox, scan, settings, show, unused, verify, watch,
};
use crate::config::{self, Completed, Ignored, Sources};

/// A verifying, recording and replaying proxy between API clients and a real tenant
#[derive(Debug, Parser)]
#[command(name = "contrail", version, max_term_width = 100)]
pub(super) struct Cli {
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
    Learn(learn::Args),
    Coverage(coverage::Args),
    Export(export::Args),
    Diff(diff::Args),
    Ignore(ignore::Args),
    Contract(contract::Args),
    Explain(explain::Args),
    Scan(scan::Args),
    Redact(redact::Args),
    Inspect(inspect::Args),
    Show(show::Args),
    Import(import::Args),
    Pack(pack::PackArgs),
    Unpack(pack::UnpackArgs),
    Merge(merge::Args),
    Unused(unused::Args),
    Sandbox(sandbox::Args),
    Ca(ca::Args),
    Config(settings::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Man(completions::ManArgs),
}

/// The command line as clap sees it, for tests that compare the documentation with it.
#[must_use]
pub fn command() -> clap::Command {
    use clap::CommandFactory as _;
    let command =
        help::with_examples(CommonArgs::of_every(policy::described(Cli::command())).version(&*version().leak()));
    config::with_variables(command, |name| env::var_os(name))
}

/// `0.1.0 (285ae0e4 2026-11-28) +jemalloc -fleet`: the commit is known of a release that was built in a clone.
fn version() -> String {
    let sign = |is_built| if is_built { '+' } else { '-' };
    let commit = option_env!("CONTRAIL_COMMIT").filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    let (jemalloc, fleet) = (sign(cfg!(feature = "jemalloc")), sign(cfg!(feature = "fleet")));
    format!("{}{commit} {jemalloc}jemalloc {fleet}fleet", env!("CARGO_PKG_VERSION"))
}

/// The command line, completed by variables and by `contrail.toml`, and where its values came from; otherwise the exit
/// status.
pub(super) fn parse() -> Result<(Cli, Sources), ExitCode> {
    let command = command();
    let given = env::vars_os().filter(|(_, value)| !value.is_empty());
    for (wrong, meant) in config::misspelt_variables(&command, given.filter_map(|(name, _)| name.into_string().ok())) {
        let _ = writeln!(io::stderr(), "contrail: no option reads {}; did you mean {meant}?", visible(&wrong));
    }
    let refused = |error| complain(&error, &Sources::default());
    let (arguments, value) = (env::args_os().collect::<Vec<_>>(), |name: &str| env::var_os(name));
    let file = config::file(&arguments, value).map_err(refused)?;
    let completed = config::complete(&command, arguments, value, file.as_deref()).map_err(refused)?;
    if let Some(file) = completed.file_above() {
        warn(&format!("settings come from `{}`", file.display()));
    }
    for Ignored { setting, because_of, .. } in &completed.ignored {
        warn(&format!("{setting} has no effect, because {because_of} excludes it"));
    }
    let command = completed.without_unread_variables(command);
    let Completed { arguments, sources, suppressions, .. } = completed;
    let ends_in_dashes = arguments.last().is_some_and(|last| last == "--");
    let name = arguments.get(1).and_then(|name| command.find_subcommand(name)).map(|sub| sub.get_name().to_owned());
    let mut command = if help::is_short(&arguments) { help::shortened(command) } else { command };
    let matches = command.try_get_matches_from_mut(&arguments);
    let mistaken = matches.as_ref().ok().and_then(|matches| paths::mistaken(&command, matches, &sources));
    if let Some(common) = matches.as_ref().ok().and_then(CommonArgs::read) {
        printer::choose(common.color);
    }
    let mut cli = matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
        // The overview of all commands, for one without arguments.
        if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let early = name.is_none().then(|| early_option(&error, &arguments, &command)).flatten();
            let wrong = early.unwrap_or_else(|| usage_error(&error, name.as_deref(), &sources));
            let _ = writeln!(io::stderr(), "contrail: {wrong}");
        } else {
            let _ = error.print();
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })?;
    if let Some(wrong) = mistaken {
        return Err(complain(&*Failure::from(wrong), &sources));
    }
    match &mut cli.command {
        Command::Diff(args) => args.set_mode(&sources),
        Command::Replay(args) => args.set_typed(&sources),
        Command::Import(args) => args.ignore_sandbox(&sources),
        Command::Inspect(args) => args.ignore_listen(&sources),
        _ => {}
    }
    if let Some(page) = cli.command.page_mut() {
        page.options = sources.iter().map(|(option, source)| (option.to_owned(), source.to_string())).collect();
    }
    if let Some(policy) = cli.command.policy_mut() {
        policy.suppressions = suppressions;
        let typed = |option: &str| sources.is_flag(option);
        if let Some(wrong) = name.and_then(|name| policy.misplaced(&name, &typed)) {
            return Err(complain(&*Failure::from(wrong), &sources));
        }
    }
    cli.command.check(ends_in_dashes, &sources).map_err(|wrong| complain(&*Failure::from(wrong), &sources))?;
    Ok((cli, sources))
}

impl Cli {
    /// Runs the command.
    pub(super) fn run(mut self) -> Result<Outcome, Failure> {
        if let Command::Replay(args) = &self.command
            && args.no_network
        {
            namespace::enter()?;
        }
        remote::localize(self.command.files_mut())?;
        match &self.command {
            Command::Demo(args) => demo::run(args),
            Command::Record(args) => record::run(args),
            Command::Watch(args) => watch::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Verify(args) => verify::run(args),
            Command::Audit(args) => audit::run(args),
            Command::Learn(args) => learn::run(args),
            Command::Coverage(args) => coverage::run(args),
            Command::Export(args) => export::run(args),
            Command::Diff(args) => diff::run(args),
            Command::Ignore(args) => ignore::run(args),
            Command::Contract(args) => contract::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Scan(args) => scan::run(args),
            Command::Redact(args) => redact::run(args),
            Command::Inspect(args) => inspect::run(args),
            Command::Show(args) => show::run(args),
            Command::Import(args) => import::run(args),
            Command::Pack(args) => pack::run_pack(args),
            Command::Unpack(args) => pack::run_unpack(args),
            Command::Merge(args) => merge::run(args),
            Command::Unused(args) => unused::run(args),
            Command::Sandbox(args) => sandbox::run(args),
            Command::Ca(args) => ca::run(args),
            Command::Config(args) => settings::run(args),
            Command::Completions(args) => completions::run(args),
            Command::Man(args) => completions::run_man(args),
        }
    }
}

impl Command {
    /// Refuses flags of a proxy that protect nothing here, and warns of those without effect. Variables and the file
    /// apply to all commands, so theirs are ignored silently.
    fn check(&self, ends_in_dashes: bool, sources: &Sources) -> Result<(), String> {
        let typed = |option: &str| sources.is_flag(option);
        if let Self::Sandbox(args) = self
            && let Some(wrong) = args.misplaced(&typed)
        {
            return Err(wrong);
        }
        if let Self::Redact(args) = self
            && args.in_place
            && let Some(url) = args.files.iter().find(|file| RemoteUrl::is_meant(file.as_os_str()))
        {
            return Err(format!(
                "--in-place cannot write to `{}`; name a path with --out",
                masked(&url.to_string_lossy())
            ));
        }
        if let Self::Record(record::Args { filter, .. }) | Self::Watch(watch::Args { filter, .. }) = self
            && let Some(wrong) = filter.conflict()
        {
            return Err(wrong);
        }
        let Some(network) = self.network() else { return Ok(()) };
        let proxy = network.proxy;
        if let Self::Replay(args) = self
            && let Some(wrong) = args.misplaced(&typed)
        {
            return Err(wrong);
        }
        if ends_in_dashes && proxy.command.is_empty() {
            return Err("no command follows `--`; add one, or remove `--`".to_owned());
        }
        if let Some(wrong) = network.lacking(&typed) {
            return Err(wrong);
        }
        let intercepts = !proxy.listeners.intercept.is_empty();
        let needs_authorities = intercepts || proxy.telemetry.otlp.as_ref().is_some_and(|url| url.origin.https);
        if let Some(idle) = network.upstream.idle(needs_authorities, &typed) {
            let _ = writeln!(io::stderr(), "contrail: {idle}");
        }
        Ok(())
    }

    /// The recordings that the command reads.
    fn files_mut(&mut self) -> &mut [PathBuf] {
        match self {
            Self::Replay(args) => &mut args.fixtures,
            Self::Verify(args) => &mut args.recordings,
            Self::Audit(args) => &mut args.recordings,
            Self::Learn(args) => &mut args.recordings,
            Self::Coverage(args) => &mut args.recordings,
            Self::Export(args) => &mut args.recordings,
            Self::Diff(args) => &mut args.recordings,
            Self::Scan(args) => &mut args.files,
            Self::Redact(args) => &mut args.files,
            Self::Inspect(args) => &mut args.recordings,
            Self::Import(args) => &mut args.recordings,
            Self::Pack(args) => slice::from_mut(&mut args.recording),
            Self::Show(args) => slice::from_mut(&mut args.recording),
            Self::Unpack(args) => slice::from_mut(&mut args.recording),
            Self::Unused(args) => &mut args.fixtures,
            _ => &mut [],
        }
    }

    /// Its live page, if it has one.
    const fn page_mut(&mut self) -> Option<&mut PageArgs> {
        match self {
            Self::Record(args) => Some(&mut args.proxy.inspect.page),
            Self::Watch(args) => Some(&mut args.proxy.inspect.page),
            Self::Replay(args) => Some(&mut args.proxy.inspect.page),
            Self::Inspect(args) => Some(&mut args.page),
            _ => None,
        }
    }

    /// What makes the command fail, if it judges exchanges.
    const fn policy_mut(&mut self) -> Option<&mut PolicyArgs> {
        match self {
            Self::Record(args) => Some(&mut args.judge.policy),
            Self::Watch(args) => Some(&mut args.judge.policy),
            Self::Replay(args) => Some(&mut args.judge.policy),
            Self::Verify(args) => Some(&mut args.policy),
            Self::Audit(args) => Some(&mut args.policy),
            _ => None,
        }
    }

    /// The options of a proxy command that may need each other.
    fn network(&self) -> Option<Network<'_>> {
        match self {
            Self::Record(args) => Some(args.network()),
            Self::Watch(args) => Some(args.network()),
            Self::Replay(args) => Some(args.network()),
            _ => None,
        }
    }
}
