//! What `docs/reports.md` promises of audits, of tables and of exit statuses.

use std::fs;

use super::*;
use crate::support::{golden::assert_error, reports::FORMATS};

/// Two calls of one client on two days, and one without a token for an operation that no document has.
fn two_days(folder: &Path) {
    let token = har::token("read:rate_limit_policies", har::NOON + 100_000);
    let policy = "/api/v2/rate-limit-policies/rlp_1";
    let mut later = har::get(policy, Some(&format!("Bearer {token}")), 200, har::POLICY);
    later["startedDateTime"] = "2025-11-22T12:00:00.000Z".into();
    let undocumented = har::get("/api/v2/users/u", None, 200, "{}");
    fs::write(folder.join("a.har"), har::har(&[har::conforming(), later, undocumented])).unwrap();
}

#[test]
fn an_audit_leaves_out_what_its_filters_do_not_name_and_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    two_days(folder.path());
    fs::copy("fixtures/gaps.har", folder.path().join("timeless.har")).unwrap();
    let audit = |file: &str, filters: &[&str]| {
        let ran = run_in(folder.path(), ["audit", file, "--format", "json"].iter().chain(filters));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let count = |name: &str| report["summary"][name].as_u64().unwrap();
        assert_eq!(report["filters"].as_array().unwrap().len(), filters.len() / 2, "{filters:?}");
        (count("exchanges"), count("leftOut"))
    };
    let policy = "getRateLimitPolicy";
    let cases: [(&[&str], (u64, u64)); 9] = [
        (&[], (3, 0)),
        (&["--since", "2025-11-22"], (1, 2)),
        (&["--since", "2025-11-22T12:00:00Z"], (1, 2)),
        (&["--until", "2025-11-22T12:00:00Z"], (2, 1)),
        (&["--client", "svc-1"], (2, 1)),
        (&["--operation", "undocumented"], (1, 2)),
        (&["--operation", policy], (2, 1)),
        (&["--operation", policy, "--operation", "undocumented"], (3, 0)),
        (&["--operation", policy, "--until", "2025-11-22"], (1, 2)),
    ];
    for (filters, expected) in cases {
        assert_eq!(audit("a.har", filters), expected, "{filters:?}");
    }
    // An exchange of a fixture has no instant, and is outside of any bound.
    let (all, _) = audit("timeless.har", &[]);
    for bound in [["--since", "1970-01-01"], ["--until", "2100-01-01"]] {
        assert_eq!(audit("timeless.har", &bound), (0, all), "{bound:?}");
    }
}

#[test]
fn two_audits_of_the_same_files_are_the_same_bytes_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    two_days(folder.path());
    for format in FORMATS {
        let audit = || run_in(folder.path(), ["audit", "a.har", "--report", format]);
        let (once, again) = (audit(), audit());
        assert!(!once.stdout.is_empty(), "{format}: {}", once.stderr);
        assert_eq!((once.status, once.stdout), (again.status, again.stdout), "{format}");
    }
}

/// The cells of a CSV without commas in its fields, the head first.
fn rows(csv: &str) -> Vec<Vec<&str>> {
    csv.split("\r\n").filter(|row| !row.is_empty()).map(|row| row.split(',').collect()).collect()
}

#[test]
fn the_tables_have_the_columns_and_rows_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    two_days(folder.path());
    let page = page("reports.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, columns) = page.split_once("The columns are ").unwrap();
    let documented: Vec<String> = ticked(columns.split_once(". A text").unwrap().0).collect();
    let ran = run_in(folder.path(), ["verify", "a.har", "--report", "csv"]);
    assert_eq!(rows(&ran.stdout)[0], documented);
    assert_eq!(rows(&ran.stdout).len(), 2, "one case that did not pass: {}", ran.stdout);

    let (_, audit) = page.split_once("CSV of an audit has a row per finding").unwrap();
    let (audit, columns) = audit.split_once(". The next").unwrap();
    let mut kinds = ticked(audit);
    let column = kinds.next().unwrap();
    let ran = run_in(folder.path(), ["audit", "a.har", "--report", "csv"]);
    let table = rows(&ran.stdout);
    let further = ticked(columns.split_once(" ## ").unwrap().0);
    assert_eq!(table[0], [column].into_iter().chain(further).collect::<Vec<_>>());
    let found: BTreeSet<String> = table[1..].iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(found, kinds.collect::<BTreeSet<_>>(), "{}", ran.stdout);

    let coverage = |options: &[&str]| run_in(folder.path(), ["coverage", "a.har"].iter().chain(options)).stdout;
    let json: Value = serde_json::from_str(&coverage(&["--format", "json"])).unwrap();
    let parts = json["parts"].as_object().unwrap();
    let each = || parts.values().flat_map(|part| part["each"].as_array().unwrap());
    let of = |times: &str| each().filter(|part| (part["times"] == 0) == (times == "never")).count();
    let csv = coverage(&["--report", "csv"]);
    assert_eq!(rows(&csv).len(), 1 + each().count());
    let junit = coverage(&["--report", "junit"]);
    assert_eq!(junit.matches("<skipped").count(), of("never"));
    assert!(of("never") > 10 && each().count() > of("never"), "{json}");
}

#[test]
fn what_contrail_answered_itself_touches_nothing_of_the_contract() {
    for (options, touched) in [(&[][..], 1), (&["--enforce", "requests"], 0)] {
        let folder = tempfile::tempdir().unwrap();
        let watch = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--trail", "trail"];
        let running = Running::start(folder.path(), watch.iter().chain(options));
        // Without a token: the tenant refuses it, or contrail.
        call(running.address, "GET", "/api/v2/connection-profiles/templates", &[], b"");
        running.finish();
        let ran = run_in(folder.path(), ["coverage", "trail", "--format", "json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["parts"]["operations"]["touched"], touched, "{options:?}: {}", ran.stderr);
    }
}

#[test]
fn of_several_reasons_2_comes_before_3_and_3_before_1() {
    let wrong = har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), 200, "[]");
    let spoilt = "cannot write the report to r/r.json: Not a directory (os error 20); ";
    for (spoil, expected, first) in [(false, 3, ""), (true, 2, spoilt)] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.har"), har::har(std::slice::from_ref(&wrong))).unwrap();
        let replay = ["replay", "a.har", "--listen", "127.0.0.1:0", "--report", "json=r/r.json"];
        let running = Running::start(folder.path(), replay);
        assert_eq!(call(running.address, "GET", "/x", &[], b"").status(), 421);
        if spoil {
            // The report cannot be written any more.
            fs::remove_dir_all(folder.path().join("r")).unwrap();
            fs::write(folder.path().join("r"), "").unwrap();
        }
        let ran = running.finish();
        let said = format!("exit status {expected}: {first}1 replay miss; response.body 1 (violation)");
        assert_error(&ran, expected, &said);
    }
}
