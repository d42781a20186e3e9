//! The client that sends a request, and the name of its caller in an audit.

use crate::exchange::{Credential, Request};

const NO_CLIENT: &str = "a token without a client";
const NO_TOKEN: &str = "no token";
const NO_JWT: &str = "a token that is not a JWT";
const ENCRYPTED: &str = "an encrypted token";
const UNKNOWN: &str = "unknown (the file lacks Authorization)";

/// What else stands where an audit has the name of a client.
const TAKEN: [&str; 9] = [
    NO_CLIENT,
    NO_TOKEN,
    NO_JWT,
    ENCRYPTED,
    UNKNOWN,
    "not enforced: the tenant accepted what it had to refuse",
    "violations",
    "gaps",
    "not checked",
];

/// The client that a request names.
pub(super) fn client_of(request: &Request) -> Option<String> {
    request.credential.facts()?.client.clone()
}

/// The name of the caller that sent a request: its client, otherwise what the request has in place of one. The name of
/// a client is in quotes where it would read as something else.
#[must_use]
pub fn name_of(request: &Request) -> String {
    if let Some(client) = client_of(request) {
        let is_taken = client.is_empty()
            || client.starts_with(['"', ' '])
            || client.starts_with("callers beyond the first ")
            || TAKEN.contains(&&*client);
        return if is_taken { serde_json::Value::from(client).to_string() } else { client };
    }
    let without = match &request.credential {
        Credential::Token(_) => NO_CLIENT,
        Credential::Missing | Credential::OtherScheme(_) => NO_TOKEN,
        Credential::Malformed(_) => NO_JWT,
        Credential::Encrypted => ENCRYPTED,
        Credential::Unknown => UNKNOWN,
    };
    without.to_owned()
}
