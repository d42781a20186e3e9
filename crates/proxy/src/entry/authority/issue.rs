//! An authority that is open: rotation, and leaf certificates for hosts.

use std::{
    collections::{HashMap, HashSet},
    fmt, fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _},
};

use super::{
    certificates::{alternative_name, authority_params, common_name, pem, random_serial, validity},
    error::AuthorityError,
    files::{self, CERTIFICATE, KEY, canonical, folder_name, folders, of, private, read_facts},
};
use crate::upstream::private_key;

/// Lifetime of a leaf certificate; it is replaced at half of that.
const LEAF_LIFETIME: Duration = Duration::from_hours(48);

/// Maximum hosts whose leaves are cached; beyond it the cache is emptied.
const MAX_LEAVES: usize = 1024;

/// An authority that is ready to sign.
pub struct Authority {
    /// Where it is kept; `None` if it lives in memory only.
    pub(super) folder: Option<PathBuf>,
    hosts: Vec<String>,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    leaves: Mutex<HashMap<String, Leaf>>,
}

struct Leaf {
    config: Arc<ServerConfig>,
    renew_at: SystemTime,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Authority {
    /// Opens the authority for these hosts below `base`, making it if there is none. Ports do not count; `localhost`
    /// and the loopback addresses are always included.
    ///
    /// # Errors
    ///
    /// [`AuthorityError`], among them a refusal where others can read the key.
    pub fn open(base: &Path, hosts: &[String]) -> Result<Self, AuthorityError> {
        let hosts = canonical(hosts);
        let folder = base.join(folder_name(&hosts));
        let _alone = files::lock(base)?;
        if !files::is_made(&folder) {
            files::make(base, &folder, &hosts)?;
        }
        Self::read(folder)
    }

    /// An authority for every host that is never written to disk. It ends with the process, and only clients that are
    /// given its certificate trust it.
    ///
    /// # Errors
    ///
    /// [`AuthorityError::Certificate`] where the system gives no key.
    pub fn in_memory() -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = authority_params(&[], SystemTime::now())?;
        params.name_constraints = None;
        let certificate = params.self_signed(&key)?.der().clone();
        let issuer = Issuer::new(params, key);
        Ok(Self { folder: None, hosts: Vec::new(), certificate, issuer, leaves: Mutex::default() })
    }

    /// Replaces the authority for these hosts, or makes it if there is none. On an error the old one is still in place.
    ///
    /// # Errors
    ///
    /// As [`Authority::open`].
    pub fn rotate(base: &Path, hosts: &[String]) -> Result<Self, AuthorityError> {
        let _alone = files::lock(base)?;
        Self::replace(base, hosts)
    }

    fn replace(base: &Path, hosts: &[String]) -> Result<Self, AuthorityError> {
        let folder = base.join(folder_name(&canonical(hosts)));
        files::replace(base, &folder, &canonical(hosts))?;
        Self::read(folder)
    }

    /// Replaces every authority below `base`, usable or not. One that does not state its hosts is removed; a proxy for
    /// them makes it again.
    ///
    /// # Errors
    ///
    /// As [`Authority::open`], and where `base` exists and cannot be listed.
    pub fn rotate_all(base: &Path) -> Result<Rotated, AuthorityError> {
        let mut rotated = Rotated::default();
        let _alone = files::lock(base)?;
        for folder in folders(base)? {
            let hosts = read_facts(&folder).map(|(hosts, _)| hosts);
            match hosts {
                Ok(hosts) => rotated.authorities.push(Self::replace(base, &hosts)?),
                Err(_) => {
                    files::remove(&folder)?;
                    rotated.removed.push(folder);
                }
            }
        }
        Ok(rotated)
    }

    /// Every authority below `base`, by folder name. A folder that is not usable gives its error.
    ///
    /// # Errors
    ///
    /// [`AuthorityError::Io`] where `base` exists and cannot be listed.
    pub fn list(base: &Path) -> Result<Vec<Result<Self, AuthorityError>>, AuthorityError> {
        let _alone = files::lock(base)?;
        Ok(folders(base)?.into_iter().map(Self::read).collect())
    }

