//! Requests to a live tenant, and what is sent again.

use std::{
    error::Error as _,
    fmt,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::{HeaderMap, Method, StatusCode, Version, header};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::{
    connect::Connector,
    framing,
    pool::{ClientConnection, Connection, Lease, Pool, Sender},
    receiving::Receiving,
    retry::{Attempt, Retry, is_reset, is_unprocessed, retry},
    sending::{Progress, Sending},
    settings::{Access, Limits},
    tls::SetupError,
};
use crate::{
    io::timer::Timer,
    upstream::{
        Answer, AnswerFuture, AnswerMeta, BodyError, Failure, FailureKind, Inform, MessageBody, Origin, Request,
        Response, Upstream,
    },
};

/// A live tenant.
pub struct Live {
    connector: Connector,
    pool: Arc<Pool>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Connector { origin, limits, .. } = &self.connector;
        f.debug_struct("Live").field("origin", origin).field("limits", limits).finish_non_exhaustive()
    }
}

impl Live {
    /// A tenant at `origin`.
    ///
    /// # Errors
    ///
    /// [`SetupError`], before anything is connected.
    pub fn new(origin: Origin, access: Access, limits: Limits) -> Result<Self, SetupError> {
        Ok(Self { connector: Connector::new(origin, access, limits)?, pool: Arc::new(Pool::new(limits)) })
    }

    /// A connection for a request; `fresh` excludes the kept ones.
    async fn connection(
        &self,
        repeatable: bool,
        fresh: bool,
        switching: bool,
        owner: Option<&ClientConnection>,
    ) -> Result<Connection, Failure> {
        if !fresh && let Some(kept) = self.pool.take(repeatable, owner).await {
            return Ok(kept);
        }
        // Connections are authenticated in HTTP/1.1 only.
        let connection = Box::pin(self.connector.connect(switching || owner.is_some())).await?;
        if connection.sender.is_http2() && owner.is_none() {
            self.pool.share(&connection);
        }
        Ok(connection)
    }

    /// Tells the tenant's answers from those of a proxy that plain requests go through.
    fn of_the_tenant(&self, answer: &http::Response<Incoming>, retried: bool) -> Result<(), Failure> {
        match self.connector.plain_via().filter(|_| answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED) {
            None => Ok(()),
            Some(via) => {
                let cause = via.refused("the request", "407");
                Err(Failure { retried, ..Failure::new(FailureKind::Unreachable, cause) })
            }
        }
    }

    /// The request as this connection wants it.
    fn outgoing(
        &self,
        mut head: http::request::Parts,
        body: Sending,
        http2: bool,
        on_informational: Option<Arc<dyn Inform>>,
    ) -> http::Request<Sending> {
        self.connector.address(&mut head, http2);
        let progress = Arc::clone(&body.progress);
        let mut outgoing = http::Request::from_parts(head, body);
        if !http2 && (progress.waits() || on_informational.is_some()) {
            hear_interim(&mut outgoing, progress, on_informational);
        }
        outgoing
    }

    /// Sends the request, again where that is allowed. The future stays small: it owns the request and, while it waits,
    /// little else.
    fn ask(&self, request: Request) -> impl Future<Output = Result<Answer, Failure>> + Send {
        let Request { mut head, mut body, on_informational, client, .. } = request;
        let bodiless = body.is_end_stream();
        let repeatable = is_idempotent(&head.method) && bodiless;
        let waits = !bodiless && matches!(body, MessageBody::Stream(_)) && expects(&head.headers);
        // What is in memory can go out again even if it was given away.
        let spare = if let MessageBody::Full(bytes) = &body { Some(bytes.clone()) } else { None };
        let switching = head.headers.contains_key(header::UPGRADE);
        // What is kept of a TLS upstream may speak HTTP/2.
        let fresh = switching && self.connector.is_tls();
        let mut retried = false;
        let bound = client.as_ref().is_some_and(|client| client.is_bound(&head.headers, &header::AUTHORIZATION));
        async move {
            let owner = client.as_deref().filter(|_| bound);
            loop {
                let connection = self.connection(repeatable, retried || fresh, switching, owner).await;
                let mut connection = connection.map_err(|failure| Failure { retried, ..failure })?;
                let reused = connection.kept_since.is_some();
                let before = connection.meter.read();
                let meter = Arc::clone(&connection.meter);
                let http2 = connection.sender.is_http2();
                if !http2 {
                    connection.meter.expect();
                }
                let started = connection.kept_since.unwrap_or_else(Instant::now);
                let patience = (waits && !http2).then_some(self.connector.limits.leave);
                let progress = Arc::new(Progress::new(started, patience));
                let copy = if http2 || reused && repeatable { for_another_attempt(&head) } else { no_head() };
                let outgoing = self.outgoing(
                    std::mem::replace(&mut head, copy),
                    Sending::new(std::mem::take(&mut body), Arc::clone(&progress)),
                    http2,
                    on_informational.clone(),
                );
                let silence = self.connector.limits.silence;
                let timer = connection.timer.get_or_insert_with(|| Timer::new(silence));
                let answer = match &mut connection.sender {
                    Sender::Http1(sender) => {
                        let answer = pin!(sender.try_send_request(outgoing));
                        unless_silent(answer, &progress, silence, timer).await
                    }
                    Sender::Http2(sender) => {
                        let answer = pin!(sender.try_send_request(outgoing));
                        unless_silent(answer, &progress, silence, timer).await
                    }
                };
                let Some(answer) = answer else {
                    self.pool.forget(&connection);
                    let seconds = silence.as_secs_f32();
                    let cause = format!("{} did not answer within {seconds} s", self.connector.peer());
                    return Err(Failure { retried, ..Failure::new(FailureKind::Timeout, cause) });
                };
                let mut error = match answer {
                    Ok(answer) => {
                        progress.answered();
                        connection.meter.answered();
                        let owner = client
                            .filter(|client| bound || client.is_bound(answer.headers(), &header::WWW_AUTHENTICATE));
                        let pool = Arc::clone(&self.pool);
                        let lease = Lease { connection: Some(connection), progress, pool, owner };
                        return self.answered(answer, lease, retried);
                    }
                    Err(error) => error,
                };
                let unsent = error.take_message();
                let sent = error.error();
                let attempt = Attempt {
                    reused,
                    unsent: unsent.is_some(),
                    retried,
                    repeatable,
                    replayable: bodiless || spare.is_some(),
                    unprocessed: is_unprocessed(sent),
                    unanswered: if http2 { !is_reset(sent) } else { connection.meter.read() == before },
                };
                match (retry(attempt), unsent) {
                    (Retry::Unsent, Some(unsent)) => {
                        let (unsent, sending) = unsent.into_parts();
                        // Over HTTP/2 it lacks what only HTTP/1 has.
                        head = if http2 { head } else { unsent };
                        body = sending.inner;
                    }
                    (Retry::Again, _) => {
                        body = spare.clone().map_or(MessageBody::Empty, MessageBody::from);
                        retried = true;
                    }
                    (Retry::Unsent | Retry::Never, _) => {
                        let error = error.into_error();
                        if error.is_user()
                            && let Some(aborted) = error.source().and_then(|source| source.downcast_ref::<BodyError>())
                        {
                            return Err(aborted.clone().into());
                        }
                        return Err(Failure { retried, ..self.connector.broken(&error, &meter.begin()) });
                    }
                }
            }
        }
    }

