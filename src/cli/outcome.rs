//! Exit statuses, and errors of commands.

use super::wrap::Ended;

/// The result of a command, for its exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Violations or differences (or gaps, where denied).
    pub findings: bool,
    /// Replay misses.
    pub misses: bool,
    /// How a wrapped command failed, if it did; its status takes precedence over contrail's own.
    pub command: Option<Ended>,
    /// Part of the work failed; the message is printed already.
    pub failed: bool,
}

impl Outcome {
    /// Nothing wrong.
    pub const CLEAN: Self = Self { findings: false, misses: false, command: None, failed: false };

    /// The exit status.
    pub(super) fn status(self) -> u8 {
        match self {
            Self { command: Some(ended), .. } => ended.status,
            Self { failed: true, .. } => 2,
            Self { misses: true, .. } => 3,
            Self { findings: true, .. } => 1,
            _ => 0,
        }
    }
}

/// Why a command failed: printed as one line (causes joined by `: `), exit status 2.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
