//! An object, where the text may hold another value.

use std::{fmt, marker::PhantomData};

use serde::{Deserialize, Deserializer, de::Visitor};

/// The name under which [`Reader`](super::reader) is asked for an object or nothing.
pub(super) const OBJECT: &str = "contrail::json::object";

/// For `#[serde(deserialize_with)]`: an object, or `None` in place of every other value. Only [`read`](super::read)
/// makes one.
///
/// # Errors
///
/// Those of the object, and of JSON's grammar.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("JSON text")
        }

        fn visit_none<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
            T::deserialize(deserializer).map(Some)
        }
    }

    deserializer.deserialize_newtype_struct(OBJECT, Object(PhantomData))
}
