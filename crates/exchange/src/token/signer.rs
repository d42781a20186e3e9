//! Tokens of our own: JWTs (RFC 7519) signed with ES256 (RFC 7518, section 3.4) by a key that is made at start.

use std::{error, fmt};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};

/// The system gave no randomness, or refused the key that it had just made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoKey;

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot make a signing key: the system's source of randomness failed")
    }
}

impl error::Error for NoKey {}

/// A signing key.
#[derive(Debug)]
pub struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    /// A fresh one.
    pub fn generate() -> Result<Self, NoKey> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(|_| NoKey)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
            .map_err(|_| NoKey)?;
        Ok(Self { pair, random })
    }

    /// The public half, an uncompressed point.
    pub fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// A token with these claims; `id` names the key.
    pub fn sign(&self, id: &str, claims: &Value) -> Result<String, NoKey> {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": id});
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let signature = self.pair.sign(&self.random, token.as_bytes()).map_err(|_| NoKey)?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature.as_ref(), &mut token);
        Ok(token)
    }
}
