//! The load generator: so many connections, each asking one request after the other.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::{
    Error,
    front::{Front, Shake},
    traffic::{self, Mix},
};

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

/// Sends `requests` of the mix over `connections`, and fails on any answer but 200.
pub async fn burst(target: SocketAddr, front: &Front, connections: usize, requests: usize) -> Result<Burst, Error> {
    burst_of(Mix::PLAIN, target, front, connections, requests).await
}

/// As [`burst`], of another mix. The connections share it out, so that each request of it is asked before one is again.
pub async fn burst_of(
    mix: Mix,
    target: SocketAddr,
    front: &Front,
    connections: usize,
    requests: usize,
) -> Result<Burst, Error> {
    let (each, shake, http2) = (requests / connections, front.connecting()?, front.is_http2());
    let started = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|number| {
            let first = if mix.identities > 1 { number * each } else { number };
            tokio::spawn(connection(mix, target, http2, shake.clone(), first, each))
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

async fn connection(
    mix: Mix,
    target: SocketAddr,
    http2: bool,
    shake: Shake,
    number: usize,
    requests: usize,
) -> Result<Vec<Duration>, Error> {
    let mut sender = Sender::open(target, http2, &shake).await?;
    let authorization = format!("Bearer {}", traffic::token(number % 8));
    let mut latencies = Vec::with_capacity(requests);
    for n in 0..requests {
        let wanted = mix.nth(n + number);
        let mut request = Request::builder().method(wanted.method);
        request = if http2 {
            request.uri(format!("http://{target}{}", wanted.path))
        } else {
            // First, as clients have it (RFC 9112, section 3.2).
            request.uri(wanted.path).header("host", target.to_string())
        };
        request = request
            .header("user-agent", "contrail-bench")
            .header("accept", "*/*")
            .header("authorization", &authorization);
        if !wanted.body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let asked = Instant::now();
        let response = sender.send(request.body(Full::new(wanted.body))?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        latencies.push(asked.elapsed());
        if status != 200 {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
    }
    Ok(latencies)
}
