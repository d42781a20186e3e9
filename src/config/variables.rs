//! The `CONTRAIL_*` variables of options.

use std::ffi::OsString;

use clap::{
    Command,
    builder::{BoolishValueParser, Resettable},
};
use contrail_exchange::suggest::nearest;

use super::{ACTS, NO_SETTINGS, is_act};

/// What the name of every variable begins with.
const PREFIX: &str = "CONTRAIL_";

/// Variables that are not options: contrail reads the first, plugins of test runners the second, and contrail sets the
/// others for CMD.
const OTHER_VARIABLES: [&str; 11] = [
    "CONTRAIL_LOG",
    "CONTRAIL_MODE",
    "CONTRAIL_CONTROL",
    "CONTRAIL_URL",
    "CONTRAIL_PROXY",
    "CONTRAIL_CA",
    "CONTRAIL_TRUSTSTORE",
    "CONTRAIL_INSPECT_ASSETS",
    "CONTRAIL_INSPECT_TOKEN",
    "CONTRAIL_SANDBOX_CLIENT_ID",
    "CONTRAIL_SANDBOX_CLIENT_SECRET",
];

/// What the names of variables begin with that lead CMD to upstreams with names.
const OF_UPSTREAM: &str = "CONTRAIL_URL_";

/// The variable of an option of all commands.
pub(super) fn shared_variable(long: &str) -> String {
    format!("{PREFIX}{}", long.to_ascii_uppercase().replace('-', "_"))
}

/// The variable of an option of this command.
fn variable(command: &str, long: &str) -> String {
    if is_act(long) { shared_variable(&format!("{command}-{long}")) } else { shared_variable(long) }
}

/// Gives every option of every subcommand its `CONTRAIL_*` variable. `value` reads the environment; a variable that is
/// empty there is not read.
#[must_use]
pub fn with_variables(command: Command, value: impl Fn(&str) -> Option<OsString>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| {
            sub.mut_args(|arg| {
                let takes = arg.get_action().takes_values();
                // Otherwise clap reads `-1` as an option.
                let negative = takes && arg.get_long().is_some();
                let arg = arg.allow_negative_numbers(negative);
                let Some(long) = arg.get_long().filter(|long| !NO_SETTINGS.contains(long)) else { return arg };
                let variable = variable(&name, long);
                if value(&variable).is_some_and(|value| value.is_empty()) {
                    return arg.env(Resettable::Reset);
                }
                let arg = if takes { arg } else { arg.value_parser(BoolishValueParser::new()) };
                // clap keeps names for as long as the process lives.
                arg.env(&*variable.leak()).hide_env_values(true)
            })
        })
    })
}

/// `CONTRAIL_*` variables that no option reads, each with the option's variable that was probably meant.
#[must_use]
pub fn misspelt_variables(command: &Command, given: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let options = command
        .get_subcommands()
        .flat_map(|sub| sub.get_arguments().filter_map(move |argument| Some((sub.get_name(), argument.get_long()?))));
    let mut known: Vec<String> = options.map(|(command, long)| variable(command, long)).collect();
    known.extend(OTHER_VARIABLES.map(str::to_owned));
    known.extend(ACTS.map(shared_variable));
    let mut misspelt: Vec<_> = given
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name) && !name.starts_with(OF_UPSTREAM))
        .filter_map(|name| {
            let option = |name: &str| name.trim_start_matches(PREFIX).to_owned();
            let short: Vec<String> = known.iter().map(|name| option(name)).collect();
            let meant = nearest(&option(&name), short.iter().map(String::as_str))?;
            Some((name, format!("{PREFIX}{meant}")))
        })
        .collect();
    misspelt.sort();
    misspelt
}
