//! The client that sends a request, and the name of its caller in an audit.

use contrail_contract::Contract;
use contrail_exchange::{Credential, Request, TenantFacts as _, media};

const NO_CLIENT: &str = "a token without a client";
const NO_TOKEN: &str = "no token";
/// With the scheme behind it: `no token (Basic)`.
const OTHER_SCHEME: &str = "no token (";
const NO_JWT: &str = "a token that is not a JWT";
const ENCRYPTED: &str = "an encrypted token";
const STRIPPED: &str = "unknown (the file lacks Authorization)";
const MASKED: &str = "unknown (a masked token, or no instant)";
const SEVERAL: &str = "unknown (several Authorization headers)";

/// The beginning of the name that stands for all callers without one of their own.
pub(super) const BEYOND: &str = "callers beyond the first ";

/// What else stands where an audit has the name of a client.
const TAKEN: [&str; 11] = [
    NO_CLIENT,
    NO_TOKEN,
    NO_JWT,
    ENCRYPTED,
    STRIPPED,
    MASKED,
    SEVERAL,
    "not enforced: the tenant accepted what it had to refuse",
    "violations",
    "gaps",
    "not checked",
];

/// The client that a request names: in its token; in a token request as its parameter `client_id` (RFC 6749, section
/// 2.3.1).
#[must_use]
pub fn client_of(request: &Request, contract: &Contract) -> Option<String> {
    if let Some(facts) = request.credential.facts() {
        return facts.client.clone();
    }
    let is_token_request = contract.is_token_request(&request.method, request.target.path());
    if !is_token_request || !request.body.is_whole() {
        return None;
    }
    let content_type = request.headers.get_str("content-type").unwrap_or_default();
    let media_type = media::essence(content_type.as_bytes());
    let client = if media_type == media::FORM {
        let form = &request.body.content;
        let mut clients =
            media::fields(form).filter(|field| media::decoded(&form[field.name.clone()]) == &b"client_id"[..]);
        // A parameter must not come twice (RFC 6749, section 3.2).
        let client = clients.next().filter(|_| clients.next().is_none())?;
        String::from_utf8(media::decoded(&form[client.value]).into_owned()).ok()?
    } else if media::is_json(&media_type) {
        request.body.document().ok()?.root().get("client_id")?.as_str()?.into_owned()
    } else {
        return None;
    };
    Some(client).filter(|client| !client.is_empty())
}

/// The name of the caller that sent a request: its client, otherwise what the request has in place of one. The name of
/// a client is in quotes where it would read as something else.
#[must_use]
pub fn name_of(request: &Request, contract: &Contract) -> String {
    caller_name(client_of(request, contract).as_deref(), request)
}

/// The same where the client is known.
pub(crate) fn caller_name(client: Option<&str>, request: &Request) -> String {
    if let Some(client) = client {
        return name_of_client(client);
    }
    let without = match &request.credential {
        Credential::Token(_) => NO_CLIENT,
        Credential::OtherScheme { scheme, .. } if !scheme.is_empty() => return format!("{OTHER_SCHEME}{scheme})"),
        Credential::Missing | Credential::OtherScheme { .. } => NO_TOKEN,
        Credential::Malformed(_) => NO_JWT,
        Credential::Encrypted => ENCRYPTED,
        Credential::Unknown => match request.headers.get_all("authorization").count() {
            0 => STRIPPED,
            1 => MASKED,
            _ => SEVERAL,
        },
    };
    without.to_owned()
}

/// The same of a client.
pub(super) fn name_of_client(client: &str) -> String {
    let is_taken = client.is_empty()
        || client.starts_with('"')
        || client != client.trim()
        || [BEYOND, OTHER_SCHEME].iter().any(|name| client.starts_with(name))
        || TAKEN.contains(&client);
    if is_taken { serde_json::Value::from(client).to_string() } else { client.to_owned() }
}
