//! Content codings of DEFLATE data (RFC 9110, section 8.4.1): gzip (RFC 1952), zlib (RFC 1950), and bare (RFC 1951).

use std::{cell::Cell, io::Read};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

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

/// Undoes gzip, several members one behind the other; `None` if that gives more than `most`, or is broken.
pub(super) fn gzip(most: &Most, coded: &[u8]) -> Option<Vec<u8>> {
    read(&mut MultiGzDecoder::new(coded), most)
}

/// Undoes `deflate`: zlib or, as clients send it too, bare DEFLATE data, with nothing behind them.
pub(super) fn deflate(most: &Most, coded: &[u8]) -> Option<Vec<u8>> {
    let mut zlib = ZlibDecoder::new(coded);
    let decoded = read(&mut zlib, most).filter(|_| zlib.into_inner().is_empty());
    decoded.or_else(|| {
        let mut bare = DeflateDecoder::new(coded);
        read(&mut bare, most).filter(|_| bare.into_inner().is_empty())
    })
}

/// All that a decoder gives.
fn read(decoder: &mut impl Read, most: &Most) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    decoder.take(most.bytes as u64 + 1).read_to_end(&mut decoded).ok()?;
    most.allows(decoded.len()).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write};
    use proptest::prelude::*;

    use super::*;

    fn coded(text: &[u8]) -> Vec<u8> {
        let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
        coder.write_all(text).unwrap();
        coder.finish().unwrap()
    }

    #[test]
    fn what_is_cut_altered_or_followed_by_something_else_is_broken() {
        let gzipped = coded(b"a text");
        let mut zlib = write::ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(b"a text").unwrap();
        let zlib = zlib.finish().unwrap();
        for (decode, coded) in [(gzip as fn(&Most, &[u8]) -> Option<Vec<u8>>, gzipped), (deflate, zlib)] {
            let most = Most::new(100);
            assert_eq!(decode(&most, &coded).as_deref(), Some(&b"a text"[..]));
            assert_eq!(decode(&most, &coded[..coded.len() - 1]), None, "cut");
            assert_eq!(decode(&most, &[&coded[..], b"x"].concat()), None, "followed by something else");
            let mut altered = coded.clone();
            altered[12] ^= 4;
            assert_ne!(decode(&most, &altered).as_deref(), Some(&b"a text"[..]), "altered");
            assert!(!most.exceeded.get());
        }
    }

    proptest! {
        #[test]
        fn what_is_coded_is_decoded_up_to_its_length(
            text in prop_oneof![prop::collection::vec(0..3_u8, 0..6000), prop::collection::vec(any::<u8>(), 0..600)],
            again in any::<bool>(),
        ) {
            let members = coded(&text).repeat(1 + usize::from(again));
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
