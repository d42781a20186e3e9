//! Fields of forms and queries.

use std::{borrow::Cow, ops::Range};

use percent_encoding::percent_decode;

/// A field of a form or a query: where its name and its value stand, percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name, as it was sent.
    pub name: Range<usize>,
    /// Empty, at the end of the name, where there is no `=`.
    pub value: Range<usize>,
}

/// The fields of a form or a query, in order; there may be empty ones.
pub fn fields(text: &[u8]) -> impl Iterator<Item = Field> {
    let mut start = 0;
    memchr::memchr_iter(b'&', text).chain([text.len()]).map(move |end| {
        let name = start;
        let equals = memchr::memchr(b'=', &text[name..end]).map(|at| name + at);
        start = end + 1;
        Field { name: name..equals.unwrap_or(end), value: equals.map_or(end, |at| at + 1)..end }
    })
}

/// A name or a value, decoded (WHATWG URL, section 5.1): `+` and `%20` are a space, a broken escape stays.
///
/// The check decodes strictly, since a broken escape is a finding. Redaction decodes with a map back to the text.
pub fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'+', b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_form_are_where_they_stand() {
        let text = b"a=1&b&=c&&d=e=f";
        let found: Vec<_> = fields(text).map(|field| (&text[field.name], &text[field.value])).collect();
        let expected: [(&[u8], &[u8]); 5] = [(b"a", b"1"), (b"b", b""), (b"", b"c"), (b"", b""), (b"d", b"e=f")];
        assert_eq!(found, expected);
    }
}
