//! Gives `--version` the commit of a release that is built in a clone. A tarball has none, and neither has a build for
//! development, which every commit would build again.

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Without it, the folder may be a part of somebody else's repository.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") && Path::new(".git").exists() {
        let git = |arguments: &[&str]| {
            let ran = Command::new("git").args(arguments).output().ok().filter(|ran| ran.status.success())?;
            String::from_utf8(ran.stdout).ok().map(|text| text.trim().to_owned())
        };
        if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo::rerun-if-changed={log}");
        }
        if let Some(commit) = git(&["log", "-1", "--format=%h %cs"]) {
            println!("cargo::rustc-env=CONTRAIL_COMMIT={commit}");
        }
    }
}
