//! Base64url as RFC 7515 writes it.

use base64::{
    Engine as _,
    alphabet::URL_SAFE as ALPHABET,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Base64url without padding, as RFC 7515 writes it. Surplus bits of the last character are let through: they carry
/// nothing, and whether such a text is base64 is not for us to say.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Decodes base64url without padding.
pub(super) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    BASE64URL.decode(text).ok()
}
