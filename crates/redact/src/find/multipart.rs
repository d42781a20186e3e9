//! The parts of a multipart body, by every boundary, line end and name that a reader may go by.

use std::ops::Range;

use contrail_exchange::media::{self, LineEnds};

use super::{
    detect::MAX_CODINGS,
    fields::{by_field, field_place},
    grammar::{Grammar, Parsed, bytes, declared_as},
};
use crate::{
    Redactor,
    kind::Kind,
    mark::{self, Mark},
};

/// A part of a multipart body, or of one inside it; what stands outside its parts is a part without a name.
#[derive(Debug)]
pub(crate) struct Part {
    /// The name that the standard's reader sees.
    pub(crate) name: String,
    /// Those that others see.
    pub(crate) others: Vec<String>,
    pub(crate) head: Range<usize>,
    pub(crate) body: Range<usize>,
    pub(crate) inside: Parsed,
}

/// Multipart bodies one inside the other.
pub(super) const MAX_NESTED: usize = 3;

/// Boundaries that a `Content-Type` may be read to name.
const MAX_BOUNDARIES: usize = 4;

/// A multipart body whose first line is its delimiter.
pub(super) fn by_itself(content: &[u8], nested: usize) -> Option<Grammar> {
    let text = content.trim_ascii_start().strip_prefix(b"--")?;
    let boundary = text[..memchr::memchr(b'\n', text)?].trim_ascii_end();
    read_parts(content, &[boundary.to_vec()], nested).map(Grammar::Multipart)
}

/// The parts of a multipart body, by every boundary and every line end that a reader may go by; `None` where it is none,
/// or too many in one.
pub(super) fn parts(declared: &[u8], content: &[u8], nested: usize) -> Option<Vec<Part>> {
    let mut boundaries = media::every_parameter(declared, "boundary")?;
    boundaries.retain(|boundary| memchr::memmem::find(content, boundary).is_some());
    if boundaries.len() > MAX_BOUNDARIES {
        return None;
    }
    read_parts(content, &boundaries, nested)
}

fn read_parts(content: &[u8], boundaries: &[Vec<u8>], nested: usize) -> Option<Vec<Part>> {
    let nested = nested.checked_sub(1)?;
    let mut parts: Vec<Part> = Vec::new();
    let mut is_read = false;
    for boundary in boundaries {
        let as_written = media::multipart(content, boundary, LineEnds::Crlf);
        let lenient = Some(LineEnds::Any).filter(|_| as_written.is_none() || has_bare_line_feed(content));
        let lenient = lenient.and_then(|ends| media::multipart(content, boundary, ends));
        for found in [as_written, lenient].into_iter().flatten() {
            is_read = true;
            for range in found.outside {
                if !content[range.clone()].trim_ascii().is_empty() {
                    let inside = bytes(&content[range.clone()], nested);
                    let head = range.start..range.start;
                    parts.push(Part { name: String::new(), others: Vec::new(), head, body: range, inside });
                }
            }
            for media::Part { head, body } in found.parts {
                parts.push(part(content, head, body, nested)?);
            }
        }
    }
    is_read.then_some(parts)
}

fn part(content: &[u8], head: Range<usize>, body: Range<usize>, nested: usize) -> Option<Part> {
    let (mut name, mut declared) = (None, None);
    for (field, value) in media::part_fields(&content[head.clone()]) {
        match field.as_str() {
            "content-disposition" if name.is_none() => name = media::parameter(&value, "name"),
            "content-type" if declared.is_none() => declared = Some(value),
            _ => {}
        }
    }
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let others = media::every_parameter(&content[head.clone()], "name")?;
    let others = others.into_iter().map(lossy).collect();
    let inner = &content[body.clone()];
    let inside = declared.as_ref().map_or_else(|| bytes(inner, nested), |held| declared_as(held, inner, nested));
    let is_multipart = || declared.is_some_and(|held| media::essence(&held).starts_with("multipart/"));
    if inside.unparsable && is_multipart() && !inner.trim_ascii().is_empty() {
        return None;
    }
    Some(Part { name: name.map(lossy).unwrap_or_default(), others, head, body, inside })
}

fn has_bare_line_feed(content: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', content).any(|at| at == 0 || content[at - 1] != b'\r')
}

impl Redactor {
    pub(super) fn detect_part(&self, content: &[u8], part: &Part, out: &mut Vec<Mark>) {
        let place = field_place(&part.name);
        let before = out.len();
        let value = &content[part.body.clone()];
        let mut names = part.others.iter().chain(std::iter::once(&part.name));
        let kind = names
            .find_map(|name| by_field(name, value))
            .or_else(|| self.plan.names_field(&part.name).then_some(Kind::Custom));
        if let Some(kind) = kind {
            self.detect_text(value, 1, &mut Vec::new());
            out.extend(self.learn(value, kind).map(|id| Mark::value(part.body.clone(), id)));
        }
        let head = &content[part.head.clone()];
        mark::inside(out, part.head.start, None, |inner| self.detect_text(head, MAX_CODINGS, inner));
        mark::inside(out, part.body.start, None, |inner| _ = self.detect_parsed(&part.inside, value, &[], inner));
        mark::put(&mut out[before..], Some(&place));
    }
}
