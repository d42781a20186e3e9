//! The live page.

mod base;
mod files;
mod guard;
mod live;
mod shown;

use std::{net::SocketAddr, path::Path};

use serde_json::Value;

use crate::support::{process::Running, wire::call};

pub const TOKEN: &str = "0123456789abcdefghijklmnopqrstuv";
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// A page over the fixtures.
fn inspect(arguments: &[&str]) -> Running {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = ["inspect", FIXTURES, "--listen", "127.0.0.1:0"].into_iter().chain(arguments.iter().copied());
    read_whole(Running::start_with(folder, arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]))
}

/// A page that has read its files: it answers while it reads, and a test wants all of it.
fn read_whole(running: Running) -> Running {
    while ask(running.address, "/api/run")["reading"] != Value::Null {
        std::thread::yield_now();
    }
    running
}

pub fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

fn ask(to: SocketAddr, path: &str) -> Value {
    let answer = call(to, "GET", path, &[("authorization", &bearer())], b"");
    assert_eq!(answer.status(), 200, "{path}");
    answer.json()
}

/// Waits until the page has so many exchanges.
fn until(to: SocketAddr, n: u64) -> Value {
    loop {
        let run = ask(to, "/api/run");
        if run["n"].as_u64() >= Some(n) {
            return run;
        }
        std::thread::yield_now();
    }
}
