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
//! `contrail chain 1`, `seq`, `prev` and the digests, each followed by a line feed. `prev` of the first line is 64 zeros;
//! a new segment goes on where the one before ended, with a line that holds no digests.
//!
//! What a chain cannot prove: that nothing was cut off at its end, or that all of it was not written anew by somebody who
//! can write to the trail. Keep the head hash elsewhere for that ([`check_chain`] compares it).

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use memchr::memchr_iter;
use ring::digest::{Context, SHA256, digest};
use serde::Deserialize;

use super::trail::is_segment;
use crate::json::write::strings;
use crate::{hex::hex, plural::plural};

/// What a chain begins with.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// How every chain line begins.
pub(in crate::recording) const START: &[u8] = b"{\"_chain\"";

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChainHead {
    /// Chain lines so far.
    pub seq: u64,
    /// The last hash; hexadecimal.
    pub hash: String,
}

impl Default for ChainHead {
    fn default() -> Self {
        Self { seq: 0, hash: GENESIS.to_owned() }
    }
}

impl ChainHead {
    /// Appends the chain line for `batch` (whole lines) and steps on.
    pub(in crate::recording) fn seal(&mut self, batch: &[u8], out: &mut Vec<u8>) {
        let mut begin = 0;
        let lines: Vec<String> = memchr_iter(b'\n', batch)
            .map(|end| line_digest(&batch[std::mem::replace(&mut begin, end + 1)..end]))
            .collect();
        let hash = hash(self.seq, &self.hash, &lines);
        let link = Link { seq: self.seq, prev: std::mem::replace(&mut self.hash, hash.clone()), lines, hash };
        link.write(out);
        self.seq = self.seq.saturating_add(1);
    }
}

fn line_digest(line: &[u8]) -> String {
    hex(digest(&SHA256, line.strip_suffix(b"\n").unwrap_or(line)).as_ref())
}

fn hash(seq: u64, prev: &str, lines: &[String]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(format!("contrail chain 1\n{seq}\n{prev}\n").as_bytes());
    for line in lines {
        context.update(line.as_bytes());
        context.update(b"\n");
    }
    hex(context.finish().as_ref())
}

/// A chain line.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "_chain")]
    chain: Link,
}

#[derive(Debug, Deserialize)]
struct Link {
    seq: u64,
    prev: String,
    lines: Vec<String>,
    hash: String,
}

impl Link {
    /// Writes the chain line, with its line feed. No link has another form.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(START);
        out.extend_from_slice(format!(":{{\"seq\":{},\"prev\":\"{}\",\"lines\":", self.seq, self.prev).as_bytes());
        strings(self.lines.iter().map(String::as_str), out);
        out.extend_from_slice(format!(",\"hash\":\"{}\"}}}}\n", self.hash).as_bytes());
    }
}

/// Where a trail was first altered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The segment.
    pub segment: PathBuf,
    /// The line in it, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the trail was altered at `{}`, line {}: {}", self.segment.display(), self.line, self.reason)
    }
}

impl std::error::Error for Broken {}

/// What the check of a trail came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The chain's end.
    pub head: ChainHead,
    /// Entries that the chain covers.
    pub entries: u64,
    /// Whole lines at the end that no chain line covers yet (a killed process left them; the next run seals them).
    pub unsealed: u64,
    /// Kept heads that it goes through.
    pub kept_heads: u64,
    /// Only some segment was named, so that nothing is known of what comes before and after it.
    pub part: bool,
    /// The first line that was altered, removed, added or put elsewhere.
    pub broken: Option<Broken>,
}

/// Checks the chain of a trail, its segments in order, and that it goes through the heads that were kept elsewhere.
/// `None` if there is no chain in them: they are plain journals. `whole` says that they are all of the trail; else the first
/// may be any of its segments.
///
/// # Errors
///
/// The system's, for a segment that cannot be read.
pub fn check_chain(segments: &[PathBuf], kept: &[ChainHead], whole: bool) -> io::Result<Option<Checked>> {
    let mut check = Check { kept, ..Check::default() };
    check.checked.part = !whole;
    check.chained = segments.iter().any(|segment| is_segment(segment)) || !kept.is_empty();
    if !check.chained && !holds_link(segments)? {
        return Ok(None);
    }
    for (index, segment) in segments.iter().enumerate() {
        check.last = index + 1 == segments.len();
        check.checked.broken = check.segment(segment, !whole && index == 0)?;
        if check.checked.broken.is_some() {
            return Ok(Some(check.checked));
        }
    }
    check.checked.unsealed = check.pending.len() as u64;
    let seq = check.checked.head.seq;
    if let Some(kept) = kept.iter().filter(|kept| whole && kept.seq > seq).max_by_key(|kept| kept.seq) {
        let reason = format!(
            "the chain ends after {}, and the head that was kept elsewhere has {}; the end was cut off",
            plural(seq, "link"),
            kept.seq
        );
        let (segment, line) = (segments.last().cloned().unwrap_or_default(), check.line);
        check.checked.broken = Some(Broken { segment, line, reason });
    }
    Ok(check.chained.then_some(check.checked))
}

/// Whether any line of these files belongs to a chain. Most journals have none, and then no line needs a digest.
fn holds_link(files: &[PathBuf]) -> io::Result<bool> {
    let mut start = Vec::with_capacity(START.len());
    for file in files {
        let mut input = BufReader::with_capacity(256 << 10, File::open(file)?);
        loop {
            start.clear();
            if input.by_ref().take(START.len() as u64).read_until(b'\n', &mut start)? == 0 {
                break;
            }
            if start == START {
                return Ok(true);
            }
            if !start.ends_with(b"\n") {
                input.skip_until(b'\n')?;
            }
        }
    }
    Ok(false)
}

