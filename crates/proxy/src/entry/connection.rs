//! One client connection: HTTP/1, HTTP/2, and the inside of a CONNECT, down to each request's route.
//!
//! A CONNECT that is opened is served like a connection of its own, so this file calls itself.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use http::{HeaderValue, Method, StatusCode, Version, header};
use hyper::{
    body::Incoming,
    ext::ReasonPhrase,
    server::conn::{http1, http2},
    service::service_fn,
    upgrade::Upgraded,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, watch},
};
use tokio_rustls::server::TlsStream;

use super::{
    forward::{Decision, Denial, Forward},
    passthrough::{self, Unreachable},
    tls,
};
use crate::upstream::{MessageBody, Problem, Response};
use crate::{
    HostPort, Proxy,
    shutdown::{stopped, unless_stopped},
    transfer::{
        destination::Destination,
        response_body::Gate,
        reverse::{self, Answering},
        upgrade,
    },
    wire::{
        fault::RequestFault,
        head::Bounds,
        interim::Between,
        rewind::{Rewind, TLS_HANDSHAKE},
        stall::{self, Streams},
        state::{ConnectionState, InFlight},
        strict::Strict,
        timers::Guarded,
    },
    workers::Load,
};

/// Bytes that an HTTP/1 connection reads or writes ahead, beside the room for a head.
const HTTP1_BUFFER: usize = 16 << 10;

/// hyper's default for the maximum header fields of a head over HTTP/1.
const MAX_HTTP1_FIELDS: usize = 100;

/// HTTP/2 streams that a client may open and reset before they are served (rapid reset, CVE-2023-44487).
const HTTP2_RESETS: usize = 20;
/// HTTP/2 flow control, in bytes: small enough that a connection full of stalled streams stays cheap.
const HTTP2_WINDOW: u32 = 256 << 10;
const HTTP2_CONNECTION_WINDOW: u32 = 1 << 20;
const HTTP2_FRAME: u32 = 16 << 10;

/// What is noted of a connection on which a request began and did not get past its head.
const TOO_SLOW: &str = "a request head did not arrive within --header-timeout";

/// A connection's share of `max_connections`, and of its worker's load; free again with its last holder.
pub(crate) type ConnectionPermit = Arc<(OwnedSemaphorePermit, Load)>;

