//! Results of a run of the proxy other than findings: misses, denied requests, unused recordings, and
//! the proof of the fixture that it wrote.

use std::{borrow::Cow, collections::BTreeMap};

use contrail_exchange::{Difference, Near, plural::plural};
use contrail_redact::Redactor;
use serde::{Deserialize, Serialize};

use super::{Exit, Integrity};

/// Maximum different missed requests, and most different denied hosts, that are kept apart; more are only counted.
const MAX_APART: usize = 1000;

/// The result of a run besides findings. Empty for a command that only reads files.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // each gate is one of its own
pub struct Run {
    misses: BTreeMap<(Option<String>, String, Cow<'static, str>), Missed>,
    /// Misses beyond [`MAX_APART`] different requests.
    pub further_misses: u64,
    denied: BTreeMap<(String, String), u64>,
    /// They make the run fail.
    pub denied_fails: bool,
    /// Denied requests beyond [`MAX_APART`] different hosts.
    pub further_denied: u64,
    /// Unused recorded exchanges make the run fail.
    pub unused_fails: bool,
    /// Recorded exchanges that no request used; `None` where no recording is served.
    pub unused: Option<Vec<Unused>>,
    /// The sessions, with `--sessions`: the name and the number of requests of each.
    pub sessions: Vec<(String, usize)>,
    /// Stale recorded exchanges make the run fail.
    pub stale_fails: bool,
    /// Recorded exchanges that do not fit the contract any more.
    pub stale: Vec<Stale>,
    /// Why the age of a recording makes the run fail, if it does.
    pub too_old: Option<String>,
    /// The proof of the fixture that was written, if one was.
    pub proof: Option<Proof>,
    /// Trails whose hash chain was checked.
    pub integrity: Vec<Integrity>,
    /// Exchanges that a trail or journal could not record make the run fail.
    pub unrecorded_fails: bool,
    /// Known secrets that were evicted, whose later copies may have been missed.
    pub evicted: u64,
    /// The exit status, as soon as it is known.
    pub exit: Option<Exit>,
}

impl Run {
    /// What it means that secrets were evicted, if some were.
    pub(super) fn evicted_in_words(&self) -> Option<String> {
        let were = if self.evicted == 1 { "was" } else { "were" };
        let secrets = plural(self.evicted, "secret");
        let rest = "evicted (--max-secrets); later copies were found only by field, header or format";
        (self.evicted > 0).then(|| format!("{secrets} {were} {rest}"))
    }
}

/// A request that no recording answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Why, as a word: `unknown`, `exhausted`, `unfit` or `empty`.
    pub reason: &'static str,
    /// Method and target, without the origin.
    pub request: String,
    /// What happened and what to do, for people.
    pub detail: String,
    /// Recorded exchanges that come near, the nearest first.
    pub nearest: Vec<Near>,
    /// The session that asked, with `--sessions`.
    pub session: Option<String>,
}

/// A missed request, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Method and target, without the origin.
    pub request: String,
    /// The documented operation, if there is one.
    pub operation: Option<String>,
    /// Why, as a word.
    pub reason: Cow<'static, str>,
    /// How often.
    pub count: u64,
    /// What happened and what to do, for people.
    pub detail: String,
    /// Recorded exchanges that come near, the nearest first.
    pub nearest: Vec<Near>,
    /// The session that asked, with `--sessions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Missed {
    /// Its request, with its session before it if it has one: `[a] GET /b`.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        match &self.session {
            Some(session) => format!("[{session}] {}", self.request).into(),
            None => Cow::Borrowed(&self.request),
        }
    }

    /// The recorded exchanges that come near, one line each.
    pub fn near(&self) -> impl Iterator<Item = String> {
        self.nearest.iter().map(|near| {
            let differences: Vec<String> = near.differences.iter().map(Difference::in_words).collect();
            let colon = if differences.is_empty() { "" } else { ": " };
            format!("near: {}, {}{colon}{}", near.entry, near.request, differences.join("; "))
        })
    }
}

/// A host that the forward proxy denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Denied<'a> {
    /// Host and port.
    pub host: &'a str,
    /// Why, as the value of `Contrail-Answer`.
    pub reason: &'a str,
    /// How many requests.
    pub count: u64,
}

/// A recorded exchange that no request used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unused {
    /// The fixture and the entry's index in it.
    pub entry: String,
    /// Method and target, without the origin.
    pub request: String,
    /// The session whose fixture holds it, with `--sessions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A recorded exchange that does not fit the contract any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    /// The fixture and the entry's index in it.
    pub entry: String,
    /// Method and target, without the origin.
    pub request: String,
    /// What the contract holds against it.
    pub why: String,
    /// Its operation is gone; otherwise it has a finding that fails.
    #[serde(skip)]
    pub is_gone: bool,
}

/// The result of a fixture's proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// It passed.
    pub good: bool,
    /// What is wrong with the fixture, one sentence each.
    pub problems: Vec<String>,
    /// A note on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The problems are secrets, for which the fixture was not written.
    #[serde(skip)]
    pub holds_secrets: bool,
}

