//! Settings: flags, variables and `contrail.toml`, which of them counts, and what is refused.

mod generated;

use std::{ffi::OsString, fmt::Write as _};

use contrail::config;
use serde_json::{Value, json};

use crate::support::{
    command::{Ran, contrail, run_in},
    golden::{assert_line, assert_output, assert_transcripts},
    har,
};

#[test]
fn the_example_of_the_file_is_one_that_contrail_takes() {
    let page = include_str!("../../../docs/configuration.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gap = har::get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&har::bearer()), 200, har::POLICY);
    std::fs::write(folder.path().join("x.har"), har::har(&[gap])).unwrap();
    assert_eq!(run_in(folder.path(), ["verify", "x.har"]).status, 0);
    std::fs::write(folder.path().join("contrail.toml"), example).unwrap();
    let ran = run_in(folder.path(), ["verify", "x.har"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "`deny` of the file counts");
    std::fs::write(folder.path().join("contrail.toml"), "denny = []\n").unwrap();
    let ran = run_in(folder.path(), ["verify", "x.har"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert_output("configuration/the_example_of_the_file_is_one_that_contrail_takes", &ran);
}

#[test]
fn an_option_without_effect_gets_a_warning_and_one_that_would_protect_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_transcripts(
        "configuration/an_option_without_effect_gets_a_warning_and_one_that_would_protect_nothing_is_refused",
        folder.path(),
        &[
            "watch --upstream http://127.0.0.1:9 --proxy-auth a:b",
            "replay f --proxy-auth a:b",
            "watch --upstream sandbox --upstream-ca x -- true",
            "watch --upstream http://127.0.0.1:9 --upstream-ca x -- true",
            "watch --upstream http://127.0.0.1:9 --upstream-cert x --upstream-key y -- true",
            "watch --upstream sandbox --upstream-proxy none -- true",
        ],
    );
    let watch = ["watch", "--upstream", "sandbox", "--allow", "unused", "--", "true"];
    let mut command = contrail();
    command.current_dir(folder.path()).args(watch).env("CONTRAIL_PROXY_AUTH", "a:b").env("CONTRAIL_UPSTREAM_CA", "x");
    let ran = Ran::from(command.output().unwrap());
    assert_output("configuration/watch_of_the_sandbox_without_a_request", &ran);
    let plain = ["watch", "--upstream", "http://127.0.0.1:9", "--allow", "unused", "--", "true"];
    let ran = Ran::from(contrail().args(plain).env("CONTRAIL_UPSTREAM_CA", "x").output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    std::fs::write(folder.path().join("contrail.toml"), "upstream-ca = \"x\"\nupstream-proxy = \"none\"\n").unwrap();
    let ran = run_in(folder.path(), watch);
    assert_output("configuration/watch_of_the_sandbox_without_a_request", &ran);
    // A command has a forward listener around it.
    let around = ["--proxy-auth", "a:b", "--allow", "unused", "--", "true"];
    let ran = run_in(folder.path(), ["watch", "--upstream", "sandbox"].into_iter().chain(around));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// Options that need another one, and a value of each.
const DEPENDENT: [(&str, &str); 11] = [
    ("cert", "x"),
    ("key", "x"),
    ("head-to", "x"),
    ("seed", "x"),
    ("proxy-auth", "a:b"),
    ("upstream-ca", "x"),
    ("upstream-key", "x"),
    ("upstream-proxy", "none"),
    ("upstream-http2", "off"),
    ("deny", "stale"),
    ("allow", "denied"),
];

#[test]
fn a_variable_or_the_file_stops_no_command_to_which_it_does_not_apply() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.har"), har::har(&[har::conforming()])).unwrap();
    let replay = ["replay", "x.har", "--allow", "unused", "--", "true"].as_slice();
    let watch = ["watch", "--upstream", "http://127.0.0.1:9", "--allow", "unused", "--", "true"].as_slice();
    for arguments in [replay, watch, &["verify", "x.har"]] {
        let quiet = run_in(folder.path(), arguments).stderr.lines().count();
        for (option, value) in DEPENDENT {
            let variable = format!("CONTRAIL_{}", option.to_ascii_uppercase().replace('-', "_"));
            let mut command = contrail();
            let ran =
                Ran::from(command.current_dir(folder.path()).args(arguments).env(&variable, value).output().unwrap());
            assert_eq!((ran.status, ran.stderr.lines().count()), (0, quiet), "{variable}: {}", ran.stderr);
            std::fs::write(folder.path().join("contrail.toml"), format!("{option} = \"{value}\"\n")).unwrap();
            let ran = run_in(folder.path(), arguments);
            assert_eq!((ran.status, ran.stderr.lines().count()), (0, quiet), "{option}: {}", ran.stderr);
            std::fs::remove_file(folder.path().join("contrail.toml")).unwrap();
        }
    }
}

#[test]
fn a_flag_without_the_option_that_it_needs_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let http = ["watch", "--upstream", "http://127.0.0.1:9"].as_slice();
    let https = ["watch", "--upstream", "https://tenant.example"].as_slice();
    let replay = ["replay", "x.har"].as_slice();
    let cases: [(&[&str], &[&str], &str); 12] = [
        (http, &["--cert", "x"], "--cert has no effect without --tls-listen ADDR"),
        (http, &["--tls-listen", "127.0.0.1:0", "--cert", "x"], "--cert has no effect without --key FILE"),
        (http, &["--tls-listen", "127.0.0.1:0", "--key", "x"], "--key has no effect without --cert FILE"),
        (http, &["--head-to", "x"], "--head-to has no effect without --trail DIR"),
        (http, &["--seed", "x"], "--seed goes with --upstream sandbox only"),
        (https, &["--upstream-cert", "x"], "--upstream-cert has no effect without --upstream-key FILE"),
        (https, &["--upstream-key", "x"], "--upstream-key has no effect without --upstream-cert FILE"),
        (replay, &["--upstream-ca", "x"], "--upstream-ca has no effect without --upstream URL"),
        (replay, &["--upstream-proxy", "none"], "--upstream-proxy has no effect without --upstream URL"),
        (replay, &["--upstream-http2", "off"], "--upstream-http2 has no effect without --upstream URL"),
        (replay, &["--seed", "x"], "--seed has no effect without --upstream URL"),
        (replay, &["--record-missing"], "--record-missing has no effect without --upstream URL"),
    ];
    for (command, options, expected) in cases {
        let ran = run_in(folder.path(), command.iter().chain(options).chain(&["--", "true"]));
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(&format!("contrail: {expected}")), "{options:?}: {}", ran.stderr);
    }
}

/// A value that no option of its kind takes, given as a flag, a variable and a line of the file: the message names the one
/// that held it.
#[test]
fn a_bad_value_is_blamed_on_the_flag_the_variable_or_the_line_of_the_file_that_held_it() {
    let size = "expected a size, such as 65536 (bytes), 64KiB, 10MB or 1G";
    let time = "expected a time, such as 30 (seconds), 0.5, 500ms, 30s, 2m or 1h";
    let choice = "expected `text` or `json`";
    let rule = "`gap` is not a rule; did you mean `gaps`?";
    let cases = [
        ("max-body", "10apples", size),
        ("drain", "soon", time),
        ("workers", "65", "expected a whole number from 1 to 64"),
        ("format", "yaml", choice),
        ("deny", "gap", rule),
        ("exclude", "health", "expected a path with a leading slash, such as /health"),
        ("keep-audience", "maybe", "value was not a boolean"),
    ];
    for (option, value, expected) in cases {
        let variable = format!("CONTRAIL_{}", option.to_ascii_uppercase().replace('-', "_"));
        let folder = tempfile::tempdir().unwrap();
        let watch = |flag: Option<String>, value: &str, file: &str| {
            std::fs::write(folder.path().join("contrail.toml"), file).unwrap();
            let mut command = contrail();
            command.current_dir(folder.path()).args(["watch", "--upstream", "http://127.0.0.1:9"]).args(flag);
            let ran = Ran::from(command.env(&variable, value).output().unwrap());
            assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{option}: {}", ran.stderr);
            ran.stderr
        };
        let message = |name: &str| {
            let end = if expected.ends_with('?') { "" } else { ";" };
            format!("contrail: invalid value `{value}` for {name}: {expected}{end} see `contrail watch --help`\n")
        };
        assert_eq!(watch(None, value, ""), message(&format!("`{variable}`")));
        if option == "keep-audience" {
            continue; // as a flag it takes no value, and the file takes true or false only
        }
        assert_eq!(watch(Some(format!("--{option}={value}")), "ignored", ""), message(&format!("`--{option}`")));
        let line = format!("{option} = \"{value}\"\n");
        let place = format!("`{option}` in contrail.toml, line 2");
        assert_eq!(watch(None, "", &format!("\n{line}")), message(&place), "an empty variable counts as unset");
        let place = format!("`{option}` in [watch] of contrail.toml, line 3");
        assert_eq!(watch(None, "", &format!("{option} = \"x\"\n[watch]\n{line}")), message(&place));
    }
}

#[test]
fn a_value_that_is_refused_after_parsing_names_the_variable_or_the_line_that_set_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("contrail.toml"), "[watch]\nredact = [\n  \"foo:bar\"]\n").unwrap();
    let watch = |variables: &[(&str, &str)]| {
        let mut command = contrail();
        command.current_dir(folder.path()).args(["watch", "--upstream", "http://127.0.0.1:9"]);
        let ran = Ran::from(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        ran.stderr
    };
    assert!(watch(&[]).ends_with(" (--redact is set by [watch] of contrail.toml, line 2)\n"), "{}", watch(&[]));
    let ran = watch(&[("CONTRAIL_REDACT", "personal"), ("CONTRAIL_LISTEN", "8080")]);
    assert!(ran.ends_with(" (--listen is set by CONTRAIL_LISTEN)\n"), "{ran}");
    let ran = watch(&[("CONTRAIL_AUDIENCE", "x"), ("CONTRAIL_KEEP_AUDIENCE", "1")]);
    assert_eq!(
        ran,
        "contrail: `CONTRAIL_AUDIENCE` cannot be combined with `CONTRAIL_KEEP_AUDIENCE`; see `contrail watch --help`\n"
    );
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let folder = tempfile::tempdir().unwrap();
    let names = contrail::cli::command();
    let watch = names.find_subcommand("watch").unwrap();
    let empty = watch.get_arguments().filter_map(|argument| argument.get_env().map(|name| (name.to_owned(), "")));
    let mut command = contrail();
    command
        .current_dir(folder.path())
        .args(["watch", "--upstream", "sandbox", "--allow", "unused", "--", "true"])
        .envs(empty);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn a_variable_of_every_option_that_can_be_repeated_holds_a_list_with_commas() {
    let all = contrail::cli::command();
    let mut tried = 0;
    for command in all.get_subcommands() {
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else { continue };
            let repeatable = matches!(argument.get_action(), clap::ArgAction::Append);
            let value = |name: &str| (argument.get_env() == Some(name.as_ref())).then(|| OsString::from("a,b, c,"));
            let given = vec!["contrail".into(), command.get_name().into()];
            let completed = config::complete(&all, given, value, None).unwrap();
            let items: &[&str] = if repeatable { &["a", "b", "c"] } else { &[] };
            let expected: Vec<OsString> = items.iter().map(|item| format!("--{long}={item}").into()).collect();
            assert_eq!(completed.arguments[2..], expected, "{} --{long}", command.get_name());
            tried += usize::from(repeatable);
        }
    }
    assert!(tried > 20, "{tried}");
}

/// The options of each command that exclude each other, from clap's own tables.
fn exclusive_pairs() -> Vec<(String, clap::Arg, clap::Arg)> {
    let command = contrail::cli::command();
    let pairs = |sub: &clap::Command| {
        let pair = |one: &clap::Arg, other: &clap::Arg| (sub.get_name().to_owned(), one.clone(), other.clone());
        let of = |one: &clap::Arg| {
            let others = sub.get_arg_conflicts_with(one).into_iter().filter(|other| other.get_long().is_some());
            others.map(|other| pair(one, other)).collect::<Vec<_>>()
        };
        sub.get_arguments().filter(|one| one.get_long().is_some()).flat_map(of).collect::<Vec<_>>()
    };
    command.get_subcommands().flat_map(pairs).collect()
}

/// A way to set an option, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Flag,
    Variable,
    Table,
    Top,
}

