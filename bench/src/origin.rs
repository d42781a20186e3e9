//! The origin: a hyper server that answers all mixes from memory.

use std::{
    collections::HashMap,
    convert::Infallible,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body, Frame, Incoming, SizeHint},
    header::{HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{
    Error,
    traffic::{self, Message, Mix},
};

const FIELDS: [(&str, &str); 4] = [
    ("x-ratelimit-limit", "100"),
    ("x-ratelimit-remaining", "99"),
    ("x-ratelimit-reset", "1893456000"),
    ("cache-control", "private, no-store"),
];

/// An answer, as it is sent.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl TryFrom<traffic::Answer> for Answer {
    type Error = Error;

    fn try_from(answer: traffic::Answer) -> Result<Self, Error> {
        let Message { media_type, encoding, content } = answer.message;
        let mut headers = HeaderMap::new();
        if media_type.contains(';') {
            headers.insert("content-type", media_type.try_into()?);
        } else if !media_type.is_empty() {
            headers.insert("content-type", format!("{media_type}; charset=utf-8").try_into()?);
        }
        if let Some(encoding) = encoding {
            headers.insert("content-encoding", encoding.try_into()?);
        }
        for (name, value) in FIELDS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        for (name, value) in answer.headers {
            headers.insert(HeaderName::try_from(name)?, value.try_into()?);
        }
        Ok(Self { status: StatusCode::from_u16(answer.status)?, headers, body: content })
    }
}

/// Serves all mixes, or the one in a file, until the process is ended; prints its address first.
pub async fn serve(mix: Option<&Path>) -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let mut answers = HashMap::new();
    for (request, answer) in Mix::answers(mix)? {
        answers.insert(request, Answer::try_from(answer)?);
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
            *response.status_mut() = answer.status;
            response.headers_mut().clone_from(&answer.headers);
            *response.body_mut() = Either::Left(Full::new(answer.body.clone()));
        }
        None => *response.status_mut() = StatusCode::NOT_FOUND,
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
