//! The forward listener: requests in absolute form, and CONNECT.
//!
//! What goes to the upstream (or to an intercepted host) is opened and forwarded like any other request. Anything else
//! is denied, or, with `--tunnel allow`, passed on unseen and unrecorded; where everything is answered from memory, every
//! host can be opened. Nothing ever leads back to contrail's own listeners, under any spelling of their address.

use std::{convert::Infallible, fmt, net::Ipv6Addr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, Method, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::watch};

use super::{authority::Authority, intercept, listener::Slot};
use crate::proxy::{
    Proxy,
    transfer::{
        response_body::Gate,
        reverse::{self, Destination},
        upgrade,
    },
    wire::state::InFlight,
};
use crate::upstream::{
    Denied, MessageBody, Problem, Response,
    own::{OwnAddresses, Resolved},
};

/// Longest host with its port, in bytes; a name of DNS has at most 253.
const MAX_AUTHORITY: usize = 300;

/// What happens to targets that are not intercepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Tunnel {
    /// 403.
    #[default]
    Deny,
    /// Passed on unseen and unrecorded.
    Allow,
}

/// A host with its port, as the client of a forward proxy names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Lower case, without brackets and without a trailing dot.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// From an authority; `port` where it names none.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(authority: &str, port: Option<u16>) -> Result<Self, &'static str> {
        if authority.len() > MAX_AUTHORITY {
            return Err("it is longer than 300 bytes");
        }
        if authority.contains('@') {
            return Err("it holds user information");
        }
        let parsed: http::uri::Authority = authority.parse().map_err(|_| "it is no host and port")?;
        let digits = authority.rsplit_once(':').map(|(_, digits)| digits).filter(|_| !authority.ends_with(']'));
        let port = match (digits, port) {
            (None, Some(port)) => port,
            (None, None) => return Err("it names no port"),
            (Some(digits), _) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port > 0).ok_or("its port is not from 1 to 65535")?
            }
            _ => return Err("its port is no number"),
        };
        let host = parsed.host();
        let host = match host.strip_prefix('[').map(|host| host.trim_end_matches(']')) {
            Some(address) if address.parse::<Ipv6Addr>().is_err() => return Err("brackets hold no IPv6 address"),
            Some(address) => address,
            None => host,
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() || host.ends_with('.') {
            return Err("it names no host");
        }
        Ok(Self { host, port })
    }

    /// As it stands in a Host header for this scheme.
    #[must_use]
    pub fn authority(&self, scheme: &str) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (scheme, self.port) {
            ("https", 443) | ("http", 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority(""))
    }
}

/// What a forward listener does.
#[derive(Debug)]
pub struct Forward {
    /// The upstream's host and port.
    pub upstream: HostPort,
    /// Further hosts to open (`--intercept`).
    pub intercepted: Vec<HostPort>,
    /// Speaks for all of them.
    pub authority: Arc<Authority>,
    /// Speaks for every other host: they are opened, too. For an upstream that answers from memory.
    pub any: Option<Arc<Authority>>,
    /// What happens to other targets; `None` where nothing is ever passed on.
    pub tunnel: Option<Tunnel>,
    /// `USER:PASSWORD` that clients have to show.
    pub credentials: Option<String>,
    /// Where nothing may lead.
    pub own: OwnAddresses,
    /// Forwards what is allowed and not recorded (`--tunnel allow`).
    pub unseen: Arc<Proxy>,
    /// Longest time to connect to the target of a tunnel.
    pub connect_timeout: Duration,
}

impl Forward {
    /// Where a request for this host goes, if it is to be opened: an upstream of https is spoken to over https
    /// whatever the client used.
    pub(in crate::proxy) fn destination(&self, proxy: &Proxy, target: &HostPort, scheme: &str) -> Option<Destination> {
        if *target == self.upstream {
            return Some(Destination::upstream(proxy));
        }
        let opened = self.intercepted.contains(target) || self.any.is_some() && !self.is_own(target);
        opened.then(|| Destination::new(scheme, target.authority(scheme)))
    }

