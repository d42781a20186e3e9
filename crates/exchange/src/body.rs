//! Bodies: what was kept, and what is known about the rest.

use std::{
    fmt,
    io::Read,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::{HeaderValue, header::CONTENT_LENGTH};
use ruzstd::decoding::StreamingDecoder;

use super::{
    Headers,
    inflate::{self, Most},
};
use crate::json::{Document, SyntaxError};

/// One message body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// The kept bytes. After [`Body::decode`] (or from a file) the content coding is gone.
    pub content: Bytes,
    /// Whether `content` is all of it.
    pub presence: Presence,
    /// Bytes on the wire, content coding included; `None` where they were not counted.
    pub wire_size: Option<u64>,
    /// Places whose values were replaced by labels.
    pub redacted: Vec<Pointer>,
    /// It is not what its type declares, so that its labels have no other place than the whole.
    pub malformed: bool,
    /// Its content coding could not be undone: `content` is what was sent.
    pub coded: bool,
    /// What [`Body::document`] read.
    pub read: ReadOnce,
}

/// A body's content as JSON, kept so that judging and redaction read it once between them. It says nothing of the body
/// that the body does not state itself, so two of them are always equal.
#[derive(Clone, Default)]
pub struct ReadOnce(OnceLock<Arc<Document>>);

impl PartialEq for ReadOnce {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ReadOnce {}

impl fmt::Debug for ReadOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadOnce")
    }
}

/// How much of a body is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Presence {
    /// All of it (an absent body is whole and empty).
    #[default]
    Whole,
    /// Only the first `kept` bytes of `total` (`None`: unknown).
    Truncated {
        /// Bytes that were kept, before any decoding.
        kept: u64,
        /// Bytes that there were on the wire.
        total: Option<u64>,
    },
    /// There was a body, and it is not here.
    Withheld(Withheld),
}

/// Why a body is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// Its type calls for parsing, it does not parse, and a secret in it could not be located.
    Unparsable,
    /// Its content coding could not be undone (unknown or broken), and it is no text as it is.
    Undecodable,
    /// Its content coding would give more than [`DecodeLimits::bytes`].
    MaxDecoded,
    /// Its content coding would give more than [`DecodeLimits::ratio`] allows.
    MaxRatio,
    /// The file was saved without it.
    NotSaved,
    /// Another reason, in words, from a file.
    Other(String),
}

impl Withheld {
    /// The word in files.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unparsable => "unparsable",
            Self::Undecodable => "undecodable",
            Self::MaxDecoded => "max-decoded",
            Self::MaxRatio => "max-ratio",
            Self::NotSaved => "not-saved",
            Self::Other(reason) => reason,
        }
    }

    /// Whether contrail withheld the body because of its content.
    #[must_use]
    pub fn is_of_content(&self) -> bool {
        matches!(self, Self::Unparsable | Self::Undecodable | Self::MaxDecoded | Self::MaxRatio)
    }

    /// The reason of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "unparsable" => Self::Unparsable,
            "undecodable" => Self::Undecodable,
            "max-decoded" => Self::MaxDecoded,
            "max-ratio" => Self::MaxRatio,
            "not-saved" => Self::NotSaved,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A place inside a body whose value was replaced by a label: a JSON pointer (RFC 6901); for forms and multipart
/// bodies `/name` of the field (escaped as in a pointer); the empty string for the body as a whole.
pub type Pointer = String;

/// Whether a place is redacted, or lies below one that is.
#[must_use]
pub fn is_redacted(redacted: &[Pointer], at: &str) -> bool {
    redacted.iter().any(|place| is_at_or_below(at, place))
}

/// Whether a JSON pointer leads to this place, or to one below it.
#[must_use]
pub fn is_at_or_below(at: &str, place: &str) -> bool {
    at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Bounds for undoing a content coding.
#[derive(Debug, Clone, Copy)]
pub struct DecodeLimits {
    /// Maximum bytes that decoding may give.
    pub bytes: usize,
    /// Maximum bytes out per byte in (above a small floor).
    pub ratio: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { bytes: 16 << 20, ratio: 1000 }
    }
}

