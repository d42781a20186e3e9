//! Strings of files of any producer.

use std::borrow::Cow;

use contrail_exchange::json::lenient::{LenientError, Read, Reader};

/// A string. Half surrogate pairs and invalid UTF-8, which some producers write, become U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> Read<'a> for Text<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        reader.lossy().map(Self)
    }
}