    /// Whether this is one of contrail's own listeners, as far as its name tells.
    fn is_own(&self, target: &HostPort) -> bool {
        self.own.names(&target.host, target.port)
    }

    /// Whether a host was named at the start as one to open.
    fn is_named(&self, target: &HostPort) -> bool {
        *target == self.upstream || self.intercepted.contains(target)
    }

    /// Who speaks for a host that is opened.
    pub(in crate::proxy) fn authority_of(&self, target: &HostPort) -> &Authority {
        match &self.any {
            Some(any) if !self.is_named(target) => any,
            _ => &self.authority,
        }
    }

    /// What would open a host that is not.
    fn advice(&self, target: &HostPort) -> String {
        match self.tunnel {
            Some(_) => format!("--intercept {target} opens it, --tunnel allow passes it on unseen"),
            None => format!("--intercept {target} opens it, with --allow denied it does not fail the run"),
        }
    }

    /// What is noted of a connection to this target on which no request could be read: a host that nobody named is not known
    /// to be the tenant's.
    pub(in crate::proxy) fn unread(&self, proxy: &Proxy, target: &HostPort, reason: &'static str) {
        if self.is_named(target) {
            return proxy.observer.turned_away(0, reason);
        }
        let advice = format!("{reason}; {}", self.advice(target));
        proxy.observer.denied(&Denied { status: 0, reason, host: target.to_string(), advice });
    }

    fn admits(&self, headers: &http::HeaderMap) -> bool {
        let Some(credentials) = &self.credentials else { return true };
        let shown = headers.get(header::PROXY_AUTHORIZATION).and_then(|value| value.to_str().ok());
        let decoded = shown
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
            .and_then(|(_, encoded)| STANDARD.decode(encoded.trim()).ok());
        // Digests of equal length are compared, so the time tells nothing of the text.
        decoded.is_some_and(|shown| {
            let digest = |bytes: &[u8]| ring::digest::digest(&ring::digest::SHA256, bytes);
            digest(&shown).as_ref() == digest(credentials.as_bytes()).as_ref()
        })
    }
}

/// What a connection to a forward listener hands on to the tunnels that it becomes.
#[derive(Debug)]
pub(in crate::proxy) struct Connection {
    pub(in crate::proxy) forward: Arc<Forward>,
    pub(in crate::proxy) slot: Slot,
    pub(in crate::proxy) stop: watch::Receiver<bool>,
}

/// Answers one request on a forward listener. What follows a CONNECT is not looked at as requests are, so a refused one
/// ends its connection.
pub(in crate::proxy) async fn serve(
    connection: Connection,
    proxy: Arc<Proxy>,
    in_flight: InFlight,
    request: http::Request<Incoming>,
) -> Result<http::Response<Gate>, Infallible> {
    let connect = request.method() == Method::CONNECT && request.version() != Version::HTTP_2;
    let state = connect.then(|| Arc::clone(in_flight.state()));
    let mut answer = answer(connection, proxy, in_flight, request).await;
    if let (Some(state), Ok(answer)) = (state, &mut answer) {
        if answer.status().is_success() {
            state.tunnels();
        } else {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
    answer
}

async fn answer(
    connection: Connection,
    proxy: Arc<Proxy>,
    in_flight: InFlight,
    request: http::Request<Incoming>,
) -> Result<http::Response<Gate>, Infallible> {
    if !connection.forward.admits(request.headers()) {
        proxy.observer.turned_away(407, "proxy-auth");
        let problem = Problem::new(
            StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            "proxy-auth",
            "this proxy wants the user name and password that were set with --proxy-auth",
        );
        let mut response = Response::from(problem);
        response.headers_mut().insert(
            header::PROXY_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"contrail\", charset=\"UTF-8\""),
        );
        return Ok(response.map(Gate::open));
    }
    if request.method() == Method::CONNECT {
        return Ok(connect(connection, proxy, request).await);
    }
    let forward = connection.forward;
    // Before it is looked at where it goes, so that an ambiguous head ends its connection even where nothing would.
    let (head, body) = request.into_parts();
    if let Err(problem) = reverse::acceptable(&head) {
        return Ok(refused(&proxy, problem));
    }
    let request = http::Request::from_parts(head, body);
    let named = request.uri().scheme_str().zip(request.uri().authority());
    let Some((scheme, authority)) = named.map(|(scheme, authority)| (scheme.to_owned(), authority.to_string())) else {
        return Ok(refused(
            &proxy,
            Problem::new(
                StatusCode::BAD_REQUEST,
                "no-absolute-form",
                "this is a forward proxy: it takes CONNECT and requests in absolute form; for requests straight to the \
                 tenant's paths use the address of the reverse listener",
            ),
        ));
    };
    let port = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return Ok(refused(&proxy, malformed("its scheme is neither http nor https"))),
    };
    let target = match HostPort::parse(&authority, Some(port)) {
        Ok(target) => target,
        Err(wrong) => return Ok(refused(&proxy, malformed(wrong))),
    };
    if let Some(destination) = forward.destination(&proxy, &target, &scheme) {
        return reverse::serve(proxy, in_flight, request, destination).await;
    }
    match reachable(&forward, &target).await {
        Err(unreachable) => Ok(unreachable.answer(&proxy, &target)),
        Ok(_) => {
            let destination = Destination::new(&scheme, target.authority(&scheme));
            reverse::serve(Arc::clone(&forward.unseen), in_flight, request, destination).await
        }
    }
}

