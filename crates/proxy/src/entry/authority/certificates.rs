//! Certificates: the authority's own, bound to its hosts, and PEM.
//!
//! X.509 name constraints (RFC 5280, section 4.2.1.10) bind an authority to its hosts and loopback, so a stolen key
//! cannot speak for the rest of the world. Common names are neutral: OpenSSL applies name constraints to a common name
//! that looks like a host.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, GeneralSubtree, IsCa, KeyUsagePurpose,
    NameConstraints, SanType, SerialNumber,
};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::error::AuthorityError;

/// Lifetime of an authority: the longest that every platform's verifier accepts for certificates people trust.
pub(super) const AUTHORITY_LIFETIME: Duration = Duration::from_hours(825 * 24);

/// Clocks of clients may be behind by this much.
const BACKDATE: Duration = Duration::from_hours(24);

const COMMON_NAME: &str = "contrail local authority";

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

pub(super) fn authority_params(hosts: &[String], now: SystemTime) -> Result<CertificateParams, AuthorityError> {
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

pub(super) fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

pub(super) fn alternative_name(name: &str) -> Result<SanType, AuthorityError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    name.try_into()
        .map(SanType::DnsName)
        .map_err(|_| AuthorityError::Certificate(format!("`{}` is not a host name", name.escape_debug())))
}

/// Random, so that no two certificates of one issuer share a number (browsers refuse that).
pub(super) fn random_serial() -> Result<SerialNumber, AuthorityError> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| AuthorityError::Certificate("the system gives no random numbers".into()))?;
    bytes[0] &= 0x7f;
    bytes[0] |= 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

pub(super) fn validity(
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
