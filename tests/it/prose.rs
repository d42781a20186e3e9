//! The words of README, pages, changelog, help and sources: short lines, plain English, and paths that exist.

use std::{
    fs, mem,
    path::{Path, PathBuf},
};

const MAX_COLUMNS: usize = 100;
const MAX_WORDS: usize = 25;

/// Turns of phrase that hide who acts, or that a noun of the field says better.
const BANNED: &[&str] = &[
    "is told",
    "are told",
    "was told",
    "is said",
    "are said",
    "was said",
    "is met",
    "are met",
    "was met",
    "were met",
    "foretold",
    "foretells",
    "whoever",
    "what takes the place",
    "takes the place of",
    "stands there",
    "made anew",
    "in silence",
    "what it came to",
    "befell",
    "mend the client",
    "never asked for",
    "speak of",
    "speaks of",
    "in vain",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)).into();
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|item| item.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    pages
}

/// The lines outside fenced blocks, numbered from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

#[test]
fn lines_of_the_documentation_fit_into_100_columns() {
    let mut long = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in prose(&text) {
            // A row of a table cannot be wrapped.
            if line.chars().count() > MAX_COLUMNS && !line.starts_with('|') {
                long.push(format!("{}:{number}: {line}", page.display()));
            }
        }
    }
    assert!(long.is_empty(), "longer than {MAX_COLUMNS} columns:\n{}", long.join("\n"));
}

/// The sentences outside tables and headings, each with its first line. An inline code span is one word, and an item of
/// a list ends a sentence.
fn sentences(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut sentences = Vec::new();
    let mut sentence = Vec::new();
    let mut first = 0;
    let mut in_code = false;
    let mut last = 0;
    for (number, line) in prose(text) {
        let line = line.trim_start();
        let is_text = !line.starts_with(['|', '#', '<']);
        let goes_on = is_text && !line.is_empty() && !line.starts_with("- ") && number == last + 1;
        if !goes_on && !sentence.is_empty() {
            sentences.push((first, mem::take(&mut sentence)));
        }
        last = number;
        for word in line.split_whitespace().filter(|_| is_text) {
            let (begins_in_code, marks) = (in_code, word.matches('`').count());
            in_code ^= marks % 2 == 1;
            if begins_in_code || !word.contains(char::is_alphanumeric) && marks == 0 {
                // The rest of a code span, or a dash.
            } else {
                if sentence.is_empty() {
                    first = number;
                }
                sentence.push(word);
            }
            if !in_code
                && word.trim_end_matches([')', ']', '*', '"']).ends_with(['.', '?', '!'])
                && !sentence.is_empty()
            {
                sentences.push((first, mem::take(&mut sentence)));
            }
        }
    }
    sentences.extend((!sentence.is_empty()).then_some((first, sentence)));
    sentences
}

#[test]
fn sentences_of_the_documentation_have_at_most_25_words() {
    let mut long = Vec::new();
    for page in &pages() {
        for (line, words) in sentences(&fs::read_to_string(page).unwrap()) {
            if words.len() > MAX_WORDS {
                long.push(format!("{}:{line}: {} words: {}", page.display(), words.len(), words.join(" ")));
            }
        }
    }
    assert!(long.is_empty(), "longer than {MAX_WORDS} words:\n{}", long.join("\n"));
}

#[test]
fn a_sentence_ends_at_its_stop_at_an_item_and_at_a_blank_line() {
    let text = "# Head\n\nOne `a b. c` two.\nThree (four\nfive.) Six:\n\n- seven\n- eight\n\n```sh\nnine\n```\nten\n";
    let counts: Vec<_> = sentences(text).iter().map(|(line, words)| (*line, words.len())).collect();
    assert_eq!(counts, [(3, 3), (4, 3), (5, 1), (7, 1), (8, 1), (13, 1)]);
}

fn banned_in(name: &str, text: &str) -> Vec<String> {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let word = |at: usize, len: usize| {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        edge(flat[..at].chars().next_back()) && edge(flat[at + len..].chars().next())
    };
    let found = BANNED.iter().flat_map(|phrase| flat.match_indices(phrase).map(move |(at, _)| (*phrase, at)));
    let found = found.filter(|(phrase, at)| word(*at, phrase.len()));
    found
        .map(|(phrase, at)| format!("{name}: `{phrase}` in `…{}`", flat[at..].chars().take(60).collect::<String>()))
        .collect()
}

#[test]
fn the_documentation_the_help_and_the_expected_output_are_in_plain_words() {
    let mut found = Vec::new();
    let mut folders = vec![root().join("tests/data")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            match path.extension().and_then(|extension| extension.to_str()) {
                None if path.is_dir() => folders.push(path),
                Some("txt" | "listing" | "md") => {
                    found.extend(banned_in(&path.display().to_string(), &fs::read_to_string(&path).unwrap()));
                }
                _ => {}
            }
        }
    }
    for page in pages() {
        found.extend(banned_in(&page.display().to_string(), &fs::read_to_string(&page).unwrap()));
    }
    for mut command in contrail::cli::command().get_subcommands().cloned() {
        let name = format!("contrail {} --help", command.get_name());
        found.extend(banned_in(&name, &command.render_long_help().to_string()));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Comments and messages: the lines of a Rust file that hold prose.
fn prose_of_code(text: &str) -> String {
    text.lines().filter(|line| line.contains("//") || line.contains('"')).collect::<Vec<_>>().join("\n")
}

#[test]
fn comments_and_messages_of_the_sources_are_in_plain_words() {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src"), root().join("crates")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files += 1;
                let text = fs::read_to_string(&path).unwrap();
                found.extend(banned_in(&path.display().to_string(), &prose_of_code(&text)));
            }
        }
    }
    assert!(files > 300, "only {files} files were read");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_banned_phrase_is_found_across_lines_and_not_inside_a_word() {
    assert_eq!(banned_in("x", "it is\nsaid").len(), 1);
    assert_eq!(banned_in("x", "Whoever\nthis is tolder").len(), 1);
}

/// What a page names in backticks and in blocks marked `text` as a path of this repository.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let is_path = |token: &&str| {
        let known = token.contains('/') && token.starts_with(|c: char| c.is_ascii_lowercase() || c == '.');
        let name = token.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
        name && (known || Path::new(token).extension().is_some_and(|extension| extension == "rs"))
    };
    text.lines().map(|line| line.split(['`', ' ', ',']).filter(is_path).collect()).collect()
}

#[test]
fn every_path_in_the_architecture_page_exists() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let folders = ["", "src", "crates/proxy/src"].map(|folder| root().join(folder));
    let mut missing = Vec::new();
    let mut count = 0;
    for line in paths(&text) {
        // `a/b.rs`, `c.rs`: the second is a neighbour of the first.
        let mut neighbours = folders.to_vec();
        for path in line {
            let found = neighbours
                .iter()
                .map(|folder| folder.join(path))
                .chain(path.split_once('/').map(|(name, rest)| root().join("crates").join(name).join("src").join(rest)))
                .flat_map(|path| [path.clone(), path.with_extension("rs")])
                .find(|candidate| candidate.exists());
            match found {
                Some(found) => neighbours.extend(found.parent().map(Path::to_path_buf)),
                None => missing.push(path),
            }
            count += 1;
        }
    }
    assert!(count > 40, "only {count} paths were found");
    assert_eq!(missing, [""; 0], "docs/architecture.md names them");
}
