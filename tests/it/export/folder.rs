//! The folder of the tables: all of them, or none.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::tables::{TABLES, export};
use crate::support::{
    command::{Ran, limited, run_in},
    golden::assert_error,
    har,
};

fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    folder
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn bytes(out: &Path) -> [Vec<u8>; 3] {
    TABLES.map(|table| fs::read(out.join(format!("{table}.parquet"))).unwrap())
}

#[test]
fn the_folder_is_made_and_only_its_owner_can_read_it() {
    let folder = recorded();
    let ran = run_in(folder.path(), ["export", "--parquet", "made/tables", "a.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("made/tables"), mode("made/tables/tokens.parquet")), (0o700, 0o600));
    assert_eq!(names(&folder.path().join("made")), ["tables"]);
    // An empty folder is as good as none.
    fs::create_dir(folder.path().join("out")).unwrap();
    assert_eq!(export(folder.path(), &["a.har"]).status, 0);
}

#[test]
fn tables_are_replaced_only_with_the_option_and_other_files_never() {
    let folder = recorded();
    let out = folder.path().join("out");
    assert_eq!(export(folder.path(), &["a.har"]).status, 0);
    let before = bytes(&out);
    fs::write(folder.path().join("b.har"), har::har(&[har::conforming(), har::conforming()])).unwrap();
    let ran = export(folder.path(), &["b.har"]);
    assert_error(&ran, 2, "contrail: `out` exists already; add --overwrite to replace its tables");
    assert_eq!(bytes(&out), before);
    assert_eq!(export(folder.path(), &["b.har", "--overwrite"]).status, 0);
    assert!(bytes(&out)[0] != before[0]);
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let ran = export(folder.path(), &["a.har", "--overwrite"]);
    assert_error(&ran, 2, "contrail: `out` holds `notes.txt`, which is no table; name another folder");
    assert_eq!(names(folder.path()), ["a.har", "b.har", "out"]);
}

#[test]
fn a_full_disk_leaves_the_earlier_tables_and_nothing_else() {
    let folder = recorded();
    assert_eq!(export(folder.path(), &["a.har"]).status, 0);
    let before = bytes(&folder.path().join("out"));
    let mut full = limited("ulimit -f 2");
    full.current_dir(folder.path()).args(["export", "--overwrite", "--parquet", "out", "a.har"]);
    let ran = Ran::from(full.output().unwrap());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_eq!(
        ran.stderr,
        "contrail: cannot write the tables of `out`: File too large (os error 27); nothing is exported\n"
    );
    assert_eq!(bytes(&folder.path().join("out")), before);
    assert_eq!(names(folder.path()), ["a.har", "out"]);
}

#[test]
fn what_a_killed_export_left_is_used_again_or_put_back() {
    let folder = recorded();
    assert_eq!(export(folder.path(), &["a.har"]).status, 0);
    let before = bytes(&folder.path().join("out"));
    let left = folder.path().join(".out.contrail-new");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("exchanges.parquet"), "PAR1 and no more").unwrap();
    // It was killed while it replaced the folder.
    fs::rename(folder.path().join("out"), folder.path().join(".out.contrail-old")).unwrap();
    let ran = export(folder.path(), &["a.har"]);
    assert_error(&ran, 2, "contrail: `out` exists already; add --overwrite to replace its tables");
    assert_eq!(bytes(&folder.path().join("out")), before);
    assert_eq!(export(folder.path(), &["a.har", "--overwrite"]).status, 0);
    assert_eq!(bytes(&folder.path().join("out")), before);
    assert_eq!(names(folder.path()), ["a.har", "out"]);
}

#[test]
fn nothing_is_exported_from_an_altered_trail_or_from_no_exchange() {
    let folder = recorded();
    let watch = ["watch", "--upstream", "sandbox", "--trail", "trail", "--allow", "unused", "--", "true"];
    let watched = run_in(folder.path(), watch);
    assert_eq!(watched.status, 0, "{}", watched.stderr);
    let ran = export(folder.path(), &["trail"]);
    assert_error(
        &ran,
        2,
        "contrail: there was no exchange to export, so no table is written: the recordings hold no exchange",
    );
    let ran = export(folder.path(), &["a.har", "--client", "nobody"]);
    assert_error(
        &ran,
        2,
        "contrail: there was no exchange to export, so no table is written: the options leave out all of them",
    );
    let segment = folder.path().join("trail/trail-00000001.journal");
    let altered = fs::read_to_string(&segment).unwrap().replacen("\"seq\":0", "\"seq\":7", 1);
    fs::write(&segment, altered).unwrap();
    let ran = export(folder.path(), &["trail"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("nothing is exported from a trail that was altered: "), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("; `contrail audit` reports on it\n"), "{}", ran.stderr);
    assert_eq!(names(folder.path()), ["a.har", "trail"]);
    // The tables may not take the place of a recording.
    let ran = run_in(folder.path(), ["export", "--overwrite", "--parquet", "trail", "trail", "a.har"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_eq!(names(&folder.path().join("trail")), ["lock", "trail-00000001.journal"]);
}

#[test]
fn a_recording_beyond_this_machine_is_exported_as_one_here() {
    let folder = recorded();
    let url = format!("file://{}/a.har", folder.path().display());
    let ran = export(folder.path(), &[&url]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(names(&folder.path().join("out")).len(), 3);
}
