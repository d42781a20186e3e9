//! The bare proxy that every ratio is against: hyper's server, hyper-util's pooled client, nothing in between.

use std::net::SocketAddr;

use hyper::{
    Request, Uri, Version,
    body::Incoming,
    header,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::net::TcpListener;

use crate::{
    Error,
    front::{Front, Shake},
};

/// Serves until the process is ended; prints its address first.
pub async fn serve(upstream: SocketAddr, front: Front) -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let shake = front.accepting()?;
    loop {
        let (stream, _) = listener.accept().await?;
        let (client, shake, http2) = (client.clone(), shake.clone(), front.is_http2());
        tokio::spawn(async move {
            let service = service_fn(move |mut request: Request<Incoming>| {
                let client = client.clone();
                async move {
                    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
                    *request.uri_mut() =
                        format!("http://{upstream}{target}").parse::<Uri>().expect("a target that hyper took");
                    if http2 {
                        *request.version_mut() = Version::HTTP_11;
                        request.headers_mut().remove(header::HOST);
                    }
                    client.request(request).await
                }
            });
            // What is plain needs no box around its stream.
            if let (Shake::Plain, false) = (&shake, http2) {
                stream.set_nodelay(true).expect("a socket");
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                return;
            }
            let Ok(io) = shake.hands(stream).await.map(TokioIo::new) else { return };
            let _ = if http2 {
                http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await
            } else {
                http1::Builder::new().serve_connection(io, service).await
            };
        });
    }
}
