//! Sets of JSON types.

use contrail_exchange::json::Kind;
use serde_json::Value;

/// JSON types, as a set of [`Kind`]s.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(pub(super) u8);

impl Kinds {
    pub(super) const ALL: Self = Self(0b11_1111);

    pub(super) fn of(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    /// The types that a `type` names, and whether numbers among them are whole; `None` where it names another.
    pub(super) fn named(types: &Value) -> Option<(Self, bool)> {
        let names = match types {
            Value::Array(names) => &names[..],
            name => std::slice::from_ref(name),
        };
        let (mut kinds, mut whole, mut number) = (Self(0), false, false);
        for name in names {
            whole |= name == "integer";
            number |= name == "number";
            kinds.0 |= Self::of(match name.as_str()? {
                "null" => Kind::Null,
                "boolean" => Kind::Boolean,
                "integer" | "number" => Kind::Number,
                "string" => Kind::String,
                "array" => Kind::Array,
                "object" => Kind::Object,
                _ => return None,
            })
            .0;
        }
        Some((kinds, whole && !number))
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
