//! The listeners of a proxy: opening them, and the lines that say where they listen.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

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
    outbound::{OutboundPolicy, Site},
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
    pub(super) fn plain(&self) -> Option<SocketAddr> {
        self.address(|door| matches!(door, ListenerKind::Plain))
    }

    pub(super) fn tls(&self) -> Option<SocketAddr> {
        self.address(|door| matches!(door, ListenerKind::Tls(_)))
    }

    pub(super) fn forward(&self) -> Option<SocketAddr> {
        self.address(|door| matches!(door, ListenerKind::Forward(_)))
    }

    fn address(&self, is: impl Fn(&ListenerKind) -> bool) -> Option<SocketAddr> {
        self.open.iter().find(|open| is(&open.door)).map(|open| open.address)
    }

    /// One line per listener, once they are all open.
    pub(super) fn lines(&self) -> Vec<String> {
        self.open
            .iter()
            .map(|Open { address, door, .. }| match door {
                ListenerKind::Plain => format!("listening on http://{address}"),
                ListenerKind::Tls(_) => format!("listening on https://{address}"),
                ListenerKind::Forward(_) => format!("listening on http://{address} (forward proxy)"),
            })
            .collect()
    }
}

impl ListenerArgs {
    /// Opens the listeners. `for_client` adds a forward listener and takes free ports: the
    /// environment of a client will name them.
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
        let Site { origin, own, outbound } = site;
        let intercepted = self.intercepted()?;
        let upstream = HostPort { host: origin.host.to_string(), port: origin.port };
        let forward_address = self.forward_listen.as_deref().or(for_client.then_some(WRAP_LISTEN));
        let own_certificates = self.tls_listen.is_some() && self.cert.is_none();
        let offline = matches!(outbound, OutboundPolicy::Memory);
        // Only who gets the environment is handed the certificate of an authority that speaks for every host.
        let any = if offline && for_client { Some(Arc::new(Authority::in_memory()?)) } else { None };
        let named = any.is_none() || !intercepted.is_empty() || self.ca_dir.is_some();
        let kept = if own_certificates || forward_address.is_some() && named {
            let base = self.ca_dir.clone().map_or_else(authority::default_folder, Ok)?;
            let hosts: Vec<String> =
                [&upstream].into_iter().chain(&intercepted).map(|target| target.host.clone()).collect();
            Some(Arc::new(Authority::open(&base, &hosts)?))
        } else {
            None
        };
        let mut open = Vec::new();
        let mut files = None;
        if self.listen.is_some() || self.tls_listen.is_none() && (for_client || forward_address.is_none()) {
            let fallback = if for_client { WRAP_LISTEN } else { DEFAULT_LISTEN };
            let address = self.listen.as_deref().unwrap_or(fallback);
            open.push((bind("--listen", address).await?, ListenerKind::Plain));
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
            open.push((bind("--tls-listen", address).await?, ListenerKind::Tls(certificates)));
        }
        let opened_hosts: Vec<HostPort> = [upstream.clone()].into_iter().chain(intercepted.iter().cloned()).collect();
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
                upstream,
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
        Ok(Listeners { open, authorities, opened_hosts, credentials: self.proxy_auth.clone(), files })
    }
}

/// Warns of a certificate that clients will refuse because of its time.
pub(super) fn warn_of_time(certificate: &Path) {
    if let Some(wrong) = Certificates::out_of_time(certificate) {
        warn(&format!("--cert {} {wrong}; clients will refuse it", certificate.display()));
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
