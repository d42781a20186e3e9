//! A PKCS #12 store of certificates to trust (RFC 7292), as Java reads it: neither encrypted nor with a MAC, since it
//! holds nothing secret.

use rustls_pki_types::{CertificateDer, pem::PemObject as _};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const EXPLICIT: u8 = 0xa0;

/// `pkcs7-data`, 1.2.840.113549.1.7.1.
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
/// `certBag`, 1.2.840.113549.1.12.10.1.3.
const CERT_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03];
/// `x509Certificate`, 1.2.840.113549.1.9.22.1.
const X509: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
/// Java's attribute of certificates to trust, 2.16.840.1.113894.746875.1.1.
const TRUSTED_FOR: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf9, 0x66, 0xad, 0xca, 0x7b, 0x01, 0x01];
/// `anyExtendedKeyUsage`, 2.5.29.37.0.
const ANYTHING: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// The store of these certificates, given as PEM; what is no certificate is left out.
#[must_use]
pub fn trust_store(pem: &[u8]) -> Vec<u8> {
    let mut seen = std::collections::HashSet::new();
    let certificates = CertificateDer::pem_slice_iter(pem).flatten();
    let bags: Vec<_> = certificates.filter(|one| seen.insert(one.clone())).map(|one| bag(&one)).collect();
    let contents = content(&tlv(SEQUENCE, &[&bags.concat()]));
    tlv(SEQUENCE, &[&[0x02, 0x01, 0x03], &content(&tlv(SEQUENCE, &[&contents]))])
}

/// `SafeBag` of a certificate.
fn bag(certificate: &[u8]) -> Vec<u8> {
    let value = tlv(EXPLICIT, &[&tlv(OCTET_STRING, &[certificate])]);
    let cert_bag = tlv(SEQUENCE, &[&tlv(OBJECT_IDENTIFIER, &[X509]), &value]);
    let usage = tlv(SET, &[&tlv(OBJECT_IDENTIFIER, &[ANYTHING])]);
    let attribute = tlv(SEQUENCE, &[&tlv(OBJECT_IDENTIFIER, &[TRUSTED_FOR]), &usage]);
    tlv(SEQUENCE, &[&tlv(OBJECT_IDENTIFIER, &[CERT_BAG]), &tlv(EXPLICIT, &[&cert_bag]), &tlv(SET, &[&attribute])])
}

/// `ContentInfo` of data.
fn content(data: &[u8]) -> Vec<u8> {
    let octets = tlv(EXPLICIT, &[&tlv(OCTET_STRING, &[data])]);
    tlv(SEQUENCE, &[&tlv(OBJECT_IDENTIFIER, &[DATA]), &octets])
}

/// Tag, length and value in DER.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let value = parts.concat();
    let mut out = vec![tag];
    let length = value.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    match digits {
        [] => out.push(0),
        [one] if *one < 0x80 => out.push(*one),
        _ => {
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
            out.extend_from_slice(digits);
        }
    }
    out.extend(value);
    out
}
