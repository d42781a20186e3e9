//! The lines of a trail as messages, in order, as far as a line of its chain covers them.
//!
//! What no line of the chain covers yet may still be taken back: a failed write is. A batch is whole with its line of
//! the chain, so that the same bytes always make the same messages.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use contrail_recording::{CHAIN, begin_of, segment_name};
use memchr::memchr_iter;

use super::place::{Place, is_trail};
pub(super) use crate::segments;

/// A place in a trail: all before it, the earlier segments included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// The number of the segment.
    pub(super) segment: u64,
    /// A byte in it.
    pub(super) offset: u64,
}

/// What one message carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) place: Place,
    /// A line with its line feed, or a part of one that is too long for a message.
    pub(super) payload: Bytes,
    /// The line of the chain that follows, without its line feed: it goes into a header, so that a message is an entry.
    pub(super) chain: Option<Bytes>,
}

/// Maximum bytes of a line of the chain in a header; the broker's own bound on all headers is 64 KiB.
const MAX_CHAIN: usize = 16 << 10;

/// Bytes of a read.
const BLOCK: usize = 256 << 10;

/// A trail that is read while it is written.
#[derive(Debug)]
pub(super) struct Tail {
    folder: PathBuf,
    /// The segment that is read, if one is there.
    open: Option<Segment>,
    /// Where to go on.
    at: Position,
    /// Whole batches.
    ready: VecDeque<Message>,
    /// Maximum bytes of a message's payload.
    max_payload: usize,
}

#[derive(Debug)]
struct Segment {
    file: File,
    number: u64,
    trail: String,
    /// Read, and not yet covered by a line of the chain.
    unsealed: Vec<u8>,
    /// Where each whole line in it ends: the byte behind its line feed.
    ends: Vec<usize>,
    /// The place of its first byte.
    offset: u64,
}

impl Tail {
    pub(super) fn new(folder: &Path) -> Self {
        let (folder, at) = (folder.to_path_buf(), Position::default());
        Self { folder, open: None, at, ready: VecDeque::new(), max_payload: usize::MAX }
    }

    /// Goes on from here, with messages of at most so many bytes.
    pub(super) fn go_to(&mut self, at: Position, max_payload: usize) {
        self.at = at;
        self.max_payload = max_payload.max(1);
        self.open = None;
        self.ready.clear();
    }

    /// The next message; `None` until more is written.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn next(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            if self.open.is_none() && !self.open_segment()? {
                return Ok(None);
            }
            let max_payload = self.max_payload;
            let Some(segment) = &mut self.open else { return Ok(None) };
            if segment.read(&mut self.ready, max_payload)? || !self.ready.is_empty() {
                continue;
            }
            if !self.is_complete()? {
                return Ok(None);
            }
        }
    }

    /// Opens the segment to go on in: that of the position, or the first one after it.
    fn open_segment(&mut self) -> io::Result<bool> {
        let numbers = segments(&self.folder)?;
        let Some(number) = numbers.into_iter().filter(|number| *number >= self.at.segment).min() else {
            return Ok(false);
        };
        if number > self.at.segment {
            self.at = Position { segment: number, offset: 0 };
        }
        let path = self.folder.join(segment_name(number));
        let Some(trail) = begin_of(&path)?.map(|head| head.trail).filter(|trail| is_trail(trail)) else {
            // One that a process was killed at the start of, or the newest, whose first line is being written.
            let is_last = segments(&self.folder)?.into_iter().max() == Some(number);
            self.at = if is_last { self.at } else { Position { segment: number + 1, offset: 0 } };
            return if is_last { Ok(false) } else { self.open_segment() };
        };
        let mut file = File::open(&path)?;
        if self.at.offset > file.metadata()?.len() {
            self.at.offset = 0;
        }
        let offset = file.seek(SeekFrom::Start(self.at.offset))?;
        self.open = Some(Segment { file, number, trail, unsealed: Vec::new(), ends: Vec::new(), offset });
        Ok(true)
    }

    /// Whether the open segment has ended, since there is another; goes on in that one then.
    fn is_complete(&mut self) -> io::Result<bool> {
        let Some(segment) = &mut self.open else { return Ok(false) };
        let number = segment.number;
        let here = self.folder.join(segment_name(number));
        let is_next = segments_after(&self.folder, number)?;
        // The last lines may have been written just before the next segment was made.
        if segment.read(&mut self.ready, self.max_payload)? || !self.ready.is_empty() {
            return Ok(true);
        }
        if is_next {
            segment.seal_rest(&mut self.ready, self.max_payload);
            self.at = Position { segment: number + 1, offset: 0 };
            self.open = None;
            return Ok(true);
        }
        if fs::metadata(&here).is_ok_and(|there| there.len() > segment.read_to()) {
            // It was removed, and made again with all its content.
            self.at = Position { segment: number, offset: segment.offset };
            self.open = None;
            return Ok(true);
        }
        Ok(false)
    }
}

