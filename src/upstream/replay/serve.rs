//! A recorded response, made ready to go out.

use bytes::Bytes;
use http::{HeaderName, Method, header};

use crate::exchange::{Exchange, Headers, Presence};

/// What goes to the client.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Header fields in recorded order, repeats apart; a `Content-Length` that is right, where there is one.
    pub headers: Headers,
    /// The body.
    pub body: Bytes,
}

/// Why an exchange is never served; `None` if it can be.
pub(super) fn unfit(exchange: &Exchange) -> Option<String> {
    if let Some(who) = &exchange.transport.answered_by_contrail {
        return Some(format!("contrail answered it itself ({who}), not the tenant"));
    }
    if let Some(why) = &exchange.transport.incomplete {
        return Some(format!("the recorded exchange is not whole: {why}"));
    }
    let Some(response) = &exchange.response else { return Some("no answer was recorded".to_owned()) };
    if response.status == 101 {
        return Some("the recorded answer switched the protocol, and what followed was not recorded".to_owned());
    }
    if !(200..=999).contains(&response.status) {
        return Some(format!("no answer was recorded (status {})", response.status));
    }
    if is_bodiless(&exchange.request.method, response.status) {
        return None;
    }
    match &response.body.presence {
        Presence::Whole => None,
        Presence::Truncated { kept, total: Some(total) } => {
            Some(format!("only {kept} of {total} bytes of the recorded answer were kept"))
        }
        Presence::Truncated { kept, total: None } => {
            Some(format!("only the first {kept} bytes of the recorded answer were kept"))
        }
        Presence::Withheld(reason) => {
            Some(format!("the body of the recorded answer is not in the recording ({})", reason.name()))
        }
    }
}

/// The answer that a recorded exchange gives.
///
/// Hop-by-hop fields and the content coding are gone (bodies are kept decoded), `Content-Length` is fresh.
pub(super) fn answer(exchange: &Exchange) -> Option<Answer> {
    let response = exchange.response.as_ref()?;
    let named: Vec<String> = response
        .headers
        .get_all("connection")
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let coded = response.headers.contains("content-encoding");
    let head = exchange.request.method == Method::HEAD;
    let bodiless = is_bodiless(&exchange.request.method, response.status);
    let mut headers: Headers = response
        .headers
        .iter()
        .filter(|(name, _)| {
            // The answer to HEAD says how long the body would be; with a coding taken away that is no longer true.
            let stale_length = **name == header::CONTENT_LENGTH && (coded || !head);
            !is_hop_by_hop(name) && !stale_length && !named.iter().any(|named| named == name.as_str())
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let body = if bodiless { Bytes::new() } else { response.body.content.clone() };
    if !bodiless {
        headers.append(header::CONTENT_LENGTH, body.len().into());
    }
    Some(Answer { status: response.status, headers, body })
}

/// Whether a response has no body by definition (RFC 9110, section 6.4.1).
fn is_bodiless(method: &Method, status: u16) -> bool {
    *method == Method::HEAD || matches!(status, 204 | 304)
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authentication-info"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "http2-settings"
            | "content-encoding"
    )
}
