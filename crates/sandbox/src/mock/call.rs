//! A request with what the document states about it: responses, their headers, and relations to the request.

use contrail_contract::{
    ContractDocument,
    model::{Matched, Operation, Relation, response_keys},
    refs,
};
use contrail_exchange as exchange;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use super::{
    generate::{Direction, Generator, Style},
    text,
};

/// A request with the operation that the document has for it.
pub(super) struct Call<'a> {
    pub(super) document: &'a ContractDocument,
    pub(super) matched: &'a Matched<'a, 'a>,
    pub(super) operation: &'a Operation,
    pub(super) request: &'a exchange::Request,
}

impl Call<'_> {
    /// Takes from the request what the document relates to it (`x-contrail-relations`).
    pub(super) fn relate(&self, value: &mut Value) {
        for relation in &*self.operation.relations {
            match relation {
                Relation::Identity { parameter, response } => {
                    let raw = self.matched.raw.iter().find(|(name, _)| *name == &**parameter).map(|(_, raw)| *raw);
                    let decoded = raw.and_then(|raw| percent_encoding::percent_decode_str(raw).decode_utf8().ok());
                    if let (Some(place), Some(decoded)) = (value.pointer_mut(response), decoded) {
                        *place = decoded.into();
                    }
                }
                Relation::Echo { fields } => {
                    let Ok(sent) = self.request.body.document() else { continue };
                    let sent = sent.root().to_value();
                    for field in fields {
                        if let (Some(place), Some(sent)) = (value.pointer_mut(field), sent.pointer(field)) {
                            place.clone_from(sent);
                        }
                    }
                }
                Relation::PageSize { parameter, default, response } => {
                    let query = self.request.target.query().unwrap_or_default();
                    let given = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| *name == **parameter);
                    let size = given.and_then(|(_, size)| size.parse().ok()).or(*default).unwrap_or(u64::MAX);
                    if let Some(Value::Array(items)) = value.pointer_mut(response) {
                        items.truncate(usize::try_from(size).unwrap_or(usize::MAX));
                    }
                }
            }
        }
    }

    pub(super) fn responses(&self) -> &Map<String, Value> {
        static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let responses = self.document.document().pointer(&refs::below(&self.operation.at, &["responses"]));
        responses.and_then(Value::as_object).unwrap_or(&NONE)
    }

    /// The status of a request that nothing speaks against: the lowest documented success, redirect, interim status or
    /// refusal, in this order. 200 stands for `2XX` and `default`, 302 for `3XX`.
    pub(super) fn status(&self) -> Option<StatusCode> {
        let names = || self.responses().keys().map(String::as_str);
        let exact = |class: u16| {
            names().filter_map(|name| name.parse::<u16>().ok()).filter(move |status| status / 100 == class).min()
        };
        let has = |wanted: &str| names().any(|name| name.eq_ignore_ascii_case(wanted));
        let any = |class: u16, usual| exact(class).or_else(|| has(&format!("{class}XX")).then_some(usual));
        let success = any(2, 200).or_else(|| has("default").then_some(200)).or_else(|| any(3, 302));
        let status = success.or_else(|| exact(1)).or_else(|| any(4, 400)).or_else(|| any(5, 500));
        StatusCode::from_u16(status?).ok()
    }

    /// The documented response for a status, with its place.
    pub(super) fn response(&self, status: StatusCode) -> Option<(String, Value)> {
        let responses = self.responses();
        let name = response_keys(status.as_u16()).into_iter().find(|name| responses.contains_key(name))?;
        let response = responses.get(&name)?;
        let found = refs::followed(self.document.document(), response);
        Some((refs::below(&self.operation.at, &["responses", &name]), found.clone()))
    }
}

/// The headers that a response documents, but for those that state how its bytes are sent.
pub(super) fn headers(document: &Value, response: &Value, style: Style) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, held) in response.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let held = refs::followed(document, held);
        let required = held.get("required") == Some(&Value::Bool(true));
        let Some(schema) = held.get("schema").filter(|_| required || style.optional) else { continue };
        let value = held.get("example").cloned().filter(|_| style.examples);
        let Some(value) = value.or_else(|| Generator::new(document, style, Direction::Response).value(schema)) else {
            continue;
        };
        let name = name.parse::<HeaderName>().ok().filter(|name| {
            let framing = [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::TRAILER];
            !framing.contains(name) && !exchange::is_hop_by_hop(name)
        });
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_str(&text::simple(&value))) {
            headers.insert(name, value);
        }
    }
    headers
}
