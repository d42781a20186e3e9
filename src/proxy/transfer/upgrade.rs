//! Switching protocols (RFC 9110, section 7.8): who asked for which protocol, and the bytes after it was switched.
//!
//! A 101 goes on only to an HTTP/1.1 client that named that protocol in a request of its own, and no byte of a tunnel
//! passes before it. What passes afterwards is neither judged nor recorded.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderMap, HeaderValue, header};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf, copy_bidirectional},
    sync::watch,
    time::Instant,
};

use super::response_body::Gate;
use crate::proxy::{entry::listener, wire::state::State};
use crate::{
    io::{clock::Clock, pass_on::pass_on, timer::Timer},
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
pub(in crate::proxy) fn settle(state: &State, answer: &mut http::Response<Gate>) {
    match answer.extensions_mut().remove::<Switch>() {
        Some(switch) => state.switch(switch),
        None => {
            if state.stay() {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
        }
    }
}

/// The two sides of a connection whose protocol is being switched.
#[derive(Debug, Clone)]
pub(in crate::proxy) struct Switch {
    client: OnUpgrade,
    upstream: OnUpgrade,
}

impl Switch {
    /// Passes bytes both ways once both sides are ready. See [`pass`].
    pub(in crate::proxy) async fn run(self, silence: Duration, stop: watch::Receiver<bool>) {
        match (self.client.await, self.upstream.await) {
            (Ok(client), Ok(upstream)) => pass(TokioIo::new(client), TokioIo::new(upstream), silence, stop).await,
            (Err(error), _) | (_, Err(error)) => tracing::debug!(%error, "a protocol was not switched after all"),
        }
    }
}

/// Passes bytes both ways, unseen, until both sides ended, nothing moved for `silence`, or contrail stops.
pub(in crate::proxy) async fn pass<A, B>(client: A, target: B, silence: Duration, mut stop: watch::Receiver<bool>)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (clock, mut timer) = (Arc::new(Clock::new(Instant::now())), Timer::new(silence));
    let mut client = Watched { io: client, clock: Arc::clone(&clock) };
    let mut target = Watched { io: target, clock: Arc::clone(&clock) };
    tokio::select! {
        ended = copy_bidirectional(&mut client, &mut target) => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a tunnel ended early");
            }
            return;
        }
        () = clock.silent(silence, &mut timer) => tracing::debug!("a tunnel was silent for --tunnel-timeout"),
        () = listener::stopped(&mut stop) => {}
    }
    let _ = client.shutdown().await;
}

/// An IO that tells the clock of each byte that moves.
struct Watched<IO> {
    io: IO,
    clock: Arc<Clock>,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Watched<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.clock.moved();
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Watched<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.clock.moved();
        Poll::Ready(Ok(written))
    }

    pass_on!(io: poll_flush, poll_shutdown);
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
