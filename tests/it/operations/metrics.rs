//! The page at `/metrics`.

use std::{
    collections::BTreeSet,
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
};

use nix::sys::signal::Signal;

use super::{ask, metered, signal, sum, text, until_ready, watch};
use crate::{
    record::harness::{CLIENT, SECRET, TEMPLATES, Workspace, get, token},
    support::{
        golden::{assert_error, assert_line},
        har,
        process::Running,
        wire::{Nobody, call},
    },
};

#[test]
fn exchanges_are_counted_by_operation_verdict_method_and_status_and_findings_by_rule() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &["--trail", "trail"]);
    let token = token(running.address);
    for _ in 0..3 {
        assert_eq!(get(running.address, TEMPLATES, &token).status(), 200);
    }
    call(running.address, "GET", TEMPLATES, &[], b"");
    call(running.address, "BREW", "/coffee", &[], b"");
    let page = ask(metrics, "/metrics");
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let labels = "operation=\"getConnectionProfileTemplates\",http_request_method=\"GET\",status_class=\"2xx\"";
    for line in [
        "contrail_exchanges_total{operation=\"getConnectionProfileTemplates\",verdict=\"conforms\"} 3",
        "contrail_exchanges_total{operation=\"getConnectionProfileTemplates\",verdict=\"violates\"} 1",
        "contrail_exchanges_total{operation=\"undocumented\",verdict=\"gap\"} 1",
        "contrail_findings_total{rule=\"auth.missing\",kind=\"violation\"} 1",
        "contrail_findings_total{rule=\"response.body\",kind=\"violation\"} 0",
        &format!("http_server_request_duration_seconds_count{{{labels}}} 3"),
        &format!("http_server_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 3"),
        "contrail_journal_entries_total 6",
        "contrail_journal_entries_lost_total 0",
        "contrail_journal_entries_pending 0",
        "contrail_journal_failing 0",
        "contrail_connections_limit 1024",
    ] {
        assert_line(text(&page), line);
    }
    assert!(text(&page).contains("http_request_method=\"_OTHER\",status_class=\"4xx\""), "{}", text(&page));
    running.finish();
}

#[test]
fn no_label_holds_a_secret_a_client_or_a_path() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &[]);
    let token = token(running.address);
    get(running.address, "/api/v2/private-path?private-query=1", &token);
    call(running.address, "PRIVATE", TEMPLATES, &[("X-Private", "private-value")], b"private-body");
    let page = ask(metrics, "/metrics");
    let page = text(&page).to_ascii_lowercase();
    assert!(page.contains("operation=\"undocumented\""), "{page}");
    for kept in [CLIENT, SECRET, &token.to_ascii_lowercase(), "private", "127.0.0.1"] {
        assert!(!page.contains(kept), "{kept}: {page}");
    }
    running.finish();
}

#[test]
fn the_counters_of_all_workers_add_up() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &["--workers", "4", "--trail", "trail"]);
    // Each connection goes to the worker with the fewest, so four that stay open are on four workers.
    let held: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(running.address).unwrap()).collect();
    for _ in 0..40 {
        call(running.address, "GET", TEMPLATES, &[], b"");
    }
    assert!(sum(metrics, "contrail_connections ") >= 4);
    drop(held);
    assert_eq!(sum(metrics, "contrail_exchanges_total{"), 40);
    assert_eq!(sum(metrics, "http_server_request_duration_seconds_count{"), 40);
    assert_eq!(sum(metrics, "contrail_journal_entries_total"), 40);
    running.finish();
}

#[test]
fn what_the_upstream_does_not_answer_is_a_failure_with_its_reason() {
    let workspace = Workspace::new();
    let nobody = Nobody::new();
    let (running, metrics) = metered(workspace.start_at(nobody.address, "watch", &["--metrics", "127.0.0.1:0"]));
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 502);
    assert_eq!(sum(metrics, "contrail_upstream_failures_total{reason=\"upstream\"}"), 1);
    assert_eq!(sum(metrics, "contrail_answers_total{reason=\"upstream\"}"), 1);
    assert_eq!(sum(metrics, "contrail_exchanges_incomplete_total"), 1);
    // The client got the status that contrail gave it.
    let count = "http_server_request_duration_seconds_count{operation=\"getConnectionProfileTemplates\",\
                 http_request_method=\"GET\",status_class=\"5xx\"}";
    assert_eq!(sum(metrics, count), 1);
    running.finish();
}

#[test]
fn rejected_requests_and_exchanges_left_out_are_counted_apart() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &["--max-target", "60", "--exclude", "/health*"]);
    assert_eq!(call(running.address, "GET", &format!("/{}", "x".repeat(60)), &[], b"").status(), 414);
    call(running.address, "GET", "/healthz", &[], b"");
    assert_eq!(sum(metrics, "contrail_requests_rejected_total{http_response_status_code=\"414\"}"), 1);
    assert_eq!(sum(metrics, "contrail_exchanges_left_out_total"), 1);
    assert_eq!(sum(metrics, "contrail_exchanges_total{"), 0);
    running.finish();
}

