//! Faults on purpose (`--fault`): what a client has to bear, by scope and count.

use std::{
    collections::VecDeque,
    fmt,
    str::FromStr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use contrail_exchange::Target;
use contrail_proxy::upstream::{
    self, Answer, AnswerFuture, AnswerMeta, CONTRAIL_ANSWER, NoAnswer, Problem, Response, Upstream,
};
use contrail_recording::Scope;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use tokio::time::Instant;

use super::{OperationOf, Replay, pieces::in_pieces};

/// The value of `Contrail-Answer`.
const FAULT: &str = "fault";

/// Time between two pieces of a slow body, and how many there are at most.
const PAUSE: Duration = Duration::from_millis(200);
const PIECES: usize = 10;

/// `[SCOPE=]FAULT[:WHEN]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The requests that it is about; `None`: all.
    pub scope: Option<Scope>,
    kind: Kind,
    when: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Status(StatusCode),
    Reset,
    Timeout,
    SlowBody,
}

/// Which of the requests of its scope a fault hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Nth(u64),
    Every(u64),
    /// Millionths.
    Rate(u64),
}

/// A word that is no fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFault(String);

impl fmt::Display for BadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a fault; it is a status from 400 to 599, `reset`, `timeout` or `slow-body`, optionally after \
             `OPERATION=` or `METHOD /path/*=`, and before `:nth=N`, `:every=N` or `:rate=0.1`",
            self.0
        )
    }
}

impl std::error::Error for BadFault {}

impl FromStr for Fault {
    type Err = BadFault;

    fn from_str(text: &str) -> Result<Self, BadFault> {
        let bad = || BadFault(text.to_owned());
        let (rest, when) = match text.rsplit_once(':').map(|(rest, when)| (rest, when.parse::<When>())) {
            Some((rest, Ok(when))) => (rest, when),
            _ => (text, When::Always),
        };
        let (scope, kind) = match rest.rsplit_once('=') {
            Some((scope, kind)) => (Some(scope.parse().map_err(|()| bad())?), kind),
            None => (None, rest),
        };
        Ok(Self { scope, kind: kind.parse().map_err(|()| bad())?, when })
    }
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "reset" => Ok(Self::Reset),
            "timeout" => Ok(Self::Timeout),
            "slow-body" => Ok(Self::SlowBody),
            status => match status.parse().map(StatusCode::from_u16) {
                Ok(Ok(status)) if status.is_client_error() || status.is_server_error() => Ok(Self::Status(status)),
                _ => Err(()),
            },
        }
    }
}

impl FromStr for When {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let above_zero = |text: &str| text.parse().ok().filter(|number| *number > 0).ok_or(());
        match text.split_once('=') {
            Some(("nth", number)) => above_zero(number).map(Self::Nth),
            Some(("every", number)) => above_zero(number).map(Self::Every),
            Some(("rate", rate)) => match rate.parse::<f64>() {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to a million
                Ok(rate) if (0.0..=1.0).contains(&rate) => Ok(Self::Rate((rate * 1e6).round() as u64)),
                _ => Err(()),
            },
            _ => Err(()),
        }
    }
}

impl When {
    /// Whether it hits the request of this number, from 1. A rate spreads its hits evenly.
    fn hits(self, number: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Nth(nth) => number == nth,
            Self::Every(every) => number.is_multiple_of(every),
            Self::Rate(rate) => {
                let due = |number: u64| number.saturating_mul(rate) / 1_000_000;
                due(number) > due(number - 1)
            }
        }
    }
}

/// An upstream that fails on purpose.
pub struct Faults {
    inner: Arc<dyn Upstream>,
    armed: Vec<Fault>,
    /// Counts the requests, and begins again where its session does.
    replay: Arc<Replay>,
    operation_of: OperationOf,
}

impl Faults {
    /// Answers as `inner` does where no fault is due; of several that are, the first. Each counts the requests of its
    /// scope, hit or not, in the order in which they come since `replay` began.
    pub fn new(inner: Arc<dyn Upstream>, faults: Vec<Fault>, replay: Arc<Replay>, operation_of: OperationOf) -> Self {
        Self { inner, armed: faults, replay, operation_of }
    }

    fn due(&self, method: &str, target: &Target) -> Option<Kind> {
        let path = target.path();
        let operation = (self.operation_of)(target.upstream.as_deref(), method, path);
        let mut due = None;
        for (at, fault) in self.armed.iter().enumerate() {
            if fault.scope.as_ref().is_some_and(|scope| !scope.holds(operation.as_deref(), method, path)) {
                continue;
            }
            let number = self.replay.count(at);
            due = due.or_else(|| fault.when.hits(number).then_some(fault.kind));
        }
        due
    }
}

