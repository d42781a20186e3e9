//! Requests that no proxy should pass on.

use http::{HeaderValue, Method, StatusCode, Version, header, request::Parts, uri::Scheme};

use super::hop;
use crate::{
    host::is_authority,
    upstream::Problem,
    wire::head::{DISGUISED, is_framing_in_disguise},
};

/// Refuses a request that two readers could take for different ones, and one that must go no further.
///
/// # Errors
///
/// The answer that the client gets.
pub(crate) fn acceptable(head: &Parts) -> Result<(), Problem> {
    if head.method == Method::CONNECT {
        return Err(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "connect-refused",
            "this listener is a reverse proxy and opens no tunnels; send requests to it directly",
        )
        .closing());
    }
    let fault = host_fault(head).or_else(|| http2_fault(head));
    if let Some(fault) = fault {
        return Err(bad(fault));
    }
    if hop::forwards_left(&head.method, &head.headers) == Some(0) {
        let detail = "Max-Forwards is 0, so this request ends at contrail, which offers nothing itself";
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "max-forwards", detail));
    }
    framing_fault(head).map_or(Ok(()), |fault| Err(bad(fault)))
}

fn bad(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad-request", detail).closing()
}

fn host_fault(head: &Parts) -> Option<&'static str> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Some("more than one Host header"),
        (None, None) if head.version == Version::HTTP_11 => Some("no Host header"),
        // An empty Host is for targets that bring their own authority, or have none (RFC 9110, section 7.2).
        (Some(host), None) if host.is_empty() && (head.uri.authority().is_some() || head.uri.path() == "*") => None,
        (Some(host), None) if !is_authority(host.as_bytes()) => Some("the Host header names no host"),
        (None, None) if head.version == Version::HTTP_2 && head.uri.authority().is_none() => {
            Some("neither `:authority` nor a Host header")
        }
        _ => None,
    }
}

fn http2_fault(head: &Parts) -> Option<&'static str> {
    if head.version != Version::HTTP_2 {
        return None;
    }
    if head.uri.authority().is_some_and(|authority| !is_authority(authority.as_str().as_bytes())) {
        return Some("`:authority` names no host");
    }
    if head.uri.scheme().is_some_and(|scheme| *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS) {
        return Some("`:scheme` is neither http nor https");
    }
    if head.uri.path() == "*" && head.method != Method::OPTIONS {
        return Some("only OPTIONS has the target `*`");
    }
    if head.headers.keys().any(|name| is_framing_in_disguise(name.as_str().as_bytes())) {
        return Some(DISGUISED);
    }
    // RFC 9113, section 8.2.1.
    let padded = |value: &HeaderValue| value.as_bytes().trim_ascii().len() < value.len();
    head.headers.values().any(padded).then_some("a header field's value begins or ends with white space")
}

fn framing_fault(head: &Parts) -> Option<&'static str> {
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => {}
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {}
        _ => return Some("Transfer-Encoding has to be exactly one `chunked`"),
    }
    let mut lengths = head.headers.get_all(header::CONTENT_LENGTH).iter();
    match (lengths.next(), lengths.next()) {
        (None, _) => None,
        (Some(length), None) if length.as_bytes().iter().all(u8::is_ascii_digit) => None,
        _ => Some("Content-Length has to be one number"),
    }
}
