//! Path templates, segment by segment.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, PercentEncode, utf8_percent_encode};

use super::BadTemplate;

/// A path with percent-encoding of what it cannot hold otherwise (RFC 3986, section 3.3); `%` and delimiters stay.
pub fn encoded_path(text: &str) -> PercentEncode<'_> {
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

/// The first byte of a raw text and how it is written, or its last one: an unreserved character may be percent-encoded.
fn first(text: &[u8]) -> Option<(u8, usize)> {
    match *text {
        [b'%', high, low, ..] => Some(unreserved(high, low).map_or((b'%', 1), |byte| (byte, 3))),
        _ => text.first().map(|byte| (*byte, 1)),
    }
}

fn last(text: &[u8]) -> Option<(u8, usize)> {
    match *text {
        [.., b'%', high, low] => Some(unreserved(high, low).map_or((low, 1), |byte| (byte, 3))),
        _ => text.last().map(|byte| (*byte, 1)),
    }
}

/// The unreserved character that two hexadecimal digits stand for: it equals its percent-encoding (RFC 3986, section
/// 6.2.2.2).
fn unreserved(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = u8::try_from(digit(high)? << 4 | digit(low)?).ok()?;
    (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)).then_some(byte)
}

/// A raw text whose unreserved characters are not percent-encoded.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'%', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split('%');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let byte = match *piece.as_bytes() {
            [high, low, ..] => unreserved(high, low),
            _ => None,
        };
        match byte {
            Some(byte) => out.extend([char::from(byte).encode_utf8(&mut [0; 4]), &piece[2..]]),
            None => out.extend(["%", piece]),
        }
    }
    Cow::Owned(out)
}

/// What follows a [plain] text at the beginning of a raw one.
fn after<'p>(raw: &'p str, text: &str) -> Option<&'p str> {
    let mut rest = raw.as_bytes();
    for byte in text.bytes() {
        let (held, length) = first(rest)?;
        rest = (held == byte).then(|| &rest[length..])?;
    }
    raw.get(raw.len() - rest.len()..)
}

/// What precedes a [plain] text at the end of a raw one.
fn before<'p>(raw: &'p str, text: &str) -> Option<&'p str> {
    let mut rest = raw.as_bytes();
    for byte in text.bytes().rev() {
        let (held, length) = last(rest)?;
        rest = (held == byte).then(|| &rest[..rest.len() - length])?;
    }
    raw.get(..rest.len())
}

/// Whether no request has a path of this template: a path ends before `?` and `#`.
pub fn has_no_request(template: &str) -> bool {
    shape(template).contains(['?', '#'])
}

/// A template with `{}` for each parameter.
pub(crate) fn shape(template: &str) -> String {
    let mut out = String::new();
    for piece in template.split_inclusive('}') {
        match piece.split_once('{') {
            Some((text, _)) => out.extend([text, "{}"]),
            None => out.push_str(piece),
        }
    }
    out
}

/// Whether a segment with parameters takes another one, as far as its beginning and end show.
pub(crate) fn takes(templated: &str, segment: &str) -> bool {
    let before = templated.split('{').next().unwrap_or_default();
    let after = templated.rsplit('}').next().unwrap_or_default();
    segment.starts_with(before) && segment.ends_with(after)
}

/// Bound on the ways of dividing a segment that are judged, and on the steps of finding them.
const MAX_WAYS: usize = 64;
const MAX_STEPS: usize = 4096;

/// Names and raw values of the parameters of one segment, in every way in which it can be divided.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Divided<'r, 'p> {
    /// The likeliest first.
    pub(crate) ways: Vec<Vec<(&'r str, &'p str)>>,
    /// There are more.
    pub(crate) cut: bool,
}

/// The segments of a raw path that can be divided in several ways between the parameters of its template.
pub(crate) fn divided<'r, 'p>(template: &'r str, path: &'p str) -> Vec<Divided<'r, 'p>> {
    let several = |(template, segment): (&'r str, &'p str)| {
        let names = || template.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
        names().nth(1)?;
        let (mut ways, mut all) = (Vec::new(), true);
        for spelling in [template, &*encoded(template)] {
            if let Ok(Some(parsed)) = Segment::parse(spelling, &mut Vec::new())
                && ways.is_empty()
            {
                all = parsed.divide(segment, &mut ways);
            }
        }
        let ways: Vec<Vec<_>> = ways.into_iter().map(|values| names().zip(values).collect()).collect();
        (ways.len() > 1 || !all).then_some(Divided { ways, cut: !all })
    };
    // A base path precedes the template.
    template.rsplit('/').zip(path.rsplit('/')).filter_map(several).collect()
}

