//! The README and the pages under `docs/`: links lead somewhere, and every command line in them is one that contrail takes.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
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

#[test]
fn every_command_line_of_the_documentation_is_one_that_contrail_takes() {
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut shell = false;
        for line in text.lines() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                shell = !shell && matches!(language, "sh" | "bash" | "console" | "shell");
                continue;
            }
            let line = line.trim_start().trim_start_matches("$ ");
            if !shell || !line.starts_with("contrail ") {
                continue;
            }
            let command = line.split(" # ").next().unwrap().split(" > ").next().unwrap().split(" | ").next().unwrap();
            let words =
                command.trim().trim_end_matches(" &").split_whitespace().map(|word| word.trim_matches(['\'', '"']));
            if let Err(error) = contrail::cli::command().try_get_matches_from(words)
                && error.use_stderr()
            {
                panic!("{}: `{line}`\n{error}", page.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 8, "only {seen} command lines were found");
}
