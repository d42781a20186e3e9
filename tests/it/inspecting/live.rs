//! The page beside a proxy, and how it ends.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
};

use serde_json::Value;

use super::{FIXTURES, TOKEN, ask, bearer, until};
use crate::support::{
    process::Running,
    wire::{call, request, send},
};

#[test]
fn what_goes_through_a_proxy_appears_without_its_secrets_and_the_page_is_not_reached_through_it() {
    for command in ["record", "watch"] {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments =
            vec![command, "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0"];
        arguments.extend(["--inspect", "127.0.0.1:0", "--ca-dir", "ca", "--tunnel", "allow"]);
        if command == "record" {
            arguments.extend(["--out", "fixture"]);
        }
        let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
        let [proxy, forward, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
        let secret = "Zx9-kQ27_planted.Secret~41";
        call(proxy, "GET", "/api/v2/users", &[("authorization", &format!("Bearer {secret}"))], b"");
        call(
            proxy,
            "POST",
            "/oauth/token/",
            &[("content-type", "application/json")],
            format!("{{\"client_secret\":\"{secret}\"}}").as_bytes(),
        );
        let run = until(page, 2);
        assert_eq!(run["mode"], *command);
        assert!(run["title"].as_str().unwrap().contains("http"), "{run}");
        let mut all = String::new();
        for path in ["run", "exchanges", "findings", "misses", "exchanges/0", "exchanges/1", "curl?n=1"] {
            all += &ask(page, &format!("/api/{path}")).to_string();
        }
        for n in 0..2 {
            for view in ["request/lines", "request/raw", "request/hex", "response/lines", "response/raw"] {
                let answer =
                    call(page, "GET", &format!("/api/exchanges/{n}/{view}"), &[("authorization", &bearer())], b"");
                all += &String::from_utf8_lossy(&answer.body);
            }
        }
        assert!(!all.contains(secret), "{all}");
        assert!(all.contains("!token-1!"), "{all}");
        // Neither listener leads to the page, in whatever spelling.
        for name in ["127.0.0.1", "localhost", "127.1", "[::1]", "0x7f000001"] {
            let target = format!("http://{name}:{}/api/run", page.port());
            let answer = call(forward, "GET", &target, &[("authorization", &bearer())], b"");
            assert_ne!(answer.status(), 200, "{target}");
            let tunnel = format!("CONNECT {name}:{port} HTTP/1.1\r\nhost: {name}:{port}\r\n\r\n", port = page.port());
            let answer = send(forward, "CONNECT", tunnel.as_bytes()).unwrap();
            assert_ne!(answer.status(), 200, "{name}");
        }
        let ran = running.finish();
        assert!(ran.stderr.contains(&format!("inspector on http://{page}/")), "{}", ran.stderr);
        assert!(!ran.stderr.contains(TOKEN), "a token that somebody chose is not printed");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn pages_that_stop_reading_hold_up_no_exchange_and_memory_stays_flat() {
    const EXCHANGES: u64 = 3_000;
    let folder = tempfile::tempdir().unwrap();
    let fixture = format!("{FIXTURES}/operations");
    let arguments = ["replay", &fixture, "--exhausted", "repeat", "--listen", "127.0.0.1:0", "--inspect"];
    let arguments = arguments.into_iter().chain(["127.0.0.1:0", "--inspect-buffer", "4MiB"]);
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let send = |count: u64| {
        for _ in 0..count {
            call(proxy, "GET", "/api/v2/connection-profiles/templates", &[], b"");
        }
    };
    send(300);
    until(page, 300);
    let before = running.memory("VmRSS");
    // Four tabs of a browser that was stopped: their notices, and as many large answers as a socket takes.
    let _stopped: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(page).unwrap();
            for path in ["/api/exchanges?count=500", "/api/exchanges?count=500", "/api/stream"] {
                stream.write_all(&request(page, "GET", path, &[("authorization", &bearer())], b"")).unwrap();
            }
            stream
        })
        .collect();
    send(EXCHANGES);
    let run = until(page, 300 + EXCHANGES);
    assert_eq!(run["n"], 300 + EXCHANGES, "{run}");
    let more = running.memory("VmRSS").saturating_sub(before);
    assert!(more < 32 << 10, "{more} kB more");
    running.finish();
}

#[test]
fn a_miss_of_a_replay_appears_with_the_option_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = format!("{FIXTURES}/operations");
    let arguments = ["replay", &fixture, "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let answer = call(proxy, "GET", "/api/v2/rate-limit-policies/rlp_Unknown", &[], b"");
    assert_eq!(answer.status(), 421);
    until(page, 1);
    let misses = ask(page, "/api/misses");
    assert_eq!(misses["rows"][0]["count"], 1, "{misses}");
    let difference = &misses["rows"][0]["nearest"][0]["differences"][0];
    assert_eq!(
        [&difference["place"], &difference["yours"]],
        ["path", "/api/v2/rate-limit-policies/rlp_Unknown"],
        "{misses}"
    );
    call(proxy, "GET", "/nothing", &[], b"");
    let run = until(page, 2);
    assert_eq!(run["counts"]["miss"], 2, "an undocumented miss is one, too");
    // A recorded answer is shown as it went out.
    call(proxy, "GET", "/api/v2/connection-profiles/templates", &[], b"");
    until(page, 3);
    let recorded = &ask(page, "/api/exchanges/2")["response"];
    let headers = recorded["headers"].as_array().unwrap();
    assert!(headers.iter().any(|header| header["name"] == "content-type"), "{recorded}");
    assert!(ask(page, "/api/exchanges/2/response/raw").to_string().contains("connection_profile_templates"));
    assert_eq!(ask(page, "/api/exchanges?q=verdict:miss")["size"], 2);
    running.finish();
}

#[test]
fn a_request_that_the_tenant_does_not_answer_yet_is_in_progress() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", tenant.local_addr().unwrap());
    let arguments = ["watch", "--upstream", &origin, "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let mut notices = TcpStream::connect(page).unwrap();
    notices.write_all(&request(page, "GET", "/api/stream", &[("authorization", &bearer())], b"")).unwrap();
    let mut client = TcpStream::connect(proxy).unwrap();
    client.write_all(&request(proxy, "GET", "/api/v2/users", &[], b"")).unwrap();
    let _unanswered = tenant.accept().unwrap();
    let mut lines = BufReader::new(notices).lines();
    assert!(lines.any(|line| line.unwrap().contains("\"in_progress\":1")));
    drop(client);
    running.finish();
}

#[test]
fn a_secret_that_becomes_known_later_is_in_no_answer_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let secret = "zQ83kLm2Vx71.late";
    let body = format!("{{\"comment\":\"{secret}\"}}");
    call(proxy, "POST", "/api/v2/notes", &[("content-type", "application/json")], body.as_bytes());
    until(page, 1);
    let shown = || {
        ask(page, "/api/exchanges/0/request/lines").to_string() + &ask(page, "/api/exchanges/0/request/raw").to_string()
    };
    assert!(shown().contains(secret), "nothing shows that it is a secret yet");
    call(proxy, "GET", "/api/v2/notes", &[("authorization", &format!("Bearer {secret}"))], b"");
    until(page, 2);
    assert!(!shown().contains(secret));
    assert_eq!(ask(page, &format!("/api/exchanges?q=body:{secret}"))["size"], 0, "a filter must not find out");
    running.finish();
}

#[test]
fn a_page_that_lingers_shows_how_the_run_ended() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "watch",
        "--upstream",
        "sandbox",
        "--inspect",
        "127.0.0.1:0",
        "--inspect-linger",
        "always",
        "--listen",
        "127.0.0.1:0",
        "--forward-listen",
        "127.0.0.1:0",
        "--",
        "sh",
        "-c",
        "exit 7",
    ];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let page = running.addresses[2];
    let end = loop {
        let run = ask(page, "/api/run");
        if run["end"] != Value::Null {
            break run["end"].clone();
        }
        std::thread::yield_now();
    };
    assert_eq!(end["status"], 7, "{end}");
    let ran = running.finish();
    assert!(
        ran.stderr.contains("the inspector stays open until you press Ctrl-C (status 7 is decided)"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.status, 7);
}
