//! The parent of a span: the `traceparent` of a request (W3C Trace Context, section 3.2).

use contrail_exchange::Headers;

/// The span of the client, as it names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    pub(super) flags: u8,
}

impl Parent {
    /// That of a request; `None` if it names none, several, or one that is malformed.
    pub(super) fn of(headers: &Headers) -> Option<Self> {
        let mut all = headers.get_all("traceparent");
        let only = all.next().filter(|_| all.next().is_none())?;
        Self::parse(only.as_bytes())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // VERSION-TRACE-SPAN-FLAGS; a later version may have more behind it.
        let (known, more) = text.split_at_checked(55)?;
        let dashes = [2, 35, 52].iter().all(|at| known[*at] == b'-');
        let version: [u8; 1] = bytes(&known[..2])?;
        let fits = match version {
            [0] => more.is_empty(),
            [0xff] => false,
            _ => more.first().is_none_or(|next| *next == b'-'),
        };
        let (trace, span) = (bytes(&known[3..35])?, bytes(&known[36..52])?);
        let [flags] = bytes(&known[53..])?;
        (dashes && fits && trace != [0; 16] && span != [0; 8]).then_some(Self { trace, span, flags })
    }
}

/// Bytes as hexadecimal digits, in lower case.
fn bytes<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = digits.as_chunks::<2>();
    let mut bytes = [0; N];
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn parent(values: &[&str]) -> Option<Parent> {
        let field = |value: &&str| (HeaderName::from_static("traceparent"), HeaderValue::from_str(value).unwrap());
        Parent::of(&values.iter().map(field).collect())
    }

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn a_valid_traceparent_names_a_trace_a_span_and_flags() {
        let found = parent(&[&format!("00-{TRACE}-{SPAN}-01")]).unwrap();
        assert_eq!((found.trace[0], found.trace[15], found.span[0], found.flags), (0x0a, 0x9c, 0xb7, 1));
        // A later version may say more.
        assert_eq!(parent(&[&format!("42-{TRACE}-{SPAN}-01-more")]), Some(found));
        assert_eq!(parent(&[&format!("42-{TRACE}-{SPAN}-01")]), Some(found));
    }

    #[test]
    fn a_malformed_traceparent_names_nothing() {
        for text in [
            String::new(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("42-{TRACE}-{SPAN}-01more"),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00_{TRACE}_{SPAN}_01"),
            format!("0x-{TRACE}-{SPAN}-01"),
        ] {
            assert_eq!(parent(&[&text]), None, "{text}");
        }
        let valid = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!((parent(&[&valid, &valid]), parent(&[])), (None, None));
    }
}
