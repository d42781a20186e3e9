//! Header fields of an entry.

use std::borrow::Cow;

use contrail_exchange::{
    Headers,
    json::{Kind, Node},
};
use http::{HeaderName, HeaderValue};

use super::object::{Misfit, Read as _, items, objects};

objects! {
    /// `headers[]`
    struct Field<'a> {
        name: Option<Cow<'a, str>> = "name",
        value: Option<Cow<'a, str>> = "value",
        /// Ours: `latin-1` where the value is not UTF-8; each character is one byte.
        encoding: Option<Cow<'a, str>> = "_encoding",
    }
}

/// Reads `headers`.
pub(super) fn read(value: Node<'_>) -> Result<Headers, Misfit> {
    let mut headers = Headers::with_capacity(8);
    if value.kind() == Kind::Null {
        return Ok(headers);
    }
    for item in items(value)? {
        let field = Field::read(item).map_err(|misfit| misfit.within("*"))?;
        field.lines().into_iter().for_each(|(name, value)| headers.append(name, value));
    }
    Ok(headers)
}

impl Field<'_> {
    /// The field; several of one name where browsers joined repeated ones with line feeds.
    fn lines(&self) -> Vec<(HeaderName, HeaderValue)> {
        let name = self.name.as_deref().unwrap_or_default();
        // `:authority` and its like are no fields; a name that HTTP does not allow was never on the wire.
        let Ok(name) = HeaderName::from_bytes(name.trim().as_bytes()) else { return Vec::new() };
        let value = self.value.as_deref().unwrap_or_default();
        let field = |value: &[u8]| HeaderValue::from_bytes(value).ok().map(|value| (name.clone(), value));
        if self.encoding.as_deref() == Some("latin-1") {
            let bytes: Vec<u8> = value.chars().filter_map(|character| u8::try_from(character).ok()).collect();
            return field(&bytes).into_iter().collect();
        }
        value.split('\n').filter_map(|line| field(line.trim_matches(['\r', ' ', '\t']).as_bytes())).collect()
    }
}
