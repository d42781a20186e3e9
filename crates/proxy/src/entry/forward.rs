//! The forward listener's rules: which requests go where, decided by their heads.
//!
//! What goes to an upstream (or to an intercepted host) is opened and forwarded like any other request. Anything else
//! is denied, or, with `--tunnel allow`, passed on unseen and unrecorded. Where everything is answered from memory,
//! every host can be opened. Nothing ever leads back to contrail's own listeners, under any spelling of their address.
//!
//! Knows no socket: [`super::connection`] and [`super::passthrough`] carry the decisions out.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode, Version, header};

use super::authority::Authority;
use crate::upstream::{Denied, Problem, own::OwnAddresses};
use crate::{
    HostPort, Proxy, sessions,
    transfer::{acceptable::acceptable, destination::Destination},
};

/// What happens to targets that are not intercepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Tunnel {
    /// Answer with 403
    #[default]
    Deny,
    /// Tunnel, without checks and recording
    Allow,
}

/// What a forward listener does.
#[derive(Debug)]
pub struct Forward {
    /// By which host and port clients call each upstream of the proxy.
    pub upstreams: Vec<HostPort>,
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
    /// Decides what happens to a request, by its head alone.
    pub(crate) fn decide(&self, head: &http::request::Parts) -> Decision {
        if !self.admits(&head.headers) {
            return Decision::Authenticate;
        }
        if head.method == Method::CONNECT {
            return self.decide_connect(head);
        }
        // Before the target, so that an ambiguous head ends its connection even where its target is denied.
        if let Err(problem) = acceptable(head) {
            return Decision::Refuse(problem);
        }
        let (Some(scheme), Some(authority)) = (head.uri.scheme_str(), head.uri.authority()) else {
            let detail = "this is a forward proxy: it takes CONNECT and requests in absolute form; for requests straight \
                          to the tenant's paths use the address of the reverse listener";
            return Decision::Refuse(Problem::new(StatusCode::BAD_REQUEST, "no-absolute-form", detail));
        };
        let (scheme, port) = match scheme {
            "http" => ("http", 80),
            "https" => ("https", 443),
            _ => return Decision::Refuse(malformed("its scheme is neither http nor https")),
        };
        let target = match HostPort::parse(authority.as_str(), Some(port)) {
            Ok(target) => target,
            Err(wrong) => return Decision::Refuse(malformed(wrong)),
        };
        match self.route(&target, scheme) {
            Some(route) => Decision::Forward(route),
            None => self.denied(&target).map_or(Decision::ForwardUnseen { scheme, target }, Decision::Deny),
        }
    }

    fn decide_connect(&self, head: &http::request::Parts) -> Decision {
        if head.version == Version::HTTP_2 {
            let detail = "CONNECT is taken over HTTP/1 only";
            return Decision::Refuse(Problem::new(StatusCode::NOT_IMPLEMENTED, "connect-refused", detail));
        }
        // Clients send CONNECT without a Host (Python's, for one), and the target decides. Two are ambiguous.
        if head.headers.get_all(header::HOST).iter().nth(1).is_some() {
            return Decision::Refuse(malformed("there is more than one Host header"));
        }
        if head.uri.scheme().is_some() || head.uri.path_and_query().is_some() {
            return Decision::Refuse(malformed("CONNECT takes HOST:PORT and nothing else"));
        }
        let target = match head.uri.authority().map(|authority| HostPort::parse(authority.as_str(), None)) {
            Some(Ok(target)) => target,
            Some(Err(wrong)) => return Decision::Refuse(malformed(wrong)),
            None => return Decision::Refuse(malformed("it names no host")),
        };
        if self.is_opened(&target) {
            return Decision::Intercept(target);
        }
        self.denied(&target).map_or(Decision::Tunnel(target), Decision::Deny)
    }

    /// Where requests for this host go, if contrail opens it. An upstream of https gets https, whatever the client
    /// used.
    pub(crate) fn route(&self, target: &HostPort, scheme: &'static str) -> Option<Route> {
        if let Some(upstream) = self.upstreams.iter().position(|upstream| upstream == target) {
            return Some(Route::Upstream(upstream));
        }
        self.is_opened(target).then(|| Route::Other { scheme, authority: target.authority(scheme) })
    }

    fn is_opened(&self, target: &HostPort) -> bool {
        self.is_named(target) || self.any.is_some() && !self.is_own(target)
    }

    /// Why nothing goes to a target that is not opened, by its name alone: a denied name is not resolved.
    fn denied(&self, target: &HostPort) -> Option<Denial> {
        if self.is_own(target) {
            return Some(Denial::own(target));
        }
        if self.tunnel == Some(Tunnel::Allow) {
            return None;
        }
        let advice = self.advice(target);
        let upstreams: Vec<String> = self.upstreams.iter().map(ToString::to_string).collect();
        let is_none = if upstreams.len() == 1 { "is not the upstream" } else { "is no upstream" };
        let detail = format!("{target} {is_none} ({}); {advice}", upstreams.join(", "));
        let problem = Problem::new(StatusCode::FORBIDDEN, "tunnel-denied", detail);
        Some(Denial { problem, host: target.to_string(), advice })
    }

