//! Settings: flags, then `CONTRAIL_*` variables, then `contrail.toml`; all checked before a port is bound.
//!
//! A flag beats a variable beats the file. Every option `--some-name` of every command has the variable
//! `CONTRAIL_SOME_NAME` and the key `some-name` in the file, at its top for every command that has the option or in a
//! table named after a command for that one alone. The file's values are put where the command line's would stand, so
//! that they are checked by the same code.

use std::{
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
};

use clap::{ArgAction, Command, parser::ValueSource};
use toml::{Table, Value};

use crate::suggest::nearest;

/// The file that is read from the working directory, where it exists.
pub const FILE: &str = "contrail.toml";

/// Options that stand for themselves and are no settings.
const NO_SETTINGS: [&str; 2] = ["help", "version"];

/// Variables that are no option: contrail reads the first, and sets the others for CMD.
const OTHER_VARIABLES: [&str; 4] =
    ["CONTRAIL_LOG", "CONTRAIL_URL", "CONTRAIL_SANDBOX_CLIENT_ID", "CONTRAIL_SANDBOX_CLIENT_SECRET"];

/// Why `contrail.toml` cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        cause: io::Error,
    },
    /// It is not TOML.
    NotToml {
        /// The file.
        path: PathBuf,
        /// The parser's words.
        cause: toml::de::Error,
    },
    /// It has a key that is no option.
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key, with its table.
        key: String,
        /// Where it stands, from 1.
        line: Option<usize>,
        /// The option that was probably meant.
        hint: Option<String>,
    },
    /// It has a table that is named after no command.
    UnknownTable {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// Where it stands, from 1.
        line: Option<usize>,
        /// The command that was probably meant.
        hint: Option<String>,
    },
    /// A value is of a type that no option takes.
    Value {
        /// The file.
        path: PathBuf,
        /// The key, with its table.
        key: String,
        /// What to write instead.
        expected: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, .. } => write!(f, "cannot read {}", path.display()),
            Self::NotToml { path, cause } => {
                write!(f, "{} is not TOML: {}", path.display(), cause.message())
            }
            Self::UnknownKey { path, key, line, hint } => {
                write!(f, "{}{}: no command has an option `{key}`", path.display(), at_line(*line))?;
                match hint {
                    Some(hint) => write!(f, "; did you mean `{hint}`?"),
                    None => f.write_str("; docs/configuration.md lists them all"),
                }
            }
            Self::UnknownTable { path, table, line, hint } => {
                write!(f, "{}{}: there is no command `{table}`", path.display(), at_line(*line))?;
                match hint {
                    Some(hint) => write!(f, "; did you mean `[{hint}]`?"),
                    None => f.write_str("; `contrail --help` lists them all"),
                }
            }
            Self::Value { path, key, expected } => {
                write!(f, "{}: the value of `{key}` has to be {expected}", path.display())
            }
        }
    }
}

fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// Gives every option of every subcommand its `CONTRAIL_*` variable, unless it names one itself.
#[must_use]
pub fn with_variables(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            sub.mut_args(|arg| {
                // Else `-1` is said to be an option of its own.
                let takes = arg.get_long().is_some() && arg.get_action().takes_values();
                let arg = arg.allow_negative_numbers(takes);
                let Some(long) = arg.get_long() else { return arg };
                if NO_SETTINGS.contains(&long) || arg.get_env().is_some() {
                    return arg.hide_env_values(true);
                }
                // clap keeps names for as long as the process lives.
                let variable: &'static str = format!("CONTRAIL_{}", long.to_ascii_uppercase().replace('-', "_")).leak();
                arg.env(variable).hide_env_values(true)
            })
        })
    })
}

/// A command line that the file has completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// The arguments, with what the file adds.
    pub arguments: Vec<OsString>,
    /// The options that the file added, without their dashes.
    pub from_file: Vec<String>,
}

