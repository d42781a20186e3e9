//! The results of a run besides findings, in every report.

use contrail_exchange::{Difference, Near};
use contrail_recording::Unrecorded;
use contrail_redact::{Plan, Redactor};

use super::*;

fn written(collector: &mut Collector, kind: ReportFormat) -> String {
    let mut out = Vec::new();
    collector.write(kind, &Redactor::new(Plan::default()), &mut out, Screen::default()).unwrap();
    String::from_utf8(out).unwrap()
}

fn collector() -> Collector {
    Collector::new(
        Title { title: "T".into(), version: "1".into(), hash: "sha256:ab".into(), ..Title::default() },
        Vec::new(),
        true,
    )
}

const ALL: &[ReportFormat] = &[
    ReportFormat::Text,
    ReportFormat::Json,
    ReportFormat::Html,
    ReportFormat::Markdown,
    ReportFormat::Junit,
    ReportFormat::Sarif,
    ReportFormat::Github,
    ReportFormat::Csv,
];

#[test]
fn a_failed_proof_is_named_with_each_problem_in_every_report_and_fails_in_junit() {
    let mut failed = collector();
    let problems = vec!["entry 0 does not replay".to_owned(), "entry 7 verifies otherwise".to_owned()];
    failed.proved(Proof { good: false, problems: problems.clone(), note: None, holds_secrets: false });
    for &kind in ALL {
        let report = written(&mut failed, kind);
        assert!(report.to_lowercase().contains("proof"), "{report}");
        for problem in &problems {
            assert!(report.contains(problem), "{problem} is not in the {kind:?} report: {report}");
        }
    }
    let junit = written(&mut failed, ReportFormat::Junit);
    assert!(junit.contains("tests=\"1\" failures=\"1\" skipped=\"0\""), "{junit}");
    let json: serde_json::Value = serde_json::from_str(&written(&mut failed, ReportFormat::Json)).unwrap();
    assert_eq!(json["proof"], serde_json::json!({"good": false, "problems": problems}));
}

#[test]
fn a_proof_that_failed_for_a_secret_says_so_and_not_that_the_fixture_gives_back_something_else() {
    let mut failed = collector();
    let problems = vec!["entry 0 holds a secret".to_owned()];
    failed.proved(Proof { good: false, problems, note: None, holds_secrets: true });
    for kind in [ReportFormat::Text, ReportFormat::Html, ReportFormat::Markdown] {
        let report = written(&mut failed, kind);
        assert!(report.contains("would hold a secret, and was not written"), "{report}");
        assert!(!report.contains("give back"), "{report}");
    }
}

#[test]
fn a_good_proof_passes_in_junit_and_a_run_without_one_has_no_such_case() {
    let mut good = collector();
    good.proved(Proof { good: true, problems: Vec::new(), note: None, holds_secrets: false });
    let junit = written(&mut good, ReportFormat::Junit);
    assert!(junit.contains("tests=\"1\" failures=\"0\" skipped=\"0\""), "{junit}");
    for &kind in ALL {
        let report = written(&mut collector(), kind);
        for absent in ["roof", "nused", "enied", "iss", "Left out"] {
            assert!(!report.contains(absent), "{absent} is in the {kind:?} report: {report}");
        }
    }
}

#[test]
fn the_page_names_what_it_is_about_and_what_made_it() {
    let mut collector = collector();
    collector.source("a <b>.har");
    collector.upstream("https://tenant.example");
    let page = written(&mut collector, ReportFormat::Html);
    let tool = format!("by contrail {}", env!("CARGO_PKG_VERSION"));
    for named in ["<h1>T 1</h1>", "sha256:ab", "a &lt;b&gt;.har", "https://tenant.example", &tool, " UTC"] {
        assert!(page.contains(named), "{named} is not in {page}");
    }
}

#[test]
fn a_secret_that_was_recognised_later_is_in_no_report_of_a_run() {
    const SECRET: &str = "zq81mxo2-late-secret-77";
    let mut collector = collector();
    let near = Near {
        entry: "a.har entry 0".into(),
        request: format!("GET /{SECRET}"),
        status: 200,
        differences: vec![Difference {
            place: format!("query parameter `{SECRET}`"),
            yours: Some(SECRET.into()),
            fixture: Some(SECRET.into()),
            option: Some(format!("--ignore query:{SECRET}")),
        }],
    };
    let miss = Miss {
        reason: "unknown",
        request: format!("GET /x?{SECRET}"),
        detail: format!("`GET /x?{SECRET}` was not recorded"),
        nearest: vec![near],
        session: None,
    };
    collector.run.miss(&miss, None);
    collector.denied(&format!("{SECRET}.example:443"), "tunnel-denied");
    collector.unused(vec![Unused { entry: "a.har entry 1".into(), request: format!("GET /{SECRET}"), session: None }]);
    collector.proved(Proof {
        good: false,
        problems: vec![format!("{SECRET} does not replay")],
        note: None,
        holds_secrets: false,
    });
    let redactor = Redactor::new(Plan::default());
    let mut headers = contrail_exchange::Headers::new();
    headers.append(http::header::COOKIE, http::HeaderValue::from_str(&format!("session={SECRET}")).unwrap());
    redactor.recognise_headers(&headers);
    for &kind in ALL {
        let mut out = Vec::new();
        collector.write(kind, &redactor, &mut out, Screen::default()).unwrap();
        let report = String::from_utf8(out).unwrap();
        assert!(report.contains("a.har entry 0"), "{report}");
        assert!(!report.contains("late-secret"), "{report}");
    }
}

#[test]
fn a_trail_without_a_chain_passes_nowhere_and_what_it_lacks_is_in_every_report() {
    let mut bare = Integrity::new("bare".into(), None, false);
    let noon = jiff::Timestamp::from_second(1_763_726_400).unwrap();
    bare.unrecorded = vec![Unrecorded { exchanges: 3, from: noon, to: noon }];
    bare.unread = vec!["bare/x.gz".into()];
    let mut collector = collector();
    collector.integrity(bare);
    for &kind in ALL {
        let report = written(&mut collector, kind);
        assert!(report.contains("bare/x.gz") && !report.contains("<p class=good"), "{kind:?}: {report}");
        assert!(
            kind == ReportFormat::Json || report.contains("NOT RECORDED: 3 exchanges from 2025-"),
            "{kind:?}: {report}"
        );
    }
    let junit = written(&mut collector, ReportFormat::Junit);
    assert!(junit.contains("tests=\"3\" failures=\"0\" skipped=\"3\" errors=\"0\""), "{junit}");
    for (name, kind) in [
        ("the chain of bare is whole", "unproven"),
        ("bare holds every exchange", "unrecorded"),
        ("every file in bare is read", "unread"),
    ] {
        let case = format!("name=\"{name}\" time=\"0.000\">\n      <skipped type=\"{kind}\"");
        assert!(junit.contains(&case), "{case} is not in {junit}");
    }
}
