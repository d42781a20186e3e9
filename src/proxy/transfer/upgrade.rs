//! Switching protocols (RFC 9110, section 7.8): who asked for which protocol, and the bytes after it was switched.
//!
//! A 101 goes on only to an HTTP/1.1 client that named that protocol in a request of its own, and no byte of a tunnel
//! passes before it. What passes afterwards is neither judged nor recorded.

use http::{HeaderMap, HeaderValue, header};
use hyper::{body::Incoming, upgrade::OnUpgrade};

use crate::{
    proxy::{tunnel::Switch, wire::state::State},
    upstream::Response,
};

/// A client that asks for another protocol.
#[derive(Debug)]
pub(in crate::proxy) struct Asked {
    /// Those that it names, without `h2c`: to that nobody switches, so nobody is asked to.
    pub(in crate::proxy) protocols: HeaderValue,
    client: OnUpgrade,
}

impl Asked {
    /// By this request.
    pub(in crate::proxy) fn of(request: &mut http::Request<Incoming>) -> Option<Self> {
        let protocols = worth_asking(request.headers())?;
        Some(Self { protocols, client: hyper::upgrade::on(request) })
    }

    /// The protocols that a 101 switches to, if each of them was asked for.
    pub(in crate::proxy) fn granted(self, answer: &mut Response) -> Option<(Switch, HeaderValue)> {
        let protocols = granted(&self.protocols, answer.headers())?;
        Some((Switch { client: self.client, upstream: hyper::upgrade::on(answer) }, protocols))
    }
}

fn worth_asking(headers: &HeaderMap) -> Option<HeaderValue> {
    let named: Vec<&str> = protocols(headers).filter(|protocol| !protocol.eq_ignore_ascii_case("h2c")).collect();
    if named.is_empty() { None } else { HeaderValue::from_str(&named.join(", ")).ok() }
}

fn granted(asked: &HeaderValue, headers: &HeaderMap) -> Option<HeaderValue> {
    let asked: Vec<&str> = list(asked).collect();
    let granted: Vec<&str> = protocols(headers).collect();
    let all = granted.iter().all(|protocol| asked.iter().any(|asked| asked.eq_ignore_ascii_case(protocol)));
    if granted.is_empty() || !all { None } else { HeaderValue::from_str(&granted.join(", ")).ok() }
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::UPGRADE).iter().flat_map(list)
}

fn list(value: &HeaderValue) -> impl Iterator<Item = &str> {
    value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|protocol| !protocol.is_empty())
}

/// Settles, with its answer, what a request came to that asked for another protocol.
///
/// Where nothing was switched, bytes that came before the answer may be of the other protocol or a pipelined request.
/// Nobody knows which, so they are dropped, and the connection ends with the answer.
pub(in crate::proxy) fn settle<B>(state: &State, answer: &mut http::Response<B>) {
    match answer.extensions_mut().remove::<Switch>() {
        Some(switch) => state.switch(switch),
        None => {
            if state.stay() {
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
    fn h2c_is_never_asked_for_and_the_rest_keeps_its_order() {
        let told =
            |values: &[&'static str]| worth_asking(&upgrade(values)).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(told(&["websocket"]), Some("websocket".into()));
        assert_eq!(told(&["h2c, a/1 ,, b", "H2C", "c"]), Some("a/1, b, c".into()));
        assert_eq!(told(&["h2c"]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn a_protocol_is_granted_only_if_it_was_asked_for() {
        let asked = HeaderValue::from_static("websocket, a/1");
        let told = |values: &[&'static str]| granted(&asked, &upgrade(values)).is_some();
        assert!(told(&["WebSocket"]) && told(&["a/1"]) && told(&["a/1", "websocket"]));
        assert!(!told(&["a"]) && !told(&["websocket, b"]) && !told(&[]) && !told(&[""]));
    }
}
