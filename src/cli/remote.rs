//! Recordings beyond this machine, named by a URL where a command takes a file.

use std::path::PathBuf;

use super::Failure;
use crate::{
    fleet::{self, RemoteUrl},
    upstream::masked,
};

/// Replaces each argument that is such a URL by a local copy of what it names.
///
/// # Errors
///
/// The URL is malformed, or what it names cannot be had.
pub(super) fn localize<'a>(arguments: impl IntoIterator<Item = &'a mut PathBuf>) -> Result<(), Failure> {
    for argument in arguments {
        if !RemoteUrl::is_meant(argument.as_os_str()) {
            continue;
        }
        let text = argument.to_string_lossy();
        let url: RemoteUrl = text.parse().map_err(|error| format!("`{}`: {error}", masked(&text)))?;
        *argument = fleet::fetch(&url)?;
    }
    Ok(())
}
