//! The README and the pages under `docs/`: links lead
//! somewhere, and contrail takes every command line. `tests/docs/run` runs them.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    pages.extend(fs::read_dir(root.join("docs")).unwrap().map(|item| item.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    assert!(pages.len() > 3, "{pages:?}");
    pages
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (_, rest) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
            let link = rest.split(')').next().unwrap();
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let target = page.parent().unwrap().join(path);
            assert!(target.exists(), "{} links to {link}, which is not there", page.display());
        }
    }
}

/// The text of each block in this language.
fn blocks<'t>(page: &'t str, language: &str) -> Vec<&'t str> {
    let fences = page.split("```").skip(1).step_by(2).map(str::trim_start);
    fences
        .filter_map(|block| block.split_once('\n'))
        .filter(|(named, _)| *named == language)
        .map(|(_, text)| text)
        .collect()
}

#[test]
fn every_command_line_of_the_documentation_is_one_that_contrail_takes() {
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for block in blocks(&text, "sh") {
            let joined = block.replace("\\\n", " ");
            for line in joined.lines().map(str::trim_start).filter(|line| line.starts_with("contrail ")) {
                let end = [" # ", " > ", " | ", " || ", " && ", " &"].iter().filter_map(|end| line.find(end)).min();
                let command = &line[..end.unwrap_or(line.len())];
                let words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
                if let Err(error) = contrail::cli::command().try_get_matches_from(words)
                    && error.use_stderr()
                {
                    panic!("{}: `{line}`\n{error}", page.display());
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 8, "only {seen} command lines were found");
}

/// `tests/docs/run` runs the blocks marked `sh`; under another name, or merely indented, a command would escape it.
#[test]
fn every_block_of_the_documentation_names_its_language() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            let language = block.lines().next().unwrap_or_default();
            assert!(
                ["sh", "text", "toml", "yaml", "json", "js", "sql"].contains(&language),
                "{}: a block is marked `{language}`",
                page.display()
            );
        }
        let indented = text.lines().find(|line| line.starts_with("    contrail "));
        assert_eq!(indented, None, "{}", page.display());
    }
}
