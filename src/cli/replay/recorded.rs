//! Judges the recorded exchanges under the contract in force.

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    Credential,
    finding::{Conclusion, Unchecked},
};
use contrail_pipeline::Pipeline;
use contrail_recording::{Entry, reconcile};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_replay::RecordedExchange;
use contrail_report::{ExchangeRef, Stale};

use crate::cli::{Failure, options::policy::PolicyArgs};

/// Maximum recorded exchanges that are kept for the end; the others are counted.
const MAX_LISTED: usize = 1000;

/// The verdicts of the recorded exchanges.
#[derive(Debug, Default)]
pub(super) struct RecordingVerdicts {
    /// How many have a finding that fails.
    pub(super) count: usize,
    /// The first of them, in recorded order.
    pub(super) failing: Vec<Failing>,
    /// Those and the ones whose operation is gone.
    pub(super) stale: Vec<Stale>,
}

impl RecordingVerdicts {
    /// Adds those of further recordings.
    pub(super) fn add(&mut self, more: Self) {
        self.count += more.count;
        let room = MAX_LISTED.saturating_sub(self.failing.len());
        self.failing.extend(more.failing.into_iter().take(room));
        self.stale.extend(more.stale);
    }
}

/// A recorded exchange with findings that fail.
#[derive(Debug)]
pub(super) struct Failing {
    pub(super) source: String,
    pub(super) entry: usize,
    /// Without headers and bodies.
    pub(super) judged: JudgedExchange,
}

/// Judges each of these recorded exchanges, and counts it in `pipeline`.
pub(super) fn judge<'a>(
    entries: impl Iterator<Item = RecordedExchange<'a>>,
    contract: &Contract,
    options: &CheckOptions,
    policy: &PolicyArgs,
    pipeline: &Pipeline,
) -> Result<RecordingVerdicts, Failure> {
    let mut judged = RecordingVerdicts::default();
    for recorded in entries {
        let RecordedExchange { source, carries_authorization, entry } = recorded;
        let Entry { index, line, mut exchange, note } = entry.clone();
        if note.is_none() && !carries_authorization {
            // The file's producer strips the header.
            exchange.request.credential = Credential::Unknown;
        }
        let attested = note.as_ref().and_then(|note| note.attested.as_ref());
        let checked = contract.check(&exchange, options);
        let left_out = checked.unchecked;
        let mut verdict = reconcile(checked, attested, contract.hash());
        if !options.auth {
            // What was attested about authentication does not count where it is not checked.
            verdict.findings.retain(|finding| !finding.rule.is_auth());
            if left_out.contains(Unchecked::Auth) {
                if !left_out.contains(Unchecked::Signature) {
                    verdict.unchecked.remove(Unchecked::Signature);
                }
                verdict.unchecked.insert(Unchecked::Auth);
            }
        }
        let recorded_as = note.and_then(|note| note.verdict.operation);
        let outside = !contract.covers(exchange.request.target.path());
        let redacted = pipeline.redactor().redact(JudgedExchange::new(exchange, verdict));
        pipeline.collect(ExchangeRef { source, entry: index, line, outside, recorded: true, miss: None }, &redacted)?;
        judged.stale.extend(why_stale(&redacted, recorded_as.as_deref(), policy).map(|(is_gone, why)| {
            let request = &redacted.exchange.request;
            let request = format!("{} {}", request.method, request.target.path_and_query);
            Stale { entry: format!("{source} entry {index}"), request, why, is_gone }
        }));
        if policy.fails(&redacted.verdict) {
            judged.count += 1;
            if judged.failing.len() < MAX_LISTED {
                let judged_exchange = without_messages(redacted);
                judged.failing.push(Failing { source: source.to_owned(), entry: index, judged: judged_exchange });
            }
        }
    }
    Ok(judged)
}

/// Why a recorded exchange does not fit the contract any more: it has a finding that fails, or the operation that it
/// was recorded as is gone.
fn why_stale(judged: &JudgedExchange, recorded_as: Option<&str>, policy: &PolicyArgs) -> Option<(bool, String)> {
    let verdict = &judged.verdict;
    if let Some(finding) = verdict.findings.iter().find(|finding| policy.fails_on(finding)) {
        let at = if finding.at.is_empty() { String::new() } else { format!(" at {}", finding.at) };
        return Some((false, format!("{}{at}: {}", finding.rule, finding.message())));
    }
    let is_gone = verdict.operation.is_none() && verdict.conclusion() != Conclusion::Unjudged;
    let gone = recorded_as.filter(|_| is_gone);
    gone.map(|operation| (true, format!("the contract has no operation `{operation}` for it any more")))
}

fn without_messages(redacted: Redacted<JudgedExchange>) -> JudgedExchange {
    let mut judged = redacted.into_inner();
    let exchange = &mut judged.exchange;
    (exchange.request.headers, exchange.request.body) = Default::default();
    if let Some(response) = &mut exchange.response {
        (response.headers, response.body) = Default::default();
    }
    judged
}