impl Segment {
    /// The end of what was read.
    fn read_to(&self) -> u64 {
        self.offset + self.unsealed.len() as u64
    }

    /// Reads more, and cuts whole batches into messages; whether there was more.
    fn read(&mut self, ready: &mut VecDeque<Message>, max_payload: usize) -> io::Result<bool> {
        let there = self.file.metadata()?.len().saturating_sub(self.read_to());
        let block = usize::try_from(there).unwrap_or(BLOCK).min(BLOCK);
        self.unsealed.reserve(block);
        if self.file.by_ref().take(block as u64).read_to_end(&mut self.unsealed)? == 0 {
            return Ok(false);
        }
        let searched = self.ends.last().copied().unwrap_or(0);
        let (mut begin, mut sealed) = (searched, 0);
        for end in memchr_iter(b'\n', &self.unsealed[searched..]).map(|feed| searched + feed + 1) {
            self.ends.push(end);
            if self.unsealed[begin..].starts_with(CHAIN) {
                sealed = self.ends.len();
            }
            begin = end;
        }
        self.cut(sealed, ready, max_payload);
        Ok(true)
    }

    /// Takes what no line of the chain covers, of a segment to which none comes.
    fn seal_rest(&mut self, ready: &mut VecDeque<Message>, max_payload: usize) {
        self.cut(self.ends.len(), ready, max_payload);
    }

    /// Makes messages of so many lines.
    fn cut(&mut self, count: usize, ready: &mut VecDeque<Message>, max_payload: usize) {
        let ends: Vec<usize> = self.ends.drain(..count).collect();
        let bytes = ends.last().copied().unwrap_or(0);
        self.ends.iter_mut().for_each(|end| *end -= bytes);
        let rest = self.unsealed.split_off(bytes);
        let batches = Bytes::from(std::mem::replace(&mut self.unsealed, rest));
        let mut begin = 0;
        let mut lines = ends.into_iter().map(|end| batches.slice(std::mem::replace(&mut begin, end)..end));
        let mut next = lines.next();
        while let Some(line) = next {
            next = lines.next();
            let is_link = |line: &Bytes| line.starts_with(CHAIN);
            let chain = next.take_if(|next| {
                let fits = next.len() <= MAX_CHAIN && line.len() + next.len() <= max_payload;
                fits && is_link(next) && !is_link(&line)
            });
            if chain.is_some() {
                next = lines.next();
            }
            let mut line = line;
            while line.len() > max_payload {
                let part = line.split_to(max_payload);
                ready.push_back(self.message(part, None));
            }
            ready.push_back(self.message(line, chain));
        }
    }

    fn message(&mut self, payload: Bytes, chain: Option<Bytes>) -> Message {
        let length = (payload.len() + chain.as_ref().map_or(0, Bytes::len)) as u64;
        let place = Place { trail: self.trail.clone(), segment: self.number, offset: self.offset, length };
        self.offset += length;
        Message { place, payload, chain: chain.map(|line| line.slice(..line.len() - 1)) }
    }
}

/// Whether a segment follows this one.
fn segments_after(folder: &Path, number: u64) -> io::Result<bool> {
    match fs::metadata(folder.join(segment_name(number + 1))) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
