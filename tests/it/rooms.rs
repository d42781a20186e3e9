//! The rooms of the source: the architecture page lists every folder, and imports point down its list.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).unwrap()
}

/// Files and folders below `folder`, without those of tests.
fn below(folder: &Path, files: &mut Vec<PathBuf>, folders: &mut Vec<PathBuf>) {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let declared = ["mod.rs", "lib.rs"].map(text).concat();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if declared.contains(&format!("#[cfg(test)]\nmod {name};")) {
            continue;
        }
        if path.is_dir() {
            below(&path, files, folders);
            folders.push(path);
        } else {
            files.push(path);
        }
    }
}

/// A file without comments and unit tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules that a text names after `crate::` or `super::`.
fn named_in<'t>(text: &'t str, root: &str) -> BTreeSet<&'t str> {
    let word = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let mut names = BTreeSet::new();
    for after in text.split(root).skip(1) {
        let Some(list) = after.strip_prefix('{') else {
            names.insert(&after[..word(after)]);
            continue;
        };
        let (mut depth, mut is_first) = (0, true);
        for (at, character) in list.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => is_first = true,
                _ if is_first && character.is_ascii_lowercase() => {
                    is_first = false;
                    names.insert(&list[at..at + word(&list[at..])]);
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn every_folder_of_the_source_is_on_the_architecture_page() {
    let page = page();
    let words: BTreeSet<&str> = page.split(|c: char| !c.is_ascii_alphanumeric() && !"/_".contains(c)).collect();
    let mut folders = Vec::new();
    below(&source(), &mut Vec::new(), &mut folders);
    let names = folders.iter().map(|folder| folder.strip_prefix(source()).unwrap().to_str().unwrap());
    let missing: Vec<&str> = names.filter(|name| !words.contains(name)).collect();
    assert!(folders.len() > 30, "only {} folders were found", folders.len());
    assert_eq!(missing, [""; 0], "docs/architecture.md does not name them");
}

#[test]
fn imports_point_down_the_list_of_rooms() {
    let page = page();
    let table = page.split("\n## The rooms\n").nth(1).and_then(|rest| rest.split("\n### ").next()).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    let rooms: Vec<&str> =
        rows.flat_map(|(cell, _)| cell.split("`, `")).map(|room| room.trim_end_matches('`')).collect();
    let mut files = Vec::new();
    below(&source(), &mut files, &mut Vec::new());
    let mut up = Vec::new();
    for file in files {
        let path = file.strip_prefix(source()).unwrap();
        let own = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if ["lib", "main"].contains(&own) {
            continue;
        }
        let height = |room: &str| rooms.iter().position(|listed| *listed == room);
        let code = code(&file);
        let targets = named_in(&code, "crate::");
        let upward = targets.iter().filter(|target| **target != own && height(target) <= height(own));
        up.extend(upward.map(|target| format!("{} imports {target}", path.display())));
    }
    assert_eq!(up, [""; 0], "docs/architecture.md lists {rooms:?}");
}

/// Files and folders that are one subject, and import each other.
const PAIRS: [[&str; 2]; 2] = [["json/document", "json/node"], ["redact/find/grammar", "redact/find/multipart"]];

#[test]
fn what_stands_in_one_folder_imports_in_no_cycle_but_for_two_pairs() {
    let mut files = Vec::new();
    below(&source(), &mut files, &mut Vec::new());
    let name = |path: &Path| path.strip_prefix(source()).unwrap().with_extension("").to_str().unwrap().to_owned();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.ends_with("mod.rs")) {
        let folder = file.parent().unwrap();
        let code = code(file).replace("super::super::", "");
        let named = named_in(&code, "super::").into_iter().map(|target| name(&folder.join(target)));
        imports.insert(name(file), named.collect());
    }
    // What nothing on a cycle imports falls away, until only cycles are left.
    for [one, other] in PAIRS {
        assert!(imports[one].contains(other) && imports[other].contains(one), "{one} and {other} are a pair no more");
        imports.get_mut(one).unwrap().remove(other);
    }
    loop {
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        for targets in imports.values_mut() {
            targets.retain(|target| left.contains(target));
        }
        imports.retain(|_, targets| !targets.is_empty());
        if imports.len() == left.len() {
            break;
        }
    }
    assert_eq!(imports, BTreeMap::new());
}
