//! The listeners of a proxy: opening them, and the lines that say where they listen.

use std::{borrow::Cow, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use contrail_proxy::{
    HostPort, Proxy,
    entry::{
        authority::{self, Authority},
        forward::Forward,
        listener::ListenerKind,
        tls::{CertificateFiles, Certificates},
    },
    upstream::masked,
};
use tokio::net::TcpListener;

use super::{
    Failure,
    options::listen::ListenerArgs,
    outbound::{OutboundPolicy, Site, UpstreamSite},
    printer::warn,
};

/// Where the default listener listens.
const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

/// Where listeners around a command listen unless they are named: any free port, this machine only.
const WRAP_LISTEN: &str = "127.0.0.1:0";

/// An open listener.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) door: ListenerKind,
}

/// All open listeners, and what a client needs to know about them.
#[derive(Debug)]
pub(super) struct Listeners {
    pub(super) open: Vec<Open>,
    /// The upstreams, each with reverse listeners of its own.
    pub(super) upstreams: Vec<UpstreamSite>,
    /// Who speaks for the hosts that are opened; clients have to trust all of them.
    pub(super) authorities: Vec<Arc<Authority>>,
    /// Hosts that clients reach through the forward listener.
    pub(super) opened_hosts: Vec<HostPort>,
    /// Name and password of the forward listener.
    pub(super) credentials: Option<String>,
    /// The files of `--cert` and `--key`.
    pub(super) files: Option<CertificateFiles>,
}

impl Listeners {
    /// Of the upstream at this place.
    pub(super) fn plain(&self, upstream: usize) -> Option<SocketAddr> {
        self.address(|door| matches!(door, ListenerKind::Plain(of) if *of == upstream))
    }

    /// Of the upstream at this place.
    pub(super) fn tls(&self, upstream: usize) -> Option<SocketAddr> {
        self.address(|door| matches!(door, ListenerKind::Tls(_, of) if *of == upstream))
    }

    pub(super) fn forward(&self) -> Option<SocketAddr> {
        self.address(|door| matches!(door, ListenerKind::Forward(_)))
    }

    fn address(&self, is: impl Fn(&ListenerKind) -> bool) -> Option<SocketAddr> {
        self.open.iter().find(|open| is(&open.door)).map(|open| open.address)
    }

    /// Scheme, place of the upstream and port of the reverse listeners.
    pub(super) fn reverse(&self) -> impl Iterator<Item = (&'static str, usize, u16)> {
        self.open.iter().filter_map(|Open { address, door, .. }| match door {
            ListenerKind::Plain(upstream) => Some(("http", *upstream, address.port())),
            ListenerKind::Tls(_, upstream) => Some(("https", *upstream, address.port())),
            ListenerKind::Forward(_) => None,
        })
    }

    /// One line per listener, once they are all open.
    pub(super) fn lines(&self) -> Vec<String> {
        let of = |upstream: usize| {
            let name = self.upstreams.get(upstream).and_then(|upstream| upstream.name.as_ref());
            name.map(|name| format!(" ({name})")).unwrap_or_default()
        };
        self.open
            .iter()
            .map(|Open { address, door, .. }| match door {
                ListenerKind::Plain(upstream) => format!("listening on http://{address}{}", of(*upstream)),
                ListenerKind::Tls(_, upstream) => format!("listening on https://{address}{}", of(*upstream)),
                ListenerKind::Forward(_) => format!("listening on http://{address} (forward proxy)"),
            })
            .collect()
    }
}

