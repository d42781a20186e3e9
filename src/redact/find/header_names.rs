//! Which names of header fields say that the value is a secret.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::redact::kind::Kind;

/// Header fields whose value is a secret, whole (or after a scheme), by name in lower case; `_` counts as `-`.
pub(in crate::redact) fn by_header(name: &str) -> Option<Kind> {
    if memchr::memchr(b'_', name.as_bytes()).is_some() {
        return by_header(&name.replace('_', "-"));
    }
    if name.starts_with("access-control-") || name.starts_with("sec-") || name.starts_with("x-ratelimit") {
        return None;
    }
    if HEADER_SEARCH.as_ref().is_some_and(|words| !words.is_match(name)) {
        return None;
    }
    match name {
        "dpop" => return Some(Kind::Token),
        "x-auth" | "x-session" | "x-session-id" => return Some(Kind::Credential),
        _ => {}
    }
    let holds = |part: &str| name.contains(part);
    if holds("authorization") {
        Some(Kind::Credential)
    } else if holds("cookie") {
        Some(Kind::Cookie)
    } else if holds("password") || holds("passwd") {
        Some(Kind::Password)
    } else if holds("secret") {
        Some(Kind::Secret)
    } else if holds("apikey") || holds("api-key") || holds("subscription-key") || holds("access-key") {
        Some(Kind::ApiKey)
    } else if holds("credential") || holds("passphrase") {
        Some(Kind::Credential)
    } else if name.ends_with("-key") && KEYS.iter().any(|word| holds(word)) {
        Some(Kind::ApiKey)
    } else if holds("token") || holds("csrf") || holds("xsrf") {
        Some(Kind::Token)
    } else if holds("assertion") {
        Some(Kind::Assertion)
    } else {
        let last = name.rsplit('-').next().unwrap_or_default();
        FIELD_ENDS.iter().find(|(end, _)| *end == last).map(|(_, kind)| *kind)
    }
}

/// Last words of a header field's name that mean a secret: `X-OTP`.
const FIELD_ENDS: &[(&str, Kind)] = &[
    ("jwt", Kind::Token),
    ("otp", Kind::Code),
    ("pass", Kind::Password),
    ("pin", Kind::Password),
    ("pwd", Kind::Password),
];

/// Every part of a name that [`by_header`] asks for: most names have none, and one look shows it.
pub(in crate::redact) const HEADER_WORDS: &[&str] = &[
    "dpop",
    "x-auth",
    "x_auth",
    "x-session",
    "x_session",
    "authorization",
    "cookie",
    "passw",
    "secret",
    "apikey",
    "-key",
    "credential",
    "passphrase",
    "token",
    "srf",
    "assertion",
];

fn header_words() -> impl Iterator<Item = &'static str> {
    HEADER_WORDS.iter().copied().chain(FIELD_ENDS.iter().map(|(end, _)| *end))
}

static HEADER_SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(header_words()).ok());

/// What distinguishes a key that opens something from one that names something (`Idempotency-Key`).
const KEYS: &[&str] =
    &["auth", "functions", "secret", "private", "signing", "encryption", "license", "app-", "service"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_field_is_known_with_either_sign_between_its_words() {
        for name in ["x-api-key", "api_key", "x_auth", "x-session_id", "subscription_key", "x_functions-key", "dpop"] {
            assert!(by_header(name).is_some(), "{name}");
        }
        for name in ["x_ratelimit_token", "sec-websocket-key", "idempotency_key", "content_type"] {
            assert_eq!(by_header(name), None, "{name}");
        }
    }
}
