//! A request that no recording answers, as data: replay says why, reports and consoles show it.

use std::sync::Arc;

use contrail_exchange::{Difference, Near, is_upstream_name};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::Problem;

/// The value of `Contrail-Answer` for a miss.
pub const MISS: &str = "replay-miss";

/// Why nothing is served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing was recorded at all.
    Empty,
    /// No recorded request is the same.
    Unknown,
    /// No recorded request is the same, and an upstream cannot be asked: it has a label or a token of replay's in place of a secret.
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
    /// The session that asked, with `--sessions`.
    pub session: Option<Arc<str>>,
}

impl Miss {
    /// What went wrong, in one sentence.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self.reason {
            Reason::Empty => "The fixture is empty.",
            Reason::Unknown | Reason::Labelled { .. } => "No recorded exchange matches this request.",
            Reason::Exhausted { .. } => "Every recorded answer to this request has been given.",
            Reason::Unservable { .. } => "The recorded answer to this request cannot be served.",
        }
    }

    /// What was asked, and what to do now.
    #[must_use]
    pub fn detail(&self) -> String {
        let asked = &self.asked;
        match &self.reason {
            Reason::Empty => {
                let of = self.session.as_ref().map(|name| format!(" for session `{name}`")).unwrap_or_default();
                format!("`{asked}` was asked, and nothing is recorded{of}. Record it with `contrail record`.")
            }
            Reason::Unknown => {
                let near = self.nearest.first();
                let how = match (&self.session, asked.split(' ').nth(1).filter(|word| is_upstream_name(word))) {
                    (None, Some(name)) => &*format!(
                        "with `contrail record --append`, or replay with `--record-missing --upstream {name}=URL`"
                    ),
                    (None, None) => "with `contrail record --append`, or replay with `--record-missing --upstream URL`",
                    (Some(_), _) => "with `contrail record --sessions DIR --append`",
                };
                let options: Vec<&str> = near
                    .into_iter()
                    .flat_map(|near| &near.differences)
                    .filter_map(|one| one.option.as_deref())
                    .collect();
                match near {
                    Some(near) if !options.is_empty() && options.len() == near.differences.len() => format!(
                        "`{asked}` was not recorded. The nearest is {} (`{}`); it would match with `{}`. \
                         Otherwise record this request with `contrail record --append`.",
                        near.entry,
                        near.request,
                        options.join(" ")
                    ),
                    Some(near) => format!(
                        "`{asked}` was not recorded. The nearest is {} (`{}`). Record this request {how}.",
                        near.entry, near.request
                    ),
                    None => format!("`{asked}` was not recorded, and nothing like it. Record it {how}."),
                }
            }
            Reason::Labelled { place } => format!(
                "`{asked}` was not recorded, and is not sent to the upstream: in its {place} stands what \
                 replay served in place of a secret. Record it with `contrail record --append`."
            ),
            Reason::Exhausted { last, recorded } => format!(
                "`{asked}` was recorded {recorded} time{} (last: {last}) and this request is one more. `--exhausted repeat` \
                 gives the last answer again, `--exhausted loop` starts over; or record more with `contrail record \
                 --append`.",
                if *recorded == 1 { "" } else { "s" }
            ),
            Reason::Unservable { entry, why, advice } => format!("`{asked}` matches {entry}, but {why}. {advice}"),
        }
    }

    /// The word for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.reason {
            Reason::Empty => "empty",
            Reason::Unknown | Reason::Labelled { .. } => "unknown",
            Reason::Exhausted { .. } => "exhausted",
            Reason::Unservable { .. } => "unfit",
        }
    }

    /// The 421 answer.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let nearest: Vec<Value> = self
            .nearest
            .iter()
            .map(|near| {
                let differences: Vec<Value> = near.differences.iter().map(difference).collect();
                json!({
                    "entry": near.entry,
                    "request": near.request,
                    "status": near.status,
                    "differences": differences,
                })
            })
            .collect();
        let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST, MISS, self.detail())
            .with("title", self.title())
            .with("reason", self.word())
            .with("request", self.asked.clone())
            .with("nearest", nearest);
        match &self.session {
            Some(session) => problem.with("session", &**session),
            None => problem,
        }
    }
}

fn difference(one: &Difference) -> Value {
    let mut object = Map::new();
    object.insert("place".to_owned(), one.place.clone().into());
    object.insert("your request".to_owned(), one.yours.clone().into());
    object.insert("fixture".to_owned(), one.fixture.clone().into());
    object.insert("option".to_owned(), one.option.clone().into());
    Value::Object(object)
}
