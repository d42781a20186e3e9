//! The hash chain of a trail: after each written batch a line that holds a digest of each line of it, and a hash over
//! these and the hash before.
//!
//! ```text
//! {"startedDateTime":…}                       a batch of entries
//! {"startedDateTime":…}
//! {"_chain":{"seq":7,"prev":"…","lines":["…","…"],"hash":"…"}}
//! ```
//!
//! A digest is the SHA-256 of a line without its line feed. The hash is the SHA-256 of the text
//! `contrail chain 1`, `seq`, `prev`, where there is one `trail ID`, for `"adopted":true` the word `adopted`, and the
//! digests, each followed by a line feed.
//! `prev` of the first line is 64 zeros. A segment begins with a line that holds no digests, and in `trail` the trail's
//! id: a random number, so that no two trails have a hash in common.
//!
//! What a chain cannot prove: that nothing was cut off at its end, or that all of it was not rewritten by somebody
//! who can write to the trail. Keep the head hash elsewhere for that ([`super::check`] compares it).

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
};

use contrail_exchange::{
    hex::hex,
    json::write::{string, strings},
};
use memchr::memchr_iter;
use ring::digest::{Context, SHA256, digest};
use serde::Deserialize;

use super::lines::CHAIN;
use crate::disk::random_id;

/// What a chain begins with.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChainHead {
    /// Chain lines so far.
    pub seq: u64,
    /// The last hash; hexadecimal.
    pub hash: String,
    /// The trail's id; empty where no first line of a segment was read.
    pub trail: String,
}

impl Default for ChainHead {
    fn default() -> Self {
        Self { seq: 0, hash: GENESIS.to_owned(), trail: String::new() }
    }
}

impl ChainHead {
    /// Writes the line that keeps this head elsewhere.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"seq\":{},\"hash\":\"{}\"", self.seq, self.hash).as_bytes());
        write_id(&self.trail, out);
        out.extend_from_slice(b"}\n");
    }

    /// Whether this is the same place of the same chain.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.seq, &self.hash) == (other.seq, &other.hash)
    }

    /// Gives the trail an id if it has none.
    pub(crate) fn identify(&mut self) -> io::Result<()> {
        if self.trail.is_empty() {
            self.trail = random_id()?;
        }
        Ok(())
    }

    /// Appends the first line of a segment, which names the trail, and steps on.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.step(Link { trail: Some(self.trail.clone()), ..Link::default() }, out);
    }

    /// Appends the chain line for `batch` (whole lines) and steps on; `adopted` if this process did not write them.
    pub fn seal(&mut self, batch: &[u8], adopted: bool, out: &mut Vec<u8>) {
        let mut begin = 0;
        let lines = memchr_iter(b'\n', batch)
            .map(|end| line_digest(&batch[std::mem::replace(&mut begin, end + 1)..end]))
            .collect();
        self.step(Link { lines, adopted, ..Link::default() }, out);
    }

    /// Appends the chain line for lines with these digests and steps on.
    pub(crate) fn link(&mut self, lines: Vec<String>, out: &mut Vec<u8>) {
        self.step(Link { lines, ..Link::default() }, out);
    }

    fn step(&mut self, link: Link, out: &mut Vec<u8>) {
        let prev = std::mem::take(&mut self.hash);
        let mut link = Link { seq: self.seq, prev, ..link };
        link.hash = link.computed_hash();
        link.write(out);
        self.hash = link.hash;
        self.seq = self.seq.saturating_add(1);
    }
}

pub(super) fn line_digest(line: &[u8]) -> String {
    hex(digest(&SHA256, line.strip_suffix(b"\n").unwrap_or(line)).as_ref())
}

/// Writes the member that names the trail.
fn write_id(trail: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"trail\":");
    string(trail, out);
}

/// A chain line.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    #[serde(rename = "_chain")]
    pub(super) chain: Link,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: String,
    pub(super) lines: Vec<String>,
    /// The trail's id, in the first line of a segment.
    pub(super) trail: Option<String>,
    /// A later process sealed these lines, which had no link: nothing shows who wrote them.
    #[serde(default)]
    pub(super) adopted: bool,
    pub(super) hash: String,
}

