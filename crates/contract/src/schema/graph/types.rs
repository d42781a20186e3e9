//! The JSON types that a schema allows.

use contrail_exchange::json::{Document, Kind};

/// JSON types, as a set; empty where a schema names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Types(u8);

impl Types {
    pub(in crate::schema) const NULL: Self = Self(1);
    pub(in crate::schema) const BOOLEAN: Self = Self(2);
    pub(in crate::schema) const INTEGER: Self = Self(4);
    pub(in crate::schema) const NUMBER: Self = Self(8);
    pub(in crate::schema) const STRING: Self = Self(16);
    pub(in crate::schema) const ARRAY: Self = Self(32);
    pub(in crate::schema) const OBJECT: Self = Self(64);
    /// Beside [`Self::STRING`]: a string that no list names.
    pub(super) const UNLISTED_STRING: Self = Self(128);

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[inline]
    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a value may be of this type.
    #[inline]
    pub(super) fn allows(self, other: Self) -> bool {
        self.0 == 0 || self.has(other)
    }

    /// Whether a value of this kind may be of these types, whatever it is.
    #[inline]
    pub(super) fn takes(self, kind: Kind) -> bool {
        const NUMBERS: Types = Types(Types::INTEGER.0 | Types::NUMBER.0);
        const BY_KIND: [Types; 6] = [Types::NULL, Types::BOOLEAN, NUMBERS, Types::STRING, Types::ARRAY, Types::OBJECT];
        self.allows(BY_KIND[kind as usize])
    }

    /// Whether the numbers among them are whole.
    pub(super) fn is_whole(self) -> bool {
        self.has(Self::INTEGER) && !self.has(Self::NUMBER)
    }

    /// Whether an array is among them.
    #[must_use]
    pub fn array(self) -> bool {
        self.has(Self::ARRAY)
    }

    /// Whether an object is among them.
    #[must_use]
    pub fn object(self) -> bool {
        self.has(Self::OBJECT)
    }

    /// Whether a string is among them.
    #[must_use]
    pub fn string(self) -> bool {
        self.has(Self::STRING)
    }

    /// Whether a text that is a JSON literal rather stands for that than for a string.
    #[must_use]
    pub fn prefers_literal(self, literal: &str) -> bool {
        if !self.has(Self::STRING) {
            return !self.unknown();
        }
        let has_others = self.has(Self(Self::BOOLEAN.0 | Self::INTEGER.0 | Self::NUMBER.0));
        has_others && !self.has(Self::UNLISTED_STRING) && literal != "null"
    }

    /// Whether a number that is not whole may be among them.
    #[must_use]
    pub fn number_or_unknown(self) -> bool {
        self.allows(Self::NUMBER)
    }

    /// Whether a scalar may be among them.
    #[must_use]
    pub fn scalar_or_unknown(self) -> bool {
        self.unknown() || self.has(Self(!(Self::ARRAY.0 | Self::OBJECT.0)))
    }

    /// Whether the schema names none.
    #[must_use]
    pub fn unknown(self) -> bool {
        self.0 == 0
    }

    /// Whether a text stands for a whole number wherever it is written as one.
    pub(in crate::schema) fn is_integer(self) -> bool {
        (self.has(Self::INTEGER) || self.has(Self::NUMBER)) && !self.has(Self::STRING)
    }

    /// Whether a text stands for a boolean wherever it is written as one.
    pub(in crate::schema) fn is_boolean(self) -> bool {
        self.has(Self::BOOLEAN) && !self.has(Self::STRING)
    }

    /// Whether a text stands for JSON text of a container: an object or an array is among them, and no string.
    #[must_use]
    pub fn is_container(self) -> bool {
        (self.has(Self::OBJECT) || self.has(Self::ARRAY)) && !self.has(Self::STRING)
    }

    /// Reads a text as one of the scalar types, as a document of one value; `None` where it stays a text.
    #[must_use]
    pub fn coerce(self, text: &str) -> Option<Document> {
        if self.has(Self::STRING) {
            return None;
        }
        let integer = || {
            let digits = text.strip_prefix('-').unwrap_or(text);
            digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let document = Document::parse(text.as_bytes().to_vec()).ok()?;
        // White space is no part of a number.
        let whole = document.root().span() == (0..text.len());
        let fits = whole
            && match document.root().kind() {
                Kind::Number => self.has(Self::NUMBER) || (self.has(Self::INTEGER) && integer()),
                Kind::Boolean => self.has(Self::BOOLEAN),
                _ => false,
            };
        fits.then_some(document)
    }
}
