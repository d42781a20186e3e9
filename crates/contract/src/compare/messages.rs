//! The parameters, bodies, responses and headers of an operation.

use contrail_exchange::finding::Unchecked;
use serde_json::Value;

use super::{
    change::{Change, Impact, Role, change},
    schema::{ANYTHING, Unchanged, Walk},
};
use crate::{
    MediaRange,
    model::{
        Content, Definition, Header, Notation, Operation, Parameter, ParameterIn, RequestBody, Response, Responses,
        Status,
    },
    most_specific, refs,
    schema::Schema,
};

const OTHER_STATUSES: &str = "response `default`";

/// Compares the messages of an operation.
pub(super) struct Messages<'a, 'c> {
    /// The resolved documents.
    pub(super) documents: (&'a Value, &'a Value),
    pub(super) changes: &'c mut Vec<Change>,
    pub(super) unchanged: &'c mut Unchanged,
}

impl Messages<'_, '_> {
    pub(super) fn compare(&mut self, was: &Operation, is: &Operation) {
        self.parameters(was, is);
        self.request_bodies(&was.request_body, &is.request_body);
        self.responses(was, &is.responses);
    }

    fn add(&mut self, impact: Impact, kind: &str, place: &str, message: impl Into<String>) {
        self.changes.push(change(None, impact, kind, place, message));
    }

    fn parameters(&mut self, was: &Operation, is: &Operation) {
        for parameter in &*was.parameters {
            if !is.parameters.iter().any(|other| are_the_same(was, parameter, is, other)) {
                let message = "the contract does not have the parameter any more";
                self.add(Impact::Unclear, "request-parameter-removed", &named(parameter), message);
            }
        }
        for parameter in &*is.parameters {
            let place = named(parameter);
            let Some(old) = was.parameters.iter().find(|old| are_the_same(was, old, is, parameter)) else {
                let (impact, kind, message) = if parameter.required {
                    (Impact::Breaking, "new-required-request-parameter", "a required parameter is new")
                } else {
                    (Impact::NonBreaking, "new-optional-request-parameter", "an optional parameter is new")
                };
                self.add(impact, kind, &place, message);
                continue;
            };
            self.flag(
                (old.required, parameter.required),
                &place,
                (Impact::Breaking, "request-parameter-became-required", "the parameter is now required"),
                (Impact::NonBreaking, "request-parameter-became-optional", "the parameter is optional now"),
            );
            self.flag(
                (old.allow_empty, parameter.allow_empty),
                &place,
                (Impact::NonBreaking, "request-parameter-allow-empty-set", "an empty value is allowed now"),
                (Impact::Breaking, "request-parameter-allow-empty-unset", "no empty value is allowed now"),
            );
            self.notations(Role::Parameter, (old.notation, parameter.notation), &place);
            self.definition(Role::Parameter, (&old.definition, &parameter.definition), &place);
        }
    }

    fn notations(&mut self, role: Role, (was, is): (Notation, Notation), place: &str) {
        if was != is {
            let message = "how the value is written changed (`style`, `explode`, `allowReserved`)";
            self.add(Impact::Unclear, &format!("{}-style-changed", role.subject(false)), place, message);
        }
    }

    fn definition(&mut self, role: Role, (was, is): (&Definition, &Definition), place: &str) {
        match (parts(was), parts(is)) {
            ((one, was), (other, is)) if one == other => self.schemas(role, was, is, place),
            _ => {
                let kind = format!("{}-schema-changed", role.subject(false));
                self.add(Impact::Unclear, &kind, place, "what the value is read as changed");
            }
        }
    }

    /// Adds what a flag became; nothing where it stays as it was.
    fn flag(
        &mut self,
        (was, is): (bool, bool),
        place: &str,
        set: (Impact, &'static str, &'static str),
        unset: (Impact, &'static str, &'static str),
    ) {
        let (impact, kind, message) = match (was, is) {
            (false, true) => set,
            (true, false) => unset,
            _ => return,
        };
        self.add(impact, kind, place, message);
    }

    /// A message without a schema is one of which the contract states nothing.
    fn schemas(&mut self, role: Role, was: Option<&Schema>, is: Option<&Schema>, place: &str) {
        let found = |document, schema: Option<&Schema>| match schema {
            Some(schema) => refs::at(document, &schema.pointer()).unwrap_or(&ANYTHING),
            None => &ANYTHING,
        };
        let (old, new) = self.documents;
        let (was, is) = (found(old, was), found(new, is));
        Walk::new(self.documents, role, place, self.changes, self.unchanged).run(was, is);
    }