impl Body {
    /// A whole body of these bytes.
    pub fn whole(content: impl Into<Bytes>) -> Self {
        let content = content.into();
        Self { wire_size: Some(content.len() as u64), content, presence: Presence::Whole, ..Self::default() }
    }

    /// A body that is not here.
    #[must_use]
    pub fn withheld(reason: Withheld, wire_size: Option<u64>) -> Self {
        Self { content: Bytes::new(), presence: Presence::Withheld(reason), wire_size, ..Self::default() }
    }

    /// The content as JSON. It is parsed when first asked for; content that took its place since is parsed again.
    ///
    /// # Errors
    ///
    /// Those of [`Document::parse`].
    pub fn document(&self) -> Result<Arc<Document>, SyntaxError> {
        if let Some(held) = self.held_document() {
            return Ok(Arc::clone(held));
        }
        let document = Arc::new(Document::parse(self.content.clone())?);
        let _ = self.read.0.set(Arc::clone(&document));
        Ok(document)
    }

    /// What [`Body::document`] gives, if it was asked before.
    #[must_use]
    pub fn held_document(&self) -> Option<&Arc<Document>> {
        // The document keeps its source alive, so the same address is the same bytes.
        let same = |held: &&Arc<Document>| {
            held.source().as_ptr() == self.content.as_ptr() && held.source().len() == self.content.len()
        };
        self.read.0.get().filter(same)
    }

    /// Puts other content in place of what came. The sizes are those of what is kept, so that none shows the length of
    /// what was replaced.
    pub fn replace(&mut self, content: impl Into<Bytes>, headers: &mut Headers) {
        self.content = content.into();
        let size = self.content.len();
        self.wire_size = Some(size as u64);
        for (_, value) in headers.iter_mut().filter(|(name, _)| *name == CONTENT_LENGTH) {
            *value = HeaderValue::from(size);
        }
    }

    /// Whether all of it is here.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.presence == Presence::Whole
    }

    /// Whether there is no body at all (not: whether it is withheld).
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.is_whole() && self.content.is_empty()
    }

    /// Undoes the content coding that `headers` state, within `limits`; `wire_size` stays what it was.
    ///
    /// Knows gzip, deflate (with and without the zlib wrapper, as clients do), br and zstd, and lists of them. Under
    /// anything else, broken data, and with bytes after the end of the data, a text stays as it is ([`Body::coded`]), and
    /// other bytes become [`Withheld::Undecodable`]: a secret in them cannot be found. Output beyond the limits becomes
    /// [`Withheld::MaxDecoded`] or [`Withheld::MaxRatio`]. A body of which only a part was kept is left as it is: its
    /// bytes remain coded.
    #[must_use]
    pub fn decode(self, headers: &Headers, limits: DecodeLimits) -> Self {
        if !self.is_whole() || self.content.is_empty() || !headers.contains("content-encoding") {
            return self;
        }
        let mut codings = codings(headers);
        let mut content = self.content.clone();
        let mut failure = (codings.len() > MAX_CODINGS).then_some(Withheld::Undecodable);
        while failure.is_none()
            && let Some(last) = codings.pop()
        {
            match undo(last, &content, limits) {
                Ok(undone) => content = undone.into(),
                Err(reason) => failure = Some(reason),
            }
        }
        match failure {
            None => Self { content, ..self },
            Some(Withheld::Undecodable) if std::str::from_utf8(&self.content).is_ok() => Self { coded: true, ..self },
            Some(reason) => Self::withheld(reason, self.wire_size),
        }
    }

    /// Whether its bytes contradict the `Content-Encoding`: contrail can undo all codings that it names, and not on them.
    #[must_use]
    pub fn contradicts_coding(&self, headers: &Headers) -> bool {
        let codings = codings(headers);
        (self.coded || self.presence == Presence::Withheld(Withheld::Undecodable))
            && codings.len() <= MAX_CODINGS
            && codings.iter().all(|coding| KNOWN.iter().any(|known| coding.eq_ignore_ascii_case(known)))
    }
}

