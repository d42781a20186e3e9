//! Requests as they are on the wire, scanned before hyper normalises them.
//!
//! hyper takes what RFC 9112 allows a recipient to mend: both lengths at once (one is dropped), a repeated length, bare
//! line feeds, odd chunk extensions. A head that two readers could read in two ways is answered with 400, and its
//! connection closed. The scanner follows the framing of bodies, so that it sees pipelined heads too.
//!
//! hyper gets heads only whole and only good ones; in place of one that has a fault it gets a harmless one, which is
//! answered with the fault, so that this answer keeps its place in the order and says that it is contrail's.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf as _, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

use super::{
    chunk::{ChunkFault, Chunks},
    fault::RequestFault,
    head::{self, Bounds, Follows, Head, HeadFacts},
    line::Line,
    state::ConnectionState,
};
use crate::io::pass_on::pass_on;

/// Maximum empty lines before a request.
const MAX_BLANK_LINES: usize = 100;

/// Maximum bytes read behind a request for another protocol, before it is answered.
const MAX_EARLY_BYTES: usize = 16 << 10;

/// How long a client that still sends has to read why its connection is closed.
const FAREWELL: Duration = Duration::from_secs(1);

/// Follows the bytes of a connection from head to head.
#[derive(Debug)]
pub(crate) struct Scanner {
    bounds: Bounds,
    state: ScanState,
    line: Vec<u8>,
    /// Empty lines since the last request.
    blanks: usize,
    head: Head,
    chunks: Chunks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before a request line.
    Start,
    /// Among header fields.
    Fields,
    /// In a body, with this much left.
    Body(u64),
    /// Before a chunk's size.
    Size,
    /// In a chunk, with this much left, its line end included.
    Chunk(u64),
    /// Among trailer fields.
    Trailers,
    /// Behind a request for another protocol: its answer decides what the bytes are.
    Upgrade,
    /// In a tunnel.
    Tunnel,
}

/// The part of the read bytes that hyper may see.
#[derive(Debug, PartialEq, Eq)]
struct Visible {
    /// Up to here.
    pass: usize,
    then: Then,
}

#[derive(Debug, PartialEq, Eq)]
enum Then {
    /// What is left is the begin of a head.
    More,
    /// The head that begins there has a fault.
    Refuse(RequestFault),
    /// The body cannot be gone on with.
    Break(ChunkFault),
}

impl Scanner {
    fn new(bounds: Bounds) -> Self {
        let (head, chunks) = (Head::default(), Chunks::default());
        Self { bounds, state: ScanState::Start, line: Vec::new(), blanks: 0, head, chunks }
    }

    /// Takes read bytes; calls `good_head` for each head that ended in them, and returns how far they are good.
    fn feed(&mut self, bytes: &[u8], mut good_head: impl FnMut(HeadFacts)) -> Visible {
        let mut at = 0;
        let mut pass = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.state {
                ScanState::Tunnel => return Visible { pass: bytes.len(), then: Then::More },
                ScanState::Upgrade => return Visible { pass, then: Then::More },
                ScanState::Body(left) => {
                    let skipped = skip(rest, left);
                    at += usize::try_from(skipped).unwrap_or(rest.len());
                    pass = at;
                    self.state = if skipped == left { self.next_state() } else { ScanState::Body(left - skipped) };
                }
                ScanState::Chunk(left) => {
                    let skipped = skip(rest, left);
                    at += usize::try_from(skipped).unwrap_or(rest.len());
                    pass = at;
                    self.state = if skipped == left { ScanState::Size } else { ScanState::Chunk(left - skipped) };
                }
                ScanState::Start | ScanState::Fields | ScanState::Size | ScanState::Trailers => {
                    let Some(line) = Line::first(rest) else {
                        self.line.extend_from_slice(rest);
                        let then = self.unfinished();
                        if then == Then::More && matches!(self.state, ScanState::Size | ScanState::Trailers) {
                            pass = bytes.len();
                        }
                        return Visible { pass, then };
                    };
                    at += line.bytes.len();
                    let taken = if self.line.is_empty() {
                        self.take(line)
                    } else {
                        self.line.extend_from_slice(line.bytes);
                        let bytes = std::mem::take(&mut self.line);
                        self.take(Line { bytes: &bytes, plain: false })
                    };
                    match taken {
                        Then::More => {}
                        then => return Visible { pass, then },
                    }
                    if self.state != ScanState::Fields {
                        pass = at;
                        if std::mem::take(&mut self.head.ended) {
                            good_head(self.head.facts());
                        }
                    }
                }
            }
        }
        Visible { pass, then: Then::More }
    }

    /// What comes behind a request.
    fn next_state(&self) -> ScanState {
        if self.head.facts().asks_upgrade { ScanState::Upgrade } else { ScanState::Start }
    }

    /// Whether a head is begun and not ended.
    fn in_head(&self) -> bool {
        self.state == ScanState::Fields || self.state == ScanState::Start && !self.line.is_empty()
    }

    fn unfinished(&self) -> Then {
        let fault = match self.state {
            ScanState::Start => head::unfinished(&self.line, true, &self.head, &self.bounds).map(Then::Refuse),
            ScanState::Fields => head::unfinished(&self.line, false, &self.head, &self.bounds).map(Then::Refuse),
            _ => Chunks::unfinished(&self.line, &self.bounds).err().map(Then::Break),
        };
        fault.unwrap_or(Then::More)
    }

    fn take(&mut self, line: Line<'_>) -> Then {
        match self.state {
            // A client may leave an empty line behind its last body (RFC 9112, section 2.2).
            ScanState::Start if line.bytes == b"\r\n" => {
                self.blanks += 1;
                if self.blanks > MAX_BLANK_LINES {
                    return Then::Refuse(RequestFault::bad("only empty lines came instead of a request"));
                }
            }
            ScanState::Start => {
                self.blanks = 0;
                self.head = Head::default();
                self.head.request_line(line.bytes, &self.bounds);
                self.state = ScanState::Fields;
                return self.faultless();
            }
            ScanState::Fields if matches!(line.bytes, b"\r\n" | b"\n") => match self.head.end(line.bytes, &self.bounds)
            {
                Err(fault) => return Then::Refuse(fault),
                Ok(follows) => {
                    self.chunks = Chunks::default();
                    self.state = match follows {
                        Follows::Nothing => self.next_state(),
                        Follows::Body(length) => ScanState::Body(length),
                        Follows::Chunks => ScanState::Size,
                        Follows::Tunnel => ScanState::Tunnel,
                    };
                }
            },
            ScanState::Fields => {
                self.head.field(line, &self.bounds);
                return self.faultless();
            }
            ScanState::Size => match self.chunks.size(line.bytes, &self.bounds) {
                Ok(0) => self.state = ScanState::Trailers,
                Ok(size) => self.state = ScanState::Chunk(size.saturating_add(2)),
                Err(fault) => return Then::Break(fault),
            },
            ScanState::Trailers => match self.chunks.trailer(line.bytes, &self.bounds) {
                Ok(false) => {}
                Ok(true) => self.state = self.next_state(),
                Err(fault) => return Then::Break(fault),
            },
            ScanState::Body(_) | ScanState::Chunk(_) | ScanState::Upgrade | ScanState::Tunnel => {}
        }
        Then::More
    }

    /// What has a fault is not read to its end: its client may wait for an answer, and never end it.
    fn faultless(&self) -> Then {
        self.head.fault.map_or(Then::More, Then::Refuse)
    }
}