    /// Whether this is one of contrail's own listeners, as far as its name shows.
    fn is_own(&self, target: &HostPort) -> bool {
        self.own.names(&target.host, target.port)
    }

    /// Whether a host was named at the start as one to open.
    fn is_named(&self, target: &HostPort) -> bool {
        self.upstreams.contains(target) || self.intercepted.contains(target)
    }

    /// Whose certificate an opened host gets.
    pub(crate) fn authority_of(&self, target: &HostPort) -> &Authority {
        match &self.any {
            Some(any) if !self.is_named(target) => any,
            _ => &self.authority,
        }
    }

    /// What would open a host that is not.
    fn advice(&self, target: &HostPort) -> String {
        match self.tunnel {
            Some(_) => format!("--intercept {target} opens it; --tunnel allow forwards it unread"),
            None => format!("--intercept {target} opens it; --allow denied lets the run pass"),
        }
    }

    /// Reports a connection to this target on which no request could be read. A host that was not named at the start
    /// may not be the tenant's, so it counts as denied.
    pub(crate) fn unread(&self, proxy: &Proxy, target: &HostPort, reason: &'static str) {
        if self.is_named(target) {
            return proxy.observer.on_rejected(0, reason);
        }
        let advice = format!("{reason}; {}", self.advice(target));
        proxy.observer.on_denied(&Denied { status: 0, reason, host: target.to_string(), advice });
    }

    /// The session that the user name of a request's credentials names, where there are sessions and the credentials are
    /// for nothing else.
    pub(crate) fn session(&self, proxy: &Proxy, headers: &http::HeaderMap) -> Option<Arc<str>> {
        proxy.settings.sessions.as_ref().filter(|_| self.credentials.is_none())?;
        sessions::proxy_user(headers)
    }

    fn admits(&self, headers: &http::HeaderMap) -> bool {
        let Some(credentials) = &self.credentials else { return true };
        // Digests of equal length are compared, so the time shows nothing of the text.
        sessions::basic(headers).is_some_and(|shown| {
            let digest = |bytes: &[u8]| ring::digest::digest(&ring::digest::SHA256, bytes);
            digest(&shown).as_ref() == digest(credentials.as_bytes()).as_ref()
        })
    }
}

/// What happens to a request on a forward listener.
#[derive(Debug)]
pub(crate) enum Decision {
    /// 407: it lacks the credentials of `--proxy-auth`.
    Authenticate,
    /// The client gets this.
    Refuse(Problem),
    /// The client gets a problem because of the host.
    Deny(Denial),
    /// It is forwarded and recorded.
    Forward(Route),
    /// It is forwarded and not recorded, unless its host resolves to one of contrail's own listeners.
    ForwardUnseen {
        /// `http` or `https`.
        scheme: &'static str,
        /// Its host.
        target: HostPort,
    },
    /// A CONNECT whose requests are read.
    Intercept(HostPort),
    /// A CONNECT whose bytes pass unseen, unless its host resolves to one of contrail's own listeners.
    Tunnel(HostPort),
}

/// Where an opened host's requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// This upstream of the proxy.
    Upstream(usize),
    /// Another origin.
    Other {
        /// `http` or `https`.
        scheme: &'static str,
        /// Its Host.
        authority: String,
    },
}

impl Route {
    /// The same, for a request.
    pub(crate) fn destination(self, proxy: &Proxy) -> Destination {
        match self {
            Self::Upstream(upstream) => proxy.upstreams[upstream].clone(),
            Self::Other { scheme, authority } => Destination::new(scheme, authority),
        }
    }
}

/// A host that nothing goes to.
#[derive(Debug)]
pub(crate) struct Denial {
    /// What the client gets.
    pub(crate) problem: Problem,
    host: String,
    /// What would open the host.
    advice: String,
}

impl Denial {
    /// The host is one of contrail's own listeners.
    pub(crate) fn own(target: &HostPort) -> Self {
        let advice = "it is one of contrail's own listeners".to_owned();
        let detail = format!("{target} is one of contrail's own listeners");
        let problem = Problem::new(StatusCode::FORBIDDEN, "own-address", detail);
        Self { problem, host: target.to_string(), advice }
    }

    /// What the observer gets.
    pub(crate) fn report(&self) -> Denied {
        Denied {
            status: self.problem.status.as_u16(),
            reason: self.problem.reason,
            host: self.host.clone(),
            advice: self.advice.clone(),
        }
    }
}

