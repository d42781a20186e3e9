//! Compiles security schemes, scopes and token endpoints.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    compiler::{Compiler, UndeclaredScope},
    members::{child, field_name, members, text},
};
use crate::{
    ContractError,
    error::invalid,
    model::{Alternative, Catalogue, ParameterIn, Scheme, Security},
    refs,
    route::base_path,
};

impl<'d> Compiler<'d> {
    /// What an operation asks of a caller: one of the alternatives, and all of what that names.
    pub(super) fn security(&mut self, at: &str, operation: &Value) -> Result<Arc<Security>, ContractError> {
        let (at, requirements) = match operation.get("security") {
            Some(own) => (child(at, "security"), own),
            None => match self.document.get("security") {
                Some(shared) => ("/security".to_owned(), shared),
                None => return Ok(Arc::default()),
            },
        };
        if let Some(known) = self.shared.security.get(&at) {
            return Ok(Arc::clone(known));
        }
        let Some(requirements) = requirements.as_array() else { return Err(invalid(&at, "it has to be a list")) };
        let mut alternatives = Vec::new();
        for (index, requirement) in requirements.iter().enumerate() {
            alternatives.push(self.alternative(&format!("{at}/{index}"), requirement));
        }
        let mut security = Security { required: false, scopes: Vec::new(), alternatives };
        let bearers: Vec<_> = security.alternatives.iter().map(|one| one.bearer.as_ref()).collect();
        security.required = !bearers.is_empty() && bearers.iter().all(Option::is_some);
        // A request has to satisfy one of the alternatives, and one without scopes asks for none.
        let scopes: Vec<_> = bearers.into_iter().flatten().map(|bearer| bearer.scopes.clone()).collect();
        if security.required && !scopes.iter().any(Vec::is_empty) {
            security.scopes = scopes;
            security.scopes.dedup();
        }
        let security = Arc::new(security);
        self.shared.security.insert(at, Arc::clone(&security));
        Ok(security)
    }

    /// What is unusable in it is a scheme that no message shows.
    fn alternative(&mut self, at: &str, requirement: &Value) -> Alternative {
        let mut alternative = Alternative::default();
        let requirement = self.usable(members(requirement, at));
        if requirement.is_none() {
            alternative.others.push(Scheme::Unseen("an unusable requirement".into()));
        }
        for (name, needed) in requirement.into_iter().flatten() {
            let read = self.named_scheme(at, name);
            let Some((scheme, other)) = self.usable(read) else {
                alternative.others.push(Scheme::Unseen(name.as_str().into()));
                continue;
            };
            let Some(other) = other else {
                let at = child(at, name);
                let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
                let is_none = |scope: &&str| scope.is_empty() || scope.contains(char::is_whitespace);
                if let Some(scope) = needed.clone().find(is_none) {
                    self.unusable(&at, format!("`{scope}` is no scope: one has no blank (RFC 6749, section 3.3)"));
                    alternative.others.push(Scheme::Unseen(name.as_str().into()));
                    continue;
                }
                self.undeclared(&at, scheme, needed.clone());
                // One header carries the token for all schemes of a requirement.
                let bearer = alternative.bearer.get_or_insert_default();
                bearer.jwt |= is_jwt(scheme);
                bearer.scopes.extend(needed.map(Into::into));
                continue;
            };
            alternative.others.push(other);
        }
        alternative
    }

    /// The scheme that a requirement names, and what it takes: `None` for a bearer token.
    fn named_scheme(&mut self, at: &str, name: &str) -> Result<(&'d Value, Option<Scheme>), ContractError> {
        let Some((pointer, scheme)) = named(self.document, name) else {
            return Err(invalid(at, format!("the document does not define the security scheme `{name}`")));
        };
        let (place, scheme) = refs::follow(self.document, &pointer, scheme)?;
        Ok((scheme, self.scheme(&place, name, scheme)?))
    }

    /// `None` for a bearer token.
    fn scheme(&mut self, at: &str, name: &str, scheme: &Value) -> Result<Option<Scheme>, ContractError> {
        Ok(Some(match text(scheme, at, "type")? {
            "oauth2" | "openIdConnect" => return Ok(None),
            "http" => match text(scheme, at, "scheme")? {
                bearer if bearer.eq_ignore_ascii_case("bearer") => return Ok(None),
                other => Scheme::Http(other.into()),
            },
            "apiKey" => {
                let named = text(scheme, at, "in")?;
                let place = place_of_key(named)
                    .ok_or_else(|| invalid(at, format!("`in: {named}` is not a location of an API key")))?;
                let key = text(scheme, at, "name")?;
                if place == ParameterIn::Header {
                    field_name(at, key)?;
                }
                Scheme::ApiKey { place, name: key.into() }
            }
            other => {
                let why = if other == "mutualTLS" {
                    "a client's certificate is in no HTTP message"
                } else {
                    self.unusable(at, format!("`type: {other}` is not a type of security scheme"));
                    "its type is none of OpenAPI's"
                };
                self.not_implemented(at, &format!("the security scheme `{name}` is not checked: {why}"));
                Scheme::Unseen(name.into())
            }
        }))
    }
}

