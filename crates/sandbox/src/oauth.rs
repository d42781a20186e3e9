//! The token endpoint: client credentials (RFC 6749, section 4.4), as a form or as JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use contrail_exchange::json::Kind;
use http::{StatusCode, header};
use serde_json::json;

use super::{
    Tenant,
    fields::{self, Fields, unescape},
    message::{Answer, Ask},
    misbehave::UNDECLARED_SCOPE,
};

fn refusal(status: StatusCode, error: &str, description: &str) -> Box<Answer> {
    let answer = Answer::json(status, &json!({"error": error, "error_description": description}))
        .with("cache-control", http::HeaderValue::from_static("no-store"));
    Box::new(answer)
}

/// The parameters that matter. Others are ignored, and so is `"organization": null`.
#[derive(Debug, Default)]
struct Grant {
    kind: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    audience: Option<String>,
    scope: Option<String>,
}

impl Grant {
    fn read(ask: &Ask<'_>) -> Result<Self, Box<Answer>> {
        let bad = |description: &str| refusal(StatusCode::BAD_REQUEST, "invalid_request", description);
        let fields = fields::read(ask)
            .map_err(|_| bad("send the parameters as application/x-www-form-urlencoded or application/json"))?;
        let mut grant = Self::default();
        for name in ["grant_type", "client_id", "client_secret", "audience", "scope"] {
            let value = match &fields {
                Fields::Form(pairs) => pairs.iter().find(|(held, _)| held == name).map(|(_, value)| value.clone()),
                Fields::Json(document) => match document.root().get(name) {
                    None => None,
                    Some(node) if node.kind() == Kind::Null => None,
                    Some(node) => match node.as_str() {
                        Some(text) => Some(text.into_owned()),
                        None => return Err(bad(&format!("`{name}` is no string"))),
                    },
                },
            };
            *match name {
                "grant_type" => &mut grant.kind,
                "client_id" => &mut grant.client_id,
                "client_secret" => &mut grant.client_secret,
                "audience" => &mut grant.audience,
                _ => &mut grant.scope,
            } = value;
        }
        if let Some((id, secret)) = basic(ask) {
            grant.client_id.get_or_insert(id);
            grant.client_secret.get_or_insert(secret);
        }
        Ok(grant)
    }
}

/// Client id and secret in a Basic header (RFC 6749, section 2.3.1).
fn basic(ask: &Ask<'_>) -> Option<(String, String)> {
    let (scheme, value) = ask.header(header::AUTHORIZATION)?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(value.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((unescape(id, true)?, unescape(secret, true)?))
}

/// Whether an audience names this tenant's interface: by its path, by the tenant's own origin, or by the address at
/// which the client found it.
fn names_this_tenant(audience: &str, origin: &str, host: Option<&str>) -> bool {
    let audience = audience.strip_suffix('/').unwrap_or(audience);
    let Some(found) = audience.strip_suffix("/api/v2") else { return false };
    let by_host = |host| found.strip_prefix("http://").or_else(|| found.strip_prefix("https://")) == Some(host);
    found.is_empty() || found == origin || host.is_some_and(by_host)
}

/// Compares without telling by time how much of a guess was right.
fn same_secret(held: &str, given: &str) -> bool {
    held.len() == given.len() && held.bytes().zip(given.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

impl Tenant {
    /// Answers a request for a token.
    pub(super) fn token(&self, ask: &Ask<'_>, now: std::time::SystemTime) -> Answer {
        self.grant(ask, now).unwrap_or_else(|refused| *refused)
    }

    fn grant(&self, ask: &Ask<'_>, now: std::time::SystemTime) -> Result<Answer, Box<Answer>> {
        let grant = Grant::read(ask)?;
        match grant.kind.as_deref() {
            Some("client_credentials") => {}
            None => return Err(refusal(StatusCode::BAD_REQUEST, "invalid_request", "`grant_type` is missing")),
            Some(_) => {
                let description = "only `client_credentials` is granted here";
                return Err(refusal(StatusCode::BAD_REQUEST, "unsupported_grant_type", description));
            }
        }
        let stranger = || refusal(StatusCode::UNAUTHORIZED, "invalid_client", "unknown client or wrong secret");
        let id = grant.client_id.as_deref().ok_or_else(stranger)?;
        let given = grant.client_secret.as_deref().ok_or_else(stranger)?;
        let client = self.client(id).ok_or_else(stranger)?;
        if !client.secret.as_deref().is_some_and(|held| same_secret(held, given)) {
            return Err(stranger());
        }
        let audience = grant.audience.as_deref().unwrap_or_default();
        if !names_this_tenant(audience, &self.origin, ask.header(header::HOST)) {
            let description = format!("no such audience here; ask for `/api/v2/` or `{}/api/v2/`", self.origin);
            return Err(refusal(StatusCode::FORBIDDEN, "access_denied", &description));
        }
        let asked: Option<Vec<&str>> = grant.scope.as_deref().map(|scope| scope.split_ascii_whitespace().collect());
        let mut scopes: Vec<&str> = client
            .scopes
            .iter()
            .map(String::as_str)
            .filter(|scope| asked.as_ref().is_none_or(|asked| asked.is_empty() || asked.contains(scope)))
            .collect();
        if self.misbehaviours.mints_an_undeclared_scope() {
            scopes.push(UNDECLARED_SCOPE);
        }
        let scope = scopes.join(" ");
        let token = self.keys.mint(&self.origin, &client.id, &scope, client.token_lifetime, now).map_err(|_| {
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "no randomness to sign a token with")
        })?;
        let body = json!({
            "access_token": token, "scope": scope, "expires_in": client.token_lifetime, "token_type": "Bearer",
        });
        Ok(Answer::json(StatusCode::OK, &body).with("cache-control", http::HeaderValue::from_static("no-store")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audience_may_be_the_path_the_origin_or_the_address() {
        let origin = "https://tenant.example";
        for good in [
            "/api/v2/",
            "/api/v2",
            "https://tenant.example/api/v2/",
            "http://127.0.0.1:8080/api/v2/",
            "https://127.0.0.1:8080/api/v2",
        ] {
            assert!(names_this_tenant(good, origin, Some("127.0.0.1:8080")), "{good}");
        }
        for bad in ["", "/", "https://other.example/api/v2/", "https://tenant.example/", "http://127.0.0.1/api/v2/"] {
            assert!(!names_this_tenant(bad, origin, Some("127.0.0.1:8080")), "{bad}");
        }
    }
}
