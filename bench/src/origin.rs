//! The origin: a hyper server that answers the mix from memory.

use std::{
    collections::HashMap,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::{
    Method, Request, Response,
    body::{Body, Frame, Incoming, SizeHint},
    header::HeaderValue,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{Error, traffic};

const FIELDS: [(&str, &str); 5] = [
    ("content-type", "application/json; charset=utf-8"),
    ("x-ratelimit-limit", "100"),
    ("x-ratelimit-remaining", "99"),
    ("x-ratelimit-reset", "1893456000"),
    ("cache-control", "private, no-store"),
];

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
) -> Result<Response<Either<Full<Bytes>, Zeroes>>, Infallible> {
    let path = request.uri().path_and_query().map_or("", |target| target.as_str()).to_owned();
    let method = request.method().clone();
    let mut sent = request.into_body();
    while let Some(Ok(_)) = sent.frame().await {}
    if let Some(bytes) = path.strip_prefix("/zeroes/").and_then(|bytes| bytes.parse().ok()) {
        return Ok(Response::new(Either::Right(Zeroes(bytes))));
    }
    let mut response = Response::new(Either::Left(Full::default()));
    match answers.get(&(method, path)) {
        Some(body) => {
            *response.body_mut() = Either::Left(Full::new(body.clone()));
            let headers = response.headers_mut();
            for (name, value) in FIELDS {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        None => *response.status_mut() = hyper::StatusCode::NOT_FOUND,
    }
    Ok(response)
}

/// A body of so many zeroes, made as it is asked for.
pub struct Zeroes(pub u64);

impl Body for Zeroes {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static CHUNK: [u8; 64 << 10] = [b'0'; 64 << 10];
        let size = self.0.min(CHUNK.len() as u64);
        self.0 -= size;
        Poll::Ready((size > 0).then(|| Ok(Frame::data(Bytes::from_static(&CHUNK[..size as usize])))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0)
    }
}