impl Compiler<'_> {
    /// Notes those of the scopes that the scheme does not declare. A bearer scheme declares none of its own and shares
    /// those of the document; schemes of `openIdConnect` declare them elsewhere.
    fn undeclared<'s>(&mut self, at: &str, scheme: &Value, scopes: impl Iterator<Item = &'s str>) {
        let catalogue = match scheme.get("type").and_then(Value::as_str) {
            Some("oauth2") => own_flows(scheme).filter_map(|flow| flow.get("scopes")?.as_object()).collect::<Vec<_>>(),
            Some("http") => flows(self.document).filter_map(|flow| flow.get("scopes")?.as_object()).collect(),
            _ => return,
        };
        if catalogue.is_empty() {
            return;
        }
        for scope in scopes.filter(|scope| !catalogue.iter().any(|declared| declared.contains_key(*scope))) {
            self.undeclared_scopes.push(UndeclaredScope { at: at.to_owned(), scope: scope.to_owned() });
        }
    }
}

/// What a token endpoint asks of a client, which has no token yet (RFC 6749, section 3.2.1): a token is unseen.
pub(super) fn before_a_token(security: &Security) -> Arc<Security> {
    let alternative = |stated: &Alternative| {
        let unseen = stated.bearer.as_ref().map(|_| Scheme::Unseen("a token".into()));
        Alternative { bearer: None, others: stated.others.iter().cloned().chain(unseen).collect() }
    };
    let alternatives = security.alternatives.iter().map(alternative).collect();
    Arc::new(Security { required: false, scopes: Vec::new(), alternatives })
}

/// The security scheme that a requirement names, with its JSON pointer.
pub(crate) fn named<'d>(document: &'d Value, name: &str) -> Option<(String, &'d Value)> {
    let found = |pointer: String| refs::at(document, &pointer).map(|scheme| (pointer, scheme));
    // OpenAPI 3.2 takes a reference in place of a name.
    found(child("/components/securitySchemes", name)).or_else(|| found(refs::target(name)?))
}

/// Whether the document states that tokens of this scheme are JSON Web Tokens.
fn is_jwt(scheme: &Value) -> bool {
    let states =
        |key: &str| scheme.get(key).and_then(Value::as_str).is_some_and(|text| text.eq_ignore_ascii_case("jwt"));
    states("bearerFormat") || states("x-contrail-token")
}

/// Paths of the token endpoints that the OAuth 2.0 schemes name.
pub(super) fn token_paths(document: &Value) -> Vec<String> {
    flows(document)
        .filter_map(|flow| flow.get("tokenUrl")?.as_str())
        // `base_path` drops a trailing slash, which is part of this path.
        .map(|url| if url.ends_with('/') { format!("{}/", base_path(url)) } else { base_path(url) })
        .collect()
}

fn flows(document: &Value) -> impl Iterator<Item = &Value> {
    schemes(document, "oauth2").flat_map(own_flows)
}

/// Where the declared API keys stand, with the name there.
pub(crate) fn api_keys(document: &Value) -> impl Iterator<Item = (ParameterIn, &str)> {
    schemes(document, "apiKey")
        .filter_map(|scheme| Some((place_of_key(scheme.get("in")?.as_str()?)?, scheme.get("name")?.as_str()?)))
}

fn place_of_key(name: &str) -> Option<ParameterIn> {
    Some(match name {
        "header" => ParameterIn::Header,
        "query" => ParameterIn::Query,
        "cookie" => ParameterIn::Cookie,
        _ => return None,
    })
}

/// The declared schemes of a type.
fn schemes<'d>(document: &'d Value, kind: &'static str) -> impl Iterator<Item = &'d Value> {
    let schemes = refs::at(document, "/components/securitySchemes").and_then(Value::as_object).into_iter();
    schemes
        .flat_map(Map::values)
        .map(|scheme| refs::followed(document, scheme))
        .filter(move |scheme| scheme.get("type").and_then(Value::as_str) == Some(kind))
}

fn own_flows(scheme: &Value) -> impl Iterator<Item = &Value> {
    scheme.get("flows").and_then(Value::as_object).into_iter().flat_map(Map::values)
}

/// Every scope that any OAuth 2.0 scheme declares.
pub(super) fn catalogue(document: &Value) -> Option<Catalogue> {
    let scopes = flows(document).filter_map(|flow| flow.get("scopes")?.as_object()).flat_map(Map::keys);
    let scopes: Catalogue = scopes.map(String::as_str).collect();
    if scopes.iter().next().is_none() { None } else { Some(scopes) }
}
