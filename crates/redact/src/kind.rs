//! Kinds of secrets, and how far a value is searched for.

use contrail_exchange::label;
pub(crate) use contrail_exchange::label::Kind;

/// Values that are not secret although a field may hold them: to replace them everywhere would spoil everything. They
/// are without `-` and `_`.
#[rustfmt::skip]
const TRIVIAL: &[&str] = &[
    "accept", "accesstoken", "action", "actions", "anonymous", "application", "application/json", "authorization",
    "basic", "bearer", "changeme", "client", "clients", "clientsecret", "currentpassword", "default", "disabled",
    "enabled", "example", "groups", "hidden", "https", "idtoken", "invalid", "localhost", "missing",
    "newpassword", "oldpassword", "optional", "passwd", "password", "payload", "policy", "private", "privatekey",
    "public", "redacted", "refreshtoken", "removed", "required", "secret", "secrets", "string", "success",
    "tenant", "tenant.example", "template", "templates", "undefined", "unknown",
];

/// How far a secret is spread by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchScope {
    /// Replaced only where its field is: too short or too common to be distinguished from other text.
    Field,
    /// Replaced where it stands as a word of its own, but not in a path nor as a name: it may be one of these.
    Word,
    /// Replaced where no letter or digit adjoins it.
    Bounded,
    /// Replaced wherever its bytes are.
    Anywhere,
}

/// How far `secret` is spread. A value of fewer than six bytes, of one byte repeated, or a common word is not.
pub(crate) fn match_scope(secret: &[u8]) -> MatchScope {
    let uniform = secret.iter().all(|byte| Some(byte) == secret.first());
    let letters = || secret.iter().filter(|byte| !matches!(byte, b'-' | b'_')).map(u8::to_ascii_lowercase);
    if secret.len() < 6 || uniform || TRIVIAL.iter().any(|word| word.bytes().eq(letters())) {
        MatchScope::Field
    } else if secret.len() < 20 && secret.iter().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte)) {
        MatchScope::Word
    } else if secret.len() < 8 || secret.iter().all(u8::is_ascii_digit) {
        MatchScope::Bounded
    } else {
        MatchScope::Anywhere
    }
}

/// Whether a password is none, and what stands before it the secret: it is missing, too short to be one, or a word that
/// services ask for in its place.
pub(crate) fn is_constant(password: &[u8]) -> bool {
    match_scope(password) == MatchScope::Field || matches!(password, b"x-oauth-basic" | b"api_token")
}

/// Whether a value looks drawn at random rather than written: long, without blanks, letters and digits mixed, no instant
/// (RFC 3339), and no label.
pub(crate) fn is_opaque(value: &[u8]) -> bool {
    let is_instant = || std::str::from_utf8(value).is_ok_and(|text| text.parse::<jiff::Timestamp>().is_ok());
    value.len() >= 12
        && !value.iter().any(u8::is_ascii_whitespace)
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !is_instant()
        && !label::holds(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_common_values_are_not_spread() {
        for value in ["", "abc", "12345", "password", "Bearer", "aaaaaaaaaa", "new_password", "Access_Token"] {
            assert_eq!(match_scope(value.as_bytes()), MatchScope::Field, "{value}");
        }
        assert_eq!(match_scope(b"hunter"), MatchScope::Word);
        assert_eq!(match_scope(b"X-Api-Key"), MatchScope::Word);
        assert_eq!(match_scope(b"123456789012"), MatchScope::Bounded);
        assert_eq!(match_scope(b"s3cr3t-value"), MatchScope::Anywhere);
    }

    #[test]
    fn an_instant_does_not_look_drawn_at_random() {
        assert!(is_opaque(b"2026b01c02T03d04e05Z") && is_opaque(b"a1b2c3d4e5f6"));
        for instant in ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+02:00", "2026-01-02t03:04:05z"] {
            assert!(!is_opaque(instant.as_bytes()), "{instant}");
        }
    }

    #[test]
    fn every_kind_survives_its_name() {
        for (kind, name) in Kind::NAMES {
            assert_eq!((kind.name(), Kind::from_name(name)), (name, Some(kind)));
        }
    }
}
