//! What is held in memory of each exchange: enough for its row, and for most filters.

use std::time::{Duration, SystemTime};

use contrail_exchange::{
    Credential, TokenTime,
    finding::{Blame, Kind, Rule, UncheckedSet},
};
use contrail_redact::JudgedExchange;
use serde_json::{Value, json};

use super::{
    kept::Place,
    names::{Name, Names},
};

/// Words for the result of an exchange, in the order of [`Summary::verdict`].
pub(crate) const VERDICTS: [&str; 5] = ["conforms", "gap", "violates", "miss", "unjudged"];

/// A fact about an exchange that a row shows as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A body was cut, or the exchange did not come to its end.
    Cut = 1,
    /// Redaction replaced something.
    Redacted = 2,
    /// contrail answered itself.
    ByContrail = 4,
    /// It was sent again.
    Retried = 8,
    /// The client left before its end.
    Left = 16,
}

impl Mark {
    /// Every one, with its words.
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Cut, "cut"),
        (Self::Redacted, "redacted"),
        (Self::ByContrail, "by contrail"),
        (Self::Retried, "retried"),
        (Self::Left, "client left"),
    ];
}

/// What became of an exchange between two recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Only the new recording has it.
    Added,
    /// Only the old one has it.
    Removed,
    /// Both have it, and it differs.
    Changed,
    /// Both have it.
    Same,
    /// It is in the old recording, and stands beside the one of the new recording; no list has it.
    Old,
}

impl State {
    /// Those that a row may have, with their words.
    pub(crate) const ALL: [(Self, &'static str); 4] =
        [(Self::Added, "added"), (Self::Removed, "removed"), (Self::Changed, "changed"), (Self::Same, "same")];

    /// Its word, where a list has it.
    pub(crate) fn name(self) -> Option<&'static str> {
        Self::ALL.into_iter().find(|(state, _)| *state == self).map(|(_, word)| word)
    }
}

/// An exchange of one of two recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beside {
    pub(crate) state: State,
    /// The number of the exchange that it stands beside.
    pub(crate) partner: Option<u32>,
}

/// A finding, as a row and a filter need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) rule: Rule,
    pub(crate) at: Name,
}

/// One exchange.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) place: Option<Place>,
    /// Microseconds since the epoch.
    pub(crate) started: Option<i64>,
    /// Microseconds.
    pub(crate) took: Option<u32>,
    /// Microseconds.
    pub(crate) wait: Option<u32>,
    /// Bytes of the response's body, as they came.
    pub(crate) size: u64,
    /// The index in its source.
    pub(crate) entry: u32,
    pub(crate) source: Name,
    pub(crate) operation: Name,
    pub(crate) client: Name,
    pub(crate) host: Name,
    pub(crate) method: Name,
    /// The token's scopes, with spaces between them.
    pub(crate) scopes: Name,
    /// Path and query.
    pub(crate) path: Box<str>,
    /// 0 where no response came.
    pub(crate) status: u16,
    /// Secrets that were known when it was kept.
    pub(crate) known: u64,
    pub(crate) verdict: u8,
    pub(crate) marks: u8,
    pub(crate) blame: Option<Blame>,
    pub(crate) time: Option<TokenTime>,
    pub(crate) unchecked: UncheckedSet,
    pub(crate) findings: Box<[Seen]>,
}

/// Which exchange, and how it ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) source: &'a str,
    pub(crate) entry: usize,
    pub(crate) took: Option<Duration>,
    pub(crate) verdict: &'a str,
    pub(crate) known: u64,
}

/// The number of a verdict's word; of any other, that of `unjudged`.
fn number_of(word: &str) -> u8 {
    let at = VERDICTS.iter().position(|name| *name == word).unwrap_or(VERDICTS.len() - 1);
    u8::try_from(at).unwrap_or_default()
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// Microseconds since the epoch.
pub(crate) fn instant(at: SystemTime) -> i64 {
    let of = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => of(after),
        Err(before) => -of(before.duration()),
    }
}

/// An instant as text (RFC 3339, UTC).
pub(crate) fn rfc3339(micros: i64) -> Option<String> {
    jiff::Timestamp::from_microsecond(micros).ok().map(|at| at.to_string())
}

/// Milliseconds.
pub(crate) fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1000.0
}

