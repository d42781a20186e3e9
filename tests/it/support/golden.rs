//! Goldens: expected output as files. `UPDATE_GOLDENS=1 cargo test` rewrites them; review the diff as code.

use std::{fs, path::Path};

use regex::Regex;

use super::command::{Ran, run_in};

/// Compares `actual` with the file `tests/data/NAME`, whole.
#[track_caller]
pub fn assert_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("tests/data/{name}: {error}; UPDATE_GOLDENS=1 writes it"));
    assert!(
        expected == actual,
        "tests/data/{name} differs; UPDATE_GOLDENS=1 rewrites it\n--- expected\n{expected}\n--- actual\n{actual}"
    );
}

/// Compares the whole output of a run, and its exit status, with the file `tests/data/NAME.txt`.
#[track_caller]
pub fn assert_output(name: &str, ran: &Ran) {
    let error = if ran.stderr.is_empty() { String::new() } else { format!("--- standard error\n{}", ran.stderr) };
    assert_golden(&format!("{name}.txt"), &masked(&format!("{}{error}--- status {}\n", ran.stdout, ran.status)));
}

/// A command, its standard error and its exit status, as a golden holds them.
pub fn transcript(command: &str, ran: &Ran) -> String {
    format!("$ {command}\n{}status {}\n", masked(&ran.stderr), ran.status)
}

/// Runs each command in a folder; compares their standard error and exit status with the file `tests/data/NAME.txt`.
#[track_caller]
pub fn assert_transcripts(name: &str, folder: &Path, commands: &[&str]) {
    let run = |command: &&str| transcript(&format!("contrail {command}"), &run_in(folder, command.split(' ')));
    assert_golden(&format!("{name}.txt"), &commands.iter().map(run).collect::<String>());
}

/// The text has `expected` as whole lines. What differs between runs may be named by its placeholder ([`masked`]).
#[track_caller]
pub fn assert_line(text: &str, expected: &str) {
    let masked = replaced(text, |mask| expected.contains(mask));
    assert!(holds(text, expected) || holds(&masked, expected), "no line is\n{expected}\n--- in\n{text}");
}

fn holds(text: &str, expected: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    format!("\n{text}\n").contains(&format!("\n{expected}\n"))
}

/// A run ended with this status, and its standard error has this line.
#[track_caller]
pub fn assert_error(ran: &Ran, status: i32, line: &str) {
    assert_line(&ran.stderr, line);
    assert_eq!(ran.status, status, "{}{}", ran.stdout, ran.stderr);
}

/// A run ended with this status, and its standard output has this line.
#[track_caller]
pub fn assert_reported(ran: &Ran, status: i32, line: &str) {
    assert_line(&ran.stdout, line);
    assert_eq!(ran.status, status, "{}{}", ran.stdout, ran.stderr);
}

/// The text with placeholders where runs differ: ports, durations, instants, hashes, ids, secrets, folders of tests, and
/// the system's words for a name without an address.
pub fn masked(text: &str) -> String {
    replaced(text, |_| true)
}

/// A report of `junit` of live exchanges with placeholders, those for its times included.
pub fn masked_junit(report: &str) -> String {
    Regex::new(r#"time="[0-9.]+""#).unwrap().replace_all(&masked(report), "time=\"TIME\"").into_owned()
}

/// The text with the placeholders that `wanted` picks.
fn replaced(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    const MASKS: [(&str, &str); 12] = [
        (r"((?:127\.0\.0\.1|127\.1|0\.0\.0\.0|localhost):)[0-9]{5}", "${1}PORT"),
        (r"\b[0-9]+ ms\b", "TIME ms"),
        (r"\bin [0-9]+\.[0-9] s\b", "in TIME s"),
        (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "INSTANT"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5} UTC, by contrail [0-9.]+", "INSTANT, by contrail VERSION"),
        (r"(sandbox client [a-z-]+ secret )[A-Za-z0-9_-]{30,}", "${1}SECRET"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"\b[0-9a-f]{32}\b", "ID"),
        (r"/tmp/\.tmp[A-Za-z0-9]+", "FOLDER"),
        (r"\.draft-[A-Za-z0-9]{6}", ".draft-ID"),
        (r"(?m)^the disk was slow: .*\n", ""),
        (r"(failed to lookup address information): .*", "${1}: REASON"),
    ];
    let masks = MASKS.iter().filter(|(_, mask)| wanted(mask.trim_start_matches("${1}")));
    masks.fold(text.to_owned(), |text, (pattern, mask)| {
        Regex::new(pattern).unwrap().replace_all(&text, *mask).into_owned()
    })
}
