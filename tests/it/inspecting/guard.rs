//! Who gets an answer, and what every answer carries.

use super::{FIXTURES, TOKEN, bearer, inspect};
use crate::support::{
    command::contrail,
    wire::{self, Message, call, request, send},
};

#[test]
fn every_answer_is_guarded_and_carries_what_protects_the_page() {
    let running = inspect(&[]);
    let bearer = bearer();
    let good = ("authorization", &*bearer);
    let port = running.address.port();
    let mut answers: Vec<(Message, u16)> = Vec::new();
    let paths = [
        "/api/run",
        "/api/exchanges",
        "/api/timeline",
        "/api/groups?by=path",
        "/api/exchanges/0",
        "/api/exchanges/0/request/lines",
        "/api/curl?n=0",
        "/api/har?n=0",
        "/api/exchanges/at?n=1",
        "/api/exchanges/next",
        "/api/findings",
        "/api/compare?a=0",
        "/api/misses",
        "/api/stream",
        "/api/none",
        "/none",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/main.js/..",
    ];
    for path in paths {
        let call = |fields: &[(&str, &str)]| call(running.address, "GET", path, fields, b"");
        answers.push((call(&[]), 401));
        answers.push((call(&[("authorization", "Bearer 0123456789abcdefghijklmnopqrstuw")]), 401));
        answers.push((call(&[good, ("origin", "http://evil.example")]), 403));
        answers.push((call(&[good, ("origin", "null")]), 403));
        answers.push((call(&[good, ("sec-fetch-site", "cross-site")]), 403));
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            answers.push((wire::call(running.address, method, path, &[good], b""), 405));
        }
        for host in ["evil.example", "evil.example:80", "127.0.0.1", "localhost.", "0.0.0.0"] {
            let raw =
                format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: {bearer}\r\nconnection: close\r\n\r\n");
            answers.push((send(running.address, "GET", raw.as_bytes()).unwrap(), 421));
        }
        let twice = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"
        );
        answers.push((send(running.address, "GET", twice.as_bytes()).unwrap(), 421));
    }
    for path in ["/", "/main.js", "/style.css"] {
        answers.push((call(running.address, "GET", path, &[], b""), 200));
    }
    answers.push((call(running.address, "GET", "/api/none", &[good], b""), 404));
    let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    answers.push((call(running.address, "GET", "/", &link, b""), 200));
    for (answer, expected) in answers {
        assert_eq!(answer.status(), expected, "{answer:?}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types 'none'"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value));
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("set-cookie"), None);
    }
    running.finish();
}

#[test]
fn an_address_beyond_this_machine_needs_a_name_and_ci_needs_a_token() {
    let refused = |listen: &str, variable: (&str, &str), reason: &str| {
        let ran = contrail().args(["inspect", FIXTURES, "--listen", listen]).envs([variable]).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        let printed = String::from_utf8_lossy(&ran.stderr);
        assert!(printed.contains(reason), "{printed}");
    };
    refused("0.0.0.0:0", ("CONTRAIL_INSPECT_TOKEN", TOKEN), "--inspect-host");
    refused("127.0.0.1:0", ("CI", "true"), "CONTRAIL_INSPECT_TOKEN");
}

#[test]
fn a_slow_head_and_a_long_one_are_cut() {
    let running = inspect(&[]);
    let long = request(running.address, "GET", &format!("/{}", "x".repeat(20 << 10)), &[], b"");
    let answer = send(running.address, "GET", &long).map(|answer| answer.status());
    assert!(matches!(answer, Err(_) | Ok(431 | 414)), "{answer:?}");
    running.finish();
}
