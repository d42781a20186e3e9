//! The bare proxy that every ratio is against: hyper's server, hyper-util's pooled client, nothing in between.

use std::net::SocketAddr;

use hyper::{Request, Uri, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::net::TcpListener;

use crate::Error;

/// Serves until the process is ended; prints its address first.
pub async fn serve(upstream: SocketAddr) -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let client = client.clone();
        tokio::spawn(async move {
            let service = service_fn(move |mut request: Request<Incoming>| {
                let client = client.clone();
                async move {
                    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
                    *request.uri_mut() =
                        format!("http://{upstream}{target}").parse::<Uri>().expect("a target that hyper took");
                    client.request(request).await
                }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
