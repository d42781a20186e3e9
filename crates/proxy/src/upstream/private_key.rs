//! Private keys that options name, and certificates that cannot be used.

use std::path::Path;

use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};

/// Reads a key, PEM.
///
/// # Errors
///
/// In words, what is wrong with the file.
pub fn read(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        let text = std::fs::read(path).unwrap_or_default();
        // PKCS#8 (RFC 7468, section 11), and what OpenSSL wrote before (RFC 1421, section 4.6.1.1).
        let marks = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];
        if marks.iter().any(|mark| memchr::memmem::find(&text, mark.as_bytes()).is_some()) {
            let path = path.display();
            return format!(
                "the key is encrypted; `openssl pkey -in {path} -out PLAIN` writes it without its passphrase"
            );
        }
        error.to_string()
    })
}

/// Why a certificate and its key cannot be used together, as a clause.
pub fn mismatch(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            "the key belongs to another certificate; name the certificate's own key".into()
        }
        rustls::Error::InvalidCertificate(wrong) => format!("the certificate {}", unusable(wrong)),
        other => other.to_string(),
    }
}

/// Why a certificate cannot be used, as what follows its name.
pub fn unusable(wrong: &rustls::CertificateError) -> String {
    match wrong {
        // As `openssl x509 -req` writes them; their errors have no words but their names.
        rustls::CertificateError::Other(cause) if cause.0.to_string() == "UnsupportedCertVersion" => {
            "is of X.509 version 1, and TLS needs version 3; `openssl x509 -req -extfile FILE` makes one".into()
        }
        wrong => format!("cannot be used ({wrong})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_key_is_called_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        for (text, expected) in [
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
                "the key is encrypted",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIB\n-----END RSA PRIVATE KEY-----\n",
                "the key is encrypted",
            ),
            ("", "no items found"),
        ] {
            std::fs::write(&path, text).unwrap();
            let wrong = read(&path).unwrap_err();
            assert!(wrong.starts_with(expected), "{wrong}");
        }
    }
}
