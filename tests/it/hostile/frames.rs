//! HTTP/2 frame by frame.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::expand;
use crate::proxy::harness::{Harness, Setup, Wire, within};
use crate::support::golden::assert_line;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const WHOLE: u8 = END_STREAM | END_HEADERS;

/// Largest payload of a frame.
const FRAME: usize = 16 << 10;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A length as HPACK writes it, with a prefix of seven bits (RFC 7541, section 5.1).
fn length(length: usize, out: &mut Vec<u8>) {
    let Some(mut rest) = length.checked_sub(127) else { return out.push(u8::try_from(length).unwrap()) };
    out.push(127);
    while rest >= 128 {
        out.push(u8::try_from(rest % 128 + 128).unwrap());
        rest /= 128;
    }
    out.push(u8::try_from(rest).unwrap());
}

/// Fields, each a literal that is not indexed. A line is `name=value`.
pub fn block(lines: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines.split('|').filter(|line| !line.is_empty()) {
        let (name, value) = line.split_at(line[1..].find('=').unwrap() + 1);
        out.push(0);
        for text in [name, &value[1..]] {
            length(text.len(), &mut out);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

/// A header block in as many frames as it takes.
pub fn headers(stream: u32, end_stream: bool, block: &[u8]) -> Vec<u8> {
    let pieces: Vec<&[u8]> = block.chunks(FRAME).collect();
    let mut out = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let kind = if index == 0 { HEADERS } else { CONTINUATION };
        let mut flags = if index + 1 == pieces.len() { END_HEADERS } else { 0 };
        if index == 0 && end_stream {
            flags |= END_STREAM;
        }
        out.extend_from_slice(&frame(kind, flags, stream, piece));
    }
    out
}

/// What the proxy said on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// An answer of contrail's own on stream 1, with this status in its body.
    Problem(u16),
    /// A whole answer of somebody else's on stream 1.
    Whole,
    /// Stream 1 was reset.
    Reset,
    /// The connection was ended.
    Gone,
}

pub async fn said(client: &mut Wire<impl AsyncRead + AsyncWrite + Unpin>) -> Said {
    let mut body = Vec::new();
    loop {
        let mut head = [0; 9];
        if within(client.0.read_exact(&mut head)).await.is_err() {
            return Said::Gone;
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        if within(client.0.read_exact(&mut payload)).await.is_err() {
            return Said::Gone;
        }
        match (head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]])) {
            (DATA, 1) => {
                body.extend_from_slice(&payload);
                if head[4] & END_STREAM != 0 {
                    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
                    let status = problem["status"].as_u64().map(|status| u16::try_from(status).unwrap());
                    return status.map_or(Said::Whole, Said::Problem);
                }
            }
            (HEADERS, 1) if head[4] & END_STREAM != 0 => return Said::Whole,
            (RESET, 1) => return Said::Reset,
            (GOAWAY, _) => return Said::Gone,
            _ => {}
        }
    }
}

/// What a client says before its first request.
pub fn greeting() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, b"")].concat()
}

pub async fn opened(harness: &Harness) -> Wire {
    let mut client = harness.client().await;
    within(client.0.write_all(&greeting())).await.unwrap();
    client
}

pub const GET: &str = ":method=GET|:scheme=http|:path=/x|:authority=a";

