//! One change, and what it means for a client.

use std::sync::Arc;

use crate::Operation;

/// What a change means for a client that conforms to the old contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impact {
    /// A request that conformed need not conform any more, or an answer need not be as before.
    Breaking,
    /// It depends on the client, or the two cannot be compared.
    Unclear,
    /// Requests that conformed still do, and every answer is one that the old contract allows.
    NonBreaking,
}

impl Impact {
    /// All, the worst first.
    pub const ALL: [Self; 3] = [Self::Breaking, Self::Unclear, Self::NonBreaking];

    /// Its name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Unclear => "unclear",
            Self::NonBreaking => "non-breaking",
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it means for a client.
    pub impact: Impact,
    /// What kind of change it is, such as `request-property-became-required`.
    pub kind: String,
    /// The operation, by its id in the new contract, or in the old one if it is gone; `None` for the whole document.
    pub operation: Option<Arc<str>>,
    /// Where: a parameter, a body, a place in it; empty for the operation as a whole.
    pub place: String,
    /// What was, and what is.
    pub message: String,
}

/// How the set of messages that conform changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It loses some.
    Narrower,
    /// It gains some.
    Wider,
    /// Both, so that each side is at a loss.
    Other,
    /// Undecidable.
    Unclear,
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Parameter,
    RequestBody,
    ResponseHeader,
    ResponseBody,
}

impl Role {
    /// Whether the client sends it.
    pub(super) fn is_sent(self) -> bool {
        matches!(self, Self::Parameter | Self::RequestBody)
    }

    /// The word that kinds of changes start with.
    pub(super) fn subject(self, nested: bool) -> &'static str {
        match (self, nested) {
            (Self::Parameter, _) => "request-parameter",
            (Self::RequestBody, false) => "request-body",
            (Self::RequestBody, true) => "request-property",
            (Self::ResponseHeader, _) => "response-header",
            (Self::ResponseBody, false) => "response-body",
            (Self::ResponseBody, true) => "response-property",
        }
    }

    /// A tenant may take more than before and send less, never the reverse.
    pub(super) fn impact(self, effect: Effect) -> Impact {
        match (effect, self.is_sent()) {
            (Effect::Unclear, _) => Impact::Unclear,
            (Effect::Narrower, false) | (Effect::Wider, true) => Impact::NonBreaking,
            _ => Impact::Breaking,
        }
    }
}

pub(super) fn change(
    operation: Option<&Operation>,
    impact: Impact,
    kind: &str,
    place: &str,
    message: impl Into<String>,
) -> Change {
    Change {
        impact,
        kind: kind.to_owned(),
        operation: operation.map(|operation| Arc::clone(&operation.id)),
        place: place.to_owned(),
        message: message.into(),
    }
}