impl Summary {
    /// Maximum bytes of a path that is held; a filter sees no more of it.
    const MAX_PATH: usize = 2 << 10;

    /// Path and query apart; the query is empty where there is none.
    pub(crate) fn divided(&self) -> (&str, &str) {
        self.path.split_once('?').unwrap_or((&self.path, ""))
    }

    pub(crate) fn new(judged: &JudgedExchange, about: About<'_>, place: Option<Place>, names: &mut Names) -> Self {
        let JudgedExchange { exchange, verdict, touched } = judged;
        let (request, response) = (&exchange.request, exchange.response.as_ref());
        let facts = request.credential.facts();
        let is_cut = exchange.transport.incomplete.is_some()
            || !request.body.is_whole()
            || response.is_some_and(|response| !response.body.is_whole());
        let is_redacted = touched.authorization
            || touched.elsewhere
            || !request.body.redacted.is_empty()
            || response.is_some_and(|response| !response.body.redacted.is_empty());
        let marks = [
            (Mark::Cut, is_cut),
            (Mark::Redacted, is_redacted),
            (Mark::ByContrail, exchange.transport.answered().is_some()),
            (Mark::Retried, exchange.transport.retried),
            (Mark::Left, exchange.transport.client_left),
        ];
        let scopes = facts.and_then(|facts| facts.scopes.as_ref()).map(|scopes| scopes.join(" "));
        let path = &*request.target.path_and_query;
        let client = match &request.credential {
            Credential::OtherScheme { user, .. } => user.as_deref(),
            _ => facts.and_then(|facts| facts.client.as_deref()),
        };
        let size = response.map_or(0, |response| response.body.wire_size.unwrap_or(response.body.content.len() as u64));
        Self {
            place,
            started: exchange.started.map(instant),
            took: about.took.map(micros),
            wait: exchange.timings.wait.map(micros),
            size,
            entry: u32::try_from(about.entry).unwrap_or(u32::MAX),
            source: names.number(about.source),
            operation: names.number_of(verdict.operation.as_deref()),
            client: names.number_of(client),
            host: names.number(&request.target.authority),
            method: names.number(request.method.as_str()),
            scopes: names.number_of(scopes.as_deref()),
            path: path[..path.floor_char_boundary(Self::MAX_PATH)].into(),
            status: response.map_or(0, |response| response.status),
            known: about.known,
            verdict: number_of(about.verdict),
            marks: marks.into_iter().filter(|(_, is)| *is).fold(0, |all, (mark, _)| all | mark as u8),
            blame: verdict.blame,
            time: facts.map(|facts| facts.time),
            unchecked: verdict.unchecked,
            findings: verdict
                .findings
                .iter()
                .map(|finding| Seen { rule: finding.rule, at: names.number(&finding.at) })
                .collect(),
        }
    }

    pub(crate) fn verdict_name(&self) -> &'static str {
        VERDICTS[usize::from(self.verdict)]
    }

    pub(crate) fn is_marked(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    /// The finding that a row shows: the first violation, or the first gap.
    pub(crate) fn worst(&self) -> Option<&Seen> {
        self.findings.iter().find(|seen| seen.rule.kind() == Kind::Violation).or(self.findings.first())
    }

    /// The exchange as a row of a list.
    pub(crate) fn row(&self, n: u32, names: &Names, is_slow: bool, clean: impl Fn(&str) -> String) -> Value {
        let name = |number| names.text(number).map(|text| clean(text));
        let finding = self.worst().map(|seen| {
            json!({"kind": seen.rule.kind().name(), "rule": seen.rule.id(), "at": name(seen.at).unwrap_or_default()})
        });
        let marks: Vec<&str> =
            Mark::ALL.into_iter().filter(|(mark, _)| self.is_marked(*mark)).map(|(_, word)| word).collect();
        json!({
            "n": n,
            "source": names.text(self.source).map(|text| &**text),
            "entry": self.entry,
            "verdict": self.verdict_name(),
            "method": name(self.method),
            "status": (self.status != 0).then_some(self.status),
            "operation": name(self.operation),
            "path": clean(&self.path),
            "finding": finding,
            "findings": self.findings.len(),
            "client": name(self.client),
            "took": self.took.map(millis),
            "slow": is_slow,
            "size": self.size,
            "started": self.started.and_then(rfc3339),
            "marks": marks,
        })
    }
}
