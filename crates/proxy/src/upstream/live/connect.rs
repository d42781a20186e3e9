//! Opening connections to the upstream, and what a request needs to travel on one.

use std::{
    error::Error as _,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use contrail_exchange::visible::visible;
use http::{HeaderName, HeaderValue, Uri, Version, header, uri::PathAndQuery};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tokio_rustls::TlsConnector;

use super::{
    counted::{Counted, Meter},
    pool::{Connection, Sender},
    retry::{http2, reason_name},
    settings::{Access, Http2, Limits, MAX_HTTP1_FIELDS},
    tls::{self, SetupError},
    via::Via,
};
use crate::upstream::{Failure, FailureKind, Origin, irregular, own::Resolved};

/// Maximum bytes of an answer that a message shows.
const SHOWN: usize = 40;

/// Bytes that a connection reads or writes ahead; an answer's head fits in, or is refused.
const HTTP1_BUFFER: usize = 128 << 10;

/// Maximum bytes of the head of an answer over HTTP/2.
const HTTP2_HEADERS: u32 = 128 << 10;

/// HTTP/2 flow control, in bytes.
const HTTP2_WINDOW: u32 = 1 << 20;
const HTTP2_CONNECTION_WINDOW: u32 = 4 << 20;

/// Opens connections to one upstream.
pub(super) struct Connector {
    pub(super) origin: Origin,
    access: Access,
    pub(super) limits: Limits,
    tls: Option<(RwLock<TlsConnector>, ServerName<'static>)>,
}

impl Connector {
    /// To this origin.
    ///
    /// # Errors
    ///
    /// [`SetupError`], before anything is connected.
    pub(super) fn new(origin: Origin, access: Access, limits: Limits) -> Result<Self, SetupError> {
        let tls = if origin.https { Some(tls::connector(&origin, &access)?) } else { None };
        let tls = tls.map(|(connector, name)| (RwLock::new(connector), name));
        Ok(Self { origin, access, limits, tls })
    }

    /// Reads the files of its certificates again, for connections that are opened from now on; see
    /// [`Upstream::reload_certificates`](crate::upstream::Upstream::reload_certificates).
    pub(super) fn reload_certificates(&self) -> Result<Vec<&'static str>, SetupError> {
        let options: Vec<_> = self.access.certificate_files().map(|(option, _)| option).collect();
        let Some((connector, _)) = self.tls.as_ref().filter(|_| !options.is_empty()) else { return Ok(Vec::new()) };
        for (option, path) in self.access.certificate_files() {
            if let Some(why) = irregular(path) {
                return Err(SetupError::File { option, path: path.clone(), cause: why.to_owned() });
            }
        }
        let (renewed, _) = tls::connector(&self.origin, &self.access)?;
        *connector.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(options)
    }

    /// Whether connections are encrypted.
    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The proxy that plain requests go through.
    pub(super) fn plain_via(&self) -> Option<&Via> {
        self.access.via.as_ref().filter(|_| self.tls.is_none())
    }

    /// Connects. `switching` says that only HTTP/1.1 will do, since another protocol is asked for on it.
    pub(super) async fn connect(&self, switching: bool) -> Result<Connection, Failure> {
        let deadline = Instant::now() + self.limits.connect;
        let late = |hop: &str, advice: &str| {
            let seconds = self.limits.connect.as_secs_f32();
            let cause = format!("{hop} did not accept a connection in {seconds} s{advice}");
            Failure::new(FailureKind::Timeout, cause)
        };
        let reached = timeout_at(deadline, self.reach()).await;
        let stream = reached.map_err(|_| match &self.access.via {
            Some(via) => late(&format!("the upstream proxy {via}"), &format!("; {}", via.advice())),
            None => late(&self.origin.to_string(), ""),
        })??;
        let connected = timeout_at(deadline, self.handshake(stream, switching)).await;
        connected.map_err(|_| {
            let (peer, seconds) = (format!("{}{}", self.origin, self.through()), self.limits.connect.as_secs_f32());
            let cause = format!("{peer} accepted the connection, but no TLS handshake ended in {seconds} s");
            Failure::new(FailureKind::Timeout, cause)
        })?
    }

    /// The connection that leads to the upstream, perhaps through a proxy's tunnel.
    async fn reach(&self) -> Result<TcpStream, Failure> {
        let unreachable = |cause| Failure::new(FailureKind::Unreachable, cause);
        let mut stream = self.dial().await.map_err(unreachable)?;
        if let (Some(via), true) = (&self.access.via, self.is_tls()) {
            via.tunnel(&mut stream, &self.origin).await.map_err(unreachable)?;
        }
        Ok(stream)
    }

    async fn handshake(&self, stream: TcpStream, switching: bool) -> Result<Connection, Failure> {
        let always = self.access.http2 == Http2::Always;
        let Some((connector, name)) = &self.tls else {
            return self.speak(stream, always).await;
        };
        let connector = connector.read().unwrap_or_else(PoisonError::into_inner).clone();
        let connecting = if switching && !always {
            connector.with_alpn(vec![tls::HTTP1.to_vec()]).connect(name.clone(), stream)
        } else {
            connector.connect(name.clone(), stream)
        };
        let stream = connecting.await.map_err(|error| {
            let cause = format!("cannot reach {}{}: {}", self.origin, self.through(), tls::failed(&error));
            Failure::new(FailureKind::Unreachable, cause)
        })?;
        let http2 = always || stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speak(stream, http2).await
    }

    /// ` through the proxy HOST:PORT`, where there is one.
    fn through(&self) -> String {
        self.access.via.as_ref().map(|via| format!(" through the proxy {via}")).unwrap_or_default()
    }

    /// The connection to the next hop: the proxy on the way, else the upstream. An error names that hop.
    async fn dial(&self) -> Result<TcpStream, String> {
        let (host, port) = match &self.access.via {
            Some(via) => (&*via.host, via.port),
            None => (&*self.origin.host, self.origin.port),
        };
        let failed = |cause: &dyn fmt::Display| match &self.access.via {
            Some(via) => via.unreachable(cause),
            None => format!("cannot reach {}: {cause}", self.origin),
        };
        let connected = match self.access.own.resolve(host, port).await {
            Ok(addresses) => TcpStream::connect(addresses.as_slice()).await,
            Err(Resolved::Own) => return Err(failed(&"it is contrail itself")),
            Err(Resolved::Unknown(error)) => Err(error),
        };
        let stream = connected.map_err(|error| failed(&error))?;
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// What to call the peer that answers requests: the upstream, or the proxy that plain requests go through.
    pub(super) fn peer(&self) -> String {
        match self.plain_via() {
            Some(via) => format!("the upstream proxy {via}"),
            None => self.origin.to_string(),
        }
    }

    async fn speak<IO>(&self, io: IO, http2: bool) -> Result<Connection, Failure>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let meter = Arc::new(Meter::new());
        let io = TokioIo::new(Counted { io, meter: Arc::clone(&meter) });
        if http2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .initial_stream_window_size(HTTP2_WINDOW)
                .initial_connection_window_size(HTTP2_CONNECTION_WINDOW)
                .max_header_list_size(HTTP2_HEADERS)
                .handshake(io)
                .await
                .map_err(|error| self.broken(&error, b""))?;
            tokio::spawn(ended(connection));
            return Ok(Connection::new(Sender::Http2(sender), meter));
        }
        let mut builder = http1::Builder::new();
        builder.preserve_header_case(true).max_buf_size(HTTP1_BUFFER);
        // With a bound of its own hyper needs longer for each head.
        if self.limits.fields != MAX_HTTP1_FIELDS {
            builder.max_headers(self.limits.fields);
        }
        let (sender, connection) = builder.handshake(io).await.map_err(|error| self.broken(&error, b""))?;
        tokio::spawn(ended(connection.with_upgrades()));
        Ok(Connection::new(Sender::Http1(sender), meter))
    }

    /// The head as this connection wants it.
    pub(super) fn address(&self, head: &mut http::request::Parts, http2: bool) {
        head.version = if http2 { Version::HTTP_2 } else { Version::HTTP_11 };
        let plain_via = self.plain_via();
        if http2 {
            // The authority is a field of its own there (RFC 9113, section 8.3.1).
            head.headers.remove(header::HOST);
            // Nor is there another protocol to switch to (section 8.6).
            head.headers.remove(header::CONNECTION);
            head.headers.remove(header::UPGRADE);
        }
        if http2 || plain_via.is_some() {
            let mut parts = http::uri::Parts::default();
            parts.scheme = self.origin.scheme().parse().ok();
            parts.authority = self.origin.authority.parse().ok();
            // The server as a whole is in absolute form what its root is (RFC 9112, section 3.2.4); hyper writes no
            // empty path.
            let path = head.uri.path_and_query().filter(|path| http2 || path.as_str() != "*");
            parts.path_and_query = Some(path.cloned().unwrap_or(PathAndQuery::from_static("/")));
            head.uri = Uri::from_parts(parts).unwrap_or_default();
        }
        if let Some(value) = plain_via.and_then(Via::authorization)
            && let Ok(value) = HeaderValue::from_str(value)
        {
            head.headers.insert(header::PROXY_AUTHORIZATION, value);
        }
    }

    /// Why no answer came; `begin` is what came of one.
    pub(super) fn broken(&self, error: &hyper::Error, begin: &[u8]) -> Failure {
        // A server of https answers what is no handshake with an alert, or not at all.
        let hint = match self.plain_via() {
            Some(via) => format!("; {}", via.advice()),
            None if self.tls.is_none() && !begin.starts_with(b"HTTP/") => "; is it https?".to_owned(),
            None => String::new(),
        };
        let cause = if error.is_incomplete_message() {
            format!("it closed the connection before it answered{hint}")
        } else if error.is_parse_too_large() {
            let fields = self.limits.fields;
            format!(
                "the head of its response has more than {fields} fields (--max-response-headers) or more than \
                 {HTTP1_BUFFER} bytes"
            )
        } else if let Some(fault) = http2_fault(error) {
            fault
        } else {
            let cause = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
            if error.is_parse() {
                let fault = head_fault(begin).unwrap_or(cause);
                format!("{fault}; its answer begins with `{}`{hint}", first_line(begin))
            } else {
                cause
            }
        };
        Failure::new(FailureKind::Broken, format!("no answer from {}: {cause}", self.peer()))
    }
}