    fn request_bodies(&mut self, was: &RequestBody, is: &RequestBody) {
        const BODY: &str = "request body";
        match (was, is) {
            (
                RequestBody::Documented { content, required },
                RequestBody::Documented { content: new, required: now },
            ) => {
                self.flag(
                    (*required, *now),
                    BODY,
                    (Impact::Breaking, "request-body-became-required", "the body is now required"),
                    (Impact::NonBreaking, "request-body-became-optional", "the body is optional now"),
                );
                self.contents(Role::RequestBody, content, new, BODY);
            }
            (_, RequestBody::Documented { required: true, .. }) => {
                self.add(Impact::Breaking, "request-body-added-required", BODY, "a required body is new");
            }
            (_, RequestBody::Documented { .. }) => {
                self.add(Impact::NonBreaking, "request-body-added-optional", BODY, "an optional body is new");
            }
            (RequestBody::Documented { .. } | RequestBody::NotShown, RequestBody::None) => {
                self.add(Impact::Breaking, "request-body-removed", BODY, "the contract states that there is no body");
            }
            (RequestBody::Documented { .. }, RequestBody::NotShown) => {
                self.add(
                    Impact::Unclear,
                    "request-body-removed",
                    BODY,
                    "the contract states nothing of a body any more",
                );
            }
            (RequestBody::None, RequestBody::NotShown) => {
                let message = "the contract does not state any more that there is no body";
                self.add(Impact::NonBreaking, "request-body-changed", BODY, message);
            }
            _ => {}
        }
    }

    fn contents(&mut self, role: Role, was: &[Content], is: &[Content], place: &str) {
        let subject = if role.is_sent() { "request-body" } else { "response" };
        if was.is_empty() != is.is_empty() {
            // Silence on one side: nothing to compare with.
            let (impact, kind, message) = match (is.is_empty(), role.is_sent()) {
                (true, _) => (Impact::Unclear, "undocumented", "the contract states no body any more"),
                (false, true) => (Impact::Unclear, "documented", "the contract states the body"),
                (false, false) => (Impact::NonBreaking, "documented", "the contract states the body"),
            };
            return self.add(impact, &format!("{subject}-media-types-{kind}"), place, message);
        }
        for content in was {
            let Some(new) = covering(is, &content.range) else {
                let kind = format!("{subject}-media-type-removed");
                let message = format!("without `{}` now", content.range);
                self.add(Impact::Breaking, &kind, place, message);
                continue;
            };
            let base = if was.len() == 1 { place.to_owned() } else { format!("{place} ({})", content.range) };
            self.content(role, content, new, &base);
        }
        for content in is.iter().filter(|content| !was.iter().any(|held| held.range.name == content.range.name)) {
            if let Some(old) = covering(was, &content.range) {
                self.content(role, old, content, &format!("{place} ({})", content.range));
                continue;
            }
            let kind = format!("{subject}-media-type-added");
            let impact = if role.is_sent() { Impact::NonBreaking } else { Impact::Unclear };
            self.add(impact, &kind, place, format!("`{}` was added", content.range));
        }
    }

    fn content(&mut self, role: Role, was: &Content, is: &Content, place: &str) {
        self.schemas(role, was.schema.as_ref(), is.schema.as_ref(), place);
        self.schemas(role, was.item.as_ref(), is.item.as_ref(), &format!("{place}, each item"));
        if !encodings(was).eq(encodings(is)) {
            let subject = if role.is_sent() { "request-body" } else { "response" };
            let message = "how the fields of the form are written changed (`encoding`)";
            self.add(Impact::Unclear, &format!("{subject}-encoding-changed"), place, message);
        }
    }

    fn responses(&mut self, operation: &Operation, is: &Responses) {
        let was = &operation.responses;
        let all = |responses: &'_ Responses| responses.listed.is_empty() && responses.default.is_none();
        match (all(was), all(is)) {
            (true, true) => return,
            (false, true) => {
                let message = "the contract states no response any more";
                return self.add(Impact::Unclear, "responses-removed", "responses", message);
            }
            (true, false) => {
                let message = "the contract states the responses";
                return self.add(Impact::NonBreaking, "responses-added", "responses", message);
            }
            (false, false) => {}
        }
        for (status, response) in &was.listed {
            let place = format!("response {status}");
            if let Some(new) = found(is, *status) {
                self.response(response, new, &place);
                continue;
            }
            let (impact, kind) = match (status, status.is_success()) {
                (Status::Exactly(_), true) => (Impact::Breaking, "response-success-status-removed"),
                (Status::Class(_), true) => (Impact::Unclear, "response-success-status-removed"),
                (_, false) => (Impact::NonBreaking, "response-non-success-status-removed"),
            };
            self.add(impact, kind, &place, "the contract does not have the response any more");
        }
        for (status, response) in &is.listed {
            let place = format!("response {status}");
            if was.listed.iter().any(|(held, _)| held == status) {
                continue;
            }
            if let Some(old) = found(was, *status) {
                self.response(old, response, &place);
                continue;
            }
            let (success, aspect) = if status.is_success() {
                ("success", Unchecked::SuccessStatus)
            } else {
                ("non-success", Unchecked::ErrorStatus)
            };
            // Silence is no promise that no other status comes.
            let silent = operation.not_shown.contains(aspect);
            let impact = if silent { Impact::NonBreaking } else { Impact::Unclear };
            self.add(impact, &format!("response-{success}-status-added"), &place, "the response is new");
        }
        match (&was.default, &is.default) {
            (Some(old), Some(new)) => self.response(old, new, OTHER_STATUSES),
            (Some(_), None) => {
                let message = "other statuses have no response any more";
                self.add(Impact::Unclear, "response-default-removed", OTHER_STATUSES, message);
            }
            (None, Some(_)) => {
                let message = "other statuses have a response";
                self.add(Impact::Unclear, "response-default-added", OTHER_STATUSES, message);
            }
            (None, None) => {}
        }
    }

