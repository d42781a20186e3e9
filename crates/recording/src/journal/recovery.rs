//! What a killed process left in a journal: whole entries, and at most one torn line.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
};

use super::{fold_log::Renewal, lines::is_entry};

/// What was in a journal already when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Whole entries that are in no fixture.
    pub entries: usize,
    /// Entries of the fixture that they were to replace; `None` if they are only added.
    pub renewal: Option<Renewal>,
    /// Bytes of a torn last line, dropped.
    pub torn: u64,
    /// Lines of a trail behind its last link, which now covers them.
    pub adopted: usize,
}

/// Counts the whole entries and cuts off what follows the last whole line; also the file's length then.
pub(super) fn recover(file: &mut File) -> io::Result<(Leftover, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(256 << 10, &mut *file);
    let mut line = Vec::new();
    let (mut whole, mut entries, mut torn) = (0, 0, 0);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            break;
        }
        if line.ends_with(b"\n") {
            whole += read;
            entries += usize::from(is_entry(&line));
        } else {
            torn = read;
        }
    }
    if torn > 0 {
        file.set_len(whole)?;
    }
    Ok((Leftover { entries, torn, ..Leftover::default() }, whole))
}
