//! Where a fixture is written: one self-contained file, or a folder with a file per distinct body.
//!
//! Nothing on disk changes where the fixture comes out as it was; what changes is replaced whole, the HAR file last.

use std::{
    collections::{HashMap, HashSet},
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::{
    LaidOut, VERSION, WriteError,
    disk::{Replacement, folder_of, make_folder, refused},
    har,
    journal::{Journal, file_digest},
    layout,
    read::open,
    write::Place,
};
use crate::{exchange::Body, json::Document};

/// A fixture that is being written.
#[derive(Debug)]
pub(super) struct Target {
    har: PathBuf,
    /// The folder, in the layout with body files.
    folder: Option<PathBuf>,
    text: tempfile::NamedTempFile,
    buffered: Vec<u8>,
    /// Where in the text the day stands.
    day_at: u64,
    day: String,
    first: bool,
    /// Entries so far, by the operation's name in files.
    numbers: HashMap<String, usize>,
    /// Body files by content.
    files: HashMap<[u8; 32], String>,
    changed: bool,
}

/// Which body of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// What is the same in the whole file.
#[derive(Debug, Clone)]
pub(super) struct Preamble {
    /// The day to state; `None` for the one that stands there already, else `today`.
    pub(super) recorded: Option<String>,
    pub(super) today: String,
    pub(super) unproven: bool,
}

/// Whether a fixture of this name is one file (otherwise a folder).
#[must_use]
pub fn is_single_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har"))
}

/// The HAR file of the fixture `path`, in either layout.
#[must_use]
pub fn har_of(path: &Path) -> PathBuf {
    if is_single_file(path) {
        return path.to_path_buf();
    }
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = named(path).or_else(|| named(&fs::canonicalize(path).ok()?)).unwrap_or_else(|| "fixture".to_owned());
    path.join(format!("{name}.har"))
}

impl Target {
    /// Begins the fixture `path`; its folders are made.
    pub(super) fn begin(path: &Path, preamble: &Preamble) -> Result<Self, WriteError> {
        let folder = (!is_single_file(path)).then(|| path.to_path_buf());
        make_folder(folder.as_deref().unwrap_or_else(|| folder_of(path)))?;
        let har = har_of(path);
        let stated = || open(&har).ok().and_then(|recording| recording.head().recorded.clone());
        let day = preamble.recorded.clone().or_else(stated).filter(|day| day.len() == preamble.today.len());
        let day = day.unwrap_or_else(|| preamble.today.clone());
        let text = tempfile::Builder::new()
            .prefix(".contrail-")
            .tempfile_in(folder_of(&har))
            .map_err(refused("write beside", &har))?;
        let mut head = format!(
            "{{\n  \"log\": {{\n    \"version\": \"1.2\",\n    \"creator\": {{ \"name\": \"contrail\", \"version\": \"{VERSION}\" }},\n    \"_contrail\": {{ \"version\": {VERSION}, \"recorded\": \""
        );
        let day_at = head.len() as u64;
        head.push_str(&day);
        head.push_str(if preamble.unproven { "\", \"unproven\": true },\n" } else { "\" },\n" });
        head.push_str("    \"entries\": [");
        Ok(Self {
            har,
            folder,
            text,
            buffered: head.into_bytes(),
            day_at,
            day,
            first: true,
            numbers: HashMap::new(),
            files: HashMap::new(),
            changed: false,
        })
    }

    /// The next entry's number within its operation, from 1, and the operation's name in files.
    pub(super) fn number(&mut self, operation: Option<&str>) -> (String, usize) {
        let name: String = operation
            .unwrap_or("undocumented")
            .chars()
            .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' })
            .take(100)
            .collect();
        let number = self.numbers.entry(name.to_ascii_lowercase()).or_default();
        *number += 1;
        (name, *number)
    }

