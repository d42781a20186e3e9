//! Conditional and Range requests: which recorded answers such a request may get, and which an unconditional one.
//!
//! Other header fields never make a miss, but a 304 says "what you hold is still good", and a 206 is a part: to a
//! client that asked for another validator or range, or for neither, they are no answer.

use std::hash::{BuildHasher, Hash as _, Hasher as _};

use ahash::RandomState;
use contrail_exchange::{Difference, Headers};

/// The header fields of a request that make its answer depend on what the client holds or wants a part of: a keyed hash
/// of them; 0 without any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Conditions(u32);

/// Their names.
const NAMES: [&str; 6] = ["if-none-match", "if-modified-since", "range", "if-match", "if-unmodified-since", "if-range"];

impl Conditions {
    /// Those of a request.
    pub(super) fn of(headers: &Headers, keys: &RandomState) -> Self {
        let (mut any, mut hash) = (false, keys.build_hasher());
        for (at, name) in NAMES.iter().enumerate().filter(|(_, name)| headers.contains(name)) {
            any = true;
            (at, headers.get_all(name).map(|value| value.as_bytes().trim_ascii()).collect::<Vec<_>>()).hash(&mut hash);
        }
        // Half of it is enough to tell apart what one request was recorded under.
        Self(if any { u32::try_from(hash.finish() >> 32).unwrap_or(u32::MAX) | 1 } else { 0 })
    }

    /// Whether there are any.
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }
}

/// Of the entries that a request may get, those that answer it: recorded under the same conditions, else under none,
/// else under others if the answer does not depend on their values.
pub(super) fn nearest(asked: Conditions, entries: &[u32], held: impl Fn(u32) -> (Conditions, u16)) -> Vec<u32> {
    for conditions in [asked, Conditions::default()] {
        let group: Vec<u32> = entries.iter().copied().filter(|entry| held(*entry).0 == conditions).collect();
        if !group.is_empty() {
            return group;
        }
    }
    entries.iter().copied().filter(|entry| !matches!(held(*entry).1, 304 | 206)).collect()
}

/// The fields in which a request and a recorded one differ.
pub(super) fn differences(yours: &Headers, fixture: &Headers) -> Vec<Difference> {
    let text = |headers: &Headers, name: &str| {
        let values: Vec<_> = headers.get_all(name).map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        (!values.is_empty()).then(|| values.join(", "))
    };
    let fields = NAMES.iter().map(|name| (*name, text(yours, name), text(fixture, name)));
    let differing = fields.filter(|(_, yours, fixture)| yours != fixture);
    differing
        .map(|(name, yours, fixture)| Difference { place: name.to_owned(), yours, fixture, option: None })
        .collect()
}
