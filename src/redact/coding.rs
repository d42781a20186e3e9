//! Decodes base64, and reads the text inside.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD},
};

/// Undoes base64 of either alphabet, with padding or without.
pub(in crate::redact) fn from_base64(encoded: &[u8]) -> Option<Vec<u8>> {
    BASE64_STANDARD
        .decode(encoded)
        .or_else(|_| BASE64_STANDARD_NO_PAD.decode(encoded))
        .or_else(|_| BASE64_URL_SAFE_NO_PAD.decode(encoded))
        .or_else(|_| BASE64_URL_SAFE.decode(encoded))
        .ok()
}

/// User and password of a Basic credential.
pub(in crate::redact) fn basic(encoded: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let text = from_base64(encoded)?;
    let colon = memchr::memchr(b':', &text)?;
    Some((text[..colon].to_vec(), text[colon + 1..].to_vec()))
}
