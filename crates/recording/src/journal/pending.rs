//! Segments that wait for a fold: the journal beside a fixture that is folded from a trail holds no entries, but a line
//! for each of the trail's segments that does. So the start after a killed run knows what is in no fixture yet.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use contrail_exchange::json::write;
use serde::Deserialize;

use super::{
    file::JournalFile,
    lines::{SEGMENT, is_entry},
    segments::is_segment,
};
use crate::{WriteError, disk::failed_to};

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_trail")]
    segment: PathBuf,
}

/// Names a segment in a fixture's journal: the fixture is to be folded from it.
pub(super) fn note(journal: &JournalFile, segment: &Path) -> Result<(), WriteError> {
    journal.note(&line(segment).map_err(failed_to("find", segment))?)
}

/// The line that names a segment.
fn line(segment: &Path) -> io::Result<Vec<u8>> {
    let mut line = SEGMENT.to_vec();
    line.push(b':');
    write::string(&std::path::absolute(segment)?.to_string_lossy(), &mut line);
    line.extend_from_slice(b"}\n");
    Ok(line)
}

/// The segment that a line names.
pub(crate) fn named_in(line: &[u8]) -> io::Result<PathBuf> {
    serde_json::from_slice(line).map(|Line { segment }| segment).map_err(io::Error::from)
}

/// How many entries are in these segments, which a journal names.
pub(super) fn entries_in(segments: &[PathBuf]) -> Result<usize, WriteError> {
    let mut entries = 0;
    for segment in segments {
        let there =
            opened(segment).map_err(failed_to("find what a killed recording wrote, the trail's segment", segment))?;
        for line in BufReader::with_capacity(256 << 10, there).split(b'\n') {
            let line = line.map_err(failed_to("read", segment))?;
            // Of a torn line nothing is taken.
            entries += usize::from(is_entry(&line) && line.ends_with(b"}"));
        }
    }
    Ok(entries)
}

/// Opens a segment that a journal names. A journal may come from somebody else, so nothing but a segment is opened.
fn opened(segment: &Path) -> io::Result<File> {
    let reason = match fs::symlink_metadata(segment)?.file_type() {
        _ if !is_segment(segment) => "its name is none of a segment",
        kind if !kind.is_file() => "it is not a regular file",
        _ => return File::open(segment),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_names_anything_but_a_segment_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let link = folder.path().join("trail-00000002.journal");
        fs::write(&other, "{\"startedDateTime\":1}\n").unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        for (named, said) in [(&other, "its name is none of a segment"), (&link, "it is not a regular file")] {
            let named = named_in(&line(named).unwrap()).unwrap();
            let error = entries_in(&[named]).unwrap_err();
            assert_eq!(std::error::Error::source(&error).unwrap().to_string(), said);
        }
        let segment = folder.path().join("trail-00000001.journal");
        fs::write(&segment, "{\"startedDateTime\":1}\n{\"torn").unwrap();
        assert_eq!(named_in(&line(&segment).unwrap()).unwrap(), segment);
        assert_eq!(entries_in(&[segment]).unwrap(), 1);
        assert!(named_in(b"{\"_trail\":1}\n").is_err());
    }
}
