//! The objects below a place.

use std::{future::poll_fn, time::Duration};

use object_store::{ObjectMeta, ObjectStore, path::Path};
use tokio::time::timeout;

use super::layout::HEADS;

/// The time that a part of a listing or of an object may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The recordings below a prefix, with the files that belong to them.
pub(super) async fn below(store: &dyn ObjectStore, prefix: &Path) -> object_store::Result<Vec<ObjectMeta>> {
    let mut found = Vec::new();
    let mut listing = store.list(Some(prefix));
    while let Some(object) = next(poll_fn(|context| listing.as_mut().poll_next(context))).await? {
        let is_head = object.location.parts().rev().nth(1).is_some_and(|part| part.as_ref() == HEADS);
        if !is_head {
            found.push(object);
        }
    }
    Ok(found)
}

/// The next part of a stream, within [`PATIENCE`].
pub(super) async fn next<T>(
    part: impl Future<Output = Option<object_store::Result<T>>>,
) -> object_store::Result<Option<T>> {
    let late = || object_store::Error::Generic { store: "store", source: "no answer within 60 s".into() };
    timeout(PATIENCE, part).await.map_err(|_| late())?.transpose()
}