fn malformed(wrong: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad-target", format!("the target cannot be used: {wrong}")).closing()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::{
        Committed, Completed, Observer, Settings,
        upstream::{AnswerFuture, Failure, FailureKind, Upstream},
    };

    #[derive(Debug)]
    struct Nothing;

    impl Upstream for Nothing {
        fn answer(&self, _: crate::upstream::Request) -> AnswerFuture<'_> {
            Box::pin(std::future::ready(Err(Failure::new(FailureKind::Unreachable, "nothing"))))
        }
    }

    impl Observer for Nothing {
        fn on_completed(&self, _: Completed) -> Committed {
            Committed::now()
        }
    }

    fn host(text: &str) -> HostPort {
        HostPort::parse(text, None).unwrap()
    }

    fn forward() -> Forward {
        let authority = Arc::new(Authority::in_memory().unwrap());
        let unseen = Proxy::new(Settings::new("https", "tenant.example"), Arc::new(Nothing), Arc::new(Nothing));
        let own = OwnAddresses::default();
        own.add("127.0.0.1:8080".parse().unwrap());
        Forward {
            upstreams: vec![host("tenant.example:443")],
            intercepted: vec![host("other.example:443")],
            authority,
            any: None,
            tunnel: Some(Tunnel::Deny),
            credentials: None,
            own,
            unseen: unseen.unwrap(),
            connect_timeout: Duration::from_secs(1),
        }
    }

    /// The decision on a request, in a line.
    fn decided(forward: &Forward, request: http::request::Builder) -> String {
        let (head, ()) = request.body(()).unwrap().into_parts();
        match forward.decide(&head) {
            Decision::Authenticate => "authenticate".to_owned(),
            Decision::Refuse(problem) => format!("refuse {} {}", problem.status.as_u16(), problem.reason),
            Decision::Deny(denial) => format!("deny {} {}", denial.report().reason, denial.report().host),
            Decision::Forward(Route::Upstream(_)) => "forward to the upstream".to_owned(),
            Decision::Forward(Route::Other { scheme, authority }) => format!("forward to {scheme}://{authority}"),
            Decision::ForwardUnseen { scheme, target } => format!("forward unseen {scheme} {target}"),
            Decision::Intercept(target) => format!("intercept {target}"),
            Decision::Tunnel(target) => format!("tunnel {target}"),
        }
    }

    #[test]
    fn every_request_gets_one_decision_by_its_head() {
        let get = |target: &str| Request::get(target).header("host", "h");
        let connect = |target: &str| Request::connect(target);
        let (denying, mut allowing, mut memory, mut closed) = (forward(), forward(), forward(), forward());
        allowing.tunnel = Some(Tunnel::Allow);
        (memory.tunnel, memory.any) = (None, Some(Arc::new(Authority::in_memory().unwrap())));
        closed.credentials = Some("me:secret".to_owned());
        let shown = get("http://tenant.example:443/x").header("proxy-authorization", "Basic bWU6c2VjcmV0");
        for (forward, request, decision) in [
            (&denying, get("https://tenant.example/x"), "forward to the upstream"),
            (&denying, get("http://tenant.example:443/x"), "forward to the upstream"),
            (&denying, get("https://other.example/x"), "forward to https://other.example"),
            (&denying, get("http://other.example:443/x"), "forward to http://other.example:443"),
            (&denying, get("http://third.example/x"), "deny tunnel-denied third.example:80"),
            (&denying, get("http://127.0.0.1:8080/x"), "deny own-address 127.0.0.1:8080"),
            (&denying, get("/x"), "refuse 400 no-absolute-form"),
            (&denying, get("ftp://tenant.example/x"), "refuse 400 bad-target"),
            (&denying, get("http://tenant.example/x").header("host", "i"), "refuse 400 bad-request"),
            (&denying, connect("tenant.example:443"), "intercept tenant.example:443"),
            (&denying, connect("other.example:443"), "intercept other.example:443"),
            (&denying, connect("third.example:443"), "deny tunnel-denied third.example:443"),
            (&denying, connect("127.0.0.1:8080"), "deny own-address 127.0.0.1:8080"),
            (&denying, connect("tenant.example"), "refuse 400 bad-target"),
            (&denying, connect("http://tenant.example:443/"), "refuse 400 bad-target"),
            (&denying, connect("tenant.example:443").header("host", "a").header("host", "b"), "refuse 400 bad-target"),
            (&denying, connect("tenant.example:443").version(Version::HTTP_2), "refuse 501 connect-refused"),
            (&allowing, get("http://third.example/x"), "forward unseen http third.example:80"),
            (&allowing, get("http://127.0.0.1:8080/x"), "deny own-address 127.0.0.1:8080"),
            (&allowing, connect("third.example:443"), "tunnel third.example:443"),
            (&allowing, connect("127.0.0.1:8080"), "deny own-address 127.0.0.1:8080"),
            (&memory, get("http://third.example/x"), "forward to http://third.example"),
            (&memory, connect("third.example:443"), "intercept third.example:443"),
            (&memory, connect("127.0.0.1:8080"), "deny own-address 127.0.0.1:8080"),
            (&closed, get("https://tenant.example/x"), "authenticate"),
            (&closed, connect("tenant.example:443"), "authenticate"),
            (&closed, shown, "forward to the upstream"),
        ] {
            let line = format!("{:?} {:?}", request.method_ref(), request.uri_ref());
            assert_eq!(decided(forward, request), decision, "{line}");
        }
    }
}
