//! `contrail config`: the settings in force, and where each comes from.

use std::{collections::BTreeMap, env, io::Write as _};

use clap::Arg;
use contrail_exchange::{plural::plural, suggest::nearest, visible::visible};
use contrail_proxy::upstream::masked;
use serde::Serialize;

use super::{Failure, Format, Outcome, parse, printer::Printer};
use crate::config::{self, Completed, Source};

/// Print the settings in force, and where each comes from
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command whose options are all printed, with their defaults [default: what variables and the file set]
    #[arg(value_name = "COMMAND")]
    of: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// An option with its value.
#[derive(Debug, Serialize)]
struct Setting {
    option: String,
    values: Vec<String>,
    source: String,
    /// The commands to which it applies.
    commands: Vec<String>,
    /// Why it has no effect, if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<String>,
}

/// What is printed as JSON.
#[derive(Debug, Serialize)]
struct Settings {
    file: Option<String>,
    settings: Vec<Setting>,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let command = parse::command();
    let value = |name: &str| env::var_os(name);
    let file = config::file(&env::args_os().collect::<Vec<_>>(), value)?;
    let names: Vec<&str> =
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(clap::Command::get_name).collect();
    let of: Vec<&str> = match args.of.as_deref() {
        None => names,
        Some(name) if names.contains(&name) => vec![name],
        Some(name) => {
            let hint = nearest(name, names).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            return Err(format!("no command is called `{name}`{hint}").into());
        }
    };
    let mut all: BTreeMap<(String, Vec<String>, String), Setting> = BTreeMap::new();
    for name in of {
        let completed = config::complete(&command, vec!["contrail".into(), name.into()], value, file.as_deref())?;
        let sub = command.find_subcommand(name).into_iter();
        for argument in sub.flat_map(clap::Command::get_arguments) {
            let Some(found) = setting(argument, &completed, args.of.is_some()) else { continue };
            let key = (found.option.clone(), found.values.clone(), found.source.clone());
            all.entry(key).or_insert(found).commands.push(name.to_owned());
        }
    }
    let file = file.map(|file| file.display().to_string());
    let settings = Settings { file, settings: all.into_values().collect() };
    let mut printer = Printer::stdout();
    match args.format {
        Format::Json => writeln!(printer, "{}", serde_json::to_string_pretty(&settings)?)?,
        Format::Text => text(&settings, args.of.is_none(), &mut printer)?,
    }
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

/// The value of an option and its source, if it has one, or a default and that is asked for.
fn setting(argument: &Arg, completed: &Completed, with_default: bool) -> Option<Setting> {
    let long = argument.get_long().filter(|long| *long != "help")?;
    let ignored = completed.ignored.iter().find(|ignored| ignored.option == long);
    let source = completed.sources.get(long).or_else(|| ignored.map(|ignored| &ignored.source));
    let prefix = format!("--{long}=");
    let added = completed.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
    let added: Vec<String> = added
        .filter_map(|argument| match argument.strip_prefix(&prefix) {
            Some(value) => Some(value.to_owned()),
            None => (argument == format!("--{long}")).then(|| "true".to_owned()),
        })
        .collect();
    let values = match source {
        Some(Source::Variable(name)) if added.is_empty() => vec![env::var(name).unwrap_or_default()],
        Some(_) if added.is_empty() && ignored.is_none() => vec!["false".to_owned()],
        Some(_) => added,
        None if !with_default => return None,
        None if argument.get_action().takes_values() => {
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect()
        }
        None => vec!["false".to_owned()],
    };
    // What may hold a password.
    let shown =
        |value: String| if long == "proxy-auth" { "(not shown)".to_owned() } else { masked(&value).into_owned() };
    Some(Setting {
        option: long.to_owned(),
        values: values.into_iter().map(shown).collect(),
        source: source.map_or_else(|| "default".to_owned(), ToString::to_string),
        commands: Vec::new(),
        ignored: ignored.map(|ignored| format!("{} excludes it", ignored.because_of)),
    })
}

/// One line per setting, in columns.
fn text(settings: &Settings, names_commands: bool, to: &mut Printer) -> Result<(), Failure> {
    match &settings.file {
        Some(file) => writeln!(to, "file: {}", visible(file))?,
        None => writeln!(to, "file: none ({} here or above, up to the repository's root)", config::FILE)?,
    }
    let width = |of: fn(&Setting) -> usize| settings.settings.iter().map(of).max().unwrap_or_default();
    let (options, values) = (width(|one| one.option.len()), width(|one| one.values.join(", ").len()).min(40));
    for Setting { option, values: given, source, commands, ignored } in &settings.settings {
        let given = if given.is_empty() { "-".to_owned() } else { given.join(", ") };
        write!(to, "{option:options$}  {:values$}  {}", visible(&given), visible(source))?;
        if names_commands && !source.starts_with('[') {
            let of = if commands.len() > 6 { plural(commands.len(), "command") } else { commands.join(", ") };
            write!(to, " ({of})")?;
        }
        match ignored {
            Some(why) => writeln!(to, "; no effect: {}", visible(why))?,
            None => writeln!(to)?,
        }
    }
    Ok(())
}
