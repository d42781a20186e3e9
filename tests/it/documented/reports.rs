//! What `docs/reports.md` promises beyond keys and exit statuses.

use std::fs;

use super::*;
use crate::support::{golden::assert_line, wire::send};

const REPORTS: [&str; 4] =
    ["--report=json=r.json", "--report=junit=r.xml", "--report=html=r.html", "--report=text=r.txt"];
const LISTENERS: [&str; 6] = ["--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0", "--ca-dir", "ca"];

#[test]
fn misses_and_denied_hosts_beyond_a_thousand_are_counted_together() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    let replay = Running::start(folder.path(), ["replay", "a.har"].iter().chain(&LISTENERS).chain(&REPORTS));
    for number in 0..1002 {
        assert_eq!(call(replay.address, "GET", &format!("/x/{number}"), &[], b"").status(), 421);
        let host = format!("host-{number}.invalid:443");
        let connect = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(send(replay.addresses[1], "CONNECT", connect.as_bytes()).unwrap().status(), 403);
    }
    let ran = replay.finish();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    for (list, further) in [("misses", "furtherMisses"), ("denied", "furtherDenied")] {
        assert_eq!(json[list].as_array().unwrap().len(), 1000, "{list}");
        assert_eq!(json[further], 2, "{further}");
    }
    assert_eq!(json["summary"]["misses"], 1002);
    for (name, line) in [
        ("r.txt", "  and 2 misses of other requests"),
        ("r.xml", "      <failure type=\"replay-miss\" message=\"2 misses of further requests\"></failure>"),
        ("r.html", "<p>And 2 misses of other requests.</p>"),
    ] {
        assert_line(&read(name), line);
    }
}

/// The page's own order of what is in the HTML, and the headings that stand for it.
const SECTIONS: [(&str, &str); 7] = [
    ("misses", "<h2 class=bad>Missed"),
    ("violations", "<h2 class=bad>Violations"),
    ("gaps", "<h2 class=gap>Gaps"),
    ("denied hosts", "<h2>Denied"),
    ("unused recordings", "<h2>Unused"),
    ("stale recordings", "<h2>Stale"),
    ("what was not checked", "<h2>Not checked"),
];

#[test]
fn the_html_report_has_the_sections_of_the_page_in_its_order_and_loads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = har::get("/api/v2/rate-limit-policies/rlp_1?debug=1", None, 200, "{}");
    fs::write(folder.path().join("a.har"), har::har(&[wrong, har::conforming()])).unwrap();
    let replay = Running::start(folder.path(), ["replay", "a.har"].iter().chain(&LISTENERS).chain(&REPORTS));
    call(replay.address, "GET", "/x", &[], b"");
    let connect = b"CONNECT elsewhere.invalid:443 HTTP/1.1\r\nHost: elsewhere.invalid:443\r\n\r\n";
    send(replay.addresses[1], "CONNECT", connect).unwrap();
    replay.finish();
    let page = page("reports.md");
    let (_, described) = page.split_once("## HTML").unwrap();
    let described = described.split_whitespace().collect::<Vec<_>>().join(" ");
    let html = fs::read_to_string(folder.path().join("r.html")).unwrap();
    let (mut on_page, mut in_html) = (0, 0);
    for (words, heading) in SECTIONS {
        on_page += described[on_page..].find(words).unwrap_or_else(|| panic!("the page names no {words} there"));
        in_html += html[in_html..].find(heading).unwrap_or_else(|| panic!("{heading} is not there in\n{html}"));
    }
    for loading in ["<script", "<img", "<link", "src=", "href=\"http", "@import", "url("] {
        assert!(!html.contains(loading), "{loading}");
    }
    let contract: Value =
        serde_json::from_str(&run_in(Path::new("."), ["contract", "--format", "json"]).stdout).unwrap();
    for held in [contract["sha256"].as_str().unwrap(), "a.har", concat!("by contrail ", env!("CARGO_PKG_VERSION"))] {
        assert!(html.replace("<wbr>", "").contains(held), "{held} is not there in\n{html}");
    }
}

#[test]
fn the_suites_and_cases_of_junit_are_those_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let broken = har::get("/api/v2/rate-limit-policies/rlp_9", None, 200, har::POLICY);
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming(), broken])).unwrap();
    let wrong = "/api/v2/connections/c/directory-provisioning/synchronized-groups?take=500";
    let connect = b"CONNECT elsewhere.invalid:443 HTTP/1.1\r\nHost: elsewhere.invalid:443\r\n\r\n";
    let mut cases = BTreeSet::new();
    let mut suites = BTreeSet::new();
    let mut collect = || {
        let report = fs::read_to_string(folder.path().join("r.xml")).unwrap();
        let attribute = |line: &str, name: &str| {
            line.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        };
        for line in report.lines().filter(|line| line.contains("<testcase ")) {
            let class = attribute(line, "classname").unwrap();
            let suite = class.strip_prefix("contrail.").unwrap_or_else(|| panic!("{line}")).to_owned();
            cases.insert((suite.clone(), attribute(line, "name").unwrap()));
            suites.insert(suite);
        }
    };
    let replay = Running::start(folder.path(), ["replay", "a.har"].iter().chain(&LISTENERS).chain(&REPORTS));
    call(replay.address, "GET", wrong, &[], b"");
    send(replay.addresses[1], "CONNECT", connect).unwrap();
    replay.finish();
    collect();
    let record = ["record", "--upstream", "sandbox", "--out", "f", "--trail", "trail"];
    let running = Running::start(folder.path(), record.iter().chain(&LISTENERS).chain(&REPORTS));
    call(running.address, "GET", wrong, &[], b"");
    running.finish();
    collect();
    fs::write(folder.path().join("trail/notes.gz"), "x").unwrap();
    run_in(folder.path(), ["verify", "trail", REPORTS[1]]);
    collect();
    run_in(folder.path(), ["replay", "nosuch.har", REPORTS[1]]);
    collect();
    let expired = "[[suppress]]\nrule = \"auth.scope\"\nreason = \"why\"\nuntil = 2020-01-31\n";
    fs::write(folder.path().join("contrail.toml"), expired).unwrap();
    run_in(folder.path(), ["verify", "a.har", REPORTS[1]]);
    collect();
    let named = |suite: &str, name: &str| {
        assert!(cases.contains(&(suite.to_owned(), name.to_owned())), "{suite} {name}: {cases:#?}");
    };
    named("getRateLimitPolicy", "checked against the contract");
    named("getSynchronizedGroups", "query.parameter at take");
    named("getSynchronizedGroups", &format!("replay GET {wrong}"));
    named("denied", "elsewhere.invalid:443");
    named("unused", "GET /api/v2/rate-limit-policies/rlp_1");
    named("stale", "GET /api/v2/rate-limit-policies/rlp_9");
    named("proof", "the fixture proves itself");
    named("integrity", "the chain of trail is whole");
    named("integrity", "every file in trail is read");
    named("suppressions", "auth.scope");
    let page = page("reports.md");
    let row = page.lines().find(|line| line.starts_with("| a suite |")).unwrap();
    let documented: BTreeSet<String> = ticked(row).collect();
    let operations = ["getRateLimitPolicy", "getSynchronizedGroups"].map(str::to_owned);
    assert_eq!(suites.difference(&operations.into()).cloned().collect::<BTreeSet<_>>(), documented);
}
