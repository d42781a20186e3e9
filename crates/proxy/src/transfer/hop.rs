//! Hop-by-hop header fields (RFC 9110, section 7.6.1): they end at each hop, in both directions.
//!
//! Where there are any, the map is filled again with the rest: removal would change its order. It is the same map,
//! since hyper uses it for later messages, and a smaller one would have to grow.

use contrail_exchange::is_hop_by_hop;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

/// Fields that `Connection` may not name away: they decide framing, routing and who asks.
const PROTECTED: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::TRANSFER_ENCODING,
    header::COOKIE,
];

const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// The fields of a request that go on to the upstream, with `host` first in place of the client's.
#[must_use]
pub fn request(mut headers: HeaderMap, host: &HeaderValue) -> HeaderMap {
    if headers.keys().next() == Some(&header::HOST) && !headers.keys().any(is_hop_by_hop) {
        headers.insert(header::HOST, host.clone());
        return headers;
    }
    end_to_end(&mut headers, Some(host));
    headers
}

/// The remaining hops of a request with `Max-Forwards` (RFC 9110, section 7.6.2).
#[must_use]
pub fn forwards_left(method: &Method, headers: &HeaderMap) -> Option<u64> {
    if *method != Method::OPTIONS && *method != Method::TRACE {
        return None;
    }
    // `parse` also reads a sign, which the field does not have.
    headers.get(header::MAX_FORWARDS)?.to_str().ok().filter(|hops| !hops.starts_with('+'))?.parse().ok()
}

/// Adds what asks for other protocols, or switches to them, on one hop.
pub fn upgrade(headers: &mut HeaderMap, protocols: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocols);
}

/// The fields of a response that go on to the client.
#[must_use]
pub fn response(mut headers: HeaderMap) -> HeaderMap {
    if headers.keys().any(is_hop_by_hop) {
        end_to_end(&mut headers, None);
    }
    headers
}

/// Takes out of trailers what decides framing, routing or who asks (RFC 9110, section 6.5.1): none of it may come so
/// late.
pub fn trailers(trailers: &mut HeaderMap) {
    let standing = PROTECTED.iter().filter(|name| trailers.contains_key(*name));
    let gone: Vec<HeaderName> = standing
        .cloned()
        .chain(trailers.keys().filter(|name| is_hop_by_hop(name) || **name == header::TRAILER).cloned())
        .chain([header::SET_COOKIE, header::CONTENT_RANGE, header::MAX_FORWARDS, header::EXPECT])
        .collect();
    for name in gone {
        trailers.remove(name);
    }
}

/// Joins the cookie crumbs of an HTTP/2 request into one field, as HTTP/1.1 wants it (RFC 9113, section 8.2.3).
pub fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        headers.insert(header::COOKIE, joined);
    }
}

/// Takes out what ends at this hop. A request has a `host` for the next one.
fn end_to_end(headers: &mut HeaderMap, host: Option<&HeaderValue>) {
    let named = named_by_connection(headers);
    let request = host.is_some();
    let goes = |name: &HeaderName| is_hop_by_hop(name) || named.contains(name) || request && name == header::HOST;
    let fields: Vec<_> = headers.drain().collect();
    if let Some(host) = host {
        headers.insert(header::HOST, host.clone());
    }
    // A name comes with the first of its values only.
    let mut current = None;
    for (name, value) in fields {
        current = name.or(current);
        let Some(name) = &current else { continue };
        if request && name == header::TE && accepts_trailers(&value) {
            headers.insert(header::TE, HeaderValue::from_static("trailers"));
        } else if !goes(name) {
            headers.append(name, value);
        }
    }
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    if !headers.keys().any(|name| *name == header::CONNECTION || *name == PROXY_CONNECTION) {
        return Vec::new();
    }
    headers
        .get_all(header::CONNECTION)
        .iter()
        .chain(headers.get_all(PROXY_CONNECTION))
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .filter(|name| !PROTECTED.contains(name))
        .collect()
}

fn accepts_trailers(value: &HeaderValue) -> bool {
    value.to_str().is_ok_and(|value| value.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("trailers")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    fn listed(headers: &HeaderMap) -> Vec<String> {
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn what_connection_names_goes_but_never_what_identifies_or_frames_the_request() {
        let sent = map(&[
            ("host", "proxy"),
            ("connection", "x-hop, Authorization, close"),
            ("connection", "host,content-length, x-other"),
            ("x-hop", "1"),
            ("x-other", "1"),
            ("authorization", "Bearer t"),
            ("content-length", "5"),
            ("x-stays", "1"),
        ]);
        assert_eq!(
            listed(&request(sent, &HeaderValue::from_static("tenant.example"))),
            ["host: tenant.example", "authorization: Bearer t", "content-length: 5", "x-stays: 1"]
        );
    }

    #[test]
    fn the_standing_list_goes_both_ways_and_the_order_of_the_rest_stays() {
        let sent = map(&[
            ("a", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic x"),
            ("b", "1"),
            ("te", "gzip, trailers"),
            ("upgrade", "h2c"),
            ("http2-settings", "AAMA"),
            ("transfer-encoding", "chunked"),
            ("c", "1"),
            ("a", "2"),
        ]);
        assert_eq!(
            listed(&request(sent.clone(), &HeaderValue::from_static("h"))),
            ["host: h", "a: 1", "a: 2", "b: 1", "te: trailers", "c: 1"]
        );
        assert_eq!(listed(&response(sent)), ["a: 1", "a: 2", "b: 1", "c: 1"]);
    }

    #[test]
    fn the_cookie_crumbs_of_http2_become_one_field() {
        let mut crumbs = map(&[("cookie", "a=1"), ("x", "1"), ("cookie", "b=2")]);
        join_cookies(&mut crumbs);
        assert_eq!(listed(&crumbs), ["cookie: a=1; b=2", "x: 1"]);
    }

    #[test]
    fn te_without_trailers_goes() {
        assert!(response(map(&[("te", "trailers")])).is_empty());
        assert_eq!(request(map(&[("te", "gzip")]), &HeaderValue::from_static("h")).len(), 1);
    }
}
