//! The grant of a token request: what it requests, and what the tenant granted.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contrail_exchange::{Credential, Exchange, Request, Response, TenantFacts, TokenFacts, json::Document};
use contrail_recording::fixture::request_parts::{Content, Parts, Value as FieldValue};
use serde_json::{Map, Value};

/// What the endpoint takes note of in one exchange.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// The token that it came with, as it stands in the recording.
    pub(super) token: Option<String>,
    /// What that one says, if it is a JWT.
    pub(super) facts: Option<Arc<TokenFacts>>,
    /// What it got, if it is a token request.
    pub(super) grant: Option<Grant>,
}

/// One recorded token request.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) client: Option<String>,
    /// `None` if it was refused, or if the answer has no `access_token` in which another one could stand.
    pub(super) granted: Option<Map<String, Value>>,
}

impl Learned {
    /// Of an exchange with the tenant, if it `is_tenant`'s.
    pub(super) fn of(exchange: &Exchange, tenant: &dyn TenantFacts, is_tenant: bool) -> Self {
        let request = &exchange.request;
        let facts = match &request.credential {
            Credential::Token(facts) => Some(Arc::clone(facts)),
            _ => None,
        };
        let token = match &request.credential {
            Credential::Malformed(_) | Credential::Token(_) => {
                request.headers.get_str("authorization").and_then(|value| value.split_once(' '))
            }
            _ => None,
        };
        let token = token.map(|(_, token)| token.trim().to_owned());
        let is_token_request = is_tenant && tenant.is_token_request(&request.method, request.target.path());
        let grant = is_token_request
            .then(|| Grant { client: TokenRequest::of(request).client, granted: granted(exchange.response.as_ref()) });
        Self { token, facts, grant }
    }
}

/// What a token request asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TokenRequest {
    pub(super) client: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) scope: Option<String>,
}

impl TokenRequest {
    pub(super) fn of(request: &Request) -> Self {
        let mut asked = Self::default();
        match Parts::of(request).body {
            Content::Form(fields) => {
                for field in fields {
                    let FieldValue::Bytes(value) = &field.value else { continue };
                    asked.set(&String::from_utf8_lossy(&field.name), || String::from_utf8_lossy(value).into_owned());
                }
            }
            Content::Json(document) => {
                for (name, value) in document.root().members() {
                    if let Some(text) = value.as_str() {
                        asked.set(&name, || text.into_owned());
                    }
                }
            }
            _ => {}
        }
        if asked.client.is_none() {
            asked.client = request.headers.get_str("authorization").and_then(basic_user);
        }
        asked
    }

    fn set(&mut self, name: &str, value: impl FnOnce() -> String) {
        let place = match name {
            "client_id" => &mut self.client,
            "audience" => &mut self.audience,
            "scope" => &mut self.scope,
            _ => return,
        };
        *place = Some(value()).filter(|value| !value.is_empty());
    }
}

/// The user of Basic credentials, percent-encoding undone (RFC 6749, section 2.3.1).
fn basic_user(authorization: &str) -> Option<String> {
    let (scheme, credentials) = authorization.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let plain = STANDARD.decode(credentials.trim()).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (user, _) = plain.split_once(':')?;
    percent_encoding::percent_decode_str(user).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// What a token request got; `None` as in [`Grant::granted`].
fn granted(response: Option<&Response>) -> Option<Map<String, Value>> {
    granted_members(response?.status, response?.body.content.clone())
}

/// The same of an answer's status and body.
pub(super) fn granted_members(status: u16, body: Bytes) -> Option<Map<String, Value>> {
    if !(200..300).contains(&status) {
        return None;
    }
    match Document::parse(body).ok().map(|document| document.root().to_value()) {
        Some(Value::Object(members)) => members.contains_key("access_token").then_some(members),
        _ => Some(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use http::Version;

    use super::*;
    use contrail_exchange::{Body, Headers};

    #[test]
    fn an_answer_without_a_place_for_a_token_is_no_grant() {
        for (status, body, grants) in [
            (200, r#"{"access_token":"!token-1!"}"#, true),
            (200, "", true),
            (201, r#"{"data":{"access_token":"!token-1!"}}"#, false),
            (401, r#"{"access_token":"!token-1!"}"#, false),
        ] {
            let body = Body::whole(body);
            let response = Response { status, version: Version::HTTP_11, headers: Headers::default(), body };
            assert_eq!(granted(Some(&response)).is_some(), grants, "{status}");
        }
    }
}
