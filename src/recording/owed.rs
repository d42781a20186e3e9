//! What a trail owes a fixture: the journal beside a fixture that is folded from a trail holds no entries, but a line for
//! each of the trail's segments that does. So the start after a killed run knows what is in no fixture yet.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{WriteError, chain, disk::refused, journal, text};

/// How such a line begins.
pub(super) const START: &[u8] = b"{\"_trail\"";

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_trail")]
    segment: PathBuf,
}

/// The line that names a segment.
pub(super) fn line(segment: &Path) -> io::Result<Vec<u8>> {
    let mut line = START.to_vec();
    line.push(b':');
    text::string(&std::path::absolute(segment)?.to_string_lossy(), &mut line);
    line.extend_from_slice(b"}\n");
    Ok(line)
}

/// The segments that the journal at `path` names, and how many entries are in them.
pub(super) fn named_in(path: &Path) -> Result<(Vec<PathBuf>, usize), WriteError> {
    let mut segments = Vec::new();
    for line in lines(path)? {
        let line = line.map_err(refused("read", path))?;
        if line.starts_with(START)
            && let Ok(Line { segment }) = serde_json::from_slice(&line)
        {
            segments.push(segment);
        }
    }
    let mut entries = 0;
    for segment in &segments {
        let there =
            File::open(segment).map_err(refused("find what a killed recording wrote, the trail's segment", segment))?;
        for line in lines_of(there) {
            entries += usize::from(is_entry(&line.map_err(refused("read", segment))?));
        }
    }
    Ok((segments, entries))
}

/// Whether a line of a journal is an entry, and none that says something of the journal.
pub(super) fn is_entry(line: &[u8]) -> bool {
    ![START, chain::START, journal::FOLD_START].iter().any(|start| line.starts_with(start))
}

fn lines(path: &Path) -> Result<impl Iterator<Item = io::Result<Vec<u8>>>, WriteError> {
    Ok(lines_of(File::open(path).map_err(refused("read", path))?))
}

fn lines_of(file: File) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    BufReader::with_capacity(256 << 10, file).split(b'\n')
}
