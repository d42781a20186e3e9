//! Accepting connections: limits, serving, draining.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use http::{StatusCode, Version};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, watch},
    task::JoinSet,
};
use tokio_rustls::server::TlsStream;

use super::{
    forward::{self, Forward},
    tls::{self, Certificates},
    workers::Load,
};
use crate::proxy::{
    Proxy,
    transfer::{
        response_body::Gate,
        reverse::{self, Answering, Destination},
        upgrade,
    },
    wire::{
        interim::Between,
        rarely::Rarely,
        rewind::Rewind,
        stall::{self, Patient, Streams},
        state::{Guarded, State},
        strict::{Bounds, Fault, Strict},
    },
};
use crate::upstream::{Problem, Response};

/// Bytes that an HTTP/1 connection reads or writes ahead, beside the room for a head.
const HTTP1_BUFFER: usize = 16 << 10;

/// Header fields that hyper takes in a head over HTTP/1 unless it is told otherwise.
const HTTP1_FIELDS: usize = 100;

/// How long to wait after an accept failed (out of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// HTTP/2 streams that a client may open and reset before they are served (rapid reset, CVE-2023-44487).
const HTTP2_RESETS: usize = 20;
/// HTTP/2 flow control, in bytes: small enough that a connection full of stalled streams stays cheap.
const HTTP2_WINDOW: u32 = 256 << 10;
const HTTP2_CONNECTION_WINDOW: u32 = 1 << 20;
const HTTP2_FRAME: u32 = 16 << 10;

/// What is noted of a connection on which a request began and did not get past its head.
const TOO_SLOW: &str = "a request head did not arrive within --header-timeout";

/// How long a client that is turned away has to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// How many connections beyond the most there may be have that long; the others are told, and closed.
const FAREWELLS: usize = 256;

/// How a listener takes connections.
#[derive(Debug, Clone)]
pub enum Door {
    /// Plain HTTP, reverse mode.
    Plain,
    /// HTTP over TLS, reverse mode.
    Tls(Certificates),
    /// Forward proxy.
    Forward(Arc<Forward>),
}

/// A connection's share of the settings' most connections, and of its worker's; free again when nobody holds it any more.
pub(in crate::proxy) type Slot = Arc<(OwnedSemaphorePermit, Load)>;

/// What the requests of a connection are addressed to.
#[derive(Debug, Clone)]
pub(in crate::proxy) enum Way {
    /// The upstream, whatever they say.
    Reverse,
    /// What each of them says. What is inside a CONNECT keeps the connection's slot.
    Forward(Arc<Forward>, Slot),
    /// What a CONNECT said.
    Tunnel(Destination),
}

