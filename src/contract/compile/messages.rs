//! Bodies of requests and responses, and the headers of responses.

use serde_json::Value;

use super::{Compiler, child, members};
use crate::{
    contract::{
        ContractError,
        model::{Content, RequestBody, Response, Responses, Status},
        refs,
    },
    finding::{Unchecked, UncheckedSet},
};

impl<'d> Compiler<'d> {
    pub(super) fn request_body(
        &mut self,
        at: &str,
        operation: &'d Value,
        not_shown: &mut UncheckedSet,
    ) -> Result<RequestBody, ContractError> {
        let Some(body) = operation.get("requestBody") else {
            let silent = not_shown.contains(Unchecked::RequestBody);
            return Ok(if silent { RequestBody::NotShown } else { RequestBody::None });
        };
        let (at, body) = refs::follow(self.document, &child(at, "requestBody"), body)?;
        members(body, &at)?;
        let required = body.get("required").and_then(Value::as_bool).unwrap_or(false);
        if required {
            not_shown.remove(Unchecked::RequestRequired);
        }
        Ok(RequestBody::Documented { content: self.content(&at, body)?, required })
    }

    pub(super) fn responses(&mut self, at: &str, operation: &'d Value, not_shown: &mut UncheckedSet) -> Responses {
        let mut responses = Responses::default();
        let Some(documented) = operation.get("responses") else { return responses };
        let at = child(at, "responses");
        for (key, response) in self.usable(members(documented, &at)).into_iter().flatten() {
            if key.starts_with("x-") {
                continue;
            }
            let place = child(&at, key);
            let Some(status) = status(key) else {
                self.unusable(&place, format!("`{key}` is neither a status, a class of them nor `default`"));
                not_shown.insert(Unchecked::SuccessStatus);
                not_shown.insert(Unchecked::ErrorStatus);
                continue;
            };
            let response = self.response(&place, response);
            let response = self.usable(response).unwrap_or_default();
            match status {
                Some(status) => responses.listed.push((status, response)),
                None => responses.default = Some(response),
            }
        }
        responses
    }

    fn response(&mut self, at: &str, response: &'d Value) -> Result<Response, ContractError> {
        let (place, response) = refs::follow(self.document, at, response)?;
        Ok(Response {
            content: self.content(&place, response)?,
            headers: self.required_headers(&place, response)?,
            scope_missing: self.means_scope_missing(&place, response),
        })
    }

    /// What OpenAPI has no word for: why the tenant answers so.
    fn means_scope_missing(&mut self, at: &str, response: &Value) -> bool {
        let Some(means) = response.get("x-contrail-means") else { return false };
        let known = means == "scope-missing";
        if !known {
            let what =
                format!("`x-contrail-means: {means}` is not checked; `scope-missing` is the one meaning it can have");
            self.not_implemented(&child(at, "x-contrail-means"), &what);
        }
        known
    }

    fn required_headers(&mut self, at: &str, response: &'d Value) -> Result<Vec<Box<str>>, ContractError> {
        let Some(headers) = response.get("headers") else { return Ok(Vec::new()) };
        let at = child(at, "headers");
        let mut required = Vec::new();
        for (name, header) in members(headers, &at)? {
            let header = refs::follow(self.document, &child(&at, name), header);
            let Some((place, header)) = self.usable(header) else { continue };
            // OpenAPI: "If a response header is defined with the name Content-Type, it SHALL be ignored."
            if name.eq_ignore_ascii_case("content-type") {
                continue;
            }
            if header.get("required") == Some(&Value::Bool(true)) {
                required.push(name.as_str().into());
            }
            if header.get("schema").and_then(Value::as_object).is_some_and(|schema| !schema.is_empty()) {
                self.not_implemented(&place, &format!("the value of the header `{name}` is not checked"));
            }
        }
        Ok(required)
    }

    /// The media types of a request body or a response.
    fn content(&mut self, at: &str, holder: &'d Value) -> Result<Vec<Content>, ContractError> {
        let Some(content) = holder.get("content") else { return Ok(Vec::new()) };
        let at = child(at, "content");
        let mut media_types = Vec::new();
        let mut unusable = false;
        for (name, media_type) in members(content, &at)? {
            let at = child(&at, name);
            let plain = name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            if !plain.contains('/') || self.usable(members(media_type, &at)).is_none() {
                if !plain.contains('/') {
                    self.unusable(&at, format!("`{name}` is no media type"));
                }
                // Whatever it was meant for is not judged.
                unusable = true;
                continue;
            }
            let mut schema = None;
            if media_type.get("schema").is_some() {
                if is_judged(&plain) {
                    schema = Some(self.schemas.at(&child(&at, "schema")));
                } else {
                    self.not_implemented(&at, &format!("bodies of `{plain}` are not checked against their schema"));
                }
            }
            if plain == "application/x-www-form-urlencoded" {
                self.encoding(&at, media_type);
            }
            media_types.push(Content { media_type: plain.as_str().into(), schema });
        }
        if unusable {
            media_types.push(Content { media_type: "*/*".into(), schema: None });
        }
        Ok(media_types)
    }

    /// A form whose fields are written in an unusual way cannot be read.
    fn encoding(&mut self, at: &str, media_type: &Value) {
        for (field, encoding) in media_type.get("encoding").and_then(Value::as_object).into_iter().flatten() {
            let style = encoding.get("style").and_then(Value::as_str).is_some_and(|style| style != "form");
            let kind = encoding.get("contentType").and_then(Value::as_str);
            if style || kind.is_some_and(|kind| !matches!(kind, "application/json" | "text/plain")) {
                let at = child(&child(at, "encoding"), field);
                self.not_implemented(&at, "the encoding is taken as OpenAPI's default (containers are JSON text)");
            }
        }
    }
}

fn is_judged(media_type: &str) -> bool {
    matches!(media_type, "application/json" | "application/x-www-form-urlencoded" | "*/*" | "application/*")
        || media_type.ends_with("+json")
}

/// `Some(None)` is `default`.
#[allow(clippy::option_option)]
fn status(key: &str) -> Option<Option<Status>> {
    if key == "default" {
        return Some(None);
    }
    let first = key.chars().next()?.to_digit(10).filter(|first| (1..=5).contains(first))?;
    if key.len() == 3 && key[1..].eq_ignore_ascii_case("XX") {
        return Some(Some(Status::Class(u16::try_from(first).ok()?)));
    }
    let digits = key.len() == 3 && key.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| key.parse().ok()).flatten().map(|status| Some(Status::Exactly(status)))
}
