//! One file per promise. Real sockets on port 0, real files, no network, no sleeps.

#![allow(unreachable_pub)] // one crate, nobody outside

mod reading;
mod sandbox;
mod supply;
mod support;
