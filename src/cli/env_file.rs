//! `--env-file FILE`: the environment of a wrapped command, for programs that others start.
//!
//! docker takes each value as it stands, a shell and dotenv read it as code: only values that mean the same to all of
//! them are written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Failure, environment::Environment, printer::write_whole};

/// The first line, by which such a file is known.
const FIRST: &str = "# The environment of contrail's clients, while it runs\n";

/// The file, which goes with this value.
#[derive(Debug)]
pub(super) struct EnvFile(PathBuf);

impl EnvFile {
    /// Removes what a killed run left, so that the file is there only while contrail listens.
    ///
    /// # Errors
    ///
    /// There is another file at this path.
    pub(super) fn claim(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let failed = |error| format!("--env-file: cannot write to {shown}: {error}; name another file");
        match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error).into()),
            Ok(there) if there.is_empty() || there.starts_with(FIRST.as_bytes()) => {
                fs::remove_file(path).map_err(failed)?;
            }
            Ok(_) => {
                return Err(
                    format!("--env-file: {shown} is not contrail's and would be replaced; name another file").into()
                );
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// Writes the variables.
    ///
    /// # Errors
    ///
    /// A value that not every reader would take as it stands; the system's.
    pub(super) fn write(&self, environment: &Environment) -> Result<(), Failure> {
        let mut text = FIRST.to_owned();
        for (name, value) in &environment.variables {
            let value = value.to_string_lossy();
            let odd = |letter: char| !letter.is_ascii_alphanumeric() && !"/:.,_-+@%=[]*".contains(letter);
            if let Some(odd) = value.chars().find(|letter| odd(*letter)) {
                // The others are paths of contrail's own files.
                let is_users = matches!(&**name, "NO_PROXY" | "no_proxy" | "NODE_OPTIONS");
                let source = if is_users { name } else { "TMPDIR" };
                return Err(format!(
                    "--env-file: docker, shells and dotenv read `{odd}` in {name} differently; change {source}"
                )
                .into());
            }
            text.extend([name, "=", &*value, "\n"]);
        }
        let failed = |error| format!("--env-file: cannot write to {}: {error}; name another file", self.0.display());
        Ok(write_whole(&self.0, text.as_bytes()).map_err(failed)?)
    }
}

impl Drop for EnvFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
