//! HTTP for the library of stores, by the client that asks tenants: one client for each address, the system's roots.

use std::{
    collections::HashMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use contrail_exchange::Target;
use contrail_proxy::upstream::{
    BodyError, Failure, FailureKind, MessageBody, Origin, Request, ResponseBody, Upstream as _,
    live::{Access, Http2, Limits, Live},
};
use http::{HeaderValue, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use object_store::{
    ClientConfigKey, ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    },
};

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a store may take or send nothing. A large segment on a slow line takes longer in all.
const SILENCE: Duration = Duration::from_secs(30);

/// Makes the client of a store.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allows.as_deref() == Some("true");
        Ok(HttpClient::new(Service { allows_http, clients: Mutex::default() }))
    }
}

#[derive(Debug)]
struct Service {
    allows_http: bool,
    /// By origin: the store, and where it gives out credentials.
    clients: Mutex<HashMap<String, Arc<Live>>>,
}

type Answer = Result<HttpResponse, HttpError>;

impl HttpService for Service {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Answer> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}

impl Service {
    async fn send(&self, request: HttpRequest) -> Answer {
        let (mut head, body) = request.into_parts();
        match head.uri.scheme_str() {
            Some("https") => {}
            Some("http") if self.allows_http => {}
            _ => return Err(refused("the store's address is not https; AWS_ALLOW_HTTP=true allows http")),
        }
        let authority = head.uri.authority().ok_or_else(|| refused("the store's address has no host"))?;
        let origin = format!("{}://{authority}", head.uri.scheme_str().unwrap_or_default());
        let origin: Origin = origin.parse().map_err(|_| refused("the store's address is malformed"))?;
        if !head.headers.contains_key(header::HOST) {
            let host = HeaderValue::from_str(authority.as_str()).map_err(|_| refused("the host is malformed"))?;
            head.headers.insert(header::HOST, host);
        }
        let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        head.uri = path.parse().unwrap_or_default();
        let client = self.client(&origin)?;
        let target = Target::new(origin.scheme(), &*origin.authority, path);
        let body = match body.as_bytes() {
            Some(bytes) => bytes.clone().into(),
            None => MessageBody::stream(body.map_err(|error| BodyError::new(error.to_string()))),
        };
        let request = Request { target, head, body, on_informational: None, client: None, called: None };
        let (head, body) = client.answer(request).await.map_err(failed)?.response.into_parts();
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(Received(Mutex::new(body)))))
    }

    fn client(&self, origin: &Origin) -> Result<Arc<Live>, HttpError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&origin.to_string()) {
            return Ok(Arc::clone(client));
        }
        let access = Access { http2: Http2::Off, ..Access::default() };
        let limits = Limits { connect: CONNECT, silence: SILENCE, ..Limits::default() };
        let client = Live::new(origin.clone(), access, limits);
        let client = Arc::new(client.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?);
        clients.insert(origin.to_string(), Arc::clone(&client));
        Ok(client)
    }
}

/// A failure, by what the library may do about it.
fn failed(failure: Failure) -> HttpError {
    let kind = match failure.kind {
        FailureKind::Unreachable => HttpErrorKind::Connect,
        FailureKind::Timeout => HttpErrorKind::Timeout,
        FailureKind::Broken | FailureKind::Busy | FailureKind::RequestAborted => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, failure)
}

/// The body of an answer; a lock that nobody shares, since the library asks for one.
struct Received(Mutex<ResponseBody>);

impl Received {
    fn body(&mut self) -> &mut ResponseBody {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let frame = Pin::new(self.body()).poll_frame(context);
        frame.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}

/// What no later attempt mends.
fn refused(reason: &'static str) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, io::Error::new(io::ErrorKind::InvalidInput, reason))
}
