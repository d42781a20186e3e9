//! Trails of which several folders hold parts or copies.

use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use super::trails::TrailFiles;
use crate::{
    plural::plural,
    recording::{
        disk::is_at,
        journal::chain::{self, ChainHead},
    },
};

/// Trails, each with the tag of the folder that holds its end.
#[derive(Debug)]
pub struct Merged<T> {
    /// The trails.
    pub trails: Vec<(T, TrailFiles)>,
    /// A sentence for each folder that holds copies of segments.
    pub copies: Vec<String>,
}

/// Trails with the same id.
type Group<T> = (Option<String>, Vec<(T, TrailFiles)>);

/// Makes one trail of those that hold the segments of one whole chain, and takes copies of a segment once, an older
/// copy of a segment that has grown since too. Trails with one id whose segments are no such chain stay apart.
///
/// # Errors
///
/// A segment cannot be read.
pub fn merge<T>(trails: Vec<(T, TrailFiles)>) -> io::Result<Merged<T>> {
    let mut groups: Vec<Group<T>> = Vec::new();
    for (tag, trail) in trails {
        let id = trail.id()?;
        match groups.iter_mut().find(|(of, _)| id.is_some() && *of == id) {
            Some((_, group)) => group.push((tag, trail)),
            None => groups.push((id, vec![(tag, trail)])),
        }
    }
    let mut merged = Merged { trails: Vec::new(), copies: Vec::new() };
    for (_, mut group) in groups {
        let chain = if group.len() > 1 { one_chain(&group)? } else { None };
        if let Some(Chain { segments, copied }) = chain {
            merged.copies.extend(sentences(&group, &copied));
            group = vec![joined(group, segments)];
        }
        merged.trails.append(&mut group);
    }
    Ok(merged)
}

/// The segments of several trails that are one chain.
struct Chain {
    segments: Vec<Segment>,
    /// Of each trail with copies, how many, and the trail that holds the first of the originals.
    copied: Vec<(usize, usize, usize)>,
}

struct Segment {
    path: PathBuf,
    /// The index of its trail.
    of: usize,
    /// The chain before and after its first line.
    heads: [ChainHead; 2],
    bytes: u64,
}

fn one_chain<T>(trails: &[(T, TrailFiles)]) -> io::Result<Option<Chain>> {
    let mut all = Vec::new();
    for (of, (_, trail)) in trails.iter().enumerate() {
        for path in &trail.segments {
            let Some(heads) = chain::first_heads(path)? else { return Ok(None) };
            let bytes = fs::metadata(path)?.len();
            all.push(Segment { path: path.clone(), of, heads, bytes });
        }
    }
    // Of several copies, the longest counts, of equal ones that of the trail with the most segments.
    all.sort_by_key(|segment| {
        let of = trails[segment.of].1.segments.len();
        (segment.heads[0].seq, Reverse(segment.bytes), Reverse(of))
    });
    let mut chain = Chain { segments: Vec::new(), copied: Vec::new() };
    for segment in all {
        let Some(last) = chain.segments.last().filter(|last| last.heads[0].seq == segment.heads[0].seq) else {
            chain.segments.push(segment);
            continue;
        };
        if !last.heads[1].is(&segment.heads[1]) || !is_beginning(&last.path, &segment.path)? {
            return Ok(None);
        }
        // A file that is named twice is no copy.
        if is_at(&File::open(&last.path)?, &segment.path) {
            continue;
        }
        match chain.copied.iter_mut().find(|(of, ..)| *of == segment.of) {
            Some((_, count, _)) => *count += 1,
            None => chain.copied.push((segment.of, 1, last.of)),
        }
    }
    for pair in chain.segments.windows(2) {
        let (end, _) = chain::end_of(&pair[0].path)?;
        if !end.is_some_and(|end| end.is(&pair[1].heads[0])) {
            return Ok(None);
        }
    }
    Ok(Some(chain))
}

/// Whether one of two files is the beginning of the other, or they are equal.
fn is_beginning(one: &Path, other: &Path) -> io::Result<bool> {
    let open = |path: &Path| File::open(path).map(|file| BufReader::with_capacity(256 << 10, file));
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let common = left.len().min(right.len());
        if left[..common] != right[..common] {
            return Ok(false);
        }
        if common == 0 {
            return Ok(true);
        }
        one.consume(common);
        other.consume(common);
    }
}

fn sentences<T>(trails: &[(T, TrailFiles)], copied: &[(usize, usize, usize)]) -> Vec<String> {
    let sentence = |(of, count, original): &(usize, usize, usize)| {
        let (trail, original) = (&trails[*of].1, trails[*original].1.name.display());
        let name = trail.name.display();
        if *count == trail.segments.len() {
            format!("`{name}` is a copy of `{original}`; contrail reads it once")
        } else {
            let segments = plural(*count, "segment");
            format!("`{name}` and `{original}` have {segments} in common; contrail reads each once")
        }
    };
    copied.iter().map(sentence).collect()
}

/// One trail of these segments, with the tag and the name of the trail that holds the last one.
fn joined<T>(trails: Vec<(T, TrailFiles)>, segments: Vec<Segment>) -> (T, TrailFiles) {
    let end = segments.last().map_or(0, |last| last.of);
    let whole = trails.iter().any(|(_, trail)| trail.whole);
    let unread = trails.iter().flat_map(|(_, trail)| trail.unread.clone()).collect();
    let mut trails = trails;
    let (tag, trail) = trails.swap_remove(end);
    let segments = segments.into_iter().map(|segment| segment.path).collect();
    (tag, TrailFiles { name: trail.name, segments, whole, unread })
}
