//! The origin: a hyper server that answers the mix from memory.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{Error, traffic};

/// Serves until the process is ended; prints its address first.
pub async fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let answers: Arc<HashMap<(Method, String), Bytes>> = Arc::new(
        (0..1000)
            .flat_map(|n| traffic::MIX.map(|kind| traffic::request(kind, n)))
            .map(|request| {
                let answer = traffic::answer(&request.method, &request.path);
                ((request.method, request.path), answer)
            })
            .collect(),
    );
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answers = answers.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, answers.clone()));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    answers: Arc<HashMap<(Method, String), Bytes>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path_and_query().map_or("", |target| target.as_str()).to_owned();
    let method = request.method().clone();
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::default());
    match answers.get(&(method, path)) {
        Some(body) => {
            *response.body_mut() = Full::new(body.clone());
            response
                .headers_mut()
                .insert("content-type", "application/json; charset=utf-8".parse().expect("a header value"));
            response.headers_mut().insert("x-ratelimit-limit", "100".parse().expect("a header value"));
            response.headers_mut().insert("x-ratelimit-remaining", "99".parse().expect("a header value"));
            response.headers_mut().insert("x-ratelimit-reset", "1893456000".parse().expect("a header value"));
            response.headers_mut().insert("cache-control", "private, no-store".parse().expect("a header value"));
        }
        None => *response.status_mut() = hyper::StatusCode::NOT_FOUND,
    }
    Ok(response)
}
