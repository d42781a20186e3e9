//! Exit statuses, and errors of commands.

/// The result of a command, for its exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Violations or differences (or gaps, where denied).
    pub findings: bool,
    /// Replay misses.
    pub misses: bool,
    /// The status of a wrapped command, if it is not 0; it takes precedence over contrail's own.
    pub command: Option<u8>,
    /// Part of the work failed; the message is printed already.
    pub failed: bool,
}

impl Outcome {
    /// Nothing wrong.
    pub const CLEAN: Self = Self { findings: false, misses: false, command: None, failed: false };

    /// The exit status.
    pub(super) fn status(self) -> u8 {
        match self {
            Self { command: Some(status), .. } => status,
            Self { failed: true, .. } => 2,
            Self { misses: true, .. } => 3,
            Self { findings: true, .. } => 1,
            _ => 0,
        }
    }
}

/// Why a command failed: printed as one line (causes joined by `: `), exit status 2.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
