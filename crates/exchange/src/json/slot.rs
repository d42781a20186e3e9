//! The slots of the tape.

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Boolean,
    /// A number, by its text.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The type's name with its article, as in "expected …": `an object`, `null`.
    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// One value (or member name) on the tape. A container is followed by its content; a member is its name, then its
/// value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// First byte of the token in the source.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
    /// Index of the first slot after this value and all that it holds.
    pub(super) next: u32,
    /// Bits 0 to 2: the kind. Bit 3: a string with escapes, or a number with a fraction or an exponent. Above: members
    /// or items.
    pub(super) meta: u32,
}

const MARK: u32 = 1 << 3;
/// Where the count of members or items begins.
pub(super) const COUNT: u32 = 4;

impl Slot {
    #[inline]
    pub(super) fn new(kind: Kind, start: usize, end: usize, next: usize, marked: bool) -> Self {
        Self {
            start: small(start),
            end: small(end),
            next: small(next),
            meta: kind as u32 | if marked { MARK } else { 0 },
        }
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        use Kind::{Array, Boolean, Null, Number, Object, String};
        const KINDS: [Kind; 8] = [Null, Boolean, Number, String, Array, Object, Object, Object];
        KINDS[(self.meta & 7) as usize]
    }

    /// A string with escapes, or a number with a fraction or an exponent.
    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.meta & MARK != 0
    }

    #[inline]
    pub(super) fn count(self) -> usize {
        (self.meta >> COUNT) as usize
    }
}

/// Positions fit: [`MAX_SOURCE`](super::MAX_SOURCE) is far below `u32::MAX`, and a tape has no more slots than the
/// source has bytes.
#[inline]
#[allow(clippy::cast_possible_truncation)]
pub(super) fn small(position: usize) -> u32 {
    position as u32
}
