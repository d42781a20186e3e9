//! `--durable`, and what happens to the journal under a running proxy: full, removed, replaced, read too slowly.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::harness::{TEMPLATES, Workspace, entries, get, objects, token};
use crate::support::{
    command::{Ran, contrail},
    golden::{assert_error, assert_line},
    process::{Running, listening},
    wire::{call, read},
};

/// `record` or `watch` under a limit on file sizes, which makes writes fail as a full disk does.
fn with_little_room(workspace: &Workspace, arguments: &[&str]) -> Running {
    let upstream = ["--upstream", "sandbox", "--seed", "seed.json", "--listen", "127.0.0.1:0"];
    Running::limited(LITTLE_ROOM, workspace.path(), arguments.iter().chain(&upstream))
}

const LITTLE_ROOM: &str = "ulimit -f 8";

#[test]
fn durable_recordings_come_out_like_others() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "rec.har", "--durable", "--format", "json"]);
    let token = token(running.address);
    for _ in 0..5 {
        assert_eq!(get(running.address, TEMPLATES, &token).status(), 200);
    }
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 6);
    let summary = &objects(&ran, "summary")[0]["summary"];
    let queue = &summary["journal_queue"];
    assert!(queue["syncs"].as_u64().unwrap() >= 6 && queue["most_bytes"].as_u64().unwrap() > 500, "{queue}");
}

#[test]
fn durable_needs_something_to_write() {
    let ran = Workspace::new().run(&["watch", "--upstream", "sandbox", "--durable"]);
    assert_eq!(ran.status, 2);
    assert_line(&ran.stderr, "contrail: --durable needs something to write: name a folder with --trail DIR");
}

