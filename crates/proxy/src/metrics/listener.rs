//! `/metrics`, `/healthz` and `/readyz`.

use std::{io, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;

use super::{registry::Metrics, text::TextFormat};
use crate::side::{Serving, SideListener};

const PATHS: &str = "there are /metrics, /healthz and /readyz\n";

/// Answers by these metrics.
///
/// # Errors
///
/// The system gives no thread.
pub fn serve(listener: SideListener, metrics: Arc<Metrics>) -> io::Result<Serving> {
    listener.serve("metrics", move |request| {
        let metrics = Arc::clone(&metrics);
        async move { answer(&request, metrics).await }
    })
}

async fn answer(request: &Request<Incoming>, metrics: Arc<Metrics>) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
            let format = TextFormat::accepted(accept.unwrap_or_default());
            response(StatusCode::OK, format.media_type(), metrics.page(format))
        }
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        // It may wait for the disk.
        "/readyz" => match tokio::task::spawn_blocking(move || metrics.readiness()).await {
            Ok(Ok(())) => plain(StatusCode::OK, "ready\n"),
            Ok(Err(reason)) => plain(StatusCode::SERVICE_UNAVAILABLE, reason + "\n"),
            Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "the check of readiness failed; please report it\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, PATHS),
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", text)
}

fn response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