/// Where the requests of a connection go.
#[derive(Debug, Clone)]
pub(crate) enum RequestRoute {
    /// To this upstream, whatever their target; the scheme that clients use.
    Reverse(&'static str, usize),
    /// To the target of each. What is inside a CONNECT keeps the connection's permit.
    Forward(Arc<Forward>, ConnectionPermit),
    /// To the target of a CONNECT.
    Tunnel(Destination),
}

/// Serves a TLS connection in the protocol that its handshake settled on.
pub(crate) async fn serve_tls<IO>(
    proxy: Arc<Proxy>,
    stream: TlsStream<IO>,
    route: RequestRoute,
    stop: watch::Receiver<bool>,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let http2 = tls::speaks_http2(&stream);
    let (io, state) = guarded(&proxy, stream);
    if http2 {
        Box::pin(serve_http2(proxy, io, state, route, stop)).await;
    } else {
        serve_http1(proxy, io, state, route, stop).await;
    }
}

/// Serves one connection until it ends, or, once `stop` is true, until its exchanges in progress end. HTTP/2 with
/// prior knowledge is recognised by its preface.
pub(crate) async fn serve_connection<IO>(
    proxy: Arc<Proxy>,
    io: IO,
    route: RequestRoute,
    mut stop: watch::Receiver<bool>,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (io, state) = guarded(&proxy, io);
    let Some(looked) = unless_stopped(&mut stop, Rewind::speaks_http2(io)).await else { return };
    match looked {
        Ok((true, io)) => Box::pin(serve_http2(proxy, io, state, route, stop)).await,
        Ok((false, io)) => serve_http1(proxy, io, state, route, stop).await,
        Err(error) => tracing::debug!(%error, "a client connection ended before it said anything"),
    }
}

fn guarded<IO>(proxy: &Proxy, io: IO) -> (Guarded<IO>, Arc<ConnectionState>) {
    let state = Arc::new(ConnectionState::default());
    let settings = &proxy.settings;
    (Guarded::new(io, Arc::clone(&state), settings.header_timeout, settings.keep_alive), state)
}

async fn serve_http1<IO>(
    proxy: Arc<Proxy>,
    io: IO,
    state: Arc<ConnectionState>,
    route: RequestRoute,
    mut stop: watch::Receiver<bool>,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let settings = &proxy.settings;
    let mut builder = http1::Builder::new();
    builder
        .preserve_header_case(proxy.is_live)
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_header_size(settings.max_header_bytes)
        .max_buf_size(settings.max_header_bytes.saturating_add(HTTP1_BUFFER));
    // The look at heads before hyper counts too, and with a bound of its own hyper needs longer for each head.
    if settings.max_headers > MAX_HTTP1_FIELDS {
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
    let service = service_fn(|request| {
        let answering = dispatch(&proxy, &state, &route, &stopping, request);
        async move { answering.await.map(without_a_phrase) }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(io), service).with_upgrades());
    let ended = tokio::select! {
        biased; // without it each poll draws lots
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a client connection ended early");
        if error.is_parse() {
            proxy.observer.on_rejected(400, "no well-formed HTTP/1 request head");
        }
    }
    if state.was_too_slow() {
        proxy.observer.on_rejected(0, TOO_SLOW);
    }
    if let Some(switch) = state.goes_on_as() {
        switch.run(settings.tunnel_timeout, stop).await;
    }
}

async fn serve_http2<IO>(
    proxy: Arc<Proxy>,
    mut io: impl Http2<IO>,
    state: Arc<ConnectionState>,
    route: RequestRoute,
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
        let answering = dispatch(&service_proxy, &service_state, &route, &stopping, request);
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
            // It ends once the client has answered a PING (RFC 9113, section 6.8), which one that does not read never
            // does.
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
        proxy.observer.on_rejected(0, TOO_SLOW);
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
    state: &Arc<ConnectionState>,
    route: &RequestRoute,
    stop: &watch::Receiver<bool>,
    request: http::Request<Incoming>,
) -> Answering {
    let head = state.next_head();
    let facts = head.unwrap_or_default();
    let (proxy, in_flight) = (Arc::clone(proxy), state.begin(facts));
    if let Some(fault) = head.err().or_else(|| out_of_bounds(&proxy, &request)) {
        let problem = Problem::new(fault.status, fault.reason, fault.detail).closing();
        proxy.observer.on_rejected(problem.status.as_u16(), fault.detail);
        let response = Response::from(problem).map(Gate::open);
        return Box::pin(std::future::ready(Ok(response)));
    }
    let answering: Answering = match route {
        RequestRoute::Reverse(scheme, upstream) => {
            let destination = proxy.upstreams[*upstream].clone().called_by(scheme);
            reverse::serve(proxy, in_flight, request, destination)
        }
        RequestRoute::Tunnel(destination) => reverse::serve(proxy, in_flight, request, destination.clone()),
        RequestRoute::Forward(forward, permit) => {
            let tunnels = Tunnels { forward: Arc::clone(forward), permit: Arc::clone(permit), stop: stop.clone() };
            Box::pin(tunnels.serve(proxy, in_flight, request))
        }
    };
    if !facts.asks_upgrade {
        return answering;
    }
    let state = Arc::clone(state);
    Box::pin(async move {
        let mut answer = answering.await;
        if let Ok(answer) = &mut answer {
            upgrade::finish_upgrade(&state, answer);
        }
        answer
    })
}

/// Leaves the phrase out where the status has none: hyper would write `<none>`.
fn without_a_phrase<B>(mut answer: http::Response<B>) -> http::Response<B> {
    if answer.status().canonical_reason().is_none() && answer.extensions().get::<ReasonPhrase>().is_none() {
        answer.extensions_mut().insert(ReasonPhrase::from_static(b""));
    }
    answer
}

/// What a connection to a forward listener hands on to its tunnels.
struct Tunnels {
    forward: Arc<Forward>,
    permit: ConnectionPermit,
    stop: watch::Receiver<bool>,
}

impl Tunnels {
    /// Answers one request. The bytes behind a CONNECT are not scanned as requests, so a refused one ends its
    /// connection.
    async fn serve(
        self,
        proxy: Arc<Proxy>,
        in_flight: InFlight,
        request: http::Request<Incoming>,
    ) -> Result<http::Response<Gate>, Infallible> {
        let connect = request.method() == Method::CONNECT && request.version() != Version::HTTP_2;
        let state = connect.then(|| Arc::clone(in_flight.state()));
        let mut answer = self.answer(proxy, in_flight, request).await;
        if let (Some(state), Ok(answer)) = (state, &mut answer) {
            if answer.status().is_success() {
                state.tunnels();
            } else {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
        }
        answer
    }

    async fn answer(
        self,
        proxy: Arc<Proxy>,
        in_flight: InFlight,
        request: http::Request<Incoming>,
    ) -> Result<http::Response<Gate>, Infallible> {
        let (head, body) = request.into_parts();
        let decision = self.forward.decide(&head);
        let session = self.forward.session(&proxy, &head.headers);
        let request = http::Request::from_parts(head, body);
        match decision {
            Decision::Authenticate => Ok(authenticate(&proxy)),
            Decision::Refuse(problem) => Ok(refused(&proxy, problem)),
            Decision::Deny(denial) => Ok(denied(&proxy, denial)),
            Decision::Forward(route) => {
                let destination = route.destination(&proxy).of_user(session);
                reverse::serve(proxy, in_flight, request, destination).await
            }
            Decision::ForwardUnseen { scheme, target } => match passthrough::resolve(&self.forward, &target).await {
                Err(unreachable) => Ok(unreached(&proxy, unreachable)),
                Ok(_) => {
                    let destination = Destination::new(scheme, target.authority(scheme)).of_user(session);
                    reverse::serve(Arc::clone(&self.forward.unseen), in_flight, request, destination).await
                }
            },
            Decision::Intercept(target) => {
                let Self { forward, permit, stop } = self;
                tokio::spawn(async move {
                    match hyper::upgrade::on(request).await {
                        Ok(upgraded) => intercept(forward, proxy, (target, session), upgraded, stop).await,
                        Err(error) => tracing::debug!(%error, "a CONNECT was not taken up"),
                    }
                    drop(permit);
                });
                Ok(established())
            }
            Decision::Tunnel(target) => match passthrough::connect(&self.forward, &target).await {
                Err(unreachable) => Ok(unreached(&proxy, unreachable)),
                Ok(stream) => {
                    passthrough::tunnel(request, stream, &proxy, self.permit, self.stop);
                    Ok(established())
                }
            },
        }
    }
}

fn established() -> http::Response<Gate> {
    http::Response::new(Gate::open(MessageBody::Empty))
}

fn refused(proxy: &Proxy, problem: Problem) -> http::Response<Gate> {
    proxy.observer.on_rejected(problem.status.as_u16(), problem.shown_reason());
    Response::from(problem).map(Gate::open)
}

fn authenticate(proxy: &Proxy) -> http::Response<Gate> {
    let detail = "this proxy wants the user name and password that were set with --proxy-auth";
    let problem = Problem::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "proxy-auth", detail);
    let mut response = refused(proxy, problem);
    let scheme = HeaderValue::from_static("Basic realm=\"contrail\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::PROXY_AUTHENTICATE, scheme);
    response
}

fn denied(proxy: &Proxy, denial: Denial) -> http::Response<Gate> {
    proxy.observer.on_denied(&denial.report());
    Response::from(denial.problem).map(Gate::open)
}

fn unreached(proxy: &Proxy, unreachable: Unreachable) -> http::Response<Gate> {
    match unreachable {
        Unreachable::Own(denial) => denied(proxy, denial),
        Unreachable::Failed(problem) => refused(proxy, problem),
    }
}

/// Serves the requests inside a CONNECT to `target`. Clients CONNECT for plain http too, so the first byte decides,
/// and the CONNECT's host decides where requests go: neither SNI nor an inner Host does.
async fn intercept(
    forward: Arc<Forward>,
    proxy: Arc<Proxy>,
    (target, session): (HostPort, Option<Arc<str>>),
    upgraded: Upgraded,
    mut stop: watch::Receiver<bool>,
) {
    let patience = proxy.settings.header_timeout;
    let opening = tokio::time::timeout(patience, Rewind::first_byte(TokioIo::new(upgraded)));
    let Some(opened) = unless_stopped(&mut stop, opening).await else { return };
    let Ok(Ok((Some(first), io))) = opened else {
        return forward.unread(&proxy, &target, "nothing came after a CONNECT within --header-timeout");
    };
    let scheme = if first == TLS_HANDSHAKE { "https" } else { "http" };
    let Some(route) = forward.route(&target, scheme) else { return };
    let route = RequestRoute::Tunnel(route.destination(&proxy).of_user(session));
    if first != TLS_HANDSHAKE {
        return serve_connection(proxy, io, route, stop).await;
    }
    let config = match forward.authority_of(&target).server_config(&certified_name(&target)) {
        Ok(config) => config,
        Err(error) => {
            tracing::warn!(%error, "no certificate for an intercepted host");
            return;
        }
    };
    let handshake = tokio::time::timeout(patience, tls::accept(config, io));
    let Some(ended) = unless_stopped(&mut stop, handshake).await else { return };
    match ended {
        Ok(Ok(stream)) => serve_tls(proxy, stream, route, stop).await,
        Ok(Err(error)) => {
            tracing::debug!(error, "a TLS handshake after CONNECT failed");
            forward.unread(
                &proxy,
                &target,
                "a TLS handshake after CONNECT failed: does the client trust `contrail ca`?",
            );
        }
        Err(_) => forward.unread(&proxy, &target, "a TLS handshake after CONNECT did not end within --header-timeout"),
    }
}

/// The name in the certificate; the loopback names are in every one.
fn certified_name(target: &HostPort) -> String {
    match target.host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => target.host.clone(),
    }
}

/// What is too large in a request that came over HTTP/2; HTTP/1 is looked at before.
fn out_of_bounds(proxy: &Proxy, request: &http::Request<Incoming>) -> Option<RequestFault> {
    if request.version() != Version::HTTP_2 {
        return None;
    }
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > proxy.settings.max_target {
        return Some(RequestFault::TARGET);
    }
    // Counted as HTTP/1 would write it: name, colon, blank, value, line end.
    let bytes: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if target + bytes > proxy.settings.max_header_bytes {
        return Some(RequestFault::HEADER_BYTES);
    }
    (request.headers().len() > proxy.settings.max_headers).then_some(RequestFault::HEADERS)
}
