//! The names of the files in a trail's folder.

use std::path::Path;

/// The file whose lock says that a process writes to the trail.
pub(crate) const LOCK: &str = "lock";

/// The file that keeps how much of the trail is elsewhere already.
pub const SENT: &str = "sent";

/// The file that names the journals of recordings that still need segments which are elsewhere already.
pub const HELD: &str = "held";

/// The file that names the place beyond this machine which the trail goes to.
pub(crate) const DESTINATION: &str = "destination";

/// The files beside the segments that contrail keeps there itself.
pub(crate) const BESIDE: [&str; 4] = [LOCK, SENT, HELD, DESTINATION];

/// The file of a trail's segment.
pub fn segment_name(number: u64) -> String {
    format!("trail-{number:08}.journal")
}

/// The number of the segment that a file is named after.
pub fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("trail-")?.strip_suffix(".journal")?.parse().ok()
}

/// Whether a file has the name of a segment, and so has to hold a chain.
pub(crate) fn is_segment(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).and_then(segment_number).is_some()
}
