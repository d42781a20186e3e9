//! A string whose escapes are undone later, or never.

use std::borrow::Cow;

use crate::json::strings::unescape;

/// The inside of a string, as it is written. Only a [`Reader`](super::Reader) makes one.
#[derive(Debug, Clone, Copy)]
pub enum Quoted<'a> {
    /// Text without escapes.
    Text(&'a str),
    /// What has escapes.
    Escaped(&'a [u8]),
    /// What has none, in a source that is not Unicode.
    Bytes(&'a [u8]),
}

impl<'a> Quoted<'a> {
    /// What it stands for, if that is text.
    pub(super) fn strict(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Escaped(inside) => String::from_utf8(unescape(inside)).ok().map(Cow::Owned),
            Self::Bytes(inside) => std::str::from_utf8(inside).ok().map(Cow::Borrowed),
        }
    }

    /// What it stands for: half of a surrogate pair, and what is not UTF-8, become U+FFFD.
    #[must_use]
    pub fn lossy(self) -> Cow<'a, str> {
        // Looks at every byte by itself even where all is well.
        let lossy = String::from_utf8_lossy;
        self.strict().unwrap_or_else(|| match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Escaped(inside) => Cow::Owned(lossy(&unescape(inside)).into_owned()),
            Self::Bytes(inside) => lossy(inside),
        })
    }
}