#[test]
fn a_replay_counts_its_misses_and_record_counts_too() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    let replay = ["replay", "a.har", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let (running, metrics) = metered(Running::start(workspace.path(), replay));
    call(running.address, "GET", "/api/v2/rate-limit-policies/rlp_other", &[], b"");
    assert_eq!(sum(metrics, "contrail_exchanges_total{operation=\"getRateLimitPolicy\",verdict=\"miss\"}"), 1);
    assert_eq!(running.finish().status, 3);
    let (running, metrics) = metered(workspace.start("record", &["--out", "b.har", "--metrics", "127.0.0.1:0"]));
    call(running.address, "GET", TEMPLATES, &[], b"");
    assert_eq!(sum(metrics, "contrail_journal_entries_total"), 1);
    running.finish();
}

#[test]
fn the_sandbox_counts_its_answers_and_judges_none() {
    let workspace = Workspace::new();
    let sandbox = ["sandbox", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let (running, metrics) = metered(Running::start(workspace.path(), sandbox));
    call(running.address, "GET", TEMPLATES, &[], b"");
    let counted = "contrail_exchanges_total{operation=\"getConnectionProfileTemplates\",verdict=\"unjudged\"}";
    assert_eq!(sum(metrics, counted), 1);
    assert_eq!(ask(metrics, "/readyz").status(), 200);
    signal(&running, Signal::SIGTERM);
    assert_eq!(running.wait().status, 0);
}

#[test]
fn the_page_names_the_contract_in_force_by_its_hash() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &[]);
    let shown = workspace.run(&["contract", "--format", "json"]);
    let contract: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    // Until it is compiled the page names none.
    until_ready(metrics);
    let page = ask(metrics, "/metrics");
    assert_line(text(&page), &format!("contrail_contract_info{{sha256={}}} 1", contract["sha256"]));
    running.finish();
}

#[test]
fn a_client_that_accepts_openmetrics_gets_it() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &[]);
    let accept = [("Accept", "application/openmetrics-text; version=1.0.0, text/plain; version=0.0.4; q=0.5")];
    let page = call(metrics, "GET", "/metrics", &accept, b"");
    assert_eq!(page.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    assert!(text(&page).ends_with("# EOF\n"), "{}", text(&page));
    assert_line(text(&page), "# TYPE contrail_exchanges counter");
    running.finish();
}

#[test]
fn the_metrics_are_out_of_reach_through_the_proxy() {
    let workspace = Workspace::new();
    let options = ["--forward-listen", "127.0.0.1:0", "--ca-dir", "ca", "--tunnel", "allow"];
    let (running, metrics) = watch(&workspace, &options);
    let forward = running.addresses[1];
    for host in [metrics.to_string(), format!("localhost:{}", metrics.port())] {
        let answer = call(forward, "GET", &format!("http://{host}/metrics"), &[], b"");
        assert_eq!((answer.status(), answer.header("contrail-answer")), (403, Some("own-address")), "{answer:?}");
    }
    running.finish();
}

#[test]
fn a_taken_or_malformed_address_is_status_2_before_anything_is_recorded() {
    let workspace = Workspace::new();
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let run =
        |address: &str| workspace.run(&["record", "--upstream", "sandbox", "--out", "a.har", "--metrics", address]);
    let taken = origin.local_addr().unwrap().to_string();
    let said = format!(
        "contrail: cannot listen on {taken} (Address already in use (os error 98)); name another address with --metrics, \
         port 0 takes a free one"
    );
    assert_error(&run(&taken), 2, &said);
    let said = "contrail: --metrics 9090: it names no host; write HOST:PORT, as in 127.0.0.1:8080 (this machine only) or \
                0.0.0.0:8080; port 0 takes a free one";
    assert_error(&run("9090"), 2, said);
    assert!(!workspace.has("a.har") && !workspace.has("a.har.journal"));
}

#[test]
fn docs_list_every_family_of_the_page_with_its_type_and_none_that_is_not_there() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &["--trail", "trail"]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    until_ready(metrics);
    let page = ask(metrics, "/metrics");
    let types = text(&page).lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let shown: BTreeSet<String> = types.map(str::to_owned).collect();
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md")).unwrap();
    let rows = docs.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows = rows.filter(|(name, _)| !name.contains('/') && name.contains('_'));
    let listed: BTreeSet<String> =
        rows.map(|(name, rest)| format!("{name} {}", rest.split(" | ").next().unwrap())).collect();
    assert_eq!(listed, shown);
    running.finish();
}