impl Upstream for Faults {
    fn answer(&self, request: upstream::Request) -> AnswerFuture<'_> {
        let Some(kind) = self.due(request.head.method.as_str(), &request.target) else {
            return self.inner.answer(request);
        };
        Box::pin(async move {
            let status = match kind {
                Kind::SlowBody => {
                    let mut answer = self.inner.answer(request).await?;
                    let headers = answer.response.headers_mut();
                    headers.insert(CONTRAIL_ANSWER, HeaderValue::from_static(FAULT));
                    answer.response = answer.response.map(|body| in_pieces(body, slow));
                    answer.meta.remarks.push("fault: slow-body".to_owned());
                    return Ok(answer);
                }
                Kind::Status(status) => status,
                Kind::Reset | Kind::Timeout => StatusCode::SERVICE_UNAVAILABLE,
            };
            // A client that still sends its request would take the connection's end for another fault.
            request.collect().await?;
            let problem = Problem::new(status, FAULT, "a fault of --fault: contrail made it, the tenant did not");
            let mut response = Response::from(problem);
            waits(status, response.headers_mut());
            let no_answer = match kind {
                Kind::Reset => Some(NoAnswer::Cut),
                Kind::Timeout => Some(NoAnswer::Silence),
                Kind::Status(_) | Kind::SlowBody => None,
            };
            let meta = AnswerMeta {
                answered_by_contrail: Some(FAULT),
                response_judged_elsewhere: true,
                no_answer,
                ..AnswerMeta::default()
            };
            Ok(Answer { response, meta })
        })
    }

    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        self.inner.reload_certificates()
    }

    fn kind(&self) -> upstream::UpstreamKind {
        self.inner.kind()
    }
}

/// Tells the client how long to wait, as a tenant that refuses for a time does.
fn waits(status: StatusCode, headers: &mut HeaderMap) {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return;
    }
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    if status == StatusCode::TOO_MANY_REQUESTS {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let name = HeaderName::from_static;
        headers.insert(name("x-ratelimit-limit"), HeaderValue::from_static("1"));
        headers.insert(name("x-ratelimit-remaining"), HeaderValue::from_static("0"));
        headers.insert(name("x-ratelimit-reset"), HeaderValue::from(now + 1));
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("inner", &self.inner).field("faults", &self.armed).finish_non_exhaustive()
    }
}

/// Divides what comes of a body into a few pieces with pauses before them.
fn slow(mut data: Bytes) -> VecDeque<(Bytes, Instant)> {
    let (length, mut at) = (data.len().div_ceil(PIECES).max(1), Instant::now());
    let mut pieces = VecDeque::new();
    while !data.is_empty() {
        at += PAUSE;
        pieces.push_back((data.split_to(length.min(data.len())), at));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_what_fails_where_and_when() {
        let fault = |text: &str| text.parse::<Fault>();
        let all = |kind, when| Ok(Fault { scope: None, kind, when });
        assert_eq!(fault("429:every=3"), all(Kind::Status(StatusCode::TOO_MANY_REQUESTS), When::Every(3)));
        assert_eq!(fault("503:rate=0.1"), all(Kind::Status(StatusCode::SERVICE_UNAVAILABLE), When::Rate(100_000)));
        assert_eq!(fault("slow-body"), all(Kind::SlowBody, When::Always));
        let line = Scope::Line { method: "POST".into(), path: "/a:b=c/*".into() };
        let scoped = Fault { scope: Some(line), kind: Kind::Reset, when: When::Nth(1) };
        assert_eq!(fault("POST /a:b=c/*=reset:nth=1"), Ok(scoped));
        let operation = Fault { scope: Some(Scope::Operation("pay".into())), kind: Kind::Timeout, when: When::Always };
        assert_eq!(fault("pay=timeout"), Ok(operation));
        for bad in ["", "200", "teapot", "503:nth=0", "503:rate=2", "503:often", "=503", "POST pay=503", "reset:nth=-1"]
        {
            assert!(fault(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_fault_hits_the_nth_every_nth_or_an_even_share_of_the_requests() {
        let hits = |when: When| (1..=12).filter(|number| when.hits(*number)).collect::<Vec<_>>();
        assert_eq!(hits(When::Nth(2)), [2]);
        assert_eq!(hits(When::Every(5)), [5, 10]);
        assert_eq!(hits(When::Rate(250_000)), [4, 8, 12]);
        assert!(hits(When::Rate(0)).is_empty());
        assert_eq!(hits(When::Rate(1_000_000)).len(), 12);
    }
}
