//! The files of authorities: where they are, who can read them, and how they are written.
//!
//! An authority appears in its folder whole or not at all: its files are written to a draft beside it, which is renamed
//! into place. A process that is killed leaves a draft or a replaced folder behind; both have hidden names, and the
//! next one removes those that are an hour old.

use std::{
    ffi::OsStr,
    fs, io,
    io::Write as _,
    net::IpAddr,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rcgen::KeyPair;
use tempfile::TempDir;

use super::{
    certificates::{AUTHORITY_LIFETIME, authority_params},
    error::AuthorityError,
    location,
};

/// The certificate that clients trust.
pub(super) const CERTIFICATE: &str = "ca.pem";
/// Its key, which never leaves the folder.
pub(super) const KEY: &str = "ca-key.pem";
/// Hosts and expiry.
const FACTS: &str = "authority.json";

/// Prefixes of folders that are not in place.
const DRAFT: &str = ".draft-";
const REPLACED: &str = ".replaced-";

/// Age of a hidden folder that no running process uses any more.
const MIN_LEFTOVER_AGE: Duration = Duration::from_hours(1);

/// Where authorities are kept when `--ca-dir` says nothing: `$XDG_DATA_HOME/contrail/ca`, else
/// `~/.local/share/contrail/ca`.
///
/// # Errors
///
/// [`AuthorityError::NoHome`] where the environment names neither.
pub fn default_folder() -> Result<PathBuf, AuthorityError> {
    location::of_user().ok_or(AuthorityError::NoHome)
}

/// Keeps other processes from reading or replacing the authorities below `base` while one is out of its place; `None`
/// where there is no such folder yet.
pub(super) fn lock(base: &Path) -> Result<Option<fs::File>, AuthorityError> {
    match fs::File::open(base) {
        Ok(folder) => folder.lock().map(|()| Some(folder)).map_err(at(base)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(base)(error)),
    }
}

/// The folders of authorities below `base`, by name.
pub(super) fn folders(base: &Path) -> Result<Vec<PathBuf>, AuthorityError> {
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(at(base))?,
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(is_folder_name))
        .filter(|path| path.join(FACTS).is_file() || path.join(KEY).is_file())
        .collect();
    folders.sort();
    Ok(folders)
}

/// Lower case, no trailing dot, no brackets, sorted, loopback left out (it is always included).
pub(super) fn canonical(hosts: &[String]) -> Vec<String> {
    let mut hosts: Vec<String> = hosts
        .iter()
        .map(|host| host.trim_start_matches('[').trim_end_matches([']', '.']).to_ascii_lowercase())
        .filter(|host| host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
        .collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

pub(super) fn folder_name(hosts: &[String]) -> String {
    let Some(first) = hosts.first() else { return "loopback".into() };
    let digest = ring::digest::digest(&ring::digest::SHA256, hosts.join("\n").as_bytes());
    let digest = digest.as_ref()[..4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let safe: String = first.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("{}-{digest:08x}", &safe[..safe.len().min(80)])
}

/// Whether [`folder_name`] makes such names.
fn is_folder_name(name: &str) -> bool {
    let digest = |digest: &str| digest.len() == 8 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    name == "loopback" || name.rsplit_once('-').is_some_and(|(host, end)| !host.starts_with('.') && digest(end))
}

/// Whether an authority, usable or not, is in this folder.
pub(super) fn is_made(folder: &Path) -> bool {
    [CERTIFICATE, KEY, FACTS].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Makes the authority of a folder, unless another process was faster.
pub(super) fn make(base: &Path, folder: &Path, hosts: &[String]) -> Result<(), AuthorityError> {
    let draft = draft(base, hosts)?;
    place(draft, folder)
}

/// Replaces the authority of a folder by a new one. The old one stays in place until the new one is whole; files that
/// are not the authority's stay.
pub(super) fn replace(base: &Path, folder: &Path, hosts: &[String]) -> Result<(), AuthorityError> {
    let draft = draft(base, hosts)?;
    if let Some(old) = set_aside(base, folder)? {
        keep_others(&old, draft.path())?;
        let placed = place(draft, folder);
        fs::remove_dir_all(&old).map_err(at(&old))?;
        return placed;
    }
    place(draft, folder)
}

/// Removes the authority of a folder, and the folder if it holds nothing else.
pub(super) fn remove(folder: &Path) -> Result<(), AuthorityError> {
    for name in [KEY, CERTIFICATE, FACTS] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => {}
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(at(folder)(error)),
        _ => Ok(()),
    }
}

/// An authority, whole, in a folder that is not in place.
fn draft(base: &Path, hosts: &[String]) -> Result<TempDir, AuthorityError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(base).map_err(at(base))?;
    remove_leftovers(base);
    let now = SystemTime::now();
    let key = KeyPair::generate()?;
    let certificate = authority_params(hosts, now)?.self_signed(&key)?;
    let expires = now + AUTHORITY_LIFETIME;
    let facts = serde_json::json!({
        "hosts": hosts,
        "expires": expires.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs()),
    });
    let draft = hidden(base, DRAFT)?;
    let write = |name: &str, content: &str| {
        let path = draft.path().join(name);
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(at(&path))
    };
    write(KEY, &key.serialize_pem())?;
    write(CERTIFICATE, &certificate.pem())?;
    write(FACTS, &facts.to_string())?;
    Ok(draft)
}

fn hidden(base: &Path, prefix: &str) -> Result<TempDir, AuthorityError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(fs::Permissions::from_mode(0o700));
    builder.tempdir_in(base).map_err(at(base))
}

