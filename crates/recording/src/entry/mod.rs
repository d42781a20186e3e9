//! One entry of a recording: HAR 1.2 with contrail's own member, decoded and encoded.

pub(super) mod attest;
pub(super) mod decode;
mod decode_body;
pub(super) mod decoded;
pub(super) mod encode;
pub(super) mod encode_note;
pub(super) mod fault;
mod fields;
pub(super) mod files;
pub(super) mod har;
pub(super) mod layout;
pub(super) mod note;
pub(super) mod style;
mod text;
pub(super) mod tokens;
