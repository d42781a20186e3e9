//! Path templates, segment by segment.

use percent_encoding::{AsciiSet, CONTROLS, PercentEncode, utf8_percent_encode};

use super::BadTemplate;

/// A path with percent-encoding of what it cannot hold otherwise (RFC 3986, section 3.3); `%` and delimiters stay.
pub(crate) fn encoded_path(text: &str) -> PercentEncode<'_> {
    const NEEDED: &AsciiSet =
        &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'|');
    utf8_percent_encode(text, NEEDED)
}

/// A template whose literal text has no character that needs percent-encoding.
pub(super) fn encoded(template: &str) -> String {
    let mut out = String::new();
    for piece in template.split_inclusive('}') {
        let (text, parameter) = piece.split_at(piece.find('{').unwrap_or(piece.len()));
        out.extend(encoded_path(text));
        out.push_str(parameter);
    }
    out
}

/// A template with `{}` for each parameter.
pub(in crate::contract) fn shape(template: &str) -> String {
    let mut out = String::new();
    for piece in template.split_inclusive('}') {
        match piece.split_once('{') {
            Some((text, _)) => out.extend([text, "{}"]),
            None => out.push_str(piece),
        }
    }
    out
}

/// A segment with at least one parameter, without their names: `{id}`, `{id}.json`, `{from}-{to}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    prefix: Box<str>,
    /// The literal text that follows each parameter.
    literals: Box<[Box<str>]>,
}

impl Segment {
    /// `None` for a segment without a parameter. Adds the names of the parameters to `names`.
    pub(super) fn parse(text: &str, names: &mut Vec<Box<str>>) -> Result<Option<Self>, BadTemplate> {
        let bad = || BadTemplate(format!("the segment `{text}` has a brace without its other half"));
        let Some((prefix, mut rest)) = text.split_once('{') else {
            return if text.contains('}') { Err(bad()) } else { Ok(None) };
        };
        let mut literals = Vec::new();
        loop {
            let (name, after) = rest.split_once('}').ok_or_else(bad)?;
            let (literal, next) = match after.split_once('{') {
                Some((literal, next)) => (literal, Some(next)),
                None => (after, None),
            };
            if name.is_empty() || name.contains('{') || literal.contains('}') || prefix.contains('}') {
                return Err(bad());
            }
            names.push(name.into());
            literals.push(literal.into());
            match next {
                Some(next) => rest = next,
                None => return Ok(Some(Self { prefix: prefix.into(), literals: literals.into() })),
            }
        }
    }

    /// Bytes of its literal text.
    pub(super) fn literal_length(&self) -> usize {
        self.prefix.len() + self.literals.iter().map(|literal| literal.len()).sum::<usize>()
    }

    /// Takes the values of its parameters out of a raw segment; none of them may be empty. Earlier ones are as short
    /// as possible.
    pub(super) fn take<'p>(&self, segment: &'p str, mut value: impl FnMut(&'p str)) -> bool {
        let Some(mut rest) = segment.strip_prefix(&*self.prefix) else { return false };
        let last = self.literals.len() - 1;
        for (index, literal) in self.literals.iter().enumerate() {
            let end = if index == last {
                rest.strip_suffix(&**literal).map(str::len)
            } else {
                // At least one character belongs to the parameter.
                rest.char_indices().skip(1).map(|(at, _)| at).find(|at| rest[*at..].starts_with(&**literal))
            };
            let Some(end) = end.filter(|end| *end > 0) else { return false };
            value(&rest[..end]);
            rest = &rest[end + literal.len()..];
        }
        true
    }
}
