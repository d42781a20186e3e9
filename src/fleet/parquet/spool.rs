//! The rows of other tools' recordings, which wait in an anonymous temporary file.
//!
//! Two things of such a recording are known at its end only: whether its producer strips `Authorization`, and which of
//! its values are secrets. A Parquet file cannot be changed any more, so its rows wait for both.

use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};

use tempfile::SpooledTempFile;

use super::row::Row;
use crate::redact::Redactor;

/// Bytes that are kept in memory before the temporary file is made.
const MAX_IN_MEMORY: usize = 4 << 20;

/// Rows that wait.
#[derive(Debug)]
pub struct Spool {
    file: BufWriter<SpooledTempFile>,
    /// Lines of each recording, and whether its producer strips `Authorization`.
    recordings: Vec<(u64, bool)>,
    /// Lines of the recording that is read.
    lines: u64,
}

impl Default for Spool {
    fn default() -> Self {
        let file = BufWriter::new(tempfile::spooled_tempfile(MAX_IN_MEMORY));
        Self { file, recordings: Vec::new(), lines: 0 }
    }
}

impl Spool {
    /// Adds an exchange: its row, and the one that counts if the producer strips `Authorization`. `None` where the
    /// options leave it out.
    ///
    /// # Errors
    ///
    /// The temporary file's.
    pub fn add(&mut self, as_read: Option<&Row>, stripped: Option<&Row>) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, &(as_read, stripped))?;
        self.lines += 1;
        self.file.write_all(b"\n")
    }

    /// How many exchanges wait.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.lines + self.recordings.iter().map(|(lines, _)| lines).sum::<u64>()
    }

    /// The recording that was read ends.
    pub fn end_of_file(&mut self, stripped: bool) {
        self.recordings.push((std::mem::take(&mut self.lines), stripped));
    }

    /// Gives the rows in their order, secrets taken out that were recognised after them. `None` is an exchange that the
    /// options leave out.
    ///
    /// # Errors
    ///
    /// The temporary file's, and those of `take`.
    pub fn take<E: From<io::Error>>(
        self,
        redactor: &Redactor,
        mut take: impl FnMut(Option<Row>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::with_capacity(64 << 10, file);
        let mut line = String::new();
        for (lines, is_stripped) in self.recordings {
            for _ in 0..lines {
                line.clear();
                file.read_line(&mut line)?;
                // A line is one exchange: escaped as JSON, so it holds no line break of its own.
                let (as_read, stripped): (Option<Row>, Option<Row>) =
                    serde_json::from_str(&line).map_err(io::Error::from)?;
                let mut row = if is_stripped { stripped } else { as_read };
                if let Some(row) = &mut row {
                    row.redact(redactor);
                }
                take(row)?;
            }
        }
        Ok(())
    }
}
