//! The error of a lenient reading.

use crate::json::Kind;

/// Why text is not the value that was asked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LenientError(Box<(LenientFault, String)>);

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LenientFault {
    /// It ends in the middle.
    Cut,
    /// It is not JSON.
    Grammar,
    /// A string that is asked for as text holds half of a surrogate pair.
    Surrogate,
    /// It is another value: a member is missing, a number is out of range, or the type is another one (found, expected).
    Shape(Option<(Kind, Kind)>),
    /// A member that is read has this name twice.
    Duplicate(&'static str),
}

impl LenientError {
    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> LenientFault {
        self.0.0
    }

    /// Where: the names of the members that lead there, a dot between them; `*` stands for any item of an array.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.0.1
    }

    /// The same error in what holds the value: its member of this name, or `*`.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        let place = &mut self.0.1;
        *place = if place.is_empty() { name.to_owned() } else { format!("{name}.{place}") };
        self
    }
}

impl From<LenientFault> for LenientError {
    #[cold]
    fn from(fault: LenientFault) -> Self {
        Self(Box::new((fault, String::new())))
    }
}
