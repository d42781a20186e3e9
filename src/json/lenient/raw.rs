//! A value whose text is read later, or never.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Visitor};

use super::{
    error::LenientError,
    reader::{RAW, read},
};

/// The text of a value, as it stands there. Only [`read`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// The text, without white space around it.
    #[must_use]
    pub fn get(self) -> &'a str {
        self.0
    }

    /// The number that it is, however it is written (`12`, `12.0`, `"12"`); `None` if it is none.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        self.0.trim_matches('"').trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// What it stands for.
    ///
    /// # Errors
    ///
    /// As [`read`].
    pub fn read<T: Deserialize<'a>>(self) -> Result<T, LenientError> {
        read(self.0.as_bytes())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Raw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Raw<'de>, E> {
                Ok(Raw(text))
            }
        }

        deserializer.deserialize_newtype_struct(RAW, Text)
    }
}
