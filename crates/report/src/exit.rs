//! The exit status of a run, with each reason why it is not 0.

use contrail_exchange::plural::plural;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

/// The exit status of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// The status.
    pub status: u8,
    /// Why it is not 0. Where several reasons apply, the first ones decide.
    pub reasons: Vec<Reason>,
}

/// A reason why the exit status is not 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Which kind of reason, as a word.
    pub kind: &'static str,
    /// What happened, in a few words.
    pub what: String,
    /// The cause, where there is more to say.
    pub detail: String,
    /// Another part of the report shows it as a failure.
    pub shown: bool,
}

impl Exit {
    /// The reasons that no other part of a report shows.
    pub fn further(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| !reason.shown)
    }

    /// `Exit status 2`, and every reason for it, if no other part of a report shows one of them.
    pub(super) fn in_words(&self) -> Option<(String, String)> {
        self.further().next()?;
        let reasons: Vec<String> = self.reasons.iter().map(Reason::in_words).collect();
        Some((format!("Exit status {}", self.status), reasons.join("; ")))
    }
}

/// What a command could not read of its recordings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unread {
    /// Entries.
    pub entries: u64,
    /// Recordings that could not be read to their end.
    pub files: u64,
}

impl Unread {
    /// How many.
    #[must_use]
    pub fn count(self) -> u64 {
        self.entries + self.files
    }
}

impl Reason {
    /// One that no other part of a report shows.
    pub fn new(kind: &'static str, what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind, what: what.into(), detail: detail.into(), shown: false }
    }

    /// One that another part of a report shows, too.
    pub fn shown(kind: &'static str, what: impl Into<String>) -> Self {
        Self { shown: true, ..Self::new(kind, what, "") }
    }

    /// That a command did not read this; `None` if it read all.
    #[must_use]
    pub fn unreadable(unread: Unread) -> Option<Self> {
        let counts = [(unread.entries, "entry"), (unread.files, "recording")];
        let counts: Vec<String> =
            counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| plural(count, what)).collect();
        (!counts.is_empty()).then(|| Self::new("unreadable", format!("{} could not be read", counts.join(" and ")), ""))
    }

    /// The reason and its cause in one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        if self.detail.is_empty() { self.what.clone() } else { format!("{}: {}", self.what, self.detail) }
    }
}

impl Serialize for Exit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let because: Vec<String> = self.reasons.iter().map(Reason::in_words).collect();
        let mut members = serializer.serialize_struct("Exit", 2)?;
        members.serialize_field("status", &self.status)?;
        members.serialize_field("because", &because)?;
        members.end()
    }
}
