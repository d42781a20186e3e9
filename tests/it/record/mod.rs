//! `contrail record` and `contrail watch`, the built binary: lines, summaries, files, signals, exit statuses.

mod again;
mod audit;
mod credentials;
mod durable;
mod ends;
mod files;
pub mod harness;
mod heads;
mod interrupted;
mod killed;
mod leftover;
mod lines;
mod malformed;
mod methods;
mod nothing;
mod redacted;
mod settings;
#[cfg(feature = "fleet")]
mod stores;
mod trail;
mod trails;
mod unreplayable;
mod workers;
