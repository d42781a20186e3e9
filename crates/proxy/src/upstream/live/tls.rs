//! TLS towards the upstream: whom to trust, and who to be.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        self, DigitallySignedStruct, SignatureScheme,
        client::{
            WebPkiServerVerifier,
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
            verify_server_name,
        },
        server::ParsedCertificate,
    },
};

use super::settings::{Access, Http2};
use crate::upstream::{Origin, private_key};

/// HTTP/1.1 by its name in a handshake (RFC 7301).
pub(super) const HTTP1: &[u8] = b"http/1.1";

/// Why a live upstream cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// A file of an option cannot be read, or does not hold what it should.
    File {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The parser's or the system's words.
        cause: String,
    },
    /// The system has no roots, and none were given.
    NoRoots,
    /// The host cannot stand in a certificate.
    Host(String),
    /// `--upstream-cert` and `--upstream-key` cannot be used together, for this cause.
    Identity(String),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { option, path, cause } => {
                write!(f, "{option} {}: no certificate can be read from it (PEM is expected): {cause}", path.display())
            }
            Self::NoRoots => {
                f.write_str("the system trusts no certificate authority; name one with --upstream-ca FILE")
            }
            Self::Host(host) => write!(f, "`{host}` cannot be checked against a certificate"),
            Self::Identity(cause) => {
                write!(f, "--upstream-cert and --upstream-key cannot be used together: {cause}")
            }
        }
    }
}

impl std::error::Error for SetupError {}

/// The client's side of TLS for this origin.
///
/// # Errors
///
/// [`SetupError`] names the option and the file.
pub(super) fn connector(origin: &Origin, access: &Access) -> Result<(TlsConnector, ServerName<'static>), SetupError> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let mut named = Vec::new();
    if let Some(path) = &access.roots {
        named = certificates("--upstream-ca", path)?;
        for certificate in &named {
            roots.add(certificate.clone()).map_err(|error| wrong("--upstream-ca", path, error.to_string()))?;
        }
    }
    if roots.is_empty() {
        return Err(SetupError::NoRoots);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|_| SetupError::NoRoots)?;
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Host(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { usual, named }));
    let mut config = match &access.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates("--upstream-cert", certificate)?;
            let key = private_key::read(key).map_err(|cause| wrong("--upstream-key", key, cause))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| SetupError::Identity(private_key::mismatch(&error)))?
        }
    };
    config.alpn_protocols = match access.http2 {
        Http2::Auto => vec![b"h2".to_vec(), HTTP1.to_vec()],
        Http2::Always => vec![b"h2".to_vec()],
        Http2::Off => vec![HTTP1.to_vec()],
    };
    let name = ServerName::try_from(origin.host.to_string()).map_err(|_| SetupError::Host(origin.host.to_string()))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// The usual rules, and one more: a server may show the very certificate that `--upstream-ca` names. What
/// `openssl req -x509` makes is marked as an authority (RFC 5280, section 4.2.1.9), which the usual rules let no
/// server be; it is trusted by name all the same, as by curl.
#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

/// How the usual rules, which look at the time first, say that an authority's certificate was shown by a server.
const SHOWN_AUTHORITY: &str = "CaUsedAsEndEntity";

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.usual.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(cause)))
                if cause.0.to_string() == SHOWN_AUTHORITY && self.named.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Why a handshake failed, in plain words, with what helps.
pub(super) fn failed(error: &io::Error) -> String {
    use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else { return error.to_string() };
    match tls {
        Error::InvalidCertificate(wrong) => match wrong {
            CertificateError::UnknownIssuer => {
                "its certificate is signed by an authority that is not trusted; --upstream-ca FILE names one to trust"
                    .into()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired, by this machine's clock".into()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet, by this machine's clock".into()
            }
            CertificateError::NotValidForName => "its certificate is for another name".into(),
            CertificateError::NotValidForNameContext { expected, presented } => {
                // `DnsName("a.example")`, `IpAddress(127.0.0.1)`.
                let inner = |name: &String| {
                    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
                    inner.unwrap_or(name).trim_matches('"').to_owned()
                };
                let names: Vec<String> = presented.iter().map(inner).collect();
                let names = if names.is_empty() { "no host".to_owned() } else { names.join(", ") };
                format!("its certificate is for {names}, and not for {}", expected.to_str())
            }
            CertificateError::Revoked => "its certificate has been revoked".into(),
            CertificateError::Other(cause) if cause.0.to_string() == SHOWN_AUTHORITY => {
                "its certificate is that of an authority, which no server may use; --upstream-ca FILE with this \
                 certificate trusts it"
                    .into()
            }
            CertificateError::BadSignature => {
                "its certificate names a trusted authority, and is not signed by it; --upstream-ca FILE names \
                 another to trust"
                    .into()
            }
            wrong => format!("its certificate {}", private_key::unusable(wrong)),
        },
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "it asks for a client's certificate; --upstream-cert and --upstream-key name one".into()
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server there does not speak TLS; is it http?".into()
        }
        other => format!("no TLS handshake: {other}"),
    }
}

fn certificates(option: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(option, path, error.to_string()))?;
    if certificates.is_empty() { Err(wrong(option, path, "it holds none".to_owned())) } else { Ok(certificates) }
}

fn wrong(option: &'static str, path: &Path, cause: String) -> SetupError {
    SetupError::File { option, path: path.to_owned(), cause }
}
