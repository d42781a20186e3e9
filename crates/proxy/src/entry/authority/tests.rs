use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, pem::PemObject as _},
};

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
fn rotation_replaces_the_key_and_damage_is_reported() {
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
    let [one, two] = ["one.example", "two.example"].map(|host| Authority::open(base.path(), &[host.into()]).unwrap());
    fs::copy(folder_of(&one).join("ca-key.pem"), folder_of(&two).join("ca-key.pem")).unwrap();
    let refused = Authority::open(base.path(), &["two.example".into()]).unwrap_err().to_string();
    let refused = refused.replace(&base.path().display().to_string(), "BASE");
    assert_eq!(
        refused,
        "`BASE/two_example-7539f28b/ca-key.pem` is not usable: it is not the key of `ca.pem`; `contrail ca rotate \
         --ca-dir BASE` makes a new authority"
    );
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
