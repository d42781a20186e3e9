//! A request that no recording answers, as data: replay says why, reports and consoles show it.

/// Why nothing is served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing was recorded at all.
    Empty,
    /// No recorded request is the same.
    Unknown,
    /// No recorded request is the same, and an upstream cannot be asked: a label stands there for a secret.
    Labelled {
        /// Where in the request.
        place: String,
    },
    /// Every recorded answer was given; the last of them, and how many there are.
    Exhausted {
        /// The last one's place.
        last: String,
        /// How many were recorded for this caller.
        recorded: usize,
    },
    /// The recorded answer cannot be served, and why.
    Unservable {
        /// Its place.
        entry: String,
        /// Why, as a clause.
        why: String,
        /// What helps, as sentences.
        advice: &'static str,
    },
}

/// A request without an answer. Holds no secret if the request was redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Why.
    pub reason: Reason,
    /// What was asked: method and target, without the origin.
    pub asked: String,
    /// Recorded exchanges that come near, the nearest first.
    pub nearest: Vec<Near>,
}

/// A recorded exchange that comes near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The fixture and the entry's index in it.
    pub entry: String,
    /// Method and target, without the origin.
    pub request: String,
    /// The recorded status; 0 if there is none.
    pub status: u16,
    /// Every difference.
    pub differences: Vec<Difference>,
}

/// One place at which a request differs from a recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where, in words: query parameter `take`.
    pub place: String,
    /// What the request has there; `None` if nothing.
    pub yours: Option<String>,
    /// What the recorded request has there; `None` if nothing.
    pub fixture: Option<String>,
    /// The option under which the place would not count.
    pub option: Option<String>,
}
