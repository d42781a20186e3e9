//! `/healthz` and `/readyz`, and what they say while a server ends or its journal fails.

use std::{
    fs,
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
};

use nix::sys::signal::Signal;

use super::{ask, metered, signal, sum, text, until_ready, watch};
use crate::{
    record::harness::{TEMPLATES, Workspace},
    support::{
        process::Running,
        wire::{call, read},
    },
};

#[test]
fn a_server_is_alive_and_becomes_ready_and_other_paths_and_methods_are_refused() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &[]);
    until_ready(metrics);
    for (path, status, said) in [
        ("/healthz", 200, "ok\n"),
        ("/readyz", 200, "ready\n"),
        ("/", 404, "there are /metrics, /healthz and /readyz\n"),
    ] {
        let answer = ask(metrics, path);
        assert_eq!((answer.status(), text(&answer)), (status, said), "{path}");
    }
    let answer = call(metrics, "POST", "/metrics", &[], b"x");
    assert_eq!((answer.status(), answer.header("allow")), (405, Some("GET, HEAD")));
    running.finish();
}

#[test]
fn a_server_that_drains_is_alive_and_not_ready_and_the_exchange_in_progress_ends_with_connection_close() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = ["--metrics", "127.0.0.1:0", "--drain", "60"];
    let (running, metrics) = metered(workspace.start_at(tenant.local_addr().unwrap(), "watch", &options));
    let mut client = TcpStream::connect(running.address).unwrap();
    write!(client, "GET {TEMPLATES} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
    let (mut upstream, _) = tenant.accept().unwrap();
    read(&mut BufReader::new(&upstream), false, false).unwrap();
    assert_eq!(sum(metrics, "http_server_active_requests"), 1);
    signal(&running, Signal::SIGTERM);
    // Its listener is closed once the drain has begun.
    while TcpStream::connect(running.address).is_ok() {
        std::thread::yield_now();
    }
    let ready = ask(metrics, "/readyz");
    assert_eq!(ready.status(), 503);
    assert_eq!(text(&ready), "draining: exchanges in progress end, no new connection is taken\n");
    assert_eq!(ask(metrics, "/healthz").status(), 200);
    upstream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").unwrap();
    let answer = read(&mut BufReader::new(&client), false, true).unwrap();
    assert_eq!((&answer.body[..], answer.header("connection")), (&b"{}"[..], Some("close")));
    assert_eq!(running.wait().status, 1, "the answer lacks fields");
}

#[test]
fn a_journal_that_cannot_be_written_makes_a_server_unready_until_it_can_without_any_traffic() {
    let workspace = Workspace::new();
    let (running, metrics) = watch(&workspace, &["--trail", "trail", "--durable"]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    until_ready(metrics);
    let [segment, aside] = ["trail/trail-00000001.journal", "aside"].map(|name| workspace.path().join(name));
    fs::rename(&segment, &aside).unwrap();
    fs::write(&segment, "another file").unwrap();
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 503);
    let ready = ask(metrics, "/readyz");
    assert_eq!(ready.status(), 503);
    assert!(text(&ready).starts_with("the journal cannot be written: another file has taken"), "{}", text(&ready));
    assert_eq!(sum(metrics, "contrail_journal_failing"), 1);
    assert_eq!(sum(metrics, "contrail_journal_entries_lost_total"), 1);
    fs::rename(&aside, &segment).unwrap();
    // Nobody sends a request: whoever asks makes contrail try again.
    assert_eq!(ask(metrics, "/readyz").status(), 200);
    assert_eq!(sum(metrics, "contrail_journal_failing"), 0);
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 401);
    assert_eq!(running.finish().status, 2);
}

#[test]
fn a_full_disk_makes_a_server_unready_though_its_traffic_goes_on() {
    let workspace = Workspace::new();
    let arguments = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--trail", "trail"];
    let metered_too = arguments.iter().chain(&["--metrics", "127.0.0.1:0"]);
    // A limit on file sizes makes writes fail as a full disk does.
    let (running, metrics) = metered(Running::limited("ulimit -f 4", workspace.path(), metered_too));
    until_ready(metrics);
    let mut ready = ask(metrics, "/readyz");
    // A line that states what was lost may fit where an entry does not, and takes the rest of the room.
    while ready.status() == 200 {
        assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 401);
        ready = ask(metrics, "/readyz");
    }
    assert!(sum(metrics, "contrail_journal_entries_lost_total") >= 1);
    assert_eq!(sum(metrics, "contrail_journal_entries_pending"), 0);
    assert_eq!(ask(metrics, "/healthz").status(), 200);
    assert_eq!(text(&ready), "the journal cannot be written: File too large (os error 27)\n");
    assert_eq!(running.finish().status, 2);
}
