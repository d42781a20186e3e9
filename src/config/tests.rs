use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, value_parser};

use super::*;

fn options() -> Command {
    let size = Arg::new("max_body").long("max-body").value_parser(value_parser!(u64));
    let out = Arg::new("out").long("out").required(true);
    let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
    let only = Arg::new("only").long("only").action(ArgAction::Append);
    let pool = Arg::new("pool").long("pool");
    Command::new("contrail")
        .subcommand(Command::new("record").args([size.clone(), out, force, only, pool]))
        .subcommand(Command::new("watch").args([size]))
}

fn command() -> Command {
    with_variables(options(), |_| None)
}

/// The command line that the file completes; its path is replaced by its name.
fn completed(file: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Completed, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    std::fs::write(&path, file).unwrap();
    let arguments = arguments.iter().map(OsString::from).collect();
    let value = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| value.into());
    let mut completed = complete(&with_variables(options(), value), arguments, value, Some(&path))
        .map_err(|error| error.to_string().replace(&path.display().to_string(), FILE))?;
    for source in completed.sources.0.values_mut() {
        if let Source::File { path, .. } = source {
            *path = FILE.into();
        }
    }
    Ok(completed)
}

fn merged(file: &str, arguments: &[&str]) -> Result<Vec<String>, String> {
    let completed = completed(file, arguments, &[])?;
    Ok(completed.arguments.into_iter().map(|argument| argument.into_string().unwrap()).collect())
}

#[test]
fn the_file_fills_in_what_the_command_line_leaves_out() {
    let file = "max-body = 5\n[record]\nout = \"a\"\nforce = true\nonly = [\"x\", \"y\"]\n";
    assert_eq!(
        merged(file, &["contrail", "record", "--out", "b", "--", "cmd"]).unwrap(),
        ["contrail", "record", "--max-body=5", "--force", "--only=x", "--only=y", "--out", "b", "--", "cmd"]
    );
    assert_eq!(merged(file, &["contrail", "watch"]).unwrap(), ["contrail", "watch", "--max-body=5"]);
    let file = "[record]\nonly = [\"x,y\"]\n";
    assert_eq!(merged(file, &["contrail", "record"]).unwrap(), ["contrail", "record", "--only=x,y"]);
}

#[test]
fn an_option_of_the_command_that_is_run_is_not_ours() {
    let arguments = ["contrail", "record", "--", "cmd", "--max-body", "6"];
    let merged = merged("max-body = 5\n", &arguments).unwrap();
    assert_eq!(merged[2], "--max-body=5");
}

