//! Conditional and Range requests: which recorded answers such a request may get, and which an unconditional one.
//!
//! Header fields do not take part in matching, but a 304 says "what you hold is still good", and a 206 is a part: to a
//! client that asked for neither, they are no answer.

use crate::exchange::Headers;

/// Which header fields of a request make its answer depend on what the client holds or wants a part of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Conditions(u8);

const NAMES: [&str; 5] = ["if-none-match", "if-modified-since", "range", "if-match", "if-unmodified-since"];
/// Bits of the first two names: with either, a 304 is an answer.
const NOT_MODIFIED: u8 = 0b011;
/// Bit of `Range`: with it, a 206 is an answer.
const PART: u8 = 0b100;

impl Conditions {
    /// Those of a request.
    pub(super) fn of(headers: &Headers) -> Self {
        let bits = NAMES.iter().enumerate().filter(|(_, name)| headers.contains(name));
        Self(bits.fold(0, |bits, (at, _)| bits | 1 << at))
    }

    /// Whether there are any.
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether an answer of this status, recorded for a request under conditions, is one to a request under these.
    pub(super) fn admit(self, status: u16) -> bool {
        match status {
            304 => self.0 & NOT_MODIFIED != 0,
            206 => self.0 & PART != 0,
            _ => true,
        }
    }
}

/// Of the entries that a request may get, those that answer it: recorded under the same conditions, else under none,
/// else all of them.
pub(super) fn nearest(asked: Conditions, entries: &[u32], held: impl Fn(u32) -> (Conditions, u16)) -> Vec<u32> {
    let fits = |entry: &u32| {
        let (recorded, status) = held(*entry);
        !recorded.any() || asked.admit(status)
    };
    let fitting: Vec<u32> = entries.iter().copied().filter(fits).collect();
    for conditions in [asked, Conditions::default()] {
        let group: Vec<u32> = fitting.iter().copied().filter(|entry| held(*entry).0 == conditions).collect();
        if !group.is_empty() {
            return group;
        }
    }
    fitting
}
