//! A contract for reading: operations, scopes, limits, and everything that is not shown, each with its passage.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use contrail_exchange::{finding::Unchecked, is_at_or_below, json::unescape_pointer};
use serde_json::{Map, Value};

use super::{
    ContractDocument,
    compile::named_scheme,
    model::{Content, Response, Status},
    refs,
};

/// The verbs of scopes, in the order in which the documentation names them.
const VERBS: [&str; 4] = ["create", "read", "update", "delete"];

/// A contract for reading, but for its [operations](ContractDocument::operations).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The declared scopes of the form `<verb>:<resource>` with one of [`VERBS`], resource to verbs; any other stands
    /// as it is, without verbs.
    pub scopes: BTreeMap<String, Vec<String>>,
    /// How many scopes are declared.
    pub scope_count: usize,
    /// What values are bound to.
    pub limits: Vec<Fact>,
    /// What the documentation does not show.
    pub not_shown: Vec<Fact>,
}

/// One operation for reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its id.
    pub id: String,
    /// Its method.
    pub method: String,
    /// Its path as documented, without the base path.
    pub path: String,
    /// `summary` of the document.
    pub summary: String,
    /// `tags` of the document.
    pub tags: Vec<String>,
    /// The passage that it comes from.
    pub source: String,
    /// Its lifecycle stage, where the document shows one.
    pub lifecycle: Option<String>,
    /// Alternatives of scopes; empty where none is shown.
    pub scopes: Vec<Vec<String>>,
    /// Whether the document states that it does not show the required scope.
    pub scope_not_shown: bool,
    /// Whether it takes a bearer token.
    pub bearer: bool,
    /// Whether the document states any security, be it that none is needed.
    pub states_security: bool,
    /// Alternatives of what it asks of a caller; an empty one asks for nothing.
    pub asks_for: Vec<Vec<AskedScheme>>,
    /// Statuses as documented: `200`, `2XX`.
    pub statuses: Vec<String>,
    /// Media types of the request body; empty where there is none.
    pub request_types: Vec<String>,
}

/// A security scheme that an operation asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedScheme {
    /// As the document names it: `bearerAuth (http bearer)`, `key (apiKey in header X-Key)`.
    pub scheme: String,
    /// The scopes that it asks for.
    pub scopes: Vec<String>,
}

impl fmt::Display for AskedScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        if self.scopes.is_empty() { Ok(()) } else { write!(f, " with {}", self.scopes.join(" and ")) }
    }
}

/// Something about a place of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The place, for reading: `getSynchronizedGroups take`, `RateLimitPolicy.id`.
    pub place: String,
    /// Its description.
    pub statement: String,
    /// The passage that it comes from; empty where the document names none.
    pub source: String,
}

