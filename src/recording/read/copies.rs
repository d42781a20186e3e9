//! Lines that a trail has in common with another one of the same id: an altered copy counts only for what differs.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::PathBuf,
};

use ring::digest::{SHA256, digest};

/// The lines of a trail, by their digests.
#[derive(Debug)]
pub struct TrailLines(HashSet<[u8; 32]>);

impl TrailLines {
    /// Those of these segments.
    ///
    /// # Errors
    ///
    /// A segment cannot be read.
    pub fn of(segments: &[PathBuf]) -> io::Result<Self> {
        let mut lines = HashSet::new();
        each_line(segments, |_, _, line| {
            lines.insert(line_digest(line));
            true
        })?;
        Ok(Self(lines))
    }

    /// The first line of these segments that is none of them: its segment, and its number from 1.
    ///
    /// # Errors
    ///
    /// A segment cannot be read.
    pub fn first_other(&self, segments: &[PathBuf]) -> io::Result<Option<(PathBuf, usize)>> {
        let mut first = None;
        each_line(segments, |segment, number, line| {
            if !self.holds(line) {
                first = Some((segment.clone(), number));
            }
            first.is_none()
        })?;
        Ok(first)
    }

    pub(in crate::recording) fn holds(&self, line: &[u8]) -> bool {
        self.0.contains(&line_digest(line))
    }
}

fn line_digest(line: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, line).as_ref());
    bytes
}

/// Hands each whole line with its segment and its number to `take`, until that says false.
fn each_line(segments: &[PathBuf], mut take: impl FnMut(&PathBuf, usize, &[u8]) -> bool) -> io::Result<()> {
    let mut line = Vec::new();
    for segment in segments {
        let mut input = BufReader::with_capacity(256 << 10, File::open(segment)?);
        for number in 1.. {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 || !line.ends_with(b"\n") {
                break;
            }
            if !take(segment, number, &line) {
                return Ok(());
            }
        }
    }
    Ok(())
}
