//! DEFLATE data (RFC 1951), bare or as zlib (RFC 1950) or gzip (RFC 1952) wrap it, undone in one piece: the output is
//! the window, so that none is copied from.

use std::cell::{Cell, RefCell};

use crc32fast::hash as crc32;
use zlib_rs::{Inflate, InflateFlush, Status};

/// What DEFLATE can make of a byte.
const MAX_RATIO: usize = 1032;

/// Maximum bytes that undoing a coding may give, and whether it would have given more.
#[derive(Debug)]
pub(super) struct Most {
    pub(super) bytes: usize,
    pub(super) exceeded: Cell<bool>,
}

impl Most {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes, exceeded: Cell::new(false) }
    }

    /// Whether so many bytes are allowed.
    pub(super) fn allows(&self, bytes: usize) -> bool {
        let allowed = bytes <= self.bytes;
        self.exceeded.set(self.exceeded.get() || !allowed);
        allowed
    }
}

/// What stands around DEFLATE data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapper {
    Zlib,
    Nothing,
}

thread_local! {
    /// Kept for the next message: to make one takes as long as to inflate a kilobyte.
    static STATE: RefCell<Inflate> = RefCell::new(Inflate::new(false, 15));
}

/// Undoes gzip, several members one behind the other; `None` if that gives more than `most`, or is broken.
pub(super) fn gzip(most: &Most, mut coded: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    // Mostly there is one member, whose length comes last. Room for what is not true is made once.
    let mut stated = coded.last_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    loop {
        let before = decoded.len();
        let data = without_header(coded)?;
        let rest = inflate(Wrapper::Nothing, data, &mut decoded, std::mem::take(&mut stated), most)?;
        let member = &decoded[before..];
        let (sum, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*sum) != crc32(member) || u64::from(u32::from_le_bytes(*length)) != member.len() as u64 {
            return None;
        }
        if rest.is_empty() {
            return Some(decoded);
        }
        coded = rest;
    }
}

/// Undoes `deflate`: zlib or, as clients send it too, bare DEFLATE data, with nothing behind them.
pub(super) fn deflate(most: &Most, coded: &[u8]) -> Option<Vec<u8>> {
    [Wrapper::Zlib, Wrapper::Nothing].into_iter().find_map(|wrapper| {
        let mut decoded = Vec::new();
        let rest = inflate(wrapper, coded, &mut decoded, 4 * coded.len(), most)?;
        rest.is_empty().then_some(decoded)
    })
}

/// What follows the header of a gzip member (RFC 1952, section 2.3).
fn without_header(member: &[u8]) -> Option<&[u8]> {
    const HEADER_SUM: u8 = 1 << 1;
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    const RESERVED: u8 = 0b111 << 5;
    let ([0x1f, 0x8b, 8, flags, ..], mut rest) = member.split_first_chunk::<10>()? else { return None };
    if flags & RESERVED != 0 {
        return None;
    }
    if flags & EXTRA != 0 {
        let (length, behind) = rest.split_first_chunk()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            rest = &rest[memchr::memchr(0, rest)? + 1..];
        }
    }
    if flags & HEADER_SUM != 0 {
        let header = &member[..member.len() - rest.len()];
        let (sum, behind) = rest.split_first_chunk()?;
        if u32::from(u16::from_le_bytes(*sum)) != crc32(header) & 0xffff {
            return None;
        }
        rest = behind;
    }
    Some(rest)
}