#[test]
fn of_two_options_that_exclude_each_other_the_flag_beats_the_variable_beats_the_file() {
    const WAYS: [Way; 4] = [Way::Flag, Way::Variable, Way::Table, Way::Top];
    let mut pairs = exclusive_pairs();
    // Whether the file is read is no setting of it.
    pairs.retain(|(_, one, _)| !matches!(one.get_long(), Some("config" | "no-config")));
    assert!(pairs.len() >= 10, "{pairs:?}");
    let folder = tempfile::tempdir().unwrap();
    for (name, one, other) in &pairs {
        // Each command fails right after its options are read.
        let rest: &[&str] = match name.as_str() {
            "record" => &["--upstream", "sandbox", "--out", "fx.har", "--listen", "nowhere"],
            "watch" => &["--upstream", "sandbox", "--listen", "nowhere"],
            "import" => &["missing.har", "--out", "fx.har"],
            "replay" | "redact" | "audit" | "show" => &["missing.har"],
            "inspect" => &["missing.har", "--listen", "nowhere"],
            "contract" => &["--contract", "missing.yaml"],
            other => panic!("`{other}` has options that exclude each other; give it arguments here"),
        };
        // A destination or an act has no place at the top of the file.
        let can = |argument: &clap::Arg, way: Way| way != Way::Top || is_setting(argument);
        for one_way in WAYS.into_iter().filter(|way| can(one, *way)) {
            for other_way in WAYS.into_iter().filter(|way| can(other, *way)) {
                let mut command = contrail();
                let (mut top, mut table) = (String::new(), String::new());
                command.current_dir(folder.path()).arg(name);
                for (argument, way) in [(one, one_way), (other, other_way)] {
                    let long = argument.get_long().unwrap();
                    let value = if argument.get_action().takes_values() { "x" } else { "true" };
                    let quoted = if value == "x" { "\"x\"" } else { "true" };
                    match way {
                        Way::Flag if value == "true" => _ = command.arg(format!("--{long}")),
                        Way::Flag => _ = command.arg(format!("--{long}={value}")),
                        Way::Variable => _ = command.env(argument.get_env().unwrap(), value),
                        Way::Table => writeln!(table, "{long} = {quoted}").unwrap(),
                        Way::Top => writeln!(top, "{long} = {quoted}").unwrap(),
                    }
                }
                std::fs::write(folder.path().join("contrail.toml"), format!("{top}[{name}]\n{table}")).unwrap();
                let ran = Ran::from(command.args(rest).output().unwrap());
                let case = format!(
                    "{name}: {} as {one_way:?}, {} as {other_way:?}: {}",
                    one.get_id(),
                    other.get_id(),
                    ran.stderr
                );
                let ignored = ran.stderr.lines().filter(|line| line.contains("has no effect, because")).count();
                assert_eq!(ran.status, 2, "{case}");
                assert_eq!(ran.stderr.contains("cannot be combined"), one_way == other_way, "{case}");
                assert_eq!(ignored, usize::from(one_way != other_way), "{case}");
                let first = one_way.min(other_way);
                let winner = if first == one_way { one } else { other };
                let long = winner.get_long().unwrap();
                let named = match first {
                    Way::Flag => format!("because `--{long}`"),
                    Way::Variable => format!("because `{}`", winner.get_env().unwrap().display()),
                    Way::Table | Way::Top => format!("because `{long}` in "),
                };
                assert_eq!(ran.stderr.contains(&named), one_way != other_way, "{case}");
            }
        }
    }
}

