//! Evidence from the answers of one status.

use contrail_contract::{self as contract, ContractDocument, Operation, below, model::Status};
use contrail_exchange::finding::{Unchecked, UncheckedSet};
use serde_json::{Map, Value, json};

use super::{
    collector::Answers,
    places::{self, ResponsePlace},
    shape::{ENOUGH, Shape},
};

/// What one action states.
pub(super) struct Fact {
    /// JSON pointer of its target.
    pub(super) at: String,
    pub(super) description: String,
    pub(super) update: Value,
}

/// The response as the document has it, by its status or by the status's class.
struct Described<'d> {
    at: String,
    response: Option<&'d Value>,
    /// By its status.
    is_exact: bool,
}

/// What is added to the response.
#[derive(Default)]
struct ResponseAddition {
    shown: Vec<Unchecked>,
    content: Map<String, Value>,
    what: &'static str,
}

/// The fact that these answers show beyond the document, if there is one.
pub(super) fn fact(contract: &ContractDocument, operation: &Operation, answers: &Answers) -> Option<Fact> {
    let (document, status) = (contract.document(), answers.status);
    let ResponsePlace { at, exact, class, is_default } = places::response(document, operation, status)?;
    let of_status = if is_success(status) { Unchecked::SuccessStatus } else { Unchecked::ErrorStatus };
    let mut silent = operation.not_shown;
    if !contract.model().error_bodies {
        silent.insert(Unchecked::ErrorBody);
    }
    if exact.is_none()
        && class.is_none()
        && is_success(status)
        && operation.responses.success().is_some()
        && !silent.contains(of_status)
    {
        // The document shows another status: this one is a violation, not a gap.
        return None;
    }
    let held = operation.responses.listed.iter().find(|(held, _)| *held == Status::Exactly(status));
    let already = held.map(|(_, response)| response.shown).unwrap_or_default();
    let described = match (exact, class) {
        (Some(exact), _) => Described { at: at.clone(), response: Some(exact), is_exact: true },
        (None, Some((at, class))) => Described { at, response: Some(class), is_exact: false },
        (None, None) => Described { at: at.clone(), response: None, is_exact: false },
    };
    let mut added = match described.documented() {
        None => bodies(answers),
        Some(old) => required(document, operation, answers, &described, old, already),
    };
    added.shown.insert(0, of_status);
    added.shown.retain(|aspect| silent.contains(*aspect) && !already.contains(*aspect));
    let is_new = !described.is_exact && !is_default || !added.shown.is_empty();
    if !is_new && (is_default || added.content.is_empty()) {
        return None;
    }
    let mut update = if described.is_exact { Map::new() } else { described.head(status) };
    if !added.content.is_empty() {
        update.insert("content".to_owned(), Value::Object(added.content));
    }
    if !added.shown.is_empty() {
        let names: Vec<&str> = added.shown.iter().map(|aspect| aspect.name()).collect();
        update.insert("x-contrail-shown".to_owned(), json!(names));
    }
    let description = format!("{} answers {status}{}", operation.id, added.what);
    Some(if described.is_exact {
        Fact { at, description, update: Value::Object(update) }
    } else {
        let update = json!({status.to_string(): update});
        Fact { at: below(&operation.at, &["responses"]), description, update }
    })
}

/// A schema of the bodies, where the document has none.
fn bodies(answers: &Answers) -> ResponseAddition {
    let mut added = ResponseAddition::default();
    let success = is_success(answers.status);
    // A documented body of a success has to be there.
    let is_mixed = success && answers.without_body > 0 && !answers.bodies.is_empty();
    if answers.unread > 0 || is_mixed {
        return added;
    }
    added.shown.push(if success { Unchecked::ResponseBody } else { Unchecked::ErrorBody });
    for (name, body) in &answers.bodies {
        let schema = body.shape.as_ref().map(Shape::schema);
        added.content.insert(name.clone(), schema.map_or_else(|| json!({}), |schema| json!({"schema": schema})));
        added.what = ", its body";
    }
    added
}

/// Which fields a documented body always has; under a status of its own, with references to what the class has.
fn required(
    document: &Value,
    operation: &Operation,
    answers: &Answers,
    described: &Described<'_>,
    old: &Map<String, Value>,
    already: UncheckedSet,
) -> ResponseAddition {
    let mut added = ResponseAddition::default();
    let aspect = Unchecked::ResponseRequired;
    let decides = is_success(answers.status)
        && operation.not_shown.contains(aspect)
        && !already.contains(aspect)
        && answers.unread == 0
        && !answers.bodies.is_empty()
        && answers.bodies.iter().all(|(name, body)| old.contains_key(name) && body.count >= ENOUGH);
    if decides {
        added.shown.push(aspect);
    }
    for name in old.keys() {
        let shape = answers.bodies.get(name).and_then(|body| body.shape.as_ref()).filter(|_| decides);
        let required = shape.and_then(Shape::required);
        if required.is_some() {
            added.what = ", which fields it always has";
        }
        let schema = below(&described.at, &["content", name, "schema"]);
        let reference = document.pointer(&schema).map(|_| json!({"$ref": contract::reference(&schema)}));
        let media_type = match (described.is_exact, reference, required) {
            (true, _, None) => continue,
            (true, _, Some(required)) => json!({"schema": {"allOf": [required]}}),
            (false, Some(reference), Some(required)) => json!({"schema": {"allOf": [reference, required]}}),
            (false, Some(reference), None) => json!({"schema": reference}),
            (false, None, _) => json!({}),
        };
        added.content.insert(name.clone(), media_type);
    }
    added
}

impl<'d> Described<'d> {
    /// The media types that it documents, if any.
    fn documented(&self) -> Option<&'d Map<String, Value>> {
        self.response?.get("content")?.as_object().filter(|content| !content.is_empty())
    }

    /// What a response under a status of its own takes over from the class.
    fn head(&self, status: u16) -> Map<String, Value> {
        let mut head = Map::new();
        let get = |key: &str| self.response.and_then(|response| response.get(key));
        let phrase = || http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        let description =
            get("description").cloned().unwrap_or_else(|| phrase().unwrap_or("Sightings in recorded traffic").into());
        head.insert("description".to_owned(), description);
        if let Some(headers) = get("headers").and_then(Value::as_object) {
            let reference = |name: &String| {
                let at = below(&self.at, &["headers", name]);
                (name.clone(), json!({"$ref": contract::reference(&at)}))
            };
            head.insert("headers".to_owned(), headers.keys().map(reference).collect());
        }
        head
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}
