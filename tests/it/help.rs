//! `--help` of every command is a file under `tests/data/help`; `UPDATE_GOLDENS=1` rewrites them.

use crate::support::{
    command::{Ran, contrail},
    golden::assert_golden,
};

fn help(command: &str) -> String {
    printed(command, "--help", "100")
}

fn printed(command: &str, option: &str, columns: &str) -> String {
    let mut contrail = contrail();
    let arguments = (!command.is_empty()).then_some(command).into_iter().chain([option]);
    let ran = Ran::from(contrail.env("COLUMNS", columns).args(arguments).output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command}");
    ran.stdout
}

#[test]
fn the_help_of_every_command_is_in_a_golden_file() {
    assert_golden("help/contrail.txt", &help(""));
    for command in contrail::cli::command().get_subcommands() {
        assert_golden(&format!("help/{}.txt", command.get_name()), &help(command.get_name()));
    }
}

#[test]
fn no_summary_of_an_option_ends_in_a_full_stop() {
    for command in contrail::cli::command().get_subcommands() {
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.ends_with('.'), "{} --{}: {help}", command.get_name(), argument.get_id());
            for value in argument.get_possible_values() {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.ends_with('.'), "{} --{}: {help}", command.get_name(), argument.get_id());
            }
        }
    }
}

#[test]
fn the_short_help_of_every_command_fits_on_a_screen_and_names_no_variable() {
    let names = contrail::cli::command().get_subcommands().map(|sub| sub.get_name().to_owned()).collect::<Vec<_>>();
    for name in names.iter().map(String::as_str).chain([""]) {
        let help = printed(name, "-h", "80");
        let lines = help.lines().count();
        assert!(lines <= 40, "`contrail {name} -h` has {lines} lines:\n{help}");
        assert!(!help.contains("[env:"), "{help}");
        let headings = help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' '));
        let known = ["Arguments:", "Options:", "Examples:", "Commands:"];
        assert!(headings.clone().all(|heading| known.contains(&heading)), "{help}");
        if help.contains("[CMD]...") {
            assert_eq!(headings.collect::<Vec<_>>(), ["Arguments:", "Options:", "Examples:"], "{help}");
        }
    }
}

/// The words of a command line, of which one in quotes may hold spaces.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts.flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }).collect()
}

#[test]
fn contrail_takes_the_examples_of_every_help() {
    let command = contrail::cli::command();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let end = sub.get_after_help().unwrap_or_else(|| panic!("{} has no examples", sub.get_name())).to_string();
        let examples: Vec<&str> = end.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(examples.len(), 3, "{end}");
        for example in examples {
            assert!(example.len() <= 78, "{example} does not fit on a line");
            if let Err(error) = contrail::cli::command().try_get_matches_from(words(example)) {
                panic!("{example}: {error}");
            }
        }
        let page = end.rsplit("Manual: ").next().unwrap();
        assert!(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(page).exists(), "{page}");
    }
}