#[test]
fn a_switch_that_a_variable_or_the_file_turns_off_excludes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("contrail.toml"), "[record]\nappend = false\n").unwrap();
    let record = ["record", "--upstream", "sandbox", "--out", "fx.har", "--listen", "nowhere", "--overwrite"];
    for (variable, arguments) in [("off", &record[..]), ("False", &record[..]), ("0", &record[..7])] {
        let mut command = contrail();
        command.current_dir(folder.path()).args(arguments).env("CONTRAIL_RECORD_APPEND", variable);
        let ran = Ran::from(command.env("CONTRAIL_RECORD_OVERWRITE", "yes").output().unwrap());
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{variable}: {}", ran.stderr);
        assert_line(
            &ran.stderr,
            "contrail: --listen nowhere: it names no port; write HOST:PORT, as in 127.0.0.1:8080 (this machine only) \
             or 0.0.0.0:8080; port 0 takes a free one",
        );
    }
    let ran = run_in(folder.path(), record);
    assert_line(
        &ran.stderr,
        "contrail: --listen nowhere: it names no port; write HOST:PORT, as in 127.0.0.1:8080 (this machine only) or \
         0.0.0.0:8080; port 0 takes a free one",
    );
    assert!(ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

/// Whether an option has one variable for all commands that have it.
fn is_setting(argument: &clap::Arg) -> bool {
    let shared = argument.get_long().map(|long| format!("CONTRAIL_{}", long.to_ascii_uppercase().replace('-', "_")));
    shared.is_some() && argument.get_env().and_then(|name| name.to_str()) == shared.as_deref()
}

#[test]
fn a_destination_or_an_act_that_all_commands_would_read_is_refused_and_names_the_right_place() {
    let all = contrail::cli::command();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contrail.toml");
    let mut acts = 0;
    for command in all.get_subcommands() {
        for argument in command.get_arguments().filter(|argument| argument.get_env().is_some() && !is_setting(argument))
        {
            let (name, long) = (command.get_name(), argument.get_long().unwrap());
            let own = argument.get_env().unwrap().to_str().unwrap();
            let shared = format!("CONTRAIL_{}", long.to_ascii_uppercase().replace('-', "_"));
            let given = || vec!["contrail".into(), name.into()];
            let value = |variable: &str| (variable == shared).then(|| OsString::from("true"));
            let refused = config::complete(&all, given(), value, Some(&file)).unwrap_err().to_string();
            assert!(refused.contains(&format!("set `{own}`, or give `--{long}`")), "{refused}");
            std::fs::write(&file, format!("{long} = true\n")).unwrap();
            let refused = config::complete(&all, given(), |_| None, Some(&file)).unwrap_err().to_string();
            assert!(refused.contains(&format!("line 1: `{long}` cannot")), "{refused}");
            assert!(refused.contains(&format!("[{name}]")), "{refused}");
            std::fs::write(&file, format!("[{name}]\n{long} = true\n")).unwrap();
            assert!(config::complete(&all, given(), |_| None, Some(&file)).is_ok(), "[{name}] {long}");
            std::fs::remove_file(&file).unwrap();
            acts += 1;
        }
    }
    assert!(acts > 20, "{acts}");
}

/// The arguments with which a command does its work; `out` is a new path.
fn usual<'a>(command: &str, out: &'a str) -> Vec<&'a str> {
    match command {
        "record" => vec!["--upstream", "sandbox", "--out", out, "--", "true"],
        "watch" => vec!["--upstream", "sandbox", "--", "true"],
        "replay" => vec!["a.har", "--", "true"],
        "export" => vec!["a.har", "--parquet", out],
        "import" | "unpack" => vec!["a.har", "--out", out],
        "pack" => vec!["a.har", "--out", "packed.har", "--overwrite"],
        "diff" => vec!["a.har", "a.har"],
        "merge" => vec!["a.har", "a.har", "--out", out],
        "ignore" => vec!["--suggest", "a.har", "a.har"],
        "verify" | "audit" | "learn" | "coverage" | "scan" | "redact" | "show" => vec!["a.har"],
        "unused" => vec!["a.har", "--used", "a.json"],
        "sandbox" => vec!["--print-seed"],
        "man" => vec![out],
        "completions" => vec!["bash"],
        "demo" | "contract" | "explain" | "ca" | "config" => vec![],
        other => panic!("give `{other}` arguments here"),
    }
}