impl ContractDocument {
    /// The document for reading.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let document = self.document();
        let names = Names::of(document);
        let mut outline =
            Outline { scopes: BTreeMap::new(), scope_count: 0, limits: Vec::new(), not_shown: Vec::new() };
        let mut scopes: Vec<&str> = self.model().scopes.iter().flat_map(crate::model::Catalogue::iter).collect();
        let verb = |scope: &str| VERBS.iter().position(|verb| scope.starts_with(verb));
        scopes.sort_by_key(|scope| (verb(scope).unwrap_or(usize::MAX), *scope));
        outline.scope_count = scopes.len();
        for scope in scopes {
            let (verb, resource) = match scope.split_once(':') {
                Some((verb, resource)) if VERBS.contains(&verb) => (verb, resource),
                // Of another form: it stands as it is.
                _ => ("", scope),
            };
            let verbs = outline.scopes.entry(resource.to_owned()).or_default();
            verbs.extend(Some(verb).filter(|verb| !verb.is_empty()).map(str::to_owned));
        }
        // Sections by aspect; where they differ, by aspect and place.
        let sections = |aspect: &str, place: &str| match document.get("x-contrail-source")?.get(aspect)? {
            Value::Object(places) => places.get(place).or_else(|| places.get("default"))?.as_str(),
            everywhere => everywhere.as_str(),
        };
        let mut sources: Vec<(String, String)> = Vec::new();
        refs::walk(document, &mut |at, object| {
            sources.retain(|(place, _)| is_at_or_below(at, place));
            if let Some(source) = object.get("x-contrail-source").and_then(Value::as_str) {
                sources.push((at.to_owned(), source.to_owned()));
            }
            let source = sources.last().map(|(_, source)| source.clone()).unwrap_or_default();
            let fact =
                |statement: String, source: &str| Fact { place: names.place(at), statement, source: source.to_owned() };
            if let Some(limits) = limits(object).filter(|_| is_schema(at)) {
                outline.limits.push(fact(limits, &source));
            }
            for aspect in object.get("x-contrail-not-shown").and_then(Value::as_array).into_iter().flatten() {
                let Some(aspect) = aspect.as_str() else { continue };
                let source = sections(aspect, &names.place(at)).unwrap_or(&source);
                outline.not_shown.push(fact(aspect.to_owned(), source));
            }
        });
        outline
    }

    /// What operations lack, each aspect with the operation's id: statuses and bodies that the document does not show.
    #[must_use]
    pub fn not_shown(&self) -> Vec<(&'static str, String)> {
        let mut not_shown = Vec::new();
        for operation in &self.model().operations {
            let mut lacks = |aspect: Unchecked| not_shown.push((aspect.name(), operation.id.to_string()));
            let responses = &operation.responses;
            let (successes, failures): (Vec<_>, Vec<_>) =
                responses.listed.iter().partition(|(status, _)| status.is_success());
            let mut failures = failures.iter().map(|(_, response)| response).chain(&responses.default).peekable();
            if successes.is_empty() && responses.default.is_none() {
                lacks(Unchecked::SuccessStatus);
            }
            let is_stated = |content: &Content| content.schema.is_some() || content.item.is_some();
            let has_schema = |response: &Response| response.content.iter().any(is_stated);
            if successes.iter().any(|(status, response)| *status != Status::Exactly(204) && !has_schema(response)) {
                lacks(Unchecked::ResponseBody);
            }
            if failures.peek().is_none() {
                lacks(Unchecked::ErrorStatus);
            }
            if !failures.any(has_schema) {
                lacks(Unchecked::ErrorBody);
            }
        }
        not_shown
    }

    /// The documented operations for reading, in the order of the document.
    pub fn operations(&self) -> impl Iterator<Item = Operation> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        self.model().operations.iter().map(move |operation| {
            let documented = refs::at(self.document(), &operation.at);
            let get = |key: &str| documented.and_then(|documented| documented.get(key));
            Operation {
                id: operation.id.to_string(),
                method: operation.method.to_string(),
                path: operation.path.to_string(),
                summary: text(get("summary")),
                tags: {
                    let tags = get("tags").and_then(Value::as_array).into_iter().flatten();
                    tags.filter_map(Value::as_str).map(str::to_owned).collect()
                },
                source: text(get("x-contrail-source")),
                lifecycle: get("x-contrail-lifecycle").and_then(Value::as_str).map(str::to_owned),
                scopes: {
                    let mut scopes: Vec<Vec<String>> = Vec::new();
                    for alternative in &operation.security.scopes {
                        let alternative = alternative.iter().map(ToString::to_string).collect();
                        if !scopes.contains(&alternative) {
                            scopes.push(alternative);
                        }
                    }
                    scopes
                },
                scope_not_shown: operation.not_shown.contains(Unchecked::RequiredScope),
                bearer: operation.security.required,
                states_security: get("security").or_else(|| self.document().get("security")).is_some(),
                asks_for: asks_for(self.document(), get("security")),
                statuses: get("responses")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::keys)
                    .filter(|key| !key.starts_with("x-"))
                    .cloned()
                    .collect(),
                request_types: get("requestBody")
                    .and_then(|body| refs::followed(self.document(), body).get("content")?.as_object())
                    .into_iter()
                    .flat_map(Map::keys)
                    .cloned()
                    .collect(),
            }
        })
    }
}

/// What `security` (of an operation, else of the document) asks for.
fn asks_for(document: &Value, own: Option<&Value>) -> Vec<Vec<AskedScheme>> {
    let scheme = |(name, scopes): (&String, &Value)| {
        let defined = named_scheme(document, name).map(|(_, scheme)| refs::followed(document, scheme));
        let text_of = |key: &str| defined?.get(key)?.as_str();
        let scheme = match (text_of("type"), text_of("scheme"), text_of("in"), text_of("name")) {
            (Some(kind), Some(scheme), ..) => format!("{name} ({kind} {scheme})"),
            (Some(kind), _, Some(place), Some(field)) => format!("{name} ({kind} in {place} {field})"),
            (Some(kind), ..) => format!("{name} ({kind})"),
            _ if defined.is_some() => format!("{name} (of no type)"),
            _ => format!("{name} (not defined)"),
        };
        let scopes = scopes.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        AskedScheme { scheme, scopes: scopes.collect() }
    };
    let requirements = own.or_else(|| document.get("security")).and_then(Value::as_array);
    let schemes = |one: &Value| one.as_object().into_iter().flatten().map(scheme).collect();
    requirements.into_iter().flatten().map(schemes).collect()
}

