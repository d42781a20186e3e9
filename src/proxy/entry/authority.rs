//! The local certificate authority: made at first use, kept per user, able to speak only for the hosts it was made for.
//!
//! One authority per set of hosts, each in a folder of its own below `--ca-dir`: `ca.pem` (to be trusted by clients),
//! `ca-key.pem` (never leaves the folder) and `authority.json` (hosts, expiry). X.509 name constraints (RFC 5280,
//! section 4.2.1.10) bind it to its hosts and loopback, so a stolen key cannot speak for the rest of the world. Common
//! names are neutral: OpenSSL applies name constraints to a common name that looks like a host.

use std::{
    collections::HashMap,
    fmt, fs, io,
    io::Write as _,
    net::IpAddr,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, SanType, SerialNumber,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _},
};

/// How long an authority lasts: the longest that every platform's verifier accepts for certificates people trust.
const AUTHORITY_LIFETIME: Duration = Duration::from_hours(825 * 24);
/// How long a leaf certificate lasts; it is replaced at half of that.
const LEAF_LIFETIME: Duration = Duration::from_hours(48);
/// Clocks of clients may be behind by this much.
const BACKDATE: Duration = Duration::from_hours(24);
/// Most hosts whose leaves are kept; beyond it the cache starts anew.
const MAX_LEAVES: usize = 1024;
const COMMON_NAME: &str = "contrail local authority";

/// Why there is no usable authority.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuthorityError {
    /// No `--ca-dir`, and the environment names no home.
    NoHome,
    /// A file or folder of the authority could not be read or made.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The key, or a folder that holds it, can be read by others.
    Exposed {
        /// Which.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file of the authority is not what contrail wrote.
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The authority's time is over.
    Expired {
        /// Its folder.
        folder: PathBuf,
    },
    /// A certificate could not be made or used.
    Certificate(String),
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => f.write_str("no place for the certificate authority: neither XDG_DATA_HOME nor HOME is set; name one with --ca-dir DIR"),
            Self::Io { path, .. } => write!(f, "cannot use the certificate authority at `{}`", path.display()),
            Self::Exposed { path, mode } => write!(
                f,
                "`{}` can be read by others (mode {mode:04o}), so its key may be known; `{}` makes a new one, or, if you are \
                 sure, `chmod go= {}`",
                path.display(),
                rotation(path),
                path.display()
            ),
            Self::Damaged { path, reason } => {
                write!(f, "`{}` is not usable: {reason}; `{}` makes a new authority", path.display(), rotation(path))
            }
            Self::Expired { folder } => {
                let rotation = rotation(folder);
                write!(f, "the certificate authority in `{}` has expired; `{rotation}` makes a new one", folder.display())
            }
            Self::Certificate(reason) => write!(f, "cannot make a certificate: {reason}"),
        }
    }
}

impl std::error::Error for AuthorityError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Certificate(error.to_string())
    }
}

/// The command that makes the authority of this folder anew, or of the folder that holds this file.
fn rotation(path: &Path) -> String {
    let is_file = path.extension().is_some_and(|extension| extension == "pem" || extension == "json");
    let base = path.ancestors().nth(if is_file { 2 } else { 1 }).unwrap_or(path);
    if default_folder().is_ok_and(|folder| folder == base) {
        return "contrail ca rotate".to_owned();
    }
    format!("contrail ca rotate --ca-dir {}", base.display())
}

/// Where authorities are kept when `--ca-dir` says nothing: `$XDG_DATA_HOME/contrail/ca`, else
/// `~/.local/share/contrail/ca`.
///
/// # Errors
///
/// [`AuthorityError::NoHome`] where the environment names neither.
pub fn default_folder() -> Result<PathBuf, AuthorityError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("contrail/ca"))
        .ok_or(AuthorityError::NoHome)
}

