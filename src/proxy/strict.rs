//! Request heads as they are on the wire, looked at before hyper tidies them up.
//!
//! hyper takes what RFC 9112 allows a recipient to mend: both lengths at once (one is dropped), a repeated length, bare
//! line feeds. What two readers could read in two ways is not ours to mend: such a head is answered with 400, and its
//! connection closed. The scanner follows the framing of bodies, so that pipelined heads are looked at too.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::State;

/// Longest line that is kept for a look; a longer one is far beyond what hyper takes as a head.
const LONGEST_LINE: usize = 1 << 20;

/// Follows the bytes of a connection from head to head.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    place: Place,
    line: Vec<u8>,
    head: Head,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before a request line.
    #[default]
    Start,
    /// Among header fields.
    Fields,
    /// In a body of which this much is left.
    Body(u64),
    /// Before a chunk's size.
    Size,
    /// In a chunk of which this much is left, its line end included.
    Chunk(u64),
    /// Among trailer fields.
    Trailers,
    /// In a tunnel, or behind something that hyper does not take either.
    Off,
}

#[derive(Debug, Default)]
struct Head {
    fault: Option<&'static str>,
    lengths: usize,
    length: u64,
    codings: usize,
    tunnel: bool,
}

impl Scanner {
    /// Takes what was read; tells of each head that ended whether it has a fault.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut ended: impl FnMut(Option<&'static str>)) {
        while !bytes.is_empty() {
            match self.place {
                Place::Off => return,
                Place::Body(left) => {
                    let skipped = skip(&mut bytes, left);
                    self.place = if skipped == left { Place::Start } else { Place::Body(left - skipped) };
                }
                Place::Chunk(left) => {
                    let skipped = skip(&mut bytes, left);
                    self.place = if skipped == left { Place::Size } else { Place::Chunk(left - skipped) };
                }
                _ => {
                    let Some(end) = memchr::memchr(b'\n', bytes) else {
                        self.line.extend_from_slice(bytes);
                        if self.line.len() > LONGEST_LINE {
                            self.place = Place::Off;
                        }
                        return;
                    };
                    let (line, rest) = bytes.split_at(end + 1);
                    bytes = rest;
                    if self.line.is_empty() {
                        self.take(line, &mut ended);
                    } else {
                        self.line.extend_from_slice(line);
                        let line = std::mem::take(&mut self.line);
                        self.take(&line, &mut ended);
                    }
                }
            }
        }
    }

    fn take(&mut self, line: &[u8], ended: &mut impl FnMut(Option<&'static str>)) {
        let text = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n")).unwrap_or(line);
        match self.place {
            Place::Start if text.is_empty() => {}
            Place::Start => {
                self.head = Head::default();
                self.head.look(line);
                self.head.request_line(text);
                self.place = Place::Fields;
            }
            Place::Fields if text.is_empty() => {
                self.head.look(line);
                ended(self.head.verdict());
                self.place = self.head.what_follows();
            }
            Place::Fields => {
                self.head.look(line);
                self.head.field(text);
            }
            Place::Size => {
                let digits = text.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                let size = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
                self.place = match size {
                    Some(0) => Place::Trailers,
                    Some(size) => Place::Chunk(size.saturating_add(2)),
                    None => Place::Off,
                };
            }
            Place::Trailers if text.is_empty() => self.place = Place::Start,
            Place::Trailers | Place::Off | Place::Body(_) | Place::Chunk(_) => {}
        }
    }
}

fn skip(bytes: &mut &[u8], left: u64) -> u64 {
    let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *bytes = &bytes[count..];
    count as u64
}

impl Head {
    fn fault(&mut self, fault: &'static str) {
        self.fault.get_or_insert(fault);
    }

    /// Looks at the bytes of a line, its end included.
    fn look(&mut self, line: &[u8]) {
        match line.strip_suffix(b"\r\n") {
            None => self.fault("a line of the head ends in a bare line feed"),
            Some(text) if memchr::memchr2(b'\r', 0, text).is_some() => {
                self.fault("the head holds a bare carriage return or a NUL");
            }
            Some(_) => {}
        }
    }

    fn request_line(&mut self, line: &[u8]) {
        self.tunnel = line.starts_with(b"CONNECT ");
        let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        if target.contains(&b'#') {
            self.fault("a request target has no fragment");
        }
    }

