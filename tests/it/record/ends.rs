//! How it ends: around a command, by signals, and when it cannot begin.

use std::{
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
    process::Stdio,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::harness::{Workspace, entries};
use crate::support::{
    command::contrail,
    golden::{assert_error, assert_line},
    wire::read,
};

const SANDBOX: [&str; 3] = ["watch", "--upstream", "sandbox"];

#[test]
fn a_commands_exit_status_is_kept_and_its_output_untouched() {
    let workspace = Workspace::new();
    let script = "printf 'to\\0out'; printf to-err >&2; exit 7";
    let ran = workspace.run(&[&SANDBOX[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(ran.status, 7);
    assert_eq!(ran.stdout, "to\0out");
    assert_line(&ran.stderr, "to-err");
}

#[test]
fn a_command_that_succeeds_leaves_contrails_own_status() {
    let workspace = Workspace::new();
    assert_eq!(workspace.run(&[&SANDBOX[..], &["--allow", "unused", "--", "true"]].concat()).status, 0);
}

#[test]
fn a_command_finds_the_proxy_and_what_it_asks_is_recorded() {
    let workspace = Workspace::new();
    // The shell's own socket: no tool that a machine may lack.
    let script = "host=${CONTRAIL_URL#http://}; exec 3<>/dev/tcp/${host%:*}/${host#*:}; \
                  printf 'GET /api/v2/connection-profiles/templates HTTP/1.1\\r\\nHost: p\\r\\nConnection: close\\r\\n\\r\\n' >&3; \
                  head -n 1 <&3";
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--", "bash", "-c", script]);
    assert!(ran.stdout.starts_with("HTTP/1.1 401"), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 1);
}

#[test]
fn a_command_that_a_signal_ends_gives_128_and_the_signal() {
    let workspace = Workspace::new();
    assert_eq!(workspace.run(&[&SANDBOX[..], &["--", "sh", "-c", "kill -TERM $$"]].concat()).status, 143);
}

#[test]
fn a_command_that_is_not_there_or_not_executable_is_status_2() {
    let workspace = Workspace::new();
    let ran = workspace.run(&[&SANDBOX[..], &["--", "no-such-command-anywhere"]].concat());
    assert_eq!(ran.status, 2);
    assert_line(
        &ran.stderr,
        "contrail: cannot run `no-such-command-anywhere`: there is no such command; check its spelling and PATH",
    );
    let ran = workspace.run(&[&SANDBOX[..], &["--", "./seed.json"]].concat());
    assert_eq!(ran.status, 2);
    assert_line(&ran.stderr, "contrail: cannot run `./seed.json`: it is not executable");
}

#[test]
fn signals_are_passed_on_to_the_command() {
    let workspace = Workspace::new();
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = contrail()
        .current_dir(workspace.path())
        .args(SANDBOX)
        .args(["--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn a_taken_port_is_status_2_and_one_line_that_gives_advice() {
    let workspace = Workspace::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--listen", &address]);
    assert_eq!(ran.status, 2);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert_line(
        &ran.stderr,
        &format!(
            "contrail: cannot listen on {address} (Address already in use (os error 98)); name another address with \
             --listen, port 0 takes a free one"
        ),
    );
    assert!(!workspace.has("rec.har.journal") && !workspace.has("rec.har"));
}

#[test]
fn a_second_signal_does_not_wait_for_the_drain() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = workspace.start_at(tenant.local_addr().unwrap(), "record", &["--out", "rec.har", "--drain", "600"]);
    let mut client = std::net::TcpStream::connect(running.address).unwrap();
    std::io::Write::write_all(&mut client, b"GET /x HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
    let _upstream = tenant.accept().unwrap();
    let id = Pid::from_raw(running.id().cast_signed());
    kill(id, Signal::SIGTERM).unwrap();
    while std::net::TcpStream::connect_timeout(&running.address, Duration::from_secs(1)).is_ok() {
        std::thread::yield_now();
    }
    kill(id, Signal::SIGTERM).unwrap();
    let ran = running.wait();
    assert_line(&ran.stderr, "1 exchange: 0 conform, 1 with gaps, 0 violate");
    let said = "NOTHING RECORDED: exchanges ended before the tenant answered: \
                contrail stopped before the exchange was over: a second signal came";
    assert_error(&ran, 2, said);
    assert!(!workspace.has("rec.har") && !workspace.has("rec.har.journal"));
}

#[test]
fn connections_without_a_request_do_not_hold_up_the_end() {
    let workspace = Workspace::new();
    let listeners = ["--tls-listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0", "--ca-dir", "ca"];
    let running =
        workspace.start("watch", &[&listeners[..], &["--drain", "20", "--intercept", "other.example"]].concat());
    let clients: Vec<TcpStream> = running
        .addresses
        .iter()
        .chain(&running.addresses)
        .map(|address| TcpStream::connect(address).unwrap())
        .collect();
    let connect = b"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n";
    (&clients[2]).write_all(connect).unwrap();
    assert_eq!(read(&mut BufReader::new(&clients[2]), true, true).unwrap().status(), 200);
    (&clients[4]).write_all(&[22, 3, 1]).unwrap();
    let told = Instant::now();
    assert_eq!(running.finish().status, 0);
    assert!(told.elapsed() < Duration::from_secs(10), "{:?}", told.elapsed());
}
