//! Which names say that the value beside them is a secret, and of which kind: one list, from which the searches by
//! name, the quick look and `docs/redaction.md` are made.

use std::sync::LazyLock;

use ahash::AHashMap;

use crate::kind::{self, Kind};
use Counts::{End, Header, LastWord, Never, NoWord, Parameter, Random, RandomParameter, Segment, Whole};

/// Where a name stands; a few names mean a secret only in some places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldContext {
    /// A form field, a query parameter, a multipart part.
    Parameter,
    /// A member of a JSON object, or `"name": "value"` in a text.
    Member,
}

/// How names count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// As a whole name.
    Whole,
    /// As a whole name or its end, before any digits: `db_password2`.
    End,
    /// As a whole name or its last word: `REDIS_PASS`, `smtpPass`, and not `bypass`.
    LastWord,
    /// As a whole name, unless the value is a word.
    NoWord,
    /// As a whole name, if the value looks random.
    Random,
    /// As a whole name of a [`FieldContext::Parameter`].
    Parameter,
    /// As one of a parameter, if the value looks random.
    RandomParameter,
    /// As a part of a header field's name.
    Header,
    /// As a segment of a path before the value, or the first word of one.
    Segment,
    /// Never, though its end is another one's.
    Never,
}

/// Names of one sort.
#[cfg_attr(not(test), allow(dead_code))] // the page prints all of it
pub(crate) struct Names {
    pub(crate) kind: Kind,
    pub(crate) counts: Counts,
    /// As a user writes them; they are compared without case, `-`, `_` and blanks.
    written: &'static str,
    /// What the quick look searches for: each name contains one of these. A blank stands for any sign between two
    /// words, a full stop for the end of a word.
    pub(crate) hints: &'static str,
    /// Who calls a secret so.
    pub(crate) source: &'static str,
}

const fn of(kind: Kind, counts: Counts, written: &'static str, hints: &'static str, source: &'static str) -> Names {
    Names { kind, counts, written, hints, source }
}

