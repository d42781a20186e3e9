//! What every tool's recording becomes before it is folded: the entries of a HAR file, and the count of what was lost.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contrail_exchange::plural::plural;
use serde_json::{Value, json};

/// One recording of another tool.
#[derive(Debug, Default)]
pub(super) struct Cassette {
    pub(super) exchanges: Vec<Seen>,
    pub(super) losses: Losses,
}

/// An exchange as another tool saw it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) sent: Message,
    pub(super) status: u16,
    /// `HTTP/1.1`, where the tool states it.
    pub(super) version: String,
    pub(super) received: Message,
}

/// The headers and the body of one side.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) headers: Vec<(String, String)>,
    /// `None` where the tool does not know it, or takes any.
    pub(super) body: Option<Vec<u8>>,
}

/// What a fixture cannot hold, counted.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Exchanges that were left out, by the reason.
    exchanges: BTreeMap<&'static str, usize>,
    /// Parts of exchanges, by their name in the singular.
    parts: BTreeMap<&'static str, usize>,
}

impl Losses {
    /// Counts an exchange that is left out because of this.
    pub(super) fn exchange(&mut self, reason: &'static str) {
        *self.exchanges.entry(reason).or_default() += 1;
    }

    /// Counts a part of an exchange; `part` is one of them.
    pub(super) fn part(&mut self, part: &'static str) {
        *self.parts.entry(part).or_default() += 1;
    }

    pub(super) fn add(&mut self, more: Self) {
        for (counts, more) in [(&mut self.exchanges, more.exchanges), (&mut self.parts, more.parts)] {
            for (what, count) in more {
                *counts.entry(what).or_default() += count;
            }
        }
    }

    /// How many exchanges were left out.
    pub(super) fn exchanges(&self) -> usize {
        self.exchanges.values().sum()
    }

    /// `3 exchanges (2 with a pattern as URL, 1 with a fault), 2 delays`; empty where nothing was lost.
    pub(super) fn in_words(&self) -> String {
        let mut words = Vec::new();
        if self.exchanges() > 0 {
            let reasons: Vec<String> = self.exchanges.iter().map(|(why, count)| format!("{count} {why}")).collect();
            words.push(format!("{} ({})", plural(self.exchanges(), "exchange"), reasons.join(", ")));
        }
        words.extend(self.parts.iter().map(|(part, count)| plural(*count, part)));
        words.join(", ")
    }
}

impl Cassette {
    /// Adds an exchange, or counts why it is lost.
    pub(super) fn add(&mut self, exchange: Result<Seen, &'static str>) {
        let host = |url: &str| {
            url.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.starts_with(['/', ':']))
        };
        match exchange {
            Ok(seen) if !host(&seen.url) => self.losses.exchange("without a host"),
            Ok(seen) if http::Method::from_bytes(seen.method.as_bytes()).is_err() => {
                self.losses.exchange("without a method");
            }
            Ok(seen) => self.exchanges.push(seen),
            Err(reason) => self.losses.exchange(reason),
        }
    }

    /// The recording as a HAR file.
    pub(super) fn har(&self, tool: &str) -> Bytes {
        let entries: Vec<Value> = self.exchanges.iter().map(Seen::entry).collect();
        json!({"log": {"version": "1.2", "creator": {"name": tool, "version": ""}, "entries": entries}})
            .to_string()
            .into()
    }
}

impl Seen {
    /// Bodies are base64, so that they stay as they are; the reader of HAR undoes a content coding by their bytes.
    fn entry(&self) -> Value {
        let Self { method, url, sent, status, version, received } = self;
        let mut request =
            json!({"method": method, "url": url, "httpVersion": "", "headers": sent.fields(), "bodySize": -1});
        match &sent.body {
            Some(body) if body.is_empty() => request["bodySize"] = json!(0),
            Some(body) => request["postData"] = json!({"text": STANDARD.encode(body), "encoding": "base64"}),
            None if matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE") => {}
            // There was one, or may have been: it matches any.
            None => {
                if let Some(fields) = request["headers"].as_array_mut() {
                    fields.push(field("transfer-encoding", "chunked"));
                }
            }
        }
        let body = received.body.as_deref().unwrap_or_default();
        let content = json!({"size": body.len(), "text": STANDARD.encode(body), "encoding": "base64"});
        let response =
            json!({"status": status, "httpVersion": version, "headers": received.fields(), "content": content});
        // Tokens are judged at the time of the answer.
        let date = received.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"));
        let started = date.and_then(|(_, date)| jiff::fmt::rfc2822::parse(date).ok()).map(|date| date.timestamp());
        json!({"startedDateTime": started.map(|at| at.to_string()), "request": request, "response": response})
    }
}

impl Message {
    fn fields(&self) -> Value {
        self.headers.iter().map(|(name, value)| field(name, value)).collect()
    }
}

fn field(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// A text, or a number or a Boolean as it is spelled.
pub(super) fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        _ => None,
    }
}

/// A count that may stand as a text.
pub(super) fn status(value: &Value) -> Option<u16> {
    text(value)?.trim().parse().ok().filter(|status| (100..=999).contains(status))
}

/// Bytes in base64, with or without line ends.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(text).ok()
}

/// Header fields in any shape that a tool writes: an object of values or of lists of them, a flat list of names and
/// values, a list of pairs, or one of lines.
pub(super) fn headers(value: &Value) -> Vec<(String, String)> {
    let field = |name: &str, value: &Value| text(value).map(|value| (name.to_owned(), value.into_owned()));
    let values = |name: &str, value: &Value| -> Vec<(String, String)> {
        match value {
            Value::Array(values) => values.iter().filter_map(|value| field(name, value)).collect(),
            value => field(name, value).into_iter().collect(),
        }
    };
    match value {
        Value::Object(members) => members.iter().flat_map(|(name, value)| values(name, value)).collect(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let pairs = items.chunks_exact(2);
            pairs.filter_map(|pair| field(pair[0].as_str()?, &pair[1])).collect()
        }
        Value::Array(items) => items.iter().filter_map(|pair| field(pair.get(0)?.as_str()?, pair.get(1)?)).collect(),
        _ => Vec::new(),
    }
}

/// The value of the first header of this name.
pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(held, _)| held.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
