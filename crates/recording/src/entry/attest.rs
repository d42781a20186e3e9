//! What a file cannot show: the difference between the live verdict and the one that the redacted exchange gives.
//!
//! [`attest`] takes the difference when an entry is written, [`reconcile`] puts it back when the entry is judged again.

use std::sync::Arc;

use contrail_exchange::finding::{Blame, Finding, Rule, Unchecked, UncheckedSet, Verdict};

/// The difference between the live verdict and the one that the file gives on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attested {
    /// Hash of the contract under which this holds.
    pub contract: Arc<str>,
    /// Findings that only the live exchange showed, in the order of the live verdict.
    pub findings: Vec<Finding>,
    /// For each of `findings`, its index in the live verdict.
    pub indexes: Vec<usize>,
    /// Findings that only the file shows (a label in place of the value); to be dropped.
    pub cleared: Vec<Finding>,
    /// What could not be checked live, where it differs from what cannot be checked on the file.
    pub unchecked: Option<UncheckedSet>,
    /// Which side was at fault live.
    pub blame: Option<Blame>,
}

/// What has to be stored beside an entry so that [`reconcile`] gives the live verdict again; `None` if the file alone
/// does.
///
/// `live` is the verdict on the exchange as it was (redacted like all else), `recomputed` the one on the exchange as it
/// is written, `contract` the hash of the contract that gave both.
#[must_use]
pub fn attest(live: &Verdict, recomputed: &Verdict, contract: &str) -> Option<Attested> {
    if live.findings == recomputed.findings && live.unchecked == recomputed.unchecked && live.blame == recomputed.blame
    {
        return None;
    }
    let mut cleared: Vec<Option<&Finding>> = recomputed.findings.iter().map(Some).collect();
    let mut kept = Vec::with_capacity(live.findings.len());
    for finding in &live.findings {
        let same = cleared.iter_mut().find(|candidate| **candidate == Some(finding));
        kept.push(same.and_then(Option::take).is_some());
    }
    let with = |cleared: Vec<Finding>, indexes: Vec<usize>| Attested {
        contract: contract.into(),
        findings: indexes.iter().map(|index| live.findings[*index].clone()).collect(),
        indexes,
        cleared,
        unchecked: (live.unchecked != recomputed.unchecked).then_some(live.unchecked),
        blame: live.blame,
    };
    let cleared = cleared.into_iter().flatten().cloned().collect();
    let attested = with(cleared, (0..kept.len()).filter(|index| !kept[*index]).collect());
    // What both have may be in another order (it never should be): then all of it is attested.
    if reconcile(recomputed.clone(), Some(&attested), contract).findings == live.findings {
        return Some(attested);
    }
    Some(with(recomputed.findings.clone(), (0..live.findings.len()).collect()))
}

/// Reconciles the verdict of an entry: what the file gives on its own (`recomputed`) with what was attested.
///
/// Under the contract that was in force then, the result is the live verdict. Under another one (`contract` differs),
/// attested findings cannot be recomputed, so the parts of the exchange that they lie in become unchecked, and what the
/// file shows at those places (a label in place of a value) says nothing.
#[must_use]
pub fn reconcile(recomputed: Verdict, attested: Option<&Attested>, contract: &str) -> Verdict {
    let Some(attested) = attested else { return recomputed };
    let mut verdict = recomputed;
    if *attested.contract == *contract {
        for dropped in &attested.cleared {
            if let Some(index) = verdict.findings.iter().position(|finding| finding == dropped) {
                verdict.findings.remove(index);
            }
        }
        for (finding, index) in attested.findings.iter().zip(&attested.indexes) {
            verdict.findings.insert((*index).min(verdict.findings.len()), finding.clone());
        }
        if let Some(unchecked) = attested.unchecked {
            leave(&mut verdict, unchecked, "the recording states it without a reason");
            verdict.unchecked = unchecked;
            verdict.reasons.retain(|reason| unchecked.contains(reason.aspect));
        }
        verdict.blame = attested.blame;
        return verdict;
    }
    verdict.findings.retain(|finding| {
        !attested.cleared.iter().any(|cleared| cleared.rule == finding.rule && cleared.at == finding.at)
    });
    let mut unchecked = attested.unchecked.unwrap_or_default();
    for finding in attested.findings.iter().chain(&attested.cleared) {
        unchecked.insert(aspect(finding.rule));
    }
    leave(&mut verdict, unchecked, "labels replace what the contract of the recording was checked by");
    verdict
}

/// Leaves unchecked what is not so already.
fn leave(verdict: &mut Verdict, unchecked: UncheckedSet, why: &'static str) {
    let held = verdict.unchecked;
    unchecked.iter().filter(|aspect| !held.contains(*aspect)).for_each(|aspect| verdict.leave(aspect, why));
}

