//! The rows of other tools' recordings, which wait in an anonymous temporary file.
//!
//! Which of its values are secrets is known at its end only, and a Parquet file cannot be changed any more.

use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};

use contrail_redact::Redactor;
use tempfile::SpooledTempFile;

use super::row::Row;

/// Bytes that are kept in memory before the temporary file is made.
const MAX_IN_MEMORY: usize = 4 << 20;

/// Rows that wait.
#[derive(Debug)]
pub struct Spool(BufWriter<SpooledTempFile>);

impl Default for Spool {
    fn default() -> Self {
        Self(BufWriter::new(tempfile::spooled_tempfile(MAX_IN_MEMORY)))
    }
}

impl Spool {
    /// Adds the row of an exchange.
    ///
    /// # Errors
    ///
    /// The temporary file's.
    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, row)?;
        self.0.write_all(b"\n")
    }

    /// Gives the rows in their order, secrets taken out that were recognised after them.
    ///
    /// # Errors
    ///
    /// The temporary file's, and those of `take`.
    pub fn take<E: From<io::Error>>(
        self,
        redactor: &Redactor,
        mut take: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::with_capacity(64 << 10, file);
        let mut line = String::new();
        // A line is one exchange: escaped as JSON, so it holds no line break of its own.
        while file.read_line(&mut line)? > 0 {
            let mut row: Row = serde_json::from_str(&line).map_err(io::Error::from)?;
            row.redact(redactor);
            take(row)?;
            line.clear();
        }
        Ok(())
    }
}