/// The begin of an answer, up to its header fields: redaction would not recognise part of a secret.
fn first_line(begin: &[u8]) -> String {
    let end = begin.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(begin.len());
    visible(&String::from_utf8_lossy(&begin[..end.min(SHOWN)])).into_owned()
}

/// What is wrong with the head of an answer over HTTP/1, as far as it came (RFC 9112, sections 4 and 5).
fn head_fault(begin: &[u8]) -> Option<String> {
    let mut lines = begin.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = lines.next()?.split(|byte| *byte == b' ').nth(1).filter(|_| begin.starts_with(b"HTTP/1."))?;
    if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
        return Some("its status line has no status of three digits".to_owned());
    }
    for line in lines.take_while(|line| !line.is_empty()) {
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return Some("it folds a header field over two lines (RFC 9112, section 5.2)".to_owned());
        }
        let name = &line[..line.iter().position(|byte| *byte == b':').unwrap_or(line.len())];
        if name.len() == line.len() || name.len() > SHOWN {
            // Part of a value, which may be a secret.
            return Some("it has a line without a header field name".to_owned());
        }
        if HeaderName::from_bytes(name).is_err() {
            let shown = String::from_utf8_lossy(name);
            return Some(format!("it has no valid header field name in `{}`", visible(&shown)));
        }
    }
    None
}