async fn connect(
    Connection { forward, slot, stop }: Connection,
    proxy: Arc<Proxy>,
    request: http::Request<Incoming>,
) -> http::Response<Gate> {
    if request.version() == Version::HTTP_2 {
        let detail = "CONNECT is taken over HTTP/1 only";
        return refused(&proxy, Problem::new(StatusCode::NOT_IMPLEMENTED, "connect-refused", detail));
    }
    // Clients send CONNECT without a Host (Python's, for one), and it is the target that counts; two are nobody's.
    if request.headers().get_all(header::HOST).iter().nth(1).is_some() {
        return refused(&proxy, malformed("there is more than one Host header"));
    }
    if request.uri().scheme().is_some() || request.uri().path_and_query().is_some() {
        return refused(&proxy, malformed("CONNECT takes HOST:PORT and nothing else"));
    }
    let target = match request.uri().authority().map(|authority| HostPort::parse(authority.as_str(), None)) {
        Some(Ok(target)) => target,
        Some(Err(wrong)) => return refused(&proxy, malformed(wrong)),
        None => return refused(&proxy, malformed("it names no host")),
    };
    if forward.is_named(&target) || forward.any.is_some() && !forward.is_own(&target) {
        tokio::spawn(async move {
            match hyper::upgrade::on(request).await {
                Ok(upgraded) => intercept::serve(forward, proxy, target, upgraded, stop).await,
                Err(error) => tracing::debug!(%error, "a CONNECT was not taken up"),
            }
            drop(slot);
        });
        return established();
    }
    let addresses = match reachable(&forward, &target).await {
        Ok(addresses) => addresses,
        Err(unreachable) => return unreachable.answer(&proxy, &target),
    };
    let silence = proxy.settings.tunnel_timeout;
    // The addresses that were looked at are the ones that are connected to.
    let connected = tokio::time::timeout(forward.connect_timeout, TcpStream::connect(addresses.as_slice())).await;
    match connected {
        Ok(Ok(stream)) => {
            tokio::spawn(async move {
                match hyper::upgrade::on(request).await {
                    Ok(upgraded) => upgrade::pass(TokioIo::new(upgraded), stream, silence, stop).await,
                    Err(error) => tracing::debug!(%error, "a CONNECT was not taken up"),
                }
                drop(slot);
            });
            established()
        }
        Ok(Err(error)) => {
            let detail = format!("cannot reach {target}: {error}");
            refused(&proxy, Problem::new(StatusCode::BAD_GATEWAY, "upstream", detail))
        }
        Err(_) => {
            let detail = format!("{target} did not accept a connection in time");
            refused(&proxy, Problem::new(StatusCode::GATEWAY_TIMEOUT, "upstream-timeout", detail))
        }
    }
}

