//! Error messages: always one line on standard error, with what is wrong, where, and what to do.

use std::{
    error::Error,
    ffi::OsString,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use contrail_exchange::{shell, visible::visible};
use contrail_proxy::upstream::masked;

use super::help::synonym;
use crate::config::Sources;

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    shell::word(&path.display().to_string())
}

/// What is wrong with an option that has no effect without another one.
pub(super) fn lacking(option: &str, other: &str) -> String {
    format!("--{option} has no effect without {other}; add it, or leave --{option} out")
}

/// Prints an error and its chain of causes as one line, with the variables and lines of the file that set the options
/// that it names.
pub(super) fn complain(error: &(dyn Error + 'static), sources: &Sources) -> ExitCode {
    let message = error_chain(error);
    let note = sources.note(&message).map(|note| format!(" ({note})")).unwrap_or_default();
    let _ = writeln!(io::stderr(), "contrail: {message}{}", visible(&note));
    ExitCode::from(2)
}

/// An error and its chain of causes as one line.
pub(super) fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let kind = causes.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind).last();
    let remedy = match kind {
        Some(io::ErrorKind::PermissionDenied) => {
            "check the permissions of the file and its folder, or choose another path"
        }
        Some(io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) => {
            "a file is in the way: choose another path"
        }
        Some(io::ErrorKind::IsADirectory) => "name a file in it",
        _ => "",
    };
    if !remedy.is_empty() && !line.contains(';') {
        line.push_str("; ");
        line.push_str(remedy);
    }
    let line = if line.contains('\n') { line.split_whitespace().collect::<Vec<_>>().join(" ") } else { line };
    visible(&line).into_owned()
}

/// A usage error as one line: what is wrong, the source of the value, a suggestion, and whose help to read.
pub(super) fn usage_error(error: &clap::Error, command: Option<&str>, sources: &Sources) -> String {
    let wrong = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => invalid_value(error, sources),
        ErrorKind::ArgumentConflict => conflict(error, sources),
        ErrorKind::MissingRequiredArgument => {
            Some(format!("missing {}", strings(error, ContextKind::InvalidArg).join(" and ")))
        }
        ErrorKind::UnknownArgument => unknown_argument(error, command),
        ErrorKind::InvalidSubcommand => string(error, ContextKind::InvalidSubcommand).map(|name| match synonym(name) {
            Some(ours) => format!("unknown command `{name}`; {ours}"),
            None => format!("unknown command `{name}`{}", did_you_mean(error, ContextKind::SuggestedSubcommand)),
        }),
        _ => None,
    };
    let wrong = wrong.unwrap_or_else(|| first_paragraph(&error.to_string()));
    let command = command.map(|command| format!(" {command}")).unwrap_or_default();
    let end = if wrong.ends_with('?') { "" } else { ";" };
    visible(&format!("{wrong}{end} see `contrail{command} --help`")).into_owned()
}