/// Requests without a body that the upstream never sees.
#[rustfmt::skip]
pub const REFUSED: &[(&str, Said)] = &[
    (":method=GET|:scheme=http|:path=/x|:authority=a|host=b|host=c", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:authority=", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=u@a", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:authority=a:b", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:authority=a b", Said::Reset),
    (":method=GET|:scheme=ftp|:path=/x|:authority=a", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=*|:authority=a", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=x|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=http://evil/x|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=/a b|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=/\r\nX: 1|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=/\0|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:authority=a", Said::Reset),
    (":method=GET|:path=/x|:authority=a", Said::Reset),
    (":scheme=http|:path=/x|:authority=a", Said::Reset),
    (":method=G T|:scheme=http|:path=/x|:authority=a", Said::Gone),
    (":method=GET|x=1|:scheme=http|:path=/x|:authority=a", Said::Reset),
    (":method=GET|:method=POST|:scheme=http|:path=/x|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|:other=1", Said::Gone),
    (":method=CONNECT|:authority=a:443", Said::Problem(405)),
    (":method=GET|:scheme=http|:path=/x|:authority=a|X-Upper=1", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x y=1", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=a\rb", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=a\nb: c", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=a\0", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x= a", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=a ", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:authority=a|connection=close", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|keep-alive=1", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|proxy-connection=x", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|transfer-encoding=chunked", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|upgrade=h2c", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|te=gzip", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|content-length=5", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|content-length=x", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|content-length=+0", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|te=trailers, deflate", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|te=", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|content-length=5", Said::Reset),
    (":method=|:scheme=http|:path=/x|:authority=a", Said::Gone),
    (":method=GET|:scheme=|:path=/x|:authority=a", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:path=/y|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:scheme=https|:path=/x|:authority=a", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|:authority=b", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|:status=200", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a|:protocol=websocket", Said::Reset),
    (":method=CONNECT|:scheme=http|:path=/x|:authority=a:443", Said::Reset),
    (":method=CONNECT|:scheme=http|:authority=a:443", Said::Reset),
    (":method=CONNECT|:path=/x|:authority=a:443", Said::Reset),
    (":method=CONNECT|:scheme=https|:path=/x|:authority=a:443|:protocol=websocket", Said::Reset),
    (":method=CONNECT", Said::Problem(405)),
    (":method=GET|:scheme=http|:path=/x|:authority=a/b", Said::Reset),
    (":method=GET|:scheme=http|:path=/x|:authority=a,b", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|host=", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|host=a@b", Said::Problem(400)),
    (":method=OPTIONS|:scheme=http|:path=*x|:authority=a", Said::Reset),
    (":method=POST|:scheme=http|:path=*|:authority=a", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/x|:authority=a|:=1", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=\x01", Said::Gone),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=\x7f", Said::Gone),
    (":method=POST|:scheme=http|:path=/x|:authority=a|transfer_encoding=chunked", Said::Problem(400)),
    (":method=POST|:scheme=http|:path=/x|:authority=a|content_length=5", Said::Problem(400)),
    (":method=GET|:scheme=http|:path=/<<a*17000>>|:authority=a", Said::Problem(414)),
    (":method=GET|:scheme=http|:path=/x|:authority=a<<|x=1*101>>", Said::Problem(431)),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=<<a*66000>>", Said::Problem(431)),
    (":method=GET|:scheme=http|:path=/x|:authority=a|x=<<a*900000>>", Said::Gone),
];

#[tokio::test]
async fn malformed_and_oversized_requests_over_http2_never_reach_the_upstream() {
    for (fields, expected) in REFUSED {
        let mut harness = Harness::new().await;
        let mut client = opened(&harness).await;
        let sent = headers(1, true, &block(&expand(fields)));
        let _ = within(client.0.write_all(&sent)).await;
        let shown: String = fields.chars().take(120).collect();
        assert_eq!(said(&mut client).await, *expected, "{shown:?}");
        assert!(harness.nothing_ended(), "{shown:?}");
        let connected = tokio::time::timeout(Duration::ZERO, harness.upstream.accept()).await;
        assert!(connected.is_err(), "{shown:?} reached the upstream");
    }
}

/// Bodies that contradict their length: the length, the data, what comes of it.
pub const BODIES: &[(&str, &str, Said)] = &[
    ("|content-length=5", "hel", Said::Reset),
    ("|content-length=3", "hello", Said::Reset),
    ("|content-length=5|content-length=5", "hello", Said::Problem(400)),
    ("|content-length=5|content-length=6", "hello", Said::Reset),
    ("|content-length=1001", "<<a*1001>>", Said::Problem(413)),
    ("", "<<a*1001>>", Said::Problem(413)),
];

