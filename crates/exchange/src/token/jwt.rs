//! The shape of a JSON Web Token (RFC 7515, 7516 and 7519), read strictly.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Jwks,
    base64url::decoded,
    scheme::{NO_B64TOKEN, NO_TOKEN, is_b64token, user_digest},
};
use crate::{Credential, SignatureCheck, TokenFacts, TokenTime};

/// Decodes a bearer token; its time is not judged here.
pub(super) fn decode(token: &[u8], keys: Option<&Jwks>) -> Credential {
    match read(token, keys) {
        Ok(credential) => credential,
        Err(reason) => Credential::Malformed(reason.to_owned()),
    }
}

fn read(token: &[u8], keys: Option<&Jwks>) -> Result<Credential, &'static str> {
    if token.is_empty() {
        return Err(NO_TOKEN);
    }
    if !is_b64token(token) {
        return Err(NO_B64TOKEN);
    }
    let parts: Vec<&[u8]> = token.split(|byte| *byte == b'.').collect();
    match parts[..] {
        [header, claims, signature] => signed(token, header, claims, signature, keys),
        [header, key, iv, text, tag] => encrypted(header, key, iv, text, tag),
        _ => Err("a JWT has three parts joined by dots"),
    }
}

fn signed(
    token: &[u8],
    header: &[u8],
    claims: &[u8],
    signature: &[u8],
    keys: Option<&Jwks>,
) -> Result<Credential, &'static str> {
    let head = object(header).ok_or("its header is not the base64url of a JSON object")?;
    let algorithm = head.get("alg").and_then(Value::as_str).ok_or("its header names no `alg`")?;
    if algorithm.eq_ignore_ascii_case("none") {
        return Err("its `alg` is `none`");
    }
    let claims_object = object(claims).ok_or("its claims are not the base64url of a JSON object")?;
    if signature.is_empty() {
        return Err("it has no signature");
    }
    let signature = decoded(signature).ok_or("its signature is not base64url")?;
    let mut facts = facts(&claims_object)?;
    if let Some(keys) = keys {
        let signed = &token[..header.len() + 1 + claims.len()];
        let key_id = head.get("kid").and_then(Value::as_str);
        facts.signature = keys.verify(algorithm, key_id, signed, &signature);
        if facts.signature == SignatureCheck::NotChecked {
            facts.unknown_key = key_id.map(str::to_owned);
        }
    }
    Ok(Credential::Token(Arc::new(facts)))
}

/// RFC 7516, section 9: five parts, and the header has `enc`. The encrypted key may be empty (direct encryption).
fn encrypted(header: &[u8], key: &[u8], iv: &[u8], text: &[u8], tag: &[u8]) -> Result<Credential, &'static str> {
    let head = object(header).ok_or("its header is not the base64url of a JSON object")?;
    if !head.get("enc").is_some_and(Value::is_string) || !head.get("alg").is_some_and(Value::is_string) {
        return Err("it has the five parts of an encrypted token, but its header names no `alg` and `enc`");
    }
    let whole = [iv, text, tag].into_iter().all(|part| !part.is_empty()) && decoded(key).is_some();
    if whole && [iv, text, tag].into_iter().all(|part| decoded(part).is_some()) {
        Ok(Credential::Encrypted)
    } else {
        Err("a part of the encrypted token is empty or no base64url")
    }
}

fn object(part: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(&decoded(part)?).ok()
}

fn facts(claims: &Map<String, Value>) -> Result<TokenFacts, &'static str> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
    let issued_at = instant(claims, "iat").map_err(|()| "its `iat` is not a number")?;
    let expires_at = instant(claims, "exp").map_err(|()| "its `exp` is not a number")?;
    let subject = text("sub").map(|subject| subject.strip_suffix("@clients").unwrap_or(&subject).to_owned());
    let client = text("azp").or_else(|| text("client_id")).or_else(|| subject.clone());
    Ok(TokenFacts {
        user: subject.filter(|subject| client.as_ref() != Some(subject)).map(|user| user_digest(user.as_bytes())),
        client,
        scopes: scopes(claims),
        issuer: text("iss"),
        audience: strings(claims.get("aud"), false),
        issued_at,
        not_before: instant(claims, "nbf").map_err(|()| "its `nbf` is not a number")?,
        expires_at,
        lifetime: expires_at.zip(issued_at).and_then(|(end, start)| end.checked_sub(start)),
        time: TokenTime::Valid,
        signature: SignatureCheck::NotChecked,
        unknown_key: None,
    })
}

/// A `NumericDate` (RFC 7519, section 2): whole seconds, or with a fraction, which is rounded up.
fn instant(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>, ()> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(Some(match number.as_i64() {
            Some(seconds) => seconds,
            #[allow(clippy::cast_possible_truncation)] // `as` saturates, and year 292 billion is as good as never
            None => number.as_str().parse::<f64>().map_err(|_| ())?.ceil() as i64,
        })),
        Some(_) => Err(()),
    }
}

/// Scopes from every claim that carries some; `None` if no such claim is there.
fn scopes(claims: &Map<String, Value>) -> Option<Vec<String>> {
    let held: Vec<&Value> = ["scope", "scp", "permissions"].iter().filter_map(|name| claims.get(*name)).collect();
    if held.is_empty() {
        return None;
    }
    let mut scopes: Vec<String> = held.into_iter().flat_map(|value| strings(Some(value), true)).collect();
    scopes.sort_unstable();
    scopes.dedup();
    Some(scopes)
}

/// The strings of a string (split at white space if `split`) or of an array of strings.
fn strings(value: Option<&Value>, split: bool) -> Vec<String> {
    let one = |text: &str| -> Vec<String> {
        if split { text.split_ascii_whitespace().map(str::to_owned).collect() } else { vec![text.to_owned()] }
    };
    match value {
        Some(Value::String(text)) => one(text),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).flat_map(one).collect(),
        _ => Vec::new(),
    }
}