/// Of the ends of a name and the parts of a header field's, the first one counts.
#[rustfmt::skip]
pub(crate) const NAMES: &[Names] = &[
    of(Kind::ClientSecret, End, "client_secret", "secret", "RFC 6749, section 2.3.1"),
    of(Kind::Password, End, "password passwords", "pass word,passwords", "RFC 6749, section 4.3.2"),
    of(Kind::Password, End, "password_confirmation password_confirm password_hash password_digest",
        "pass word", "Rails (`has_secure_password`), Devise"),
    of(Kind::Password, End, "passphrase", "pass phrase", "OpenSSH"),
    of(Kind::Password, End, "passwd pwd", "passwd,pwd", "POSIX, JDBC, ODBC"),
    of(Kind::Password, LastWord, "pass", "pass.", "Nodemailer, Redis, WordPress"),
    of(Kind::Password, Whole, "passcode pin", "passcode,pin.", "Okta (`passCode`)"),
    of(Kind::Password, Whole, "ses_smtp_password_v4", "password", "Terraform (`aws_iam_access_key`)"),
    of(Kind::ApiKey, End, "secret_key secret_access_key secret_key_base", "secret", "AWS, Stripe; Rails"),
    of(Kind::Secret, End, "secret secrets secret_value", "secret", "AWS, Vault, Stripe"),
    of(Kind::Secret, Whole, "secret_string secret_binary", "secret", "AWS Secrets Manager"),
    of(Kind::Secret, Random, "secret_id", "secret", "Vault, AppRole"),
    of(Kind::Token, End, "token tokens token_value", "token", "RFC 6749, section 5.1"),
    of(Kind::Token, End, "jwt", "jwt.", "RFC 7519"),
    of(Kind::Token, Whole, "id_token_hint", "token", "OpenID Connect"),
    of(Kind::Token, NoWord, "bearer", "bearer", "RFC 6750"),
    of(Kind::Token, Random, "csrf xsrf", "srf.", "Express (`csurf`), Angular"),
    of(Kind::Assertion, End, "assertion", "assertion", "RFC 7521, section 4.2"),
    of(Kind::Assertion, Whole, "saml_response saml_art wresult", "saml,wresult", "SAML 2.0, WS-Federation"),
    of(Kind::ApiKey, End, "api_key api_keys subscription_key access_key account_key",
        "api key,subscription key,access key,account key", "OpenAPI; AWS; Azure"),
    of(Kind::ApiKey, End, "app_key application_key auth_key license_key service_key functions_key write_key server_key",
        "app key,application key,auth key,license key,service key,functions key,write key,server key",
        "Datadog, Cloudflare, New Relic, Supabase, Azure Functions, Segment, Firebase"),
    of(Kind::PrivateKey, End, "private_key private_key_pem signing_key encryption_key hmac_key master_key session_key \
        shared_key", "private key,signing key,encryption key,hmac key,master key,session key,shared key",
        "Google service accounts; Laravel, Rails, Parse"),
    of(Kind::PrivateKey, Whole, "pfx p12", "pfx,p12.", "RFC 7292"),
    of(Kind::Credential, NoWord, "authorization http_authorization proxy_authorization", "authorization",
        "RFC 9110, section 11.6.2; CGI"),
    of(Kind::Credential, Whole, "credential credentials", "credential", "Google, WebAuthn"),
    of(Kind::Credential, Whole, "connection_string database_url", "connection string,database url", "Azure, Heroku"),
    of(Kind::Credential, Whole, "oauth_signature x_amz_signature x_goog_signature", "signature.",
        "RFC 5849, section 3.4; AWS and Google signed URLs and forms"),
    of(Kind::Credential, Whole, "x_auth x_session x_session_id", "x auth,x session", "OpenStack, session headers of frameworks"),
    of(Kind::Token, Whole, "dpop", "dpop", "RFC 9449"),
    of(Kind::Cookie, NoWord, "cookie cookies set_cookie session_cookie jsessionid", "cookie,jsessionid",
        "RFC 6265; Jakarta Servlet"),
    of(Kind::Credential, Random, "session_id sid connect_sid phpsessid", "session id,sid.,phpsessid",
        "Express, Django, Flask, PHP"),
    of(Kind::Code, End, "authorization_code auth_code verification_code reset_code invite_code mfa_code otp_code \
        sms_code recovery_code backup_code otp", "code.,otp.", "RFC 6238; Okta, Cognito, Keycloak"),
    of(Kind::Code, End, "recovery_codes backup_codes", "recovery,backup", "GitHub, Keycloak"),
    of(Kind::Code, Whole, "binding_code device_code user_code oob_code", "code.", "RFC 8628, section 3.2; Firebase"),
    of(Kind::Code, Whole, "code_verifier oauth_verifier", "code verifier,oauth verifier",
        "RFC 7636, section 4.1; RFC 5849, section 2.2"),
    of(Kind::Code, Parameter, "code ticket invitation", "code.,ticket.,invitation.", "RFC 6749, section 4.1.2; CAS"),
    of(Kind::Credential, Parameter, "auth sig signature", "auth.,sig.,signature.", "Firebase; Azure SAS"),
    of(Kind::ApiKey, RandomParameter, "key", "key.", "Google APIs"),
    of(Kind::Credential, Header, "authorization", "authorization", "RFC 9110, section 11.6.2"),
    of(Kind::Cookie, Header, "cookie", "cookie", "RFC 6265"),
    of(Kind::Password, Header, "password passwd", "passw", "as in forms"),
    of(Kind::Secret, Header, "secret", "secret", "Telegram, Cloudflare Access"),
    of(Kind::ApiKey, Header, "apikey api-key subscription-key access-key", "apikey,-key", "OpenAPI; Azure"),
    of(Kind::Credential, Header, "credential passphrase", "credential,passphrase", "Coinbase"),
    of(Kind::Token, Header, "token csrf xsrf", "token,srf", "Django, Angular"),
    of(Kind::Assertion, Header, "assertion", "assertion", "Google IAP, Cloudflare Access"),
    of(Kind::Code, Segment,
        "activate activation change_password confirm confirmation forgot_password invitation invite \
        magic magic_link password_reset reset reset_password set_password ticket verification verify",
        "/activat,/confirm,/invit,/magic,/reset,/ticket,/verif,passw", "Django, Devise"),
    of(Kind::Token, Never, "next_token page_token next_page_token previous_page_token prev_page_token \
        continuation_token next_continuation_token cursor_token sync_token next_sync_token starting_token", "", "Google, AWS, Azure: pagers"),
    of(Kind::Token, Never, "max_tokens total_tokens prompt_tokens completion_tokens", "", "OpenAI: counts"),
    of(Kind::Secret, Never, "has_secret has_password reset_password forgot_password change_password existing_secret", "",
        "settings and actions; Helm charts"),
    // Personal data, which `--redact personal` masks.
    of(Kind::Email, Whole, "email email_address mail user_email recipient", "mail,recipient",
        "OpenID Connect, section 5.1"),
    of(Kind::Phone, Whole, "phone phone_number mobile mobile_number telephone msisdn", "phone,mobile,msisdn",
        "OpenID Connect, section 5.1"),
    of(Kind::Card, Whole, "card_number cvc cvc2 cvv cvv2 iban", "cardnumber,card_number,card-number,cvc,cvv,iban",
        "PCI DSS, requirement 3; ISO 13616"),
    of(Kind::Person, Whole,
        "given_name family_name first_name last_name middle_name full_name nickname birthdate birthday \
        date_of_birth street_address postal_address resident_address ssn national_id passport_number",
        "givenname,given_name,given-name,familyname,family_name,family-name,firstname,first_name,first-name,lastname,\
        last_name,last-name,middlename,middle_name,middle-name,fullname,full_name,full-name,nickname,birth,address,ssn,\
        nationalid,national_id,national-id,passport", "OpenID Connect, section 5.1"),
];

