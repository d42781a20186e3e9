//! Access tokens of the mock's own authorization server.

use std::{
    collections::{HashMap, HashSet},
    time::SystemTime,
};

use contrail_contract::{ContractDocument, model::Catalogue};
use contrail_exchange::token::NoKey;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Mock, answers::problem};
use crate::{Answer, Ask};

/// Lifetime of a token, in seconds.
const LIFETIME: u64 = 86_400;

impl Mock {
    /// A token of the OAuth 2.0 schemes (RFC 6749, section 5.1), with the scopes that were asked for, else all.
    pub(super) fn token(&self, ask: &Ask<'_>, now: SystemTime) -> Answer {
        let form: HashMap<String, String> = match serde_json::from_slice::<Map<String, Value>>(ask.body) {
            Ok(members) => {
                members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
            }
            Err(_) => form_urlencoded::parse(ask.body).into_owned().collect(),
        };
        let scope = form.get("scope").cloned().unwrap_or_else(|| self.scopes());
        let client = form.get("client_id").map_or("client", String::as_str);
        match self.mint(client, &scope, form.get("audience").map(String::as_str), now) {
            Ok(token) => Answer::json(
                StatusCode::OK,
                &json!({"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME, "scope": scope}),
            ),
            Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    /// Every scope that the contract declares, or that an operation requires: `openIdConnect` declares none.
    fn scopes(&self) -> String {
        let models = || self.contract.documents().iter().map(ContractDocument::model);
        let declared = models().filter_map(|model| model.scopes.as_ref()).flat_map(Catalogue::iter);
        let operations = models().flat_map(|model| &model.operations);
        let required =
            operations.flat_map(|operation| operation.security.scopes.iter().flatten()).map(|scope| &**scope);
        let mut seen = HashSet::new();
        declared.chain(required).filter(|scope| seen.insert(*scope)).collect::<Vec<_>>().join(" ")
    }

    fn mint(&self, client: &str, scope: &str, audience: Option<&str>, now: SystemTime) -> Result<String, NoKey> {
        let origin = self.origin();
        let issued = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        self.keys.sign(&json!({
            "iss": format!("{origin}/"), "sub": format!("{client}@clients"), "azp": client, "scope": scope,
            "aud": audience.unwrap_or(&origin), "iat": issued, "exp": issued + LIFETIME,
        }))
    }

    /// A token with every scope; `None` if the system gives no randomness.
    pub(super) fn bearer(&self) -> Option<String> {
        self.mint("client", &self.scopes(), None, SystemTime::now()).ok()
    }
}
