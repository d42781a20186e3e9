//! One file per promise. Real sockets on port 0, real files, no network, no sleeps.

mod reading;
mod supply;
mod support;
