//! Which exchange a line of a report is about.

use std::{
    collections::HashMap,
    fmt,
    ops::Deref,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Miss, first::Dated};
use crate::{
    json,
    redact::{JudgedExchange, Redacted, Redactor},
};

/// The source of what goes through the proxy.
pub const LIVE: &str = "live";

/// One exchange as a report names it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExchangeRef<'a> {
    /// The file, as it was named; [`LIVE`] for what goes through the proxy.
    pub source: &'a str,
    /// Index in that file.
    pub entry: usize,
    /// Line in a journal.
    pub line: Option<usize>,
    /// Outside the contract's base path and no token request: another site in a browser's export.
    pub outside: bool,
    /// An exchange of a recording that is served, judged beside the live requests.
    pub recorded: bool,
    /// No recording answered it.
    pub miss: Option<&'a Miss>,
}

/// One exchange, as every report names it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Cited {
    /// The file, as it was named; `live` for what goes through the proxy.
    pub source: String,
    /// Index in that file.
    pub entry: usize,
    /// Line in a journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// When it started (RFC 3339); a fixture holds no instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The same, exactly.
    #[serde(skip)]
    pub at: Option<SystemTime>,
    /// The request's method.
    pub method: String,
    /// The request's URL.
    pub url: String,
    /// The response's status; 0 where none came.
    pub status: u16,
}

impl Cited {
    pub(super) fn new(place: ExchangeRef<'_>, judged: &Redacted<JudgedExchange>) -> Self {
        let exchange = &judged.exchange;
        Self {
            source: place.source.to_owned(),
            entry: place.entry,
            line: place.line,
            started: exchange.started.and_then(json::second),
            at: exchange.started,
            method: exchange.request.method.to_string(),
            url: exchange.request.target.to_string(),
            status: exchange.response.as_ref().map_or(0, |response| response.status),
        }
    }

    /// Whether it comes first: by the instants; in one file without them, by the index.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        match (self.at, other.at) {
            (Some(_), Some(_)) => other.is_after(self.at),
            _ => self.source == other.source && self.entry < other.entry,
        }
    }

    /// Whether another exchange, which is read later, started before it.
    pub(super) fn is_after(&self, started: Option<SystemTime>) -> bool {
        self.at.zip(started).is_some_and(|(at, started)| started < at)
    }

    /// `x.journal entry 3 (line 4, 2026-01-31T10:00:00Z)`: where it stands.
    #[must_use]
    pub fn place(&self) -> String {
        let line = self.line.map(|line| format!("line {line}"));
        let known: Vec<String> = line.into_iter().chain(self.started.clone()).collect();
        let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
        format!("{} entry {}{known}", self.source, self.entry)
    }

    /// Whether it is an exchange of a file: not one that goes through the proxy.
    pub(super) fn is_in_file(&self) -> bool {
        self.source != LIVE
    }

    /// Source, entry, line, instant, method, URL and status, as a table has them.
    pub(super) fn cells(&self) -> Vec<String> {
        vec![
            self.source.clone(),
            self.entry.to_string(),
            self.line.map(|line| line.to_string()).unwrap_or_default(),
            self.started.clone().unwrap_or_default(),
            self.method.clone(),
            self.url.clone(),
            self.status.to_string(),
        ]
    }

    /// Takes out secrets that were recognised later.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        let clean = redactor.text(&self.url);
        if *clean != *self.url {
            self.url = clean.into_inner();
        }
    }
}

impl Dated for Cited {
    fn at(&self) -> Option<SystemTime> {
        self.at
    }
}

/// A [`Cited`] that several lines share. A part of an audit holds it as a list, with the exact instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation(Arc<Cited>);

impl Citation {
    pub(super) fn new(place: ExchangeRef<'_>, judged: &Redacted<JudgedExchange>) -> Self {
        Self(Arc::new(Cited::new(place, judged)))
    }

    /// Takes out secrets that were recognised later.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        if *redactor.text(&self.0.url) != *self.0.url {
            Arc::make_mut(&mut self.0).redact(redactor);
        }
    }

    /// The same for one of several that stay shared: `clean` holds what became of those before.
    pub(super) fn redact_shared(&mut self, redactor: &Redactor, clean: &mut HashMap<*const Cited, Self>) {
        let shared = clean.entry(Arc::as_ptr(&self.0)).or_insert_with(|| {
            let mut one = self.clone();
            one.redact(redactor);
            one
        });
        *self = shared.clone();
    }
}

impl Deref for Citation {
    type Target = Cited;

    fn deref(&self) -> &Cited {
        &self.0
    }
}

impl Dated for Citation {
    fn at(&self) -> Option<SystemTime> {
        self.0.at
    }
}

impl Serialize for Citation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_part::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Citation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        in_part::deserialize(deserializer).map(|cited| Self(Arc::new(cited)))
    }
}

/// A cited exchange as a part of an audit holds it: `[source, entry, line, instant, method, URL, status]`.
mod in_part {
    use super::{Cited, Deserialize as _, Deserializer, Serialize as _, Serializer, Stamp};
    use crate::json;

    type List = (String, usize, Option<usize>, Option<Stamp>, String, String, u16);

    pub(super) fn serialize<S: Serializer>(cited: &Cited, serializer: S) -> Result<S::Ok, S::Error> {
        let Cited { source, entry, line, at, method, url, status, .. } = cited;
        (source, entry, line, at.map(Stamp), method, url, status).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cited, D::Error> {
        let (source, entry, line, at, method, url, status) = List::deserialize(deserializer)?;
        let at = at.map(|Stamp(at)| at);
        Ok(Cited { source, entry, line, started: at.and_then(json::second), at, method, url, status })
    }
}

/// An instant as a part of an audit holds it: nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(pub(super) SystemTime);

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nanos = |since: Duration| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
        let since = self.0.duration_since(SystemTime::UNIX_EPOCH);
        serializer.serialize_i128(since.map_or_else(|before| -nanos(before.duration()), nanos))
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanos = i128::deserialize(deserializer)?;
        let whole = u64::try_from(nanos.unsigned_abs() / 1_000_000_000).ok();
        let rest = u32::try_from(nanos.unsigned_abs() % 1_000_000_000).unwrap_or_default();
        let apart = whole.map(|whole| Duration::new(whole, rest));
        let epoch = SystemTime::UNIX_EPOCH;
        let at = apart.and_then(|apart| if nanos < 0 { epoch.checked_sub(apart) } else { epoch.checked_add(apart) });
        at.map(Self).ok_or_else(|| D::Error::custom("an instant out of range"))
    }
}

impl fmt::Display for Cited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {} -> ", self.place(), self.method, self.url)?;
        match self.status {
            0 => f.write_str("no answer"),
            status => write!(f, "{status}"),
        }
    }
}