/// What the upstream states about the end of a connection or a stream of HTTP/2.
fn http2_fault(error: &hyper::Error) -> Option<String> {
    let error = http2(error).filter(|error| error.is_remote())?;
    let reason = error.reason()?;
    let what = if error.is_go_away() { "closed the connection (GOAWAY" } else { "ended the stream (RST_STREAM" };
    let hint = if reason == h2::Reason::HTTP_1_1_REQUIRED { "; use --upstream-http2 off" } else { "" };
    Some(format!("it {what}, {}){hint}", reason_name(reason)))
}

/// Drives a connection to its end.
async fn ended(connection: impl Future<Output = hyper::Result<()>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "an upstream connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_of_a_head_is_named() {
        for (begin, fault) in [
            ("HTTP/1.1 20 OK\r\n", Some("its status line has no status of three digits")),
            (
                "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n",
                Some("it folds a header field over two lines (RFC 9112, section 5.2)"),
            ),
            ("HTTP/1.1 200 OK\r\nX Bad: a\r\n\r\n", Some("it has no valid header field name in `X Bad`")),
            (
                "HTTP/1.1 200 OK\r\nsk_live_4eC39HqLyjWDarjtT1zdp7dc\r\n",
                Some("it has a line without a header field name"),
            ),
            ("HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n x", None),
            ("ICY 200 OK\r\n", None),
        ] {
            assert_eq!(head_fault(begin.as_bytes()).as_deref(), fault, "{begin}");
        }
    }

    #[test]
    fn no_header_field_of_a_head_that_cannot_be_read_is_shown() {
        for (begin, shown) in [
            ("ICY 200 OK\r\nX-Api-Key: sk_live_4eC39HqLyjWDarjtT1zdp7dc\r\n", "ICY 200 OK"),
            ("\x15\x03", "\\u{15}\\u{3}"),
        ] {
            assert_eq!(first_line(begin.as_bytes()), shown);
        }
    }
}
