//! The names of the files in a trail's folder.

use std::path::Path;

/// The file whose lock says that a process writes to the trail.
pub(in crate::recording) const LOCK: &str = "lock";

/// The file that keeps how much of the trail is elsewhere already.
pub(crate) const SENT: &str = "sent";

/// The file that names the journals of recordings that still need segments which are elsewhere already.
pub(crate) const HELD: &str = "held";

/// The file that names the place beyond this machine which the trail goes to.
pub(in crate::recording) const DESTINATION: &str = "destination";

/// The files beside the segments that contrail keeps there itself.
pub(in crate::recording) const BESIDE: [&str; 4] = [LOCK, SENT, HELD, DESTINATION];

pub(crate) fn segment_name(number: u64) -> String {
    format!("trail-{number:08}.journal")
}

pub(crate) fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("trail-")?.strip_suffix(".journal")?.parse().ok()
}

/// Whether a file has the name of a segment, and so has to hold a chain.
pub(in crate::recording) fn is_segment(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).and_then(segment_number).is_some()
}
