//! What the recorded exchanges are worth under the contract in force.

use crate::{
    cli::{Failure, policy::PolicyArgs},
    contract::{CheckOptions, Contract},
    finding::{Unchecked, Verdict},
    pipeline::Pipeline,
    recording::{Entry, settle},
    redact::{Judged as JudgedExchange, Redacted},
    report::Place,
    token::Credential,
    upstream::replay::{Recalled, Replay},
};

/// What was said about the recorded exchanges.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// Those with a finding that fails, in recorded order.
    pub(super) failing: Vec<Failing>,
}

/// A recorded exchange with findings that fail.
#[derive(Debug)]
pub(super) struct Failing {
    pub(super) source: String,
    pub(super) entry: usize,
    pub(super) judged: Redacted<JudgedExchange>,
}

/// Judges every recorded exchange once, and counts it in `pipeline`.
pub(super) fn judge(
    replay: &Replay,
    contract: &Contract,
    options: &CheckOptions,
    policy: &PolicyArgs,
    pipeline: &Pipeline,
) -> Result<Judged, Failure> {
    let mut judged = Judged::default();
    for recalled in replay.entries() {
        let Recalled { source, carries_authorization, entry } = recalled?;
        let Entry { index, mut exchange, note } = entry.into_owned();
        if note.is_none() && !carries_authorization {
            // The file's producer strips the header.
            exchange.request.credential = Credential::Unknown;
        }
        let attested = note.as_ref().and_then(|note| note.attested.as_ref());
        let mut verdict = settle(contract.check(&exchange, options), attested, contract.hash());
        if !options.auth {
            without_authentication(&mut verdict);
        }
        let outside = !contract.covers(exchange.request.target.path());
        let redacted = pipeline.redactor().redact(JudgedExchange::new(exchange, verdict));
        pipeline.collect(Place { source, entry: index, outside }, &redacted)?;
        if policy.fails(&redacted.verdict) {
            judged.failing.push(Failing { source: source.to_owned(), entry: index, judged: redacted });
        }
    }
    Ok(judged)
}

/// What was attested about authentication does not count where it is not checked.
fn without_authentication(verdict: &mut Verdict) {
    verdict.findings.retain(|finding| !finding.rule.id().starts_with("auth."));
    verdict.unchecked.insert(Unchecked::Auth);
}
