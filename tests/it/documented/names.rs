//! Options, variables, rules and commands that a page names exist.

use std::{collections::BTreeSet, fs, path::Path};

use contrail_exchange::finding::{Rule, Unchecked};

use super::*;

/// Options of other programs, in the recipes.
const OTHER_PROGRAMS: [&str; 17] = [
    "--build-arg",
    "--contrail",
    "--exit-code",
    "--from",
    "--locked",
    "--merge",
    "--no-default-features",
    "--no-save",
    "--password",
    "--path",
    "--release",
    "--repo",
    "--rerun",
    "--rm",
    "--save-dev",
    "--silent",
    "--test",
];
/// Variables that are no options: contrail reads the first, CMD the others, and the last is a mistake on purpose.
const OTHER_VARIABLES: [&str; 12] = [
    "CONTRAIL_CA",
    "CONTRAIL_CONTROL",
    "CONTRAIL_INSPECT_TOKEN",
    "CONTRAIL_LOG",
    "CONTRAIL_MODE",
    "CONTRAIL_PER_TEST",
    "CONTRAIL_PROXY",
    "CONTRAIL_SANDBOX_CLIENT_ID",
    "CONTRAIL_SANDBOX_CLIENT_SECRET",
    "CONTRAIL_TRUSTSTORE",
    "CONTRAIL_UPSTREEM",
    "CONTRAIL_URL",
];

/// The README and the pages for users. `architecture.md` is about the source.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|item| item.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let pages = pages.filter(|path| !path.ends_with("architecture.md"));
    let pages: Vec<_> = [root.join("README.md"), root.join("SECURITY.md")].into_iter().chain(pages).collect();
    assert!(pages.len() > 10, "{pages:?}");
    pages.iter().map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect()
}

/// The words that begin so and go on with these characters, at the start of a word.
fn words<'t>(text: &'t str, start: &str, goes_on: fn(char) -> bool) -> Vec<&'t str> {
    let at = text.match_indices(start).map(|(at, _)| at);
    let at = at.filter(|at| !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    at.map(|at| {
        let word = &text[at..];
        &word[..word[start.len()..].find(|c| !goes_on(c)).map_or(word.len(), |end| start.len() + end)]
    })
    .collect()
}

#[test]
fn every_option_that_a_page_names_exists() {
    let command = contrail::cli::command();
    let arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let mut known: BTreeSet<String> =
        arguments.filter_map(|one| one.get_long()).map(|long| format!("--{long}")).collect();
    known.extend(["--help", "--version"].into_iter().chain(OTHER_PROGRAMS).map(str::to_owned));
    let mut unused: BTreeSet<&str> = OTHER_PROGRAMS.into();
    for (page, text) in pages() {
        for option in words(&text, "--", |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            // `--upstream-*` stands for all that begin so; a rule of a table and an end of options name none.
            let is_known = known.contains(option)
                || (option.ends_with('-')
                    && known.range(option.to_owned()..).next().is_some_and(|next| next.starts_with(option)));
            assert!(is_known || option.trim_matches('-').is_empty(), "{page} names {option}");
            unused.remove(option);
        }
    }
    assert_eq!(unused, BTreeSet::new(), "OTHER_PROGRAMS names them for no page");
}

#[test]
fn every_variable_that_a_page_names_exists() {
    let command = contrail::cli::command();
    let arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let known = arguments.filter_map(|one| one.get_env()).map(|name| name.to_str().unwrap().to_owned());
    let known: BTreeSet<String> = known.chain(OTHER_VARIABLES.map(str::to_owned)).collect();
    for (page, text) in pages() {
        for name in words(&text, "CONTRAIL_", |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
            // Of each upstream with a name.
            let is_listener = name.starts_with("CONTRAIL_URL_");
            assert!(known.contains(name) || is_listener || name == "CONTRAIL_", "{page} names {name}");
        }
    }
}

#[test]
fn every_rule_and_every_aspect_that_a_page_names_exists() {
    let known: BTreeSet<String> = Rule::ALL.iter().map(|rule| rule.id().to_owned()).collect();
    let families: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id().split('.').next().unwrap()).collect();
    let aspects: BTreeSet<String> = Unchecked::ALL.iter().map(|aspect| aspect.name().to_owned()).collect();
    let aspect_families: BTreeSet<&str> = ["required", "success", "error", "request", "response"].into();
    let mut seen = 0;
    for (page, text) in pages() {
        let plain = |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b"-.".contains(&b));
        for name in ticked(&text).filter(plain) {
            if name.split_once('.').is_some_and(|(family, _)| families.contains(family)) {
                // `response.headers` and the like; a file is none.
                assert!(known.contains(&name), "{page} names the rule {name}");
                seen += 1;
            } else if name.split_once('-').is_some_and(|(family, _)| aspect_families.contains(family)) {
                assert!(aspects.contains(&name), "{page} names {name} as unchecked");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "only {seen} names were found");
}

#[test]
fn the_readme_names_every_command_and_the_compiler_of_the_manifest() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let command = contrail::cli::command();
    let commands = command.get_subcommands().map(|command| command.get_name().to_owned());
    assert_eq!(first_column(&readme, "| command | does |"), commands.collect());
    let compiler = env!("CARGO_PKG_RUST_VERSION");
    assert!(readme.contains(&format!("needs Rust {compiler} or later")), "the manifest says {compiler}");
    let printed = run_in(Path::new("."), ["contract", "--format", "json"]);
    let contract: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(contract["operations"].as_array().unwrap().len(), 7, "six operations and the token endpoint");
}

#[test]
fn the_mixes_of_the_notes_are_those_of_the_bench_with_their_weights() {
    let page = page("../bench/NOTES.md");
    let table = page.lines().skip_while(|line| !line.starts_with("| mix | weight |")).skip(2);
    let rows: BTreeSet<(String, u64)> = table
        .take_while(|line| line.starts_with('|'))
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (ticked(cells[1]).next().unwrap(), cells[2].trim_end_matches(" %").parse().unwrap_or(0))
        })
        .collect();
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/mixes")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|file| file.extension().is_some_and(|e| e == "json"));
    let mixes = files.map(|file| {
        let mix: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        (file.file_stem().unwrap().to_str().unwrap().to_owned(), mix["weight"].as_u64().unwrap())
    });
    assert_eq!(mixes.collect::<BTreeSet<_>>(), rows);
}
