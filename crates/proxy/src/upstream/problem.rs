//! Answers that contrail makes itself: `application/problem+json` (RFC 9457) with a header `Contrail-Answer`, so that
//! the origin of a refusal is never in doubt.

use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use super::{MessageBody, Response};

/// The header that says that contrail, and not the tenant, made an answer; its value says why.
pub const CONTRAIL_ANSWER: HeaderName = HeaderName::from_static("contrail-answer");

/// An answer of contrail's own.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// Why, as one stable word: the value of `Contrail-Answer` and the end of the problem's `type`.
    pub reason: &'static str,
    /// Why, for people: what happened, and what to do about it. Never a secret.
    pub detail: String,
    /// Further members.
    pub members: Map<String, Value>,
    /// Whether the connection cannot be used any further.
    pub close: bool,
}

impl Problem {
    /// What the console and the summary call it: of a malformed request, what is wrong with it, which names nothing of
    /// it.
    pub fn shown_reason(&self) -> &str {
        match self.reason {
            "bad-request" | "bad-target" => &self.detail,
            reason => reason,
        }
    }

    /// With this status, reason and explanation.
    pub fn new(status: StatusCode, reason: &'static str, detail: impl Into<String>) -> Self {
        Self { status, reason, detail: detail.into(), members: Map::new(), close: false }
    }

    /// The same, closing the connection after it.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// The same with a further member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The body, indented: people read it with curl.
    #[must_use]
    pub fn body(&self) -> String {
        let mut object = Map::new();
        object.insert("type".to_owned(), format!("urn:contrail:{}", self.reason).into());
        object.insert("title".to_owned(), self.status.canonical_reason().unwrap_or("Error").into());
        object.insert("status".to_owned(), self.status.as_u16().into());
        object.insert("detail".to_owned(), self.detail.clone().into());
        object.extend(self.members.clone());
        format!("{:#}\n", Value::Object(object))
    }
}

impl From<Problem> for Response {
    fn from(problem: Problem) -> Self {
        let body = problem.body();
        let mut response = Response::new(MessageBody::Empty);
        *response.status_mut() = problem.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        headers.insert(CONTRAIL_ANSWER, HeaderValue::from_static(problem.reason));
        if problem.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        *response.body_mut() = body.into();
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_contrails_own_names_its_maker_and_the_reason() {
        let response =
            Response::from(Problem::new(StatusCode::BAD_GATEWAY, "upstream", "nobody \"there\"").with("n", 1));
        assert_eq!(response.status(), 502);
        assert_eq!(response.headers()["contrail-answer"], "upstream");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let MessageBody::Full(body) = response.into_body() else { panic!("a body in memory") };
        assert_eq!(
            body,
            "{\n  \"type\": \"urn:contrail:upstream\",\n  \"title\": \"Bad Gateway\",\n  \"status\": 502,\n  \
             \"detail\": \"nobody \\\"there\\\"\",\n  \"n\": 1\n}\n"
        );
    }
}
