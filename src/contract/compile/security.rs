//! Who may call: security schemes, scopes, token endpoints.

use serde_json::{Map, Value};

use super::{Compiler, UndeclaredScope, child, members};
use crate::contract::{
    ContractError,
    error::invalid,
    model::{Catalogue, Security},
    refs,
    route::base_path,
};

impl Compiler<'_> {
    /// What an operation asks of a caller; `false` beside it where that is nothing that contrail can judge.
    pub(super) fn security(&mut self, at: &str, operation: &Value) -> Result<(Security, bool), ContractError> {
        let (at, requirements) = match operation.get("security") {
            Some(own) => (child(at, "security"), own),
            None => match self.document.get("security") {
                Some(shared) => ("/security".to_owned(), shared),
                None => return Ok((Security::default(), true)),
            },
        };
        let Some(requirements) = requirements.as_array() else { return Err(invalid(&at, "it has to be a list")) };
        let mut security = Security { required: !requirements.is_empty(), scopes: Vec::new(), jwt: true };
        let mut implemented = true;
        for (index, requirement) in requirements.iter().enumerate() {
            let at = format!("{at}/{index}");
            let mut scopes = Vec::new();
            let mut jwt = false;
            let schemes = members(requirement, &at)?;
            if schemes.is_empty() {
                security.required = false;
            }
            for (name, needed) in schemes {
                let Some(scheme) = self.document.pointer(&child("/components/securitySchemes", name)) else {
                    let reason = format!("the document does not define the security scheme `{name}`");
                    return Err(invalid(&at, reason));
                };
                let (place, scheme) = refs::follow(self.document, &child("/components/securitySchemes", name), scheme)?;
                if !is_bearer(scheme) {
                    self.not_implemented(&place, &format!("the security scheme `{name}` is no bearer token"));
                    implemented = false;
                }
                // One header carries the token for all schemes of a requirement.
                jwt |= is_jwt(scheme);
                let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
                self.undeclared(&child(&at, name), scheme, needed.clone());
                scopes.extend(needed.map(Into::into));
            }
            security.jwt &= jwt;
            security.scopes.push(scopes);
        }
        // A request has to satisfy one of the alternatives, and one without scopes asks for none.
        if security.scopes.iter().any(Vec::is_empty) {
            security.scopes.clear();
        }
        security.scopes.dedup();
        if !implemented {
            security = Security::default();
        }
        Ok((security, implemented))
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
            let undeclared = UndeclaredScope { at: at.to_owned(), scope: scope.to_owned() };
            // What stands at the top of the document is asked for by every operation.
            if !self.undeclared_scopes.contains(&undeclared) {
                self.undeclared_scopes.push(undeclared);
            }
        }
    }
}

fn is_bearer(scheme: &Value) -> bool {
    match scheme.get("type").and_then(Value::as_str) {
        Some("oauth2" | "openIdConnect") => true,
        Some("http") => {
            scheme.get("scheme").and_then(Value::as_str).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
        }
        _ => false,
    }
}

/// Whether the document says that tokens of this scheme are JSON Web Tokens.
fn is_jwt(scheme: &Value) -> bool {
    let says = |key: &str| scheme.get(key).and_then(Value::as_str).is_some_and(|text| text.eq_ignore_ascii_case("jwt"));
    says("bearerFormat") || says("x-contrail-token")
}

/// Paths of the token endpoints that the OAuth 2.0 schemes name.
pub(super) fn token_paths(document: &Value) -> Vec<String> {
    flows(document)
        .filter_map(|flow| base_path(&serde_json::json!({"url": flow.get("tokenUrl")?})).zip(flow.get("tokenUrl")))
        // `base_path` drops a trailing slash, which is part of this path.
        .map(|(path, url)| if url.as_str().is_some_and(|url| url.ends_with('/')) { format!("{path}/") } else { path })
        .collect()
}

fn flows(document: &Value) -> impl Iterator<Item = &Value> {
    let schemes = document.pointer("/components/securitySchemes").and_then(Value::as_object).into_iter().flatten();
    schemes
        .filter(|(_, scheme)| scheme.get("type").and_then(Value::as_str) == Some("oauth2"))
        .flat_map(|(_, scheme)| own_flows(scheme))
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
