//! TLS on a listener: which certificate a connection gets.

use std::{
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ServerConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    server::Acceptor,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use super::authority::{Authority, AuthorityError, server_config};
use crate::upstream::{irregular, private_key};

/// Where a TLS listener's certificates come from.
#[derive(Debug, Clone)]
pub enum Certificates {
    /// One certificate from files (`--cert`, `--key`).
    Files(Renewed),
    /// contrail's own authority.
    Authority(Arc<Authority>),
}

/// The configuration by the certificate that was read from files last.
#[derive(Debug, Clone)]
pub struct Renewed {
    current: Arc<ServerConfig>,
    changes: watch::Receiver<Arc<ServerConfig>>,
}

/// The files of a certificate and its key, which can be read again while connections use what was read before.
#[derive(Debug)]
pub struct CertificateFiles {
    /// The certificate chain, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    changes: watch::Sender<Arc<ServerConfig>>,
}

impl CertificateFiles {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] names the file.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let (changes, _) = watch::channel(config_from(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), changes })
    }

    /// The certificates of a listener that follows these files.
    #[must_use]
    pub fn certificates(&self) -> Certificates {
        let changes = self.changes.subscribe();
        let current = Arc::clone(&changes.borrow());
        Certificates::Files(Renewed { current, changes })
    }

    /// Reads the files again. New connections use what is in them now; those that are open go on as they are.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] names the file; what was read before stays in force.
    pub fn reload(&self) -> Result<(), CertificateError> {
        for (option, path) in [("--cert", &self.certificate), ("--key", &self.key)] {
            if let Some(why) = irregular(path) {
                return Err(CertificateError::File { option, path: path.clone(), cause: why.to_owned() });
            }
        }
        self.changes.send_replace(config_from(&self.certificate, &self.key)?);
        Ok(())
    }
}

/// Why `--cert` and `--key` cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read, or holds nothing of the kind.
    File {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The parser's or the system's words.
        cause: String,
    },
    /// They cannot be used together, for this cause.
    Pair(String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { option, path, cause } => {
                write!(f, "{option} {}: nothing usable in it (PEM is expected): {cause}", path.display())
            }
            Self::Pair(cause) => write!(f, "--cert and --key cannot be used together: {cause}"),
        }
    }
}

impl std::error::Error for CertificateError {}

impl Certificates {
    /// Takes what was read again, if it was; a connection that is accepted from now on uses it. Costs one atomic load
    /// where nothing changed.
    pub(crate) fn renew(&mut self) {
        if let Self::Files(Renewed { current, changes }) = self
            && changes.has_changed().is_ok_and(|changed| changed)
        {
            *current = Arc::clone(&changes.borrow_and_update());
        }
    }

    /// What is wrong with the time of a certificate in a file, if something is: clients refuse it.
    #[must_use]
    pub fn out_of_time(certificate: &Path) -> Option<&'static str> {
        let certificate = CertificateDer::from_pem_file(certificate).ok()?;
        // Verifiers look at the time before anything else, so it does not matter whom this one trusts.
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone()).ok()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
        let name = ServerName::try_from("localhost").ok()?;
        match verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now()) {
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::Expired | rustls::CertificateError::ExpiredContext { .. },
            )) => Some("has expired"),
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidYet | rustls::CertificateError::NotValidYetContext { .. },
            )) => Some("is not valid yet"),
            _ => None,
        }
    }

    /// The configuration for a connection that came in at this local address.
    fn for_address(&self, local: IpAddr) -> Result<Arc<ServerConfig>, AuthorityError> {
        match self {
            Self::Files(files) => Ok(Arc::clone(&files.current)),
            // Every certificate covers all of the authority's hosts and loopback; another local address is added
            // where the authority may speak for it.
            Self::Authority(authority) => authority.server_config(&authority.name_for(local.to_canonical())),
        }
    }

    /// The server's side of a handshake.
    ///
    /// # Errors
    ///
    /// In words, for the log.
    pub(crate) async fn accept<IO>(&self, io: IO, local: IpAddr) -> Result<TlsStream<IO>, String>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.for_address(local).map_err(|error| error.to_string())?;
        accept(config, io).await
    }
}

/// A certificate chain and its key, both PEM.
fn config_from(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, CertificateError> {
    let wrong = |option, path: &Path, cause: String| CertificateError::File { option, path: path.to_owned(), cause };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong("--cert", certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(wrong("--cert", certificate, "it holds no certificate".into()));
    }
    let key = private_key::read(key).map_err(|cause| wrong("--key", key, cause))?;
    let config = server_config(chain, key).map_err(|error| match error {
        AuthorityError::Certificate(cause) => CertificateError::Pair(cause),
        other => CertificateError::Pair(other.to_string()),
    })?;
    Ok(Arc::new(config))
}

/// The server's side of a handshake with this configuration.
///
/// # Errors
///
/// In words, for the log.
pub(crate) async fn accept<IO>(config: Arc<ServerConfig>, io: IO) -> Result<TlsStream<IO>, String>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let hello = LazyConfigAcceptor::new(Acceptor::default(), io).await.map_err(|error| error.to_string())?;
    let spoken = |name: &[u8]| config.alpn_protocols.iter().any(|spoken| spoken == name);
    // A list without anything that is spoken here (`http/1.0` alone) would end the handshake; HTTP/1 needs no word of
    // it.
    let unknown = hello.client_hello().alpn().is_some_and(|mut offered| !offered.any(spoken));
    let config = if unknown {
        let mut plain = ServerConfig::clone(&config);
        plain.alpn_protocols.clear();
        Arc::new(plain)
    } else {
        config
    };
    hello.into_stream(config).await.map_err(|error| error.to_string())
}

/// Whether the handshake settled on HTTP/2 (RFC 7301).
pub(crate) fn speaks_http2<IO>(stream: &TlsStream<IO>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}
