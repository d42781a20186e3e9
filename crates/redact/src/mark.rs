//! Marks: places in a text that are to be replaced, collected first and applied at once.

use std::{ops::Range, sync::Arc};

use contrail_exchange::json::Node;

use super::view::View;

/// Which secret; none is ever given to another one.
pub(crate) type Id = u32;

/// A secret at a place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) range: Range<usize>,
    pub(crate) secret: Id,
    /// Where in the body: a JSON pointer or a field. All marks of one value share it.
    pub(crate) place: Option<Arc<str>>,
    /// The range is a JSON number; its label is a number too.
    pub(crate) number: bool,
    /// Its label needs quotes.
    pub(crate) quoted: bool,
    /// The range is a whole value, so its label has to fit the value's bounds.
    pub(crate) whole: bool,
}

impl Mark {
    /// A part of a text.
    pub(crate) fn part(range: Range<usize>, secret: Id) -> Self {
        Self { range, secret, place: None, number: false, quoted: false, whole: false }
    }

    /// All of a value.
    pub(crate) fn value(range: Range<usize>, secret: Id) -> Self {
        Self { whole: true, ..Self::part(range, secret) }
    }

    /// It has no place of its own.
    pub(crate) fn become_part(&mut self) {
        (self.whole, self.place) = (false, None);
    }
}

/// Marks what `find` finds in a part of a text: it begins at `start` there, as it is or as what `view` was made of.
pub(crate) fn inside<'m>(
    out: &'m mut Vec<Mark>,
    start: usize,
    view: Option<&View>,
    find: impl FnOnce(&mut Vec<Mark>),
) -> &'m mut [Mark] {
    let before = out.len();
    find(out);
    for mark in &mut out[before..] {
        let range = view.map_or_else(|| mark.range.clone(), |view| view.source(&mark.range));
        mark.range = start + range.start..start + range.end;
    }
    &mut out[before..]
}

/// Ascending and apart: marks that overlap become one, under the label of the one that covers more.
pub(crate) fn merge_overlaps(mut marks: Vec<Mark>) -> Vec<Mark> {
    marks.retain(|mark| !mark.range.is_empty());
    // Of equal ranges the first found counts; a whole value before a part.
    marks.sort_by_key(|mark| (mark.range.start, std::cmp::Reverse(mark.range.end), !mark.whole));
    let mut merged: Vec<Mark> = Vec::with_capacity(marks.len());
    for mark in marks {
        match merged.last_mut() {
            Some(last) if mark.range.start < last.range.end => {
                let union = last.range.start..last.range.end.max(mark.range.end);
                if mark.range.len() > last.range.len() {
                    last.secret = mark.secret;
                }
                last.whole |= mark.whole;
                last.number &= union == last.range;
                last.place = last.place.take().or(mark.place);
                last.range = union;
            }
            _ => merged.push(mark),
        }
    }
    merged
}

/// Puts all of these at one place: the empty one is all of a body, none is a piece of another one.
pub(crate) fn put(marks: &mut [Mark], place: Option<&str>) {
    let place: Option<Arc<str>> = place.map(Into::into);
    for mark in marks {
        mark.place.clone_from(&place);
    }
}

/// Puts the marks of a JSON string's text where the string stands.
pub(crate) fn put_in(node: Node<'_>, marks: Vec<Mark>, place: Option<&dyn Fn() -> String>, out: &mut Vec<Mark>) {
    if marks.is_empty() {
        return;
    }
    let all = node.span().start + 1..node.span().end - 1;
    let view = if node.plain_text().is_none() { View::unescape(&node.document().source()[all.clone()]) } else { None };
    let place: Option<Arc<str>> = place.map(|place| place().into());
    for mark in inside(out, all.start, view.as_ref(), |inner| inner.extend(marks)) {
        (mark.whole, mark.place) = (mark.range == all, place.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_marks_become_one_under_the_longer_ones_secret() {
        let marks = vec![Mark::part(8..9, 4), Mark::part(4..7, 3), Mark::part(0..2, 1), Mark::part(1..5, 2)];
        let merged = merge_overlaps(marks);
        assert_eq!(merged.iter().map(|mark| mark.range.clone()).collect::<Vec<_>>(), [0..7, 8..9]);
        assert_eq!(merged[0].secret, 2);
    }

    #[test]
    fn adjoining_marks_stay_apart() {
        assert_eq!(merge_overlaps(vec![Mark::part(2..4, 2), Mark::part(0..2, 1)]).len(), 2);
    }
}
