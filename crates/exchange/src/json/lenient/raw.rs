//! A value whose text is read later, or never.

use super::{error::LenientError, read::Read, reader::Reader};

/// The text of a value, as it is written. Only a [`Reader`] makes one.
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
        // Most are counts. Below 2^53, each is a number of its own.
        if self.0.len() < 16 && self.0.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(self.0.bytes().fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0')));
        }
        self.0.trim_matches('"').trim().parse().ok().filter(|number: &f64| number.is_finite())
    }
}

impl<'a> Read<'a> for Raw<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        reader.raw().map(Raw)
    }
}