impl Names {
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.written.split_whitespace()
    }

    pub(crate) fn hints(&self) -> impl Iterator<Item = &'static str> {
        self.hints.split(',').filter(|hint| !hint.is_empty())
    }
}

/// The names that count as these do, without their signs.
pub(crate) fn counted(counts: Counts) -> impl Iterator<Item = (String, Kind)> {
    let rows = NAMES.iter().filter(move |names| names.counts == counts);
    rows.flat_map(|row| row.names().map(|name| (name.replace(['-', '_'], ""), row.kind)))
}

/// What the name of a field states about its value; names are compared without case, `-`, `_` and blanks.
pub(crate) fn by_name(name: &str, place: FieldContext) -> Option<Kind> {
    let mut short = [0; MAX_NAME];
    let (written, is_numbered) = (name, name.ends_with(|last: char| last.is_ascii_digit()));
    let name = folded(name, &mut short);
    match WHOLE.get(name) {
        Some((Parameter | RandomParameter, kind)) if place == FieldContext::Parameter => Some(*kind),
        Some((Never, _)) => None,
        Some((Whole | End | LastWord | NoWord | Random, kind)) => Some(*kind).filter(|kind| !kind.is_personal()),
        _ => {
            // The number of a label is none of the name.
            let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit() && is_numbered).count();
            let name = &name[..name.len() - digits];
            let ends = name.last().map(|last| &ENDS[usize::from(*last)]);
            let end = ends.and_then(|ends| ends.iter().find(|(end, _)| name.ends_with(end.as_bytes())));
            end.or_else(|| WORDS.iter().find(|(word, _)| ends_with_word(written, word))).map(|(_, kind)| *kind)
        }
    }
}

/// Whether a name is of several words, the last of which is this one.
fn ends_with_word(name: &str, word: &str) -> bool {
    let Some((before, last)) = name.len().checked_sub(word.len()).and_then(|at| name.split_at_checked(at)) else {
        return false;
    };
    let is_camel = last.starts_with(char::is_uppercase) && before.ends_with(char::is_lowercase);
    last.eq_ignore_ascii_case(word) && (is_camel || before.ends_with(['_', '-', '.', ' ']))
}

/// Whether a value under a name of [`by_name`] is one of the kind, by what it is itself.
pub(crate) fn selects(name: &str, kind: Kind, value: &[u8]) -> bool {
    let mut short = [0; MAX_NAME];
    match WHOLE.get(folded(name, &mut short)) {
        Some((Random | RandomParameter, _)) => kind::is_opaque(value),
        // Of several, one word is the name of a right or of a policy: `"secrets": "read"`, `"credentials": "include"`.
        Some((NoWord, _)) => !is_word(value),
        _ if name.ends_with(['s', 'S']) && kind != Kind::Password => !is_word(value),
        _ => !is_label(kind, value),
    }
}

/// Whether a value is a word, or two that a sign joins, in lower case.
fn is_word(value: &[u8]) -> bool {
    /// Longer than the words of settings.
    const MAX_WORD: usize = 20;
    value.len() < MAX_WORD && value.iter().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
}

