//! The names of a trail's objects.

use contrail_recording::segment_name;
use object_store::path::Path;

/// The folder of objects that are no recordings.
pub(super) const HEADS: &str = "heads";

/// The place of a trail.
pub(super) fn trail(prefix: &Path, id: &str) -> Path {
    prefix.clone().join(id)
}

/// The object of a segment.
pub(super) fn segment(trail: &Path, number: u64) -> Path {
    trail.clone().join(segment_name(number))
}

/// What proves a segment's object.
pub(super) fn head(trail: &Path, number: u64) -> Path {
    let name = segment_name(number);
    trail.clone().join(HEADS).join(format!("{}.json", name.trim_end_matches(".journal")))
}

/// Who writes the trail.
pub(super) fn about(trail: &Path) -> Path {
    trail.clone().join(HEADS).join("trail.json")
}
