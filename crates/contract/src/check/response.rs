//! Checks the response: status, headers, body, and whether it is whole.

use std::borrow::Cow;

use contrail_exchange::{
    Exchange, Response,
    finding::{Finding, Rule, Unchecked},
    is_bodiless, is_redacted, media,
};

use super::{
    body::{LABELLED, RESPONSE, UNUSABLE, when_empty},
    state::Check,
};
use crate::{
    model::{Definition, Empty, Operation, Response as Documented, Status},
    params::{self, Judgement},
};

/// Why the value of a field is not judged.
pub(super) const NO_TEXT: &str = "its bytes are not UTF-8";

impl Check<'_> {
    pub(super) fn response(&mut self) {
        let Some(response) = self.answer() else {
            let transport = &self.exchange.transport;
            let why = match () {
                () if transport.answered_by_contrail.is_some() => "contrail answered, and not the tenant",
                () if transport.client_left => "no answer of the tenant reached the client",
                () => "no response came",
            };
            self.leave(Unchecked::ResponseBody, "", why);
            self.findings.extend(incomplete(self.exchange));
            return;
        };
        let operation = self.operation;
        let success = (200..300).contains(&response.status);
        let documented = operation.responses.find(response.status);
        let aspects = if success {
            [Unchecked::SuccessStatus, Unchecked::ResponseBody]
        } else {
            [Unchecked::ErrorStatus, Unchecked::ErrorBody]
        };
        for aspect in aspects {
            self.touch_unless(documented, aspect);
        }
        match documented {
            Some(documented) => self.headers(response, documented),
            None => self.findings.extend(self.undocumented_status(response.status)),
        }
        if success && documented.is_none() && operation.responses.success().is_some() {
            // The document shows the body of another success, and says nothing of this one's.
            if !response.body.is_absent() {
                self.leave(Unchecked::ResponseBody, "", "the document does not show this status");
            }
        } else {
            self.response_body(response, documented, success);
        }
        self.findings.extend(incomplete(self.exchange));
    }

    fn headers(&mut self, response: &Response, documented: &Documented) {
        for header in &*documented.headers {
            let name = &*header.name;
            // Cookies stand in a field each: they cannot be joined (RFC 9110, section 5.3).
            let several = name.eq_ignore_ascii_case("set-cookie");
            let mut values = response.headers.get_all(name).take(if several { usize::MAX } else { 1 }).peekable();
            if values.peek().is_none() {
                if header.required {
                    self.find(Finding::new(Rule::ResponseHeaders, name, "this header to be there"));
                } else if header.unclear {
                    self.leave(Unchecked::ResponseHeaders, name, UNUSABLE);
                }
            }
            if matches!(header.definition, Definition::Nothing) {
                continue;
            }
            if several
                && let Definition::Schema(schema) = &header.definition
                && schema.types().array()
            {
                let cookies: Option<Vec<&str>> =
                    values.map(|value| std::str::from_utf8(value.as_bytes()).ok()).collect();
                match cookies {
                    Some(cookies) if !cookies.is_empty() => {
                        self.judged_header(name, params::judge_items(schema, &cookies), &cookies.join(", "));
                    }
                    Some(_) => {}
                    None => self.leave(Unchecked::ResponseHeaders, name, NO_TEXT),
                }
                continue;
            }
            for value in values {
                let text = if several {
                    std::str::from_utf8(value.as_bytes()).ok().map(Cow::Borrowed)
                } else {
                    media::joined(&response.headers, name).flatten()
                };
                let Some(text) = text else {
                    self.leave(Unchecked::ResponseHeaders, name, NO_TEXT);
                    continue;
                };
                let judged = params::judge_header(name, header.notation, &header.definition, &text);
                self.judged_header(name, judged, &text);
            }
        }
    }

    fn judged_header(&mut self, name: &str, judged: Judgement, seen: &str) {
        if let Some(why) = judged.why_open() {
            self.leave(Unchecked::ResponseHeaders, name, why);
        }
        if let Some(expected) = judged.violation {
            self.find(Finding::new(Rule::ResponseHeader, name, expected).seen(seen));
        }
    }

    fn response_body(&mut self, response: &Response, documented: Option<&Documented>, success: bool) {
        let content = documented.map(|documented| &documented.content[..]).unwrap_or_default();
        // What follows a 101 is of another protocol.
        let switched = response.status == 101;
        // The content of a 206 is a part of the representation (RFC 9110, 15.3.7), and no schema describes a part.
        let ranges = |value: &http::HeaderValue| media::essence(value.as_bytes()) == "multipart/byteranges";
        let partial = response.status == 206
            && (response.headers.contains("content-range") || response.headers.get("content-type").is_some_and(ranges));
        let hidden = is_redacted(&response.body.redacted, "") && !response.body.malformed && !response.body.coded;
        if switched || partial || self.exchange.transport.incomplete.is_some() || hidden {
            let why = match (switched, partial, hidden) {
                (true, ..) => "what follows a 101 is of another protocol",
                (_, true, _) => "it is a part of a representation (206)",
                (.., true) => LABELLED,
                _ => "it did not come to its end",
            };
            self.leave(Unchecked::ResponseBody, "", why);
            return;
        }
        if response.body.is_absent() {
            let bodiless = response.status == 205 || is_bodiless(&self.exchange.request.method, response.status);
            if !success || bodiless {
                return;
            }
            match when_empty(content, &response.headers, self.model.takes_suffixes()) {
                Empty::Conforms => {}
                Empty::Violates => self.find(Finding::new(Rule::ResponseBody, "", "a body")),
                Empty::Unclear => {
                    self.leave(Unchecked::ResponseBody, "", "contrail cannot tell whether it may be empty");
                }
            }
            return;
        }
        if success && !content.is_empty() {
            self.touch_unless(documented, Unchecked::ResponseRequired);
        }
        if content.is_empty() && self.model.media_types.is_empty() {
            self.undocumented_body(documented, success);
            return;
        }
        if !content.is_empty() && content.iter().all(|content| content.unusable) {
            self.leave(if success { Unchecked::ResponseBody } else { Unchecked::ErrorBody }, "", UNUSABLE);
            return;
        }
        let suffixes = self.model.takes_suffixes();
        self.response_body = self.judge_body(RESPONSE, &response.headers, &response.body, content, suffixes);
    }

    /// Marks an aspect as unchecked if the document shows it neither for the operation nor for this response.
    fn touch_unless(&mut self, documented: Option<&Documented>, aspect: Unchecked) {
        if !documented.is_some_and(|documented| documented.shown.contains(aspect)) {
            self.touch(aspect);
        }
    }

    /// A body of which the document states nothing.
    fn undocumented_body(&mut self, documented: Option<&Documented>, success: bool) {
        let aspect = if success { Unchecked::ResponseBody } else { Unchecked::ErrorBody };
        let shown = documented.is_some_and(|documented| documented.shown.contains(aspect));
        let silent = self.operation.not_shown.contains(aspect) || (!success && !self.model.error_bodies);
        if (silent && !shown) || documented.is_none() {
            self.unchecked.insert(aspect);
        } else {
            self.find(Finding::new(Rule::ResponseBodyUndocumented, "", "nothing that the document shows"));
        }
    }

    /// What a status says that is not among the documented ones.
    fn undocumented_status(&self, status: u16) -> Option<Finding> {
        let Operation { responses, not_shown, .. } = self.operation;
        if responses.listed.is_empty() {
            return None;
        }
        let success = (200..300).contains(&status);
        let shown = if success { Unchecked::SuccessStatus } else { Unchecked::ErrorStatus };
        if not_shown.contains(shown) {
            return None;
        }
        let names = |wanted: &dyn Fn(&Status) -> bool| {
            let names = responses.listed.iter().map(|(status, _)| status).filter(|status| wanted(status));
            names.map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        // A 206 answers a request with `Range` (RFC 9110, section 15.3.7), documented or not.
        let is_part = status == 206 && self.exchange.request.headers.contains("range");
        let finding = if success && responses.success().is_some() && !is_part {
            Finding::new(Rule::StatusSuccess, "", format!("status {}", names(&|status| status.is_success())))
        } else {
            Finding::new(Rule::StatusUndocumented, "", format!("a documented status ({})", names(&|_| true)))
        };
        Some(finding.seen(status.to_string()))
    }
}

/// What the transport reports: the response did not come, or not to its end.
pub(super) fn incomplete(exchange: &Exchange) -> Option<Finding> {
    let finding = |reason: &str| Finding::new(Rule::TransportIncomplete, "", format!("a whole response: {reason}"));
    if let Some(reason) = &exchange.transport.incomplete {
        return Some(finding(reason));
    }
    let answered = exchange.response.as_ref().is_some_and(|response| response.status != 0);
    let is_expected = exchange.transport.answered_by_contrail.is_none() && !exchange.transport.client_left;
    (!answered && is_expected).then(|| finding("no response"))
}