/// Whether an object at this pointer is a schema, so that its keywords are limits.
fn is_schema(at: &str) -> bool {
    (at.contains("/schema") || at.contains("/itemSchema")) && !at.ends_with("/discriminator")
}

/// What a schema states about a value besides its type, in words.
fn limits(schema: &Map<String, Value>) -> Option<String> {
    let mut parts = Vec::new();
    let number = |key: &str| schema.get(key).filter(|value| value.is_number()).map(ToString::to_string);
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    };
    let range = |low: Option<String>, high: Option<String>, unit: &str| match (low, high) {
        (Some(low), Some(high)) if low == high => {
            let unit = if low == "1" { unit.trim_end_matches('s') } else { unit };
            Some(format!("exactly {low}{unit}"))
        }
        (Some(low), Some(high)) => Some(format!("{low} to {high}{unit}")),
        (Some(low), None) => Some(format!("at least {low}{unit}")),
        (None, Some(high)) => Some(format!("at most {high}{unit}")),
        (None, None) => None,
    };
    parts.extend(range(number("minimum"), number("maximum"), ""));
    parts.extend(number("exclusiveMinimum").map(|bound| format!("more than {bound}")));
    parts.extend(number("exclusiveMaximum").map(|bound| format!("less than {bound}")));
    parts.extend(number("multipleOf").map(|step| format!("a multiple of {step}")));
    parts.extend(range(number("minLength"), number("maxLength"), " characters"));
    parts.extend(range(number("minItems"), number("maxItems"), " items"));
    parts.extend(range(number("minProperties"), number("maxProperties"), " keys"));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| format!("`{text}`"));
    let list = |values: &Value| values.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ");
    parts.extend(schema.get("pattern").map(|pattern| format!("matches {}", text(pattern))));
    parts.extend(schema.get("format").map(|format| format!("format {}", text(format))));
    parts.extend(schema.get("const").map(|value| format!("only {}", text(value))));
    parts.extend(schema.get("enum").map(|values| format!("only {}", list(values))));
    let known = schema.get("x-contrail-known-values");
    parts.extend(known.map(|values| format!("known values {} (others are a gap)", list(values))));
    parts.extend(number("x-contrail-unnamed-keys").map(|keys| format!("{keys} more keys whose names are not shown")));
    parts.extend(
        schema.get("required").filter(|value| value.is_array()).map(|names| format!("required {}", list(names))),
    );
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        parts.push("no other properties".to_owned());
    }
    parts.extend(schema.get("default").map(|default| format!("default {default}")));
    if parts.is_empty() {
        return None;
    }
    let parts = parts.join("; ");
    Some(if kind.is_empty() { parts } else { format!("{kind}: {parts}") })
}

/// Names of places for reading.
struct Names {
    /// The names of operations, and of what has a name of its own, by JSON pointer.
    known: HashMap<String, String>,
}

impl Names {
    fn of(document: &Value) -> Self {
        let mut known = HashMap::from([("/info".to_owned(), "the interface".to_owned())]);
        refs::walk(document, &mut |at, object| {
            let text = |key: &str| object.get(key).and_then(Value::as_str);
            if let Some(id) = text("operationId") {
                known.insert(at.to_owned(), id.to_owned());
            }
            // A parameter is named by itself.
            if let (Some(name), Some(_)) = (text("name"), text("in")) {
                known.entry(at.to_owned()).or_insert_with(|| format!("/{name}"));
            }
        });
        Self { known }
    }

    fn place(&self, at: &str) -> String {
        let mut above = std::iter::successors(Some(at), |at| at.rfind('/').map(|end| &at[..end]));
        let known = above.find_map(|pointer| Some((pointer, self.known.get(pointer)?)));
        let Some((pointer, name)) = known else { return Self::component(at) };
        let rest = at[pointer.len()..].trim_start_matches("/schema");
        match name.strip_prefix('/') {
            Some(parameter) => match pointer.rsplit_once("/parameters/") {
                Some((operation, _)) => format!("{} {parameter}{}", self.place(operation), Self::steps(rest)),
                None => parameter.to_owned(),
            },
            None if rest.is_empty() => name.clone(),
            None => format!("{name} {}", Self::steps(rest).trim_start_matches('.')),
        }
    }