/// An option of a command that stands before it, and the command.
pub(super) fn early_option(error: &clap::Error, arguments: &[OsString], all: &Command) -> Option<String> {
    let option = string(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let command = arguments
        .iter()
        .skip(1)
        .take_while(|argument| *argument != "--")
        .find_map(|argument| all.find_subcommand(argument))?;
    let name = option.strip_prefix("--")?;
    command.get_arguments().find(|argument| argument.get_long() == Some(name))?;
    let command = command.get_name();
    Some(format!(
        "`{option}` stands before the command; options follow it, as in `contrail {command} {option}`; see `contrail {command} --help`"
    ))
}

/// A value that its option does not take.
fn invalid_value(error: &clap::Error, sources: &Sources) -> Option<String> {
    let argument = string(error, ContextKind::InvalidArg)?;
    let name = match option_of(argument) {
        Some(option) => sources.name(option),
        None => argument.trim_matches(['[', ']', '<', '>', '.']).to_owned(),
    };
    let expected = match error.source() {
        Some(detail) => detail.to_string(),
        None => {
            let values: Vec<String> =
                strings(error, ContextKind::ValidValue).iter().map(|value| format!("`{value}`")).collect();
            let suggested = did_you_mean(error, ContextKind::SuggestedValue);
            if values.is_empty() { "expected a value".into() } else { format!("expected {}{suggested}", or(&values)) }
        }
    };
    let address = ["upstream", "listen", "intercept", "trail", "otlp"].iter().any(|part| argument.contains(part));
    Some(match string(error, ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
        Some(value) => {
            let value = if address { masked(value) } else { value.into() };
            format!("invalid value `{value}` for {name}: {expected}")
        }
        None => format!("{name} is empty: {expected}"),
    })
}

/// `` `a`, `b` or `c` ``.
pub(super) fn or(values: &[String]) -> String {
    match values {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => values.concat(),
    }
}

/// Two options that exclude each other.
fn conflict(error: &clap::Error, sources: &Sources) -> Option<String> {
    let name = |argument: &str| option_of(argument).map_or_else(|| argument.to_owned(), |option| sources.name(option));
    let others: Vec<String> = strings(error, ContextKind::PriorArg).iter().map(|other| name(other)).collect();
    let argument = string(error, ContextKind::InvalidArg)?;
    (!others.is_empty()).then(|| format!("{} cannot be combined with {}", name(argument), others.join(" and ")))
}

fn unknown_argument(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let argument = string(error, ContextKind::InvalidArg)?;
    let what = if argument.starts_with('-') { "unknown option" } else { "unexpected argument" };
    let is_document = [".json", ".yaml", ".yml"].iter().any(|end| argument.ends_with(end));
    let remedy = match did_you_mean(error, ContextKind::SuggestedArg) {
        none if none.is_empty() && is_document && !argument.starts_with('-') => {
            format!("; a contract is named by `--contract {}`", quoted(argument.as_ref()))
        }
        _ if matches!(command, Some("record" | "watch")) && !argument.starts_with('-') => {
            "; if it is a command to run, put `--` before it".to_owned()
        }
        _ if ["--version", "-V"].contains(&argument) => "; `contrail --version` prints it".to_owned(),
        suggested => suggested,
    };
    Some(format!("{what} `{argument}`{remedy}"))
}

fn did_you_mean(error: &clap::Error, kind: ContextKind) -> String {
    strings(error, kind).first().map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// `max-body` of `--max-body <BYTES>`.
fn option_of(argument: &str) -> Option<&str> {
    argument.strip_prefix("--")?.split(' ').next()
}

fn string(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    strings(error, kind).first().copied()
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one],
        Some(ContextValue::Strings(all)) => all.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The first paragraph of clap's own message.
fn first_paragraph(message: &str) -> String {
    let wrong = message.split("\n\n").next().unwrap_or(message).trim_start_matches("error: ");
    wrong.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_is_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
        assert_eq!(quoted(Path::new("/plain/ca.pem")), "/plain/ca.pem");
    }
    use crate::cli::command;
    use contrail_contract::ContractError;

    #[test]
    fn an_option_before_the_command_is_named_with_its_place() {
        let early = |words: &[&str]| {
            let arguments: Vec<OsString> = ["contrail"].iter().chain(words).map(OsString::from).collect();
            let error = command().try_get_matches_from(&arguments).unwrap_err();
            early_option(&error, &arguments, &command())
        };
        let expected = "`--color` stands before the command; options follow it, as in `contrail verify --color`; see `contrail verify --help`";
        assert_eq!(early(&["--color", "always", "verify", "x.har"]).as_deref(), Some(expected));
        assert_eq!(early(&["--color=always", "verify", "x.har"]).as_deref(), Some(expected));
        for words in
            [&["--colour", "verify"][..], &["--color", "always"], &["--color", "--", "verify"], &["verify", "--out"]]
        {
            assert_eq!(early(words), None, "{words:?}");
        }
    }

    #[test]
    fn a_refused_permission_names_a_remedy_and_an_error_steers_no_terminal() {
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        let error = ContractError::Unreadable { file: "a\u{1b}.yaml".into(), source: refused() };
        assert_eq!(
            error_chain(&error),
            "cannot read `a\\u{1b}.yaml`: permission denied; check the permissions of the file and its folder, or choose \
             another path"
        );
        let error = io::Error::from(io::ErrorKind::IsADirectory);
        assert_eq!(error_chain(&error), "is a directory; name a file in it");
        let error = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(error_chain(&error), "entity not found");
    }

    #[test]
    fn a_usage_error_is_one_line_with_what_is_wrong_a_suggestion_and_whose_help_to_read() {
        for (words, expected) in [
            (&["verify"][..], "missing <FILE>...; see `contrail verify --help`"),
            (&["record"], "missing --upstream <URL|sandbox> and --out <PATH>; see `contrail record --help`"),
            (
                &["record", "--lissten", "x"],
                "unknown option `--lissten`; did you mean `--listen`? see `contrail record --help`",
            ),
            (&["watch", "--bogus"], "unknown option `--bogus`; see `contrail watch --help`"),
            (
                &["watch", "--upstream", "sandbox", "npm", "test"],
                "unexpected argument `npm`; if it is a command to run, put `--` before it; see `contrail watch --help`",
            ),
            (&["explain", "a", "b"], "unexpected argument `b`; see `contrail explain --help`"),
            (
                &["contract", "a b.yaml"],
                "unexpected argument `a b.yaml`; a contract is named by `--contract 'a b.yaml'`; see `contrail contract --help`",
            ),
            (
                &["validate"],
                "unknown command `validate`; `contrail verify` checks recordings, `contrail contract --check` a contract; see `contrail --help`",
            ),
            (
                &["verify", "--version"],
                "unknown option `--version`; `contrail --version` prints it; see `contrail verify --help`",
            ),
            (&["recrod"], "unknown command `recrod`; did you mean `record`? see `contrail --help`"),
            (
                &["contract", "--format", "jsn"],
                "invalid value `jsn` for `--format`: expected `text` or `json`; did you mean `json`? see `contrail contract --help`",
            ),
            (&["watch", "--out"], "unknown option `--out`; did you mean `--otlp`? see `contrail watch --help`"),
            (&["pack", "x", "--out"], "`--out` is empty: expected a value; see `contrail pack --help`"),
            (
                &["ca", "prnt"],
                "invalid value `prnt` for ACTION: expected `print` or `rotate`; did you mean `print`? see `contrail ca --help`",
            ),
            (
                &["record", "--out", "x", "--upstream", "sandbox", "--append", "--overwrite"],
                "`--append` cannot be combined with `--overwrite`; see `contrail record --help`",
            ),
        ] {
            let error = command().try_get_matches_from([&["contrail"], words].concat()).unwrap_err();
            let name = command().find_subcommand(words[0]).map(|sub| sub.get_name().to_owned());
            assert_eq!(usage_error(&error, name.as_deref(), &Sources::default()), expected, "{words:?}");
        }
    }
}
