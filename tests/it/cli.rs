//! The command line's manners: help, usage errors, exit statuses, one clear line on standard error.

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
};

use crate::support::command::{Ran, contrail, limited, run, run_in};
use crate::support::golden::{assert_error, assert_line, assert_output, assert_transcripts};

fn subcommands() -> Vec<String> {
    contrail::cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn help_names_every_command_and_describes_it() {
    let help = run(["--help"]);
    assert_eq!((help.status, help.stderr.as_str()), (0, ""));
    for command in contrail::cli::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(about.len() > 10, "`{}` does not say what it does", command.get_name());
        assert!(help.stdout.contains(command.get_name()), "{}", help.stdout);
    }
}

#[test]
fn every_command_has_help_on_standard_output_with_status_0() {
    for command in subcommands() {
        let help = run([command.as_str(), "--help"]);
        assert_eq!((help.status, help.stderr.as_str()), (0, ""), "{command}");
        assert!(help.stdout.contains(&format!("Usage: contrail {command}")), "{}", help.stdout);
    }
}

#[test]
fn every_option_and_argument_is_described() {
    for command in contrail::cli::command().get_subcommands() {
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.len() > 8, "`contrail {}`: {} says {help:?}", command.get_name(), argument.get_id());
        }
    }
}

#[test]
fn a_usage_error_is_status_2_and_goes_to_standard_error_only() {
    for arguments in [
        &["no-such-command"][..],
        &["verify", "--no-such-option", "x.har"],
        &["verify"],
        &["verify", "--format", "yaml", "x.har"],
        &["verify", "--deny", "no.such.rule", "x.har"],
        &["verify", "--allow", "gaps", "x.har"],
        &["verify", "--report", "pdf", "x.har"],
        &["verify", "--clock-skew", "soon", "x.har"],
        &["explain", "no.such.rule"],
        &["replay"],
        &["record"],
        &[],
    ] {
        let ran = run(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_version_is_printed_with_the_features_of_the_build() {
    let printed = run(["--version"]).stdout;
    assert!(printed.starts_with(&format!("contrail {} ", env!("CARGO_PKG_VERSION"))), "{printed}");
    let fleet = if cfg!(feature = "fleet") { "+fleet" } else { "-fleet" };
    assert!(printed.ends_with(&format!("{fleet}\n")), "{printed}");
}

#[test]
fn a_file_that_is_not_there_is_status_2_and_one_line_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    assert_transcripts(
        "cli/a_file_that_is_not_there_is_status_2_and_one_line_that_names_it",
        folder.path(),
        &[
            "verify missing.har",
            "replay missing.har",
            "scan missing.har",
            "redact missing.har",
            "pack missing --out x.har",
            "unpack missing.har --out x/",
            "contract --contract missing.har",
        ],
    );
}

#[test]
fn a_number_that_is_invalid_or_out_of_bounds_is_refused_with_what_is_expected() {
    let size = "expected a size, such as 65536 (bytes), 64KiB, 10MB or 1G";
    let time = "expected a time, such as 30 (seconds), 0.5, 500ms, 30s, 2m or 1h";
    for (command, option, value, expected) in [
        ("watch", "--body-rate", "x", size),
        ("watch", "--max-body", "1.5", size),
        ("watch", "--max-header-bytes", "10 apples", size),
        ("watch", "--trail-segment", "-1", size),
        ("watch", "--max-decoded", "1T", size),
        ("verify", "--clock-skew", "soon", time),
        ("watch", "--drain", "0", time),
        ("watch", "--max-ratio", "1.5", "expected a whole number, 0 or more"),
        ("watch", "--workers", "-1", "expected a whole number from 1 to 64"),
        ("watch", "--max-depth", "2001", "expected a whole number from 1 to 2000"),
        ("verify", "--max-depth", "0", "expected a whole number from 1 to 2000"),
    ] {
        let ran = run([command, option, value]);
        assert_eq!(ran.status, 2, "{option} {value}: {}", ran.stderr);
        let start = format!("contrail: invalid value `{value}` for `{option}`: {expected}");
        assert!(ran.stderr.starts_with(&start), "{}", ran.stderr);
    }
}

#[test]
fn the_fault_of_an_expression_is_named_in_one_line() {
    let ran = run(["watch", "--upstream", "sandbox", "--redact", "regex:("]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert_output("cli/the_fault_of_an_expression_is_named_in_one_line", &ran);
}

#[test]
fn a_full_disk_below_standard_output_is_status_2_and_named() {
    for arguments in [&["contract"][..], &["contract", "--export"], &["explain"], &["sandbox", "--explain"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran: Ran = contrail().args(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap().into();
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("contrail: cannot write to standard output: "), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_limit_on_file_sizes_is_reported_as_a_full_disk_is_and_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let recording = fs::canonicalize("fixtures/gaps.har").unwrap();
    let recording = recording.to_str().unwrap();
    for arguments in [
        ["pack", recording, "--out", "packed.har"],
        ["unpack", recording, "--out", "unpacked"],
        ["redact", recording, "--out", "clean.har"],
        ["import", recording, "--out", "imported.har"],
        ["contract", "--format=text", "--export", "contract.yaml"],
    ] {
        let ran = limited("ulimit -f 4").current_dir(folder.path()).args(arguments).output().unwrap();
        let Ran { status, stderr, .. } = ran.into();
        assert!(
            status == 2 && stderr.contains("File too large") && stderr.lines().count() == 1,
            "{arguments:?}: {stderr}"
        );
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{arguments:?}: {left:?}");
    }
}

#[test]
fn bundles_for_the_command_that_find_no_room_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    fs::write(&roots, [b'\n'; 8192]).unwrap();
    let arguments = "watch --upstream sandbox --ca-dir ca -- true".split(' ');
    let ran =
        limited("ulimit -f 4").current_dir(folder.path()).env("SSL_CERT_FILE", roots).args(arguments).output().unwrap();
    let Ran { status, stderr, .. } = ran.into();
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.starts_with("contrail: cannot write the CA bundles for the command "), "{stderr}");
    assert_line(
        &stderr,
        "contrail: cannot write the CA bundles for the command to a folder in /tmp: File too large (os error 27); \
         make room there, or set TMPDIR",
    );
    assert!(stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn units_are_taken_in_flags_variables_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("contrail.toml"), "max-capture = \"64KiB\"\ndrain = \"500ms\"\n").unwrap();
    let ran = contrail()
        .current_dir(folder.path())
        .args(["watch", "--upstream", "sandbox", "--max-body", "10MB", "--keep-alive", "2m"])
        .args(["--allow", "unused", "--", "true"])
        .envs([("CONTRAIL_MAX_DECODED", "1G"), ("CONTRAIL_CONNECT_TIMEOUT", "1.5s")])
        .output()
        .unwrap();
    let Ran { status, stderr, .. } = ran.into();
    assert_eq!(status, 0, "{stderr}");
}

#[test]
fn the_defaults_of_sizes_are_those_of_the_library() {
    let defaults = |option: &str| {
        let command = contrail::cli::command();
        let watch = command.get_subcommands().find(|sub| sub.get_name() == "watch").unwrap().clone();
        let argument = watch.get_arguments().find(|argument| argument.get_long() == Some(option)).unwrap().clone();
        argument.get_default_values()[0].to_string_lossy().into_owned()
    };
    let mebibytes = |bytes: u64| format!("{}MiB", bytes >> 20);
    let decoded = contrail_exchange::DecodeLimits::default().bytes as u64;
    assert_eq!(defaults("max-decoded"), mebibytes(decoded));
    assert_eq!(defaults("trail-segment"), mebibytes(contrail_recording::TrailOptions::default().segment));
}

/// What contrail answers to a shell that asks what may follow these words.
fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut command = contrail();
    command.current_dir(folder).env("CONTRAIL_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).args(["--", "contrail"]).args(words);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_commands_options_rules_files_and_the_operations_of_the_contract_in_force() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.har"), "").unwrap();
    let notes = "openapi: 3.1.0\ninfo: {title: N, version: '1'}\npaths:\n  /n:\n    get:\n      operationId: \
                 listNotes\n      responses: {'200': {description: ok}}\n";
    std::fs::write(folder.path().join("notes.yaml"), notes).unwrap();
    let of = |words: &[&str]| completed(folder.path(), words);
    assert_eq!(of(&["ver"]), ["verify"]);
    assert!(!of(&[""]).contains(&"man".to_owned()), "what is hidden stays hidden");
    assert_eq!(of(&["verify", "--basel"]), ["--baseline"]);
    assert_eq!(of(&["verify", "sh"]), ["shop.har"]);
    assert_eq!(of(&["explain", "request.body.undo"]), ["request.body.undocumented"]);
    assert_eq!(of(&["verify", "--deny", "ga"]), ["gaps"]);
    assert_eq!(of(&["verify", "--report", "ju"]), ["junit"]);
    assert_eq!(of(&["audit", "--operation", "getRateLimitP"]), ["getRateLimitPolicy"]);
    assert_eq!(of(&["audit", "--contract", "notes.yaml", "--operation", "l"]), ["listNotes"]);
    std::fs::write(folder.path().join("contrail.toml"), "contract = [\"notes.yaml\"]\n").unwrap();
    assert_eq!(of(&["record", "--only", "l"]), ["listNotes"]);
    assert_eq!(of(&["watch", "--color", ""]), ["auto", "always", "never"]);
}

#[test]
fn bash_takes_the_completions() {
    let folder = tempfile::tempdir().unwrap();
    let script = "source <(contrail completions bash); COMP_WORDS=(contrail verif); COMP_CWORD=1; COMP_TYPE=9; \
                  _clap_complete_contrail contrail verif contrail; echo \"${COMPREPLY[*]}\"; complete -p contrail";
    let path = Path::new(env!("CARGO_BIN_EXE_contrail")).parent().unwrap().display().to_string();
    let mut bash = std::process::Command::new("bash");
    bash.current_dir(folder.path()).env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()));
    let ran = Ran::from(bash.args(["-c", script]).output().unwrap());
    assert!(ran.stdout.starts_with("verify\n"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("-F _clap_complete_contrail contrail"), "{}", ran.stdout);
}

#[test]
fn zsh_completes_at_the_first_tab_after_it_found_the_script_in_a_folder() {
    let script = run(["completions", "zsh"]).stdout;
    let end = "if [ \"$funcstack[1]\" = _contrail ]; then\n    _clap_dynamic_completer_contrail \"$@\"\nelse\n    \
               compdef _clap_dynamic_completer_contrail contrail\nfi\n";
    assert!(script.starts_with("#compdef contrail\n") && script.ends_with(end), "{script}");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["man", "share/man1"]);
    assert_eq!((ran.status, &*ran.stdout, &*ran.stderr), (0, "", ""));
    let page = |name: &str| std::fs::read_to_string(folder.path().join("share/man1").join(name)).unwrap();
    assert!(page("contrail.1").contains("contrail\\-record(1)"), "{}", page("contrail.1"));
    for command in contrail::cli::command().get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let page = page(&format!("contrail-{}.1", command.get_name()));
        for section in [".TH contrail-", "\"contrail 0.", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXAMPLES"] {
            assert!(page.contains(section), "{} has no {section}", command.get_name());
        }
    }
    let synopsis = "\\fBcontrail verify\\fR [OPTIONS] <FILE>...";
    assert!(page("contrail-verify.1").contains(synopsis), "{}", page("contrail-verify.1"));
    let ran = run_in(folder.path(), ["man", "share/man1/contrail.1"]);
    assert_error(&ran, 2, "contrail: cannot write to `share/man1/contrail.1`: File exists (os error 17)");
}

#[test]
fn color_is_forced_and_refused_by_flag_and_variable_and_ci_logs_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let watch = |options: &[&str], variable: (&str, &str)| {
        let mut command = contrail();
        command.current_dir(folder.path()).args(["watch", "--upstream", "sandbox", "--allow", "unused"]).args(options);
        let client = "curl -s -o /dev/null \"$CONTRAIL_URL/api/v2/nothing\"";
        let ran = Ran::from(command.env(variable.0, variable.1).args(["--", "sh", "-c", client]).output().unwrap());
        assert!(ran.stderr.contains("operation.undocumented"), "{}", ran.stderr);
        ran.stderr.contains("\x1b[33mgap\x1b[0m")
    };
    assert!(!watch(&[], ("X", "")));
    assert!(watch(&["--color", "always"], ("NO_COLOR", "1")));
    assert!(watch(&[], ("CLICOLOR_FORCE", "1")));
    assert!(watch(&[], ("GITHUB_ACTIONS", "true")));
    assert!(!watch(&["--color=never"], ("GITLAB_CI", "true")));
    assert!(!watch(&[], ("NO_COLOR", "1")));
}