/// A check on its way through the segments.
#[derive(Default)]
struct Check<'a> {
    kept: &'a [ChainHead],
    checked: Checked,
    chained: bool,
    /// Lines that no chain line covers yet.
    pending: Vec<(PathBuf, usize, String)>,
    /// The last line of the segment at hand, from 1.
    line: usize,
    /// Whether no segment follows.
    last: bool,
}

impl Check<'_> {
    /// Checks one segment; where it was altered, if it was.
    fn segment(&mut self, segment: &Path, any: bool) -> io::Result<Option<Broken>> {
        let mut input = BufReader::with_capacity(256 << 10, File::open(segment)?);
        let mut buffer = Vec::new();
        let broken =
            |line, reason: &str| Ok(Some(Broken { segment: segment.to_path_buf(), line, reason: reason.to_owned() }));
        self.line = 0;
        loop {
            buffer.clear();
            if input.read_until(b'\n', &mut buffer)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            let number = self.line;
            if number == 1 && self.chained && !buffer.starts_with(START) {
                return broken(1, "a segment begins with the chain, and this line is none of it");
            }
            if self.chained && !self.last && !buffer.ends_with(b"\n") {
                return broken(number, "this line was added: the next segment was begun behind whole lines only");
            }
            if !buffer.starts_with(START) {
                // A torn last line of a killed process is none.
                if buffer.ends_with(b"\n") {
                    self.pending.push((segment.to_path_buf(), number, line_digest(&buffer)));
                }
                continue;
            }
            self.chained = true;
            let Ok(Line { chain }) = serde_json::from_slice::<Line>(&buffer) else {
                if !buffer.ends_with(b"\n") {
                    return Ok(None);
                }
                return broken(number, "this line of the chain cannot be read");
            };
            let mut written = Vec::with_capacity(buffer.len());
            chain.write(&mut written);
            if buffer.strip_suffix(b"\n").unwrap_or(&buffer) != &written[..written.len() - 1] {
                return broken(number, "this line of the chain was altered");
            }
            if any && number == 1 {
                self.checked.head = ChainHead { seq: chain.seq, hash: chain.prev.clone() };
            }
            if let Some(found) = compare(&chain, &self.checked.head, &self.pending, segment, number) {
                return Ok(Some(found));
            }
            self.checked.entries += self.pending.len() as u64;
            self.pending.clear();
            let head = ChainHead { seq: chain.seq.saturating_add(1), hash: chain.hash };
            for kept in self.kept.iter().filter(|kept| kept.seq == head.seq) {
                if kept.hash != head.hash {
                    return broken(number, "the head that was kept elsewhere is another; the trail was written anew");
                }
                self.checked.kept_heads += 1;
            }
            self.checked.head = head;
        }
    }
}

/// The first line at which a batch differs from its chain line, if any.
fn compare(
    chain: &Link,
    head: &ChainHead,
    pending: &[(PathBuf, usize, String)],
    segment: &Path,
    line: usize,
) -> Option<Broken> {
    let here = |reason: String| Some(Broken { segment: segment.to_path_buf(), line, reason });
    if hash(chain.seq, &chain.prev, &chain.lines) != chain.hash {
        return here("this line of the chain was altered".to_owned());
    }
    if chain.seq != head.seq || chain.prev != head.hash {
        // Lines before it that belong to no batch were put there; else something before it is gone.
        return here(format!(
            "batch {} of the chain is expected here and this is batch {}; lines before it were removed, or put elsewhere",
            head.seq, chain.seq
        ));
    }
    for (index, (segment, line, found)) in pending.iter().enumerate() {
        let reason = match chain.lines.iter().position(|digest| digest == found) {
            Some(at) if at == index => continue,
            Some(at) if at > index => "this line stands too early; a line before it was removed, or put elsewhere",
            Some(_) => "this line stands twice, or too late",
            None if chain.lines.len() < pending.len() => "this line was added",
            None => "this line was altered",
        };
        return Some(Broken { segment: segment.clone(), line: *line, reason: reason.to_owned() });
    }
    if pending.len() < chain.lines.len() {
        let gone = chain.lines.len() - pending.len();
        let were = if gone == 1 { "was" } else { "were" };
        return here(format!("{gone} of the lines before this one {were} removed"));
    }
    None
}

/// The end of the chain in a segment, and how many whole lines follow its last chain line.
pub(in crate::recording) fn end_of(segment: &Path) -> io::Result<(Option<ChainHead>, Vec<u8>)> {
    let mut input = BufReader::with_capacity(256 << 10, File::open(segment)?);
    let mut buffer = Vec::new();
    let mut head = None;
    let mut unsealed = Vec::new();
    loop {
        buffer.clear();
        if input.read_until(b'\n', &mut buffer)? == 0 || !buffer.ends_with(b"\n") {
            return Ok((head, unsealed));
        }
        if buffer.starts_with(START) {
            unsealed.clear();
            if let Ok(Line { chain }) = serde_json::from_slice(&buffer) {
                head = Some(ChainHead { seq: chain.seq.saturating_add(1), hash: chain.hash });
            }
        } else {
            unsealed.extend_from_slice(&buffer);
        }
    }
}
