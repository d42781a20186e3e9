//! The trails among what a path names: each folder with segments is a trail of its own.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::walk::{is_recording_name, walked};
use crate::{
    ReadError, ReadFault, SetAside,
    journal::{
        chain,
        segments::{BESIDE, segment_number},
    },
};

/// The recordings that a path names, its trails kept apart.
#[derive(Debug, Default)]
pub struct Named {
    /// Folders with segments, and journals by themselves, which may be segments too.
    pub trails: Vec<TrailFiles>,
    /// Recordings that no chain covers.
    pub others: Vec<PathBuf>,
}

/// The files of a trail.
#[derive(Debug)]
pub struct TrailFiles {
    /// Its folder; of a journal by itself, the journal.
    pub name: PathBuf,
    /// Its segments, in order; none where none of them can be read.
    pub segments: Vec<PathBuf>,
    /// Whether these are all of its segments.
    pub whole: bool,
    /// Files in its folder that are no recording, so that nothing reads them.
    pub unread: Vec<PathBuf>,
}

impl TrailFiles {
    /// The trail's id; `None` for a plain journal.
    ///
    /// # Errors
    ///
    /// A segment cannot be read.
    pub fn id(&self) -> io::Result<Option<String>> {
        for segment in &self.segments {
            if let Some(head) = chain::begin_of(segment)? {
                return Ok(Some(head.trail));
            }
        }
        Ok(None)
    }
}

/// Finds the recordings that `path` names, as [`super::sources`] does, and the trails among them.
///
/// # Errors
///
/// As [`super::sources`].
pub fn find(path: &Path) -> Result<Named, ReadError> {
    let mut found = Named::default();
    let (sources, walked) = walked(path)?;
    let fail = |error| ReadError { source_name: path.display().to_string(), fault: ReadFault::Io(error) };
    let is_folder = path.is_dir();
    let mut folders: BTreeMap<PathBuf, Vec<(u64, PathBuf)>> = BTreeMap::new();
    for source in sources {
        let number = source.file_name().and_then(|name| name.to_str()).and_then(segment_number);
        match number.zip(source.parent()).filter(|_| is_folder) {
            Some((number, folder)) => {
                let folder = if folder == path { path } else { folder };
                folders.entry(folder.to_path_buf()).or_default().push((number, source));
            }
            None if source.extension().is_some_and(|extension| extension == "journal") => {
                let segments = vec![source.clone()];
                found.trails.push(TrailFiles { name: source, segments, whole: false, unread: Vec::new() });
            }
            None => found.others.push(source),
        }
    }
    for folder in walked.into_iter().filter(|folder| !folders.contains_key(folder)) {
        let mut unread = unread(&folder).map_err(fail)?;
        unread.retain(|file| is_packed_segment(file));
        if !unread.is_empty() {
            found.trails.push(TrailFiles { name: folder, segments: Vec::new(), whole: true, unread });
        }
    }
    let mut whole = Vec::new();
    for (name, mut numbered) in folders {
        numbered.sort();
        let segments: Vec<PathBuf> = numbered.into_iter().map(|(_, segment)| segment).collect();
        let unread = unread(&name).map_err(fail)?;
        whole.push(TrailFiles { name, segments, whole: true, unread });
    }
    whole.append(&mut found.trails);
    found.trails = whole;
    Ok(found)
}

/// Whether a file that is no recording has the name of a segment, in capitals or with more behind it: one that was
/// compressed, or set aside.
fn is_packed_segment(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let number = name.strip_prefix("trail-").and_then(|rest| rest.split_once(".journal")).map(|(number, _)| number);
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// The files in a trail's folder that are no recording.
fn unread(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut unread = Vec::new();
    for item in fs::read_dir(folder)? {
        let item = item?;
        let is_read = is_recording_name(&item.path()) && !SetAside::is_name(&item.path());
        if !item.path().is_dir() && !BESIDE.iter().any(|name| item.file_name() == *name) && !is_read {
            unread.push(item.path());
        }
    }
    unread.sort();
    Ok(unread)
}
