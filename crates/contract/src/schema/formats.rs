//! Formats that the judge asserts besides JSON Schema's own.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
    sync::Arc,
};

use jsonschema::{Retrieve, ValidationOptions};

use crate::schema::represent::Tape;

/// Formats that are asserted: those of Draft 2020-12, OpenAPI's integers and base64, and the tenant's. Any other is an
/// annotation.
pub const ASSERTED_FORMATS: [&str; 27] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "strict-https-uri",
    "byte",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
];

/// Whether a format restricts values in a way that contrail does not check, so that a choice may turn on it.
pub(super) fn is_undecided(format: &str) -> bool {
    let describes = matches!(format, "password" | "float" | "double" | "binary" | "commonmark" | "html");
    !describes && !ASSERTED_FORMATS.contains(&format)
}

/// Adds OpenAPI's format of texts, and those of the tenant's documentation. `rate-limit-policy-id` asserts nothing (its
/// grammar is not shown), so it is not here.
pub(super) fn register(
    options: ValidationOptions<'_, Arc<dyn Retrieve>, Tape>,
) -> ValidationOptions<'_, Arc<dyn Retrieve>, Tape> {
    options.with_format("strict-https-uri", is_https_uri).with_format("byte", |text: &str| is_base64(text.as_bytes()))
}

/// Base64 (OpenAPI 3.0.4, section 4.4: "base64 encoded data as per RFC4648"). Padding may lack and lines may break, since
/// earlier versions cite no grammar.
fn is_base64(text: &[u8]) -> bool {
    let (mut digits, mut padding) = (0, 0);
    for byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => digits += 1,
            b'=' => padding += 1,
            b'\r' | b'\n' => {}
            _ => return false,
        }
    }
    if padding == 0 { digits % 4 != 1 } else { padding < 3 && (digits + padding) % 4 == 0 }
}

/// An absolute URI (RFC 3986) with scheme https and a host; nothing more.
fn is_https_uri(text: &str) -> bool {
    let Ok(uri) = jsonschema::Uri::parse(text) else { return false };
    uri.scheme().as_str().eq_ignore_ascii_case("https")
        && uri.authority().is_some_and(|authority| !authority.host().is_empty())
}

/// Whether a text conforms to a format, by a look at its bytes; `None` leaves it to the judge.
pub(super) type Look = fn(&[u8]) -> Option<bool>;

/// The look at texts of a format. It decides about most that come by.
pub(super) fn look(format: &str) -> Look {
    match format {
        "date-time" => |text| is_plain_date_time(text).then_some(true),
        "strict-https-uri" => |text| is_plain_https_uri(text).then_some(true),
        "byte" => |text| Some(is_base64(text)),
        "ipv4" => |text| Some(parses::<Ipv4Addr>(text)),
        "ipv6" => |text| Some(parses::<Ipv6Addr>(text)),
        _ => |_| None,
    }
}

fn parses<T: FromStr>(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<T>().is_ok())
}

/// `2026-11-21T03:04:05Z`, with or without a fraction; no day beyond the 28th, no leap second.
fn is_plain_date_time(text: &[u8]) -> bool {
    let Some((instant, rest)) = text.split_at_checked(19) else { return false };
    let digits = |from: usize, most: u8| {
        let (tens, ones) = (instant[from].wrapping_sub(b'0'), instant[from + 1].wrapping_sub(b'0'));
        tens < 10 && ones < 10 && tens * 10 + ones <= most
    };
    let has = |from: usize| instant[from] != b'0' || instant[from + 1] != b'0';
    let shape = [instant[4], instant[7], instant[10], instant[13], instant[16]] == *b"--T::";
    let date = digits(0, 99) && has(0) && digits(2, 99) && digits(5, 12) && has(5) && digits(8, 28) && has(8);
    let time = digits(11, 23) && digits(14, 59) && digits(17, 59);
    let zone = match rest {
        [b'Z'] => true,
        [b'.', fraction @ .., b'Z'] => !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    shape && date && time && zone
}

/// `https://`, a name, and a path without anything special.
fn is_plain_https_uri(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"https://") else { return false };
    let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')).count();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~');
    name > 0 && rest.get(name).is_none_or(|byte| *byte == b'/') && rest[name..].iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{ASSERTED_FORMATS, is_base64, is_https_uri, look};
    use crate::schema::judge;
    use crate::schema::represent::TapeNode;

    proptest! {
        #[test]
        fn a_look_at_a_text_decides_as_the_judge_does(
            text in prop_oneof![
                "[0-9]{1,3}(\\.[0-9]{1,3}){3}",
                "([0-9a-f]{0,4}:){1,8}([0-9a-f]{0,4}|1\\.2\\.3\\.[0-9]{1,3})",
                "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,3})?Z?",
                "https?://[a-z.:-]{0,9}(/[a-z%?# ~.]{0,9})?",
                "[A-Za-z0-9+/]{0,9}={0,3}\n?",
                "\\PC{0,9}",
            ],
        ) {
            for format in ASSERTED_FORMATS {
                let judge = judge::asserting_formats().build(&json!({ "format": format })).unwrap();
                if let Some(holds) = look(format)(text.as_bytes()) {
                    prop_assert_eq!(holds, judge.is_valid(TapeNode::Text(&text)), "{}", format);
                }
            }
        }
    }

    #[test]
    fn base64_has_digits_of_its_alphabet_in_groups_of_four() {
        for good in ["", "YQ==", "YWI=", "YWJj", "YQ", "+/+/", "YWJj\r\nYWJj"] {
            assert!(is_base64(good.as_bytes()), "{good:?}");
        }
        for bad in ["Y", "YQ=", "YQ===", "=", "Y=Q=", "-_-_", "YW J", "é===", "YWJjY==="] {
            assert!(!is_base64(bad.as_bytes()), "{bad:?}");
        }
    }

    #[test]
    fn a_strict_https_uri_is_absolute_and_has_a_host() {
        for good in [
            "https://a.example",
            "https://a.example/x?y=z#f",
            "HTTPS://A.example:8443/",
            "https://user@[::1]/",
            "https://10.0.0.1",
            "https://a.example/%7Bx%7D",
        ] {
            assert!(is_https_uri(good), "{good}");
        }
        for bad in [
            "",
            "http://a.example",
            "https:",
            "https:///x",
            "https:a.example",
            "//a.example",
            "a.example",
            "/x",
            "https://a b.example",
            "https://a.example/{x}",
            "https://a.example/ä",
            " https://a.example",
            "https://a.example/%zz",
            "ftps://a.example",
            "https://:443/",
        ] {
            assert!(!is_https_uri(bad), "{bad}");
        }
    }
}