/// Serves connections of `listener` until `stop` turns true (or its sender is gone); then lets exchanges in progress
/// end, for at most the settings' drain time, and cuts the rest (each is recorded as not whole).
pub async fn serve(proxy: Arc<Proxy>, listener: TcpListener, door: Door, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let stopping = stop.clone();
    loop {
        let accepted = tokio::select! {
            () = stopped(&mut stop) => break,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(slot) = Arc::clone(&proxy.slots).try_acquire_owned() else {
            proxy.observer.turned_away(503, "as many connections as --max-connections");
            let patience =
                if connections.len() < proxy.settings.max_connections + FAREWELLS { FAREWELL } else { Duration::ZERO };
            connections.spawn(async move {
                let _ = tokio::time::timeout(patience, turn_away(stream)).await;
            });
            continue;
        };
        let _ = stream.set_nodelay(true);
        let worker = proxy.settings.workers.least_busy();
        let slot = Arc::new((slot, worker.load()));
        let (proxy, door, stop) = (Arc::clone(&proxy), door.clone(), stopping.clone());
        worker.serve(&mut connections, stream, |stream| enter(proxy, stream, door, slot, stop));
    }
    drop(listener);
    let drained = async {
        while connections.join_next().await.is_some() {}
        // What is inside a CONNECT outlives the connection's task, but not its slot.
        let all = u32::try_from(proxy.settings.max_connections).unwrap_or(u32::MAX);
        let _ = proxy.slots.acquire_many(all).await;
    };
    if tokio::time::timeout(proxy.settings.drain, drained).await.is_err() {
        proxy.cutting("contrail stopped before the exchange was over: --drain ran out");
        connections.shutdown().await;
    }
}

async fn enter(proxy: Arc<Proxy>, stream: TcpStream, door: Door, slot: Slot, stop: watch::Receiver<bool>) {
    let local = stream.local_addr();
    let stream = Patient::new(stream, proxy.settings.write_timeout);
    match door {
        Door::Plain => serve_connection(proxy, stream, Way::Reverse, stop).await,
        Door::Forward(forward) => {
            serve_connection(proxy, stream, Way::Forward(forward, Arc::clone(&slot)), stop).await;
        }
        // In a box of its own, as HTTP/2 below: connections that speak neither do not carry room for them.
        Door::Tls(certificates) => {
            let Ok(local) = local else { return };
            Box::pin(enter_tls(proxy, stream, certificates, local.ip(), stop)).await;
        }
    }
}

async fn enter_tls(
    proxy: Arc<Proxy>,
    stream: Patient<TcpStream>,
    certificates: Certificates,
    local: IpAddr,
    mut stop: watch::Receiver<bool>,
) {
    let handshake = tokio::time::timeout(proxy.settings.header_timeout, certificates.accept(stream, local));
    let Some(ended) = unless_stopped(&mut stop, handshake).await else { return };
    match ended {
        Ok(Ok(stream)) => serve_tls(proxy, stream, Way::Reverse, stop).await,
        Ok(Err(error)) => {
            tracing::debug!(error, "a TLS handshake failed");
            proxy.observer.turned_away(0, "a TLS handshake failed: does the client trust `contrail ca`?");
        }
        Err(_) => proxy.observer.turned_away(0, "a TLS handshake did not end within --header-timeout"),
    }
}

/// Serves a TLS connection in the protocol that its handshake settled on.
pub(in crate::proxy) async fn serve_tls<IO>(
    proxy: Arc<Proxy>,
    stream: TlsStream<IO>,
    way: Way,
    stop: watch::Receiver<bool>,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let http2 = tls::speaks_http2(&stream);
    let (io, state) = guarded(&proxy, stream);
    if http2 {
        Box::pin(serve_http2(proxy, io, state, way, stop)).await;
    } else {
        serve_http1(proxy, io, state, way, stop).await;
    }
}

/// Serves one connection until it ends, or, once `stop` is true, until its exchanges in progress end. HTTP/2 with
/// prior knowledge is told from HTTP/1 by its preface.
pub(in crate::proxy) async fn serve_connection<IO>(proxy: Arc<Proxy>, io: IO, way: Way, mut stop: watch::Receiver<bool>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (io, state) = guarded(&proxy, io);
    let Some(looked) = unless_stopped(&mut stop, Rewind::speaks_http2(io)).await else { return };
    match looked {
        Ok((true, io)) => Box::pin(serve_http2(proxy, io, state, way, stop)).await,
        Ok((false, io)) => serve_http1(proxy, io, state, way, stop).await,
        Err(error) => tracing::debug!(%error, "a client connection ended before it said anything"),
    }
}

fn guarded<IO>(proxy: &Proxy, io: IO) -> (Guarded<IO>, Arc<State>) {
    let state = Arc::new(State::default());
    let settings = &proxy.settings;
    (Guarded::new(io, Arc::clone(&state), settings.header_timeout, settings.keep_alive), state)
}

async fn serve_http1<IO>(proxy: Arc<Proxy>, io: IO, state: Arc<State>, way: Way, mut stop: watch::Receiver<bool>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let settings = &proxy.settings;
    let mut builder = http1::Builder::new();
    builder
        .preserve_header_case(proxy.passes_on)
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_header_size(settings.max_header_bytes)
        .max_buf_size(settings.max_header_bytes.saturating_add(HTTP1_BUFFER));
    // The look at heads before hyper counts too, and with a bound of its own hyper needs longer for each head.
    if settings.max_headers > HTTP1_FIELDS {
        builder.max_headers(settings.max_headers);
    }
    let stopping = stop.clone();
    let bounds = Bounds {
        target: settings.max_target,
        bytes: settings.max_header_bytes,
        fields: settings.max_headers,
        body: settings.max_body,
    };
    let io = Between::new(Strict::new(io, Arc::clone(&state), bounds), Arc::clone(&state));
    let service = service_fn(|request| dispatch(&proxy, &state, &way, &stopping, request));
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(io), service).with_upgrades());
    let mut over = Rarely::new(stopped(&mut stop));
    let ended = tokio::select! {
        biased; // without it each poll draws lots
        ended = connection.as_mut() => ended,
        () = &mut over => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    drop(over);
    if let Err(error) = ended {
        tracing::debug!(%error, "a client connection ended early");
        if error.is_parse() {
            proxy.observer.turned_away(400, "no well-formed HTTP/1 request head");
        }
    }
    if state.was_too_slow() {
        proxy.observer.turned_away(0, TOO_SLOW);
    }
    if let Some(switch) = state.goes_on_as() {
        switch.run(settings.tunnel_timeout, stop).await;
    }
}

