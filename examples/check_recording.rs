//! Checks each exchange of a recording against the built-in contract.
//!
//! `cargo run --example check_recording -- fixtures/gaps.har`

#![allow(clippy::print_stdout)] // a program of its own

use std::{env, error::Error, fmt::Write as _, path::Path};

use contrail_contract::{CheckOptions, Contract};
use contrail_recording as recording;

/// One line per exchange, and one per finding.
fn check(path: &Path) -> Result<String, Box<dyn Error>> {
    let contract = Contract::built_in();
    // A fixture holds labels in place of tokens, so only their recorded facts could be judged.
    let options = CheckOptions { auth: false, ..CheckOptions::default() };
    let mut report = String::new();
    for entry in recording::open(path)? {
        let exchange = entry?.exchange;
        let verdict = contract.check(&exchange, &options);
        let request = &exchange.request;
        writeln!(report, "{} {}: {}", request.method, request.target.path(), verdict.conclusion().name())?;
        for finding in &verdict.findings {
            writeln!(report, "  {} at {}: {}", finding.rule, finding.at, finding.message())?;
        }
    }
    Ok(report)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a recording, such as fixtures/gaps.har")?;
    println!("{}", check(Path::new(&path))?);
    Ok(())
}

#[test]
fn the_gaps_of_a_fixture_are_listed() {
    let report = check(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gaps.har"))).unwrap();
    let policy = "GET /api/v2/rate-limit-policies/rlp_Default000000000000000: conforms";
    assert!(report.lines().any(|line| line == policy), "{report}");
    assert_eq!(report.lines().filter(|line| line.starts_with("  query.undocumented at q: ")).count(), 1, "{report}");
}