    fn read(folder: PathBuf) -> Result<Self, AuthorityError> {
        private(&folder)?;
        let key_path = folder.join(KEY);
        private(&key_path)?;
        let (hosts, expires) = read_facts(&folder)?;
        if SystemTime::now() >= expires {
            return Err(AuthorityError::Expired { folder });
        }
        let damaged = |path: &Path, reason: &dyn fmt::Display| AuthorityError::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let key = fs::read_to_string(&key_path).map_err(of(&key_path))?;
        let key = KeyPair::from_pem(&key).map_err(|error| damaged(&key_path, &error))?;
        let certificate_path = folder.join(CERTIFICATE);
        let pem = fs::read(&certificate_path).map_err(of(&certificate_path))?;
        let certificate = CertificateDer::from_pem_slice(&pem).map_err(|error| damaged(&certificate_path, &error))?;
        // A certificate holds its public key as it is.
        if memchr::memmem::find(&certificate, key.public_key_raw()).is_none() {
            return Err(damaged(&key_path, &"it is not the key of `ca.pem`"));
        }
        // Only the name and the key of the issuer enter a leaf; both are known without parsing the certificate.
        let issuer = Issuer::new(authority_params(&hosts, SystemTime::now())?, key);
        Ok(Self { folder: Some(folder), hosts, certificate, issuer, leaves: Mutex::default() })
    }

    /// The file that clients have to trust, if there is one.
    #[must_use]
    pub fn certificate_path(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(CERTIFICATE))
    }

    /// The certificate as PEM.
    #[must_use]
    pub fn certificate_pem(&self) -> String {
        pem(&self.certificate)
    }

    /// The certificate itself, DER.
    #[must_use]
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// SHA-256 of the certificate, upper-case hex pairs with colons, as browsers and OpenSSL print it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.certificate);
        digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// The hosts that it may speak for, besides loopback.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The name by which a connection to this local address is certified: the address itself where the authority may
    /// speak for it, else `localhost`.
    #[must_use]
    pub fn name_for(&self, local: IpAddr) -> String {
        let text = local.to_string();
        if local.is_loopback() && local != IpAddr::from([127, 0, 0, 1]) && local.is_ipv4() || self.hosts.contains(&text)
        {
            text
        } else {
            "localhost".into()
        }
    }

    /// The TLS configuration for connections to `host` (a name or an address, no port): a short-lived certificate for
    /// it and for everything else that the authority may speak for; ALPN h2 and http/1.1. Cached per host.
    ///
    /// # Errors
    ///
    /// [`AuthorityError::Certificate`] for a host that is no valid name.
    pub fn server_config(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        let now = SystemTime::now();
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = leaves.get(host).filter(|leaf| now < leaf.renew_at) {
            return Ok(leaf.config.clone());
        }
        let config = Arc::new(self.sign(host, now)?);
        if leaves.len() >= MAX_LEAVES {
            leaves.clear();
        }
        leaves.insert(host.to_owned(), Leaf { config: config.clone(), renew_at: now + LEAF_LIFETIME / 2 });
        Ok(config)
    }

    fn sign(&self, host: &str, now: SystemTime) -> Result<ServerConfig, AuthorityError> {
        let mut names = vec![host.to_owned(), "localhost".into(), "127.0.0.1".into(), "::1".into()];
        names.extend(self.hosts.iter().cloned());
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let mut params = CertificateParams::default();
        params.subject_alt_names = names.iter().map(|name| alternative_name(name)).collect::<Result<_, _>>()?;
        params.distinguished_name = common_name("contrail");
        params.serial_number = Some(random_serial()?);
        (params.not_before, params.not_after) = validity(now, LEAF_LIFETIME)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let leaf = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        server_config(vec![leaf.der().clone(), self.certificate.clone()], key)
    }
}

/// What [`Authority::rotate_all`] did.
#[derive(Debug, Default)]
pub struct Rotated {
    /// The new authorities.
    pub authorities: Vec<Authority>,
    /// Folders that did not state their hosts, and are gone.
    pub removed: Vec<PathBuf>,
}

/// A TLS server configuration (TLS 1.2 and 1.3, ALPN h2 and http/1.1) for a certificate chain and its key.
///
/// # Errors
///
/// [`AuthorityError::Certificate`] where key and certificate do not belong together.
pub fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, AuthorityError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| AuthorityError::Certificate(private_key::mismatch(&error)))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