    fn field(&mut self, line: &[u8]) {
        if line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            return self.fault("a header field is folded over two lines");
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            match std::str::from_utf8(value).ok().filter(|_| digits).and_then(|value| value.parse().ok()) {
                Some(length) => self.length = length,
                None => self.fault("Content-Length has to be one number"),
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.codings += 1;
            if !value.eq_ignore_ascii_case(b"chunked") {
                self.fault("Transfer-Encoding has to be exactly one `chunked`");
            }
        }
    }

    fn verdict(&mut self) -> Option<&'static str> {
        if self.lengths > 1 {
            self.fault("more than one Content-Length");
        }
        if self.codings > 1 {
            self.fault("Transfer-Encoding has to be exactly one `chunked`");
        }
        if self.lengths > 0 && self.codings > 0 {
            self.fault("Content-Length and Transfer-Encoding at once");
        }
        self.fault
    }

    fn what_follows(&self) -> Place {
        if self.fault.is_some() || self.tunnel {
            Place::Off
        } else if self.codings > 0 {
            Place::Size
        } else if self.length > 0 {
            Place::Body(self.length)
        } else {
            Place::Start
        }
    }
}

/// An IO whose request heads are looked at as they are read.
pub(super) struct Strict<IO> {
    io: IO,
    scanner: Scanner,
    state: Arc<State>,
}

impl<IO> Strict<IO> {
    pub(super) fn new(io: IO, state: Arc<State>) -> Self {
        Self { io, scanner: Scanner::default(), state }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Strict<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(cx, buf))?;
        let state = &this.state;
        this.scanner.feed(&buf.filled()[before..], |fault| state.head(fault));
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Strict<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts on a connection's bytes, read in pieces of any one size.
    fn verdicts(bytes: &str) -> Vec<Option<&'static str>> {
        let read = |size: usize| {
            let (mut scanner, mut verdicts) = (Scanner::default(), Vec::new());
            for piece in bytes.as_bytes().chunks(size) {
                scanner.feed(piece, |verdict| verdicts.push(verdict));
            }
            verdicts
        };
        let whole = read(usize::MAX);
        for size in [1, 2, 3, 7] {
            assert_eq!(read(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn every_head_is_found_behind_bodies_of_any_framing() {
        let bytes = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /\
                     POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6;x=y\r\na\r\n\r\nb\r\n0\r\nT: 1\r\n\r\n\
                     \r\nGET / HTTP/1.1\r\n\r\n";
        assert_eq!(verdicts(bytes), [None, None, None]);
    }

    #[test]
    fn a_fault_of_a_pipelined_head_is_its_own() {
        let bytes = "GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(verdicts(bytes), [None, Some("Content-Length and Transfer-Encoding at once")]);
    }

    #[test]
    fn heads_that_two_readers_could_read_in_two_ways_have_a_fault() {
        for fields in [
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +5\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "A: 1\n",
            "A: 1\rB: 2\r\n",
            "A: 1\0\r\n",
            "A: 1\r\n folded\r\n",
        ] {
            let found = verdicts(&format!("POST / HTTP/1.1\r\n{fields}\r\n"));
            assert!(matches!(found[..], [Some(_)]), "{fields:?}: {found:?}");
        }
        assert!(verdicts("GET /x#y HTTP/1.1\r\n\r\n")[0].is_some());
        assert!(verdicts("GET /x HTTP/1.1\n\r\n")[0].is_some());
        assert!(verdicts("GET /x HTTP/1.1\r\n\n")[0].is_some());
    }

    #[test]
    fn ordinary_heads_have_none() {
        for fields in
            ["Transfer-Encoding:  CHUNKED \r\n", "Content-Length: 0\r\n", "content-length: 007\r\n", "A:\r\n", ""]
        {
            assert_eq!(verdicts(&format!("POST /x HTTP/1.1\r\n{fields}\r\n")), [None], "{fields:?}");
        }
    }

    #[test]
    fn what_is_inside_a_tunnel_is_not_looked_at() {
        assert_eq!(verdicts("CONNECT h:1 HTTP/1.1\r\n\r\nA\nB\n\nC\n\n"), [None]);
    }
}
