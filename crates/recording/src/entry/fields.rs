//! Header fields of an entry.

use contrail_exchange::{
    Headers,
    json::lenient::{LenientError, Read as _, Reader, objects},
};
use http::{HeaderName, HeaderValue};

use super::Text;

objects! {
    /// `headers[]`
    struct Field<'a> {
        name: Option<Text<'a>> = "name",
        value: Option<Text<'a>> = "value",
        /// Ours: `latin-1` where the value is not UTF-8; each character is one byte.
        encoding: Option<Text<'a>> = "_encoding",
    }
}

/// Reads `headers`.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Headers, LenientError> {
    let mut headers = Headers::with_capacity(8);
    reader.optional(|reader| {
        reader.array(|reader| {
            for (name, value) in Field::read(reader)?.lines() {
                headers.append(name, value);
            }
            Ok(())
        })
    })?;
    Ok(headers)
}

impl Field<'_> {
    /// The field; several of one name where browsers joined repeated ones with line feeds.
    fn lines(&self) -> Vec<(HeaderName, HeaderValue)> {
        let name = self.name.as_ref().map(Text::as_str).unwrap_or_default();
        // `:authority` and its like are no fields; a name that HTTP does not allow was never on the wire.
        let Ok(name) = HeaderName::from_bytes(name.trim().as_bytes()) else { return Vec::new() };
        let value = self.value.as_ref().map(Text::as_str).unwrap_or_default();
        let field = |value: &[u8]| HeaderValue::from_bytes(value).ok().map(|value| (name.clone(), value));
        if self.encoding.as_ref().is_some_and(|encoding| encoding.as_str() == "latin-1") {
            let bytes: Vec<u8> = value.chars().filter_map(|character| u8::try_from(character).ok()).collect();
            return field(&bytes).into_iter().collect();
        }
        value.split('\n').filter_map(|line| field(line.trim_matches(['\r', ' ', '\t']).as_bytes())).collect()
    }
}