    fn response(&mut self, was: &Response, is: &Response, place: &str) {
        self.contents(Role::ResponseBody, &was.content, &is.content, place);
        if was.scope_missing != is.scope_missing {
            let message = "whether its text states that the token lacks a scope changed";
            self.add(Impact::Unclear, "response-meaning-changed", place, message);
        }
        for header in &*was.headers {
            let place = header_at(place, header);
            let Some(new) = is.headers.iter().find(|new| new.name.eq_ignore_ascii_case(&header.name)) else {
                let (impact, kind) = if header.required {
                    (Impact::Breaking, "required-response-header-removed")
                } else {
                    (Impact::Unclear, "optional-response-header-removed")
                };
                self.add(impact, kind, &place, "the contract does not have the header any more");
                continue;
            };
            self.flag(
                (header.required, new.required),
                &place,
                (Impact::NonBreaking, "response-header-became-required", "the header is now required"),
                (Impact::Breaking, "response-header-became-optional", "the header is optional now"),
            );
            self.notations(Role::ResponseHeader, (header.notation, new.notation), &place);
            self.definition(Role::ResponseHeader, (&header.definition, &new.definition), &place);
        }
        for header in &*is.headers {
            if !was.headers.iter().any(|old| old.name.eq_ignore_ascii_case(&header.name)) {
                let message = "the header is new";
                self.add(Impact::NonBreaking, "response-header-added", &header_at(place, header), message);
            }
        }
    }
}

/// The same parameter: of the same name and place, or of the same place in the path.
fn are_the_same(was: &Operation, old: &Parameter, is: &Operation, new: &Parameter) -> bool {
    let position = |operation: &Operation, parameter: &Parameter| {
        operation.path.split('{').skip(1).position(|rest| rest.split('}').next() == Some(&parameter.name))
    };
    old.place == new.place
        && match old.place {
            ParameterIn::Path => position(was, old).is_some() && position(was, old) == position(is, new),
            ParameterIn::Header => old.name.eq_ignore_ascii_case(&new.name),
            _ => old.name == new.name,
        }
}

fn named(parameter: &Parameter) -> String {
    format!("{} parameter `{}`", parameter.place.name(), parameter.name)
}

fn header_at(place: &str, header: &Header) -> String {
    format!("{place}, header `{}`", header.name)
}

/// How a value is read, and its schema.
fn parts(definition: &Definition) -> (&'static str, Option<&Schema>) {
    match definition {
        Definition::Nothing => ("value", None),
        Definition::Schema(schema) => ("value", Some(schema)),
        Definition::Json(schema) => ("JSON", schema.as_ref()),
        Definition::Form(content) => ("form", content.schema.as_ref()),
        Definition::Text(schema) => ("text", schema.as_ref()),
        Definition::NotRead => ("not read", None),
    }
}

/// What of a list is for a media type: the same, or a range that covers it.
fn covering<'m>(content: &'m [Content], range: &MediaRange) -> Option<&'m Content> {
    let same = content.iter().find(|content| content.range.name == range.name);
    let ranges = content.iter().map(|content| (&content.range, content));
    same.or_else(|| most_specific(ranges, range.essence(), range.name.as_bytes(), false))
}

fn encodings(content: &Content) -> impl Iterator<Item = String> {
    content.encodings.iter().map(|encoding| format!("{encoding:?}"))
}

fn found(responses: &Responses, status: Status) -> Option<&Response> {
    match status {
        Status::Exactly(status) => responses.find(status),
        Status::Class(_) => {
            let listed = responses.listed.iter().find(|(held, _)| *held == status).map(|(_, response)| response);
            listed.or(responses.default.as_ref())
        }
    }
}
