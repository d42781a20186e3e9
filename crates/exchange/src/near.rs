//! What was recorded and comes near a request that no recording answers: replay finds it, answers and reports show it.

use serde::{Deserialize, Serialize};

/// A recorded exchange that comes near.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Where, in words: query parameter `take`.
    pub place: String,
    /// What the request has there; `None` if nothing.
    #[serde(rename = "yourRequest")]
    pub yours: Option<String>,
    /// What the recorded request has there; `None` if nothing.
    pub fixture: Option<String>,
    /// The option under which the place would not count.
    pub option: Option<String>,
}

impl Difference {
    /// `path: your request has /a, the fixture /b`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        format!("{}: your request has {}, the fixture {}", self.place, shown(&self.yours), shown(&self.fixture))
    }
}