/// Renames a draft into place. Where another process was faster, its authority is the one that counts.
fn place(draft: TempDir, folder: &Path) -> Result<(), AuthorityError> {
    match fs::rename(draft.path(), folder) {
        Ok(()) => {
            let _ = draft.keep();
            Ok(())
        }
        Err(_) if is_made(folder) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            let reason = format!("it holds other files, and no `{CERTIFICATE}`");
            Err(AuthorityError::Damaged { path: folder.to_owned(), reason })
        }
        Err(error) => Err(at(folder)(error)),
    }
}

/// Takes a folder out of its place, if it is there.
fn set_aside(base: &Path, folder: &Path) -> Result<Option<PathBuf>, AuthorityError> {
    // A rename replaces an empty folder.
    let aside = hidden(base, REPLACED)?;
    match fs::rename(folder, aside.path()) {
        Ok(()) => Ok(Some(aside.keep())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(folder)(error)),
    }
}

/// Moves what is not the authority's from its old folder to the new one.
fn keep_others(old: &Path, new: &Path) -> Result<(), AuthorityError> {
    for entry in fs::read_dir(old).map_err(at(old))? {
        let entry = entry.map_err(at(old))?;
        if [CERTIFICATE, KEY, FACTS].iter().all(|name| entry.file_name() != *name) {
            fs::rename(entry.path(), new.join(entry.file_name())).map_err(at(&entry.path()))?;
        }
    }
    Ok(())
}

/// Removes what processes that were killed left behind. Failures do not matter: nothing uses these folders.
fn remove_leftovers(base: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age >= MIN_LEFTOVER_AGE))
    };
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if (name.starts_with(DRAFT) || name.starts_with(REPLACED)) && is_old(&entry) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Hosts and expiry.
pub(super) fn read_facts(folder: &Path) -> Result<(Vec<String>, SystemTime), AuthorityError> {
    let path = folder.join(FACTS);
    let damaged = |reason: &str| AuthorityError::Damaged { path: path.clone(), reason: reason.to_owned() };
    let text = fs::read_to_string(&path).map_err(of(&path))?;
    let facts: serde_json::Value = serde_json::from_str(&text).map_err(|error| damaged(&error.to_string()))?;
    let hosts = facts["hosts"]
        .as_array()
        .and_then(|hosts| hosts.iter().map(|host| host.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>())
        .ok_or_else(|| damaged("it names no hosts"))?;
    let expires = facts["expires"].as_u64().ok_or_else(|| damaged("it names no expiry"))?;
    Ok((hosts, UNIX_EPOCH + Duration::from_secs(expires)))
}

/// Refuses a file or folder that others can read.
pub(super) fn private(path: &Path) -> Result<(), AuthorityError> {
    let mode = fs::metadata(path).map_err(of(path))?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(AuthorityError::Exposed { path: path.to_owned(), mode }) }
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> AuthorityError + use<> {
    let path = path.to_owned();
    |source| AuthorityError::Io { path, source }
}

/// The same for a file that an authority must have.
pub(super) fn of(path: &Path) -> impl FnOnce(io::Error) -> AuthorityError + use<> {
    let path = path.to_owned();
    |source| match source.kind() {
        io::ErrorKind::NotFound => AuthorityError::Damaged { path, reason: "the file is missing".to_owned() },
        _ => AuthorityError::Io { path, source },
    }
}
