//! Where a command's data goes: standard output, buffered, with or without colour.
//!
//! A reader that goes away (`contrail verify … | head`) is no failure: what follows is dropped, and the command's exit
//! status still says what it found.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, BufWriter, IsTerminal as _, Stdout, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use contrail_exchange::visible::visible;
use contrail_recording::{is_at, private, resolved};

/// Opens a file that only its owner may read, as recordings are: reports show what was recorded. It is made if it is
/// not there; `empty` says what becomes of what is in it.
///
/// # Errors
///
/// The system's.
pub(super) fn private_file(path: &Path, empty: bool) -> io::Result<File> {
    private().write(true).create(true).truncate(empty).open(path)
}

/// Writes such a file by rename, so that it is either the old one, whose permissions it keeps, or the new one. A link
/// stays one: what it leads to is replaced. Where no rename is possible (a pipe, a folder that takes no file), the file
/// is written in its place.
///
/// # Errors
///
/// The system's.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = target(path);
    if fs::symlink_metadata(&path).is_ok_and(|old| !old.is_file()) {
        return private_file(&path, true)?.write_all(bytes);
    }
    match Beside::write(path.clone(), bytes) {
        // The folder takes no file; this one may be written all the same.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.exists() => {
            private_file(&path, true)?.write_all(bytes)
        }
        beside => beside?.finish(),
    }
}

/// What a link leads to; any other path as it is.
fn target(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
    if is_link { resolved(path) } else { path.to_path_buf() }
}

/// A file that is whole, and replaces another when it is put into its place. One that a killed process left is used
/// again.
pub(super) struct Beside {
    target: PathBuf,
    path: PathBuf,
    file: File,
}

impl Beside {
    /// Writes the file that is to replace `path`, with its permissions.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn write(path: PathBuf, bytes: &[u8]) -> io::Result<Self> {
        let beside = Self::begin(path)?;
        (&beside.file).write_all(bytes)?;
        if let Ok(old) = fs::metadata(&beside.target) {
            beside.file.set_permissions(old.permissions())?;
        }
        beside.file.sync_all()?;
        Ok(beside)
    }

    fn begin(target: PathBuf) -> io::Result<Self> {
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".contrail-new");
        let path = target.with_file_name(name);
        loop {
            let file = private_file(&path, false)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(io::Error::other("another process is writing it")),
                // Some file systems know no locks.
                Err(TryLockError::Error(_)) | Ok(()) => {}
            }
            // The process that held the lock may have put the file into its place since it was opened here.
            if is_at(&file, &path) {
                file.set_len(0)?;
                return Ok(Self { target, path, file });
            }
        }
    }

    /// Puts it into its place.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn finish(self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After the rename there is none, or another process's.
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Prints a line on standard error. Nothing in it can steer the terminal.
pub(super) fn line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text));
}

/// Prints a warning, named as contrail's.
pub(super) fn warn(text: &str) {
    line(&format!("contrail: {text}"));
}

/// When output is in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, and on standard error in the logs of GitHub and GitLab
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The value of `--color`.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Keeps the value of `--color` for all output of this process.
pub(super) fn choose(colour: Colour) {
    let _ = CHOSEN.set(colour);
}

/// Whether standard output is in colour.
fn stdout_in_colour() -> bool {
    wants_colour(io::stdout().is_terminal(), |name| env::var_os(name))
}

/// Whether standard error is in colour; the logs of these CI services show colours.
pub(super) fn stderr_in_colour() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_log = ["GITHUB_ACTIONS", "GITLAB_CI"].into_iter().any(is_set) && !is_file(&io::stderr());
    wants_colour(io::stderr().is_terminal() || is_log, |name| env::var_os(name))
}

/// Whether a stream goes to a file.
fn is_file(stream: &impl AsFd) -> bool {
    let file = stream.as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|there| there.is_file())
}

/// Whether to use colour: as `--color` says, else as the usual variables do, else where the reader shows it.
fn wants_colour(shown: bool, value: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| value(name).is_some_and(|value| !value.is_empty());
    let forces = |name| value(name).is_some_and(|value| !value.is_empty() && value != "0");
    match CHOSEN.get() {
        Some(Colour::Always) => true,
        Some(Colour::Never) => false,
        _ if is_set("NO_COLOR") => false,
        _ if forces("CLICOLOR_FORCE") || forces("FORCE_COLOR") => true,
        _ => shown && value("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// Standard output for data.
#[derive(Debug)]
pub struct Printer<W: Write = Stdout> {
    inner: BufWriter<W>,
    colour: bool,
    closed: bool,
}

impl Printer {
    /// Standard output, in colour where that is wanted.
    #[must_use]
    pub fn stdout() -> Self {
        Self::new(io::stdout(), stdout_in_colour())
    }
}

impl<W: Write> Printer<W> {
    /// A printer on any writer.
    pub fn new(inner: W, colour: bool) -> Self {
        Self { inner: BufWriter::with_capacity(64 << 10, inner), colour, closed: false }
    }

    /// Whether to use colour.
    pub fn colour(&self) -> bool {
        self.colour
    }

    fn closed_or<T>(&mut self, result: io::Result<T>, dropped: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(dropped)
            }
            Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))),
            Ok(done) => Ok(done),
        }
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.closed_or(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.closed_or(result, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn variables_decide_about_colour_and_refusal_is_stronger_than_force() {
        for (variables, shown, expected) in [
            (&[][..], true, true),
            (&[], false, false),
            (&[("TERM", "dumb")], true, false),
            (&[("NO_COLOR", "1")], true, false),
            (&[("NO_COLOR", "")], true, true),
            (&[("CLICOLOR_FORCE", "1")], false, true),
            (&[("FORCE_COLOR", "1"), ("TERM", "dumb")], false, true),
            (&[("FORCE_COLOR", "0")], false, false),
            (&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], true, false),
        ] {
            let value = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| value.into());
            assert_eq!(wants_colour(shown, value), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_reader_that_goes_away_is_no_failure() {
        let mut printer = Printer::new(Gone, false);
        printer.write_all(&vec![b'x'; 200_000]).unwrap();
        printer.flush().unwrap();
        printer.write_all(b"more").unwrap();
    }
}