impl ListenerArgs {
    /// Opens the listeners; of several upstreams, that of each listens one port after the one before. `for_client` adds
    /// a forward listener and takes free ports: the environment of a client will name them.
    ///
    /// # Errors
    ///
    /// A taken port, an authority that cannot be used, a forward listener that others could reach without credentials.
    pub(super) async fn open(
        &self,
        site: &Site<'_>,
        unseen: Arc<Proxy>,
        connect_timeout: Duration,
        for_client: bool,
    ) -> Result<Listeners, Failure> {
        let Site { upstreams, own, outbound } = site;
        let intercepted = self.intercepted()?;
        let called: Vec<HostPort> = upstreams.iter().map(|upstream| upstream.called.clone()).collect();
        let forward_address = self.forward_listen.as_deref().or(for_client.then_some(WRAP_LISTEN));
        let own_certificates = self.tls_listen.is_some() && self.cert.is_none();
        let offline = matches!(outbound, OutboundPolicy::Memory);
        // Only who gets the environment is handed the certificate of an authority that speaks for every host.
        let any = if offline && for_client { Some(Arc::new(Authority::in_memory()?)) } else { None };
        let named = any.is_none() || !intercepted.is_empty() || self.ca_dir.is_some();
        let kept = if own_certificates || forward_address.is_some() && named {
            let base = self.ca_dir.clone().map_or_else(authority::default_folder, Ok)?;
            let hosts: Vec<String> = called.iter().chain(&intercepted).map(|target| target.host.clone()).collect();
            Some(Arc::new(Authority::open(&base, &hosts)?))
        } else {
            None
        };
        let mut open = Vec::new();
        let mut files = None;
        if self.listen.is_some() || self.tls_listen.is_none() && (for_client || forward_address.is_none()) {
            let fallback = if for_client { WRAP_LISTEN } else { DEFAULT_LISTEN };
            let address = self.listen.as_deref().unwrap_or(fallback);
            for upstream in 0..upstreams.len() {
                let bound = bind("--listen", &following(address, upstream)).await?;
                open.push((bound, ListenerKind::Plain(upstream)));
            }
        }
        if let Some(address) = &self.tls_listen {
            let certificates = match (&self.cert, &self.key, &kept) {
                (Some(certificate), Some(key), _) => {
                    let opened = files.insert(CertificateFiles::open(certificate, key)?);
                    warn_of_time(certificate);
                    opened.certificates()
                }
                (_, _, Some(authority)) => Certificates::Authority(Arc::clone(authority)),
                _ => return Err("--tls-listen needs --cert and --key together, or neither".into()),
            };
            for upstream in 0..upstreams.len() {
                let bound = bind("--tls-listen", &following(address, upstream)).await?;
                open.push((bound, ListenerKind::Tls(certificates.clone(), upstream)));
            }
        }
        let opened_hosts: Vec<HostPort> = called.iter().chain(&intercepted).cloned().collect();
        let authorities: Vec<_> = kept.iter().chain(&any).cloned().collect();
        if let (Some(address), Some(authority)) = (forward_address, authorities.first()) {
            let (listener, address) = bind("--forward-listen", address).await?;
            if !address.ip().to_canonical().is_loopback() && self.proxy_auth.is_none() {
                return Err(format!(
                    "--forward-listen {address} is open to other machines; set credentials with --proxy-auth \
                     USER:PASSWORD, or listen on 127.0.0.1"
                )
                .into());
            }
            let forward = Forward {
                upstreams: called,
                intercepted,
                authority: Arc::clone(authority),
                any,
                tunnel: (!offline).then_some(self.tunnel),
                credentials: self.proxy_auth.clone(),
                own: own.clone(),
                unseen,
                connect_timeout,
            };
            open.push(((listener, address), ListenerKind::Forward(Arc::new(forward))));
        }
        let open: Vec<Open> =
            open.into_iter().map(|((listener, address), door)| Open { listener, address, door }).collect();
        for Open { address, .. } in &open {
            own.add(*address);
        }
        let (upstreams, credentials) = (upstreams.to_vec(), self.proxy_auth.clone());
        Ok(Listeners { open, upstreams, authorities, opened_hosts, credentials, files })
    }
}

/// Warns of a certificate that clients will refuse because of its time.
pub(super) fn warn_of_time(certificate: &Path) {
    if let Some(wrong) = Certificates::out_of_time(certificate) {
        warn(&format!("--cert {} {wrong}; clients will refuse it", certificate.display()));
    }
}

/// The address with its port moved on by so many; port 0 stays.
fn following(address: &str, by: usize) -> Cow<'_, str> {
    let parts = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    match parts {
        Some((host, port)) if port > 0 && by > 0 => format!("{host}:{}", usize::from(port) + by).into(),
        _ => address.into(),
    }
}

/// What is wrong with the form of an address to listen on, if something is. Without it the system would look an empty
/// host up.
fn malformed(address: &str) -> Option<&'static str> {
    match address.rsplit_once(':') {
        None if address.bytes().all(|byte| byte.is_ascii_digit()) => Some("it names no host"),
        None => Some("it names no port"),
        Some(("", _)) => Some("it names no host"),
        Some((_, port)) if port.parse::<u16>().is_err() => Some("its port is not from 0 to 65535"),
        Some(_) => None,
    }
}

pub(super) async fn bind(option: &str, address: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let shown = masked(address);
    if let Some(wrong) = malformed(address) {
        return Err(format!(
            "{option} {shown}: {wrong}; write HOST:PORT, as in 127.0.0.1:8080 (this machine only) or 0.0.0.0:8080; port 0 \
             takes a free one"
        )
        .into());
    }
    let listener = TcpListener::bind(address).await.map_err(|error| {
        format!("cannot listen on {shown} ({error}); name another address with {option}, port 0 takes a free one")
    })?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
