//! One segment into the store: once, whole, and compared where something is there already.

use std::{collections::VecDeque, fs::File, future::poll_fn, io::Read as _, path::Path as FilePath};

use bytes::Bytes;
use contrail_recording::end_of_chain;
use object_store::{Error, GetOptions, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path};
use serde::{Deserialize, Serialize};

use super::{layout, listing::next};

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

/// What is kept beside a segment's object. The hash covers all lines before it, so there is no further digest.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// Links of the chain up to its end.
    seq: u64,
    /// The last hash.
    hash: String,
    /// The trail's id.
    trail: String,
    /// Bytes of the segment.
    size: u64,
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
        match create(store, &location, pieces.iter().cloned().collect()).await {
            Ok(()) => {
                keep(store, &layout::head(trail, number), &head).await?;
                return Ok(Uploaded::Done);
            }
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if !is_equal(store, &location, pieces).await? {
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

/// Whether the object has this content.
async fn is_equal(
    store: &dyn ObjectStore,
    location: &Path,
    mut content: VecDeque<Bytes>,
) -> object_store::Result<bool> {
    let mut object = store.get_opts(location, GetOptions::default()).await?.into_stream();
    while let Some(mut piece) = next(poll_fn(|context| object.as_mut().poll_next(context))).await? {
        while !piece.is_empty() {
            let Some(own) = content.front_mut() else { return Ok(false) };
            let length = own.len().min(piece.len());
            if own.split_to(length) != piece.split_to(length) {
                return Ok(false);
            }
            if own.is_empty() {
                content.pop_front();
            }
        }
    }
    Ok(content.is_empty())
}

fn read(segment: &FilePath) -> std::io::Result<(VecDeque<Bytes>, Head)> {
    let mut file = File::open(segment)?;
    let (mut pieces, mut size) = (VecDeque::new(), 0);
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        if read == 0 {
            break;
        }
        size += read as u64;
        pieces.push_back(Bytes::from(piece));
    }
    let end = end_of_chain(segment)?.0.unwrap_or_default();
    Ok((pieces, Head { seq: end.seq, hash: end.hash, trail: end.trail, size }))
}