impl Proof {
    /// What a proof that failed says.
    #[must_use]
    pub fn failure(&self) -> &'static str {
        if self.holds_secrets {
            "the fixture would hold a secret, and was not written"
        } else {
            "the fixture does not give back what was recorded"
        }
    }
}

impl From<(String, String)> for Unused {
    /// Its place and its request, of no session.
    fn from((entry, request): (String, String)) -> Self {
        Self { entry, request, session: None }
    }
}

impl Unused {
    /// Its place and request: `a.har entry 3: GET /b`.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{}: {}", self.entry, self.request)
    }
}

impl Run {
    pub(super) fn miss(&mut self, miss: &Miss, operation: Option<&str>) {
        let Miss { reason, request, detail, nearest, session } = miss.clone();
        let operation = operation.map(str::to_owned);
        self.add_misses(Missed { request, operation, reason: reason.into(), count: 1, detail, nearest, session });
    }

    pub(super) fn deny(&mut self, host: &str, reason: &str, times: u64) {
        let room = self.denied.len() < MAX_APART;
        match self.denied.get_mut(&(host.to_owned(), reason.to_owned())) {
            Some(count) => *count += times,
            None if room => {
                self.denied.insert((host.to_owned(), reason.to_owned()), times);
            }
            None => self.further_denied += times,
        }
    }

    /// Adds missed requests of another run.
    pub(super) fn add_misses(&mut self, missed: Missed) {
        let room = self.misses.len() < MAX_APART;
        let key = (missed.session.clone(), missed.request.clone(), missed.reason.clone());
        match self.misses.get_mut(&key) {
            Some(held) => held.count += missed.count,
            None if room => {
                self.misses.insert(key, missed);
            }
            None => self.further_misses += missed.count,
        }
    }

    /// Whether a trail was altered.
    #[must_use]
    pub fn altered(&self) -> bool {
        self.integrity.iter().any(|one| one.broken.is_some())
    }

    /// How many exchanges the trails and journals could not record.
    #[must_use]
    pub fn unrecorded(&self) -> u64 {
        self.integrity.iter().map(Integrity::count_of_unrecorded).sum()
    }

    /// The missed requests, sorted.
    pub fn misses(&self) -> impl ExactSizeIterator<Item = &Missed> {
        self.misses.values()
    }

    /// How many requests were missed.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.misses().map(|missed| missed.count).sum::<u64>() + self.further_misses
    }

    /// Recorded exchanges that no request used.
    pub fn unused(&self) -> impl ExactSizeIterator<Item = &Unused> {
        self.unused.as_deref().unwrap_or_default().iter()
    }

    /// How many requests were denied.
    #[must_use]
    pub fn denials(&self) -> u64 {
        self.denied().map(|denied| denied.count).sum::<u64>() + self.further_denied
    }

    /// The denied hosts, sorted.
    pub fn denied(&self) -> impl ExactSizeIterator<Item = Denied<'_>> {
        self.denied.iter().map(|((host, reason), count)| Denied { host, reason, count: *count })
    }

    /// Takes out secrets that were recognised later.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        let clean = |text: &mut String| {
            let redacted = redactor.text(text);
            if *redacted != *text {
                *text = redacted.into_inner();
            }
        };
        for missed in self.misses.values_mut() {
            clean(&mut missed.request);
            clean(&mut missed.detail);
            for near in &mut missed.nearest {
                clean(&mut near.request);
                for difference in &mut near.differences {
                    clean(&mut difference.place);
                    [&mut difference.yours, &mut difference.fixture, &mut difference.option]
                        .into_iter()
                        .flatten()
                        .for_each(clean);
                }
            }
        }
        for ((mut host, reason), count) in std::mem::take(&mut self.denied) {
            clean(&mut host);
            *self.denied.entry((host, reason)).or_default() += count;
        }
        self.unused.iter_mut().flatten().for_each(|unused| clean(&mut unused.request));
        self.stale.iter_mut().flat_map(|stale| [&mut stale.request, &mut stale.why]).for_each(clean);
        self.proof.iter_mut().flat_map(|proof| &mut proof.problems).for_each(clean);
        self.exit.iter_mut().flat_map(|exit| &mut exit.reasons).for_each(|reason| clean(&mut reason.detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_misses_or_is_denied_everywhere_fills_no_memory_and_every_time_is_counted() {
        let mut run = Run::default();
        for at in 0..3 * MAX_APART {
            let miss = Miss {
                reason: "unknown",
                request: format!("GET /{at}"),
                detail: String::new(),
                nearest: Vec::new(),
                session: None,
            };
            run.miss(&miss, None);
            run.miss(&miss, None);
            run.deny(&format!("host-{at}:443"), "tunnel-denied", 1);
        }
        assert_eq!((run.misses().len(), run.denied().len()), (MAX_APART, MAX_APART));
        let many = 3 * MAX_APART as u64;
        assert_eq!(run.misses().map(|missed| missed.count).sum::<u64>() + run.further_misses, 2 * many);
        assert_eq!(run.denied().map(|denied| denied.count).sum::<u64>() + run.further_denied, many);
    }
}
