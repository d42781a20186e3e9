//! The six operations, written by hand from the document's sections 2 and 4, for a caller that was let in.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use contrail_exchange::json::{self, Kind, Node};
use http::StatusCode;
use serde_json::{Map, Value};

use super::{
    call::Call,
    fields::{self, Fields},
    input::{Paging, template_changes},
    message::{Answer, Ask},
    tenant::Tenant,
};

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

/// Begins every token with `++//`, so that a client that passes one on has to encode it.
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