/// The arguments with what `file` adds: options that neither the arguments nor a variable give.
///
/// # Errors
///
/// [`ConfigError`] names the key that cannot be used.
pub fn with_file(command: &Command, arguments: Vec<OsString>, file: &Path) -> Result<Completed, ConfigError> {
    let mut completed = Completed { arguments, from_file: Vec::new() };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(completed),
        Err(cause) => return Err(ConfigError::Unreadable { path: file.to_owned(), cause }),
    };
    let table: Table = text.parse().map_err(|cause| ConfigError::NotToml { path: file.to_owned(), cause })?;
    known(command, &table, &text, file)?;
    let Ok(matches) = command.clone().ignore_errors(true).try_get_matches_from(&completed.arguments) else {
        return Ok(completed);
    };
    let Some((name, given)) = matches.subcommand() else { return Ok(completed) };
    let Some(sub) = command.find_subcommand(name) else { return Ok(completed) };
    let Some(at) = completed.arguments.iter().skip(1).position(|argument| argument == name) else {
        return Ok(completed);
    };
    let own = table.get(name).and_then(Value::as_table);
    let mut added = Vec::new();
    for argument in sub.get_arguments() {
        let Some(long) = argument.get_long() else { continue };
        let value = match (own.and_then(|own| own.get(long)), table.get(long)) {
            (Some(value), _) => (value, format!("{name}.{long}")),
            (None, Some(value)) if !value.is_table() => (value, long.to_owned()),
            _ => continue,
        };
        let source = given
            .try_contains_id(argument.get_id().as_str())
            .ok()
            .and_then(|_| given.value_source(argument.get_id().as_str()));
        if matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable)) {
            continue;
        }
        let flag = matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count);
        option(long, flag, value.0, &mut added).map_err(|expected| ConfigError::Value {
            path: file.to_owned(),
            key: value.1,
            expected,
        })?;
        completed.from_file.push(long.to_owned());
    }
    completed.arguments.splice(at + 2..at + 2, added);
    Ok(completed)
}

/// Appends an option as the command line would have it.
fn option(long: &str, flag: bool, value: &Value, out: &mut Vec<OsString>) -> Result<(), &'static str> {
    if flag {
        return match value {
            Value::Boolean(true) => {
                out.push(format!("--{long}").into());
                Ok(())
            }
            Value::Boolean(false) => Ok(()),
            _ => Err("true or false"),
        };
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(word) => word.to_string(),
        Value::Array(items) => {
            for item in items {
                if item.is_array() {
                    return Err("a list of texts or numbers");
                }
                option(long, flag, item, out)?;
            }
            return Ok(());
        }
        Value::Table(_) | Value::Datetime(_) => return Err("a text, a number, or a list of them"),
    };
    out.push(format!("--{long}={text}").into());
    Ok(())
}

/// Whether every key is an option: of any command at the top, of its command in a table.
fn known(command: &Command, table: &Table, text: &str, file: &Path) -> Result<(), ConfigError> {
    let longs = |sub: &Command| -> Vec<String> {
        sub.get_arguments()
            .filter_map(|argument| argument.get_long().map(str::to_owned))
            .filter(|long| !NO_SETTINGS.contains(&long.as_str()))
            .collect()
    };
    let all: Vec<String> = command.get_subcommands().flat_map(longs).collect();
    let path = || file.to_owned();
    for (key, value) in table {
        match (value.as_table(), command.find_subcommand(key)) {
            (Some(own), Some(sub)) => {
                let longs = longs(sub);
                if let Some(wrong) = own.keys().find(|key| !longs.contains(key)) {
                    let (line, hint) = (line_of(text, Some(key), wrong), option_like(wrong, &longs));
                    return Err(ConfigError::UnknownKey { path: path(), key: format!("{key}.{wrong}"), line, hint });
                }
            }
            (Some(_), None) => {
                let hint = nearest(key, command.get_subcommands().map(Command::get_name)).map(str::to_owned);
                let line = line_of(text, None, key);
                return Err(ConfigError::UnknownTable { path: path(), table: key.clone(), line, hint });
            }
            _ if all.contains(key) => {}
            _ => {
                let (line, hint) = (line_of(text, None, key), option_like(key, &all));
                return Err(ConfigError::UnknownKey { path: path(), key: key.clone(), line, hint });
            }
        }
    }
    Ok(())
}

/// The option that a misspelt key probably means.
fn option_like(key: &str, among: &[String]) -> Option<String> {
    let wanted = key.rsplit('.').next().unwrap_or(key).replace('_', "-");
    nearest(&wanted, among.iter().map(String::as_str)).map(str::to_owned)
}

/// The line of a key (in this table, if there is one) or of a table's head, from 1.
fn line_of(text: &str, table: Option<&str>, key: &str) -> Option<usize> {
    let head = |line: &str| Some(line.trim().strip_prefix('[')?.split(']').next()?.trim().to_owned());
    let mut inside = None;
    text.lines()
        .position(|line| {
            if let Some(name) = head(line) {
                inside = Some(name);
                return table.is_none() && inside.as_deref() == Some(key);
            }
            let is_key = line.split('=').next().is_some_and(|name| name.trim().trim_matches('"') == key);
            is_key && inside.as_deref() == table
        })
        .map(|index| index + 1)
}

