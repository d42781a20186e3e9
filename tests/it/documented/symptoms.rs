//! What `docs/troubleshooting.md` quotes, contrail prints.

use std::fs;

use super::*;

/// All text of these files below a folder, with single spaces.
fn text_below(folder: &Path, extension: &str, text: &mut String) {
    for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
        if path.is_dir() {
            text_below(&path, extension, text);
        } else if path.extension().is_some_and(|found| found == extension) {
            let words = fs::read_to_string(&path).unwrap();
            words.split_whitespace().for_each(|word| text.extend([word, " "]));
        }
    }
}

#[test]
fn every_symptom_of_the_troubleshooting_page_is_one_that_contrail_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut printed = String::new();
    text_below(&root.join("src"), "rs", &mut printed);
    text_below(&root.join("crates"), "rs", &mut printed);
    text_below(&root.join("tests/data"), "txt", &mut printed);
    // Counts, names and what is cut differ from run to run.
    let varies = |c: char| c == '…' || c == '(' || c == ')' || c.is_ascii_digit();
    let symptoms = first_column(&page("troubleshooting.md"), "| printed |");
    assert!(symptoms.len() > 20, "{symptoms:?}");
    for symptom in symptoms {
        for part in symptom.split(varies).map(|part| part.trim_matches([' ', ':', '-'])) {
            assert!(printed.contains(part), "contrail never prints `{part}` of `{symptom}`");
        }
    }
}
