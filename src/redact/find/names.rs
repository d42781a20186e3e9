//! Which names of fields say that the value is a secret, and of which kind.

use std::sync::LazyLock;

use ahash::AHashMap;

use super::header_names::by_header;
use crate::redact::kind::Kind;

/// Where a name stands; a few names mean a secret only in some places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redact) enum FieldContext {
    /// A form field, a query parameter, a multipart part.
    Parameter,
    /// A member of a JSON object.
    Member,
    /// `name=value` or `"name": "value"` in a text.
    Text,
}

/// What the name of a field states about its value; names are compared without case, `-`, `_` and blanks.
pub(in crate::redact) fn by_name(name: &str, place: FieldContext) -> Option<Kind> {
    let mut short = [0; MAX_NAME];
    let name = folded(name, &mut short);
    match LISTED.get(name) {
        Some(Listed::Secret(kind)) => Some(*kind),
        Some(Listed::Parameter(kind)) if place == FieldContext::Parameter => Some(*kind),
        Some(Listed::Harmless) => None,
        _ => {
            let last = name.last();
            let is_end = |suffix: &[u8]| suffix.last() == last && name.ends_with(suffix);
            SUFFIXES.iter().find(|(suffix, _)| is_end(suffix.as_bytes())).map(|(_, kind)| *kind)
        }
    }
}

/// The letters and digits of a name, in lower case.
fn folded<'a>(name: &str, short: &'a mut [u8; MAX_NAME]) -> &'a [u8] {
    let mut start = MAX_NAME;
    // From its end: of a long name (`https://a.example/claims/…/client_secret`) that is the part that counts.
    for byte in name.bytes().rev() {
        let byte = FOLDED[usize::from(byte)];
        if byte != 0 {
            start -= 1;
            short[start] = byte;
            if start == 0 {
                break;
            }
        }
    }
    &short[start..]
}

/// Letters in lower case and digits; 0 for every other byte.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            folded[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};

/// What a whole name means.
enum Listed {
    Secret(Kind),
    /// Only as a [`FieldContext::Parameter`].
    Parameter(Kind),
    Harmless,
}

static LISTED: LazyLock<AHashMap<&'static [u8], Listed>> = LazyLock::new(|| {
    let parameters = PARAMETERS.iter().map(|(name, kind)| (name.as_bytes(), Listed::Parameter(*kind)));
    let harmless = HARMLESS.iter().map(|name| (name.as_bytes(), Listed::Harmless));
    let secrets = NAMES.iter().map(|(name, kind)| (name.as_bytes(), Listed::Secret(*kind)));
    parameters.chain(harmless).chain(secrets).collect()
});

/// How much of a name's end is looked at, without its separators; longer than every name below.
const MAX_NAME: usize = 64;

const NAMES: &[(&str, Kind)] = &[
    ("accountkey", Kind::ApiKey),
    ("accesskey", Kind::ApiKey),
    ("appkey", Kind::ApiKey),
    ("assertion", Kind::Assertion),
    ("authkey", Kind::ApiKey),
    ("authorization", Kind::Credential),
    ("authorizationcode", Kind::Code),
    ("bearer", Kind::Token),
    ("bindingcode", Kind::Code),
    ("codeverifier", Kind::Code),
    ("connectionstring", Kind::Credential),
    ("cookie", Kind::Cookie),
    ("cookies", Kind::Cookie),
    ("credential", Kind::Credential),
    ("credentials", Kind::Credential),
    ("databaseurl", Kind::Credential),
    ("devicecode", Kind::Code),
    ("encryptionkey", Kind::PrivateKey),
    ("hmackey", Kind::PrivateKey),
    ("idtokenhint", Kind::Token),
    ("jsessionid", Kind::Cookie),
    ("jwt", Kind::Token),
    ("licensekey", Kind::ApiKey),
    ("logintoken", Kind::Token),
    ("masterkey", Kind::PrivateKey),
    ("mfacode", Kind::Code),
    ("oauthsignature", Kind::Credential),
    ("oauthverifier", Kind::Code),
    ("oobcode", Kind::Code),
    ("otp", Kind::Code),
    ("otpcode", Kind::Code),
    ("pass", Kind::Password),
    ("passcode", Kind::Password),
    ("passwd", Kind::Password),
    ("pfx", Kind::PrivateKey),
    ("pin", Kind::Password),
    ("proxyauthorization", Kind::Credential),
    ("pwd", Kind::Password),
    ("recoverycode", Kind::Code),
    ("recoverycodes", Kind::Code),
    ("samlresponse", Kind::Assertion),
    ("secretaccesskey", Kind::ApiKey),
    ("secretstring", Kind::Secret),
    ("servicekey", Kind::ApiKey),
    ("sessioncookie", Kind::Cookie),
    ("sessionkey", Kind::PrivateKey),
    ("setcookie", Kind::Cookie),
    ("sharedkey", Kind::PrivateKey),
    ("smtppass", Kind::Password),
    ("totp", Kind::Code),
    ("usercode", Kind::Code),
    ("verificationcode", Kind::Code),
    ("wresult", Kind::Assertion),
];

/// Names that mean a secret in a query or a form. In JSON `code` is mostly an error's name, `signature` is public.
const PARAMETERS: &[(&str, Kind)] = &[
    ("auth", Kind::Credential),
    ("code", Kind::Code),
    ("ticket", Kind::Code),
    ("invitation", Kind::Code),
    ("sig", Kind::Credential),
    ("signature", Kind::Credential),
    ("xamzsignature", Kind::Credential),
    ("xgoogsignature", Kind::Credential),
    ("key", Kind::ApiKey),
];

