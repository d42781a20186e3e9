//! The origin: a hyper server that answers all mixes from memory.

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

use crate::{
    Error,
    traffic::{Message, Mix},
};

const FIELDS: [(&str, &str); 4] = [
    ("x-ratelimit-limit", "100"),
    ("x-ratelimit-remaining", "99"),
    ("x-ratelimit-reset", "1893456000"),
    ("cache-control", "private, no-store"),
];

/// An answer: its body and the fields that describe it.
struct Answer {
    media_type: HeaderValue,
    encoding: Option<HeaderValue>,
    body: Bytes,
}

/// Serves until the process is ended; prints its address first.
pub async fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let mut answers = HashMap::new();
    for (request, Message { media_type, encoding, content }) in Mix::answers()? {
        let media_type = HeaderValue::try_from(format!("{media_type}; charset=utf-8"))?;
        let encoding = encoding.map(HeaderValue::try_from).transpose()?;
        answers.insert(request, Answer { media_type, encoding, body: content });
    }
    let answers = Arc::new(answers);
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
    answers: Arc<HashMap<(Method, String), Answer>>,
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
        Some(answer) => {
            *response.body_mut() = Either::Left(Full::new(answer.body.clone()));
            let headers = response.headers_mut();
            headers.insert("content-type", answer.media_type.clone());
            headers.extend(answer.encoding.clone().map(|encoding| (hyper::header::CONTENT_ENCODING, encoding)));
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