/// Adds what the data stand for to `decoded`, in all no more than `most`; gives what follows the data. `stated` is how
/// many bytes it is expected to be.
fn inflate<'c>(
    wrapper: Wrapper,
    data: &'c [u8],
    decoded: &mut Vec<u8>,
    stated: usize,
    most: &Most,
) -> Option<&'c [u8]> {
    // So that data of more bytes is known from data of as many.
    let limit = most.bytes + 1;
    let begin = decoded.len();
    let (mut rest, mut end) = (data, begin);
    let mut room = stated.min(data.len().saturating_mul(MAX_RATIO)).max(64);
    STATE.with_borrow_mut(|state| {
        // What a member refers to is its own.
        state.reset(wrapper == Wrapper::Zlib);
        loop {
            decoded.resize(begin.saturating_add(room).min(limit), 0);
            let (read, written) = (state.total_in(), state.total_out());
            let status = state.decompress(rest, &mut decoded[end..], InflateFlush::Finish).ok()?;
            rest = &rest[usize::try_from(state.total_in() - read).ok()?..];
            end += usize::try_from(state.total_out() - written).ok()?;
            match status {
                Status::StreamEnd if most.allows(end) => {
                    decoded.truncate(end);
                    return Some(rest);
                }
                Status::Ok | Status::BufError if end == decoded.len() && end < limit => room = 2 * (end - begin),
                _ => {
                    most.allows(end);
                    return None;
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, GzBuilder, write};
    use proptest::prelude::*;

    use super::*;

    fn member(header: &[u8], data: &[u8], text: &[u8]) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap();
        [header, data, &crc32(text).to_le_bytes(), &length.to_le_bytes()].concat()
    }

    #[test]
    fn a_gzip_header_may_hold_a_name_a_comment_more_fields_and_its_sum() {
        let mut coder = GzBuilder::new()
            .filename("a name")
            .comment("a comment")
            .extra([7; 300])
            .write(Vec::new(), Compression::default());
        coder.write_all(b"text").unwrap();
        assert_eq!(gzip(&Most::new(4), &coder.finish().unwrap()).as_deref(), Some(&b"text"[..]));
        // A header sum; a stored block of one byte.
        let header = [0x1f, 0x8b, 8, 2, 0, 0, 0, 0, 0, 255];
        let sum = crc32(&header).to_le_bytes();
        let data = [1, 1, 0, 0xfe, 0xff, b'x'];
        let with_sum = |sum: &[u8]| member(&[&header[..], sum].concat(), &data, b"x");
        assert_eq!(gzip(&Most::new(1), &with_sum(&sum[..2])).as_deref(), Some(&b"x"[..]));
        assert_eq!(gzip(&Most::new(1), &with_sum(&sum[1..3])), None);
        for (at, byte) in [(0, 0), (1, 0), (2, 7), (3, 0x20), (3, 0x80)] {
            let mut broken = with_sum(&sum[..2]);
            broken[at] = byte;
            assert_eq!(gzip(&Most::new(1), &broken), None, "{byte} at {at}");
        }
    }

    #[test]
    fn no_room_is_made_for_a_member_that_gives_nothing() {
        let coded = |text: &[u8]| {
            let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
            coder.write_all(text).unwrap();
            coder.finish().unwrap()
        };
        let members = [coded(b"").repeat(20_000), coded(&vec![0; 8 << 20])].concat();
        assert_eq!(gzip(&Most::new(16 << 20), &members).map(|decoded| decoded.len()), Some(8 << 20));
    }

    #[test]
    fn data_that_refer_to_more_than_they_gave_before_are_broken() {
        // A zero, and then a copy of sixteen bytes of which only one is there.
        let data = [0x63, 0x60, 0x40, 0x23, 0x00];
        assert_eq!(deflate(&Most::new(100), &data), None);
        let one = member(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], &data, &[0; 17]);
        let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
        coder.write_all(&[0; 1000]).unwrap();
        let before = coder.finish().unwrap();
        assert_eq!(gzip(&Most::new(2000), &before).map(|decoded| decoded.len()), Some(1000));
        assert_eq!(gzip(&Most::new(2000), &[before, one].concat()), None);
    }

    proptest! {
        #[test]
        fn what_is_coded_is_decoded_up_to_its_length(
            text in prop_oneof![prop::collection::vec(0..3_u8, 0..6000), prop::collection::vec(any::<u8>(), 0..600)],
            again in any::<bool>(),
        ) {
            let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
            coder.write_all(&text).unwrap();
            let members = coder.finish().unwrap().repeat(1 + usize::from(again));
            let text = text.repeat(1 + usize::from(again));
            prop_assert_eq!(gzip(&Most::new(text.len()), &members), Some(text.clone()));
            let mut coder = write::ZlibEncoder::new(Vec::new(), Compression::default());
            coder.write_all(&text).unwrap();
            let zlib = coder.finish().unwrap();
            prop_assert_eq!(deflate(&Most::new(text.len()), &zlib), Some(text.clone()));
            // Its header and its sum.
            prop_assert_eq!(deflate(&Most::new(text.len()), &zlib[2..zlib.len() - 4]), Some(text.clone()));
            if let Some(less) = text.len().checked_sub(1) {
                prop_assert_eq!(gzip(&Most::new(less), &members), None);
                prop_assert_eq!(deflate(&Most::new(less), &zlib), None);
            }
        }
    }
}