/// Why nothing goes to a target.
#[derive(Debug)]
enum Unreachable {
    /// It is denied, and this would help.
    Denied(Problem, String),
    /// It cannot be reached.
    Unknown(Problem),
}

impl Unreachable {
    fn own(target: &HostPort) -> Self {
        let detail = format!("{target} is one of contrail's own listeners");
        let advice = "it is one of contrail's own listeners".to_owned();
        Self::Denied(Problem::new(StatusCode::FORBIDDEN, "own-address", detail), advice)
    }

    fn answer(self, proxy: &Proxy, target: &HostPort) -> http::Response<Gate> {
        match self {
            Self::Unknown(problem) => refused(proxy, problem),
            Self::Denied(problem, advice) => {
                let (status, reason) = (problem.status.as_u16(), problem.reason);
                proxy.observer.denied(&Denied { status, reason, host: target.to_string(), advice });
                Response::from(problem).map(Gate::open)
            }
        }
    }
}

/// Addresses of a target that is neither ours nor denied. What is denied is denied by its name: nothing is looked up for it.
async fn reachable(forward: &Forward, target: &HostPort) -> Result<Vec<std::net::SocketAddr>, Unreachable> {
    if forward.is_own(target) {
        return Err(Unreachable::own(target));
    }
    if forward.tunnel != Some(Tunnel::Allow) {
        let advice = forward.advice(target);
        let detail = format!("{target} is not the upstream ({}); {advice}", forward.upstream);
        return Err(Unreachable::Denied(Problem::new(StatusCode::FORBIDDEN, "tunnel-denied", detail), advice));
    }
    match forward.own.resolve(&target.host, target.port).await {
        Err(Resolved::Own) => Err(Unreachable::own(target)),
        Err(Resolved::Unknown(error)) => {
            let detail = format!("cannot resolve {target}: {error}");
            Err(Unreachable::Unknown(Problem::new(StatusCode::BAD_GATEWAY, "upstream", detail)))
        }
        Ok(addresses) => Ok(addresses),
    }
}

fn established() -> http::Response<Gate> {
    http::Response::new(Gate::open(MessageBody::Empty))
}

fn malformed(wrong: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad-target", format!("the target cannot be used: {wrong}")).closing()
}

fn refused(proxy: &Proxy, problem: Problem) -> http::Response<Gate> {
    proxy.observer.turned_away(problem.status.as_u16(), problem.reason);
    Response::from(problem).map(Gate::open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(authority: &str) -> Result<(String, u16), &'static str> {
        HostPort::parse(authority, None).map(|target| (target.host, target.port))
    }

    #[test]
    fn a_connect_target_is_a_host_and_a_port_whatever_its_spelling() {
        assert_eq!(parsed("Tenant.Example:443"), Ok(("tenant.example".into(), 443)));
        assert_eq!(parsed("tenant.example.:443"), Ok(("tenant.example".into(), 443)));
        assert_eq!(parsed("[::1]:8443"), Ok(("::1".into(), 8443)));
    }

    #[test]
    fn a_malformed_target_is_refused_with_a_reason() {
        for wrong in [
            "tenant.example",
            "tenant.example:",
            "tenant.example:0",
            "tenant.example:65536",
            "[::1]",
            "a@b:443",
            ".:443",
            "tenant.example..:443",
            ":443",
            "tenant.example:+44",
            "[tenant.example]:443",
            "[127.0.0.1]:443",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_default_port_of_a_scheme_is_not_written() {
        let target = HostPort { host: "tenant.example".into(), port: 443 };
        assert_eq!(target.authority("https"), "tenant.example");
        assert_eq!(target.authority("http"), "tenant.example:443");
        assert_eq!(HostPort { host: "::1".into(), port: 80 }.authority("http"), "[::1]");
    }
}
