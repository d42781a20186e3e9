//! What clients speak to a system: HTTP/1.1, the same over TLS, or HTTP/2 by prior knowledge.

use std::{path::Path, pin::Pin, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::Error;

/// See the module.
#[derive(Clone)]
pub enum Front {
    Http1,
    Http2,
    Tls(Arc<Files>),
}

/// Where certificate and key lie, as PEM.
pub struct Files {
    pub cert: String,
    pub key: String,
}

/// A connection of either kind.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// What opens or takes connections, made once.
#[derive(Clone)]
pub enum Shake {
    Plain,
    Accept(TlsAcceptor),
    Connect(TlsConnector),
}

impl Front {
    /// By its name; a certificate for loopback is made in `scratch` where one is needed.
    pub fn named(name: &str, scratch: &Path) -> Result<Self, Error> {
        match name {
            "http1" => Ok(Self::Http1),
            "http2" => Ok(Self::Http2),
            "tls" => {
                let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
                let (cert, key) = (scratch.join("cert.pem"), scratch.join("key.pem"));
                std::fs::write(&cert, made.cert.pem())?;
                std::fs::write(&key, made.signing_key.serialize_pem())?;
                Ok(Self::Tls(Arc::new(Files { cert: cert.display().to_string(), key: key.display().to_string() })))
            }
            other => Err(format!("`{other}` is no front; expected http1, http2, tls").into()),
        }
    }

    /// As arguments of `bare`, and back.
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Self::Http1 => vec!["http1".into()],
            Self::Http2 => vec!["http2".into()],
            Self::Tls(files) => vec!["tls".into(), files.cert.clone(), files.key.clone()],
        }
    }

    pub fn from_arguments(arguments: &[String]) -> Result<Self, Error> {
        match arguments {
            [name] if name == "http2" => Ok(Self::Http2),
            [name, cert, key] if name == "tls" => {
                Ok(Self::Tls(Arc::new(Files { cert: cert.clone(), key: key.clone() })))
            }
            [] => Ok(Self::Http1),
            [name] if name == "http1" => Ok(Self::Http1),
            _ => Err("FRONT is http1, http2 or `tls CERT KEY`".into()),
        }
    }

    pub fn is_http2(&self) -> bool {
        matches!(self, Self::Http2)
    }

    /// What a server does with a new connection.
    pub fn accepting(&self) -> Result<Shake, Error> {
        let Self::Tls(files) = self else { return Ok(Shake::Plain) };
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(
            vec![CertificateDer::from_pem_file(&files.cert)?],
            PrivateKeyDer::from_pem_file(&files.key)?,
        )?;
        Ok(Shake::Accept(Arc::new(config).into()))
    }

    /// What a client does with a new connection.
    pub fn connecting(&self) -> Result<Shake, Error> {
        let Self::Tls(files) = self else { return Ok(Shake::Plain) };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&files.cert)?)?;
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Ok(Shake::Connect(Arc::new(config).into()))
    }
}

impl Shake {
    pub async fn hands(&self, stream: TcpStream) -> Result<Pin<Box<dyn Io>>, Error> {
        stream.set_nodelay(true)?;
        Ok(match self {
            Self::Plain => Box::pin(stream),
            Self::Accept(acceptor) => Box::pin(acceptor.accept(stream).await?),
            Self::Connect(connector) => Box::pin(connector.connect(ServerName::try_from("localhost")?, stream).await?),
        })
    }
}
