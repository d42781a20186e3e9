//! The check of a trail's chain: that every line is as it was written, and that the chain goes through the heads that
//! were kept elsewhere.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use contrail_exchange::plural::plural;
use jiff::Timestamp;
use memchr::memmem;

use super::{
    chain::{ChainHead, Line, Link, line_digest, named},
    clock::{self, Clock},
    lines::CHAIN,
    segments::is_segment,
    unrecorded::Unrecorded,
};
use crate::ordered::{BATCH, in_order, threads};

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

/// The result of the check of a trail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The chain's end.
    pub head: ChainHead,
    /// Entries that the chain covers.
    pub entries: u64,
    /// Whole lines at the end that no chain line covers yet (a killed process left them; the next run seals them).
    pub unsealed: u64,
    /// Kept heads that the chain goes through, and that cover at least one entry.
    pub kept_heads: u64,
    /// Only one segment was named; its neighbours are not checked.
    pub part: bool,
    /// The first line that was altered, removed, added or moved.
    pub broken: Option<Broken>,
    /// Lines that a later process adopted, so that nothing shows who wrote them.
    pub adopted: u64,
    /// What the entries that the chain covers show of the clock.
    pub clock: Clock,
    /// Exchanges that could not be recorded, as lines of the chain state.
    pub unrecorded: Vec<Unrecorded>,
    /// Bytes of each segment that was checked to its end. A live trail has grown since.
    pub lengths: Vec<u64>,
}

/// Checks the chain of a trail, its segments in order, and that it goes through the heads of it that were kept
/// elsewhere. `None` if there is no chain in them: they are plain journals. `whole` states that they are all of the
/// trail; else the first may be any of its segments.
///
/// # Errors
///
/// The system's, for a segment that cannot be read.
pub fn check_chain(segments: &[PathBuf], kept: &[ChainHead], whole: bool) -> io::Result<Option<Checked>> {
    let open = |segment: &Path| File::open(segment).map_err(named(segment));
    check(segments, kept, whole, |segment| Ok(BufReader::with_capacity(256 << 10, open(segment)?)))
}

pub(super) fn check<R: BufRead + Send>(
    segments: &[PathBuf],
    kept: &[ChainHead],
    whole: bool,
    open: impl Fn(&Path) -> io::Result<R>,
) -> io::Result<Option<Checked>> {
    let mut kept = kept.to_vec();
    kept.sort_by_key(|head| head.seq);
    let mut check = Check { kept, ..Check::default() };
    check.checked.part = !whole;
    check.chained = segments.iter().any(|segment| is_segment(segment));
    if !check.chained && !holds_link(segments, &open)? {
        return Ok(None);
    }
    for (index, segment) in segments.iter().enumerate() {
        check.last = index + 1 == segments.len();
        let found = check.segment(segment, open(segment)?, !whole && index == 0);
        check.checked.broken = found.map_err(named(segment))?;
        if check.checked.broken.is_some() {
            // Readers take what follows in the segment, too.
            check.checked.lengths.pop();
            return Ok(Some(check.checked));
        }
    }
    check.checked.unsealed =
        check.pending.iter().filter(|pending| !matches!(pending.kind, LineKind::Blank)).count() as u64;
    let seq = check.checked.head.seq;
    if let Some(kept) = check.kept.last().filter(|kept| whole && kept.seq > seq) {
        let reason = format!(
            "the chain ends after {}, but the kept head has {}: the end was cut off",
            plural(seq, "link"),
            kept.seq
        );
        let (segment, line) = check.end.unwrap_or_else(|| (segments.last().cloned().unwrap_or_default(), 1));
        check.checked.broken = Some(Broken { segment, line, reason });
    }
    Ok(check.chained.then_some(check.checked))
}

/// Whether any line of these files belongs to a chain. Most journals have none, and then no line needs a digest.
fn holds_link<R: BufRead>(files: &[PathBuf], open: impl Fn(&Path) -> io::Result<R>) -> io::Result<bool> {
    let mut start = Vec::with_capacity(CHAIN.len());
    for file in files {
        let mut input = open(file)?;
        loop {
            start.clear();
            if input.by_ref().take(CHAIN.len() as u64).read_until(b'\n', &mut start)? == 0 {
                break;
            }
            if start == CHAIN {
                return Ok(true);
            }
            if !start.ends_with(b"\n") {
                input.skip_until(b'\n')?;
            }
        }
    }
    Ok(false)
}

/// A line that no chain line covers yet.
struct Pending {
    segment: PathBuf,
    line: usize,
    digest: String,
    kind: LineKind,
}