/// An authority that is ready to sign.
pub struct Authority {
    /// Where it is kept; `None` if it lives in memory only.
    folder: Option<PathBuf>,
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
        if !folder.join("ca.pem").exists() {
            make(base, &folder, &hosts)?;
        }
        Self::read(folder)
    }

    /// One that speaks for every host and is never on a disk: it ends with the process, and only who is handed its
    /// certificate trusts it.
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

    /// Throws the authority for these hosts away, if there is one, and makes a new one.
    ///
    /// # Errors
    ///
    /// As [`Authority::open`].
    pub fn rotate(base: &Path, hosts: &[String]) -> Result<Self, AuthorityError> {
        let folder = base.join(folder_name(&canonical(hosts)));
        match fs::remove_dir_all(&folder) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(AuthorityError::Io { path: folder, source }),
            _ => Self::open(base, hosts),
        }
    }

    /// The same for every authority below `base`, usable or not. One that does not tell its hosts is thrown away, and made
    /// when a proxy needs it.
    ///
    /// # Errors
    ///
    /// As [`Authority::open`], and where `base` exists and cannot be listed.
    pub fn rotate_all(base: &Path) -> Result<Rotated, AuthorityError> {
        let mut rotated = Rotated::default();
        for folder in folders(base)? {
            let hosts = read_facts(&folder).map(|(hosts, _)| hosts);
            fs::remove_dir_all(&folder).map_err(at(&folder))?;
            match hosts {
                Ok(hosts) => rotated.authorities.push(Self::open(base, &hosts)?),
                Err(_) => rotated.removed.push(folder),
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
        Ok(folders(base)?.into_iter().map(Self::read).collect())
    }

    fn read(folder: PathBuf) -> Result<Self, AuthorityError> {
        private(&folder)?;
        let key_path = folder.join("ca-key.pem");
        private(&key_path)?;
        let (hosts, expires) = read_facts(&folder)?;
        if SystemTime::now() >= expires {
            return Err(AuthorityError::Expired { folder });
        }
        let damaged = |path: &Path, reason: &dyn fmt::Display| AuthorityError::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let key = fs::read_to_string(&key_path).map_err(at(&key_path))?;
        let key = KeyPair::from_pem(&key).map_err(|error| damaged(&key_path, &error))?;
        let certificate_path = folder.join("ca.pem");
        let certificate =
            CertificateDer::from_pem_file(&certificate_path).map_err(|error| damaged(&certificate_path, &error))?;
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
        self.folder.as_ref().map(|folder| folder.join("ca.pem"))
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
        let mut seen = std::collections::HashSet::new();
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

/// A certificate as PEM.
#[must_use]
pub fn pem(certificate: &[u8]) -> String {
    let encoded = STANDARD.encode(certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    // What is encoded is ASCII, so that every byte is a place to cut.
    for start in (0..encoded.len()).step_by(64) {
        text.push_str(&encoded[start..encoded.len().min(start + 64)]);
        text.push('\n');
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
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
        .map_err(|error| AuthorityError::Certificate(error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// What [`Authority::rotate_all`] did.
#[derive(Debug, Default)]
pub struct Rotated {
    /// The new authorities.
    pub authorities: Vec<Authority>,
    /// Folders that did not tell their hosts, and are gone.
    pub removed: Vec<PathBuf>,
}

/// The folders of authorities below `base`, by name.
fn folders(base: &Path) -> Result<Vec<PathBuf>, AuthorityError> {
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(at(base))?,
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        // What a killed process left half made begins with a dot.
        .filter(|path| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")))
        .filter(|path| path.join("authority.json").is_file() || path.join("ca-key.pem").is_file())
        .collect();
    folders.sort();
    Ok(folders)
}

/// Lower case, no trailing dot, no brackets, sorted, loopback left out (it is always included).
fn canonical(hosts: &[String]) -> Vec<String> {
    let mut hosts: Vec<String> = hosts
        .iter()
        .map(|host| host.trim_start_matches('[').trim_end_matches([']', '.']).to_ascii_lowercase())
        .filter(|host| host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
        .collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn folder_name(hosts: &[String]) -> String {
    let Some(first) = hosts.first() else { return "loopback".into() };
    let digest = ring::digest::digest(&ring::digest::SHA256, hosts.join("\n").as_bytes());
    let digest = digest.as_ref()[..4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let safe: String = first.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("{}-{digest:08x}", &safe[..safe.len().min(80)])
}

fn make(base: &Path, folder: &Path, hosts: &[String]) -> Result<(), AuthorityError> {
    let private_folders = |path: &Path, recursive| fs::DirBuilder::new().recursive(recursive).mode(0o700).create(path);
    private_folders(base, true).map_err(at(base))?;
    let now = SystemTime::now();
    let key = KeyPair::generate()?;
    let certificate = authority_params(hosts, now)?.self_signed(&key)?;
    let expires = now + AUTHORITY_LIFETIME;
    let facts = serde_json::json!({
        "hosts": hosts,
        "expires": expires.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs()),
    });
    // Made aside and renamed into place whole, so that two processes at once end up with one authority.
    let draft = tempfile::Builder::new()
        .prefix(".draft-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(base)
        .map_err(at(base))?;
    let write = |name: &str, content: &str| {
        let path = draft.path().join(name);
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(at(&path))
    };
    write("ca-key.pem", &key.serialize_pem())?;
    write("ca.pem", &certificate.pem())?;
    write("authority.json", &facts.to_string())?;
    let draft = draft.keep();
    match fs::rename(&draft, folder) {
        Ok(()) => Ok(()),
        Err(_) if folder.join("ca.pem").exists() => fs::remove_dir_all(&draft).map_err(at(&draft)),
        Err(source) => {
            let _ = fs::remove_dir_all(&draft);
            Err(AuthorityError::Io { path: folder.to_owned(), source })
        }
    }
}

fn read_facts(folder: &Path) -> Result<(Vec<String>, SystemTime), AuthorityError> {
    let path = folder.join("authority.json");
    let damaged = |reason: &str| AuthorityError::Damaged { path: path.clone(), reason: reason.to_owned() };
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let facts: serde_json::Value = serde_json::from_str(&text).map_err(|error| damaged(&error.to_string()))?;
    let hosts = facts["hosts"]
        .as_array()
        .and_then(|hosts| hosts.iter().map(|host| host.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>())
        .ok_or_else(|| damaged("it names no hosts"))?;
    let expires = facts["expires"].as_u64().ok_or_else(|| damaged("it names no expiry"))?;
    Ok((hosts, UNIX_EPOCH + Duration::from_secs(expires)))
}

fn authority_params(hosts: &[String], now: SystemTime) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = common_name(COMMON_NAME);
    params.serial_number = Some(random_serial()?);
    (params.not_before, params.not_after) = validity(now, AUTHORITY_LIFETIME)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let mut permitted = vec![
        GeneralSubtree::DnsName("localhost".into()),
        GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8)),
        GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), 128)),
    ];
    permitted.extend(hosts.iter().map(|host| match host.parse::<IpAddr>() {
        Ok(address) => {
            GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, if address.is_ipv4() { 32 } else { 128 }))
        }
        Err(_) => GeneralSubtree::DnsName(host.clone()),
    }));
    params.name_constraints = Some(NameConstraints { permitted_subtrees: permitted, excluded_subtrees: Vec::new() });
    Ok(params)
}

fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn alternative_name(name: &str) -> Result<SanType, AuthorityError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    name.try_into()
        .map(SanType::DnsName)
        .map_err(|_| AuthorityError::Certificate(format!("`{}` is no host name", name.escape_debug())))
}

/// Random, so that no two certificates of one issuer share a number (browsers refuse that).
fn random_serial() -> Result<SerialNumber, AuthorityError> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| AuthorityError::Certificate("the system gives no random numbers".into()))?;
    bytes[0] &= 0x7f;
    bytes[0] |= 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

fn validity(
    now: SystemTime,
    lifetime: Duration,
) -> Result<(time::OffsetDateTime, time::OffsetDateTime), AuthorityError> {
    let instant = |moment: SystemTime| {
        let seconds = moment.duration_since(UNIX_EPOCH).ok().and_then(|age| i64::try_from(age.as_secs()).ok());
        seconds
            .and_then(|seconds| time::OffsetDateTime::from_unix_timestamp(seconds).ok())
            .ok_or_else(|| AuthorityError::Certificate("the system clock is out of range".into()))
    };
    Ok((instant(now - BACKDATE)?, instant(now + lifetime)?))
}

/// Refuses a file or folder that others can read.
fn private(path: &Path) -> Result<(), AuthorityError> {
    let mode = fs::metadata(path).map_err(at(path))?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(AuthorityError::Exposed { path: path.to_owned(), mode }) }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> AuthorityError + use<> {
    let path = path.to_owned();
    |source| AuthorityError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> tempfile::TempDir {
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir().unwrap()
    }

    fn folder_of(authority: &Authority) -> &Path {
        authority.folder.as_deref().unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn an_authority_is_private_from_its_creation_and_the_same_when_opened_again() {
        let base = base();
        let nested = base.path().join("deep/ca");
        let first = Authority::open(&nested, &["tenant.example".into()]).unwrap();
        let again = Authority::open(&nested, &["TENANT.example.".into()]).unwrap();
        assert_eq!(first.fingerprint(), again.fingerprint());
        assert_eq!(mode(&nested), 0o700);
        assert_eq!(mode(folder_of(&first)), 0o700);
        assert_eq!(mode(&folder_of(&first).join("ca-key.pem")), 0o600);
    }

    #[test]
    fn a_second_upstream_gets_an_authority_of_its_own() {
        let base = base();
        let first = Authority::open(base.path(), &["one.example".into()]).unwrap();
        let second = Authority::open(base.path(), &["two.example".into()]).unwrap();
        assert_ne!(first.fingerprint(), second.fingerprint());
        assert_eq!(Authority::list(base.path()).unwrap().len(), 2);
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let base = base();
        let authority = Authority::open(base.path(), &[]).unwrap();
        let key = folder_of(&authority).join("ca-key.pem");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Authority::open(base.path(), &[]), Err(AuthorityError::Exposed { mode: 0o640, .. })));
    }

    #[test]
    fn a_folder_that_others_can_read_is_refused_but_the_one_around_it_is_the_users_business() {
        let base = base();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let authority = Authority::open(base.path(), &[]).unwrap();
        fs::set_permissions(folder_of(&authority), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(Authority::open(base.path(), &[]), Err(AuthorityError::Exposed { mode: 0o755, .. })));
    }

    #[test]
    fn rotation_replaces_the_key_and_damage_is_said() {
        let base = base();
        let hosts = ["tenant.example".to_owned()];
        let first = Authority::open(base.path(), &hosts).unwrap();
        fs::write(folder_of(&first).join("ca-key.pem"), "nonsense").unwrap();
        assert!(matches!(Authority::open(base.path(), &hosts), Err(AuthorityError::Damaged { .. })));
        let second = Authority::rotate(base.path(), &hosts).unwrap();
        assert_ne!(first.fingerprint(), second.fingerprint());
    }

    #[test]
    fn a_key_that_is_not_the_certificates_is_damage() {
        let base = base();
        let [one, two] =
            ["one.example", "two.example"].map(|host| Authority::open(base.path(), &[host.into()]).unwrap());
        fs::copy(folder_of(&one).join("ca-key.pem"), folder_of(&two).join("ca-key.pem")).unwrap();
        let refused = Authority::open(base.path(), &["two.example".into()]).unwrap_err().to_string();
        assert!(refused.contains("it is not the key of `ca.pem`; `contrail ca rotate --ca-dir "), "{refused}");
    }

    #[test]
    fn every_authority_is_rotated_usable_or_not() {
        let base = base();
        let hosts = ["exposed.example", "damaged.example", "fine.example", "nameless.example"];
        let before = hosts.map(|host| Authority::open(base.path(), &[host.into()]).unwrap());
        fs::set_permissions(folder_of(&before[0]), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder_of(&before[1]).join("ca-key.pem"), "nonsense").unwrap();
        fs::write(folder_of(&before[3]).join("authority.json"), "nonsense").unwrap();
        let rotated = Authority::rotate_all(base.path()).unwrap();
        let speak_for: Vec<_> = rotated.authorities.iter().flat_map(Authority::hosts).collect();
        assert_eq!(speak_for, ["damaged.example", "exposed.example", "fine.example"]);
        assert_eq!(rotated.removed, [folder_of(&before[3])]);
        for (host, before) in hosts.iter().zip(&before) {
            let now = Authority::open(base.path(), &[(*host).into()]).unwrap();
            assert_ne!(now.fingerprint(), before.fingerprint(), "{host}");
        }
    }

    #[test]
    fn leaves_are_cached_per_host_and_verified_by_a_client_that_trusts_the_authority() {
        let base = base();
        let authority = Authority::open(base.path(), &["tenant.example".into(), "10.1.2.3".into()]).unwrap();
        for host in ["tenant.example", "localhost", "127.0.0.1", "127.8.8.8", "::1", "10.1.2.3"] {
            let config = authority.server_config(host).unwrap();
            assert!(Arc::ptr_eq(&config, &authority.server_config(host).unwrap()));
            handshake(&authority, config, host).unwrap();
        }
    }

    #[test]
    fn a_certificate_for_a_host_outside_the_constraints_is_worthless() {
        let base = base();
        let authority = Authority::open(base.path(), &["tenant.example".into()]).unwrap();
        let config = authority.server_config("bank.example").unwrap();
        assert!(handshake(&authority, config, "bank.example").is_err());
        let config = authority.server_config("10.1.2.3").unwrap();
        assert!(handshake(&authority, config, "10.1.2.3").is_err());
    }

    #[test]
    fn an_authority_in_memory_speaks_for_every_host_and_has_no_file() {
        let authority = Authority::in_memory().unwrap();
        assert_eq!(authority.certificate_path(), None);
        for host in ["my-tenant.test", "10.1.2.3", "localhost"] {
            handshake(&authority, authority.server_config(host).unwrap(), host).unwrap();
        }
        let read = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes()).unwrap();
        assert_eq!(&read, authority.certificate());
        let other = Authority::in_memory().unwrap();
        assert!(handshake(&other, authority.server_config("my-tenant.test").unwrap(), "my-tenant.test").is_err());
    }

    /// A whole TLS handshake in memory.
    fn handshake(authority: &Authority, config: Arc<ServerConfig>, host: &str) -> Result<(), rustls::Error> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.certificate().clone()).unwrap();
        let client = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = rustls::pki_types::ServerName::try_from(host.to_owned()).unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(client), name).unwrap();
        let mut server = rustls::ServerConnection::new(config).unwrap();
        for _ in 0..8 {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets()?;
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut wire = wire.as_slice();
            while !wire.is_empty() {
                client.read_tls(&mut wire).unwrap();
                client.process_new_packets()?;
            }
            if !client.is_handshaking() && !server.is_handshaking() {
                return Ok(());
            }
        }
        panic!("the handshake did not end");
    }
}
