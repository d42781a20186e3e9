//! Findings in groups: the same one (rule, operation, place) once, with a count and one sample.

use std::{borrow::Cow, sync::Arc, time::SystemTime};

use contrail_contract::FRAGMENT;
use contrail_exchange::{
    finding::{Rule, UNDOCUMENTED},
    visible::visible,
};
use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::{
    Citation, Quote,
    first::{Dated, First},
};

/// Maximum groups whose sample holds its request and response.
pub(super) const MAX_QUOTED: usize = 200;

/// What neither a fragment nor an attribute without quotes holds as it is.
const ANCHOR: &AsciiSet = &FRAGMENT.add(b'\'').add(b'=');

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) rule: Rule,
    pub(super) operation: Option<Arc<str>>,
    pub(super) place: String,
    pub(super) unenforced: Option<Unenforced>,
    pub(super) several: bool,
}

/// A finding, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Which rule.
    pub rule: Rule,
    /// The documented operation, if there is one.
    pub operation: Option<Arc<str>>,
    /// Where, array indices as `*`; for an undocumented operation, its method and the shape of its path.
    pub place: String,
    /// Of what the tenant did not refuse.
    pub unenforced: Option<Unenforced>,
    /// See [`Finding::fits_several`](contrail_exchange::finding::Finding::fits_several).
    pub(super) several: bool,
    /// How often.
    pub count: u64,
    /// The one that started first; without instants, the first that was read.
    pub sample: First<Sample>,
}

/// Whose request the tenant did not refuse, and why it had to: a different failure of the tenant each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unenforced {
    /// What the tenant was expected to do.
    pub expected: String,
    /// The caller; `None` of those that are counted together.
    pub caller: Option<String>,
}

/// One finding of a group, to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Expected beside seen.
    pub message: String,
    /// The place as it stands in this exchange.
    pub at: String,
    /// The exchange.
    pub cited: Citation,
    /// Its request and response; only of the first [`MAX_QUOTED`] groups.
    pub quote: Option<Box<Quote>>,
}

impl Dated for Sample {
    fn at(&self) -> Option<SystemTime> {
        self.cited.at
    }
}

impl Group {
    /// The message of its sample, with the caller where that is the same of all.
    #[must_use]
    pub fn message(&self) -> Cow<'_, str> {
        let message = &self.sample.message;
        match self.unenforced.as_ref().and_then(|unenforced| unenforced.caller.as_deref()) {
            Some(caller) => Cow::Owned(format!("caller {}: {message}", visible(caller))),
            None => Cow::Borrowed(message),
        }
    }

    /// `response.body/getUser/items/*/id`: what links to these findings in any report of them.
    pub(super) fn anchor(&self) -> String {
        let operation = self.operation.as_deref().unwrap_or(UNDOCUMENTED);
        let slash = if self.place.starts_with('/') { "" } else { "/" };
        let mut anchor = format!("{}/{operation}{slash}{}", self.rule.id(), self.place);
        if let Some(Unenforced { expected, caller }) = &self.unenforced {
            anchor.extend(["/", expected, "/", caller.as_deref().unwrap_or_default()]);
        }
        if self.several {
            anchor.push_str("/several");
        }
        utf8_percent_encode(anchor.trim_end_matches('/'), ANCHOR).to_string()
    }
}

/// A JSON pointer with `*` in place of array indices, so that the tenth item groups with the first.
#[must_use]
pub fn without_indices(pointer: &str) -> String {
    if !pointer.starts_with('/') {
        return pointer.to_owned();
    }
    let mut place = String::with_capacity(pointer.len());
    for token in pointer[1..].split('/') {
        place.push('/');
        let index = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        place.push_str(if index { "*" } else { token });
    }
    place
}

/// A path with `{…}` in place of segments that look like ids, so that one line stands for many.
#[must_use]
pub fn shape(path: &str) -> String {
    let mut shape = String::with_capacity(path.len());
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            shape.push('/');
        }
        let version = segment.len() <= 3 && segment.starts_with('v');
        let word = segment.len() <= 40
            && segment.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_' | b'.'));
        if segment.is_empty() || version || word {
            shape.push_str(segment);
        } else {
            shape.push_str("{…}");
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_item_groups_with_the_first() {
        assert_eq!(without_indices("/groups/10/id"), "/groups/*/id");
        assert_eq!(without_indices("/groups/10"), without_indices("/groups/0"));
        assert_eq!(without_indices("/2x/a~1b"), "/2x/a~1b");
        assert_eq!(without_indices("take"), "take");
        assert_eq!(without_indices(""), "");
        assert_eq!(without_indices("/"), "/");
    }

    #[test]
    fn ids_do_not_tell_path_shapes_apart() {
        assert_eq!(shape("/api/v2/users/auth0%7C123"), "/api/v2/users/{…}");
        assert_eq!(shape("/api/v2/users/USR_abc/roles"), "/api/v2/users/{…}/roles");
        assert_eq!(shape("/api/v2/email-templates/"), "/api/v2/email-templates/");
        assert_eq!(shape("//x"), "//x");
    }
}