impl Link {
    /// Writes the chain line, with its line feed. No link has another form.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(CHAIN);
        out.extend_from_slice(format!(":{{\"seq\":{},\"prev\":\"{}\",\"lines\":", self.seq, self.prev).as_bytes());
        strings(self.lines.iter().map(String::as_str), out);
        self.trail.iter().for_each(|trail| write_id(trail, out));
        if self.adopted {
            out.extend_from_slice(b",\"adopted\":true");
        }
        out.extend_from_slice(format!(",\"hash\":\"{}\"}}}}\n", self.hash).as_bytes());
    }

    /// The hash that its other members give.
    pub(super) fn computed_hash(&self) -> String {
        let mut context = Context::new(&SHA256);
        context.update(format!("contrail chain 1\n{}\n{}\n", self.seq, self.prev).as_bytes());
        if let Some(trail) = &self.trail {
            context.update(format!("trail {trail}\n").as_bytes());
        }
        if self.adopted {
            context.update(b"adopted\n");
        }
        for line in &self.lines {
            context.update(line.as_bytes());
            context.update(b"\n");
        }
        hex(context.finish().as_ref())
    }

    /// The head of a chain that ends with this link, in a trail of this id.
    pub(super) fn head(self, trail: String) -> ChainHead {
        ChainHead { seq: self.seq.saturating_add(1), hash: self.hash, trail: self.trail.unwrap_or(trail) }
    }
}

/// The head before a segment, with the trail's id. `None` if the segment does not begin with a chain line that has it.
pub fn begin_of(segment: &Path) -> io::Result<Option<ChainHead>> {
    Ok(first_heads(segment)?.map(|[before, _]| before))
}

/// The heads before and after the first chain line of a segment. `None` if the segment does not begin with one that
/// names the trail.
pub(super) fn first_heads(segment: &Path) -> io::Result<Option<[ChainHead; 2]>> {
    let mut line = Vec::new();
    // The first line of a segment holds no digests.
    let file = File::open(segment).map_err(named(segment))?;
    BufReader::new(file).take(MAX_FIRST_LINE).read_until(b'\n', &mut line).map_err(named(segment))?;
    let link = serde_json::from_slice::<Line>(&line).ok().map(|line| line.chain);
    Ok(link.and_then(|link| {
        let before = ChainHead { seq: link.seq, hash: link.prev.clone(), trail: link.trail.clone()? };
        Some([before, link.head(String::new())])
    }))
}

/// An error that names the segment.
pub(super) fn named(segment: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{}`: {error}", segment.display()))
}

/// Maximum bytes of a segment's first line; it has about 300.
const MAX_FIRST_LINE: u64 = 4096;

/// The end of the chain in a segment, and the whole lines that follow its last chain line.
pub fn end_of(segment: &Path) -> io::Result<(Option<ChainHead>, Vec<u8>)> {
    let mut last = None;
    let unsealed = pass(segment, |head| last = Some(head.clone()))?;
    Ok((last, unsealed))
}

/// Reads the chain lines of a segment, each as the head after it; the whole lines that follow the last one.
pub(super) fn pass(segment: &Path, mut each: impl FnMut(&ChainHead)) -> io::Result<Vec<u8>> {
    let mut input = BufReader::with_capacity(256 << 10, File::open(segment).map_err(named(segment))?);
    let mut buffer = Vec::new();
    let mut trail = String::new();
    let mut unsealed = Vec::new();
    loop {
        buffer.clear();
        if input.read_until(b'\n', &mut buffer).map_err(named(segment))? == 0 || !buffer.ends_with(b"\n") {
            return Ok(unsealed);
        }
        if buffer.starts_with(CHAIN) {
            unsealed.clear();
            if let Ok(Line { chain }) = serde_json::from_slice(&buffer) {
                let head = chain.head(std::mem::take(&mut trail));
                each(&head);
                trail = head.trail;
            }
        } else {
            unsealed.extend_from_slice(&buffer);
        }
    }
}