#[test]
fn under_durable_a_full_disk_is_answered_with_503_and_whatever_a_client_got_is_in_the_journal() {
    let workspace = Workspace::new();
    let running = with_little_room(&workspace, &["watch", "--trail", "trail", "--durable"]);
    let mut got = 0;
    let mut refused = 0;
    for number in 0..30 {
        let answer = call(running.address, "GET", &format!("{TEMPLATES}?n={number}"), &[], b"");
        match answer.status() {
            401 => got += 1,
            503 => {
                assert_eq!(answer.header("contrail-answer"), Some("durable"));
                assert_line(
                    answer.json()["detail"].as_str().unwrap(),
                    "the journal cannot be written, and --durable lets nothing through unrecorded: File too large (os \
                     error 27)",
                );
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(got > 0 && refused > 10, "{got} {refused}");
    let Ran { status, stderr, .. } = running.finish();
    assert_eq!(status, 2, "{stderr}");
    assert_line(
        &stderr,
        "ALARM: the journal cannot be written; requests get 503 until it can (--durable): File too large (os error 27)",
    );
    assert!(!stderr.contains("request.body"), "nobody sent a body: {stderr}");
    let verified = workspace.run(&["verify", "trail", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&verified.stdout).unwrap();
    let recorded = report["exchanges"].as_array().unwrap().iter().filter(|entry| entry["status"] == 401).count();
    assert!(recorded >= got, "{recorded} of {got}");
}

#[test]
fn what_is_left_out_passes_while_the_journal_cannot_be_written() {
    let workspace = Workspace::new();
    let running = with_little_room(&workspace, &["watch", "--trail", "trail", "--durable", "--exclude", "/health*"]);
    let refused = (0..30).any(|_| call(running.address, "GET", TEMPLATES, &[], b"").status() == 503);
    assert!(refused);
    // The sandbox has no such page.
    assert_eq!(call(running.address, "GET", "/healthz", &[], b"").status(), 404);
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 503);
    assert_eq!(running.finish().status, 2);
}

#[test]
fn under_durable_a_chunked_answer_that_cannot_be_recorded_never_ends() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", tenant.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in tenant.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut requests = BufReader::new(&stream);
                while read(&mut requests, false, false).is_ok() {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
                    if write!(&stream, "{head}5\r\nhello\r\n0\r\n\r\n").is_err() {
                        return;
                    }
                }
            });
        }
    });
    let arguments = ["watch", "--trail", "trail", "--durable", "--upstream", &upstream, "--listen", "127.0.0.1:0"];
    let running = Running::limited(LITTLE_ROOM, workspace.path(), arguments);
    let (mut whole, mut cut, mut refused) = (0, 0, 0);
    for number in 0..30 {
        let answer = call(running.address, "GET", &format!("/{number}"), &[], b"");
        match answer.status() {
            200 if answer.cut => cut += 1,
            200 => whole += 1,
            503 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(whole > 0 && cut == 1 && refused > 5, "{whole} {cut} {refused}");
    assert_eq!(running.finish().status, 2);
    let trail = workspace.read("trail/trail-00000001.journal");
    assert_eq!(trail.matches("\"status\":200").count(), whole);
}

#[test]
fn a_fold_that_fails_leaves_the_journal_and_names_it_after_the_summary() {
    let workspace = Workspace::new();
    let running = with_little_room(&workspace, &["record", "--out", "rec.har"]);
    for _ in 0..30 {
        call(running.address, "GET", TEMPLATES, &[], b"");
    }
    let Ran { status, stderr, .. } = running.finish();
    assert_eq!(status, 2, "{stderr}");
    assert_line(&stderr, "30 exchanges: 0 conform, 0 with gaps, 30 violate");
    assert_line(&stderr, "NOT FOLDED into the fixture: cannot write `rec.har`: File too large (os error 27)");
    assert_line(&stderr, "the exchanges are still in: rec.har.journal");
    assert_line(&stderr, "next: remove the cause, then contrail pack rec.har.journal --out ANOTHER.har");
    let packed = workspace.run(&["pack", "rec.har.journal", "--out", "another.har"]);
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    assert!(!entries(&workspace.read("another.har")).is_empty());
}

#[test]
fn a_journal_that_is_removed_while_it_is_written_is_made_anew_with_all_that_it_held() {
    for (command, file) in [(&["--out", "rec.har"][..], "rec.har.journal"), (&["--out", "rec.har"][..], "")] {
        let workspace = Workspace::new();
        let running = workspace.start("record", command);
        let token = token(running.address);
        get(running.address, TEMPLATES, &token);
        fs::remove_file(workspace.path().join("rec.har.journal")).unwrap();
        if !file.is_empty() {
            get(running.address, TEMPLATES, &token);
            assert_eq!(workspace.read(file).lines().count(), 3);
        }
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(entries(&workspace.read("rec.har")).len(), if file.is_empty() { 2 } else { 3 });
        assert_line(
            &ran.stderr,
            "ALARM: `rec.har.journal` was removed during the run; contrail created it again with all its entries",
        );
    }
}

#[test]
fn a_trail_whose_folder_is_removed_goes_on_and_its_chain_is_whole() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail"]);
    let token = token(running.address);
    fs::remove_dir_all(workspace.path().join("trail")).unwrap();
    get(running.address, TEMPLATES, &token);
    let second = workspace.run(&["watch", "--upstream", "sandbox", "--trail", "trail", "--listen", "127.0.0.1:0"]);
    assert_error(
        &second,
        2,
        "contrail: another process is writing to the journal `trail`; stop it, or record to another place",
    );
    running.finish();
    let verified = workspace.run(&["verify", "trail"]);
    assert_line(
        &verified.stderr,
        "contrail: the chain of `trail` is intact: 2 entries, 0 lines after its last link, head HASH",
    );
}

