//! The load generator: so many connections, each asking one request after the other.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::{http1, http2},
    header::HeaderValue,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::{
    Error,
    front::{Front, Shake},
    traffic::{self, Mix},
};

/// Up to here a connection keeps its token.
const FEW_TOKENS: usize = 64;

/// What one burst came to.
pub struct Burst {
    pub requests: usize,
    pub took: Duration,
    /// Latencies, sorted.
    pub latencies: Vec<Duration>,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    async fn open(target: SocketAddr, http2: bool, shake: &Shake) -> Result<Self, Error> {
        let io = TokioIo::new(shake.hands(TcpStream::connect(target).await?).await?);
        if http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            return Ok(Self::Http2(sender));
        }
        let (sender, connection) = http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(Self::Http1(sender))
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

/// What is sent, and as whom.
#[derive(Clone)]
pub struct Traffic {
    pub mix: Mix,
    /// Values of `Authorization`, each used in turn.
    tokens: Arc<[HeaderValue]>,
}

impl Traffic {
    /// A mix, sent with so many different tokens.
    pub fn of(mix: Mix, tokens: usize) -> Result<Self, Error> {
        let value = |n| Ok(HeaderValue::try_from(format!("Bearer {}", traffic::token_with(n, &mix.scopes)))?);
        let tokens = (0..tokens.max(1)).map(value).collect::<Result<_, Error>>()?;
        Ok(Self { mix, tokens })
    }
}

/// Sends `requests` of a mix over `connections`, each as soon as its connection is free, and fails on any answer that
/// has not the status of the mix. The connections share the mix out, so that each request of it is asked before one is
/// again.
pub async fn burst(
    traffic: &Traffic,
    target: SocketAddr,
    front: &Front,
    connections: usize,
    requests: usize,
) -> Result<Burst, Error> {
    send(traffic, target, front, connections, requests, None).await
}

/// The same at a steady rate, in requests per second. A latency begins when the request is due, not when its connection
/// is free.
pub async fn steady(
    traffic: &Traffic,
    target: SocketAddr,
    front: &Front,
    connections: usize,
    requests: usize,
    rate: f64,
) -> Result<Burst, Error> {
    send(traffic, target, front, connections, requests, Some(Duration::from_secs_f64(1.0 / rate))).await
}

async fn send(
    traffic: &Traffic,
    target: SocketAddr,
    front: &Front,
    connections: usize,
    requests: usize,
    interval: Option<Duration>,
) -> Result<Burst, Error> {
    let (each, shake, http2) = (requests / connections, front.connecting()?, front.is_http2());
    let started = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|number| {
            let first = if traffic.mix.identities > 1 { number * each } else { number };
            let count = u32::try_from(connections).unwrap_or(u32::MAX);
            let due = interval.map(|interval| {
                let first = started + interval * u32::try_from(number).unwrap_or(u32::MAX);
                Due { next: first, interval: interval * count }
            });
            tokio::spawn(connection(traffic.clone(), target, http2, shake.clone(), (number, first), each, due))
        })
        .collect();
    let mut latencies = Vec::with_capacity(each * connections);
    for task in tasks {
        latencies.extend(task.await??);
    }
    let took = started.elapsed();
    latencies.sort_unstable();
    Ok(Burst { requests: latencies.len(), took, latencies })
}

/// When the requests of a connection are due.
struct Due {
    next: Instant,
    interval: Duration,
}

impl Due {
    /// Waits until the next request is due; the instant from which it waits for its answer. The timer wakes up to a
    /// millisecond late, which is no latency.
    async fn wait(&mut self) -> Instant {
        let due = self.next;
        self.next += self.interval;
        if Instant::now() > due {
            return due;
        }
        tokio::time::sleep_until(due.into()).await;
        Instant::now()
    }
}

async fn connection(
    traffic: Traffic,
    target: SocketAddr,
    http2: bool,
    shake: Shake,
    (number, first): (usize, usize),
    requests: usize,
    mut due: Option<Due>,
) -> Result<Vec<Duration>, Error> {
    let mut sender = Sender::open(target, http2, &shake).await?;
    let tokens = &traffic.tokens;
    let mut latencies = Vec::with_capacity(requests);
    for n in 0..requests {
        let wanted = traffic.mix.request(n + first);
        // A connection is one client's, unless there are more clients than connections.
        let token = if tokens.len() > FEW_TOKENS { first + n } else { number };
        let expected = wanted.status;
        let request = request(wanted, &tokens[token % tokens.len()], target, http2)?;
        let asked = match &mut due {
            Some(due) => due.wait().await,
            None => Instant::now(),
        };
        let response = sender.send(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        latencies.push(asked.elapsed());
        if status != expected {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
    }
    Ok(latencies)
}

/// Sends the `n`-th request of a mix.
pub async fn ask(
    traffic: &Traffic,
    n: usize,
    target: SocketAddr,
) -> Result<(hyper::http::response::Parts, Bytes), Error> {
    let mut sender = Sender::open(target, false, &Shake::Plain).await?;
    let request = request(traffic.mix.request(n), &traffic.tokens[0], target, false)?;
    let (head, body) = sender.send(request).await?.into_parts();
    Ok((head, body.collect().await?.to_bytes()))
}

fn request(
    wanted: traffic::Request<'_>,
    token: &HeaderValue,
    target: SocketAddr,
    http2: bool,
) -> Result<Request<Full<Bytes>>, Error> {
    let mut request = Request::builder().method(wanted.method);
    request = if http2 {
        request.uri(format!("http://{target}{}", wanted.path))
    } else {
        // First, as clients have it (RFC 9112, section 3.2).
        request.uri(wanted.path).header("host", target.to_string())
    };
    request = request.header("user-agent", "contrail-bench").header("accept", "*/*").header("authorization", token);
    for (name, value) in wanted.headers {
        request = request.header(name, value);
    }
    if let Some(body) = wanted.body {
        request = request.header("content-type", &body.media_type);
    }
    let body = wanted.body.map(|body| body.content.clone()).unwrap_or_default();
    Ok(request.body(Full::new(body))?)
}
