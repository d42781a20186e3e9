//! Goldens: expected output as files. `UPDATE_GOLDENS=1 cargo test` rewrites them; review the diff as code.

use std::{fs, path::Path};

/// Compares `actual` with the file `tests/data/NAME`, whole.
#[track_caller]
pub fn assert_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("tests/data/{name}: {error}; UPDATE_GOLDENS=1 writes it"));
    assert!(
        expected == actual,
        "tests/data/{name} differs; UPDATE_GOLDENS=1 rewrites it\n--- expected\n{expected}\n--- actual\n{actual}"
    );
}