fn skip(bytes: &[u8], left: u64) -> u64 {
    left.min(bytes.len() as u64)
}

/// An IO that scans requests as they are read.
pub(crate) struct Strict<IO> {
    io: IO,
    scanner: Scanner,
    state: Arc<ConnectionState>,
    /// The begin of a head that is not whole yet.
    held: BytesMut,
    /// What hyper gets before anything else is read.
    ready: BytesMut,
    ending: Option<Ending>,
    shut: bool,
    farewell: Option<Pin<Box<Sleep>>>,
}

/// Why nothing more is taken from the client.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Refused,
    Broken(ChunkFault),
}

impl<IO> Strict<IO> {
    pub(crate) fn new(io: IO, state: Arc<ConnectionState>, bounds: Bounds) -> Self {
        Self {
            io,
            scanner: Scanner::new(bounds),
            state,
            held: BytesMut::new(),
            ready: BytesMut::new(),
            ending: None,
            shut: false,
            farewell: None,
        }
    }

    /// Takes in what was read into `buf` from `before` on, and leaves there what hyper may see at once.
    fn look(&mut self, buf: &mut ReadBuf<'_>, before: usize) {
        let state = &self.state;
        let read = &buf.filled()[before..];
        let Visible { pass, then } = self.scanner.feed(read, |facts| state.head(Ok(facts)));
        if self.held.is_empty() {
            self.held.extend_from_slice(&read[pass..]);
            buf.set_filled(before + pass);
        } else {
            let pass = if pass == 0 { 0 } else { self.held.len() + pass };
            self.held.extend_from_slice(read);
            self.ready = self.held.split_to(pass);
            buf.set_filled(before);
        }
        if self.scanner.state == ScanState::Upgrade && !self.held.is_empty() {
            self.state.came_early();
        }
        self.state.head_begun(self.scanner.in_head());
        match then {
            Then::More => {}
            Then::Refuse(fault) => self.refuse(fault),
            Then::Break(fault) => self.ending = Some(Ending::Broken(fault)),
        }
    }

    /// Gives hyper a harmless head in place of one with this fault.
    fn refuse(&mut self, fault: RequestFault) {
        self.state.head(Err(fault));
        self.held.clear();
        // An answer to HEAD has no body, whatever is wrong with the rest of it.
        let headless = match self.scanner.state {
            ScanState::Start => self.scanner.line.starts_with(b"HEAD "),
            _ => self.scanner.head.headless,
        };
        let method = if headless { "HEAD" } else { "GET" };
        self.ready.extend_from_slice(method.as_bytes());
        self.ready.extend_from_slice(b" / HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n");
        self.ending = Some(Ending::Refused);
    }
}