#[tokio::test]
async fn a_body_over_http2_that_contradicts_its_length_or_is_too_large_is_never_whole_upstream() {
    for (fields, data, expected) in BODIES {
        let setup = Setup { settings: Box::new(|settings| settings.max_body = 1000), ..Setup::default() };
        let harness = Harness::with(setup).await;
        let mut client = opened(&harness).await;
        let fields = format!(":method=POST|:scheme=http|:path=/x|:authority=a{fields}");
        let mut sent = headers(1, false, &block(&fields));
        sent.extend_from_slice(&frame(DATA, END_STREAM, 1, expand(data).as_bytes()));
        within(client.0.write_all(&sent)).await.unwrap();
        assert_eq!(said(&mut client).await, *expected, "{fields}");
        if let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, harness.upstream.accept()).await {
            let got = Wire(stream).rest().await;
            assert!(!got.contains("\r\n0\r\n") && !got.contains("hello"), "{fields}: {got}");
        }
    }
}

#[tokio::test]
async fn the_authority_of_http2_wins_over_a_host_that_differs() {
    let mut harness = Harness::new().await;
    let mut client = opened(&harness).await;
    let sent = headers(1, true, &block(&format!("{GET}|host=b")));
    within(client.0.write_all(&sent)).await.unwrap();
    let mut tenant = harness.accept().await;
    let got = tenant.message().await.to_lowercase();
    assert_eq!(got.matches("host: ").count(), 1, "{got}");
    assert_line(&got, &format!("host: {}", harness.upstream.local_addr().unwrap()));
    tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    harness.ended().await;
}

#[tokio::test]
async fn floods_of_frames_end_the_connection() {
    let reset = |stream: u32| frame(RESET, 0, stream, &8u32.to_be_bytes());
    let one = |stream: u32| headers(stream, true, &block(GET));
    let rapid: Vec<u8> = (0..300).flat_map(|index| [one(2 * index + 1), reset(2 * index + 1)].concat()).collect();
    let endless = block(&expand("x=<<a*1000>>"));
    let continued: Vec<u8> = (0..1000).flat_map(|_| frame(CONTINUATION, 0, 1, &endless)).collect();
    for flood in [
        rapid,
        [frame(HEADERS, 0, 1, &block(GET)), continued].concat(),
        frame(DATA, 0, 3, b"x"),
        frame(HEADERS, WHOLE, 0, &block(GET)),
        frame(HEADERS, WHOLE, 2, &block(GET)),
        frame(HEADERS, WHOLE, 1, &[0xff, 0xff, 0xff, 0xff, 7]),
        frame(DATA, 0, 1, &vec![0; 20000]),
        frame(8, 0, 0, &[0; 4]),
    ] {
        let harness = Harness::new().await;
        let mut client = opened(&harness).await;
        let _ = within(client.0.write_all(&flood)).await;
        assert_eq!(said(&mut client).await, Said::Gone, "{:?}", &flood[..9]);
    }
}

#[tokio::test]
async fn a_header_block_that_never_ends_and_a_connection_that_asks_nothing_are_cut_whatever_else_comes() {
    for begin in [Vec::new(), frame(HEADERS, 0, 1, &block(GET)), headers(1, true, &block(GET))[..12].to_vec()] {
        let tight = |settings: &mut contrail_proxy::Settings| settings.header_timeout = Duration::from_millis(200);
        let harness = Harness::with(Setup { settings: Box::new(tight), ..Setup::default() }).await;
        let mut client = opened(&harness).await;
        let _ = within(client.0.write_all(&begin)).await;
        assert_eq!(said(&mut client).await, Said::Gone, "{begin:?}");
    }
}
