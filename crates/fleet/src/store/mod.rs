//! Trails and recordings in object stores: `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, `file:///FOLDER`.
//!
//! ```text
//! PREFIX/TRAIL/trail-00000001.journal        a closed segment, written once
//! PREFIX/TRAIL/heads/trail-00000001.json     the head of the chain at its end, and its size
//! PREFIX/TRAIL/heads/trail.json              the trail's id and the host that began it
//! ```
//!
//! `TRAIL` is the id in the trail's chain, so two proxies never write to one name. [`Uploader`] brings segments there
//! and removes them here once the store has them; [`fetch`] keeps copies of what a command reads.

mod cache;
mod connect;
mod environment;
mod error;
mod http;
mod layout;
mod listing;
mod upload;
mod uploader;

pub(super) use cache::fetch;
pub(super) use uploader::Uploader;
