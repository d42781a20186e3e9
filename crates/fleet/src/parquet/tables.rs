//! The three tables, filled row by row.

use std::{
    collections::{BTreeMap, HashSet},
    io::Write,
};

use serde::Serialize;

use super::{
    row::{Finding, Row, Token},
    schema::TABLES,
    writer::{Cell, GroupLimits, Table, TableError},
};

/// Maximum tokens that are remembered; beyond it, all are forgotten, and a token can have a second row.
const MAX_TOKENS: usize = 1_000_000;

/// Microseconds.
const SECOND: i64 = 1_000_000;

/// The tables that are being written.
pub struct Tables<W: Write + Send> {
    exchanges: Table<W>,
    findings: Table<W>,
    tokens: Table<W>,
    seen: HashSet<u128>,
    counts: Counts,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Exchanges.
    pub exchanges: u64,
    /// They by their verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Findings by their rule.
    pub rules: BTreeMap<String, u64>,
    /// What was not checked, by its aspect.
    pub unchecked: BTreeMap<String, u64>,
}

impl<W: Write + Send> Tables<W> {
    /// Tables that are written to these, in the order of [`TABLES`]; their files state these facts of themselves.
    ///
    /// # Errors
    ///
    /// Those of a writer.
    pub fn new(to: [W; 3], facts: &[(&str, String)], limits: GroupLimits) -> Result<Self, TableError> {
        let [exchanges, findings, tokens] = to;
        let table = |to, at: usize| Table::new(to, TABLES[at].1, facts, limits);
        Ok(Self {
            exchanges: table(exchanges, 0)?,
            findings: table(findings, 1)?,
            tokens: table(tokens, 2)?,
            seen: HashSet::new(),
            counts: Counts::default(),
        })
    }

    /// Adds an exchange.
    ///
    /// # Errors
    ///
    /// Those of the writers.
    pub fn add(&mut self, row: &Row) -> Result<(), TableError> {
        self.counts.exchanges += 1;
        count(&mut self.counts.verdicts, &row.verdict);
        self.exchanges.row(&exchange(row))?;
        for finding in &row.findings {
            match (&finding.rule, &finding.aspect) {
                (Some(rule), _) => count(&mut self.counts.rules, rule),
                (None, Some(aspect)) => count(&mut self.counts.unchecked, aspect),
                (None, None) => {}
            }
            self.findings.row(&self::finding(row, finding))?;
        }
        let Some(token) = &row.token else { return Ok(()) };
        if self.seen.len() >= MAX_TOKENS {
            self.seen.clear();
        }
        // A key is so many hexadecimal digits.
        if self.seen.insert(u128::from_str_radix(&token.key, 16).unwrap_or_default()) {
            self.tokens.row(&self::token(row, token))?;
        }
        Ok(())
    }

    /// What was added so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Ends the tables; rows, row groups and writer of each, in the order of [`TABLES`].
    ///
    /// # Errors
    ///
    /// Those of the writers.
    pub fn finish(self) -> Result<[(u64, u64, W); 3], TableError> {
        Ok([self.exchanges.finish()?, self.findings.finish()?, self.tokens.finish()?])
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => _ = counts.insert(name.to_owned(), 1),
    }
}

fn exchange(row: &Row) -> [Cell<'_>; 25] {
    [
        row.trail.as_deref().into(),
        (&*row.source).into(),
        row.entry.into(),
        row.line.into(),
        row.started.into(),
        row.duration.into(),
        row.wait.into(),
        (&*row.method).into(),
        (&*row.origin).into(),
        (&*row.path).into(),
        (&row.query).into(),
        row.operation.as_deref().into(),
        row.status.into(),
        (&*row.verdict).into(),
        (&row.blame).into(),
        (&*row.caller).into(),
        (&row.client).into(),
        (&*row.credential).into(),
        row.token.as_ref().map(|token| &*token.key).into(),
        (&row.token_time).into(),
        (&row.signature).into(),
        row.required_scopes.as_deref().into(),
        row.request_bytes.into(),
        row.response_bytes.into(),
        (&row.answered).into(),
    ]
}

fn finding<'a>(row: &'a Row, finding: &'a Finding) -> [Cell<'a>; 11] {
    [
        row.trail.as_deref().into(),
        (&*row.source).into(),
        row.entry.into(),
        row.started.into(),
        row.operation.as_deref().into(),
        (&*row.caller).into(),
        (&*finding.kind).into(),
        (&finding.rule).into(),
        (&finding.aspect).into(),
        (&finding.place).into(),
        (&finding.message).into(),
    ]
}

fn token<'a>(row: &'a Row, token: &'a Token) -> [Cell<'a>; 12] {
    let instant = |seconds: Option<i64>| seconds.and_then(|seconds| seconds.checked_mul(SECOND)).into();
    [
        (&*token.key).into(),
        (&token.client).into(),
        token.scopes.as_deref().into(),
        (&token.issuer).into(),
        Some(&*token.audience).into(),
        instant(token.issued_at),
        instant(token.not_before),
        instant(token.expires_at),
        token.lifetime.into(),
        row.trail.as_deref().into(),
        (&*row.source).into(),
        row.entry.into(),
    ]
}
