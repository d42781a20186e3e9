//! Switching protocols (RFC 9110, section 7.8): which protocols a client requests, and which the upstream accepts.
//!
//! A 101 goes on only to an HTTP/1.1 client that named that protocol in a request of its own, and no byte of a tunnel
//! passes before it. What passes afterwards is neither judged nor recorded.

use http::{HeaderMap, HeaderValue, header};
use hyper::{body::Incoming, upgrade::OnUpgrade};

use crate::{tunnel::Switch, upstream::Response, wire::state::ConnectionState};

/// A client's request for another protocol.
#[derive(Debug)]
pub(crate) struct UpgradeRequest {
    /// The requested protocols without `h2c`, which contrail does not forward.
    pub(crate) protocols: HeaderValue,
    client: OnUpgrade,
}

impl UpgradeRequest {
    /// By this request.
    pub(crate) fn of(request: &mut http::Request<Incoming>) -> Option<Self> {
        let protocols = forwardable(request.headers())?;
        Some(Self { protocols, client: hyper::upgrade::on(request) })
    }

    /// The protocols that a 101 switches to, if the client requested each of them.
    pub(crate) fn accepted(self, answer: &mut Response) -> Option<(Switch, HeaderValue)> {
        let protocols = accepted(&self.protocols, answer.headers())?;
        Some((Switch { client: self.client, upstream: hyper::upgrade::on(answer) }, protocols))
    }
}

fn forwardable(headers: &HeaderMap) -> Option<HeaderValue> {
    let named: Vec<&str> = protocols(headers).filter(|protocol| !protocol.eq_ignore_ascii_case("h2c")).collect();
    if named.is_empty() { None } else { HeaderValue::from_str(&named.join(", ")).ok() }
}

fn accepted(upgrade: &HeaderValue, headers: &HeaderMap) -> Option<HeaderValue> {
    let upgrade: Vec<&str> = list(upgrade).collect();
    let accepted: Vec<&str> = protocols(headers).collect();
    let all = accepted.iter().all(|protocol| upgrade.iter().any(|upgrade| upgrade.eq_ignore_ascii_case(protocol)));
    if accepted.is_empty() || !all { None } else { HeaderValue::from_str(&accepted.join(", ")).ok() }
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::UPGRADE).iter().flat_map(list)
}

fn list(value: &HeaderValue) -> impl Iterator<Item = &str> {
    value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|protocol| !protocol.is_empty())
}

/// Finishes a request for another protocol with its answer.
///
/// Where the protocol stays, bytes that came before the answer may be of the other protocol or a pipelined request.
/// They are ambiguous, so they are dropped, and the connection ends with the answer.
pub(crate) fn finish_upgrade<B>(state: &ConnectionState, answer: &mut http::Response<B>) {
    match answer.extensions_mut().remove::<Switch>() {
        Some(switch) => state.switch(switch),
        None => {
            if state.keep_protocol() {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgrade(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (header::UPGRADE, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn h2c_is_never_requested_and_the_rest_keeps_its_order() {
        let requested =
            |values: &[&'static str]| forwardable(&upgrade(values)).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(requested(&["websocket"]), Some("websocket".into()));
        assert_eq!(requested(&["h2c, a/1 ,, b", "H2C", "c"]), Some("a/1, b, c".into()));
        assert_eq!(requested(&["h2c"]), None);
        assert_eq!(requested(&[]), None);
    }

    #[test]
    fn a_protocol_is_accepted_only_if_it_was_requested() {
        let requested = HeaderValue::from_static("websocket, a/1");
        let accepts = |values: &[&'static str]| accepted(&requested, &upgrade(values)).is_some();
        assert!(accepts(&["WebSocket"]) && accepts(&["a/1"]) && accepts(&["a/1", "websocket"]));
        assert!(!accepts(&["a"]) && !accepts(&["websocket, b"]) && !accepts(&[]) && !accepts(&[""]));
    }
}
