//! Where authorities are kept when `--ca-dir` says nothing, and the command that recreates one.

use std::{
    env,
    path::{Path, PathBuf},
};

/// `$XDG_DATA_HOME/contrail/ca`, else `~/.local/share/contrail/ca`; `None` where the environment names neither.
pub(super) fn of_user() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("contrail/ca"))
}

/// The command that recreates the authority of this folder, or of the folder that holds this file.
pub(super) fn rotation(path: &Path) -> String {
    let is_file = path.extension().is_some_and(|extension| extension == "pem" || extension == "json");
    let base = path.ancestors().nth(if is_file { 2 } else { 1 }).unwrap_or(path);
    if of_user().is_some_and(|folder| folder == base) {
        return "contrail ca rotate".to_owned();
    }
    format!("contrail ca rotate --ca-dir {}", base.display())
}