    /// `/components/schemas/A/properties/b/items` is `A.b[]`.
    fn component(at: &str) -> String {
        let mut parts = at.splitn(5, '/').skip(1);
        match (parts.next(), parts.next(), parts.next()) {
            (Some("components"), Some(_), Some(name)) => {
                format!(
                    "{}{}",
                    unescape_pointer(name).into_owned(),
                    parts.next().map(|rest| Self::steps(&format!("/{rest}"))).unwrap_or_default()
                )
            }
            _ if at.is_empty() => "the document".to_owned(),
            _ => at.to_owned(),
        }
    }

    fn steps(rest: &str) -> String {
        let mut out = String::new();
        let mut tokens = rest.split('/').skip(1);
        while let Some(token) = tokens.next() {
            match token {
                "properties" => {
                    out.push('.');
                    out.push_str(&unescape_pointer(tokens.next().unwrap_or_default()));
                }
                "items" => out.push_str("[]"),
                "additionalProperties" => out.push_str(".*"),
                "schema" | "content" | "responses" | "requestBody" => {}
                other => {
                    out.push('.');
                    out.push_str(&unescape_pointer(other));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contract;

    fn facts(facts: &[Fact]) -> Vec<String> {
        facts.iter().map(|fact| format!("{} | {} | {}", fact.place, fact.statement, fact.source)).collect()
    }

    #[test]
    fn every_limit_of_section_8_is_listed_with_its_place_and_its_passage() {
        let limits = facts(&Contract::built_in().documents()[0].outline().limits);
        for expected in [
            "RequestsPerSecond | integer: 0 to 10000 | 2.1, 8",
            "RateLimitPolicy.id | string: at most 26 characters; format `rate-limit-policy-id` | 2.1, 8",
            "getRateLimitPolicy id | string: at most 26 characters | 4.1, 8",
            "getSynchronizedGroups take | integer: 1 to 100; default 50 | 4.3, 8",
            "redeliverEvent id | string: exactly 26 characters | 4.4, 8",
            "redeliverEvent event_id | string: exactly 26 characters | 4.4, 8",
            "updateVerifiableCredentialTemplate id | string: at most 26 characters | 4.5, 8",
            "VerifiableCredentialTemplateUpdate.name | string: 1 to 255 characters | 4.5, 8",
            "VerifiableCredentialTemplateUpdate.type | string: 1 to 255 characters | 4.5, 8",
            "VerifiableCredentialTemplateUpdate.dialect | string: at most 255 characters; matches `^simplified/1.0$` | 4.5, 8",
            "VerifiableCredentialTemplateUpdate.well_known_trusted_issuers | string: 1 to 255 characters; matches `^aamva$` | 4.5, 8",
            "VerifiableCredentialTemplate.custom_certificate_authority | string: 1 to 4096 characters | 2.4, 8",
        ] {
            assert!(limits.iter().any(|limit| limit == expected), "{expected}\nnot in\n{}", limits.join("\n"));
        }
        assert!(
            limits.iter().any(|limit| limit.starts_with("RateLimitPolicy.consumer_selector | string: at most 255"))
        );
    }

    #[test]
    fn every_not_shown_of_the_document_is_listed() {
        let not_shown = facts(&Contract::built_in().documents()[0].outline().not_shown);
        for expected in [
            "the interface | effects | 1",
            "the interface | request-quotas | 8",
            "getSynchronizedGroups | required-scope | 4, 5",
            "redeliverEvent | response-body | 4.4",
            "testAction | request-required | 4.6",
            "RateLimitPolicy.id | format-grammar | 2.1 is silent",
            "ConnectionConfig | contents | 2.2",
            "SynchronizedGroup | further-fields | 2.3",
            "VerifiableCredentialTemplateUpdate.version | constraints | 4.5",
        ] {
            assert!(not_shown.iter().any(|fact| fact == expected), "{expected}\nnot in\n{}", not_shown.join("\n"));
        }
    }

    #[test]
    fn scopes_are_listed_by_resource_with_their_verbs_in_the_order_of_the_documentation() {
        let outline = Contract::built_in().documents()[0].outline();
        assert_eq!((outline.scope_count, outline.scopes.len()), (242, 89));
        assert_eq!(outline.scopes["branding"], ["read", "update", "delete"]);
        assert_eq!(outline.scopes["actions"], ["create", "read", "update", "delete"]);
    }
}