/// `CONTRAIL_*` variables that are nobody's option and look like one, with the one that was probably meant.
#[must_use]
pub fn misspelt_variables(command: &Command, given: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let options = command.get_subcommands().flat_map(Command::get_arguments).filter_map(|argument| argument.get_env());
    let mut known: Vec<String> = options.map(|name| name.to_string_lossy().into_owned()).collect();
    known.extend(OTHER_VARIABLES.map(str::to_owned));
    let mut misspelt: Vec<_> = given
        .filter(|name| name.starts_with("CONTRAIL_") && !known.contains(name))
        .filter_map(|name| {
            let option = |name: &str| name.trim_start_matches("CONTRAIL_").to_owned();
            let short: Vec<String> = known.iter().map(|name| option(name)).collect();
            let meant = nearest(&option(&name), short.iter().map(String::as_str))?;
            Some((name, format!("CONTRAIL_{meant}")))
        })
        .collect();
    misspelt.sort();
    misspelt
}

#[cfg(test)]
mod tests {
    use clap::{Arg, value_parser};

    use super::*;

    fn command() -> Command {
        let size = Arg::new("max_body").long("max-body").value_parser(value_parser!(u64));
        let out = Arg::new("out").long("out").required(true);
        let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
        let only = Arg::new("only").long("only").action(ArgAction::Append);
        Command::new("contrail")
            .subcommand(Command::new("record").args([size.clone(), out, force, only]))
            .subcommand(Command::new("watch").args([size]))
    }

    fn merged(file: &str, arguments: &[&str]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, file).unwrap();
        let arguments = arguments.iter().map(OsString::from).collect();
        with_file(&command(), arguments, &path)
            .map(|completed| completed.arguments.into_iter().map(|argument| argument.into_string().unwrap()).collect())
            .map_err(|error| error.to_string().replace(&path.display().to_string(), FILE))
    }

    #[test]
    fn the_file_fills_in_what_the_command_line_leaves_out() {
        let file = "max-body = 5\nout = \"a\"\n[record]\nforce = true\nonly = [\"x\", \"y\"]\n";
        assert_eq!(
            merged(file, &["contrail", "record", "--out", "b", "--", "cmd"]).unwrap(),
            ["contrail", "record", "--max-body=5", "--force", "--only=x", "--only=y", "--out", "b", "--", "cmd"]
        );
        assert_eq!(merged(file, &["contrail", "watch"]).unwrap(), ["contrail", "watch", "--max-body=5"]);
    }

    #[test]
    fn a_table_of_a_command_beats_the_top_of_the_file() {
        assert_eq!(
            merged("max-body = 5\n[watch]\nmax-body = 6", &["contrail", "watch"]).unwrap(),
            ["contrail", "watch", "--max-body=6"]
        );
    }

    #[test]
    fn a_key_that_is_no_option_is_an_error_with_a_hint() {
        assert_eq!(
            merged("max_body = 5", &["contrail", "watch"]).unwrap_err(),
            "contrail.toml, line 1: no command has an option `max_body`; did you mean `max-body`?"
        );
        assert_eq!(
            merged("[watch]\nforce = true", &["contrail", "watch"]).unwrap_err(),
            "contrail.toml, line 2: no command has an option `watch.force`; docs/configuration.md lists them all"
        );
        assert_eq!(
            merged("\n[wach]\nforce = true", &["contrail", "watch"]).unwrap_err(),
            "contrail.toml, line 2: there is no command `wach`; did you mean `[watch]`?"
        );
        assert!(
            merged("[kubernetes]\nforce = true", &["contrail", "watch"]).unwrap_err().contains("`contrail --help`")
        );
    }

    #[test]
    fn a_variable_that_looks_like_an_options_is_told_and_any_other_is_left_alone() {
        let given = ["CONTRAIL_OUTT", "CONTRAIL_OUT", "CONTRAIL_URL", "CONTRAIL_LOG", "CONTRAIL_KUBERNETES", "OTHER"];
        let misspelt = misspelt_variables(&with_variables(command()), given.iter().map(ToString::to_string));
        assert_eq!(misspelt, [("CONTRAIL_OUTT".to_owned(), "CONTRAIL_OUT".to_owned())]);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_an_error_that_says_what_to_write() {
        assert_eq!(
            merged("force = \"yes\"", &["contrail", "record"]).unwrap_err(),
            "contrail.toml: the value of `force` has to be true or false"
        );
        assert!(merged("max-body = 1979-05-27", &["contrail", "watch"]).unwrap_err().contains("a text, a number"));
        assert!(merged("max-body = ", &["contrail", "watch"]).unwrap_err().contains("is not TOML"));
    }

    #[test]
    fn every_option_has_a_variable() {
        let command = with_variables(command());
        let record = command.find_subcommand("record").unwrap();
        let variables: Vec<_> = record.get_arguments().filter_map(|argument| argument.get_env()).collect();
        assert_eq!(variables, ["CONTRAIL_MAX_BODY", "CONTRAIL_OUT", "CONTRAIL_FORCE", "CONTRAIL_ONLY"]);
    }
}
