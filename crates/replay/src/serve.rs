//! A recorded response, made ready to go out.

use std::sync::Arc;

use bytes::Bytes;
use contrail_exchange::{Exchange, Headers, Presence, Withheld, is_bodiless, is_hop_by_hop, media};
use contrail_recording as recording;
use http::{HeaderMap, HeaderValue, Method, header};

/// The status of an answer that never comes.
pub(super) const SILENCE: u16 = 0;

/// What goes to the client. Cheap to copy.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status; [`SILENCE`]: none is given.
    pub status: u16,
    /// Header fields in recorded order, repeats apart. Where the body's length is sent, a place for it.
    pub headers: Arc<HeaderMap>,
    /// The body; `None` where a response has none by definition (RFC 9110, section 6.4.1).
    pub body: Option<Bytes>,
    /// Something in it may name an upstream, which the client calls otherwise.
    pub names_upstream: bool,
    /// A token stands in its body, which a client may refuse when it is old.
    pub ages: bool,
}

impl Answer {
    pub(super) fn new(status: u16, headers: Arc<HeaderMap>, body: Option<Bytes>) -> Self {
        let mut texts = headers.values().map(HeaderValue::as_bytes).chain(body.as_deref());
        let names_upstream = texts.any(recording::names_upstream);
        let ages = body.as_deref().is_some_and(recording::holds_token);
        Self { status, headers, body, names_upstream, ages }
    }

    /// The header fields as they go out, with a `Content-Length` that is right, where the body's length is sent.
    #[must_use]
    pub fn fields(&self) -> HeaderMap {
        let mut headers = HeaderMap::clone(&self.headers);
        if let (Some(body), Some(length)) = (&self.body, headers.get_mut(header::CONTENT_LENGTH)) {
            *length = body.len().into();
        }
        headers
    }
}

fn laid_out(headers: &Headers) -> HeaderMap {
    // Room for the date, too.
    let mut map = HeaderMap::with_capacity(headers.len() + 1);
    for (name, value) in headers.iter() {
        map.append(name, value.clone());
    }
    map
}

/// Why an exchange is never served; `None` if it can be. `failure` says why it is not whole, `is_own` that contrail
/// recorded it.
pub(super) fn unfit(exchange: &Exchange, failure: Option<&str>, is_own: bool) -> Option<String> {
    if let Some(who) = &exchange.transport.answered_by_contrail {
        return Some(format!("contrail answered it itself ({who}), not the tenant"));
    }
    if let Some(why) = failure {
        return Some(format!("the recorded exchange is incomplete: {why}"));
    }
    let Some(response) = &exchange.response else {
        let is_silence = is_own && exchange.transport.client_left;
        return (!is_silence).then(|| "no answer was recorded".to_owned());
    };
    if response.status == 101 {
        return Some("the recorded answer switched the protocol, and what followed was not recorded".to_owned());
    }
    if !(200..=999).contains(&response.status) {
        return Some(format!("no answer was recorded (status {})", response.status));
    }
    if is_bodiless(&exchange.request.method, response.status) {
        return None;
    }
    let left = exchange.transport.unfinished();
    let bound = if is_own { " (--max-capture)" } else { "" };
    match &response.body.presence {
        Presence::Whole => None,
        Presence::Truncated { .. } if left.is_some() => {
            left.map(|why| format!("the recorded exchange is incomplete: {why}"))
        }
        Presence::Truncated { kept, total: Some(total) } => {
            Some(format!("only {kept} of {total} bytes of the recorded answer were kept{bound}"))
        }
        Presence::Truncated { kept, total: None } => {
            Some(format!("only the first {kept} bytes of the recorded answer were kept{bound}"))
        }
        Presence::Withheld(reason) => {
            Some(format!("the body of the recorded answer is not in the recording ({})", reason.name()))
        }
    }
}

/// What helps where an exchange cannot be served.
pub(super) fn advice(exchange: &Exchange) -> &'static str {
    const AGAIN: &str = "Record it again with `contrail record --append`.";
    let Some(response) = &exchange.response else { return AGAIN };
    let is_whole = exchange.transport.unfinished().is_none() && exchange.transport.answered_by_contrail.is_none();
    match &response.body.presence {
        _ if response.status == 101 => {
            "Recording it again changes nothing: contrail records no WebSocket or other protocol after a 101. Keep \
             such requests out of a replay, or let the client fall back to plain HTTP."
        }
        Presence::Truncated { .. } if is_whole => {
            "Record it again with `contrail record --append` and a larger `--max-capture`."
        }
        Presence::Withheld(Withheld::Unparsable) => {
            "Recording it again changes nothing while the tenant answers this way: contrail keeps no body in which it \
             cannot find the secrets."
        }
        Presence::Withheld(Withheld::Undecodable) => {
            "contrail could not undo its `Content-Encoding`. Let the client send `Accept-Encoding: gzip, deflate, \
             br, zstd`, and record it again with `contrail record --append`."
        }
        Presence::Withheld(Withheld::MaxDecoded) => {
            "It decodes to more than `--max-decoded`. Record it again with `contrail record --append` and a larger \
             `--max-decoded`."
        }
        Presence::Withheld(Withheld::MaxRatio) => {
            "It decodes to more than `--max-ratio` allows. Record it again with `contrail record --append` and a \
             larger `--max-ratio`."
        }
        Presence::Withheld(Withheld::NotSaved) => {
            "The file was saved without it: export it again with bodies, or record it with `contrail record --append`."
        }
        _ => AGAIN,
    }
}

/// The answer that a recorded exchange gives.
///
/// Hop-by-hop fields and the content coding are gone (bodies are kept decoded, where they can be), `Content-Length` is
/// fresh, except that an event stream goes out without one where it came without one: clients that know a body's length
/// read it in blocks, and would see many events at once. A client that gave up before there was an answer gets none again.
pub(super) fn answer(exchange: &Exchange) -> Answer {
    let Some(response) = &exchange.response else { return Answer::new(SILENCE, Arc::default(), None) };
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
        .sent()
        .filter(|(name, _)| {
            // The answer to HEAD says how long the body would be; with a coding taken away that is no longer true.
            let stale_length = **name == header::CONTENT_LENGTH && (coded || !head);
            let undone = *name == header::TRAILER || (*name == header::CONTENT_ENCODING && !response.body.coded);
            !is_hop_by_hop(name) && !undone && !stale_length && !named.iter().any(|named| named == name.as_str())
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let expiring = recording::to_distances(&mut headers, response, exchange.started);
    let is_stream = |value: &HeaderValue| media::essence(value.as_bytes()) == media::EVENT_STREAM;
    let streams = response.headers.get("content-type").is_some_and(is_stream);
    if !bodiless && (!streams || response.headers.contains("content-length")) {
        headers.append(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let body = (!bodiless).then(|| expiring.unwrap_or_else(|| response.body.content.clone()));
    Answer::new(response.status, Arc::new(laid_out(&headers)), body)
}
