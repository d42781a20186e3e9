//! The segments of trails from the messages of a stream: each byte once, at its place.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use contrail_recording::{make_folder, private, segment_name};

use super::place::Place;

/// Maximum files that are open at a time.
const MAX_OPEN: usize = 64;

/// Trails on their way into folders: `INTO/TRAIL/trail-00000001.journal` and so on.
///
/// Messages that come in order are written at once. Others are kept in a file until the end: after a failure, a broker
/// may get a message later than those behind it. Where bytes are missing, the next ones follow, and the chain shows it.
#[derive(Debug)]
pub(super) struct Rebuild {
    into: PathBuf,
    /// The byte behind the last one that was written, by trail and segment.
    ends: HashMap<String, BTreeMap<u64, u64>>,
    open: HashMap<(String, u64), BufWriter<File>>,
    early: Early,
}

/// Bytes that came before those in front of them.
#[derive(Debug, Default)]
struct Early {
    file: Option<File>,
    length: u64,
    /// Their places, each with where they are in the file.
    pieces: Vec<(Place, u64)>,
}

impl Rebuild {
    pub(super) fn new(into: &Path) -> Self {
        let into = into.to_path_buf();
        Self { into, ends: HashMap::new(), open: HashMap::new(), early: Early::default() }
    }

    /// Takes a message.
    pub(super) fn add(&mut self, place: Place, bytes: &[u8]) -> io::Result<()> {
        let end = self.ends.get(&place.trail).and_then(|ends| ends.get(&place.segment)).copied().unwrap_or_default();
        if place.offset > end { self.early.keep(place, bytes) } else { self.write(&place, end, bytes) }
    }

    /// Writes what is not yet there of the bytes at a place; the segment ends at `end`.
    fn write(&mut self, place: &Place, end: u64, bytes: &[u8]) -> io::Result<()> {
        let known = usize::try_from(end.saturating_sub(place.offset)).unwrap_or(usize::MAX);
        let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) else { return Ok(()) };
        let key = (place.trail.clone(), place.segment);
        if !self.open.contains_key(&key) {
            if self.open.len() >= MAX_OPEN {
                self.close()?;
            }
            let folder = self.into.join(&place.trail);
            make_folder(&folder).map_err(io::Error::other)?;
            let file = private().append(true).create(true).open(folder.join(segment_name(place.segment)))?;
            self.open.insert(key.clone(), BufWriter::with_capacity(256 << 10, file));
        }
        if let Some(file) = self.open.get_mut(&key) {
            file.write_all(new)?;
        }
        self.ends.entry(place.trail.clone()).or_default().insert(place.segment, place.end());
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.open.drain().try_for_each(|(_, mut file)| file.flush())
    }

    /// Writes what came early.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let mut pieces = std::mem::take(&mut self.early.pieces);
        pieces.sort_by(|(one, _), (other, _)| {
            (&one.trail, one.segment, one.offset, other.length).cmp(&(
                &other.trail,
                other.segment,
                other.offset,
                one.length,
            ))
        });
        for (place, at) in pieces {
            let bytes = self.early.read(&place, at)?;
            let end = self.ends.get(&place.trail).and_then(|ends| ends.get(&place.segment)).copied();
            self.write(&place, end.unwrap_or_default(), &bytes)?;
        }
        self.close()
    }
}

impl Early {
    fn keep(&mut self, place: Place, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(bytes)?;
        self.pieces.push((place, self.length));
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn read(&mut self, place: &Place, at: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(place.length).unwrap_or(usize::MAX)];
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut bytes)?;
        }
        Ok(bytes)
    }
}
