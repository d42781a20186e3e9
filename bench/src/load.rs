//! The load generator: so many connections, each asking one request after the other.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::{Error, traffic};

/// What one burst came to.
pub struct Burst {
    pub requests: usize,
    pub took: Duration,
    /// Latencies, sorted.
    pub latencies: Vec<Duration>,
}

/// Sends `requests` of the mix over `connections`, and fails on any answer but 200.
pub async fn burst(target: SocketAddr, connections: usize, requests: usize) -> Result<Burst, Error> {
    let each = requests / connections;
    let started = Instant::now();
    let tasks: Vec<_> = (0..connections).map(|n| tokio::spawn(connection(target, n, each))).collect();
    let mut latencies = Vec::with_capacity(each * connections);
    for task in tasks {
        latencies.extend(task.await??);
    }
    let took = started.elapsed();
    latencies.sort_unstable();
    Ok(Burst { requests: latencies.len(), took, latencies })
}

async fn connection(target: SocketAddr, number: usize, requests: usize) -> Result<Vec<Duration>, Error> {
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let authorization = format!("Bearer {}", traffic::token(number % 8));
    let mut latencies = Vec::with_capacity(requests);
    for n in 0..requests {
        let wanted = traffic::request(traffic::MIX[(n + number) % traffic::MIX.len()], n + number);
        let mut request = Request::builder()
            .method(wanted.method)
            .uri(wanted.path)
            .header("host", target.to_string())
            .header("user-agent", "contrail-bench")
            .header("accept", "*/*")
            .header("authorization", &authorization);
        if !wanted.body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let asked = Instant::now();
        sender.ready().await?;
        let response = sender.send_request(request.body(Full::new(wanted.body))?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        latencies.push(asked.elapsed());
        if status != 200 {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
    }
    Ok(latencies)
}