/// Whether a value is the label of a field or the message of an error: several words that begin with a capital and have
/// no digits (`"token": "Token has expired"`). A phrase may be a password, unless it contains the word.
fn is_label(kind: Kind, value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let written = |character: char| character.is_alphabetic() || " .,:;!?'’()…-".contains(character);
    let says = |word: &str| word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("passw"));
    text.contains(' ')
        && text.starts_with(char::is_uppercase)
        && text.chars().all(written)
        && match kind {
            Kind::Password => text.split(' ').any(says),
            _ => !matches!(kind, Kind::Credential | Kind::Cookie | Kind::Basic | Kind::PrivateKey | Kind::Custom),
        }
}

/// Whether a value in a script or a template is the name of a variable: `$API_KEY`, `$password`, `${db.password}`,
/// `%API_KEY%`, `{{ token }}`. Without braces only letters count, in lower case only those that name a secret: a password
/// may begin with `$`, and `$2b$12$…` is a hash.
pub(crate) fn is_variable(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let inside = |before: &str, after: &str| text.strip_prefix(before)?.strip_suffix(after);
    if let Some(name) = inside("${{", "}}").or_else(|| inside("{{", "}}")).or_else(|| inside("${", "}")) {
        let name = name.trim_ascii();
        return !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    }
    let Some(name) = inside("%", "%").or_else(|| inside("$", "")) else { return false };
    let is = |is: fn(&u8) -> bool| name.len() > 1 && name.bytes().all(|byte| is(&byte) || byte == b'_');
    is(u8::is_ascii_uppercase) || is(u8::is_ascii_lowercase) && by_name(name, FieldContext::Member).is_some()
}

/// Whether a value under a name of [`by_name`] is one only if it looks random.
pub(crate) fn is_vague(name: &str) -> bool {
    let mut short = [0; MAX_NAME];
    matches!(WHOLE.get(folded(name, &mut short)), Some((Counts::Random | Counts::RandomParameter, _)))
}

static WHOLE: LazyLock<AHashMap<Vec<u8>, (Counts, Kind)>> = LazyLock::new(|| {
    let all = [Parameter, RandomParameter, Random, NoWord, LastWord, End, Whole, Never].into_iter();
    all.flat_map(|counts| counted(counts).map(move |(name, kind)| (name.into_bytes(), (counts, kind)))).collect()
});

/// Those that count as ends, by their last letter.
static ENDS: LazyLock<[Vec<(String, Kind)>; 256]> = LazyLock::new(|| {
    let mut ends = [const { Vec::new() }; 256];
    for (end, kind) in counted(End) {
        ends[usize::from(end.as_bytes()[end.len() - 1])].push((end, kind));
    }
    ends
});

static WORDS: LazyLock<Vec<(String, Kind)>> = LazyLock::new(|| counted(LastWord).collect());

/// The letters and digits of a name, in lower case.
fn folded<'a>(name: &str, short: &'a mut [u8; MAX_NAME]) -> &'a [u8] {
    let mut start = MAX_NAME;
    // From its end: of a long name (`https://a.example/claims/…/client_secret`) that is the part that counts.
    for byte in name.bytes().rev() {
        if byte.is_ascii_alphanumeric() {
            start -= 1;
            short[start] = byte.to_ascii_lowercase();
            if start == 0 {
                break;
            }
        }
    }
    &short[start..]
}

/// How much of a name's end is looked at, without its separators; longer than every name above.
pub(super) const MAX_NAME: usize = 64;

/// Members of a JSON Web Key (RFC 7518, section 6) that are private; they count beside a member `kty`.
pub(crate) const JWK_PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "k"];

/// Members beside which `code` in JSON is an authorization code.
pub(crate) const OAUTH: &[&str] = &["grant_type", "redirect_uri", "code_verifier", "client_secret", "session_state"];

