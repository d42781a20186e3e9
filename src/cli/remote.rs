//! Recordings beyond this machine, named by a URL where a command takes a file.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use contrail_fleet::{self as fleet, RemoteUrl, Scheme};
use contrail_proxy::upstream::masked;

use super::Failure;

/// The local copies of this process, and the URL of each: people know the URL, and every machine has the same.
static COPIES: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

/// A file as output names it: a copy of what a URL names, or of something below it, by that URL.
pub(super) fn shown(path: &Path) -> String {
    let copies = COPIES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let below =
        |(copy, url): &(PathBuf, String)| Some((path.strip_prefix(copy).ok()?.display().to_string(), url.clone()));
    match copies.iter().find_map(below) {
        Some((rest, url)) if rest.is_empty() => url,
        Some((rest, url)) => format!("{url}/{rest}"),
        None => path.display().to_string(),
    }
}

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
        // A folder of this machine is no copy.
        if url.scheme() != Scheme::File {
            note(argument, &url.to_string());
        }
    }
    Ok(())
}

fn note(copy: &Path, url: &str) {
    let mut copies = COPIES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    copies.push((copy.to_path_buf(), url.to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_by_the_url_of_what_it_is_a_copy_of() {
        note(Path::new("/cache/x/objects/p1"), "s3://bucket/p1");
        for (path, name) in [
            ("/cache/x/objects/p1/e6/trail-00000001.journal", "s3://bucket/p1/e6/trail-00000001.journal"),
            ("/cache/x/objects/p1", "s3://bucket/p1"),
            ("/cache/x/objects/p10/a.har", "/cache/x/objects/p10/a.har"),
            ("a.har", "a.har"),
        ] {
            assert_eq!(shown(Path::new(path)), name);
        }
    }
}
