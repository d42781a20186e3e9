//! `contrail export`: recordings as Parquet tables.

#[cfg(feature = "fleet")]
mod folder;
#[cfg(feature = "fleet")]
mod tables;

#[test]
#[cfg(not(feature = "fleet"))]
fn a_build_without_the_feature_names_it_and_writes_nothing() {
    use crate::support::{command::run_in, golden::assert_error};

    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["export", "--parquet", "out", "any.har"]);
    assert_error(&ran, 2, "contrail: `export --parquet` needs a contrail that was built with `--features fleet`");
    assert!(!folder.path().join("out").exists());
}
