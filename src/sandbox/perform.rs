//! The six operations, written by hand from the document's sections 2 and 4, for a caller that was let in.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::StatusCode;
use serde_json::{Map, Value};

use super::{
    Tenant,
    call::Call,
    fields::{self, Fields, is_integer, is_integer_text, pairs},
    message::{Answer, Ask},
};
use crate::json::{self, Document, Kind, Node};

/// The names that section 2.4 gives to the attributes of a presentation.
const ATTRIBUTES: [&str; 21] = [
    "family_name",
    "given_name",
    "birth_date",
    "issue_date",
    "expiry_date",
    "issuing_country",
    "issuing_authority",
    "portrait",
    "driving_privileges",
    "resident_address",
    "portrait_capture_date",
    "age_in_years",
    "age_birth_year",
    "issuing_jurisdiction",
    "nationality",
    "resident_city",
    "resident_state",
    "resident_postal_code",
    "resident_country",
    "family_name_national_character",
    "given_name_national_character",
];

impl Tenant {
    pub(super) fn perform(&self, call: &Call, ask: &Ask<'_>) -> Answer {
        match call {
            Call::GetPolicy { id } => match self.policies.get(id) {
                Some(body) => Answer::text(StatusCode::OK, body.clone()),
                None => missing("The rate limit policy does not exist"),
            },
            Call::ListProfileTemplates => Answer::text(StatusCode::OK, self.profile_templates.clone()),
            Call::ListGroups { connection } => self.list_groups(connection, ask.query()),
            Call::Redeliver { stream, event } => self.redeliver(stream, event),
            Call::UpdateCredentialTemplate { id } => self.update_template(id, ask),
            Call::TestAction { id } => self.test_action(id, ask),
        }
    }

    fn list_groups(&self, connection: &str, query: &str) -> Answer {
        let page = match Paging::read(query) {
            Ok(page) => page,
            Err(message) => return invalid(&format!("Query validation error: {message}")),
        };
        let Some(groups) = self.groups.get(connection) else { return missing("The connection does not exist") };
        let start = match page.from.as_deref() {
            None | Some("") => 0,
            Some(from) => match read_cursor(from).or_else(|| groups.iter().position(|id| id == from)) {
                Some(start) if start <= groups.len() => start,
                _ => return invalid("Query validation error: `from` is no token and no id of this list"),
            },
        };
        let end = groups.len().min(start + page.take);
        let mut body = "{\"groups\":[".to_owned();
        for (place, id) in groups[start..end].iter().enumerate() {
            body.push_str(if place == 0 { "{\"id\":" } else { ",{\"id\":" });
            json::quote(id, &mut body);
            body.push('}');
        }
        body.push(']');
        if end < groups.len() {
            body.push_str(",\"next\":");
            json::quote(&cursor(end), &mut body);
        }
        body.push('}');
        Answer::text(StatusCode::OK, body)
    }

    fn redeliver(&self, stream: &str, event: &str) -> Answer {
        if [stream, event].iter().any(|id| id.chars().count() != 26) {
            return invalid("Path validation error: the ids of stream and event have exactly 26 characters");
        }
        if self.state().redeliver(stream, event) {
            Answer::empty(StatusCode::ACCEPTED)
        } else {
            missing("The event stream has no failed event of this id")
        }
    }

    fn update_template(&self, id: &str, ask: &Ask<'_>) -> Answer {
        if id.chars().count() > 26 {
            return invalid("Path validation error: the id of a template has at most 26 characters");
        }
        if !self.state().has_template(id) {
            return missing("The verifiable credential template does not exist");
        }
        let changes = match fields::read(ask) {
            Ok(fields) => template_changes(&fields),
            Err(refused) => return *refused,
        };
        match changes {
            Err(message) => invalid(&message),
            Ok(changes) => match self.state().update_template(id, changes) {
                Some(template) => Answer::json(StatusCode::OK, &Value::Object(template)),
                None => missing("The verifiable credential template does not exist"),
            },
        }
    }

    fn test_action(&self, id: &str, ask: &Ask<'_>) -> Answer {
        let Some(sets) = self.actions.get(id) else { return missing("The action does not exist") };
        let fields = match fields::read(ask) {
            Ok(fields) => fields,
            Err(refused) => return *refused,
        };
        let parsed;
        let payload = match &fields {
            Fields::Json(document) => document.root().get("payload"),
            Fields::Form(pairs) => match pairs.iter().find(|(name, _)| name == "payload") {
                None => None,
                Some((_, text)) => match fields::parse(text.clone()) {
                    Ok(document) => {
                        parsed = document;
                        Some(parsed.root())
                    }
                    Err(message) => return invalid(&message),
                },
            },
        };
        if payload.is_some_and(|payload| payload.kind() != Kind::Object) {
            return invalid("Payload validation error: `payload` is no object");
        }
        Answer::text(StatusCode::OK, run(payload, sets))
    }
}

fn invalid(message: &str) -> Answer {
    Answer::refusal(StatusCode::BAD_REQUEST, message)
}

fn missing(message: &str) -> Answer {
    Answer::refusal(StatusCode::NOT_FOUND, message)
}

/// The query of 4.3. Parameters that the document does not show are ignored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paging {
    pub(super) from: Option<String>,
    pub(super) take: usize,
}

