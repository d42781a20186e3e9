//! A client's HTTP/2 frames by their headers alone (RFC 9113, section 4.1): whether a request's head is on its way.

const PREFACE: u32 = 24;
const HEAD: usize = 9;

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const CONTINUATION: u8 = 0x9;
const END_HEADERS: u8 = 0x4;

/// Follows the bytes of a connection from frame to frame.
#[derive(Debug)]
pub(crate) struct Frames {
    head: [u8; HEAD],
    /// Bytes of `head` that are here.
    have: usize,
    /// Bytes of the frame (or the preface) that are not here yet.
    left: u32,
    /// The frame that `left` belongs to carries data.
    data: bool,
    /// A header block was begun and not ended.
    block: bool,
}

impl Frames {
    pub(crate) fn new(preface_read: bool) -> Self {
        let left = if preface_read { 0 } else { PREFACE };
        Self { head: [0; HEAD], have: 0, left, data: false, block: false }
    }

    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= u32::try_from(skipped).unwrap_or(self.left);
                bytes = &bytes[skipped..];
                continue;
            }
            let wanted = (HEAD - self.have).min(bytes.len());
            let (piece, rest) = bytes.split_at(wanted);
            self.head[self.have..self.have + wanted].copy_from_slice(piece);
            self.have += wanted;
            bytes = rest;
            if self.have == HEAD {
                let [a, b, c, kind, flags, ..] = self.head;
                self.have = 0;
                self.left = u32::from_be_bytes([0, a, b, c]);
                self.data = kind == DATA;
                if matches!(kind, HEADERS | CONTINUATION) {
                    self.block = flags & END_HEADERS == 0;
                }
            }
        }
    }

    /// Something is begun that a client has no reason to be slow with: anything but a frame of data.
    pub(crate) fn unfinished(&self) -> bool {
        self.block || self.have > 0 || self.left > 0 && !self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0, 0, u8::try_from(payload.len()).unwrap(), kind, flags, 0, 0, 0, 1];
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn a_header_block_is_unfinished_until_its_end_and_data_never_is() {
        let steps = [
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r".to_vec(), true),
            (b"\n".to_vec(), false),
            (frame(4, 0, b"123456"), false),
            (frame(HEADERS, 0, b"abc"), true),
            (frame(CONTINUATION, 0, b""), true),
            (frame(CONTINUATION, END_HEADERS, b"abc"), false),
            (frame(DATA, 0, b"abc"), false),
            (frame(HEADERS, END_HEADERS, b"abc")[..10].to_vec(), true),
            (b"bc".to_vec(), false),
            (frame(DATA, 0, b"abc")[..10].to_vec(), false),
            (b"bc".to_vec(), false),
            (b"\0\0".to_vec(), true),
        ];
        let (mut whole, mut pieces) = (Frames::new(false), Frames::new(false));
        for (bytes, unfinished) in steps {
            whole.feed(&bytes);
            for byte in &bytes {
                pieces.feed(&[*byte]);
            }
            assert_eq!((whole.unfinished(), pieces.unfinished()), (unfinished, unfinished), "{bytes:?}");
        }
    }
}
