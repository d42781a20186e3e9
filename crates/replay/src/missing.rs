//! Recordings first, and another upstream for what they miss (`--record-missing`).

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use contrail_exchange::{Body, Headers, Request, label};
use contrail_proxy::upstream::{self, BodyError, MessageBody, Reason, Response, Upstream};
use contrail_redact::Redactor;
use http::header;
use http_body::{Frame, SizeHint};

use super::upstream::ReplayUpstream;

/// Answers from recordings; what was not recorded, and every token request, goes to another upstream. A request that is
/// not safe and was recorded never goes there again, however often it is sent; one with a label goes there never. One with
/// a secret that the other upstream gave in this run always does: the user who logged in there was not recorded.
pub struct ReplayOr {
    recorded: Arc<ReplayUpstream>,
    other: Arc<dyn Upstream>,
    /// Knows what `other` gave, and no other secret.
    given: Arc<Redactor>,
}

impl ReplayOr {
    /// Asks `other` for what `recorded` misses. A token that replay makes would be worth nothing there, so `other` is
    /// asked for tokens, too; a token request that is recorded already is not recorded again.
    pub fn new(recorded: ReplayUpstream, other: Arc<dyn Upstream>) -> Self {
        let given = Arc::new(recorded.forgetful());
        Self { recorded: Arc::new(recorded), other, given }
    }

    /// The answer of the other upstream to this request; its secrets become known as its body goes by.
    fn read(&self, response: Response, request: Request, is_known_token: bool) -> Response {
        let (recorded, given) = (Arc::clone(&self.recorded), Arc::clone(&self.given));
        let headers = Headers::from(response.headers());
        if !is_known_token {
            given.recognise_headers(&headers);
        }
        response.map(|body| {
            let read = move |content: Bytes| {
                let content = Body::whole(content).decode(&headers, recorded.limits()).content;
                if is_known_token {
                    recorded.granted(&request, content);
                } else {
                    let _ = given.body_file(headers.get_str("content-type").unwrap_or_default(), &content);
                }
            };
            MessageBody::stream(Reading { body, kept: BytesMut::new(), read: Some(Box::new(read)) })
        })
    }

    /// Whether a request has a secret that the other upstream gave. A cookie counts where nothing else says who calls:
    /// load balancers set some, too.
    fn is_of_other(&self, request: &Request) -> bool {
        let holds = |text: &[u8]| !self.given.scan(text).is_empty();
        if holds(request.target.path_and_query.as_bytes()) || holds(&request.body.content) {
            return true;
        }
        let mut cookie = false;
        for (name, _) in request.headers.iter().filter(|(_, value)| holds(value.as_bytes())) {
            if name != header::COOKIE {
                return true;
            }
            cookie = true;
        }
        cookie && {
            let redacted = self.recorded.redacted(request);
            let mut others = redacted.headers.iter().filter(|(name, _)| *name != header::COOKIE);
            !others.any(|(_, value)| label::holds(value.as_bytes()))
        }
    }
}

impl Upstream for ReplayOr {
    fn answer(&self, mut request: upstream::Request) -> upstream::AnswerFuture<'_> {
        Box::pin(async move {
            let (on_informational, client) = (request.on_informational.take(), request.client.take());
            let called = request.called.take();
            let (target, head, body) = request.collect().await?;
            let request = self.recorded.read(target.clone(), &head, body.clone());
            let is_known_token = match self.recorded.known_token(&request) {
                _ if self.is_of_other(&request) => false,
                Some(known) => known,
                None => match self.recorded.answer(&request, called.as_ref()) {
                    Ok(answered) => return Ok(answered),
                    // It is recorded: sent again, it would take effect at the tenant again.
                    Err(miss) if !request.method.is_safe() && matches!(miss.reason, Reason::Exhausted { .. }) => {
                        return Ok(super::upstream::missed(miss));
                    }
                    // A secret that replay served means nothing to the upstream: its refusal would be recorded.
                    Err(mut miss) => match self.recorded.label_in(&request) {
                        None => false,
                        Some(place) => {
                            if miss.reason == Reason::Unknown {
                                miss.reason = Reason::Labelled { place };
                            }
                            return Ok(super::upstream::missed(miss));
                        }
                    },
                },
            };
            let sent = upstream::Request { target, head, body: body.into(), on_informational, client, called };
            let mut answered = self.other.answer(sent).await?;
            let meta = &mut answered.meta;
            if is_known_token {
                meta.response_judged_elsewhere = true;
                meta.remarks.push("the upstream issued this token; replay cannot serve it".to_owned());
            } else {
                meta.remarks.push("not recorded yet; answered by the upstream".to_owned());
            }
            answered.response = self.read(answered.response, request, is_known_token);
            Ok(answered)
        })
    }

    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        self.other.reload_certificates()
    }
}

impl fmt::Debug for ReplayOr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOr").field("recorded", &self.recorded).field("other", &self.other).finish_non_exhaustive()
    }
}

/// A body that is read as it goes by, if it is no longer than [`Reading::MAX`].
struct Reading {
    body: MessageBody,
    kept: BytesMut,
    read: Option<Box<dyn FnOnce(Bytes) + Send>>,
}

impl Reading {
    /// Maximum bytes of an answer in which secrets are looked for.
    const MAX: usize = 1 << 20;
}

impl http_body::Body for Reading {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
            Some(Ok(Some(data))) if self.kept.len() + data.len() <= Self::MAX => self.kept.extend_from_slice(data),
            Some(Ok(Some(_)) | Err(_)) => self.read = None,
            Some(Ok(None)) | None => {}
        }
        // Before its last byte goes on: the client may use a secret of it at once.
        if self.body.is_end_stream() || frame.is_none() {
            let content = std::mem::take(&mut self.kept).freeze();
            if let Some(read) = self.read.take() {
                read(content);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
