//! What is built into the binary: `deny.toml` holds, with or without cargo-deny.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host, "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let Value::Array(packages) = metadata["packages"].take() else { panic!("cargo metadata lists no packages") };
    assert!(packages.len() > 50, "cargo metadata lists {} packages only", packages.len());
    packages
}

fn deny() -> toml::Table {
    include_str!("../../deny.toml").parse().unwrap()
}

/// Whether a licence expression can be met with the allowed ones. `/` is the old spelling of OR.
fn allowed(expression: &str, allow: &BTreeSet<&str>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    // AND binds tighter than OR in SPDX; the few bracketed expressions there are AND of ORs, so that every name in
    // them being allowed is the strict reading.
    if expression.contains(" AND ") {
        return expression
            .split(" AND ")
            .flat_map(|part| part.split(" OR "))
            .all(|licence| allow.contains(licence.trim()));
    }
    expression.split(" OR ").any(|licence| allow.contains(licence.trim()))
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let deny = deny();
    let allow: BTreeSet<&str> =
        deny["licenses"]["allow"].as_array().unwrap().iter().map(|licence| licence.as_str().unwrap()).collect();
    let refused: Vec<String> = packages()
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|licence| allowed(licence, &allow)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not allowed by deny.toml:\n{}", refused.join("\n"));
}

#[test]
fn a_licence_that_is_not_allowed_is_named() {
    let allow = BTreeSet::from(["MIT", "Apache-2.0", "ISC"]);
    assert!(allowed("MIT OR GPL-3.0", &allow));
    assert!(allowed("MIT/Apache-2.0", &allow));
    assert!(allowed("Apache-2.0 AND ISC", &allow));
    assert!(!allowed("GPL-3.0", &allow));
    assert!(!allowed("(MIT OR Apache-2.0) AND GPL-3.0", &allow));
}

#[test]
fn there_is_one_crypto_provider_and_every_crate_comes_from_the_registry() {
    let deny = deny();
    let banned: BTreeSet<&str> =
        deny["bans"]["deny"].as_array().unwrap().iter().map(|ban| ban["crate"].as_str().unwrap()).collect();
    assert!(banned.contains("aws-lc-sys"));
    // What other platforms or switched-off features would pull in is in the lock file too; only what is built counts.
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let built: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(built.contains("rustls") && built.contains("ring"));
    let found: Vec<_> = built.intersection(&banned).collect();
    assert!(found.is_empty(), "banned by deny.toml: {found:?}");
    let versions: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    for name in ["ring", "rustls", "rustls-webpki", "rcgen"] {
        let versions: Vec<_> = versions.iter().filter(|line| line.split(' ').next() == Some(name)).collect();
        assert_eq!(versions.len(), 1, "{name} is there more than once, or not at all: {versions:?}");
    }
    for package in packages() {
        let source = &package["source"];
        assert!(
            source.is_null() && package["name"].as_str().is_some_and(|name| name.starts_with("contrail"))
                || source.as_str().is_some_and(|source| source.starts_with("registry+")),
            "{} comes from {source}",
            package["name"]
        );
    }
}

#[test]
fn no_code_of_ours_is_unsafe() {
    let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
    assert_eq!(manifest["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|folder| folder.unwrap().path());
    for folder in crates.chain([root.to_path_buf()]) {
        let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{}", folder.display());
    }
}

#[test]
fn the_packages_beside_ours_come_from_the_registry_too() {
    for (name, lock) in
        [("bench", include_str!("../../bench/Cargo.lock")), ("fuzz", include_str!("../../fuzz/Cargo.lock"))]
    {
        let lock: toml::Table = lock.parse().unwrap();
        for package in lock["package"].as_array().unwrap() {
            let of_ours = package["name"].as_str().unwrap().starts_with("contrail");
            let source = package.get("source").and_then(|source| source.as_str());
            assert!(
                source.map_or(of_ours, |source| source.starts_with("registry+")),
                "{name}: {} comes from {source:?}",
                package["name"]
            );
        }
    }
}
