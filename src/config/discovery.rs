//! Which file counts.

use std::{
    env,
    ffi::OsString,
    io, iter,
    path::{Path, PathBuf},
};

use super::{ConfigError, FILE, file::is_off};

/// The file that counts for a command line: that of `--config` or of its variable, none with `--no-config`, else the
/// nearest [`FILE`] up to the root of the repository. Outside a repository, only the working directory has one.
///
/// # Errors
///
/// The named file is not there.
pub fn file(arguments: &[OsString], value: impl Fn(&str) -> Option<OsString>) -> Result<Option<PathBuf>, ConfigError> {
    let own: Vec<&str> =
        arguments.iter().take_while(|argument| *argument != "--").filter_map(|argument| argument.to_str()).collect();
    let flag = own.iter().enumerate().find_map(|(at, argument)| match argument.strip_prefix("--config=") {
        None if *argument == "--config" => own.get(at + 1).copied(),
        file => file,
    });
    let variable = |name: &str| value(name).filter(|value| !value.is_empty());
    let refused = || variable("CONTRAIL_NO_CONFIG").is_some_and(|value| !is_off(&value));
    if own.contains(&"--no-config") || flag.is_none() && refused() {
        return Ok(None);
    }
    match flag.map(PathBuf::from).or_else(|| variable("CONTRAIL_CONFIG").map(PathBuf::from)) {
        Some(path) if !path.exists() => Err(ConfigError::Unreadable { path, cause: io::ErrorKind::NotFound.into() }),
        Some(path) => Ok(Some(path)),
        None => Ok(env::current_dir().ok().and_then(|folder| found(&folder))),
    }
}

/// The nearest file from a folder up to the root of its repository, as a path from that folder.
fn found(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().position(|above| above.join(".git").exists()).unwrap_or_default();
    let up = folder.ancestors().take(root + 1).position(|above| above.join(FILE).exists())?;
    Some(iter::repeat_n("..", up).collect::<PathBuf>().join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_counts_up_to_the_root_of_the_repository_and_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("repo/a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(folder.path().join(FILE), "").unwrap();
        assert_eq!(found(&deep), None, "without a repository only the folder itself counts");
        std::fs::create_dir(folder.path().join("repo/.git")).unwrap();
        assert_eq!(found(&deep), None, "the file above the repository is another one's");
        std::fs::write(folder.path().join("repo").join(FILE), "").unwrap();
        assert_eq!(found(&deep), Some(PathBuf::from("../../contrail.toml")));
        std::fs::write(deep.join(FILE), "").unwrap();
        assert_eq!(found(&deep), Some(PathBuf::from("contrail.toml")));
    }

    #[test]
    fn a_named_file_must_be_there_and_a_flag_is_stronger_than_a_variable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, "").unwrap();
        let path = path.display().to_string();
        let of = |arguments: &[&str], variables: &[(&str, &str)]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let value = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| value.into());
            file(&arguments, value).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["contrail", "verify", "--config", &path], &[]), Ok(Some(PathBuf::from(&path))));
        assert_eq!(of(&["contrail", "verify"], &[("CONTRAIL_CONFIG", &path)]), Ok(Some(PathBuf::from(&path))));
        assert_eq!(of(&["contrail", "verify"], &[("CONTRAIL_NO_CONFIG", "1")]), Ok(None));
        assert_eq!(of(&["contrail", "verify", "--no-config"], &[("CONTRAIL_CONFIG", &path)]), Ok(None));
        let both = of(&["contrail", "verify", &format!("--config={path}")], &[("CONTRAIL_NO_CONFIG", "1")]);
        assert_eq!(both, Ok(Some(PathBuf::from(&path))));
        assert!(of(&["contrail", "verify", "--config", "missing.toml"], &[]).unwrap_err().contains("missing.toml"));
        let other = of(&["contrail", "watch", "--", "cmd", "--config", "missing.toml"], &[]);
        assert!(other.is_ok(), "what follows `--` belongs to CMD");
    }
}
