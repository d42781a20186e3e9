//! The passage of a document that a finding is about, for people.

use contrail_exchange::{finding::Rule, json::pointer_tokens, media};
use serde_json::Value;

use super::{
    Contract, ContractDocument, Operation,
    model::response_keys,
    refs::{at, below, follow},
    schemas_at, yaml,
};

/// Maximum lines of a passage; the rest is counted.
const MAX_LINES: usize = 40;
/// Maximum passages for one place of a body: the branches of a choice.
const MAX_PASSAGES: usize = 3;

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The document: its file, or [`super::BUILT_IN`].
    pub document: String,
    /// JSON pointer of the part.
    pub at: String,
    /// The part as YAML, cut if it is long.
    pub text: String,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The rule.
    pub rule: Rule,
    /// The id of the operation.
    pub operation: &'a str,
    /// The place, as the finding has it. For what is missing, the place of the object that lacks it.
    pub at: &'a str,
    /// The response's status.
    pub status: u16,
    /// The media type of the body.
    pub media_type: &'a str,
}

impl Contract {
    /// The passages that a finding is about; none where no document shows any.
    #[must_use]
    pub fn passages(&self, subject: Subject<'_>) -> Vec<Passage> {
        let of = |document: &ContractDocument| {
            let operation = document.model().operations.iter().find(|one| *one.id == *subject.operation)?;
            Some(document.passages(operation, subject))
        };
        self.documents().iter().find_map(of).unwrap_or_default()
    }
}

impl ContractDocument {
    fn passages(&self, operation: &Operation, subject: Subject<'_>) -> Vec<Passage> {
        let document = self.document();
        let under = |steps: &[&str]| below(&operation.at, steps);
        let places = match subject.rule {
            Rule::RequestBody | Rule::RequestBodyUndocumented => {
                body(document, &under(&["requestBody"]), subject).unwrap_or_default()
            }
            Rule::RequestContentType | Rule::RequestBodyMalformed => vec![under(&["requestBody"])],
            Rule::ResponseBody | Rule::ResponseBodyUndocumented => response(document, operation, subject.status)
                .and_then(|at| body(document, &at, subject))
                .unwrap_or_default(),
            Rule::ResponseHeader | Rule::ResponseHeaders => response(document, operation, subject.status)
                .and_then(|place| {
                    let headers = at(document, &below(&place, &["headers"]))?.as_object()?;
                    let name = headers.keys().find(|name| name.eq_ignore_ascii_case(subject.at))?;
                    Some(below(&place, &["headers", name]))
                })
                .into_iter()
                .collect(),
            Rule::ResponseContentType | Rule::ResponseBodyMalformed => {
                response(document, operation, subject.status).into_iter().collect()
            }
            Rule::StatusSuccess | Rule::StatusUndocumented | Rule::AuthRefused => vec![under(&["responses"])],
            Rule::PathParameter
            | Rule::QueryParameter
            | Rule::QueryUndocumented
            | Rule::HeaderParameter
            | Rule::CookieParameter => parameter(document, operation, subject.at),
            Rule::AuthScopeUndeclared => vec!["/components/securitySchemes".to_owned()],
            rule if rule.is_auth() => vec![self.security(&operation.at)],
            _ => Vec::new(),
        };
        places.iter().take(MAX_PASSAGES).filter_map(|place| self.passage(place)).collect()
    }

    /// What stands at this place, references of its own followed.
    fn passage(&self, place: &str) -> Option<Passage> {
        let found = at(self.document(), place)?;
        let (place, found) = follow(self.document(), place, found).ok()?;
        let text = yaml::write(found);
        let mut lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
        let more = text.lines().count() - lines.len();
        let rest = format!("… {more} more lines");
        if more > 0 {
            lines.push(&rest);
        }
        Some(Passage { document: self.name().to_owned(), at: place, text: lines.join("\n") })
    }
}

/// The response of a status, of its class, or of all others.
fn response(document: &Value, operation: &Operation, status: u16) -> Option<String> {
    let responses = below(&operation.at, &["responses"]);
    response_keys(status).iter().map(|key| below(&responses, &[key])).find(|place| at(document, place).is_some())
}

/// The schemas of a place in a body: of the deepest place on the way to it that one describes.
fn body(document: &Value, holder: &str, subject: Subject<'_>) -> Option<Vec<String>> {
    let (holder, found) = follow(document, holder, at(document, holder)?).ok()?;
    let content = found.get("content")?.as_object()?;
    let is_named = |name: &&String| *media::essence(name.as_bytes()) == *media::essence(subject.media_type.as_bytes());
    let name = content.keys().find(is_named).or_else(|| content.keys().next())?;
    let schema = below(&holder, &["content", name, "schema"]);
    at(document, &schema)?;
    let mut found = vec![schema];
    for token in pointer_tokens(subject.at) {
        let schemas = schemas_at::composed(document, found.clone());
        let next = schemas_at::of_member(document, &schemas, &token);
        if next.is_empty() {
            break;
        }
        found = next;
    }
    Some(found)
}

/// The parameters of this name, of the operation or of its path item.
fn parameter(document: &Value, operation: &Operation, name: &str) -> Vec<String> {
    let is_named = |place: &String| {
        let found = at(document, place).and_then(|found| follow(document, place, found).ok());
        found.and_then(|(_, found)| found.get("name")?.as_str()) == Some(name)
    };
    let found: Vec<String> = operation.listed_parameters(document).filter(is_named).collect();
    if !found.is_empty() {
        return found;
    }
    operation.parameter_lists().into_iter().filter(|list| at(document, list).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_finding_has_its_passage() {
        let contract = Contract::built_in();
        let policy = "/paths/~1rate-limit-policies~1{id}/get";
        let template = "/paths/~1verifiable-credentials~1verification~1templates~1{id}/patch";
        for (rule, operation, at, status, expected) in [
            (Rule::PathParameter, "getRateLimitPolicy", "id", 200, format!("{policy}/parameters/0")),
            (Rule::QueryUndocumented, "getRateLimitPolicy", "q", 200, format!("{policy}/parameters")),
            (Rule::StatusSuccess, "getRateLimitPolicy", "", 201, format!("{policy}/responses")),
            (Rule::AuthScope, "getRateLimitPolicy", "Authorization", 200, format!("{policy}/security")),
            (Rule::ResponseContentType, "getRateLimitPolicy", "Content-Type", 200, format!("{policy}/responses/200")),
            (Rule::AuthScopeUndeclared, "getRateLimitPolicy", "", 200, "/components/securitySchemes".to_owned()),
            (
                Rule::ResponseBody,
                "getRateLimitPolicy",
                "/consumer",
                200,
                "/components/schemas/RateLimitPolicy/properties/consumer".to_owned(),
            ),
            (
                Rule::RequestBodyMalformed,
                "updateVerifiableCredentialTemplate",
                "",
                400,
                format!("{template}/requestBody"),
            ),
            (
                Rule::RequestBodyUndocumented,
                "updateVerifiableCredentialTemplate",
                "/nosuch",
                200,
                "/components/schemas/VerifiableCredentialTemplateUpdate".to_owned(),
            ),
        ] {
            let subject = Subject { rule, operation, at, status, media_type: "application/json; charset=utf-8" };
            let passages: Vec<String> = contract.passages(subject).into_iter().map(|passage| passage.at).collect();
            assert_eq!(passages, [expected], "{rule}");
        }
        let unknown = Subject { rule: Rule::AuthScope, operation: "nosuch", at: "", status: 200, media_type: "" };
        assert_eq!(contract.passages(unknown), []);
    }
}