/// Whether a member or a field may hold the name of an item.
pub(super) fn is_listed_name(name: &[u8]) -> bool {
    // The longest has nine letters, and every member is asked.
    name.len() < 10 && LISTED_NAMES.iter().any(|held| held.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether a member may hold the value of an item with a name beside it.
pub(crate) fn is_listed_value(name: &str) -> bool {
    LISTED_VALUES.iter().any(|held| held.eq_ignore_ascii_case(name))
}

#[rustfmt::skip]
const LISTED_NAMES: &[&str] = &[
    "name", "key", "k", "header", "field", "parameter", "param", "attribute", "property", "variable", "path", "pointer", "loc",
];

pub(super) const LISTED_VALUES: &[&str] = &["value", "values", "v"];

/// What the name of a field states about a person.
pub(crate) fn personal(name: &str) -> Option<Kind> {
    let mut short = [0; MAX_NAME];
    WHOLE.get(folded(name, &mut short)).map(|(_, kind)| *kind).filter(|kind| kind.is_personal())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::{header_names::by_header, hints::hints};

    /// A name as JSON, a form and a header field write it.
    fn spellings(name: &str) -> [String; 4] {
        let mut camel = String::new();
        for word in name.split(['_', '-']) {
            let (first, rest) = word.split_at(usize::from(!camel.is_empty()));
            camel += &(first.to_ascii_uppercase() + rest);
        }
        [name.to_owned(), camel, name.replace('_', "-"), name.to_ascii_uppercase()]
    }

    #[test]
    fn every_name_counts_where_its_row_says_and_the_quick_look_sees_it() {
        let is_seen = |text: String| hints(text.as_bytes()).is_some_and(|hints| hints.field || hints.person);
        for row in NAMES {
            assert!(!row.source.is_empty());
            let is_person = row.kind.is_personal();
            for name in row.names().flat_map(spellings) {
                let (member, parameter) =
                    (by_name(&name, FieldContext::Member), by_name(&name, FieldContext::Parameter));
                let kind = Some(row.kind);
                match row.counts {
                    Whole if is_person => assert_eq!(personal(&name), kind, "{name}"),
                    Whole | End | LastWord | NoWord | Random => assert_eq!((member, parameter), (kind, kind), "{name}"),
                    Parameter | RandomParameter => assert_eq!((member, parameter), (None, kind), "{name}"),
                    Header if name.contains(char::is_uppercase) => continue,
                    Header => assert_eq!(by_header(&format!("x-{name}-x")), kind, "{name}"),
                    Never => assert_eq!((member, parameter), (None, None), "{name}"),
                    Segment => {}
                }
                let is_random = matches!(row.counts, Random | RandomParameter);
                assert!(row.counts == Header || is_vague(&name) == is_random, "{name}");
                if row.counts == LastWord {
                    assert_eq!(by_name(&format!("my_{name}"), FieldContext::Member), kind, "{name}");
                    assert_eq!(by_name(&format!("com{name}").to_ascii_lowercase(), FieldContext::Member), None);
                }
                if row.counts == End {
                    assert_eq!(by_name(&format!("my_{name}2"), FieldContext::Member), kind, "{name}");
                }
                let is_hinted = match row.counts {
                    Never => true,
                    Segment => is_seen(format!("/{name}/x")) || name.contains(char::is_uppercase),
                    _ => is_seen(format!("{{\"{name}\":\"x\"}}")) && is_seen(format!("a=b&{name}=x")),
                };
                assert!(is_hinted, "{name}");
            }
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
    fn a_variable_is_told_from_a_password_or_a_hash_that_begins_with_its_sign() {
        for variable in [
            "$API_KEY",
            "$client_secret",
            "$password",
            "${TOKEN}",
            "${db.password}",
            "${t2}",
            "%CLIENT_SECRET%",
            "{{token}}",
            "{{ .Values.api-key }}",
            "${{ secrets.TOKEN }}",
        ] {
            assert!(is_variable(variable.as_bytes()), "{variable}");
        }
        for secret in [
            "$2b$12$abcdefghijklmnopqrstuv",
            "$argon2id$v=19$m=65536",
            "$ecret-Pa55",
            "$ecret",
            "$Secret",
            "$password1",
            "$A1B2C3D4E5F6",
            "$",
            "$P",
            "${PASSWORD:-hunter2}",
            "${}",
            "{{}}",
            "{{\"hunter2\"}}",
            "%2Fa%",
            "%abc%",
            "${A}${B}",
            "$A$B",
            "a$PASSWORD",
            "{token}",
        ] {
            assert!(!is_variable(secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn a_code_is_a_secret_in_a_form_and_an_error_name_in_json() {
        assert_eq!(by_name("code", FieldContext::Parameter), Some(Kind::Code));
        assert_eq!(by_name("code", FieldContext::Member), None);
    }
}
