//! `contrail.toml`, and the command line that it completes.

use std::{
    any::TypeId,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, Command, builder::Resettable};
use contrail_exchange::{is_upstream_name, suggest::nearest};
use contrail_report::Suppression;
use toml::{Table, Value, de::DeTable};

use super::{
    ConfigError, NO_SETTINGS, OF_THE_FILE, Source, Sources, is_act,
    suppress::{SUPPRESS, suppressions},
    variables::shared_variable,
};

/// A command line with the options that the file adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completed {
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// Where the value of each option comes from.
    pub sources: Sources,
    /// Settings that have no effect, because one that ranks higher excludes them.
    pub ignored: Vec<Ignored>,
    /// The suppressions of the file.
    pub suppressions: Vec<Suppression>,
    /// Options whose variables clap must not read.
    unread: Vec<String>,
    /// The file that was read.
    file: Option<PathBuf>,
}

/// A setting that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The option, without dashes.
    pub option: String,
    /// Where it comes from.
    pub source: Source,
    /// What to call it in a message; see [`Sources::name`].
    pub setting: String,
    /// The setting that excludes it.
    pub because_of: String,
}

impl Completed {
    /// The file, if it sets something here and lies above the working directory.
    #[must_use]
    pub fn file_above(&self) -> Option<&Path> {
        let counts = !self.suppressions.is_empty()
            || self.sources.iter().any(|(_, source)| matches!(source, Source::File { .. }));
        self.file.as_deref().filter(|file| counts && file.starts_with(".."))
    }

    /// The command without the variables that have no effect on it.
    #[must_use]
    pub fn without_unread_variables(&self, command: Command) -> Command {
        let Some(sub) = self.arguments.get(1).and_then(|name| command.find_subcommand(name)) else { return command };
        let name = sub.get_name().to_owned();
        let is_unread = |arg: &Arg| arg.get_long().is_some_and(|long| self.unread.iter().any(|unread| unread == long));
        command.mut_subcommand(name, |sub| {
            sub.mut_args(|arg| if is_unread(&arg) { arg.env(Resettable::Reset) } else { arg })
        })
    }
}

/// An option that has a value other than its default.
struct Setting<'a> {
    argument: &'a Arg,
    long: &'a str,
    source: Source,
    /// What the command line gains by it.
    added: Vec<OsString>,
    /// It is a switch that is turned off, so it excludes nothing.
    off: bool,
}

/// Adds the options of `file` that neither the arguments nor a variable (read by `value`) give, and the items of lists
/// in variables: an option that can be repeated takes a list with commas there. Of two options that exclude each other,
/// the one that ranks lower is left out.
///
/// # Errors
///
/// [`ConfigError`] names the key that cannot be used.
pub fn complete(
    command: &Command,
    arguments: Vec<OsString>,
    value: impl Fn(&str) -> Option<OsString>,
    file: Option<&Path>,
) -> Result<Completed, ConfigError> {
    let file = file.map(|file| File::read(command, file)).transpose()?.flatten();
    let suppressions = file.as_ref().map(File::suppressions).transpose()?.unwrap_or_default();
    let path = file.as_ref().map(|file| file.path.to_owned());
    let mut completed = Completed { arguments, suppressions, file: path, ..Completed::default() };
    let Some(sub) = completed.arguments.get(1).and_then(|name| command.find_subcommand(name)) else {
        return Ok(completed);
    };
    let mut settings = Vec::new();
    for argument in sub.get_arguments() {
        let Some(long) = argument.get_long() else { continue };
        let variable = argument.get_env().and_then(|name| name.to_str());
        let shared = shared_variable(long);
        if is_act(long) && value(&shared).is_some_and(|value| !value.is_empty()) {
            let own = variable.unwrap_or_default().to_owned();
            return Err(ConfigError::SharedVariable { shared, own, option: long.to_owned() });
        }
        let mut added = Vec::new();
        let (source, off) = if given(&completed.arguments, long) {
            (Source::Flag, false)
        } else if let Some((variable, value)) = variable.and_then(|name| Some((name, value(name)?))) {
            if matches!(argument.get_action(), ArgAction::Append) {
                added.extend(items(&value).map(|item| OsString::from(format!("--{long}={item}"))));
            }
            (Source::Variable(variable.to_owned()), is_switch(argument) && is_off(&value))
        } else if let Some(file) = &file
            && let Some(source) = file.option(sub.get_name(), argument, long, &mut added)?
        {
            (source, added.is_empty())
        } else {
            continue;
        };
        settings.push(Setting { argument, long, source, added, off });
    }
    let excluded_by = |one: &Setting<'_>, other: &Setting<'_>| {
        let (one, other) = (one.argument, other.argument);
        let declares = |one: &Arg, other: &Arg| {
            sub.get_arg_conflicts_with(one).iter().any(|conflict| conflict.get_id() == other.get_id())
        };
        declares(one, other) || declares(other, one)
    };
    settings.sort_by_key(|setting| rank(&setting.source));
    let mut kept: Vec<Setting<'_>> = Vec::new();
    let mut ignored = Vec::new();
    for setting in settings {
        let stronger = |other: &&Setting<'_>| {
            !setting.off && !other.off && rank(&other.source) < rank(&setting.source) && excluded_by(&setting, other)
        };
        match kept.iter().find(stronger) {
            Some(other) => ignored.push((setting, other.long)),
            None => kept.push(setting),
        }
    }
    for Setting { long, source, .. } in kept.iter().chain(ignored.iter().map(|(setting, _)| setting)) {
        completed.sources.0.insert((*long).to_owned(), source.clone());
    }
    let unread = |setting: &&Setting<'_>| matches!(setting.source, Source::Variable(_));
    let off = kept.iter().filter(|setting| setting.off);
    let without_effect = off.chain(ignored.iter().map(|(setting, _)| setting)).filter(unread);
    completed.unread = without_effect.map(|setting| setting.long.to_owned()).collect();
    for (Setting { long, source, .. }, because_of) in ignored {
        let (setting, because_of) = (completed.sources.name(long), completed.sources.name(because_of));
        completed.ignored.push(Ignored { option: long.to_owned(), source, setting, because_of });
        completed.sources.0.remove(long);
    }
    kept.sort_by_key(|setting| sub.get_arguments().position(|argument| argument.get_id() == setting.argument.get_id()));
    let added: Vec<OsString> = kept.into_iter().flat_map(|setting| setting.added).collect();
    completed.arguments.splice(2..2, added);
    Ok(completed)
}