    /// Puts a body where it belongs: the name of its file, and whether it is laid out there.
    pub(super) fn body(
        &mut self,
        body: &Body,
        (operation, number): &(String, usize),
        side: Side,
        json: bool,
    ) -> Result<Option<(String, bool)>, WriteError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        if body.content.is_empty() {
            return Ok(None);
        }
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, &body.content).as_ref());
        let pretty = layout::pretty_body(&body.content);
        let laid_out = pretty.is_some();
        if let Some(name) = self.files.get(&key) {
            return Ok(Some((name.clone(), laid_out)));
        }
        let side = if side == Side::Request { "request" } else { "response" };
        let extension = match std::str::from_utf8(&body.content) {
            _ if json || laid_out => "json",
            Ok(_) => "txt",
            Err(_) => "bin",
        };
        let name = format!("{operation}-{number:02}-{side}.{extension}");
        let path = folder.join(&name);
        let bytes = pretty.as_deref().unwrap_or(&body.content);
        if !same_file(&path, bytes) {
            let mut file = Replacement::begin(&path)?;
            file.write(bytes)?;
            file.finish()?;
            self.changed = true;
        }
        self.files.insert(key, name.clone());
        Ok(Some((name, laid_out)))
    }

    /// Writes one entry, encoded with its bodies where [`Target::body`] put them.
    pub(super) fn entry(&mut self, encoded: Vec<u8>) -> Result<(), WriteError> {
        self.buffered.extend_from_slice(if std::mem::take(&mut self.first) { b"\n      " } else { b",\n      " });
        match Document::parse(Bytes::from(encoded)) {
            Ok(document) => layout::lay_out(&document, 6, &mut self.buffered),
            Err(error) => {
                let error = io::Error::other(format!("an entry did not come out as JSON: {error:?}"));
                return Err(refused("write", &self.har)(error));
            }
        }
        if self.buffered.len() > 1 << 20 {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.text.write_all(&self.buffered).map_err(refused("write", &self.har))?;
        self.buffered.clear();
        Ok(())
    }

    /// Puts the fixture into its place; `journal` says so before and after. Whether anything on disk changed.
    pub(super) fn finish(mut self, today: &str, keep_day: bool, journal: Option<&Journal>) -> Result<bool, WriteError> {
        self.buffered.extend_from_slice(if self.first { b"]\n  }\n}\n" } else { b"\n    ]\n  }\n}\n" });
        self.flush()?;
        let unneeded = match &self.folder {
            Some(_) => self.unneeded_files(),
            None => HashSet::new(),
        };
        let equal = same_content(self.text.as_file_mut(), &self.har).map_err(refused("read", &self.har))?;
        if equal && !self.changed && unneeded.is_empty() {
            journal.map_or(Ok(()), Journal::folded)?;
            return Ok(false);
        }
        if !keep_day && self.day != today {
            let file = self.text.as_file_mut();
            file.seek(SeekFrom::Start(self.day_at))
                .and_then(|_| file.write_all(today.as_bytes()))
                .map_err(refused("write", &self.har))?;
        }
        self.text.as_file().sync_all().map_err(refused("write", &self.har))?;
        if let Some(journal) = journal {
            let digest = file_digest(self.text.as_file_mut()).map_err(refused("read", &self.har))?;
            journal.folding(&self.har, &digest)?;
        }
        self.text.persist(&self.har).map_err(|error| refused("replace", &self.har)(error.error))?;
        if let Some(folder) = &self.folder {
            for name in unneeded {
                let path = folder.join(name);
                fs::remove_file(&path).map_err(refused("remove", &path))?;
            }
        }
        journal.map_or(Ok(()), Journal::folded)?;
        Ok(true)
    }

    /// Body files that the fixture had and has no more. Only names that are ours by their form are ever taken away.
    fn unneeded_files(&self) -> HashSet<String> {
        let kept: HashSet<&String> = self.files.values().collect();
        let Ok(mut old) = fs::File::open(&self.har) else { return HashSet::new() };
        let mut text = Vec::new();
        if old.read_to_end(&mut text).is_err() {
            return HashSet::new();
        }
        let Ok(old) = serde_json::from_slice::<Referring>(&text) else { return HashSet::new() };
        let names = old.log.entries.into_iter().flat_map(|entry| {
            let request = entry.request.post_data.and_then(|post| post.file);
            let response = entry.response.content.and_then(|content| content.file);
            [request, response].into_iter().flatten().map(|name| name.0.into_owned())
        });
        names.filter(|name| !kept.contains(name) && is_body_file_name(name)).collect()
    }
}

/// As much of a fixture as tells which body files it uses.
#[derive(Deserialize)]
struct Referring<'a> {
    #[serde(borrow)]
    log: ReferringLog<'a>,
}

#[derive(Deserialize)]
struct ReferringLog<'a> {
    #[serde(borrow)]
    entries: Vec<ReferringEntry<'a>>,
}

#[derive(Deserialize)]
struct ReferringEntry<'a> {
    #[serde(borrow)]
    request: ReferringRequest<'a>,
    #[serde(borrow)]
    response: ReferringResponse<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferringRequest<'a> {
    #[serde(borrow)]
    post_data: Option<ReferringFile<'a>>,
}

#[derive(Deserialize)]
struct ReferringResponse<'a> {
    #[serde(borrow)]
    content: Option<ReferringFile<'a>>,
}

#[derive(Deserialize)]
struct ReferringFile<'a> {
    #[serde(borrow, rename = "_file")]
    file: Option<har::Text<'a>>,
}

/// `<operation>-<nn>-request.json` and its like: one plain name.
fn is_body_file_name(name: &str) -> bool {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    name.split_once('.').is_some_and(|(stem, extension)| {
        matches!(extension, "json" | "txt" | "bin")
            && plain(stem)
            && stem
                .strip_suffix("-request")
                .or_else(|| stem.strip_suffix("-response"))
                .and_then(|stem| stem.rsplit_once('-'))
                .is_some_and(|(_, number)| number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn same_file(path: &Path, bytes: &[u8]) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == bytes.len() as u64)
        && fs::read(path).is_ok_and(|held| held == bytes)
}

/// Whether the file at `path` holds what `text` does.
fn same_content(text: &mut fs::File, path: &Path) -> io::Result<bool> {
    let mut held = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if held.metadata()?.len() != text.metadata()?.len() {
        return Ok(false);
    }
    text.seek(SeekFrom::Start(0))?;
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let read = text.read(&mut left)?;
        if read == 0 {
            return Ok(true);
        }
        held.read_exact(&mut right[..read])?;
        if left[..read] != right[..read] {
            return Ok(false);
        }
    }
}

/// Where an entry's bodies stand.
pub(super) fn places<'a>(
    request: Option<&'a (String, bool)>,
    response: Option<&'a (String, bool)>,
) -> (Place<'a>, Place<'a>, LaidOut) {
    let place = |held: Option<&'a (String, bool)>| held.map_or(Place::Inline, |(name, _)| Place::File(name));
    let laid_out = |held: Option<&(String, bool)>| held.is_some_and(|(_, laid_out)| *laid_out);
    (place(request), place(response), LaidOut { request: laid_out(request), response: laid_out(response) })
}
