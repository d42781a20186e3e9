//! Accepting connections: limits, TLS, draining.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use http::StatusCode;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::{
    connection::{ConnectionPermit, RequestRoute, serve_connection, serve_tls},
    forward::Forward,
    tls::Certificates,
};
use crate::upstream::Problem;
use crate::{
    Proxy,
    shutdown::{stopped, unless_stopped},
    wire::stall::Patient,
};

/// How long to wait after an accept failed (out of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a rejected client has to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// Maximum rejected connections that get that long; further ones are answered and closed at once.
const MAX_FAREWELLS: usize = 256;

/// How a listener takes connections.
#[derive(Debug, Clone)]
pub enum ListenerKind {
    /// Plain HTTP, reverse mode, for this upstream.
    Plain(usize),
    /// HTTP over TLS, reverse mode, for this upstream.
    Tls(Certificates, usize),
    /// Forward proxy.
    Forward(Arc<Forward>),
}

/// Serves connections of `listener` until `stop` turns true (or its sender is gone); then lets exchanges in progress
/// end, for at most the settings' drain time, and cuts the rest (each is recorded as not whole).
pub async fn serve(proxy: Arc<Proxy>, listener: TcpListener, mut kind: ListenerKind, mut stop: watch::Receiver<bool>) {
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
        let Ok(permit) = Arc::clone(&proxy.connection_permits).try_acquire_owned() else {
            proxy.observer.on_rejected(503, "as many connections as --max-connections");
            let patience = if connections.len() < proxy.settings.max_connections + MAX_FAREWELLS {
                FAREWELL
            } else {
                Duration::ZERO
            };
            connections.spawn(async move {
                let _ = tokio::time::timeout(patience, turn_away(stream)).await;
            });
            continue;
        };
        let _ = stream.set_nodelay(true);
        if let ListenerKind::Tls(certificates, _) = &mut kind {
            certificates.renew();
        }
        let worker = proxy.settings.workers.least_busy();
        let permit = Arc::new((permit, worker.load()));
        let (proxy, kind, stop) = (Arc::clone(&proxy), kind.clone(), stopping.clone());
        worker.serve(&mut connections, stream, |stream| enter(proxy, stream, kind, permit, stop));
    }
    drop(listener);
    let drained = async {
        while connections.join_next().await.is_some() {}
        // What is inside a CONNECT outlives the connection's task, but not its permit.
        let all = u32::try_from(proxy.settings.max_connections).unwrap_or(u32::MAX);
        let _ = proxy.connection_permits.acquire_many(all).await;
    };
    if tokio::time::timeout(proxy.settings.drain, drained).await.is_err() {
        proxy.cutting("contrail stopped before the exchange was over: --drain ran out");
        connections.shutdown().await;
    }
}

async fn enter(
    proxy: Arc<Proxy>,
    stream: TcpStream,
    kind: ListenerKind,
    permit: ConnectionPermit,
    stop: watch::Receiver<bool>,
) {
    let local = stream.local_addr();
    let stream = Patient::new(stream, proxy.settings.write_timeout);
    match kind {
        ListenerKind::Plain(upstream) => {
            serve_connection(proxy, stream, RequestRoute::Reverse("http", upstream), stop).await;
        }
        ListenerKind::Forward(forward) => {
            serve_connection(proxy, stream, RequestRoute::Forward(forward, Arc::clone(&permit)), stop).await;
        }
        // In a box of its own, as HTTP/2 below: connections that speak neither do not carry room for them.
        ListenerKind::Tls(certificates, upstream) => {
            let Ok(local) = local else { return };
            Box::pin(enter_tls(proxy, stream, (certificates, upstream), local.ip(), stop)).await;
        }
    }
}

async fn enter_tls(
    proxy: Arc<Proxy>,
    stream: Patient<TcpStream>,
    (certificates, upstream): (Certificates, usize),
    local: IpAddr,
    mut stop: watch::Receiver<bool>,
) {
    let handshake = tokio::time::timeout(proxy.settings.header_timeout, certificates.accept(stream, local));
    let Some(ended) = unless_stopped(&mut stop, handshake).await else { return };
    match ended {
        Ok(Ok(stream)) => serve_tls(proxy, stream, RequestRoute::Reverse("https", upstream), stop).await,
        Ok(Err(error)) => {
            tracing::debug!(error, "a TLS handshake failed");
            proxy.observer.on_rejected(0, "a TLS handshake failed: does the client trust `contrail ca`?");
        }
        Err(_) => proxy.observer.on_rejected(0, "a TLS handshake did not end within --header-timeout"),
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