#[test]
fn a_journal_that_another_file_has_replaced_is_reported_and_not_written_over() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail"]);
    let segment = "trail/trail-00000001.journal";
    fs::remove_file(workspace.path().join(segment)).unwrap();
    fs::write(workspace.path().join(segment), "somebody else's").unwrap();
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 401);
    let ran = running.finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_line(
        &ran.stderr,
        "the journal could not be written: another file has taken the place of `trail/trail-00000001.journal`; move \
         it away",
    );
    assert_eq!(workspace.read(segment), "somebody else's");
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_anything_listens() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("file"), "").unwrap();
    for (options, said) in [
        (&["record", "--out", "file/rec.har"][..], "`file`: File exists (os error 17)"),
        (&["watch", "--trail", "file/trail"], "`file/trail`: Not a directory (os error 20)"),
    ] {
        let ran = workspace.run(&[options, &["--upstream", "sandbox", "--listen", "127.0.0.1:0"]].concat());
        let way = "a file is in the way: choose another path";
        assert_error(&ran, 2, &format!("contrail: cannot make the folder {said}; {way}"));
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_reader_of_standard_error_that_stalls_holds_up_no_exchange() {
    let workspace = Workspace::new();
    let mut child = contrail()
        .current_dir(workspace.path())
        .args(["watch", "--upstream", "sandbox", "--seed", "seed.json", "--listen", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let stream = TcpStream::connect(listening(line.trim_end()).unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answers = BufReader::new(&stream);
    // Ten times what a pipe holds.
    let long = "x".repeat(4000);
    for _ in 0..160 {
        write!(&stream, "GET /{long} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
        assert_eq!(read(&mut answers, false, false).unwrap().status(), 404);
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", &rest[rest.len() - 300..]);
    // All was said once somebody read again, the summary last.
    assert_eq!(rest.lines().filter(|line| line.starts_with("404 GET /xxx")).count(), 160);
    assert_line(&rest, "160 exchanges: 0 conform, 160 with gaps, 0 violate");
}

#[test]
fn a_response_that_breaks_off_is_cut_under_durable_as_well() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = workspace.start_at(tenant.local_addr().unwrap(), "record", &["--out", "rec.har", "--durable"]);
    let mut client = TcpStream::connect(running.address).unwrap();
    write!(client, "GET {TEMPLATES} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
    let (mut upstream, _) = tenant.accept().unwrap();
    read(&mut BufReader::new(&upstream), false, false).unwrap();
    upstream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{}").unwrap();
    drop(upstream);
    let mut got = String::new();
    client.read_to_string(&mut got).unwrap();
    assert!(got.starts_with("HTTP/1.1 200") && got.ends_with("{}"), "{got}");
    running.finish();
    assert_eq!(entries(&workspace.read("rec.har")).len(), 1);
}

/// Bytes of each large body.
const LARGE: u64 = 100 << 20;

/// Answers every connection with a large body.
fn tenant_of_large_bodies() -> SocketAddr {
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tenant.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in tenant.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                read(&mut BufReader::new(&stream), false, false).unwrap();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {LARGE}\r\n\r\n")
                    .unwrap();
                // A client that stalls ends this, when it goes away.
                let _ = std::io::copy(&mut std::io::repeat(b'x').take(LARGE), &mut stream);
            });
        }
    });
    address
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat_with_large_bodies_and_readers_that_stall() {
    let workspace = Workspace::new();
    let running = workspace.start_at(tenant_of_large_bodies(), "watch", &["--trail", "trail"]);
    let ask = || {
        let mut client = TcpStream::connect(running.address).unwrap();
        write!(client, "GET {TEMPLATES} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
        client
    };
    let stalled: Vec<_> = (0..8).map(|_| ask()).collect();
    for mut client in [ask(), ask()] {
        let read = std::io::copy(&mut BufReader::new(&mut client).take(LARGE), &mut std::io::sink()).unwrap();
        assert_eq!(read, LARGE);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // Ten bodies of 100 MiB were on their way; 4 MiB of each may be kept.
    assert!(kilobytes < 200 << 10, "{kilobytes} kB");
    drop(stalled);
    assert_line(&running.finish().stderr, "10 exchanges: 0 conform, 0 with gaps, 10 violate");
}
