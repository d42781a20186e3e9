//! Peeking at a connection's first bytes; the next reader gets them again.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::io::pass_on::pass_on;

/// The begin of an HTTP/2 connection with prior knowledge (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first byte of a TLS handshake record (RFC 8446, section 5.1).
pub(crate) const TLS_HANDSHAKE: u8 = 0x16;

/// An IO whose first bytes have been looked at.
#[derive(Debug)]
pub(crate) struct Rewind<IO> {
    looked_at: Bytes,
    io: IO,
}

impl<IO: AsyncRead + Unpin> Rewind<IO> {
    /// Waits for the first byte; `None` if the peer closes before it sends one.
    pub(crate) async fn first_byte(mut io: IO) -> io::Result<(Option<u8>, Self)> {
        let mut first = [0];
        let read = io.read(&mut first).await?;
        let looked_at = Bytes::copy_from_slice(&first[..read]);
        Ok((looked_at.first().copied(), Self { looked_at, io }))
    }

    /// Whether the peer speaks HTTP/2 right away. Reads only as far as its bytes leave it open; a short read is no
    /// answer.
    pub(crate) async fn speaks_http2(mut io: IO) -> io::Result<(bool, Self)> {
        let mut looked_at = BytesMut::with_capacity(HTTP2_PREFACE.len());
        while looked_at.len() < HTTP2_PREFACE.len() && HTTP2_PREFACE.starts_with(&looked_at) {
            let mut rest = [0; HTTP2_PREFACE.len()];
            let wanted = HTTP2_PREFACE.len() - looked_at.len();
            let read = match io.read(&mut rest[..wanted]).await {
                Ok(0) => break,
                Ok(read) => read,
                // The next read reports it again.
                Err(error) if error.kind() == io::ErrorKind::TimedOut && !looked_at.is_empty() => break,
                Err(error) => return Err(error),
            };
            looked_at.extend_from_slice(&rest[..read]);
        }
        Ok((looked_at == HTTP2_PREFACE, Self { looked_at: looked_at.freeze(), io }))
    }
}

impl<IO> Rewind<IO> {
    pub(crate) fn get_mut(&mut self) -> &mut IO {
        &mut self.io
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Rewind<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.looked_at.has_remaining() {
            let taken = self.looked_at.len().min(buf.remaining());
            buf.put_slice(&self.looked_at.split_to(taken));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Rewind<IO> {
    pass_on!(io: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn rewound(pieces: &[&[u8]]) -> (bool, Vec<u8>) {
        let (mut client, server) = tokio::io::duplex(64);
        let sent: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        let writer = tokio::spawn(async move {
            for piece in sent {
                client.write_all(&piece).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let (http2, mut io) = Rewind::speaks_http2(server).await.unwrap();
        writer.await.unwrap();
        let mut all = Vec::new();
        io.read_to_end(&mut all).await.unwrap();
        (http2, all)
    }

    #[tokio::test]
    async fn a_preface_in_pieces_is_http2_and_nothing_is_lost() {
        let (http2, all) = rewound(&[b"PRI * HT", b"TP/2.0\r\n\r\nSM", b"\r\n\r\nframes"]).await;
        assert!(http2);
        assert_eq!(all, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nframes");
    }

    #[tokio::test]
    async fn anything_else_is_recognised_by_its_first_different_byte() {
        let (http2, all) = rewound(&[b"P", b"UT / HTTP/1.1\r\n"]).await;
        assert!(!http2);
        assert_eq!(all, b"PUT / HTTP/1.1\r\n");
        assert!(!rewound(&[b"PRI * HTTP"]).await.0);
    }
}
