//! Which exchanges of recordings count.

use std::time::{Duration, SystemTime};

use contrail_contract::Contract;
use contrail_exchange::finding::UNDOCUMENTED;
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::audit::name_of;

use super::values::instant;

/// Which exchanges of recordings count
#[derive(Debug, Clone, clap::Args)]
pub struct SelectionArgs {
    /// Leave out exchanges before this instant, such as `2026-01-31` (UTC) or `2026-01-31T10:00:00Z`
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    since: Option<SystemTime>,
    /// Leave out exchanges at this instant or later
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    until: Option<SystemTime>,
    /// Only this client, as the audit names it; repeatable
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
    /// Only this operation, or `undocumented`; repeatable
    #[arg(long, value_name = "OPERATION")]
    operation: Vec<String>,
}

impl SelectionArgs {
    /// Refuses an operation that the contract does not have.
    ///
    /// # Errors
    ///
    /// Which one it is.
    pub(in crate::cli) fn check(&self, contract: &Contract) -> Result<(), String> {
        let known = |named: &String| contract.operations().any(|operation| *operation.id == **named);
        match self.operation.iter().find(|named| *named != UNDOCUMENTED && !known(named)) {
            Some(unknown) => Err(format!(
                "--operation {unknown}: the contract has no such operation; `contrail contract` lists them"
            )),
            None => Ok(()),
        }
    }

    /// The options that leave out exchanges, as they were given.
    pub(in crate::cli) fn filters(&self) -> Vec<String> {
        let bounds = [("--since", self.since), ("--until", self.until)].into_iter().filter_map(|(name, at)| {
            let at = jiff::Timestamp::try_from(at?).ok()?;
            Some(format!("{name} {at}"))
        });
        let clients = self.client.iter().map(|client| format!("--client {client}"));
        let operations = self.operation.iter().map(|operation| format!("--operation {operation}"));
        bounds.chain(clients).chain(operations).collect()
    }

    /// Whether an exchange that started then is within `--since` and `--until`. One without an instant is not.
    pub(in crate::cli) fn is_within(&self, started: Option<SystemTime>) -> bool {
        self.since.is_none_or(|since| started.is_some_and(|started| started >= since))
            && self.until.is_none_or(|until| started.is_some_and(|started| started < until))
    }

    /// Whether some of the clock hour in which an exchange started is within them.
    pub(in crate::cli) fn is_within_hour_of(&self, started: Option<SystemTime>) -> bool {
        const HOUR: u64 = 3600;
        let Some(since) = started.and_then(|started| started.duration_since(SystemTime::UNIX_EPOCH).ok()) else {
            return self.is_within(started);
        };
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs() / HOUR * HOUR);
        self.since.is_none_or(|since| begin + Duration::from_secs(HOUR) > since)
            && self.until.is_none_or(|until| begin < until)
    }

    /// Whether an exchange counts.
    pub(in crate::cli) fn selects(&self, judged: &Redacted<JudgedExchange>, contract: &Contract) -> bool {
        let client = || name_of(&judged.exchange.request, contract);
        let operation = judged.verdict.operation.as_deref().unwrap_or(UNDOCUMENTED);
        self.is_within(judged.exchange.started)
            && (self.client.is_empty() || self.client.contains(&client()))
            && (self.operation.is_empty() || self.operation.iter().any(|named| named == operation))
    }
}
