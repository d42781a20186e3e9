//! The client of the demo: HTTP/1.1 over a socket, one connection per request.

use std::collections::HashMap;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::script::{Bearer, Step};
use crate::cli::Failure;

/// A response as the client read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) media: Option<String>,
    /// As far as it came.
    pub(super) body: Bytes,
    /// Whether all of it came.
    pub(super) whole: bool,
}

impl Reply {
    /// The body, as JSON; null if it is none.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A client that remembers its tokens and the next page.
#[derive(Debug)]
pub(super) struct Client<'a> {
    address: &'a str,
    secrets: &'a HashMap<String, String>,
    tokens: HashMap<&'static str, String>,
    next: String,
}

impl<'a> Client<'a> {
    /// A client of the server at `address`.
    pub(super) fn new(address: &'a str, secrets: &'a HashMap<String, String>) -> Self {
        Self { address, secrets, tokens: HashMap::new(), next: String::new() }
    }

    /// The secrets that it has used: those of its clients, and the tokens that it got.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.tokens.keys().filter_map(|client| self.secrets.get(*client)).chain(self.tokens.values()).cloned().collect()
    }

    /// Takes a step.
    pub(super) async fn take(&mut self, step: &Step) -> Result<Reply, Failure> {
        let target = step.target.replace("{next}", &self.next);
        let mut request = Request::builder().method(step.method).uri(&target).header(header::HOST, self.address);
        if let Bearer::Client(client) = step.bearer {
            let token = self.tokens.get(client).map_or("", String::as_str);
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = match (step.asks_token, &step.body) {
            (Some(client), _) => {
                request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
                let secret = self.secrets.get(client).map_or("", String::as_str);
                form_urlencoded::Serializer::new(String::new())
                    .append_pair("grant_type", "client_credentials")
                    .append_pair("client_id", client)
                    .append_pair("client_secret", secret)
                    .append_pair("audience", "/api/v2/")
                    .finish()
            }
            (None, Some(body)) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                body.to_string()
            }
            (None, None) => String::new(),
        };
        let reply = send(self.address, request.body(Full::new(Bytes::from(body)))?).await?;
        let answer = reply.json();
        if let (Some(client), Some(token)) = (step.asks_token, answer["access_token"].as_str()) {
            self.tokens.insert(client, token.to_owned());
        }
        if let Some(next) = answer["next"].as_str() {
            self.next = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        }
        Ok(reply)
    }
}

/// Sends a request to the server at `address` on a connection of its own.
pub(super) async fn send(address: &str, request: Request<Full<Bytes>>) -> Result<Reply, Failure> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let (parts, mut rest) = sender.send_request(request).await?.into_parts();
    let (mut body, mut whole) = (Vec::new(), true);
    while let Some(frame) = rest.frame().await {
        match frame {
            Ok(frame) => body.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Err(_) => whole = false,
        }
    }
    connection.abort();
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).map(str::to_owned);
    Ok(Reply { status: parts.status.as_u16(), media, body: body.into(), whole })
}
