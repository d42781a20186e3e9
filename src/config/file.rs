//! `contrail.toml`, and the command line that it completes.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
};

use clap::{Arg, ArgAction, Command};
use toml::{Table, Value, de::DeTable};

use super::{ConfigError, NO_SETTINGS, Source, Sources};
use crate::suggest::nearest;

/// A command line with the options that the file adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completed {
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// Where the value of each option comes from.
    pub sources: Sources,
}

/// Adds the options of `file` that neither the arguments nor a variable (read by `value`) give, and the items of lists in
/// variables: an option that can be repeated takes a list with commas there.
///
/// # Errors
///
/// [`ConfigError`] names the key that cannot be used.
pub fn complete(
    command: &Command,
    arguments: Vec<OsString>,
    value: impl Fn(&str) -> Option<OsString>,
    file: &Path,
) -> Result<Completed, ConfigError> {
    let file = File::read(command, file)?;
    let mut completed = Completed { arguments, sources: Sources::default() };
    let Some(sub) = completed.arguments.get(1).and_then(|name| command.find_subcommand(name)) else {
        return Ok(completed);
    };
    let mut added = Vec::new();
    for argument in sub.get_arguments() {
        let Some(long) = argument.get_long() else { continue };
        let variable = argument.get_env().and_then(|name| name.to_str()).filter(|name| value(name).is_some());
        let source = if given(&completed.arguments, long) {
            Source::Flag
        } else if let Some(variable) = variable {
            if matches!(argument.get_action(), ArgAction::Append) {
                let list = value(variable).unwrap_or_default();
                added.extend(items(&list).map(|item| OsString::from(format!("--{long}={item}"))));
            }
            Source::Variable(variable.to_owned())
        } else if let Some(file) = &file
            && let Some(source) = file.option(sub.get_name(), argument, long, &mut added)?
        {
            source
        } else {
            continue;
        };
        completed.sources.0.insert(long.to_owned(), source);
    }
    completed.arguments.splice(2..2, added);
    Ok(completed)
}

/// The items of a variable that holds a list: clap would take it for one.
fn items(list: &OsStr) -> impl Iterator<Item = &str> {
    list.to_str().unwrap_or_default().split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Whether the command line gives an option; what follows `--` belongs to CMD.
fn given(arguments: &[OsString], long: &str) -> bool {
    let own = arguments.iter().filter_map(|argument| argument.to_str()).take_while(|argument| *argument != "--");
    own.filter_map(|argument| argument.strip_prefix("--"))
        .any(|argument| argument.split_once('=').map_or(argument, |(name, _)| name) == long)
}

/// The file: what it holds, and where.
struct File<'a> {
    path: &'a Path,
    text: String,
    table: Table,
}

impl<'a> File<'a> {
    /// Reads the file and checks its keys; `None` if there is no file.
    fn read(command: &Command, path: &'a Path) -> Result<Option<Self>, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(ConfigError::Unreadable { path: path.to_owned(), cause }),
        };
        let table = text.parse().map_err(|cause: toml::de::Error| {
            let line = cause.span().map(|span| line_at(&text, span.start));
            ConfigError::NotToml { path: path.to_owned(), line, message: cause.message().to_owned() }
        })?;
        let file = Self { path, text, table };
        file.check(command)?;
        Ok(Some(file))
    }

    /// Whether every key is an option: of any command at the top, of its command in a table.
    fn check(&self, command: &Command) -> Result<(), ConfigError> {
        let all: Vec<&str> = command.get_subcommands().flat_map(options).collect();
        let path = || self.path.to_owned();
        for (key, value) in &self.table {
            match (value.as_table(), command.find_subcommand(key)) {
                (Some(own), Some(sub)) => {
                    let known: Vec<&str> = options(sub).collect();
                    if let Some(wrong) = own.keys().find(|key| !known.contains(&key.as_str())) {
                        let (line, hint) = (self.line(Some(key), wrong), option_like(wrong, &known));
                        return Err(ConfigError::UnknownKey {
                            path: path(),
                            key: format!("{key}.{wrong}"),
                            line,
                            hint,
                        });
                    }
                }
                (Some(_), None) => {
                    let hint = nearest(key, command.get_subcommands().map(Command::get_name)).map(str::to_owned);
                    let line = self.line(None, key);
                    return Err(ConfigError::UnknownTable { path: path(), table: key.clone(), line, hint });
                }
                _ if all.contains(&key.as_str()) => {}
                _ => {
                    let (line, hint) = (self.line(None, key), option_like(key, &all));
                    return Err(ConfigError::UnknownKey { path: path(), key: key.clone(), line, hint });
                }
            }
        }
        Ok(())
    }

    /// Appends an option to `added` as the command line would have it; where it is from, if the file has it.
    fn option(
        &self,
        command: &str,
        argument: &Arg,
        long: &str,
        added: &mut Vec<OsString>,
    ) -> Result<Option<Source>, ConfigError> {
        let own = self.table.get(command).and_then(Value::as_table).and_then(|own| own.get(long));
        let (value, table) = match (own, self.table.get(long)) {
            (Some(value), _) => (value, Some(command)),
            (None, Some(value)) if !value.is_table() => (value, None),
            _ => return Ok(None),
        };
        let line = self.line(table, long);
        let flag = matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count);
        push(long, flag, value, added).map_err(|expected| {
            let key = table.map_or_else(|| long.to_owned(), |table| format!("{table}.{long}"));
            ConfigError::Value { path: self.path.to_owned(), key, line, expected }
        })?;
        Ok(Some(Source::File { path: self.path.to_owned(), table: table.map(str::to_owned), line }))
    }

    /// The line of a key (in this table, if there is one) or of a table's header, from 1.
    fn line(&self, table: Option<&str>, key: &str) -> Option<usize> {
        let spans = DeTable::parse(&self.text).ok()?;
        let mut spans = spans.get_ref();
        if let Some(table) = table {
            spans = spans.get(table)?.get_ref().as_table()?;
        }
        let (key, _) = spans.get_key_value(key)?;
        Some(line_at(&self.text, key.span().start))
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// The options of a command that the file may set.
fn options(sub: &Command) -> impl Iterator<Item = &str> {
    sub.get_arguments().filter_map(Arg::get_long).filter(|long| !NO_SETTINGS.contains(long))
}

/// Appends an option as the command line would have it.
fn push(long: &str, flag: bool, value: &Value, out: &mut Vec<OsString>) -> Result<(), &'static str> {
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
                    return Err("a list of strings or numbers");
                }
                push(long, flag, item, out)?;
            }
            return Ok(());
        }
        Value::Table(_) | Value::Datetime(_) => return Err("a string, a number, or a list of them"),
    };
    out.push(format!("--{long}={text}").into());
    Ok(())
}

/// The option that a misspelt key probably means.
fn option_like(key: &str, among: &[&str]) -> Option<String> {
    nearest(&key.replace('_', "-"), among.iter().copied()).map(str::to_owned)
}
