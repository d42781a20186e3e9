//! The tenant's tokens: signed at its endpoint, verified with every request.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use contrail_exchange::token::{NoKey, Signer};
use ring::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey},
};
use serde_json::{Value, json};

/// A signing key.
#[derive(Debug)]
pub struct Keys {
    signer: Signer,
    id: String,
}

/// Why a token is not accepted. All of them are 401; only some can be seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenFault {
    /// No header of scheme Bearer, or two.
    Missing,
    /// Not three parts of base64url JSON, or not ES256.
    Malformed,
    /// Another key signed it.
    Signature,
    /// It is over.
    Expired,
    /// It was made for or by somebody else.
    Stranger,
}

impl TokenFault {
    /// For the body of the refusal.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Missing => "Missing authentication: send `Authorization: Bearer <ACCESS_TOKEN>`",
            Self::Malformed => "Invalid token: it is no signed JWT",
            Self::Signature => "JWT signature validation failed",
            Self::Expired => "Invalid token: it has expired",
            Self::Stranger => "Invalid token: issuer, audience or client is not known here",
        }
    }
}

/// The claims of an accepted token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) client: String,
    pub(super) scopes: Vec<String>,
}

impl Keys {
    /// A fresh one.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if the system gives no randomness.
    pub fn generate() -> Result<Self, NoKey> {
        let signer = Signer::generate()?;
        let digest = digest::digest(&digest::SHA256, signer.public());
        let id = URL_SAFE_NO_PAD.encode(&digest.as_ref()[..12]);
        Ok(Self { signer, id })
    }

    /// A secret of 40 characters for a client.
    pub(super) fn secret() -> Result<String, NoKey> {
        let bytes: [u8; 30] = ring::rand::generate(&SystemRandom::new()).map_err(|_| NoKey)?.expose();
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The public half, as a JWK set (RFC 7517).
    pub(super) fn jwks(&self) -> Value {
        // An uncompressed point: 0x04, then x and y of 32 bytes each (SEC 1, section 2.3.3).
        let point = self.signer.public();
        let (x, y) = point.get(1..).unwrap_or_default().split_at_checked(32).unwrap_or_default();
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }]})
    }

    /// A token that lives for `lifetime` seconds from `now`.
    pub(super) fn mint(
        &self,
        origin: &str,
        client: &str,
        scope: &str,
        lifetime: u32,
        now: SystemTime,
    ) -> Result<String, NoKey> {
        let now = epoch(now);
        self.sign(&json!({
            "iss": format!("{origin}/"),
            "sub": format!("{client}@clients"),
            "aud": format!("{origin}/api/v2/"),
            "iat": now,
            "exp": now + u64::from(lifetime),
            "scope": scope,
            "gty": "client-credentials",
            "azp": client,
        }))
    }

    /// A token with these claims.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if the system gives no randomness.
    pub fn sign(&self, claims: &Value) -> Result<String, NoKey> {
        self.signer.sign(&self.id, claims)
    }

    /// Reads a token and checks form, signature, time, issuer and audience, in this order.
    pub(super) fn verify(&self, token: &str, origin: &str, now: SystemTime) -> Result<Claims, TokenFault> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenFault::Malformed)?;
        let header = part(header)?;
        let claims = part(claims)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenFault::Malformed)?;
        if header.get("alg").and_then(Value::as_str) != Some("ES256") || signature.is_empty() {
            return Err(TokenFault::Malformed);
        }
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.signer.public())
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| TokenFault::Signature)?;
        // RFC 7519, section 4.1.4: not accepted on or after `exp`.
        if claims.get("exp").and_then(Value::as_u64).is_none_or(|exp| epoch(now) >= exp) {
            return Err(TokenFault::Expired);
        }
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(&format!("{origin}/")) || text("aud") != Some(&format!("{origin}/api/v2/")) {
            return Err(TokenFault::Stranger);
        }
        let client = text("azp").ok_or(TokenFault::Stranger)?.to_owned();
        let scopes = text("scope").unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
        Ok(Claims { client, scopes: scopes.map(str::to_owned).collect() })
    }
}

fn part(text: &str) -> Result<Value, TokenFault> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenFault::Malformed)?;
    match serde_json::from_slice(&bytes) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err(TokenFault::Malformed),
    }
}

/// Seconds since the epoch; 0 before it.
pub(super) fn epoch(instant: SystemTime) -> u64 {
    instant.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ORIGIN: &str = "https://tenant.example";

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_token_is_accepted_until_the_second_in_which_it_expires() {
        let keys = Keys::generate().unwrap();
        let token = keys.mint(ORIGIN, "c", "read:a read:b", 10, at(1000)).unwrap();
        let claims = keys.verify(&token, ORIGIN, at(1009)).unwrap();
        assert_eq!(claims, Claims { client: "c".into(), scopes: vec!["read:a".into(), "read:b".into()] });
        assert_eq!(keys.verify(&token, ORIGIN, at(1010)), Err(TokenFault::Expired));
    }

    #[test]
    fn a_token_of_another_key_fails_its_signature() {
        let token = Keys::generate().unwrap().mint(ORIGIN, "c", "", 10, at(0)).unwrap();
        assert_eq!(Keys::generate().unwrap().verify(&token, ORIGIN, at(1)), Err(TokenFault::Signature));
    }

    #[test]
    fn a_token_without_a_signature_is_malformed() {
        let keys = Keys::generate().unwrap();
        let token = keys.mint(ORIGIN, "c", "", 10, at(0)).unwrap();
        let (signed, _) = token.rsplit_once('.').unwrap();
        assert_eq!(keys.verify(&format!("{signed}."), ORIGIN, at(1)), Err(TokenFault::Malformed));
        assert_eq!(keys.verify(signed, ORIGIN, at(1)), Err(TokenFault::Malformed));
    }

    #[test]
    fn a_token_for_another_tenant_is_a_strangers() {
        let keys = Keys::generate().unwrap();
        let token = keys.mint("https://other.example", "c", "", 10, at(0)).unwrap();
        assert_eq!(keys.verify(&token, ORIGIN, at(1)), Err(TokenFault::Stranger));
    }

    #[test]
    fn the_key_set_holds_both_coordinates_of_the_key() {
        let keys = Keys::generate().unwrap().jwks();
        for coordinate in ["x", "y"] {
            let text = keys["keys"][0][coordinate].as_str().unwrap();
            assert_eq!(URL_SAFE_NO_PAD.decode(text).unwrap().len(), 32);
        }
    }
}
