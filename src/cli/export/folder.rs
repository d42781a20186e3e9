//! The files of an export's tables: each is written beside its place, and all take their places once they are whole.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, ErrorKind},
    path::{Path, PathBuf},
};

use contrail_fleet::parquet::TABLES;

use crate::cli::{
    Failure,
    printer::{Beside, make_folder},
};

/// Tables that are being written.
pub(super) struct Staged {
    folder: PathBuf,
    /// Each with its name.
    tables: Vec<(&'static str, Beside)>,
    /// The folder was made for them.
    is_new: bool,
}

/// The file of a table.
pub(super) fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

impl Staged {
    /// Begins those that are to be in the folder `out`.
    ///
    /// # Errors
    ///
    /// `out` holds something, and may not be replaced, or not by an export.
    pub(super) fn begin(out: &Path, overwrite: bool) -> Result<Self, Failure> {
        let shown = out.display();
        let failed = |error: io::Error| format!("--parquet: cannot write to {shown}: {error}; name another folder");
        match holds(out) {
            Ok(Holds::Nothing) => {}
            Ok(Holds::Tables) if overwrite => {}
            Ok(Holds::Tables) => {
                return Err(format!("`{shown}` exists already; add --overwrite to replace its tables").into());
            }
            Ok(Holds::Other(name)) => {
                let name = name.to_string_lossy();
                return Err(format!("`{shown}` holds `{name}`, which is no table; name another folder").into());
            }
            Err(error) => return Err(failed(error).into()),
        }
        let mut staged = Self { folder: out.to_path_buf(), tables: Vec::new(), is_new: !out.exists() };
        make_folder(out).map_err(failed)?;
        for (table, _) in TABLES {
            staged.tables.push((table, Beside::begin(&out.join(file_name(table))).map_err(failed)?));
        }
        Ok(staged)
    }

    /// The file that a table is written to.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn file(&self, table: &str) -> io::Result<BufWriter<File>> {
        let (_, beside) = self.tables.iter().find(|(name, _)| *name == table).ok_or(ErrorKind::NotFound)?;
        beside.file().map(BufWriter::new)
    }

    /// Puts them in their places.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn commit(mut self) -> io::Result<()> {
        self.is_new = false;
        let mut tables = std::mem::take(&mut self.tables).into_iter();
        tables.try_for_each(|(table, beside)| beside.finish(&self.folder.join(file_name(table))))?;
        File::open(&self.folder)?.sync_all()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.tables.clear();
        if self.is_new {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// What a folder holds.
enum Holds {
    Nothing,
    Tables,
    /// This, among others.
    Other(OsString),
}

fn holds(folder: &Path) -> io::Result<Holds> {
    let inside = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Holds::Nothing),
        inside => inside?,
    };
    let mut holds = Holds::Nothing;
    for item in inside {
        let name = item?.file_name();
        if TABLES.iter().any(|(table, _)| name == Beside::name(file_name(table).as_ref())) {
            continue;
        }
        if !TABLES.iter().any(|(table, _)| *name == *file_name(table)) {
            return Ok(Holds::Other(name));
        }
        holds = Holds::Tables;
    }
    Ok(holds)
}
