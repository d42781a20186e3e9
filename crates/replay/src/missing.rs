//! Recordings first, and another upstream for what they miss (`--record-missing`).

use std::{fmt, sync::Arc};

use contrail_proxy::upstream::{self, Reason, Upstream};

use super::upstream::ReplayUpstream;

/// Answers from recordings; what was not recorded, and every token request, goes to another upstream. A request that is
/// not safe and was recorded never goes there again, however often it is sent; one with a label goes there never.
pub struct ReplayOr {
    recorded: ReplayUpstream,
    other: Arc<dyn Upstream>,
}

impl ReplayOr {
    /// Asks `other` for what `recorded` misses. A token that replay makes would be worth nothing there, so `other` is
    /// asked for tokens, too; a token request that is recorded already is not recorded again.
    pub fn new(recorded: ReplayUpstream, other: Arc<dyn Upstream>) -> Self {
        Self { recorded, other }
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
                Some(known) => known,
            };
            let request = upstream::Request { target, head, body: body.into(), on_informational, client, called };
            let mut answered = self.other.answer(request).await?;
            let meta = &mut answered.meta;
            if is_known_token {
                meta.response_judged_elsewhere = true;
                meta.remarks.push("the upstream issued this token; replay cannot serve it".to_owned());
            } else {
                meta.remarks.push("not recorded yet; answered by the upstream".to_owned());
            }
            Ok(answered)
        })
    }

    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        self.other.reload_certificates()
    }
}

impl fmt::Debug for ReplayOr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOr").field("recorded", &self.recorded).field("other", &self.other).finish()
    }
}
