//! Folders on this machine that belong to a place beyond it.

use std::{env, path::PathBuf};

use contrail_exchange::hex::hex;
use ring::digest::{SHA256, digest};

use super::RemoteUrl;

/// Where a trail waits for its upload if no option says so: a folder of the URL's own in
/// `$XDG_STATE_HOME/contrail/trails`, else in `~/.local/state/contrail/trails`; `None` where the environment names
/// neither.
#[must_use]
pub fn buffer_of(url: &RemoteUrl) -> Option<PathBuf> {
    Some(of_user("XDG_STATE_HOME", ".local/state")?.join("contrail/trails").join(name_of(&url.to_string())))
}

/// Where copies of what is beyond this machine are kept: `$XDG_CACHE_HOME/contrail`, else `~/.cache/contrail`; `None`
/// where the environment names neither.
#[must_use]
pub fn cache() -> Option<PathBuf> {
    Some(of_user("XDG_CACHE_HOME", ".cache")?.join("contrail"))
}

fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).filter(|path| path.is_absolute()).or_else(|| set("HOME").map(|home| home.join(below_home)))
}

/// A name for a folder: what can be read of a text, and a digest, so that no two texts share one.
pub(super) fn name_of(text: &str) -> String {
    const READABLE: usize = 60;
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    let mut name: String = text.replace("://", "-").chars().map(plain).take(READABLE).collect();
    let digest = hex(digest(&SHA256, text.as_bytes()).as_ref());
    name.push('-');
    name.push_str(&digest[..12]);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_can_be_read_and_differ() {
        let names = ["s3://audit/eu", "s3://audit-eu", "s3://audit/eu/../.."].map(name_of);
        assert!(names[0].starts_with("s3-audit-eu-") && names[1].starts_with("s3-audit-eu-"), "{names:?}");
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| !name.contains('/') && name.len() < 80), "{names:?}");
    }
}
