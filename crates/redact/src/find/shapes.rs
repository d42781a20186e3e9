//! What a secret looks like wherever it stands: tokens, keys, credentials. The expressions run
//! only where [`super::hints`] says that a text can hold any.

use std::ops::Range;

use super::formats;
use crate::{
    kind::{self, Kind},
    label, runs,
};

expression!(
    PEM,
    r"(?-u)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)"
);
expression!(SCHEME, r"(?i-u)\b(bearer|basic|dpop|token|negotiate|ntlm)[ \t]+([A-Za-z0-9._~+/!-]{8,}=*)");
// Passwords before the `@` of what is no URL: of Oracle's driver for Java, and of MySQL's for Go.
expression!(DRIVER, r#"(?-u)(?:jdbc:oracle:[a-z0-9]+:[^\s/"@]+/([^\s"@]+)@|:([^\s"@]+)@(?:tcp|unix)\()"#);
// `{"` begins like this in base64url; letters that adjoin a token do not hide it.
expression!(JWT, r"(?-u)eyJ[0-9A-Za-z_-]{13,}(?:\.+[0-9A-Za-z_-]+)+");
/// Texts of which each of these shapes holds one.
pub(crate) const WORDS: &[&str] =
    &["PRIVATE KEY", "bearer", "basic", "eyj", "negotiate ", "ntlm ", "jdbc:oracle", "@tcp(", "@unix("];

/// Texts of which each telephone number and address holds one.
pub(crate) const PERSONAL_WORDS: &[&str] = &["@", "\"+"];

/// Secrets in a text by their shape, as it stands (no coding undone).
///
/// Where only the text around a value says that it is one, a value that holds a label was read before: the label took
/// what was secret of it, and maybe the place where it ended.
pub(crate) fn find(text: &[u8], mut emit: impl FnMut(Range<usize>, Kind)) {
    PEM.find_iter(text).for_each(|hit| emit(hit.range(), Kind::PrivateKey));
    JWT.find_iter(text).for_each(|hit| emit(hit.range(), Kind::Token));
    if memchr::memchr(b'@', text).is_some() {
        let passwords = DRIVER.captures_iter(text).filter_map(|hit| hit.get(1).or_else(|| hit.get(2)));
        let new = passwords.filter(|password| !label::holds(password.as_bytes()));
        new.for_each(|password| emit(password.range(), Kind::Password));
    }
    formats::find(text, |range| emit(range, Kind::ApiKey));
    for hit in SCHEME.captures_iter(text) {
        let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
        if name.as_bytes().eq_ignore_ascii_case(b"basic") {
            let is_credential = |(user, password): (Vec<u8>, Vec<u8>)| !password.is_empty() || kind::is_opaque(&user);
            if runs::basic(value.as_bytes()).is_some_and(is_credential) {
                emit(value.range(), Kind::Basic);
            }
        } else if kind::is_opaque(value.as_bytes()) {
            emit(value.range(), Kind::Token);
        }
    }
    find_users(text, emit);
}

// Users and passwords before the `@` of an address: up to the last `@` before the path, as the URL standard reads it.
// Other readers take a `/` for a part of the password. A port is none.
expression!(
    ADDRESS,
    r#"(?x-u)[A-Za-z0-9+.-]://(?:
        ([^\s"<>/:@']*) (?: :((?:[0-9]+[^0-9/'\s"<>] | [^0-9/\s"<>]) [^/\s"<>]* | [0-9]*) | @[^/\s"<>]* )?
        | ([^\s"<>/:@'\[]*) :((?:[0-9]+[^0-9/'\s"<>@] | [^0-9\s"<>@]) [^\s"<>@]*)
    )@"#
);

/// Users and passwords of addresses. A user is a secret if it looks random and has no password, or one that is no secret.
fn find_users(text: &[u8], mut emit: impl FnMut(Range<usize>, Kind)) {
    for hit in ADDRESS.captures_iter(text) {
        let user = hit.get(1).or_else(|| hit.get(3));
        let password = hit.get(2).or_else(|| hit.get(4)).filter(|password| !password.is_empty());
        let is_bare = password.is_none_or(|password| kind::is_constant(password.as_bytes()));
        let user = user.filter(|user| is_bare && kind::is_opaque(user.as_bytes()));
        for (found, kind) in [(user, Kind::Token), (password, Kind::Password)] {
            if let Some(found) = found.filter(|found| !label::holds(found.as_bytes())) {
                emit(found.range(), kind);
            }
        }
    }
}

expression!(EMAIL, r"(?-u)[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63})+");

/// Personal data in a text by its shape.
pub(crate) fn find_personal(text: &[u8], mut emit: impl FnMut(Range<usize>, Kind)) {
    EMAIL.find_iter(text).for_each(|hit| emit(hit.range(), Kind::Email));
    if is_phone(text) {
        emit(0..text.len(), Kind::Phone);
    }
}

expression!(
    ACCOUNT,
    r"(?-u)\b(?:(?:[0-9][ -]?){12,18}[0-9]|[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?)\b"
);

/// Numbers of cards and of bank accounts (IBAN) in a text, in groups or not.
pub(crate) fn find_accounts(text: &[u8], mut emit: impl FnMut(Range<usize>, Kind)) {
    ACCOUNT.find_iter(text).filter(|hit| is_account(hit.as_bytes())).for_each(|hit| emit(hit.range(), Kind::Card));
}

/// Whether a number is that of a card (ISO/IEC 7812) or of a bank account (ISO 13616), by its check digits.
pub(crate) fn is_account(number: &[u8]) -> bool {
    let number: Vec<u8> = number.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    if !number.iter().all(u8::is_ascii_digit) {
        let digits = number.iter().skip(4).chain(number.iter().take(4)).map(|byte| match byte {
            b'0'..=b'9' => (10, u32::from(byte - b'0')),
            _ => (100, u32::from(byte.to_ascii_uppercase()).saturating_sub(55)),
        });
        return digits.fold(0, |rest, (times, digit)| (rest * times + digit) % 97) == 1;
    }
    let twice = |(at, byte): (usize, &u8)| match u32::from(byte - b'0') << (at % 2) {
        over @ 10.. => over - 9,
        digit => digit,
    };
    let sum: u32 = number.iter().rev().enumerate().map(twice).sum();
    // What the issuers of cards begin a number with.
    let is_issued = matches!(&number[..], [b'4', ..] | [b'2' | b'5', b'1'..=b'7', ..] | [b'3', b'0' | b'4'..=b'9', ..])
        || matches!(&number[..], [b'6', b'0' | b'2' | b'4' | b'5', ..]);
    (13..=19).contains(&number.len()) && sum.is_multiple_of(10) && is_issued
}

/// Whether all of a text is a telephone number with its country's.
fn is_phone(text: &[u8]) -> bool {
    let [b'+', b'0'..=b'9', inner @ .., b'0'..=b'9'] = text else { return false };
    (6..=18).contains(&inner.len()) && inner.iter().all(|byte| byte.is_ascii_digit() || b" ().-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find::hints::hints, tests::steps::holds_linear};
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    fn all(text: &str) -> Vec<(String, Kind)> {
        let mut out = Vec::new();
        find(text.as_bytes(), |range, kind| out.push((text[range].to_owned(), kind)));
        assert!(out.is_empty() || hints(text.as_bytes()).unwrap().shape, "the quick look missed {text}");
        out
    }

    #[test]
    fn private_keys_are_secrets_and_certificates_are_not() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        assert_eq!(all(&format!("a {key} b")), [(key.to_owned(), Kind::PrivateKey)]);
        assert_eq!(all("-----BEGIN PRIVATE KEY-----\nMIIEcut")[0].0.len(), 35);
        assert!(all("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----").is_empty());
    }

    #[test]
    fn a_token_is_found_behind_any_letters_and_without_the_dots_that_end_a_sentence() {
        let token = format!("{}.e30.c2ln", BASE64_STANDARD.encode(r#"{"alg":"RS256"}"#));
        for before in ["", "x", "xy", "a.b.", "eyebrow."] {
            for after in ["", ".", "...", " and", "&x=1"] {
                let text = format!("{before}{token}{after}");
                assert!(all(&text).contains(&(token.clone(), Kind::Token)), "{text}");
            }
        }
        for none in ["eyebrow-model.example.com", "eyJhbGciOiJSUzI1NiJ9"] {
            assert!(all(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn credentials_in_prose_are_found_and_prose_is_not() {
        assert_eq!(all("Bearer abcdef0123456789")[0].0, "abcdef0123456789");
        assert_eq!(all("basic dXNlcjpwYXNzd29yZA==")[0], ("dXNlcjpwYXNzd29yZA==".to_owned(), Kind::Basic));
        assert_eq!(all("postgres://app:hunter2@db/x")[0].0, "hunter2");
        assert_eq!(all("postgres://app:hun/ter2@db/x")[0].0, "hun/ter2");
        assert_eq!(all("jdbc:oracle:thin:scott/tiger@//h:1521/x")[0].0, "tiger");
        assert_eq!(all("dsn=app:hun:ter2@tcp(h:3306)/db")[0].0, "hun:ter2");
        assert_eq!(all("WWW-Authenticate: Negotiate YII0abcd1234")[0].0, "YII0abcd1234");
        // A scheme that something else touches.
        assert_eq!(all("abcdefghijklmnopqrstuvwxyz1https://me:hunter2@h/x")[0].0, "hunter2");
        assert_eq!(all("key ghp_0123456789abcdefghijABCDEFGHIJ012345!")[0].1, Kind::ApiKey);
        for prose in [
            "Bearer authentication is required",
            "basic knowledge",
            "https://tenant.example/a:b",
            "a sk-8",
            "http://h:80/a@b",
            "http://[::1]:80/a@b",
            "['http://h:80','a@b']",
            "['http://host-0123456','ann@b']",
        ] {
            assert!(all(prose).is_empty(), "{prose}");
        }
    }

    #[test]
    fn a_user_and_a_password_before_a_host_are_secrets_whatever_their_length() {
        let token = "9f8e7d6c5b4a39281706abcd";
        for password in ["", "x", "x-oauth-basic", "api_token"] {
            let found = all(&format!("see https://{token}:{password}@h/x, or https://h/y"));
            let expected = [token, password].map(str::to_owned).into_iter().filter(|text| !text.is_empty());
            assert_eq!(found.into_iter().map(|(text, _)| text).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            let coded = BASE64_STANDARD.encode(format!("{token}:{password}"));
            assert_eq!(all(&format!("basic {coded}"))[0].0, coded);
        }
        let long = "Xk9mT2vLqB7nR4wZ8".repeat(100);
        for (text, secret) in [
            (format!("https://{long}@h/x"), &*long),
            (format!("https://AWS:{long}@h/x"), &long),
            (format!("https://{}:hunter2@h/x", "user".repeat(100)), "hunter2"),
            (format!("https://me:{long}/x@h/x"), &format!("{long}/x")),
            ("https://me:it's@h/x".to_owned(), "it's"),
            ("https://client-0123456:hunter2@h/x".to_owned(), "hunter2"),
            ("a://b c://me:hunter2@h".to_owned(), "hunter2"),
        ] {
            assert_eq!(all(&text).into_iter().map(|(text, _)| text).collect::<Vec<_>>(), [secret], "{text}");
        }
    }

    #[test]
    fn addresses_are_read_in_time_that_grows_with_the_text_and_no_faster() {
        for piece in ["a://", "a://b:c/", "a://b@", "a://b:80/x@", "a://b:c/d@", "a://'@", "://"] {
            holds_linear(piece, |text| find(text, |_, _| {}));
        }
    }

    #[test]
    fn numbers_of_cards_and_accounts_are_known_by_their_check_digits() {
        let found = |text: &str| {
            let mut out = Vec::new();
            find_accounts(text.as_bytes(), |range, _| out.push(text[range].to_owned()));
            out
        };
        for number in [
            "4242424242424242",
            "4242 4242 4242 4242",
            "5555-5555-5555-4444",
            "378282246310005",
            "DE89370400440532013000",
            "GB29 NWBK 6016 1331 9268 19",
        ] {
            assert_eq!(found(&format!("pay with {number}, please")), [number]);
        }
        for text in ["4242424242424243", "1700000000000000", "1234567890123452", "DE88370400440532013000", "AB12 WORD"]
        {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn addresses_and_telephone_numbers_are_personal() {
        let found = |text: &str| {
            let mut out = Vec::new();
            find_personal(text.as_bytes(), |range, kind| out.push((text[range].to_owned(), kind)));
            out
        };
        assert_eq!(found("to <jane.roe@mail.example.com>,"), [("jane.roe@mail.example.com".to_owned(), Kind::Email)]);
        assert_eq!(found("+49 151 23456789"), [("+49 151 23456789".to_owned(), Kind::Phone)]);
        for text in ["a@b", "@example.com", "a @ b.example", "+49 151 2345678901234567", "call +49 151 23456789"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_a_label_was_put_into_was_read_before() {
        for text in ["Bearer abcde!private-key-1!", "https://me:za55&client_secret=!password-2!@h/x"] {
            assert!(all(text).is_empty(), "{text}");
        }
    }
}
