//! Keys that tokens are checked with (`--jwks FILE`): JSON Web Key Sets (RFC 7517) of public keys.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use super::base64url::decoded;
use crate::SignatureCheck;

/// A set of public keys.
#[derive(Debug, Clone)]
pub struct Jwks {
    keys: Vec<Key>,
}

#[derive(Debug, Clone)]
struct Key {
    id: Option<String>,
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Why a key set cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum JwksError {
    /// The file cannot be read.
    Read {
        /// Which file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// It is no JSON object with an array `keys`.
    Shape(PathBuf),
    /// It holds no public key that a signature can be checked with (RSA, P-256, P-384, Ed25519).
    NoKey(PathBuf),
}

impl fmt::Display for JwksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, .. } => write!(f, "cannot read the key set `{}`", path.display()),
            Self::Shape(path) => {
                write!(f, "`{}` is not a JSON Web Key Set: expected a JSON object with an array `keys`", path.display())
            }
            Self::NoKey(path) => write!(
                f,
                "`{}` holds no key that can check a signature: expected public RSA (2048 bits or more), P-256, P-384 \
                 or \
                 Ed25519 keys",
                path.display()
            ),
        }
    }
}

impl std::error::Error for JwksError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Jwks {
    /// Reads a key set. Keys for encryption and keys of unknown types are passed over.
    ///
    /// # Errors
    ///
    /// [`JwksError`] names the file: unreadable, no key set, or without a usable key.
    pub fn read(path: &Path) -> Result<Self, JwksError> {
        let text = std::fs::read(path).map_err(|source| JwksError::Read { path: path.to_owned(), source })?;
        let set: Value = serde_json::from_slice(&text).map_err(|_| JwksError::Shape(path.to_owned()))?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or_else(|| JwksError::Shape(path.to_owned()))?;
        let keys: Vec<Key> = keys.iter().filter_map(key).collect();
        if keys.is_empty() { Err(JwksError::NoKey(path.to_owned())) } else { Ok(Self { keys }) }
    }

    /// Whether a key of the set verifies the signature. A `kid` that the set has narrows the choice. One that it does
    /// not have leaves all keys (not every issuer keeps them in step), and proves nothing where none of them verifies it:
    /// the signature may be that of the key that the set lacks.
    pub(super) fn verify(&self, algorithm: &str, id: Option<&str>, signed: &[u8], signature: &[u8]) -> SignatureCheck {
        let named = |key: &&Key| id.is_some() && key.id.as_deref() == id;
        let narrowed = self.keys.iter().any(|key| named(&key));
        let verified = self
            .keys
            .iter()
            .filter(|key| !narrowed || named(key))
            .filter(|key| key.algorithm.as_deref().is_none_or(|held| held == algorithm))
            .any(|key| key.material.verify(algorithm, signed, signature));
        match verified {
            true => SignatureCheck::Good,
            false if id.is_some() && !narrowed => SignatureCheck::NotChecked,
            false => SignatureCheck::Bad,
        }
    }
}

fn key(value: &Value) -> Option<Key> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    if text("use").is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let bytes = |name: &str| text(name).and_then(|text| decoded(text.as_bytes()));
    let point = |size: usize| {
        let (x, y) = (bytes("x")?, bytes("y")?);
        (x.len() == size && y.len() == size).then(|| [&[4][..], &x, &y].concat())
    };
    let material = match (text("kty")?, text("crv")) {
        ("RSA", _) => Material::Rsa(RsaPublicKeyComponents { n: unsigned(bytes("n")?), e: unsigned(bytes("e")?) }),
        ("EC", Some("P-256")) => Material::P256(point(32)?),
        ("EC", Some("P-384")) => Material::P384(point(48)?),
        ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x")?),
        _ => return None,
    };
    Some(Key { id: text("kid").map(str::to_owned), algorithm: text("alg").map(str::to_owned), material })
}

/// Without leading zeros, as `ring` wants its integers.
fn unsigned(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

impl Material {
    fn verify(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        match (self, algorithm) {
            (Self::Rsa(key), _) => {
                rsa_parameters(algorithm).is_some_and(|parameters| key.verify(parameters, signed, signature).is_ok())
            }
            (Self::P256(key), "ES256") => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed, signature).is_ok()
            }
            (Self::P384(key), "ES384") => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, key).verify(signed, signature).is_ok()
            }
            (Self::Ed25519(key), "EdDSA" | "Ed25519") => {
                UnparsedPublicKey::new(&ED25519, key).verify(signed, signature).is_ok()
            }
            _ => false,
        }
    }
}

fn rsa_parameters(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &RSA_PSS_2048_8192_SHA256,
        "PS384" => &RSA_PSS_2048_8192_SHA384,
        "PS512" => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}