enum LineKind {
    /// An exchange, and when it ended.
    Entry(Option<Timestamp>),
    Unrecorded(Unrecorded),
    /// Nothing, which readers skip.
    Blank,
    /// No line that contrail writes.
    Unknown,
}

impl LineKind {
    fn of(line: &[u8]) -> Self {
        match Unrecorded::parse(line) {
            Some(unrecorded) => Self::Unrecorded(unrecorded),
            None if line.trim_ascii().is_empty() => Self::Blank,
            None if line.starts_with(b"{\"startedDateTime\"") => Self::Entry(clock::end_of(line)),
            None => Self::Unknown,
        }
    }
}

/// A check on its way through the segments.
#[derive(Default)]
struct Check {
    /// Sorted.
    kept: Vec<ChainHead>,
    checked: Checked,
    chained: bool,
    /// The chain covers entries by now. A part may go on behind some.
    covers: bool,
    pending: Vec<Pending>,
    /// The last line that was read.
    end: Option<(PathBuf, usize)>,
    /// Whether no segment follows.
    last: bool,
}

/// A line of a segment, as far as it can be judged by itself.
struct ReadLine {
    bytes: u64,
    /// It has its line feed.
    is_whole: bool,
    content: Content,
}

enum Content {
    /// Whether it is as contrail writes it, its hash included.
    Link {
        link: Link,
        as_written: bool,
    },
    /// It begins as a line of the chain.
    Unreadable,
    /// A line of the chain in another form than contrail writes.
    OtherForm,
    Other {
        digest: String,
        kind: LineKind,
    },
}

impl ReadLine {
    /// The lines of a block.
    fn all(block: &[u8]) -> Vec<Self> {
        block.split_inclusive(|byte| *byte == b'\n').map(Self::of).collect()
    }

    fn of(line: &[u8]) -> Self {
        Self { bytes: line.len() as u64, is_whole: line.ends_with(b"\n"), content: Content::of(line) }
    }
}

impl Content {
    fn of(line: &[u8]) -> Self {
        if !line.starts_with(CHAIN) {
            return if is_link(line) {
                Self::OtherForm
            } else {
                Self::Other { digest: line_digest(line), kind: LineKind::of(line) }
            };
        }
        let Ok(Line { chain: link }) = serde_json::from_slice::<Line>(line) else { return Self::Unreadable };
        let mut written = Vec::with_capacity(line.len());
        link.write(&mut written);
        let as_written = line.strip_suffix(b"\n").unwrap_or(line) == &written[..written.len() - 1]
            && link.computed_hash() == link.hash;
        Self::Link { link, as_written }
    }
}

impl Check {
    /// Checks one segment, its lines by themselves on all cores; where it was altered, if it was.
    fn segment(&mut self, segment: &Path, mut input: impl BufRead + Send, any: bool) -> io::Result<Option<Broken>> {
        self.checked.lengths.push(0);
        let (mut failed, mut ended) = (None, false);
        let next = || {
            let mut block = Vec::with_capacity(BATCH + BATCH / 4);
            while block.len() < BATCH && failed.is_none() && !ended {
                match input.read_until(b'\n', &mut block) {
                    // A segment that is still written goes on in the middle of a line.
                    Ok(0) => ended = true,
                    Ok(_) => {}
                    Err(error) => failed = Some(error),
                }
            }
            (!block.is_empty()).then_some(block)
        };
        let mut number = 0;
        let broken = in_order(
            threads,
            next,
            || |block: Vec<u8>| ReadLine::all(&block),
            |lines| {
                for line in lines {
                    if let Some(length) = self.checked.lengths.last_mut() {
                        *length += line.bytes;
                    }
                    number += 1;
                    self.line(segment, number, line, any).map_or(Ok(()), Err)?;
                }
                self.end = Some((segment.to_path_buf(), number));
                Ok(())
            },
        );
        match (broken, failed) {
            (Err(broken), _) => Ok(Some(broken)),
            (Ok(()), failed) => failed.map_or(Ok(None), Err),
        }
    }

