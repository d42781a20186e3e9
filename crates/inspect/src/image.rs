//! Images: which ones a page may show, by their first bytes. Their size is read here, so that no browser has to make
//! room for one that claims to be huge.

/// Maximum pixels of an image that is shown.
const MAX_PIXELS: u64 = 25_000_000;
/// Bytes within which an AVIF file names its size.
const AVIF_HEAD: usize = 64 << 10;

/// An image by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Image {
    /// Fixed by what it is, never by what a message states.
    pub(crate) media_type: &'static str,
    /// 0 where it cannot be read.
    pub(crate) width: u32,
    /// As the width.
    pub(crate) height: u32,
}

impl Image {
    /// The image that these bytes are: PNG, JPEG, GIF, WebP or AVIF. Never SVG, which is a document.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let (media_type, size) = match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => ("image/png", png(bytes)),
            [0xff, 0xd8, 0xff, ..] => ("image/jpeg", jpeg(bytes)),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => ("image/gif", little(bytes, 6).zip(little(bytes, 8))),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ("image/webp", webp(bytes)),
            [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => ("image/avif", avif(bytes)),
            _ => return None,
        };
        let (width, height) = size.unwrap_or_default();
        Some(Self { media_type, width, height })
    }

    /// Why it is not shown, if it is not.
    pub(crate) fn refusal(self) -> Option<String> {
        let Self { width, height, .. } = self;
        match u64::from(width) * u64::from(height) {
            0 => Some("its size cannot be read".to_owned()),
            1..=MAX_PIXELS => None,
            _ => Some(format!("{width} x {height} are more than {} million pixels", MAX_PIXELS / 1_000_000)),
        }
    }
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn little(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    big(bytes, 16).zip(big(bytes, 20))
}

/// The largest frame: a file may have several.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let two = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let (mut at, mut largest) = (2, None);
    while let (Some(0xff), Some(marker)) = (bytes.get(at), bytes.get(at + 1)) {
        match marker {
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            // The picture, or the end.
            0xd9 | 0xda => break,
            _ => {
                if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
                    largest = largest.max(two(at + 7).zip(two(at + 5)));
                }
                at += 2 + two(at + 2)? as usize;
            }
        }
    }
    largest
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let three = |at: usize| {
        let bytes = bytes.get(at..at + 3)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) + 1)
    };
    match bytes.get(12..16)? {
        b"VP8X" => three(24).zip(three(27)),
        b"VP8L" => {
            let packed = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(bytes, 26)? & 0x3fff, little(bytes, 28)? & 0x3fff)),
        _ => None,
    }
}

/// The largest size that the file names: a picture may consist of tiles.
fn avif(bytes: &[u8]) -> Option<(u32, u32)> {
    let head = &bytes[..bytes.len().min(AVIF_HEAD)];
    let sizes = memchr::memmem::find_iter(head, b"ispe").filter_map(|at| big(head, at + 8).zip(big(head, at + 12)));
    sizes.max_by_key(|(width, height)| u64::from(*width) * u64::from(*height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(parts: &[&[u8]]) -> Option<(&'static str, u32, u32)> {
        Image::of(&parts.concat()).map(|image| (image.media_type, image.width, image.height))
    }

    #[test]
    fn an_image_is_known_by_its_first_bytes_and_its_size_is_read() {
        let png: &[&[u8]] = &[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &[0, 0, 1, 2, 0, 0, 3, 4]];
        assert_eq!(image(png), Some(("image/png", 0x102, 0x304)));
        let jpeg: &[&[u8]] =
            &[b"\xff\xd8\xff\xe0\0\x04ab", b"\xff\xc2\0\x0b\x08\0\x10\0\x20\x01\0\0\0", b"\xff\xda\0\x02"];
        assert_eq!(image(jpeg), Some(("image/jpeg", 32, 16)));
        assert_eq!(image(&[b"GIF89a", &[1, 2, 3, 4]]), Some(("image/gif", 0x201, 0x403)));
        let webp = |kind: &[u8], rest: &[u8]| image(&[b"RIFF\0\0\0\0WEBP", kind, &[0; 4], rest]);
        assert_eq!(webp(b"VP8X", &[0, 0, 0, 0, 9, 0, 0, 19, 0, 0]), Some(("image/webp", 10, 20)));
        assert_eq!(webp(b"VP8L", &[0x2f, 9, 0x40, 1, 0]), Some(("image/webp", 10, 6)));
        assert_eq!(webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 8, 0, 9, 0]), Some(("image/webp", 8, 9)));
        let avif = [b"\0\0\0\x1cftypavif".as_slice(), b"....ispe\0\0\0\0\0\0\0\x40\0\0\0\x30"];
        assert_eq!(image(&avif), Some(("image/avif", 64, 48)));
        for other in [&b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..], b"", b"\x89PNG", b"{\"a\":1}"] {
            assert_eq!(Image::of(other), None);
        }
    }

    #[test]
    fn an_image_that_is_huge_or_whose_size_cannot_be_read_is_not_shown() {
        let of = |width, height| Image { media_type: "image/png", width, height }.refusal();
        assert_eq!(of(5000, 5000), None);
        assert_eq!(of(5000, 5001).unwrap(), "5000 x 5001 are more than 25 million pixels");
        assert!(of(u32::MAX, u32::MAX).is_some());
        assert_eq!(of(0, 9).unwrap(), "its size cannot be read");
        // Cut at every byte, a file is read or refused.
        for length in 0..12 {
            let bytes = &b"\xff\xd8\xff\xc0\0\x0b\x08\0\x10\0\x20\x01"[..length];
            assert!(Image::of(bytes).is_none_or(|image| image.refusal().is_some() || image.width == 32));
        }
    }
}
