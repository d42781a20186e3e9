//! Reads queries, forms and JSON bodies of requests strictly, without the contract's parsers.

use std::collections::HashSet;

use bytes::Bytes;
use contrail_exchange::json::{Document, Kind, Node};
use http::{StatusCode, header};

use super::message::{Answer, Ask};

/// Names and values of a query or a form, decoded.
pub(super) type Pairs = Vec<(String, String)>;

/// A request body with fields.
#[derive(Debug)]
pub(super) enum Fields {
    /// A JSON object.
    Json(Document),
    /// A form.
    Form(Pairs),
}

/// Reads `application/x-www-form-urlencoded` text: `+` is a space, every `%` begins two hex digits, the rest is UTF-8,
/// and no name comes twice.
pub(super) fn pairs(text: &str) -> Result<Pairs, String> {
    let mut pairs = Pairs::new();
    let mut names = HashSet::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let fault = || "a name or value is not percent-encoded UTF-8".to_owned();
        let name = unescape(name, true).ok_or_else(fault)?;
        let value = unescape(value, true).ok_or_else(fault)?;
        if !names.insert(name.clone()) {
            return Err(format!("`{name}` is repeated"));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// Undoes percent-encoding; `None` if it is broken or gives no UTF-8.
pub(super) fn unescape(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

/// Reads the body of an operation that takes JSON or a form.
pub(super) fn read(ask: &Ask<'_>) -> Result<Fields, Box<Answer>> {
    let bad = |message: &str| Box::new(Answer::refusal(StatusCode::BAD_REQUEST, message));
    if ask.body.is_empty() {
        return Err(bad("Payload validation error: a body is expected"));
    }
    if ask.headers.contains_key(header::CONTENT_ENCODING) {
        let message = "Send the body without a content coding";
        return Err(Answer::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).into());
    }
    let media = ask.header(header::CONTENT_TYPE).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") {
        let document = parse(ask.body.clone()).map_err(|message| bad(&message))?;
        if document.root().kind() != Kind::Object {
            return Err(bad("Payload validation error: the body is no JSON object"));
        }
        Ok(Fields::Json(document))
    } else if media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let text = std::str::from_utf8(ask.body).map_err(|_| bad("Payload validation error: not UTF-8"))?;
        let pairs = pairs(text).map_err(|message| bad(&format!("Payload validation error: {message}")))?;
        Ok(Fields::Form(pairs))
    } else {
        let message = "Send application/json or application/x-www-form-urlencoded";
        Err(Answer::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).into())
    }
}

/// Reads JSON text.
pub(super) fn parse(text: impl Into<Bytes>) -> Result<Document, String> {
    Document::parse(text).map_err(|error| format!("Payload validation error: not JSON from byte {} on", error.offset))
}

/// Whether a JSON number is an integer by value: `5.0`, `1e3` and `-0.0` are, `1e-1` is not.
pub(super) fn is_integer(number: Node<'_>) -> bool {
    let Some(text) = number.as_number() else { return false };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: String = whole.trim_start_matches('-').chars().chain(fraction.chars()).collect();
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return true;
    }
    // The value is digits × 10^(exponent − fraction.len()); trailing zeros of the digits lift the last one.
    let lift = digits.len() - significant.len();
    let shift = i128::try_from(lift).unwrap_or(i128::MAX) - i128::try_from(fraction.len()).unwrap_or(i128::MAX);
    match exponent.parse::<i64>() {
        Ok(exponent) => shift.saturating_add(i128::from(exponent)) >= 0,
        Err(_) => !exponent.starts_with('-'),
    }
}

/// Whether text is an integer as a query or a form writes one: no sign but minus, no leading zero.
pub(super) fn is_integer_text(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|digit| digit.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'))
        && !digits.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_out_of_a_query_as_it_went_in() {
        let read = pairs("from=%2B%2B%2F%2F0%3D&take=5").unwrap();
        assert_eq!(read, [("from".into(), "++//0=".into()), ("take".into(), "5".into())]);
    }

    #[test]
    fn a_plus_is_a_space_in_a_query_and_itself_in_a_path() {
        assert_eq!(unescape("a+b", true).unwrap(), "a b");
        assert_eq!(unescape("a+b", false).unwrap(), "a+b");
    }

    #[test]
    fn a_broken_escape_or_encoding_is_refused() {
        for text in ["%", "%2", "%G0", "%+1", "%FF"] {
            assert_eq!(unescape(text, true), None, "{text}");
        }
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        assert_eq!(pairs("a=1&%61=2").unwrap_err(), "`a` is repeated");
    }

    #[test]
    fn a_number_is_an_integer_by_its_value() {
        let whole = ["0", "-0.0", "5.0", "1e3", "1.5e1", "150e-1", "1e400", "0e-9", "1E+99999999999999999999"];
        let broken = ["0.5", "1e-1", "15e-2", "1.25e1", "1e-99999999999999999999"];
        for (texts, expected) in [(&whole[..], true), (&broken[..], false)] {
            for text in texts {
                let document = Document::parse((*text).to_owned()).unwrap();
                assert_eq!(is_integer(document.root()), expected, "{text}");
            }
        }
    }

    #[test]
    fn an_integer_in_a_query_has_no_plus_no_point_and_no_leading_zero() {
        for text in ["0", "7", "-3", "100"] {
            assert!(is_integer_text(text), "{text}");
        }
        for text in ["", "-", "+5", "05", "5.0", "1e3", " 5", "-01", "٣"] {
            assert!(!is_integer_text(text), "{text}");
        }
    }
}
