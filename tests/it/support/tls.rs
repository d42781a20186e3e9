//! A client of TLS that trusts one authority.

use std::sync::Arc;

use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};

/// One that asks for this protocol.
pub fn trusting(authority: CertificateDer<'static>, protocol: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    Arc::new(config)
}
