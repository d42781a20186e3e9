//! Answers whose length is ambiguous (RFC 9112, section 6.3).

use http::{HeaderMap, Version, header};

/// Refuses an answer whose length is ambiguous, and merges a repeated `Content-Length`.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn normalize_framing(version: Version, headers: &mut HeaderMap) -> Result<(), &'static str> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let chunked = match (codings.next(), codings.next()) {
        (None, _) => false,
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => true,
        _ => return Err("its Transfer-Encoding is not exactly one `chunked`"),
    };
    if chunked && version == Version::HTTP_10 {
        return Err("it has a Transfer-Encoding in HTTP/1.0");
    }
    let lengths = headers.get_all(header::CONTENT_LENGTH);
    let Some(first) = lengths.iter().next() else { return Ok(()) };
    if chunked {
        return Err("it has both Content-Length and Transfer-Encoding");
    }
    let differs = |other| other != first;
    if first.is_empty() || !first.as_bytes().iter().all(u8::is_ascii_digit) || lengths.iter().any(differs) {
        return Err("it has no one Content-Length");
    }
    if lengths.iter().nth(1).is_some() {
        let first = first.clone();
        headers.insert(header::CONTENT_LENGTH, first);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn normalized(version: Version, fields: &[(HeaderName, &'static str)]) -> Result<usize, &'static str> {
        let mut headers: HeaderMap =
            fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        normalize_framing(version, &mut headers).map(|()| headers.len())
    }

    #[test]
    fn an_answer_states_its_end_in_one_way() {
        let (length, coding) = (header::CONTENT_LENGTH, header::TRANSFER_ENCODING);
        let new = Version::HTTP_11;
        assert_eq!(normalized(new, &[]), Ok(0));
        assert_eq!(normalized(new, &[(length.clone(), "5"), (length.clone(), "5")]), Ok(1));
        assert_eq!(normalized(new, &[(coding.clone(), "Chunked")]), Ok(1));
        for fields in [
            &[(length.clone(), "5"), (length.clone(), "6")][..],
            &[(length.clone(), "5, 5")],
            &[(length.clone(), "+5")],
            &[(length.clone(), "")],
            &[(length.clone(), "5"), (coding.clone(), "chunked")],
            &[(coding.clone(), "chunked"), (coding.clone(), "chunked")],
            &[(coding.clone(), "gzip, chunked")],
            &[(coding.clone(), "identity")],
            &[(coding.clone(), "xchunked")],
        ] {
            assert!(normalized(new, fields).is_err(), "{fields:?}");
        }
        assert!(normalized(Version::HTTP_10, &[(coding, "chunked")]).is_err());
    }
}