/// The part of an exchange that a rule looks at.
fn aspect(rule: Rule) -> Unchecked {
    match rule {
        Rule::AuthMissing
        | Rule::AuthMalformed
        | Rule::AuthExpired
        | Rule::AuthSignature
        | Rule::AuthScope
        | Rule::AuthScopeUndeclared
        | Rule::AuthUnenforced
        | Rule::AuthRefused => Unchecked::Auth,
        Rule::PathParameter
        | Rule::QueryParameter
        | Rule::HeaderParameter
        | Rule::CookieParameter
        | Rule::QueryUndocumented => Unchecked::RequestParameters,
        Rule::OperationUndocumented
        | Rule::RequestContentType
        | Rule::RequestBody
        | Rule::RequestBodyMalformed
        | Rule::RequestBodyUnexpected
        | Rule::RequestBodyUndocumented => Unchecked::RequestBody,
        Rule::ResponseHeaders | Rule::ResponseHeader => Unchecked::ResponseHeaders,
        Rule::StatusSuccess => Unchecked::SuccessStatus,
        Rule::StatusUndocumented => Unchecked::ErrorStatus,
        Rule::ResponseContentType
        | Rule::ResponseBody
        | Rule::ResponseBodyMalformed
        | Rule::ResponseBodyUndocumented
        | Rule::ExchangeIdentity
        | Rule::ExchangePageSize
        | Rule::ExchangeEcho
        | Rule::TransportIncomplete => Unchecked::ResponseBody,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(findings: Vec<Finding>) -> Verdict {
        Verdict { findings, blame: Some(Blame::Agreed), ..Verdict::default() }
    }

    #[test]
    fn a_file_that_gives_the_live_verdict_needs_nothing_attested() {
        let live = verdict(vec![Finding::new(Rule::RequestBody, "/name", "a string").seen("5")]);
        assert_eq!(attest(&live, &live.clone(), "c"), None);
    }

    #[test]
    fn a_finding_at_a_redacted_place_comes_back_where_it_stood() {
        let kept = Finding::new(Rule::QueryParameter, "take", "at most 100").seen("101");
        let lost = Finding::new(Rule::RequestBody, "/client_secret", "at most 255 characters").seen("secret-1");
        let extra = Finding::new(Rule::RequestBody, "/client_secret", "the pattern x").seen("secret-1");
        let live = verdict(vec![kept.clone(), lost.clone(), kept.clone()]);
        let mut file = verdict(vec![kept.clone(), extra, kept]);
        file.unchecked.insert(Unchecked::RequestBody);
        let attested = attest(&live, &file, "c").unwrap();
        assert_eq!(attested.findings, [lost]);
        assert_eq!(reconcile(file, Some(&attested), "c"), live);
    }

    #[test]
    fn under_another_contract_what_was_attested_is_unchecked_and_never_conforms() {
        let live = verdict(vec![Finding::new(Rule::RequestBody, "/client_secret", "at most 255 characters")]);
        let attested = attest(&live, &verdict(Vec::new()), "then").unwrap();
        let reconciled = reconcile(verdict(Vec::new()), Some(&attested), "now");
        assert_eq!(reconciled.findings, []);
        assert!(reconciled.unchecked.contains(Unchecked::RequestBody));
    }

    #[test]
    fn equal_findings_in_another_order_are_all_attested() {
        let echo = Finding::new(Rule::ExchangeEcho, "1", "x");
        let query = Finding::new(Rule::QueryParameter, "2", "x");
        let live = verdict(vec![echo.clone(), query.clone(), echo.clone()]);
        let file = verdict(vec![query, echo]);
        let attested = attest(&live, &file, "c");
        assert_eq!(reconcile(file, attested.as_ref(), "c"), live);
    }

    proptest! {
        #[test]
        fn settling_gives_the_live_verdict_for_any_two_verdicts(
            live in proptest::collection::vec((0..Rule::ALL.len(), 0..3u8), 0..6),
            file in proptest::collection::vec((0..Rule::ALL.len(), 0..3u8), 0..6),
            unchecked in proptest::collection::vec(0..Unchecked::ALL.len(), 0..4),
        ) {
            let make = |list: Vec<(usize, u8)>| {
                verdict(list.into_iter().map(|(rule, at)| Finding::new(Rule::ALL[rule], at.to_string(), "x")).collect())
            };
            let mut live = make(live);
            for aspect in unchecked {
                live.unchecked.insert(Unchecked::ALL[aspect]);
            }
            let file = make(file);
            let attested = attest(&live, &file, "c");
            prop_assert_eq!(Verdict { reasons: Vec::new(), ..reconcile(file, attested.as_ref(), "c") }, live);
        }
    }
}
