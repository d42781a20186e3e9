//! `--help` of every command is a file under `tests/data/help`; `UPDATE_GOLDENS=1` rewrites them.

use crate::support::{
    command::{Ran, contrail},
    golden::assert_golden,
};

fn help(command: &str) -> String {
    let mut contrail = contrail();
    let arguments = (!command.is_empty()).then_some(command).into_iter().chain(["--help"]);
    let ran = Ran::from(contrail.env("COLUMNS", "100").args(arguments).output().unwrap());
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
