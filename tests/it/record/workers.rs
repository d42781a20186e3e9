//! `--workers N`: several threads serve connections, and one recording comes of it.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::harness::Workspace;
use crate::support::{
    golden::{assert_error, assert_line},
    process::Running,
    wire::{Message, read},
};

const SEGMENT: &str = "trail/trail-00000001.journal";

/// Answers all requests of all connections, with the number of the connection.
fn tenant() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let stream = stream.unwrap();
            thread::spawn(move || {
                let mut requests = BufReader::new(&stream);
                while read(&mut requests, false, false).is_ok() {
                    let body = number.to_string();
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}", body.len());
                    if write!(&stream, "{head}\r\n\r\n{body}").is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn ask(client: &TcpStream, target: &str) {
    write!(&*client, "GET {target} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
}

fn answer(client: &TcpStream) -> Message {
    read(&mut BufReader::new(client), false, true).unwrap()
}

/// Connections that are served: each has had an answer.
fn clients<const N: usize>(running: &Running) -> [TcpStream; N] {
    std::array::from_fn(|number| {
        let client = TcpStream::connect(running.address).unwrap();
        ask(&client, &format!("/first/{number}"));
        assert_eq!(answer(&client).status(), 200);
        client
    })
}

/// Eight clients that wait for an answer, each with the connection that it is to come by.
fn waiting(running: &Running, tenant: &TcpListener) -> Vec<(TcpStream, TcpStream)> {
    let ask = |number| {
        let client = TcpStream::connect(running.address).unwrap();
        ask(&client, &format!("/{number}"));
        let (upstream, _) = tenant.accept().unwrap();
        read(&mut BufReader::new(&upstream), false, false).unwrap();
        (client, upstream)
    };
    (0..8).map(ask).collect()
}

/// How often each target stands in the trail.
fn recorded(workspace: &Workspace, target: &str) -> usize {
    workspace.read(SEGMENT).matches(&format!("{target}\"")).count()
}

#[test]
fn what_several_workers_serve_is_recorded_once_and_before_a_client_has_it_whole() {
    for options in [&[][..], &["--durable"]] {
        let workspace = Workspace::new();
        let options = [&["--trail", "trail", "--workers", "4"], options].concat();
        let running = workspace.start_at(tenant(), "watch", &options);
        let clients: [TcpStream; 8] = clients(&running);
        thread::scope(|scope| {
            for (number, client) in clients.iter().enumerate() {
                let workspace = &workspace;
                scope.spawn(move || {
                    for nth in 0..20 {
                        let target = format!("/{number}/{nth}");
                        ask(client, &target);
                        assert!(!answer(client).cut);
                        assert_eq!(recorded(workspace, &target), 1, "{target}");
                    }
                });
            }
        });
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_line(&ran.stderr, "168 exchanges: 0 conform, 168 with gaps, 0 violate");
        for number in 0..8 {
            for nth in 0..20 {
                assert_eq!(recorded(&workspace, &format!("/{number}/{nth}")), 1);
            }
        }
        let verified = workspace.run(&["verify", "trail"]);
        assert_line(
            &verified.stderr,
            "contrail: the chain of `trail` is intact: 168 entries, 0 lines after its last link, head HASH",
        );
    }
}

#[test]
fn each_worker_keeps_upstream_connections_of_its_own() {
    let workspace = Workspace::new();
    let running = workspace.start_at(tenant(), "watch", &["--workers", "4"]);
    let clients: [TcpStream; 4] = clients(&running);
    let threads = fs::read_dir(format!("/proc/{}/task", running.id()));
    if let Ok(threads) = threads {
        let name = |thread: io::Result<fs::DirEntry>| fs::read_to_string(thread?.path().join("comm"));
        let workers = threads.filter_map(|thread| name(thread).ok()).filter(|name| name.trim() == "worker");
        assert_eq!(workers.count(), 3, "besides the thread that accepts");
    }
    for turn in 0..3 {
        for (number, client) in clients.iter().enumerate() {
            ask(client, "/");
            let upstream = String::from_utf8(answer(client).body).unwrap();
            assert_eq!(upstream, number.to_string(), "turn {turn}");
        }
    }
    drop(clients);
    assert_eq!(running.finish().status, 0);
}

#[test]
fn a_signal_drains_the_exchanges_of_every_worker() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = ["--trail", "trail", "--workers", "4"];
    let running = workspace.start_at(tenant.local_addr().unwrap(), "watch", &options);
    let pairs = waiting(&running, &tenant);
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGTERM).unwrap();
    // Its listener is closed once the drain has begun.
    while TcpStream::connect(running.address).is_ok() {
        thread::yield_now();
    }
    for (client, upstream) in &pairs {
        write!(&*upstream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok").unwrap();
        let answer = answer(client);
        assert_eq!((answer.status(), &answer.body[..], answer.cut), (200, &b"ok"[..], false));
    }
    assert_eq!(running.wait().status, 0);
    for number in 0..8 {
        assert_eq!(recorded(&workspace, &format!("/{number}")), 1);
    }
}

#[test]
fn what_the_drain_cuts_on_any_worker_is_recorded_as_not_whole() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = ["--trail", "trail", "--workers", "4", "--drain", "0.1"];
    let running = workspace.start_at(tenant.local_addr().unwrap(), "watch", &options);
    let pairs = waiting(&running, &tenant);
    let ran = running.finish();
    assert_line(&ran.stderr, "8 exchanges: 0 conform, 8 with gaps, 0 violate");
    for (client, _) in &pairs {
        assert_eq!(BufReader::new(client).read_line(&mut String::new()).unwrap_or(0), 0);
    }
    for number in 0..8 {
        assert_eq!(recorded(&workspace, &format!("/{number}")), 1);
    }
}

#[test]
fn the_bound_of_connections_is_that_of_all_workers_together() {
    let workspace = Workspace::new();
    let running = workspace.start_at(tenant(), "watch", &["--workers", "4", "--max-connections", "6"]);
    let [first, rest @ ..]: [TcpStream; 6] = clients(&running);
    let refused = TcpStream::connect(running.address).unwrap();
    assert_eq!(answer(&refused).status(), 503);
    drop(first);
    // Its place is free as soon as its worker has seen that it is gone.
    let served = (0..10_000).any(|_| {
        let client = TcpStream::connect(running.address).unwrap();
        let _ = write!(&client, "GET / HTTP/1.1\r\nHost: p\r\n\r\n");
        read(&mut BufReader::new(&client), false, true).is_ok_and(|answer| answer.status() == 200)
    });
    assert!(served);
    for client in &rest {
        ask(client, "/");
        assert_eq!(answer(client).status(), 200);
    }
    running.finish();
}

#[test]
fn a_number_of_workers_out_of_range_is_status_2_and_the_message_names_the_range() {
    for wrong in ["0", "65", "-1", "two", ""] {
        let ran = Workspace::new().run(&["watch", "--upstream", "sandbox", &format!("--workers={wrong}")]);
        let what = if wrong.is_empty() {
            "`--workers` is empty".into()
        } else {
            format!("invalid value `{wrong}` for `--workers`")
        };
        let form = "expected a whole number from 1 to 64; see `contrail watch --help`";
        assert_error(&ran, 2, &format!("contrail: {what}: {form}"));
    }
}
