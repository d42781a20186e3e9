//! Header fields that decide between recorded requests of one identity: never whether one matches, but which comes first.

use contrail_exchange::{Headers, Request, Response, is_hop_by_hop, media};
use contrail_recording::{is_of_client, is_per_run};
use http::HeaderName;

use super::mask::Keys;

/// Fields of a request as hashes of names and values, in order.
pub(super) type Fields = Box<[(u32, u32)]>;

/// Those of a recorded request on which its answer may depend: all but what differs between clients, connections and
/// runs, and what the answer names in `Vary` (RFC 9110, section 12.5.5), less what is `left_out`. Labels and conditions are compared
/// elsewhere.
pub(super) fn recorded(
    keys: &Keys,
    request: &Request,
    response: Option<&Response>,
    left_out: &dyn Fn(&HeaderName) -> bool,
) -> Fields {
    let vary = response.map(|response| &response.headers).into_iter().flat_map(|headers| headers.get_all("vary"));
    let vary: Vec<&str> = vary.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).collect();
    let varies = |name: &HeaderName| vary.iter().any(|one| one.trim().eq_ignore_ascii_case(name.as_str()));
    of(keys, &request.headers, |name| {
        let text = name.as_str();
        let is_noise =
            is_hop_by_hop(name) || is_per_run(name) || text.starts_with("if-") || text == "range" || left_out(name);
        !is_noise && (!is_of_client(name) || varies(name))
    })
}

/// All fields of a live request.
pub(super) fn live(keys: &Keys, headers: &Headers) -> Fields {
    of(keys, headers, |_| true)
}

/// How well a live request has the fields of a recorded one.
pub(super) fn agreement(live: &Fields, recorded: &Fields) -> isize {
    recorded.iter().map(|field| if live.binary_search(field).is_ok() { 1 } else { -1 }).sum()
}

#[allow(clippy::cast_possible_truncation)] // half of a hash is one, too
fn of(keys: &Keys, headers: &Headers, counts: impl Fn(&HeaderName) -> bool) -> Fields {
    let mut fields: Vec<(u32, u32)> = headers
        .iter()
        .filter(|(name, _)| counts(name))
        .map(|(name, value)| {
            let value = value.as_bytes().trim_ascii();
            // A client draws a new boundary for each request.
            let is_multipart = *name == http::header::CONTENT_TYPE && value.starts_with(b"multipart/");
            let value = if is_multipart { keys.hash(&*media::essence(value)) } else { keys.hash(value) };
            (keys.hash(name.as_str()) as u32, value as u32)
        })
        .collect();
    fields.sort_unstable();
    fields.into()
}