impl Paging {
    pub(super) fn read(query: &str) -> Result<Self, String> {
        let mut paging = Self { from: None, take: 50 };
        for (name, value) in pairs(query)? {
            match name.as_str() {
                "from" => paging.from = Some(value),
                "take" => {
                    paging.take = (is_integer_text(&value))
                        .then(|| value.parse().ok())
                        .flatten()
                        .filter(|take| (1..=100).contains(take))
                        .ok_or("`take` is an integer from 1 to 100")?;
                }
                _ => {}
            }
        }
        Ok(paging)
    }
}

/// Begins every token with `++//`, so that whoever passes one on has to encode it.
const CURSOR: [u8; 3] = [0xfb, 0xef, 0xff];

/// The token for the page that starts at `place`; it ends in `==`.
fn cursor(place: usize) -> String {
    let mut bytes = CURSOR.to_vec();
    bytes.extend(u32::try_from(place).unwrap_or(u32::MAX).to_be_bytes());
    STANDARD.encode(bytes)
}

fn read_cursor(token: &str) -> Option<usize> {
    let bytes = STANDARD.decode(token).ok()?;
    let place = bytes.strip_prefix(&CURSOR)?;
    usize::try_from(u32::from_be_bytes(place.try_into().ok()?)).ok()
}

/// Reads the fields of 4.5 that the document names, each by its own limits. Others are ignored; `version` is checked and
/// not kept, because 2.4 has none.
pub(super) fn template_changes(fields: &Fields) -> Result<Map<String, Value>, String> {
    let mut changes = Map::new();
    let fault = |name: &str, expected: &str| format!("Payload validation error: `{name}` is {expected}");
    for name in ["name", "type", "dialect", "well_known_trusted_issuers"] {
        let Some(text) = text_field(fields, name).map_err(|()| fault(name, "a string"))? else { continue };
        let length = text.chars().count();
        let (good, expected) = match name {
            "dialect" => (length <= 255 && is_dialect(&text), "`simplified/1.0`"),
            "well_known_trusted_issuers" => (text == "aamva", "`aamva`"),
            _ => ((1..=255).contains(&length), "a string of 1 to 255 characters"),
        };
        if !good {
            return Err(fault(name, expected));
        }
        changes.insert(name.to_owned(), Value::String(text));
    }
    let parsed;
    let presentation = match fields {
        Fields::Json(document) => document.root().get("presentation"),
        Fields::Form(pairs) => match pairs.iter().find(|(name, _)| name == "presentation") {
            None => None,
            Some((_, text)) => {
                parsed = Document::parse(text.clone()).map_err(|_| fault("presentation", "JSON text"))?;
                Some(parsed.root())
            }
        },
    };
    if let Some(presentation) = presentation {
        let value = simplified_request(presentation)
            .ok_or_else(|| fault("presentation", "a simplified presentation request"))?;
        changes.insert("presentation".to_owned(), value);
    }
    let version = match fields {
        Fields::Json(document) => document.root().get("version").is_none_or(is_integer),
        Fields::Form(pairs) => {
            pairs.iter().find(|(name, _)| name == "version").is_none_or(|(_, text)| is_integer_text(text))
        }
    };
    if !version {
        return Err(fault("version", "an integer"));
    }
    Ok(changes)
}

/// The pattern `^simplified/1.0$` as it is written: the dot stands for any character (but a line's end).
fn is_dialect(text: &str) -> bool {
    let middle = text.strip_prefix("simplified/1").and_then(|rest| rest.strip_suffix('0'));
    middle.is_some_and(|middle| {
        let mut characters = middle.chars();
        let any = characters.next().is_some_and(|any| !matches!(any, '\n' | '\r' | '\u{2028}' | '\u{2029}'));
        any && characters.next().is_none()
    })
}

fn text_field(fields: &Fields, name: &str) -> Result<Option<String>, ()> {
    match fields {
        Fields::Json(document) => match document.root().get(name) {
            None => Ok(None),
            Some(node) => node.as_str().map(|text| Some(text.into_owned())).ok_or(()),
        },
        Fields::Form(pairs) => Ok(pairs.iter().find(|(held, _)| held == name).map(|(_, value)| value.clone())),
    }
}

/// One key at both upper levels, then attributes of section 2.4, each with a boolean.
fn simplified_request(presentation: Node<'_>) -> Option<Value> {
    const KEYS: [&str; 2] = ["org.iso.18013.5.1.mDL", "org.iso.18013.5.1"];
    let mut level = presentation;
    for key in KEYS {
        if level.kind() != Kind::Object || level.len() != 1 {
            return None;
        }
        level = level.get(key)?;
    }
    if level.kind() != Kind::Object {
        return None;
    }
    let mut attributes = Map::new();
    for (name, value) in level.members() {
        if !ATTRIBUTES.contains(&name.as_ref()) {
            return None;
        }
        attributes.insert(name.into_owned(), Value::Bool(value.as_bool()?));
    }
    Some(serde_json::json!({KEYS[0]: {KEYS[1]: attributes}}))
}

/// What an action makes of a payload: its own members set, every other one as it was sent, digit for digit.
fn run(payload: Option<Node<'_>>, sets: &Map<String, Value>) -> String {
    let mut body = "{\"payload\":{".to_owned();
    let kept = payload.into_iter().flat_map(Node::members).filter(|(name, _)| !sets.contains_key(name.as_ref()));
    let kept = kept.map(|(name, value)| (name, value.raw().to_owned()));
    let set = sets.iter().map(|(name, value)| (name.as_str().into(), value.to_string()));
    for (place, (name, value)) in kept.chain(set).enumerate() {
        if place > 0 {
            body.push(',');
        }
        json::quote(&name, &mut body);
        body.push(':');
        body.push_str(&value);
    }
    body.push_str("}}");
    body
}
