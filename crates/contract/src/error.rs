//! Why a contract could not be used: always the file or the place in it, and what to do.

use std::{fmt, io, path::PathBuf};

use super::UnusablePlace;

/// Why a document could not become a [`Contract`](super::Contract).
#[derive(Debug)]
#[non_exhaustive]
pub enum ContractError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is neither JSON nor YAML.
    Syntax {
        /// The file.
        file: PathBuf,
        /// `JSON` or `YAML`: what it was read as.
        language: &'static str,
        /// What is wrong, and where.
        reason: String,
    },
    /// The document is no OpenAPI document of a version that is known here.
    NotOpenApi {
        /// What `openapi` says, or that it is missing.
        found: String,
    },
    /// A `$ref` names something that the document does not hold.
    DanglingRef {
        /// JSON pointer to the object with the `$ref`.
        at: String,
        /// What it names.
        target: String,
    },
    /// Something in the document is not what OpenAPI says that it has to be.
    Invalid {
        /// JSON pointer to it.
        at: String,
        /// What is wrong.
        reason: String,
    },
    /// The document of this file is unusable.
    In {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        error: Box<ContractError>,
    },
    /// `none` beside another document, or with an overlay.
    NoneBesideOthers,
    /// An overlay is no overlay, or one of its actions cannot be carried out.
    Overlay {
        /// The overlay's file.
        file: PathBuf,
        /// Which action, counted from 1; `None` where the overlay as a whole is unusable.
        action: Option<usize>,
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneBesideOthers => f.write_str(
                "--contract none goes with no other --contract and with no --overlay; leave one of them out",
            ),
            Self::Unreadable { file, .. } => write!(f, "cannot read `{}`", file.display()),
            Self::Syntax { file, language, reason } => {
                write!(f, "`{}` is not valid {language}: {reason}", file.display())
            }
            Self::NotOpenApi { found } => {
                write!(f, "not an OpenAPI document that contrail can use: {found}; contrail takes OpenAPI 3.0 to 3.2")
            }
            Self::In { file, error } => write!(f, "`{}`: {error}", file.display()),
            Self::DanglingRef { at, target } if !target.starts_with('#') => {
                write!(f, "`{at}` refers to `{target}`, which is not a place in the document or in a file beside it")
            }
            Self::DanglingRef { at, target } => {
                write!(f, "`{at}` refers to `{target}`, which the document does not define")
            }
            Self::Invalid { at, reason } => write!(f, "the contract is unusable at `{at}`: {reason}"),
            Self::Overlay { file, action: None, reason } => {
                write!(f, "the overlay `{}` is unusable: {reason}", file.display())
            }
            Self::Overlay { file, action: Some(action), reason } => {
                write!(f, "the overlay `{}` is unusable: action {action}: {reason}", file.display())
            }
        }
    }
}

impl ContractError {
    /// The place in the document that is unusable, with the reason; `None` where the document is unusable as a whole.
    pub(super) fn place(self) -> Option<UnusablePlace> {
        match self {
            Self::Invalid { at, reason } => Some(UnusablePlace { at, reason }),
            Self::DanglingRef { at, target } => Some(UnusablePlace::dangling(&at, &target)),
            _ => None,
        }
    }
}

impl std::error::Error for ContractError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::In { error, .. } => error.source(),
            _ => None,
        }
    }
}

/// A place that is unusable, before it is known which file it stands in.
pub(super) fn invalid(at: &str, reason: impl Into<String>) -> ContractError {
    ContractError::Invalid { at: if at.is_empty() { "/".to_owned() } else { at.to_owned() }, reason: reason.into() }
}
