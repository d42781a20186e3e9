//! Sets of JSON types.

use crate::json::Kind;

/// JSON types, as a set of [`Kind`]s.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(pub(super) u8);

impl Kinds {
    pub(super) const ALL: Self = Self(0b11_1111);

    pub(super) fn of(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    pub(super) fn has(self, kind: Kind) -> bool {
        self.0 & Self::of(kind).0 != 0
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}