    /// The answer, if it is unambiguous and the tenant's.
    fn answered(&self, answer: http::Response<Incoming>, lease: Lease, retried: bool) -> Result<Answer, Failure> {
        let progress = Arc::clone(&lease.progress);
        self.of_the_tenant(&answer, retried)?;
        let response = response(answer, lease).map_err(|fault| {
            progress.stop();
            let cause = format!("ambiguous response from {}: {fault}", self.connector.peer());
            Failure { retried, ..Failure::new(FailureKind::Broken, cause) }
        })?;
        Ok(Answer { response, meta: AnswerMeta { retried, ..AnswerMeta::default() } })
    }
}

impl Upstream for Live {
    fn answer(&self, request: Request) -> AnswerFuture<'_> {
        Box::pin(self.ask(request))
    }

    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        self.connector.reload_certificates().map_err(|error| error.to_string())
    }
}

/// Whether the client waits for leave to send its body.
fn expects(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Hears of interim answers: one lets a body go out that waits for it (hyper asks the client for it no sooner), the
/// others go on.
fn hear_interim(
    request: &mut http::Request<Sending>,
    progress: Arc<Progress>,
    on_informational: Option<Arc<dyn Inform>>,
) {
    hyper::ext::on_informational(request, move |answer| match (answer.status(), &on_informational) {
        (StatusCode::CONTINUE, _) => progress.give_leave(),
        (status, Some(on_informational)) => on_informational.inform(status, answer.headers()),
        (_, None) => {}
    });
}

/// What is sent, or `None` once the upstream was silent for so long.
async fn unless_silent<F: Future>(
    answer: Pin<&mut F>,
    progress: &Progress,
    silence: Duration,
    timer: &mut Timer,
) -> Option<F::Output> {
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = progress.clock.silent(silence, timer) => None,
    }
}

/// A copy of the head. How its names were spelled is not worth one with every request (HTTP/1 keeps that in the
/// extensions): their case means nothing (RFC 9110, section 5.1).
fn for_another_attempt(head: &http::request::Parts) -> http::request::Parts {
    let mut copy = no_head();
    copy.method = head.method.clone();
    copy.uri = head.uri.clone();
    copy.version = head.version;
    copy.headers = head.headers.clone();
    copy
}

fn no_head() -> http::request::Parts {
    http::Request::new(()).into_parts().0
}

/// Methods whose repetition does no harm (RFC 9110, section 9.2.2).
fn is_idempotent(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE)
}

/// The answer; one whose end is in doubt takes its connection with it.
fn response(answer: http::Response<Incoming>, lease: Lease) -> Result<Response, &'static str> {
    let (mut head, body) = answer.into_parts();
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        if head.version == Version::HTTP_2 {
            return Err("HTTP/2 has no 101");
        }
        if !lease.progress.done.load(Ordering::Acquire) {
            return Err("it switched protocols before it had the whole request");
        }
        // Its connection is no longer one of HTTP, whatever comes of it.
        return Ok(Response::from_parts(head, MessageBody::Empty));
    }
    framing::normalize_framing(head.version, &mut head.headers)?;
    let body = if body.is_end_stream() {
        lease.give_back();
        MessageBody::Empty
    } else {
        MessageBody::stream(Receiving { inner: body, lease: Some(lease), timer: None })
    };
    Ok(Response::from_parts(head, body))
}
