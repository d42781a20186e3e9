//! Bodies: what was kept, and what is known about the rest.

use bytes::Bytes;

/// One message body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// The kept bytes. After [`Body::decode`] (or from a file) the content coding is gone.
    pub content: Bytes,
    /// Whether `content` is all of it.
    pub presence: Presence,
    /// Bytes on the wire, content coding included; `None` where nobody counted.
    pub wire_size: Option<u64>,
    /// Places whose values were replaced by labels.
    pub redacted: Vec<Place>,
}

/// How much of a body is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Presence {
    /// All of it (an absent body is whole and empty).
    #[default]
    Whole,
    /// Only the first `kept` bytes of `total` (`None`: nobody knows how many).
    Truncated {
        /// Bytes that were kept, before any decoding.
        kept: u64,
        /// Bytes that there were on the wire.
        total: Option<u64>,
    },
    /// There was a body, and it is not here.
    Withheld(Withheld),
}

/// Why a body is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// Its type calls for parsing and it does not parse, so nobody can say what secrets it holds.
    Unparsable,
    /// Its content coding could not be undone (unknown, broken, or beyond the limits).
    Undecodable,
    /// The file was saved without it.
    NotSaved,
    /// Another reason, in words, from a file.
    Other(String),
}

impl Withheld {
    /// The word in files.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unparsable => "unparsable",
            Self::Undecodable => "undecodable",
            Self::NotSaved => "not-saved",
            Self::Other(reason) => reason,
        }
    }

    /// The reason of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "unparsable" => Self::Unparsable,
            "undecodable" => Self::Undecodable,
            "not-saved" => Self::NotSaved,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A place inside a body whose value was replaced by a label: a JSON pointer (RFC 6901); for forms and multipart
/// bodies `/name` of the field (escaped as in a pointer); the empty string for the body as a whole.
pub type Place = String;

/// Bounds for undoing a content coding.
#[derive(Debug, Clone, Copy)]
pub struct DecodeLimits {
    /// Most bytes that decoding may give.
    pub bytes: usize,
    /// Most bytes out per byte in (above a small floor).
    pub ratio: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { bytes: 16 << 20, ratio: 1000 }
    }
}

impl Body {
    /// A whole body of these bytes.
    pub fn whole(content: impl Into<Bytes>) -> Self {
        let content = content.into();
        Self { wire_size: Some(content.len() as u64), content, presence: Presence::Whole, redacted: Vec::new() }
    }

    /// A body that is not here.
    #[must_use]
    pub fn withheld(reason: Withheld, wire_size: Option<u64>) -> Self {
        Self { content: Bytes::new(), presence: Presence::Withheld(reason), wire_size, redacted: Vec::new() }
    }

    /// Whether all of it is here.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.presence == Presence::Whole
    }

    /// Whether there is no body at all (not: whether it is withheld).
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.is_whole() && self.content.is_empty()
    }
}
