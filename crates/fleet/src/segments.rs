//! The segments in the folder of a trail.

use std::{fs, io, path::Path};

use contrail_recording::segment_number;

/// Their numbers, in order.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for item in fs::read_dir(folder)? {
        numbers.extend(item?.file_name().to_str().and_then(segment_number));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
