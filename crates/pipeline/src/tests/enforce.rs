//! `--enforce`, by example.

use super::*;

#[test]
fn under_enforce_what_a_panicking_checker_did_not_judge_does_not_pass() {
    let journal = Memory::default();
    for (pipeline, _) in [pipeline(panics, &journal), pipeline_with(panics, None, false)] {
        assert_eq!(pipeline.admit_request(&mut exchange()).unwrap_err().reason, "enforce");
        assert_eq!(admitted(&pipeline, exchange()).unwrap_err().reason, "enforce");
    }
    assert_eq!(journal.entries.load(Ordering::Relaxed), 1);
}

#[test]
fn under_enforce_a_response_is_judged_once_and_recorded_whether_it_passes_or_not() {
    static CHECKS: AtomicUsize = AtomicUsize::new(0);
    fn counted(
        contract: &Contract,
        exchange: &Exchange,
        options: &CheckOptions,
    ) -> contrail_exchange::finding::Verdict {
        CHECKS.fetch_add(1, Ordering::Relaxed);
        contract.check(exchange, options)
    }
    let journal = Memory::default();
    let (pipeline, _) = pipeline(counted, &journal);
    for (status, passes) in [(401, true), (200, false)] {
        CHECKS.store(0, Ordering::Relaxed);
        assert_eq!(admitted(&pipeline, answered(status)).is_ok(), passes);
        assert_eq!(CHECKS.load(Ordering::Relaxed), 1);
    }
    assert_eq!(journal.entries.load(Ordering::Relaxed), 2);
}

#[test]
fn findings_about_the_request_do_not_hold_back_its_response() {
    let (pipeline, output) = pipeline(Contract::check, &Memory::default());
    // No token: `auth.missing`, and the tenant refused it rightly.
    assert!(pipeline.admit_request(&mut exchange()).is_err());
    assert!(admitted(&pipeline, answered(401)).is_ok());
    // The tenant let it in: that is the tenant's.
    let refused = admitted(&pipeline, answered(200)).unwrap_err();
    assert_eq!(
        refused.detail,
        "the tenant's response violates the contract: auth.unenforced at Authorization: expected the tenant to refuse \
         a request without a token, saw `200`"
    );
    pipeline.finish().console.close();
    assert!(output.text().ends_with("; answered by contrail: enforce (502)\n"), "{}", output.text());
}
