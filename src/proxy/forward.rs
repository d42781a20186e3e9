//! The forward listener: requests in absolute form, and CONNECT.
//!
//! What goes to the upstream (or to an intercepted host) is opened and forwarded like any other request. Anything else
//! is denied, or, with `--tunnel allow`, passed on unseen and unrecorded. Nothing ever leads back to contrail's own
//! listeners, under any spelling of their address.

use std::{convert::Infallible, fmt, net::Ipv6Addr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, Method, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::watch};

use super::{
    Proxy,
    authority::Authority,
    connection::InFlight,
    gate::Gate,
    intercept,
    listener::Slot,
    reverse::{self, Destination},
    upgrade,
};
use crate::upstream::{
    MessageBody, Problem, Response,
    own::{OwnAddresses, Resolved},
};

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
    /// What happens to other targets.
    pub tunnel: Tunnel,
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
    pub(super) fn destination(&self, proxy: &Proxy, target: &HostPort, scheme: &str) -> Option<Destination> {
        if *target == self.upstream {
            return Some(Destination::upstream(proxy));
        }
        self.intercepted.contains(target).then(|| Destination::new(scheme, target.authority(scheme)))
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
pub(super) struct Connection {
    pub(super) forward: Arc<Forward>,
    pub(super) slot: Slot,
    pub(super) stop: watch::Receiver<bool>,
}

/// Answers one request on a forward listener. What follows a CONNECT is not looked at as requests are, so a refused one
/// ends its connection.
pub(super) async fn serve(
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
        Err(problem) => Ok(denied(&proxy, &target, problem)),
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
    if target == forward.upstream || forward.intercepted.contains(&target) {
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
        Err(problem) => return denied(&proxy, &target, problem),
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

/// Addresses of a target that is neither ours nor denied. What is denied is denied by its name: nothing is looked up for it.
async fn reachable(forward: &Forward, target: &HostPort) -> Result<Vec<std::net::SocketAddr>, Problem> {
    let own = || {
        let detail = format!("{target} is one of contrail's own listeners");
        Problem::new(StatusCode::FORBIDDEN, "own-address", detail)
    };
    if forward.own.names(&target.host, target.port) {
        return Err(own());
    }
    if forward.tunnel == Tunnel::Deny {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "tunnel-denied",
            format!(
                "{target} is not the upstream ({}); --intercept {target} records it too, --tunnel allow passes it on unseen",
                forward.upstream
            ),
        ));
    }
    match forward.own.resolve(&target.host, target.port).await {
        Err(Resolved::Own) => Err(own()),
        Err(Resolved::Unknown(error)) => {
            Err(Problem::new(StatusCode::BAD_GATEWAY, "upstream", format!("cannot resolve {target}: {error}")))
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

/// As [`refused`], for a request to a host that the proxy does not open.
fn denied(proxy: &Proxy, target: &HostPort, problem: Problem) -> http::Response<Gate> {
    proxy.observer.denied(problem.status.as_u16(), problem.reason, &target.to_string());
    Response::from(problem).map(Gate::open)
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
