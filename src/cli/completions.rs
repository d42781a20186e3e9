//! `contrail completions`: the shell asks contrail itself for the values, so that they fit the contract in force.

use std::{env, ffi::OsString, io::Write as _, path::PathBuf};

use clap::Command;
use clap_complete::{
    CompleteEnv, Shell,
    engine::{ArgValueCandidates, CompletionCandidate},
    env::Shells,
};
use contrail_contract::Contract;
use contrail_exchange::finding::{Rule, UNDOCUMENTED};

use super::{
    ContractArgs, Failure, Outcome, explain,
    options::policy::{ALLOWED_WORDS, DENIED_WORDS},
    parse,
    printer::Printer,
};
use crate::config;

/// The variable by which a shell asks.
const VARIABLE: &str = "CONTRAIL_COMPLETE";

/// Print the completions of a shell, for its start-up file
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut printer = Printer::stdout();
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).ok_or("there are no completions for this shell")?;
    shell.write_registration(VARIABLE, "contrail", "contrail", "contrail", &mut printer)?;
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

/// Write the man pages of all commands
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder to write them to; made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run_man(args: &ManArgs) -> Result<Outcome, Failure> {
    std::fs::create_dir_all(&args.folder)?;
    clap_mangen::generate_to(parse::command().disable_help_subcommand(true), &args.folder)?;
    Ok(Outcome::CLEAN)
}

/// Answers a shell that asks, and ends the process; returns at once otherwise.
pub(super) fn answer() {
    let asked = CompleteEnv::with_factory(|| with_values(parse::command())).var(VARIABLE).bin("contrail");
    asked.complete();
}

/// The command with the values of options that are no fixed list in it: rules, operations.
fn with_values(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        sub.mut_args(|arg| match arg.get_id().as_str() {
            "rule" => arg.add(ArgValueCandidates::new(|| candidates(explain::names().map(str::to_owned)))),
            "deny" => arg.add(ArgValueCandidates::new(|| candidates(words(&DENIED_WORDS).chain(rules())))),
            "allow" => arg.add(ArgValueCandidates::new(|| candidates(words(&ALLOWED_WORDS).chain(rules())))),
            "only" | "replace" => arg.add(ArgValueCandidates::new(|| candidates(operations()))),
            "operation" => arg
                .add(ArgValueCandidates::new(|| candidates(operations().into_iter().chain([UNDOCUMENTED.to_owned()])))),
            _ => arg,
        })
    })
}

fn candidates(values: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    values.into_iter().map(CompletionCandidate::new).collect()
}

fn words<T>(words: &'static [(&str, T)]) -> impl Iterator<Item = String> {
    words.iter().map(|(word, _)| (*word).to_owned())
}

fn rules() -> impl Iterator<Item = String> {
    Rule::ALL.iter().map(|rule| rule.id().to_owned())
}

/// The operations of the contract that the command line, the variables and the file name; none where it is unusable.
fn operations() -> Vec<String> {
    let typed: Vec<OsString> = env::args_os().skip_while(|argument| argument != "--").skip(1).collect();
    let operations = |contract: &Contract| contract.operations().map(|operation| operation.id.to_string()).collect();
    named(typed)
        .and_then(|contract| contract.load_quietly().ok())
        .map(|contract| operations(&contract))
        .unwrap_or_default()
}

fn named(typed: Vec<OsString>) -> Option<ContractArgs> {
    let value = |name: &str| env::var_os(name);
    let file = config::file(&typed, value).ok()?;
    let completed = config::complete(&parse::command(), typed, value, file.as_deref()).ok()?;
    let values = |option: &str| {
        let arguments = completed.arguments.iter().map(|argument| argument.to_string_lossy());
        let (mut values, mut follows) = (Vec::new(), false);
        for argument in arguments {
            if follows {
                values.push(PathBuf::from(&*argument));
            } else if let Some((_, value)) = argument.split_once('=').filter(|(name, _)| *name == option) {
                values.push(PathBuf::from(value));
            }
            follows = argument == option;
        }
        values
    };
    Some(ContractArgs { contract: values("--contract"), overlay: values("--overlay") })
}