/// Adds the ways in which what follows a prefix divides; `false` beyond a bound.
fn divide<'p>(
    literals: &[Box<str>],
    rest: &'p str,
    values: &mut Vec<&'p str>,
    ways: &mut Vec<Vec<&'p str>>,
    steps: &mut usize,
) -> bool {
    let Some((literal, others)) = literals.split_first() else { return true };
    if others.is_empty() {
        if let Some(value) = before(rest, literal).filter(|value| !value.is_empty()) {
            if ways.len() == MAX_WAYS {
                return false;
            }
            ways.push(values.iter().copied().chain([value]).collect());
        }
        return true;
    }
    for (at, _) in rest.char_indices().skip(1) {
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        if let Some(next) = after(&rest[at..], literal) {
            values.push(&rest[..at]);
            let all = divide(others, next, values, ways, steps);
            values.pop();
            if !all {
                return false;
            }
        }
    }
    true
}

/// A segment with at least one parameter, without their names: `{id}`, `{id}.json`, `{from}-{to}`. Its literal text is
/// [plain].
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
            literals.push(plain(literal).into());
            match next {
                Some(next) => rest = next,
                None => return Ok(Some(Self { prefix: plain(prefix).into(), literals: literals.into() })),
            }
        }
    }

    /// Bytes of its literal text.
    pub(super) fn literal_length(&self) -> usize {
        self.prefix.len() + self.literals.iter().map(|literal| literal.len()).sum::<usize>()
    }

    /// Adds the ways in which a raw segment divides into the values of its parameters, the first as [`take`](Self::take)
    /// divides it. Gives `false` where there are more than [`MAX_WAYS`].
    fn divide<'p>(&self, segment: &'p str, ways: &mut Vec<Vec<&'p str>>) -> bool {
        let Some(rest) = after(segment, &self.prefix) else { return true };
        let mut steps = MAX_STEPS;
        divide(&self.literals, rest, &mut Vec::new(), ways, &mut steps)
    }

    /// Takes the values of its parameters out of a raw segment; none of them may be empty. Earlier ones are as short
    /// as possible.
    pub(super) fn take<'p>(&self, segment: &'p str, mut value: impl FnMut(&'p str)) -> bool {
        let Some(mut rest) = after(segment, &self.prefix) else { return false };
        let last = self.literals.len() - 1;
        for (index, literal) in self.literals.iter().enumerate() {
            let taken = if index == last {
                before(rest, literal).map(|value| (value, ""))
            } else {
                // At least one character belongs to the parameter.
                let mut ends = rest.char_indices().skip(1).map(|(at, _)| rest.split_at(at));
                ends.find_map(|(value, next)| Some((value, after(next, literal)?)))
            };
            let Some((taken, next)) = taken.filter(|(taken, _)| !taken.is_empty()) else { return false };
            value(taken);
            rest = next;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_divided_in_every_way_up_to_a_bound() {
        assert_eq!(divided("/r/{a}.{b}", "/v1/r/x-y.z"), []);
        assert_eq!(divided("/{a}", "/a-b-c"), []);
        let ways = vec![vec![("a", "x"), ("b", "y-z")], vec![("a", "x-y"), ("b", "z")]];
        assert_eq!(divided("/r/{a}-{b}/s", "/v1/r/x-y-z/s"), [Divided { ways, cut: false }]);
        let path = format!("/{}", "a".repeat(1000));
        let cut = divided("/{a}{b}{c}{d}", &path);
        assert!(matches!(&cut[..], [Divided { ways, cut: true }] if ways.len() == MAX_WAYS), "{cut:?}");
        let none = divided("/{a}{b}{c}{d}x", &path);
        assert!(matches!(&none[..], [Divided { cut: true, .. }]), "{none:?}");
    }
}
