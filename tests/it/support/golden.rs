//! Goldens: expected output as files. `UPDATE_GOLDENS=1 cargo test` rewrites them; review the diff as code.

use std::{fs, path::Path};

use regex::Regex;

use super::command::Ran;

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

/// The text with placeholders where runs differ: ports, durations, instants, hashes, ids, secrets, folders of tests, and
/// the system's words for a name without an address.
pub fn masked(text: &str) -> String {
    const MASKS: [(&str, &str); 10] = [
        (r"((?:127\.0\.0\.1|127\.1|0\.0\.0\.0|localhost):)[0-9]{5}", "${1}PORT"),
        (r"\b[0-9]+ ms\b", "TIME ms"),
        (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "INSTANT"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5} UTC, by contrail [0-9.]+", "INSTANT, by contrail VERSION"),
        (r"(sandbox client [a-z-]+ secret )[A-Za-z0-9_-]{30,}", "${1}SECRET"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"\b[0-9a-f]{32}\b", "ID"),
        (r"/tmp/\.tmp[A-Za-z0-9]+", "FOLDER"),
        (r"(?m)^the disk was slow: .*\n", ""),
        (r"(failed to lookup address information): .*", "${1}: REASON"),
    ];
    MASKS.iter().fold(text.to_owned(), |text, (pattern, mask)| {
        Regex::new(pattern).unwrap().replace_all(&text, *mask).into_owned()
    })
}
