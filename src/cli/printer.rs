//! Where a command's data goes: standard output, buffered, with or without colour.
//!
//! A reader that goes away (`contrail verify … | head`) is no failure: what follows is dropped, and the command's exit
//! status still says what it found.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, BufWriter, IsTerminal as _, Stdout, Write},
    path::{Path, PathBuf},
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
    let linked = fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()).then(|| resolved(path));
    let path = linked.as_deref().unwrap_or(path);
    let old = fs::symlink_metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return private_file(path, true)?.write_all(bytes);
    }
    let beside = match Beside::begin(path) {
        Ok(beside) => beside,
        // The folder takes no file; this one may be written all the same.
        Err(error) if old.is_some() && error.kind() == io::ErrorKind::PermissionDenied => {
            return private_file(path, true)?.write_all(bytes);
        }
        Err(error) => return Err(error),
    };
    (&beside.file).write_all(bytes)?;
    if let Some(old) = old {
        beside.file.set_permissions(old.permissions())?;
    }
    beside.finish(path)
}

/// A file that replaces another once it is whole. One that a killed process left is used again.
struct Beside {
    path: PathBuf,
    file: File,
}

impl Beside {
    fn begin(target: &Path) -> io::Result<Self> {
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
                return Ok(Self { path, file });
            }
        }
    }

    fn finish(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)
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

/// Whether to use colour: on a terminal that knows it, and never where `NO_COLOR` is set to something.
pub(super) fn wants_colour(on_terminal: bool) -> bool {
    let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|term| term == "dumb");
    on_terminal && !plain
}

/// Standard output for data.
#[derive(Debug)]
pub struct Printer<W: Write = Stdout> {
    inner: BufWriter<W>,
    colour: bool,
    closed: bool,
}

impl Printer {
    /// Standard output; colour only on a terminal, and never where `NO_COLOR` is set to something.
    #[must_use]
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let colour = wants_colour(stdout.is_terminal());
        Self::new(stdout, colour)
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
    fn a_reader_that_goes_away_is_no_failure() {
        let mut printer = Printer::new(Gone, false);
        printer.write_all(&vec![b'x'; 200_000]).unwrap();
        printer.flush().unwrap();
        printer.write_all(b"more").unwrap();
    }
}