async fn serve_http2<IO>(
    proxy: Arc<Proxy>,
    mut io: impl Http2<IO>,
    state: Arc<State>,
    way: Way,
    mut stop: watch::Receiver<bool>,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    io.speaks_http2();
    let settings = &proxy.settings;
    let mut builder = http2::Builder::new(Streams(settings.write_timeout));
    builder
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.max_streams)
        // Twice what is taken, so that it is this proxy that says no, and why.
        .max_header_list_size(u32::try_from(settings.max_header_bytes.saturating_mul(2)).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(HTTP2_RESETS)
        .max_local_error_reset_streams(HTTP2_RESETS)
        .max_send_buf_size(HTTP2_WINDOW as usize)
        .max_frame_size(HTTP2_FRAME)
        .initial_stream_window_size(HTTP2_WINDOW)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW);
    let (service_proxy, stopping) = (Arc::clone(&proxy), stop.clone());
    let service_state = Arc::clone(&state);
    let service = service_fn(move |request| {
        let answering = dispatch(&service_proxy, &service_state, &way, &stopping, request);
        async move {
            let answer = answering.await;
            stall::handed_over();
            answer
        }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(io), service));
    let over = async {
        tokio::select! {
            () = stopped(&mut stop) => {}
            () = state.leaving() => {}
        }
    };
    let ended = tokio::select! {
        biased; // whether it is over is known after it was driven
        ended = connection.as_mut() => ended,
        () = over => {
            connection.as_mut().graceful_shutdown();
            // It ends once the client has answered a PING (RFC 9113, section 6.8), which one that does not read never does.
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = state.quiet() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a client connection ended early");
    }
    if state.was_too_slow() {
        proxy.observer.turned_away(0, TOO_SLOW);
    }
}

/// An IO below which the timers of a connection are.
trait Http2<IO>: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Tells the timers.
    fn speaks_http2(&mut self);
}

impl<IO: AsyncRead + AsyncWrite + Unpin + Send + 'static> Http2<IO> for Guarded<IO> {
    fn speaks_http2(&mut self) {
        Self::speaks_http2(self, false);
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin + Send + 'static> Http2<IO> for Rewind<Guarded<IO>> {
    fn speaks_http2(&mut self) {
        self.get_mut().speaks_http2(true);
    }
}

fn dispatch(
    proxy: &Arc<Proxy>,
    state: &Arc<State>,
    way: &Way,
    stop: &watch::Receiver<bool>,
    request: http::Request<Incoming>,
) -> Answering {
    let head = state.next_head();
    let marks = head.unwrap_or_default();
    let (proxy, in_flight) = (Arc::clone(proxy), state.begin(marks));
    if let Some(fault) = head.err().or_else(|| out_of_bounds(&proxy, &request)) {
        let problem = Problem::new(fault.status, fault.reason, fault.detail).closing();
        proxy.observer.turned_away(problem.status.as_u16(), fault.detail);
        let response = Response::from(problem).map(Gate::open);
        return Box::pin(std::future::ready(Ok(response)));
    }
    let answering: Answering = match way {
        Way::Reverse => {
            let destination = Destination::upstream(&proxy);
            reverse::serve(proxy, in_flight, request, destination)
        }
        Way::Tunnel(destination) => reverse::serve(proxy, in_flight, request, destination.clone()),
        Way::Forward(forward, slot) => {
            let connection =
                forward::Connection { forward: Arc::clone(forward), slot: Arc::clone(slot), stop: stop.clone() };
            Box::pin(forward::serve(connection, proxy, in_flight, request))
        }
    };
    if !marks.asks {
        return answering;
    }
    let state = Arc::clone(state);
    Box::pin(async move {
        let mut answer = answering.await;
        if let Ok(answer) = &mut answer {
            upgrade::settle(&state, answer);
        }
        answer
    })
}

/// What is too large in a request that came over HTTP/2; HTTP/1 is looked at before.
fn out_of_bounds(proxy: &Proxy, request: &http::Request<Incoming>) -> Option<Fault> {
    if request.version() != Version::HTTP_2 {
        return None;
    }
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > proxy.settings.max_target {
        return Some(Fault::TARGET);
    }
    // Counted as HTTP/1 would write it: name, colon, blank, value, line end.
    let bytes: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if target + bytes > proxy.settings.max_header_bytes {
        return Some(Fault::HEADER_BYTES);
    }
    (request.headers().len() > proxy.settings.max_headers).then_some(Fault::HEADERS)
}

pub(in crate::proxy) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// What comes before a connection's first request; `None` if `stop` turns true first, since there is nothing to end.
pub(in crate::proxy) async fn unless_stopped<T>(
    stop: &mut watch::Receiver<bool>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased; // a request that is here is still looked at
        done = work => Some(done),
        () = stopped(stop) => None,
    }
}

async fn turn_away(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "max-connections",
        "there are as many connections as --max-connections allows; try again later",
    );
    let body = problem.body();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         contrail-answer: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len(),
        problem.reason
    );
    stream.write_all(head.as_bytes()).await?;
    stream.shutdown().await?;
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}
