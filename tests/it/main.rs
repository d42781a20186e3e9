//! One file per promise. Real sockets on port 0, real files, no network. A test sleeps only where its promise is
//! about time.

#![allow(unreachable_pub)] // one crate, nobody outside
#![allow(clippy::unwrap_used)] // clippy.toml allows it inside test functions only, not in what they share

mod auditing;
mod authority;
mod baseline;
mod cases;
mod changes;
mod citations;
mod cli;
mod combinations;
mod configuration;
mod contract;
mod coverage;
mod demo;
mod diff;
mod documentation;
mod documented;
mod explain;
mod export;
mod fixtures;
mod fleet;
mod folding;
mod fuzz;
mod help;
mod hostile;
mod html_report;
mod importing;
mod importing_cassettes;
mod inspecting;
mod invariant;
mod json_output;
mod learn;
mod listeners;
mod merging;
mod mistakes;
mod operations;
mod outcomes;
mod output_keys;
mod planted;
mod prose;
mod proxy;
mod reading;
mod record;
mod remote;
mod replay;
mod report_files;
mod sandbox;
mod searching;
mod secrets;
mod sessions;
mod show;
mod starting;
mod supply;
mod support;
mod suppressions;
mod upstream;
mod upstreams;
mod verify;
mod visible;
