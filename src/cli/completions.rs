//! `contrail completions`: the shell asks contrail itself for the values, so that they fit the contract in force.

use std::{
    env,
    ffi::OsString,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Command, ValueEnum};
use clap_complete::{
    CompleteEnv, Shell,
    engine::{ArgValueCandidates, CompletionCandidate},
    env::Shells,
};
use clap_mangen::Man;
use contrail_contract::Contract;
use contrail_exchange::finding::{Rule, UNDOCUMENTED};
use contrail_report::ReportFormat;

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
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "contrail", "contrail", "contrail", &mut script)?;
    if args.shell == Shell::Zsh {
        answer_at_once(&mut script);
    }
    printer.write_all(&script)?;
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

/// From a folder of its `fpath`, zsh reads the script as the function `_contrail` at the first Tab, which is to complete.
fn answer_at_once(script: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(script);
    let Some((functions, registration)) = text.trim_end().rsplit_once("\ncompdef ") else { return };
    let (completer, _) = registration.split_once(' ').unwrap_or((registration, ""));
    *script = format!(
        "{functions}\nif [ \"$funcstack[1]\" = _contrail ]; then\n    {completer} \"$@\"\nelse\n    compdef {registration}\nfi\n"
    )
    .into_bytes();
}

/// Write the man pages of all commands
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder to write them to; made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run_man(args: &ManArgs) -> Result<Outcome, Failure> {
    let mut all = parse::command().disable_help_subcommand(true);
    all.build();
    let cannot = |error| format!("cannot write to `{}`: {error}", args.folder.display());
    fs::create_dir_all(&args.folder).map_err(cannot)?;
    for command in all.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_page(command.clone(), &args.folder).map_err(cannot)?;
    }
    write_page(all, &args.folder).map_err(cannot)?;
    Ok(Outcome::CLEAN)
}

/// A page whose synopsis is the line of `--help`: clap's own lists every option without its value.
fn write_page(mut command: Command, folder: &Path) -> std::io::Result<()> {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let page = Man::new(command.override_usage(usage)).source(format!("contrail {}", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace("\n.SH EXTRA\nExamples:\n", "\n.SH EXAMPLES\n");
    fs::write(folder.join(page.get_filename()), text)
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
            "report" => arg.add(ArgValueCandidates::new(|| candidates(formats()))),
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

fn formats() -> impl Iterator<Item = String> {
    let formats = ReportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    formats.map(|format| format.get_name().to_owned())
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
