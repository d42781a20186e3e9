//! `--control`: starts, lists and ends sessions over HTTP, for the hooks of a test runner.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use contrail_proxy::{
    sessions::{Sessions, bad_name, is_name},
    side::{Serving, SideListener},
    upstream::Problem,
};
use contrail_report::Unused;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::{
    Failure,
    listeners::bind,
    options::{limits::ProxyArgs, sessions::SessionArgs},
};

/// The sessions of a command.
pub(super) trait Controlled: Send + Sync {
    /// Starts a session from the beginning, or starts it again.
    fn start(&self, name: &str) -> Result<(), Problem>;

    /// Ends a session; what became of it since it was started. Where its test `failed`, a recording of it is dropped.
    fn end(&self, name: &str, failed: bool) -> Result<Ended, Problem>;

    /// The sessions that are open.
    fn list(&self) -> Vec<Listed>;
}

/// What became of a session.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) requests: usize,
    /// As the client got them.
    pub(super) misses: Vec<Value>,
    /// What of its own fixture it did not request.
    pub(super) unused: Vec<Unused>,
    /// A run that ended so would fail.
    pub(super) fails: bool,
}

/// A session that is open.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: Arc<str>,
    pub(super) requests: usize,
    pub(super) misses: usize,
}

/// A control listener that is bound.
#[derive(Debug)]
pub(super) struct Control(SideListener);

/// Takes the requests of a proxy, and orders to start and end sessions until what this gives is dropped.
///
/// # Errors
///
/// The system gives no thread.
pub(super) fn begin<S: Sessions + Controlled + 'static>(
    sessions: &Arc<S>,
    control: &Mutex<Option<Control>>,
    proxy: &mut ProxyArgs,
) -> Result<Option<Serving>, Failure> {
    proxy.sessions = Some(Arc::clone(sessions) as _);
    let control = control.lock().unwrap_or_else(PoisonError::into_inner).take();
    proxy.control = control.as_ref().map(|Control(listener)| listener.address);
    control.map(|control| control.serve(Arc::clone(sessions) as _)).transpose()
}

impl Control {
    /// Binds the one that the options ask for.
    ///
    /// # Errors
    ///
    /// The address is malformed, taken, or open to other machines.
    pub(super) fn bind(args: &SessionArgs) -> Result<Option<Self>, Failure> {
        let Some(address) = &args.control else { return Ok(None) };
        let listener = SideListener::bind(bind("--control", address))?;
        if !listener.address.ip().to_canonical().is_loopback() {
            let open = listener.address;
            return Err(format!("--control {open} is open to other machines; listen on 127.0.0.1").into());
        }
        Ok(Some(Self(listener)))
    }

    /// Answers from now on, until what it gives is dropped.
    fn serve(self, sessions: Arc<dyn Controlled>) -> Result<Serving, Failure> {
        let answer = move |request: Request<Incoming>| {
            let response = answer(request.method(), request.uri(), &*sessions);
            std::future::ready(response)
        };
        Ok(self.0.serve("control", answer)?)
    }
}

fn answer(method: &Method, uri: &Uri, sessions: &dyn Controlled) -> Response<Full<Bytes>> {
    let (path, failed) = (uri.path(), uri.query() == Some("failed"));
    let name = path.strip_prefix("/sessions").and_then(|rest| rest.strip_prefix('/'));
    let answered = match (method, path, name) {
        (&Method::GET, "/sessions", _) => {
            let list = sessions.list().into_iter();
            let list = list.map(|one| json!({"session": &*one.name, "requests": one.requests, "misses": one.misses}));
            Ok((StatusCode::OK, json!({"sessions": list.collect::<Vec<_>>()})))
        }
        (&Method::PUT | &Method::DELETE, _, Some(name)) if !is_name(name) => Err(bad_name()),
        (&Method::DELETE, ..) if uri.query().is_some() && !failed => {
            let detail = "a session ends with DELETE /sessions/NAME, that of a test that failed with ?failed";
            Err(Problem::new(StatusCode::BAD_REQUEST, "control", detail))
        }
        (&Method::PUT, _, Some(name)) => sessions.start(name).map(|()| (StatusCode::OK, json!({"session": name}))),
        (&Method::DELETE, _, Some(name)) => sessions.end(name, failed).map(|ended| {
            let Ended { requests, misses, unused, fails } = ended;
            let status = if fails { StatusCode::CONFLICT } else { StatusCode::OK };
            let unused: Vec<Value> =
                unused.iter().map(|one| json!({"entry": one.entry, "request": one.request})).collect();
            (status, json!({"session": name, "requests": requests, "misses": misses, "unused": unused}))
        }),
        _ => {
            let detail = "PUT /sessions/NAME starts a session, DELETE /sessions/NAME ends it, GET /sessions lists them";
            Err(Problem::new(StatusCode::NOT_FOUND, "control", detail))
        }
    };
    let (status, media_type, body) = match answered {
        Ok((status, body)) => (status, "application/json", format!("{body:#}\n")),
        Err(problem) => (problem.status, "application/problem+json", problem.body()),
    };
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media_type));
    response
}