const SUFFIXES: &[(&str, Kind)] = &[
    ("clientsecret", Kind::ClientSecret),
    ("password", Kind::Password),
    ("passwords", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("secret", Kind::Secret),
    ("secrets", Kind::Secret),
    ("assertion", Kind::Assertion),
    ("apikey", Kind::ApiKey),
    ("apikeys", Kind::ApiKey),
    ("subscriptionkey", Kind::ApiKey),
    ("secretkey", Kind::ApiKey),
    ("secretaccesskey", Kind::ApiKey),
    ("privatekey", Kind::PrivateKey),
    ("privatekeypem", Kind::PrivateKey),
    ("signingkey", Kind::PrivateKey),
    ("token", Kind::Token),
    ("tokens", Kind::Token),
];

/// Names with a telling end and a harmless value: what a pager passes on, and settings.
const HARMLESS: &[&str] = &[
    "nexttoken",
    "pagetoken",
    "nextpagetoken",
    "previouspagetoken",
    "prevpagetoken",
    "continuationtoken",
    "cursortoken",
    "synctoken",
    "nextsynctoken",
    "startingtoken",
    "hassecret",
    "haspassword",
    "resetpassword",
    "forgotpassword",
    "changepassword",
    "maxtokens",
    "totaltokens",
    "prompttokens",
    "completiontokens",
];

/// Members of a JSON Web Key (RFC 7518, section 6) that are private; they count beside a member `kty`.
pub(in crate::redact) const JWK_PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "k"];

/// Members beside which `code` in JSON is an authorization code.
pub(in crate::redact) const OAUTH: &[&str] =
    &["grant_type", "redirect_uri", "code_verifier", "client_secret", "session_state"];

/// The kind of a value, from a name that is the value beside it: `{"key": "x-api-key", "value": …}`.
pub(in crate::redact) fn by_listed_name(name: &str) -> Option<Kind> {
    let is_field =
        || name.len() <= MAX_NAME && (memchr::memchr(b'-', name.as_bytes()).is_some() || name.starts_with("x_"));
    by_name(name, FieldContext::Member).or_else(|| by_header(&name.to_ascii_lowercase()).filter(|_| is_field()))
}

/// What the name of a field states about a person.
pub(in crate::redact) fn personal(name: &str) -> Option<Kind> {
    let mut short = [0; MAX_NAME];
    Some(match folded(name, &mut short) {
        b"email" | b"emailaddress" | b"mail" | b"useremail" | b"recipient" => Kind::Email,
        b"phone" | b"phonenumber" | b"mobile" | b"mobilenumber" | b"telephone" | b"msisdn" => Kind::Phone,
        b"givenname" | b"familyname" | b"firstname" | b"lastname" | b"middlename" | b"fullname" | b"nickname"
        | b"birthdate" | b"birthday" | b"dateofbirth" | b"streetaddress" | b"postaladdress" | b"residentaddress"
        | b"ssn" | b"nationalid" | b"passportnumber" => Kind::Person,
        _ => return None,
    })
}

/// Every name and end of a name that means a secret in JSON.
#[cfg(test)]
pub(in crate::redact) fn all_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().chain(SUFFIXES).map(|(name, _)| *name).chain(["kty", "code"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_spelling() {
        for (name, kind) in [
            ("client_secret", Kind::ClientSecret),
            ("clientSecret", Kind::ClientSecret),
            ("Client-Secret", Kind::ClientSecret),
            ("password", Kind::Password),
            ("new_password", Kind::Password),
            ("refresh_token", Kind::Token),
            ("access_token", Kind::Token),
            ("id_token", Kind::Token),
            ("subject_token", Kind::Token),
            ("token", Kind::Token),
            ("client_assertion", Kind::Assertion),
            ("signing_key", Kind::PrivateKey),
            ("private_key", Kind::PrivateKey),
            ("webhookSecret", Kind::Secret),
        ] {
            assert_eq!(by_name(name, FieldContext::Member), Some(kind), "{name}");
        }
    }

    #[test]
    fn a_field_of_the_tenants_document_is_no_secret_by_name() {
        for name in [
            "id",
            "resource",
            "consumer",
            "consumer_selector",
            "configuration",
            "created_at",
            "updated_at",
            "action",
            "limit",
            "redirect_uri",
            "display_name",
            "template",
            "name",
            "organization",
            "show_as_button",
            "assign_membership_on_login",
            "connection_name_prefix_template",
            "enabled_features",
            "connection_config",
            "strategy_overrides",
            "type",
            "dialect",
            "presentation",
            "custom_certificate_authority",
            "version",
            "well_known_trusted_issuers",
            "payload",
            "groups",
            "next",
            "from",
            "take",
            "client_id",
            "audience",
            "grant_type",
            "token_type",
            "expires_in",
            "scope",
            "issuing_country",
            "resident_postal_code",
        ] {
            assert_eq!(by_name(name, FieldContext::Member), None, "{name}");
            assert_eq!(by_name(name, FieldContext::Parameter), None, "{name}");
        }
    }

    #[test]
    fn a_listed_name_tells_as_a_header_field_or_a_member_would() {
        for name in ["x-api-key", "Authorization", "Api_Key", "client_secret", "X-Auth", "cookie"] {
            assert!(by_listed_name(name).is_some(), "{name}");
        }
        for name in ["token_endpoint_auth_method", "tokenType", "id", "Content-Type", "Idempotency-Key"] {
            assert_eq!(by_listed_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_code_is_a_secret_in_a_form_and_an_error_name_in_json() {
        assert_eq!(by_name("code", FieldContext::Parameter), Some(Kind::Code));
        assert_eq!(by_name("code", FieldContext::Member), None);
    }
}