/// Maximum content codings that are undone on one body.
const MAX_CODINGS: usize = 4;

/// The codings that [`undo`] undoes.
const KNOWN: [&[u8]; 5] = [b"gzip", b"x-gzip", b"deflate", b"br", b"zstd"];

/// The content codings that a message names, in the order in which they were applied.
fn codings(headers: &Headers) -> Vec<&[u8]> {
    let values = headers.get_all("content-encoding").flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let codings = values.map(<[u8]>::trim_ascii);
    codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")).collect()
}

/// Undoes one coding; otherwise why the body is withheld.
fn undo(coding: &[u8], coded: &[u8], limits: DecodeLimits) -> Result<Vec<u8>, Withheld> {
    /// Output that the ratio never forbids.
    const FLOOR: usize = 64 << 10;
    let by_ratio = coded.len().saturating_mul(limits.ratio).max(FLOOR);
    let most = Most::new(limits.bytes.min(by_ratio));
    let undone = match coding.to_ascii_lowercase().as_slice() {
        b"gzip" | b"x-gzip" => inflate::gzip(&most, coded),
        b"deflate" => inflate::deflate(&most, coded),
        b"br" => brotli(&most, coded),
        b"zstd" => zstd(&most, coded),
        _ => None,
    };
    undone.ok_or(match most.exceeded.get() {
        false => Withheld::Undecodable,
        true if limits.bytes <= by_ratio => Withheld::MaxDecoded,
        true => Withheld::MaxRatio,
    })
}

/// Undoes zstd: frames one behind the other, skippable ones among them (RFC 8878, section 3).
fn zstd(most: &Most, mut coded: &[u8]) -> Option<Vec<u8>> {
    /// The largest window that a content coding may have (RFC 9659), and so must be read.
    const MAX_WINDOW: usize = 8 << 20;
    let number = |bytes: &[u8]| Some(u32::from_le_bytes(*bytes.first_chunk()?));
    let mut decoded = Vec::new();
    while !coded.is_empty() {
        if number(coded).is_some_and(|magic| magic & !0xf == 0x184d_2a50) {
            let length = usize::try_from(number(coded.get(4..)?)?).ok()?;
            coded = coded.get(8..)?.get(length..)?;
            continue;
        }
        let window = MAX_WINDOW.max(most.bytes) as u64;
        let mut decoder = StreamingDecoder::new_with_max_window_size(Chunk(coded), window).ok()?;
        let room = (most.bytes - decoded.len()) as u64;
        (&mut decoder).take(room + 1).read_to_end(&mut decoded).ok()?;
        if !most.allows(decoded.len()) {
            return None;
        }
        let (rest, frame) = decoder.into_parts();
        if frame.get_checksum_from_data().is_some_and(|sum| frame.get_calculated_checksum() != Some(sum)) {
            return None;
        }
        coded = rest.0;
    }
    Some(decoded)
}

/// Undoes brotli.
fn brotli(most: &Most, coded: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = brotli_decompressor::Decompressor::new(Chunk(coded), 4096);
    let mut decoded = Vec::new();
    (&mut decoder).take(most.bytes as u64 + 1).read_to_end(&mut decoded).ok()?;
    if !most.allows(decoded.len()) {
        return None;
    }
    // Bytes after the end are found by the read after the last one, or are still in the slice.
    let ended = decoder.read(&mut [0]).is_ok_and(|read| read == 0) && decoder.into_inner().0.is_empty();
    ended.then_some(decoded)
}

/// A slice to read from, from which the rest can be asked.
struct Chunk<'a>(&'a [u8]);

