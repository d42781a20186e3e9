//! One segment into the store: once, whole, and compared where something is there already.

use std::{fs::File, future::poll_fn, io::Read as _, path::Path as FilePath};

use bytes::Bytes;
use object_store::{Error, GetOptions, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::{layout, listing::next};
use crate::{hex::hex, recording::last_head};

/// Bytes of a segment that are handed on at a time.
const PIECE: usize = 256 << 10;

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uploaded {
    /// The store has it.
    Done,
    /// The store has something else of this name.
    Other,
}

/// What is kept beside a segment's object.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// Links of the chain up to its end.
    seq: u64,
    /// The last hash.
    hash: String,
    /// The trail's id.
    trail: Option<String>,
    /// Bytes of the segment.
    size: u64,
    /// Its SHA-256, hexadecimal.
    sha256: String,
}

/// Puts a segment into the store, unless it is there.
///
/// # Errors
///
/// The store's, and those of the file as [`Error::Generic`]. Nothing of it is there then, or all of it.
pub(super) async fn upload(
    store: &dyn ObjectStore,
    trail: &Path,
    number: u64,
    segment: &FilePath,
) -> object_store::Result<Uploaded> {
    let (pieces, head) = read(segment).map_err(|error| Error::Generic { store: "file", source: Box::new(error) })?;
    let location = layout::segment(trail, number);
    // A restart finds its last segment there; this spares to send it once more. Who may only write is refused here.
    let found = match store.head(&location).await {
        Ok(found) => Some(found),
        Err(Error::NotFound { .. } | Error::PermissionDenied { .. }) => None,
        Err(error) => return Err(error),
    };
    if found.is_none() {
        match create(store, &location, pieces.into_iter().collect()).await {
            Ok(()) => {
                keep(store, &layout::head(trail, number), &head).await?;
                return Ok(Uploaded::Done);
            }
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if !is_equal(store, &location, &head).await? {
        return Ok(Uploaded::Other);
    }
    keep(store, &layout::head(trail, number), &head).await?;
    Ok(Uploaded::Done)
}

/// Puts an object unless one of this name is there.
///
/// # Errors
///
/// [`Error::AlreadyExists`], and the store's.
pub(super) async fn create(store: &dyn ObjectStore, location: &Path, content: PutPayload) -> object_store::Result<()> {
    let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    store.put_opts(location, content, options).await.map(drop)
}

async fn keep(store: &dyn ObjectStore, location: &Path, head: &Head) -> object_store::Result<()> {
    let text = serde_json::to_vec(head).unwrap_or_default();
    match create(store, location, text.into()).await {
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
        put => put,
    }
}

/// Whether the object is this segment.
async fn is_equal(store: &dyn ObjectStore, location: &Path, head: &Head) -> object_store::Result<bool> {
    let object = store.get_opts(location, GetOptions::default()).await?;
    if object.meta.size != head.size {
        return Ok(false);
    }
    let mut context = Context::new(&SHA256);
    let mut content = object.into_stream();
    while let Some(piece) = next(poll_fn(|context| content.as_mut().poll_next(context))).await? {
        context.update(&piece);
    }
    Ok(hex(context.finish().as_ref()) == head.sha256)
}

fn read(segment: &FilePath) -> std::io::Result<(Vec<Bytes>, Head)> {
    let mut file = File::open(segment)?;
    let mut context = Context::new(&SHA256);
    let (mut pieces, mut size) = (Vec::new(), 0);
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        if read == 0 {
            break;
        }
        context.update(&piece);
        size += read as u64;
        pieces.push(Bytes::from(piece));
    }
    let end = last_head(segment)?.unwrap_or_default();
    let sha256 = hex(context.finish().as_ref());
    Ok((pieces, Head { seq: end.seq, hash: end.hash, trail: end.trail, size, sha256 }))
}
