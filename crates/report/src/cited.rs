//! Which exchange a line of a report is about.

use std::{collections::HashMap, fmt, ops::Deref, sync::Arc, time::SystemTime};

use contrail_exchange::json;
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde::Serialize;

use super::{Miss, first::Dated};

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

/// A [`Cited`] that several lines share.
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

impl fmt::Display for Cited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {} -> ", self.place(), self.method, self.url)?;
        match self.status {
            0 => f.write_str("no answer"),
            status => write!(f, "{status}"),
        }
    }
}
