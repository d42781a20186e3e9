//! Exit statuses, and errors of commands.

use nix::sys::signal::Signal;

/// The result of a command, for its exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Violations or differences (or gaps, where denied).
    pub findings: bool,
    /// Replay misses.
    pub misses: bool,
    /// How a wrapped command failed, if it did; its status takes precedence over contrail's own.
    pub command: Option<CommandStatus>,
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

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandStatus {
    /// Its status, or 128 + n if signal n ended it.
    pub status: u8,
    /// The signal that ended it.
    pub signal: Option<Signal>,
    /// contrail got a signal while it ran.
    pub interrupted: bool,
}

impl CommandStatus {
    /// How it ended, in words.
    pub(super) fn in_words(self) -> String {
        match self.signal {
            Some(signal) => format!("the command was ended by signal {} ({signal})", signal as i32),
            None if self.status == 127 => {
                "the command ended with status 127, as a shell does where it finds no such command".to_owned()
            }
            None => format!("the command ended with status {}", self.status),
        }
    }
}

/// Why a command failed: printed as one line (causes joined by `: `), exit status 2.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
