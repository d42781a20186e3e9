//! Bodies of requests and responses, and the headers of responses.

use std::sync::Arc;

use contrail_exchange::{
    finding::{Unchecked, UncheckedSet},
    media,
};
use serde_json::Value;

use super::{
    aspects,
    compiler::Compiler,
    members::{child, flag, members},
};
use crate::{
    ContractError,
    media_type::MediaRange,
    model::{Content, Empty, Encoding, Header, Raw, RequestBody, Response, Responses, Status},
    params::Style,
    refs,
    schema::{parts, restricts_no_bytes},
};

impl<'d> Compiler<'d> {
    pub(super) fn request_body(
        &mut self,
        at: &str,
        operation: &'d Value,
        not_shown: &mut UncheckedSet,
    ) -> Result<RequestBody, ContractError> {
        let Some(body) = operation.get("requestBody") else {
            return Ok(match operation.get("x-contrail-request-body") {
                None => RequestBody::NotShown,
                Some(says) if says == "none" => RequestBody::None,
                Some(_) => {
                    self.unusable(&child(at, "x-contrail-request-body"), "it has to be `none`");
                    not_shown.insert(Unchecked::RequestBody);
                    RequestBody::NotShown
                }
            });
        };
        let (at, body) = refs::follow(self.document, &child(at, "requestBody"), body)?;
        members(body, &at)?;
        let required = self.usable(flag(body, &at, "required"));
        match required {
            None => not_shown.insert(Unchecked::RequestRequired),
            Some(Some(true)) => not_shown.remove(Unchecked::RequestRequired),
            Some(_) => {}
        }
        let required = required.flatten().unwrap_or(false);
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
            let response = self
                .usable(response)
                .unwrap_or_else(|| Response { content: [Content::unusable()].into(), ..Response::default() });
            match status {
                Some(status) => responses.listed.push((status, response)),
                None => responses.default = Some(response),
            }
        }
        responses
    }

    fn response(&mut self, at: &str, response: &'d Value) -> Result<Response, ContractError> {
        let (place, response) = refs::follow(self.document, at, response)?;
        members(response, &place)?;
        Ok(Response {
            content: self.content(&place, response)?,
            headers: self.headers(&place, response)?,
            scope_missing: self.means_scope_missing(&place, response),
            shown: aspects(response, "x-contrail-shown", &place)?,
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

    fn headers(&mut self, at: &str, response: &'d Value) -> Result<Arc<[Header]>, ContractError> {
        let Some(headers) = response.get("headers") else { return Ok(Arc::default()) };
        let at = child(at, "headers");
        if let Some(known) = self.shared.headers.get(&at) {
            return Ok(Arc::clone(known));
        }
        let mut documented = Vec::new();
        for (name, header) in members(headers, &at)? {
            let header = refs::follow(self.document, &child(&at, name), header);
            let header = header.and_then(|(place, header)| self.header(&place, name, header));
            documented.extend(self.usable(header).unwrap_or_else(|| Some(Header::unusable(name))));
        }
        let documented: Arc<[_]> = documented.into();
        self.shared.headers.insert(at, Arc::clone(&documented));
        Ok(documented)
    }

    /// The media types of a request body or a response.
    fn content(&mut self, at: &str, holder: &'d Value) -> Result<Arc<[Content]>, ContractError> {
        let Some(content) = holder.get("content") else { return Ok(Arc::default()) };
        let at = child(at, "content");
        if let Some(known) = self.shared.content.get(&at) {
            return Ok(Arc::clone(known));
        }
        let mut media_types = Vec::new();
        let mut unusable = false;
        for (name, media_type) in members(content, &at)? {
            let at = child(&at, name);
            let range = MediaRange::parse(name);
            if range.is_none() {
                self.unusable(&at, format!("`{name}` is not a media type"));
            }
            let followed = refs::follow(self.document, &at, media_type);
            let followed = followed.and_then(|(at, held)| members(held, &at).map(|_| (at, held)));
            let (Some(range), Some((at, media_type))) = (range, self.usable(followed)) else {
                // Whatever it was meant for is not judged.
                unusable = true;
                continue;
            };
            media_types.push(self.media_type(&at, range, media_type));
        }
        if unusable {
            media_types.push(Content::unusable());
        }
        let media_types: Arc<[_]> = media_types.into();
        self.shared.content.insert(at, Arc::clone(&media_types));
        Ok(media_types)
    }

    pub(super) fn media_type(&mut self, at: &str, range: MediaRange, media_type: &'d Value) -> Content {
        let schema_at = |keyword: &str| media_type.get(keyword).map(|_| child(at, keyword));
        let essence = range.essence();
        let is_sequence = media::is_sequence(essence);
        let (schema, item) = (schema_at("schema"), schema_at("itemSchema"));
        let raw = schema.as_ref().map_or(Raw::Other, |schema| self.raw(schema));
        let empty = schema.as_ref().map_or(Empty::Conforms, |schema| self.when_empty(schema));
        let is_judged = schema.is_some() && !is_sequence && is_judged(essence, raw);
        if schema.is_some() && !is_judged {
            self.not_implemented(at, &format!("bodies of `{essence}` are not checked against their schema"));
        }
        let partial = schema.is_some() && is_sequence;
        let schema = schema.filter(|_| is_judged).map(|at| self.schemas.at(&at));
        let item = item.filter(|_| is_sequence).map(|at| self.schemas.at(&at));
        let form = [media::FORM, media::MULTIPART_FORM].into_iter().find(|form| *form == essence);
        let mut content =
            Content { range, schema, item, encodings: Box::default(), unusable: false, partial, raw, empty };
        for keyword in ["prefixEncoding", "itemEncoding"] {
            if media_type.get(keyword).is_some() {
                self.not_implemented(&child(at, keyword), &format!("`{keyword}` is not read"));
                content.partial = true;
            }
        }
        if let Some(form) = form {
            self.encodings(at, media_type, form, &mut content);
        }
        content
    }

    /// Which bodies the schema at a place accepts of a media type that contrail does not parse: a schema with `format:
    /// binary` or a `contentMediaType` describes a file, if nothing else restricts it.
    fn raw(&self, schema: &str) -> Raw {
        let of_string = || if self.is_of_string(schema) { Raw::String } else { Raw::Other };
        let Some(Value::Object(held)) = refs::at(self.document, schema) else { return of_string() };
        let parts = parts(self.document, held);
        let keywords = || parts.iter().flat_map(|part| part.iter());
        let is_file = keywords().any(|(keyword, _)| keyword == "format" || keyword == "contentMediaType");
        let leads = |value: &Value| {
            let target = value.as_str().and_then(refs::target);
            target.is_some_and(|target| refs::at(self.document, &target).is_some_and(Value::is_object))
        };
        let is_free = keywords().all(|(keyword, value)| match keyword.as_str() {
            "$ref" => leads(value),
            "nullable" => true,
            other => restricts_no_bytes(other, value),
        });
        if is_file && is_free { Raw::Octets } else { of_string() }
    }

    /// Whether the schema at a place is of a string. Of text other than plain, another one may describe what the text
    /// stands for: the rows of `text/csv`, say.
    pub(super) fn is_of_string(&self, schema: &str) -> bool {
        let schema = refs::at(self.document, schema).map(|held| refs::followed(self.document, held));
        schema.is_some_and(|schema| schema.get("type").is_some_and(|held| held == "string"))
    }

    /// What a body of no bytes is to the schema at a place. No notation writes an object, a number or a boolean without
    /// a byte.
    fn when_empty(&self, schema: &str) -> Empty {
        let Some(Value::Object(schema)) = refs::at(self.document, schema) else { return Empty::Conforms };
        let parts = parts(self.document, schema);
        let any = |fits: &dyn Fn(&str, &Value) -> bool| {
            parts.iter().flat_map(|part| part.iter()).any(|(keyword, value)| fits(keyword, value))
        };
        let forbids = |keyword: &str, value: &Value| match keyword {
            "minLength" | "minItems" | "minProperties" => value.as_u64().is_some_and(|least| least > 0),
            "required" => value.as_array().is_some_and(|names| !names.is_empty()),
            "type" => matches!(value.as_str(), Some("object" | "number" | "integer" | "boolean")),
            _ => false,
        };
        let decides = |keyword: &str, value: &Value| match keyword {
            "type" => *value != "string",
            "pattern" | "enum" | "const" | "not" | "anyOf" | "oneOf" | "if" => true,
            _ => false,
        };
        if any(&forbids) {
            Empty::Violates
        } else if any(&decides) {
            Empty::Unclear
        } else {
            Empty::Conforms
        }
    }

    /// How the fields of a form are written.
    fn encodings(&mut self, at: &str, media_type: &'d Value, form: &str, content: &mut Content) {
        let mut encodings = Vec::new();
        let (schema, at) = (child(at, "schema"), child(at, "encoding"));
        let documented = media_type.get("encoding").map(|held| members(held, &at));
        content.unusable |= documented.as_ref().is_some_and(Result::is_err);
        for (field, encoding) in documented.and_then(|held| self.usable(held)).into_iter().flatten() {
            let at = child(&at, field);
            if form == media::MULTIPART_FORM && encoding.get("headers").is_some() {
                self.not_implemented(&child(&at, "headers"), "headers of parts are not checked");
                content.partial = true;
            }
            for keyword in ["encoding", "prefixEncoding", "itemEncoding"] {
                if encoding.get(keyword).is_some() {
                    self.not_implemented(&child(&at, keyword), &format!("`{keyword}` is not read"));
                }
            }
            let flag = self.usable(flag(encoding, &at, "explode"));
            content.unusable |= flag.is_none();
            let flag = flag.flatten();
            let named = encoding.get("style");
            let style = named.and_then(Value::as_str).and_then(Style::from_name);
            if named.is_some() && style.is_none() {
                self.unusable(&child(&at, "style"), "it is not a style of a field");
                content.unusable = true;
            }
            // "If a value for `style`, `explode` or `allowReserved` is explicitly defined, then … `contentType` SHALL
            // be ignored."
            let style = style.or(flag.map(|_| Style::Form));
            let explode = flag.unwrap_or_else(|| style.is_some_and(Style::explodes));
            let spreads = match style {
                Some(Style::Form) => explode,
                Some(Style::DeepObject) => form == media::MULTIPART_FORM,
                _ => false,
            };
            if spreads && self.may_be_object(&schema, field) {
                let what = format!("members as fields of their own are not read: `{form}` is unchecked");
                self.not_implemented(&at, &what);
                content.unusable = true;
            }
            let types = encoding.get("contentType").and_then(Value::as_str).filter(|_| style.is_none());
            let types = types.unwrap_or_default();
            let types = media::list(types.as_bytes()).filter_map(|range| std::str::from_utf8(range).ok());
            let types: Vec<_> = types.filter_map(MediaRange::parse).collect();
            encodings.push(Encoding { field: field.as_str().into(), style, explode, content_types: types.into() });
        }
        encodings.sort_unstable_by(|one, other| one.field.cmp(&other.field));
        content.encodings = encodings.into();
    }
}

/// Whether bodies of a media type are held to their schema.
fn is_judged(media_type: &str, raw: Raw) -> bool {
    let named = ["*/*", "application/*", "text/*", "text/plain", media::FORM, media::MULTIPART_FORM];
    named.contains(&media_type)
        || media::is_json(media_type)
        || raw == Raw::Octets
        || media::is_text(media_type) && raw == Raw::String
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