impl Read for Chunk<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write};
    use http::{HeaderValue, header::CONTENT_ENCODING};

    use super::*;

    const TEXT: &[u8] = br#"{"name":"policy","limit":5}"#;
    /// `TEXT` in brotli, as the reference implementation writes it uncompressed (one meta-block).
    fn brotli(text: &[u8]) -> Vec<u8> {
        // WBITS 16; a meta-block that is not the last, of 4 nibbles of length, uncompressed; then an empty last one.
        let length = text.len() - 1;
        let header: u32 = (u32::try_from(length).unwrap() << 4) | (1 << 20);
        let mut out = header.to_le_bytes()[..3].to_vec();
        out.extend_from_slice(text);
        out.push(0b11);
        out
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
        coder.write_all(text).unwrap();
        coder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut coder = write::ZlibEncoder::new(Vec::new(), Compression::default());
        coder.write_all(text).unwrap();
        coder.finish().unwrap()
    }

    fn raw_deflate(text: &[u8]) -> Vec<u8> {
        let mut coder = write::DeflateEncoder::new(Vec::new(), Compression::default());
        coder.write_all(text).unwrap();
        coder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn coded(coding: &'static str) -> Headers {
        coding.split('|').map(|line| (CONTENT_ENCODING, HeaderValue::from_static(line))).collect()
    }

    fn decode(coding: &'static str, bytes: Vec<u8>) -> Body {
        Body::whole(bytes).decode(&coded(coding), DecodeLimits::default())
    }

    #[test]
    fn every_coding_that_clients_accept_is_undone_and_the_wire_size_stays() {
        for (coding, bytes) in [
            ("gzip", gzip(TEXT)),
            ("X-GZIP", gzip(TEXT)),
            ("deflate", zlib(TEXT)),
            ("deflate", raw_deflate(TEXT)),
            ("br", brotli(TEXT)),
            ("identity", TEXT.to_vec()),
            ("zstd", zstd(TEXT)),
            ("zstd", [&zstd(&TEXT[..5])[..], b"\x5f\x2a\x4d\x18\x01\x00\x00\x00x", &zstd(&TEXT[5..])].concat()),
            ("gzip, zstd", zstd(&gzip(TEXT))),
            ("gzip, br", brotli(&gzip(TEXT))),
            ("deflate|gzip", gzip(&zlib(TEXT))),
            ("gzip, gzip, gzip, gzip", gzip(&gzip(&gzip(&gzip(TEXT))))),
        ] {
            let wire = bytes.len() as u64;
            let body = decode(coding, bytes);
            assert_eq!((&body.content[..], body.wire_size), (TEXT, Some(wire)), "{coding}");
            assert!(body.is_whole());
        }
    }

    #[test]
    fn a_gzip_body_of_several_members_is_decoded_whole() {
        let body = decode("gzip", [gzip(b"{\"a\":"), gzip(b"1}")].concat());
        assert_eq!(&body.content[..], b"{\"a\":1}");
    }

    #[test]
    fn bytes_that_cannot_be_decoded_are_withheld_and_none_stays() {
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 3].to_vec();
        let surplus = |bytes: Vec<u8>| [bytes, b"secret".to_vec()].concat();
        for (coding, bytes) in [
            ("zstd", cut(zstd(TEXT))),
            ("zstd", surplus(zstd(TEXT))),
            // A window of 3.75 TiB, and a skippable frame that is longer than the body.
            ("zstd", b"\x28\xb5\x2f\xfd\x00\xff\x01\x00\x00".to_vec()),
            ("zstd", b"\xff\x50\x2a\x4d\x18\x09\x00\x00\x00x".to_vec()),
            ("compress", b"\x1f\x9d\x90".to_vec()),
            ("br", b"\xff\xff\xff".to_vec()),
            ("deflate", b"\xff\xff".to_vec()),
            ("gzip", cut(gzip(TEXT))),
            ("deflate", cut(zlib(TEXT))),
            ("deflate", cut(raw_deflate(TEXT))),
            ("br", cut(brotli(TEXT))),
            ("gzip", surplus(gzip(TEXT))),
            ("deflate", surplus(zlib(TEXT))),
            ("br", surplus(brotli(TEXT))),
            ("gzip, gzip, gzip, gzip, gzip", gzip(&gzip(&gzip(&gzip(&gzip(TEXT)))))),
        ] {
            let size = bytes.len() as u64;
            assert_eq!(decode(coding, bytes), Body::withheld(Withheld::Undecodable, Some(size)), "{coding}");
        }
    }

    #[test]
    fn a_text_under_a_coding_stays_and_contradicts_it_where_contrail_knows_it() {
        for (coding, contradicts) in [
            ("gzip", true),
            ("X-Gzip", true),
            ("zstd", true),
            ("gzip, br", true),
            ("utf-8", false),
            ("none", false),
            ("aws-chunked,gzip", false),
            ("gzip, gzip, gzip, gzip, gzip", false),
        ] {
            let body = decode(coding, TEXT.to_vec());
            assert_eq!(body, Body { coded: true, ..Body::whole(TEXT) }, "{coding}");
            assert_eq!(body.contradicts_coding(&coded(coding)), contradicts, "{coding}");
        }
        let mut wrong_sum = gzip(TEXT);
        let at = wrong_sum.len() - 8;
        wrong_sum[at] ^= 1;
        for (coding, bytes, contradicts) in [
            ("gzip", wrong_sum, true),
            ("gzip", gzip(TEXT)[..20].to_vec(), true),
            ("compress", vec![0x1f, 0x9d, 0x90], false),
            ("gzip", gzip(TEXT), false),
        ] {
            let body = decode(coding, bytes);
            assert_eq!(body.contradicts_coding(&coded(coding)), contradicts, "{coding}");
        }
        let limits = DecodeLimits { bytes: 5, ratio: 1000 };
        let bound = Body::whole(gzip(TEXT)).decode(&coded("gzip"), limits);
        assert!(!bound.contradicts_coding(&coded("gzip")), "a bound of ours is no fault of the body");
    }

    #[test]
    fn a_bomb_is_stopped_by_size_and_by_ratio() {
        let zeros = vec![0; 1 << 20];
        let limits = |bytes, ratio| DecodeLimits { bytes, ratio };
        let coded_zeros = [
            ("gzip", gzip(&zeros)),
            ("deflate", zlib(&zeros)),
            ("deflate", raw_deflate(&zeros)),
            ("zstd", zstd(&zeros)),
        ];
        for (coding, coded_zeros) in coded_zeros {
            let decode = |limits| Body::whole(coded_zeros.clone()).decode(&coded(coding), limits);
            assert!(decode(limits(1 << 20, 100_000)).is_whole());
            let size = Some(coded_zeros.len() as u64);
            let (decoded, ratio) = (decode(limits((1 << 20) - 1, 100_000)), decode(limits(1 << 21, 100)));
            assert_eq!(decoded, Body::withheld(Withheld::MaxDecoded, size), "{coding}");
            assert_eq!(ratio, Body::withheld(Withheld::MaxRatio, size), "{coding}");
        }
    }

    #[test]
    fn a_body_of_exactly_the_ratio_is_decoded_and_one_byte_more_is_not() {
        const RATIO: usize = 500;
        // What hardly gets smaller, and then what gets a thousand times smaller.
        let of = |length: usize| {
            let mut number = 1_u32;
            let noise = std::iter::repeat_with(|| {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                number.to_be_bytes()[0]
            });
            let mut content: Vec<u8> = noise.take(300).collect();
            content.resize(length, 0);
            gzip(&content)
        };
        let exact = |coded: &usize| of(coded * RATIO).len() == *coded && of(coded * RATIO + 1).len() == *coded;
        let length = (200..2000).find(exact).unwrap() * RATIO;
        let decode = |length, ratio| {
            Body::whole(of(length)).decode(&coded("gzip"), DecodeLimits { ratio, ..DecodeLimits::default() })
        };
        assert_eq!(decode(length, RATIO).content.len(), length);
        assert!(!decode(length + 1, RATIO).is_whole());
        assert!(decode(length + 1, RATIO + 1).is_whole());
        assert!(decode(64 << 10, 1).is_whole(), "so little is never too much");
    }

    #[test]
    fn a_cut_body_stays_truncated_and_coded() {
        let bytes = gzip(TEXT);
        let presence = Presence::Truncated { kept: 10, total: Some(bytes.len() as u64) };
        let body = Body { content: bytes[..10].to_vec().into(), presence, ..Body::default() };
        assert_eq!(body.clone().decode(&coded("gzip"), DecodeLimits::default()), body);
    }
}