    fn line(&mut self, segment: &Path, number: usize, line: ReadLine, any: bool) -> Option<Broken> {
        let broken =
            |reason: &str| Some(Broken { segment: segment.to_path_buf(), line: number, reason: reason.to_owned() });
        let ReadLine { is_whole, content, .. } = line;
        if number == 1 && self.chained && matches!(content, Content::OtherForm | Content::Other { .. }) {
            return broken("a segment begins with a line of the chain, and this line is another");
        }
        if self.chained && !is_whole && !self.last {
            return broken("this line was added: contrail ends a segment with a whole line");
        }
        let link = match content {
            Content::Other { digest, kind } => {
                // A killed process leaves a torn last line, which counts for nothing.
                if is_whole {
                    self.pending.push(Pending { segment: segment.to_path_buf(), line: number, digest, kind });
                }
                return None;
            }
            Content::Unreadable | Content::Link { .. } if !is_whole => {
                self.chained = true;
                return None;
            }
            Content::Unreadable => {
                self.chained = true;
                return broken("this line of the chain cannot be read");
            }
            Content::OtherForm | Content::Link { as_written: false, .. } => {
                return broken("this line of the chain was altered");
            }
            Content::Link { link, .. } => link,
        };
        self.chained = true;
        if number == 1 && link.trail.is_none() {
            return broken("the first line of a segment names its trail, and this one does not");
        }
        if any && number == 1 {
            self.covers = link.seq > 0;
            let trail = link.trail.clone().unwrap_or_default();
            self.checked.head = ChainHead { seq: link.seq, hash: link.prev.clone(), trail };
        }
        compare(&link, &self.checked.head, &self.pending, segment, number).or_else(|| {
            let held = self.step(link);
            held.err().and_then(broken)
        })
    }

    /// Goes on behind a link that is as it was written.
    fn step(&mut self, link: Link) -> Result<(), &'static str> {
        for pending in self.pending.drain(..) {
            match pending.kind {
                LineKind::Unrecorded(unrecorded) => unrecorded.add_to(&mut self.checked.unrecorded),
                LineKind::Blank => continue,
                LineKind::Entry(end) => {
                    self.checked.entries += 1;
                    if let Some(end) = end {
                        self.checked.clock.take(end);
                    }
                }
                LineKind::Unknown => self.checked.entries += 1,
            }
            self.checked.adopted += u64::from(link.adopted);
        }
        self.covers |= self.checked.entries > 0;
        self.checked.head = link.head(std::mem::take(&mut self.checked.head.trail));
        let head = &self.checked.head;
        let first = self.kept.partition_point(|kept| kept.seq < head.seq);
        for kept in self.kept[first..].iter().take_while(|kept| kept.seq == head.seq) {
            if kept.hash != head.hash {
                return Err("the kept head with this number has another hash: the trail was rewritten");
            }
            self.checked.kept_heads += u64::from(self.covers);
        }
        Ok(())
    }
}

/// Whether a line is a chain line in another form than contrail writes.
fn is_link(line: &[u8]) -> bool {
    memmem::find(line, b"\"_chain\"").is_some() && serde_json::from_slice::<Line>(line).is_ok()
}

/// The first line at which a batch differs from its chain line, if any.
fn compare(link: &Link, head: &ChainHead, pending: &[Pending], segment: &Path, line: usize) -> Option<Broken> {
    let here = |reason: String| Some(Broken { segment: segment.to_path_buf(), line, reason });
    if link.trail.as_ref().is_some_and(|trail| !head.trail.is_empty() && *trail != head.trail) {
        return here("this segment belongs to another trail".to_owned());
    }
    if link.seq != head.seq || link.prev != head.hash {
        // A line of no known kind among those that no link covers was a link.
        let of_link = pending.len().saturating_sub(link.lines.len());
        if let Some(altered) =
            pending[..of_link].iter().find(|pending| matches!(pending.kind, LineKind::Unknown | LineKind::Blank))
        {
            let reason = "this line was altered".to_owned();
            return Some(Broken { segment: altered.segment.clone(), line: altered.line, reason });
        }
        // Lines before it that belong to no batch were put there; else something before it is gone.
        return here(format!(
            "expected batch {} of the chain, found batch {}: lines before it were removed or moved",
            head.seq, link.seq
        ));
    }
    let differs = |(at, line): &(usize, &Pending)| link.lines.get(*at) != Some(&line.digest);
    if let Some((index, first)) = pending.iter().enumerate().find(differs) {
        let reason = match link.lines.iter().position(|digest| *digest == first.digest) {
            Some(at) if at > index => "this line is too early: a line before it was removed or moved",
            Some(_) => "this line is repeated, or too late",
            None if link.lines.len() < pending.len() => "this line was added",
            None => "this line was altered",
        };
        return Some(Broken { segment: first.segment.clone(), line: first.line, reason: reason.to_owned() });
    }
    if pending.len() < link.lines.len() {
        let gone = link.lines.len() - pending.len();
        let were = if gone == 1 { "was" } else { "were" };
        return here(format!("{gone} of the lines before this one {were} removed"));
    }
    None
}
