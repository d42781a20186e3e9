//! The tenant behind a socket (HTTP/1.1).

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use super::message::{Answer, AnswerBody, Answers, Ask};

/// Largest request body, in bytes; 413 beyond.
const MAX_BODY: usize = 16 << 20;
/// How long a request head may take, and how long a connection may be idle before it. Clients that keep connections
/// expect a minute at least.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);
/// How long exchanges that are under way may take after `shutdown`.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves the tenant until `shutdown` is ready, then lets what is under way end.
///
/// # Errors
///
/// None that a client can cause: a connection that cannot be accepted is dropped and the next one is waited for.
pub async fn serve<T: Answers + 'static>(
    listener: TcpListener,
    tenant: Arc<T>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    connections.spawn(connection(TokioIo::new(stream), Arc::clone(&tenant), stopping.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    // Out of descriptors, most likely; others will be closed.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    let _ = stop.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    Ok(())
}

async fn connection<T: Answers + 'static>(
    io: TokioIo<tokio::net::TcpStream>,
    tenant: Arc<T>,
    mut stopping: watch::Receiver<bool>,
) {
    let service = service_fn(move |request| {
        let tenant = Arc::clone(&tenant);
        async move { Ok::<_, Infallible>(respond(&*tenant, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection ended early");
            }
            return;
        }
        _ = stopping.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn respond<T: Answers>(tenant: &T, request: Request<Incoming>) -> Response<AnswerBody> {
    let (parts, body) = request.into_parts();
    let body = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Answer::refusal(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large").into_response(),
    };
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    let ask = Ask { method: &parts.method, target, headers: &parts.headers, body: &body };
    tenant.answer_now(&ask).into_response()
}
