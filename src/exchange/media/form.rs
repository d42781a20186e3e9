//! Fields of forms and queries.

use std::ops::Range;

/// A field of a form or a query: where its name and its value stand, percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: Range<usize>,
    /// Empty, at the end of the name, where there is no `=`.
    pub(crate) value: Range<usize>,
}

/// The fields of a form or a query, in order; there may be empty ones.
pub(crate) fn fields(text: &[u8]) -> impl Iterator<Item = Field> {
    let mut start = 0;
    text.split(|byte| *byte == b'&').map(move |piece| {
        let end = start + piece.len();
        let equals = memchr::memchr(b'=', piece).map(|at| start + at);
        start = end + 1;
        Field { name: start - 1 - piece.len()..equals.unwrap_or(end), value: equals.map_or(end, |at| at + 1)..end }
    })
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
