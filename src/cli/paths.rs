//! Values of options and arguments that were meant as something else than a path: a URL where only a path is taken, and
//! `-` where no standard input or output is. Taken as they stand, they become folders and files with odd names.

use std::{any::TypeId, ffi::OsStr, path::PathBuf};

use clap::{Arg, ArgMatches, Command};
use contrail_fleet::{RemoteUrl, UrlError};
use contrail_proxy::upstream::masked;

use crate::config::Sources;

/// Options that take `-`, and those that refuse it in words of their own.
const DASH: [(&str, &str); 6] = [
    ("contract", "export"),
    ("import", "out"),
    ("learn", "out"),
    ("pack", "out"),
    ("record", "out"),
    ("unpack", "out"),
];

/// What is wrong with a value of a command line, if one was meant as something else than a path.
pub(super) fn mistaken(command: &Command, matches: &ArgMatches, sources: &Sources) -> Option<String> {
    let (name, given) = matches.subcommand()?;
    let mut arguments = command.find_subcommand(name)?.get_arguments();
    arguments.find_map(|argument| of_argument(name, argument, given, sources))
}

fn of_argument(command: &str, argument: &Arg, given: &ArgMatches, sources: &Sources) -> Option<String> {
    let id = argument.get_id().as_str();
    let is_report = id == "report";
    if !is_report && argument.get_value_parser().type_id() != TypeId::of::<PathBuf>() {
        return None;
    }
    given.get_raw(id)?.find_map(|value| {
        if argument.is_positional() {
            return of_recording(value);
        }
        let value = match value.to_str().and_then(|text| text.split_once('=')) {
            Some((_, file)) if is_report => OsStr::new(file),
            _ => value,
        };
        of_option(value, &sources.name(argument.get_long().unwrap_or(id)), is_report || DASH.contains(&(command, id)))
    })
}

/// A recording may be a URL; one that is none of contrail's is no path either.
fn of_recording(value: &OsStr) -> Option<String> {
    let is_wrong = is_url(value) && !RemoteUrl::is_meant(value);
    is_wrong.then(|| format!("`{}`: {}", masked(&value.to_string_lossy()), UrlError::Scheme))
}

fn of_option(value: &OsStr, name: &str, takes_dash: bool) -> Option<String> {
    if value == "-" && !takes_dash {
        return Some(format!("{name} does not take `-`; name a path, or ./- for one of that name"));
    }
    let text = value.to_string_lossy();
    let text = masked(&text);
    (is_url(value) || RemoteUrl::is_meant(value)).then(|| {
        format!("{name} takes a path on this machine and no URL: `{text}`; write ./{text} for a path of that name")
    })
}

/// Whether a value begins as a URL does: a scheme of two letters or more, and `://`.
fn is_url(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}
