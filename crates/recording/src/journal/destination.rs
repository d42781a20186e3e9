//! The file in a trail's folder that names the one place beyond this machine which the trail goes to.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use super::segments::DESTINATION;
use crate::{
    WriteError,
    disk::{failed_to, private},
};

/// Refuses a folder whose trail goes to another place: each place would lack segments of the chain.
pub(super) fn refuse_other(folder: &Path, destination: Option<&str>) -> Result<(), WriteError> {
    let noted = noted(folder).map_err(failed_to("read", &folder.join(DESTINATION)))?;
    let Some(noted) = noted.filter(|noted| Some(&**noted) != destination) else { return Ok(()) };
    let reason = match destination {
        Some(other) => format!(
            "its trail goes to {noted}, not to {other}; name another folder with --trail-buffer DIR, or the same URL"
        ),
        None => format!(
            "its trail goes to {noted}; name another folder with --trail DIR, or this URL with --trail and the folder with --trail-buffer"
        ),
    };
    Err(WriteError::Unwritable { path: folder.to_path_buf(), reason })
}

/// Notes the place that a trail goes to, unless one is noted. The place has taken a first object or connection, and
/// nothing of the trail yet. Its folder has to be locked.
///
/// # Errors
///
/// [`WriteError::Io`].
pub fn note(folder: &Path, destination: &str) -> Result<(), WriteError> {
    let path = folder.join(DESTINATION);
    if noted(folder).map_err(failed_to("read", &path))?.is_some() {
        return Ok(());
    }
    let written = private().write(true).create(true).truncate(true).open(&path).and_then(|mut file| {
        file.write_all(format!("{destination}\n").as_bytes())?;
        file.sync_all()?;
        File::open(folder)?.sync_all()
    });
    written.map_err(failed_to("write", &path))
}

/// Whether this is the place that was noted: it has taken something before.
///
/// # Errors
///
/// [`WriteError::Io`].
pub fn is_noted(folder: &Path, destination: &str) -> Result<bool, WriteError> {
    let noted = noted(folder).map_err(failed_to("read", &folder.join(DESTINATION)))?;
    Ok(noted.as_deref() == Some(destination))
}

/// What is noted. A line without an end was broken off, before anything was sent.
fn noted(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(folder.join(DESTINATION)) {
        Ok(text) => Ok(text.strip_suffix('\n').map(str::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_kept_and_a_line_that_was_broken_off_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |destination: Option<&str>| refuse_other(folder.path(), destination).is_err();
        fs::write(folder.path().join(DESTINATION), "s3://aud").unwrap();
        assert!(!refused(None) && !refused(Some("s3://audit")));
        assert!(!is_noted(folder.path(), "s3://aud").unwrap(), "nor did it take anything");
        for place in ["s3://audit", "s3://other"] {
            note(folder.path(), place).unwrap();
        }
        assert!(refused(None) && refused(Some("s3://other")) && !refused(Some("s3://audit")));
        assert!(is_noted(folder.path(), "s3://audit").unwrap() && !is_noted(folder.path(), "s3://other").unwrap());
        fs::write(folder.path().join(DESTINATION), b"\xff\n").unwrap();
        assert!(refused(Some("s3://audit")) && note(folder.path(), "s3://audit").is_err());
    }
}
