//! What `docs/operations.md` promises of a proxy that runs for long: metrics, probes, signals.

mod deployment;
mod metrics;
#[cfg(feature = "fleet")]
mod otlp;
mod probes;
mod reload;

use std::net::SocketAddr;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    record::harness::Workspace,
    support::{
        process::Running,
        wire::{Message, call},
    },
};

/// `watch` in front of the sandbox with `--metrics`, and the address of its metrics.
fn watch(workspace: &Workspace, options: &[&str]) -> (Running, SocketAddr) {
    metered(workspace.start("watch", &[&["--metrics", "127.0.0.1:0"], options].concat()))
}

/// A server that was started with `--metrics`, and the address of its metrics.
fn metered(running: Running) -> (Running, SocketAddr) {
    let metrics = *running.addresses.last().unwrap();
    (running, metrics)
}

fn ask(metrics: SocketAddr, path: &str) -> Message {
    call(metrics, "GET", path, &[], b"")
}

/// The text of an answer.
fn text(message: &Message) -> &str {
    std::str::from_utf8(&message.body).unwrap()
}

/// The samples whose name and labels begin with this, summed up.
fn sum(metrics: SocketAddr, begin: &str) -> u64 {
    let page = ask(metrics, "/metrics");
    let samples = text(&page).lines().filter(|line| line.starts_with(begin));
    samples.map(|sample| sample.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn signal(running: &Running, signal: Signal) {
    kill(Pid::from_raw(running.id().cast_signed()), signal).unwrap();
}

/// Waits until the contract is compiled.
fn until_ready(metrics: SocketAddr) {
    while ask(metrics, "/readyz").status() != 200 {
        std::thread::yield_now();
    }
}