#[test]
fn a_table_of_a_command_beats_the_top_of_the_file() {
    assert_eq!(
        merged("max-body = 5\n[watch]\nmax-body = 6", &["contrail", "watch"]).unwrap(),
        ["contrail", "watch", "--max-body=6"]
    );
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_and_an_empty_variable_counts_as_unset() {
    let file = "\nmax-body = 5\n[record]\n\"only\" = [\n  \"x\"]\nforce = true\n";
    let arguments = ["contrail", "record", "--out=b"];
    let variables =
        [("CONTRAIL_RECORD_FORCE", "no"), ("CONTRAIL_ONLY", ""), ("CONTRAIL_RECORD_OUT", "c"), ("CONTRAIL_POOL", "")];
    let sources = completed(file, &arguments, &variables).unwrap().sources;
    assert_eq!((sources.get("out"), sources.get("pool")), (Some(&Source::Flag), None));
    let names = ["out", "pool", "force", "max-body", "only"].map(|option| sources.name(option));
    assert_eq!(
        names,
        [
            "`--out`",
            "`--pool`",
            "`CONTRAIL_RECORD_FORCE`",
            "`max-body` in contrail.toml, line 2",
            "`only` in [record] of contrail.toml, line 4"
        ]
    );
    let note = sources.note("--out x; --force, --max-bodyguard or --only-not").unwrap();
    assert_eq!(note, "--force is set by CONTRAIL_RECORD_FORCE");
    assert_eq!(sources.note("--out x"), None);
}

#[test]
fn a_key_that_is_not_an_option_is_an_error_with_a_hint() {
    assert_eq!(
        merged("max_body = 5", &["contrail", "watch"]).unwrap_err(),
        "contrail.toml, line 1: no command has an option `max_body`; did you mean `max-body`?"
    );
    assert_eq!(
        merged("[watch]\nforce = true", &["contrail", "watch"]).unwrap_err(),
        "contrail.toml, line 2: no command has an option `watch.force`; docs/configuration.md lists the options"
    );
    assert_eq!(
        merged("[record]\n foo = 1", &["contrail", "watch"]).unwrap_err(),
        "contrail.toml, line 2: no command has an option `record.foo`; docs/configuration.md lists the options"
    );
    assert_eq!(
        merged("\n[wach]\nforce = true", &["contrail", "watch"]).unwrap_err(),
        "contrail.toml, line 2: no command is called `wach`; did you mean `[watch]`?"
    );
    assert_eq!(
        merged("[kubernetes]\nforce = true", &["contrail", "watch"]).unwrap_err(),
        "contrail.toml, line 1: no command is called `kubernetes`; `contrail --help` lists the commands"
    );
}

#[test]
fn a_variable_that_resembles_an_options_gets_a_suggestion_and_any_other_is_left_alone() {
    let given = [
        "CONTRAIL_RECORD_OUTT",
        "CONTRAIL_RECORD_OUT",
        "CONTRAIL_OUT",
        "CONTRAIL_URL",
        "CONTRAIL_LOG",
        "CONTRAIL_KUBERNETES",
        "OTHER",
    ];
    let misspelt = misspelt_variables(&command(), given.iter().map(ToString::to_string));
    assert_eq!(misspelt, [("CONTRAIL_RECORD_OUTT".to_owned(), "CONTRAIL_RECORD_OUT".to_owned())]);
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_that_says_what_to_write() {
    let wrong = |file: &str| merged(file, &["contrail", "record"]).unwrap_err();
    assert_eq!(wrong("[record]\nforce = \"yes\""), "contrail.toml, line 2: `record.force` must be true or false");
    assert_eq!(
        wrong("[record]\nmax-body = 1979-05-27"),
        "contrail.toml, line 2: `record.max-body` must be a string, a number, or a list of them"
    );
    assert_eq!(wrong("only = [[]]"), "contrail.toml, line 1: `only` must be a list of strings or numbers");
    let broken = wrong("pool = 1\nmax-body = ");
    assert!(broken.starts_with("contrail.toml, line 2: invalid TOML: "), "{broken}");
}

#[test]
fn every_option_has_a_variable() {
    let command = command();
    let record = command.find_subcommand("record").unwrap();
    let variables: Vec<_> = record.get_arguments().filter_map(|argument| argument.get_env()).collect();
    let expected =
        ["CONTRAIL_MAX_BODY", "CONTRAIL_RECORD_OUT", "CONTRAIL_RECORD_FORCE", "CONTRAIL_ONLY", "CONTRAIL_POOL"];
    assert_eq!(variables, expected);
}

#[test]
fn a_destination_or_an_act_belongs_to_one_command_and_is_refused_where_all_would_read_it() {
    let record = ["contrail", "record"];
    for variable in [("CONTRAIL_OUT", "a"), ("CONTRAIL_FORCE", "no")] {
        let refused = completed("", &["contrail", "record", "--out=b"], &[variable]).unwrap_err();
        let option = variable.0.trim_start_matches("CONTRAIL_");
        let (own, flag) = (format!("CONTRAIL_RECORD_{option}"), option.to_lowercase());
        let expected = format!("`{}` cannot apply to every command; set `{own}`, or give `--{flag}`", variable.0);
        assert_eq!(refused, expected);
        assert!(completed("", &["contrail", "watch"], &[variable]).is_ok(), "watch has no such option");
    }
    assert!(completed("", &record, &[("CONTRAIL_OUT", ""), ("CONTRAIL_RECORD_OUT", "a")]).is_ok());
    for command in ["record", "watch"] {
        assert_eq!(
            merged("max-body = 5\nout = \"a\"", &["contrail", command]).unwrap_err(),
            "contrail.toml, line 2: `out` cannot apply to every command; write it below [record]"
        );
    }
}
