//! The types of HAR 1.2 as files hold them, read leniently: any member may be missing, null or of a near type.
//!
//! Strings borrow from the file where they hold no escape. Unneeded members are skipped unread.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de};

use super::note::Record;
use crate::json::lenient::{self, LenientError, Raw};

/// `log.entries[]`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct Entry<'a> {
    #[serde(borrow)]
    pub(in crate::recording) started_date_time: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) time: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) request: Option<Request<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) timings: Option<Timings<'a>>,
    /// Ours; where it is no object, another tool's.
    #[serde(borrow, default, rename = "_contrail", deserialize_with = "lenient::object")]
    pub(in crate::recording) contrail: Option<Record<'a>>,
}

/// `request`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct Request<'a> {
    #[serde(borrow)]
    pub(in crate::recording) method: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) url: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) http_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) headers: Option<Vec<Header<'a>>>,
    #[serde(borrow)]
    pub(in crate::recording) post_data: Option<PostData<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) body_size: Option<Raw<'a>>,
}

/// `response`
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct Response<'a> {
    #[serde(borrow)]
    pub(in crate::recording) status: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) http_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) headers: Option<Vec<Header<'a>>>,
    #[serde(borrow)]
    pub(in crate::recording) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) body_size: Option<Raw<'a>>,
    /// Chrome: why it failed.
    #[serde(borrow, rename = "_error")]
    pub(in crate::recording) error: Option<Text<'a>>,
    /// Playwright: why it failed.
    #[serde(borrow, rename = "_failureText")]
    pub(in crate::recording) failure_text: Option<Text<'a>>,
}

/// `headers[]`
#[derive(Debug, Deserialize)]
pub(in crate::recording) struct Header<'a> {
    #[serde(borrow)]
    pub(in crate::recording) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) value: Option<Text<'a>>,
    /// Ours: `latin-1` where the value is not UTF-8; each character is one byte.
    #[serde(borrow, rename = "_encoding")]
    pub(in crate::recording) encoding: Option<Text<'a>>,
}

/// `request.postData`
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct PostData<'a> {
    #[serde(borrow)]
    pub(in crate::recording) mime_type: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) params: Option<Vec<Param<'a>>>,
    /// Some producers have it here as in `content`.
    #[serde(borrow)]
    pub(in crate::recording) encoding: Option<Text<'a>>,
    /// Ours: HAR has no member for it in `postData`.
    #[serde(borrow, rename = "_encoding")]
    pub(in crate::recording) own_encoding: Option<Text<'a>>,
    #[serde(borrow, rename = "_file")]
    pub(in crate::recording) file: Option<Text<'a>>,
}

/// `request.postData.params[]`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct Param<'a> {
    #[serde(borrow)]
    pub(in crate::recording) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) file_name: Option<Text<'a>>,
}

/// `response.content`
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct Content<'a> {
    #[serde(borrow)]
    pub(in crate::recording) size: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) mime_type: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) encoding: Option<Text<'a>>,
    #[serde(borrow, rename = "_file")]
    pub(in crate::recording) file: Option<Text<'a>>,
}

/// `timings`
#[derive(Debug, Default, Deserialize)]
pub(in crate::recording) struct Timings<'a> {
    #[serde(borrow)]
    pub(in crate::recording) send: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) wait: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(in crate::recording) receive: Option<Raw<'a>>,
}

/// A string. Half surrogate pairs and invalid UTF-8, which some producers write, become U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::recording) struct Text<'a>(pub(in crate::recording) Cow<'a, str>);

impl Text<'_> {
    pub(in crate::recording) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(text(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text(bytes).into_owned())))
            }
        }

        // Asked for bytes, the reader takes what is no text, too.
        deserializer.deserialize_bytes(Visitor)
    }
}

/// As [`String::from_utf8_lossy`], which looks at every byte by itself even where all is well.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A count; `None` for `-1` and whatever else is no count.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked: not negative, and beyond 2^53 no count goes
pub(in crate::recording) fn count(raw: Option<Raw<'_>>) -> Option<u64> {
    raw?.number().filter(|number| *number >= 0.0 && *number < 9e15).map(|number| number as u64)
}

/// What is wrong with an entry, without its place (it is that in one entry) and without the file's content.
pub(in crate::recording) fn plain(misfit: LenientError) -> Cow<'static, str> {
    match misfit {
        LenientError::Shape => "a member is missing or of another type than in HAR 1.2".into(),
        LenientError::Duplicate(name) => format!("duplicate member `{name}`").into(),
        LenientError::Cut => "it ends in the middle; a journal has one entry per line".into(),
        LenientError::Surrogate => "a string holds half of a surrogate pair".into(),
        LenientError::Grammar => "it is not valid JSON".into(),
    }
}