#[test]
fn no_variable_makes_a_command_replace_a_recording() {
    let all = contrail::cli::command();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let recording = har::har(&[har::conforming()]);
    std::fs::create_dir(path("kept")).unwrap();
    for name in ["a.har", "kept.har", "kept/kept.har", "kept/getX-01-response.json"] {
        std::fs::write(path(name), &recording).unwrap();
    }
    let mut tried = 0;
    // `inspect` runs until a signal, and writes nothing.
    for command in all.get_subcommands().filter(|command| !["help", "inspect"].contains(&command.get_name())) {
        let name = command.get_name();
        let settings: Vec<_> = command.get_arguments().filter(|argument| is_setting(argument)).collect();
        let variable = |argument: &clap::Arg| argument.get_env().unwrap().to_owned();
        let switches = settings.iter().filter(|setting| !setting.get_action().takes_values());
        let mut runs = vec![switches.map(|setting| (variable(setting), "true")).collect::<Vec<_>>()];
        for setting in settings {
            let names = setting.get_value_names().unwrap_or_default().join(" ");
            let values: &[&str] = match (setting.get_long(), &*names) {
                (Some("report"), _) => &["json=kept.har", "html=kept/kept.har"],
                (_, names) if ["FILE", "DIR", "PATH", "OUT"].iter().any(|place| names.contains(place)) => {
                    &["kept.har", "kept"]
                }
                _ => &[],
            };
            runs.extend(values.iter().map(|value| vec![(variable(setting), *value)]));
        }
        for variables in runs {
            let out = format!("new-{tried}");
            let mut run = contrail();
            run.current_dir(folder.path()).env("HOME", folder.path()).arg(name).args(usual(name, &out));
            let ran = Ran::from(run.envs(variables.iter().cloned()).output().unwrap());
            for kept in ["a.har", "kept.har", "kept/kept.har", "kept/getX-01-response.json"] {
                let now = std::fs::read_to_string(path(kept)).unwrap_or_default();
                assert!(now == recording, "{name} with {variables:?} changed {kept}: {}", ran.stderr);
            }
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn overwrite_replaces_no_file_of_another_kind_than_the_command_writes() {
    let folder = tempfile::tempdir().unwrap();
    let recording = har::har(&[har::conforming()]);
    let overlay = "overlay: 1.0.0\ninfo: {title: mine, version: '1'}\nactions: []\n";
    let files = [("a.har", &*recording), ("kept.har", &*recording), ("overlay.har", overlay), ("notes.txt", "mine\n")];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::create_dir(folder.path().join("tables")).unwrap();
    std::fs::write(folder.path().join("tables/findings.parquet"), "PAR1").unwrap();
    for arguments in [
        "learn a.har --out kept.har --overwrite",
        "learn a.har --out tables/findings.parquet --overwrite",
        "contract --export kept.har",
        "contract --export overlay.har",
        "verify a.har --report json=kept.har",
        "verify a.har --report text=overlay.har",
        "redact notes.txt --out kept.har --overwrite",
        "redact a.har --out overlay.har --overwrite",
        "import a.har --out overlay.har --overwrite",
        "import a.har --out overlay.har --append",
        "import a.har --out tables --overwrite",
        "pack a.har --out overlay.har --overwrite",
        "unpack a.har --out tables --overwrite",
        "record --upstream sandbox --out overlay.har --overwrite -- true",
        "record --upstream sandbox --out tables --overwrite -- true",
    ] {
        let ran = run_in(folder.path(), arguments.split(' '));
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{arguments}: {}", ran.stderr);
        for (name, text) in files {
            assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), text, "{arguments}");
        }
    }
}

#[test]
fn an_upstream_that_is_the_embedded_tenant_is_ignored_where_only_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    std::fs::write(folder.path().join("contrail.toml"), "upstream = \"sandbox\"\n").unwrap();
    let ran = run_in(folder.path(), ["import", "a.har", "--out", "fx.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    std::fs::remove_file(folder.path().join("contrail.toml")).unwrap();
    let ran = run_in(folder.path(), ["import", "a.har", "--out", "fx2.har", "--upstream", "sandbox"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}

#[test]
fn a_file_above_counts_from_its_own_folder_and_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let sub = folder.path().join("a/b");
    std::fs::create_dir_all(&sub).unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    let gap = har::get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&har::bearer()), 200, har::POLICY);
    std::fs::write(sub.join("x.har"), har::har(&[gap])).unwrap();
    let file = "deny = [\"gaps\"]\nreport = [\"json=found.json\"]\n[redact]\nout = \"there.har\"\n";
    std::fs::write(folder.path().join("contrail.toml"), file).unwrap();
    let ran = run_in(&sub, ["verify", "x.har"]);
    assert_eq!((ran.status, &*ran.stderr), (1, "contrail: settings come from `../../contrail.toml`\n"));
    assert!(folder.path().join("found.json").exists(), "a relative path starts at the folder of the file");
    assert_eq!(run_in(&sub, ["redact", "x.har", "--out", "here.har"]).status, 0);
    assert_eq!(run_in(&sub, ["redact", "x.har"]).status, 0);
    assert!(sub.join("here.har").exists() && folder.path().join("there.har").exists());
    let ran = run_in(&sub, ["verify", "x.har", "--no-config"]);
    assert_eq!((ran.status, &*ran.stderr), (0, ""));
    std::fs::write(sub.join("mine.toml"), "deny = [\"gaps\"]\n").unwrap();
    assert_eq!(run_in(&sub, ["verify", "x.har", "--config", "mine.toml"]).status, 1);
    let ran = run_in(&sub, ["verify", "x.har", "--config", "missing.toml"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
}

#[test]
fn config_prints_each_value_with_its_source_and_no_password() {
    let folder = tempfile::tempdir().unwrap();
    let file = "deny = [\"gaps\"]\nproxy-auth = \"me:hunter2-hunter2\"\nquiet = false\n[record]\nout = \"fx\"\n";
    std::fs::write(folder.path().join("contrail.toml"), file).unwrap();
    let config = |arguments: &[&str]| {
        let mut command = contrail();
        command.current_dir(folder.path()).arg("config").args(arguments).env("CONTRAIL_CONTRACT", "a.yaml,b.yaml");
        Ran::from(command.env("CONTRAIL_UPSTREAM", "https://me:hunter2-hunter2@tenant.example").output().unwrap())
    };
    let ran = config(&[]);
    assert_eq!((ran.status, &*ran.stderr), (0, ""));
    assert_output("configuration/config_prints_each_value_with_its_source", &ran);
    let ran = config(&["record", "--format", "json"]);
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let of = |option: &str| {
        printed["settings"].as_array().unwrap().iter().find(|one| one["option"] == option).cloned().unwrap()
    };
    assert_eq!(of("out")["source"], "[record] of contrail.toml, line 5");
    assert_eq!((&of("max-body")["values"][0], &of("max-body")["source"]), (&json!("64MiB"), &json!("default")));
    assert_eq!(config(&["recrod"]).stderr, "contrail: no command is called `recrod`; did you mean `record`?\n");
}
