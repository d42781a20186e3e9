//! Accepting connections: limits, serving, draining.

use std::{io, sync::Arc, time::Duration};

use http::StatusCode;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{
    Proxy,
    connection::{Guarded, State},
    reverse,
};
use crate::upstream::Problem;

/// How long to wait after an accept failed (out of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a client that is turned away has to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves connections of `listener` until `stop` turns true (or its sender is gone); then lets exchanges in progress
/// end, for at most the settings' drain time, and cuts the rest (each is recorded as not whole).
pub async fn serve(proxy: Arc<Proxy>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(proxy.settings.max_connections));
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
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else {
            proxy.observer.turned_away(503, "as many connections as --max-connections");
            connections.spawn(async move {
                let _ = tokio::time::timeout(FAREWELL, turn_away(stream)).await;
            });
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (proxy, stop) = (Arc::clone(&proxy), stopping.clone());
        connections.spawn(async move {
            serve_connection(proxy, stream, stop).await;
            drop(slot);
        });
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(proxy.settings.drain, drained).await.is_err() {
        connections.shutdown().await;
    }
}

/// Serves one connection of HTTP/1 until it ends, or, once `stop` is true, until its exchange in progress ends.
pub async fn serve_connection<IO>(proxy: Arc<Proxy>, io: IO, mut stop: watch::Receiver<bool>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let state = Arc::new(State::default());
    let settings = &proxy.settings;
    let io = Guarded::new(io, Arc::clone(&state), settings.header_timeout, settings.keep_alive);
    let mut builder = http1::Builder::new();
    builder
        .preserve_header_case(true)
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_headers(settings.max_headers)
        .max_header_size(settings.max_header_bytes);
    let service =
        service_fn(|request: http::Request<Incoming>| reverse::serve(Arc::clone(&proxy), state.begin(), request));
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a client connection ended early");
        if error.is_parse() {
            proxy.observer.turned_away(400, "no well-formed HTTP/1 request head");
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
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