impl<IO> Strict<IO> {
    /// Continues behind a request for another protocol; whether its answer is here.
    fn went_on(&mut self) -> bool {
        match self.state.accepted() {
            None => return false,
            Some(true) => {
                self.scanner.state = ScanState::Tunnel;
                self.ready = self.held.split();
            }
            Some(false) if self.held.is_empty() => self.scanner.state = ScanState::Start,
            Some(false) => self.ending = Some(Ending::Refused),
        }
        true
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Strict<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        loop {
            if !this.ready.is_empty() {
                let taken = this.ready.len().min(buf.remaining());
                buf.put_slice(&this.ready[..taken]);
                this.ready.advance(taken);
            }
            if buf.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
            match this.ending {
                // The answer ends the connection; nothing wakes for it.
                Some(Ending::Refused) => return Poll::Pending,
                Some(Ending::Broken(fault)) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault)));
                }
                None => {}
            }
            if this.scanner.state == ScanState::Upgrade && this.went_on() {
                continue;
            }
            if this.scanner.state == ScanState::Upgrade && this.held.len() >= MAX_EARLY_BYTES {
                // Nothing wakes for it: the answer is hyper's own turn.
                return Poll::Pending;
            }
            match ready!(Pin::new(&mut this.io).poll_read(cx, buf)) {
                Ok(()) if buf.filled().len() == before => return Poll::Ready(Ok(())),
                Ok(()) => this.look(buf, before),
                Err(_) if this.scanner.in_head() && this.state.was_too_slow() => this.refuse(RequestFault::SLOW),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Strict<IO> {
    pass_on!(io: poll_write, poll_write_vectored, is_write_vectored, poll_flush);

    /// A client that still sends when its connection is closed would get a reset, and might never read the answer that
    /// says why; so what it sends is read for a moment.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.shut {
            ready!(Pin::new(&mut this.io).poll_shutdown(cx))?;
            this.shut = true;
        }
        if this.ending.is_none() && matches!(this.scanner.state, ScanState::Start | ScanState::Tunnel) {
            return Poll::Ready(Ok(()));
        }
        let timer = this.farewell.get_or_insert_with(|| Box::pin(tokio::time::sleep(FAREWELL)));
        let mut unread = [0; 4096];
        loop {
            if timer.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buf = ReadBuf::new(&mut unread);
            match ready!(Pin::new(&mut this.io).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds { target: 100, bytes: 1000, fields: 10, body: 1 << 20 };

    /// The verdicts on a connection's bytes, read in pieces of any one size.
    fn verdicts(bytes: &str) -> Vec<Option<&'static str>> {
        let read = |size: usize| {
            let (mut scanner, mut verdicts) = (Scanner::new(BOUNDS), Vec::new());
            for piece in bytes.as_bytes().chunks(size) {
                match scanner.feed(piece, |_| verdicts.push(None)).then {
                    Then::More => {}
                    Then::Refuse(fault) => {
                        verdicts.push(Some(fault.detail));
                        break;
                    }
                    Then::Break(_) => break,
                }
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

    /// What heads, good and broken ones, and bodies are made of.
    const PARTS: &[&str] = &[
        "POST /x HTTP/1.1\r\n",
        "OPTIONS http://h HTTP/1.1\r\n",
        "CONNECT h:1 HTTP/1.0\r\n",
        "GET /",
        " ",
        " HTTP/1.1\r\n",
        "Host: h\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer_encoding: chunked\r\n",
        "Connection: a, Upgrade\r\n",
        "Upgrade: websocket\r\n",
        "Authorization: Bearer of-a-token-that-is-longer-than-what-is-looked-at-in-one-step\r\n",
        "name:value",
        "\r\n",
        "\r\n\r\n",
        "\r",
        "\n",
        "\t",
        "\0",
        "\x7f",
        "é",
        "#",
        "5\r\nhello\r\n",
        "0\r\n",
        "hello",
    ];

    /// The good heads of a connection that is read in pieces which end there, and whether anything in it is refused.
    fn facts(bytes: &[u8], ends: impl IntoIterator<Item = usize>) -> (Vec<HeadFacts>, Option<&'static str>) {
        let (mut scanner, mut facts, mut begin) = (Scanner::new(BOUNDS), Vec::new(), 0);
        for end in ends {
            match scanner.feed(&bytes[begin..end], |head| facts.push(head)).then {
                Then::More => begin = end,
                Then::Refuse(_) => return (facts, Some("a head")),
                Then::Break(_) => return (facts, Some("a body")),
            }
        }
        (facts, None)
    }

    proptest! {
        #[test]
        fn a_head_is_good_or_not_however_it_is_cut(
            parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..16),
            ends in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let bytes = format!("POST /x HTTP/1.1\r\n{}", parts.concat()).into_bytes();
            let mut ends: Vec<_> = ends.into_iter().map(|end| end.index(bytes.len())).collect();
            ends.sort_unstable();
            ends.push(bytes.len());
            let whole = facts(&bytes, [bytes.len()]);
            prop_assert_eq!(&facts(&bytes, ends), &whole);
            prop_assert_eq!(&facts(&bytes, 1..=bytes.len()), &whole);
        }
    }
}