/// A setting beats those of a higher rank.
fn rank(source: &Source) -> u8 {
    match source {
        Source::Flag => 0,
        Source::Variable(_) => 1,
        Source::File { table: Some(_), .. } => 2,
        Source::File { table: None, .. } => 3,
    }
}

/// Whether an option takes no value.
fn is_switch(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count)
}

/// Whether the variable of a switch turns it off, by clap's `BoolishValueParser`.
pub(super) fn is_off(value: &OsStr) -> bool {
    const OFF: [&str; 6] = ["n", "no", "f", "false", "off", "0"];
    value.to_str().is_some_and(|value| OFF.iter().any(|off| value.eq_ignore_ascii_case(off)))
}

/// Options whose paths may follow the name of an upstream.
const OF_UPSTREAMS: [&str; 2] = ["contract", "upstream-ca"];

/// Whether the values of an option are paths.
fn names_path(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
        || ["report", "trail"].contains(&argument.get_id().as_str())
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
                _ if is_act(key) => {
                    let has = |sub: &&Command| options(sub).any(|option| option == key);
                    let tables = command.get_subcommands().filter(has).map(|sub| sub.get_name().to_owned()).collect();
                    let line = self.line(None, key);
                    return Err(ConfigError::SharedKey { path: path(), key: key.clone(), line, tables });
                }
                _ if all.contains(&key.as_str()) || key == SUPPRESS => {}
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
        let pushed = push(long, is_switch(argument), value, added);
        if names_path(argument) {
            for added in &mut *added {
                self.place(long, added);
            }
        }
        pushed.map_err(|expected| {
            let key = table.map_or_else(|| long.to_owned(), |table| format!("{table}.{long}"));
            ConfigError::Value { path: self.path.to_owned(), key, line, expected }
        })?;
        Ok(Some(Source::File { path: self.path.to_owned(), table: table.map(str::to_owned), line }))
    }

    /// A relative path of the file starts at its folder.
    fn place(&self, long: &str, added: &mut OsString) {
        let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return };
        let Some((before, path)) = added.to_str().and_then(|text| text.split_once('=')) else { return };
        let (before, path) = match path.split_once('=') {
            Some((word, path)) if long == "report" || OF_UPSTREAMS.contains(&long) && is_upstream_name(word) => {
                (format!("{before}={word}"), path)
            }
            _ if long == "report" => return,
            _ => (before.to_owned(), path),
        };
        if !["", "-", "built-in", "none"].contains(&path) && !path.contains("://") {
            *added = format!("{before}={}", folder.join(path).display()).into();
        }
    }

    fn suppressions(&self) -> Result<Vec<Suppression>, ConfigError> {
        let Some(value) = self.table.get(SUPPRESS) else { return Ok(Vec::new()) };
        let spans = DeTable::parse(&self.text).ok();
        let line = |index: usize| {
            let table = spans.as_ref()?.get_ref().get(SUPPRESS)?.get_ref().as_array()?.get(index)?;
            Some(line_at(&self.text, table.span().start))
        };
        suppressions(self.path, value, line)
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
    let longs = sub.get_arguments().filter_map(Arg::get_long);
    longs.filter(|long| !NO_SETTINGS.contains(long) && !OF_THE_FILE.contains(long))
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
