//! Body files beside a HAR file (`_file`, as Playwright writes them): read only from inside the file's own folder, and
//! only if they are what the entry says they are.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fs, io,
    path::{Component, Path, PathBuf},
};

use bytes::Bytes;
use contrail_exchange::{
    hex::hex,
    json::{Document, Node},
};

use crate::fixture::{commit, names::digest_of};

/// The body files of one HAR file.
#[derive(Debug, Clone)]
pub(crate) struct BodyFiles {
    /// The HAR file's folder; `None` where there is none (standard input).
    folder: Option<PathBuf>,
    /// The folder of a fold that is not finished: what is in there comes first.
    first: Option<PathBuf>,
    /// The last few files, since one is shared by many entries.
    held: HashMap<String, (Bytes, Option<String>)>,
    held_bytes: usize,
}

impl BodyFiles {
    /// Maximum bytes of files that are held at a time.
    const MAX_HELD: usize = 8 << 20;

    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        let (first, folder) = match folder.map(commit::body_folders) {
            Some((first, folder)) => (first, Some(folder)),
            None => (None, None),
        };
        Self { folder, first, held: HashMap::new(), held_bytes: 0 }
    }

    /// Files that have to have this SHA-256, where the entry says one.
    pub(crate) fn expecting<'a>(&'a mut self, sha256: Option<&'a str>) -> Expecting<'a> {
        Expecting { files: self, sha256 }
    }

    /// The content of a body file; otherwise why it cannot be used, as the end of a sentence about it.
    fn read(&mut self, name: &str, sha256: Option<&str>) -> Result<Bytes, String> {
        if let Some((held, digest)) = self.held.get(name)
            && (sha256.is_none() || sha256 == digest.as_deref())
        {
            return Ok(held.clone());
        }
        let folder =
            self.folder.as_deref().ok_or("cannot be read: standard input has no folder; name the file instead")?;
        let bytes: Bytes = match self.first.as_deref().map(|first| read_inside(first, name)) {
            Some(Ok(bytes)) => bytes,
            _ => read_inside(folder, name)?,
        }
        .into();
        if let Some(sha256) = sha256 {
            check(&bytes, sha256)?;
        }
        if bytes.len() <= Self::MAX_HELD {
            if self.held_bytes + bytes.len() > Self::MAX_HELD {
                self.held.clear();
                self.held_bytes = 0;
            }
            self.held_bytes += bytes.len();
            self.held.insert(name.to_owned(), (bytes.clone(), sha256.map(str::to_owned)));
        }
        Ok(bytes)
    }
}

/// [`BodyFiles`], for one body.
#[derive(Debug)]
pub(crate) struct Expecting<'a> {
    files: &'a mut BodyFiles,
    sha256: Option<&'a str>,
}

impl Expecting<'_> {
    /// As [`BodyFiles::read`].
    pub(crate) fn read(&mut self, name: &str) -> Result<Bytes, String> {
        self.files.read(name, self.sha256)
    }
}

/// Whether these are the bytes that were recorded; if not, why, as the end of a sentence.
fn check(bytes: &[u8], sha256: &str) -> Result<(), String> {
    let is = |bytes: &[u8]| hex(&digest_of(bytes)).eq_ignore_ascii_case(sha256);
    if is(bytes) {
        return Ok(());
    }
    let unix: Vec<u8> = {
        let mut left = bytes.iter().peekable();
        std::iter::from_fn(|| match (left.next(), left.peek()) {
            (Some(b'\r'), Some(b'\n')) => left.next().copied(),
            (byte, _) => byte.copied(),
        })
        .collect()
    };
    Err(if is(&unix) {
        "has other line endings than were recorded; in git, `* -text` in the folder's .gitattributes keeps them, and a \
         new checkout brings them back"
    } else {
        "was changed, or belongs to another recording; take the folder from where it was kept, or, if you edited the file \
         on purpose, accept it with `contrail redact --in-place FOLDER`"
    }
    .to_owned())
}

/// The files beside a HAR file that hold its bodies and can be read, in the order of its entries; none for another
/// file.
pub fn body_files(har: &Path) -> Vec<PathBuf> {
    let Ok(content) = fs::read(har) else { return Vec::new() };
    let (first, folder) = commit::body_folders(har.parent().unwrap_or(Path::new("")).to_path_buf());
    let found = |name: &String| first.as_ref().and_then(|first| find_inside(first, name).ok());
    let names = body_file_names(&content.into());
    names.iter().filter_map(|name| found(name).or_else(|| find_inside(&folder, name).ok())).collect()
}

/// The names of body files in a HAR file's text, each once, in the order of its entries.
pub fn body_file_names(har: &Bytes) -> Vec<String> {
    // Most files name none.
    if memchr::memmem::find(har, b"\"_file\"").is_none() {
        return Vec::new();
    }
    let Some(document) = Document::parsed_or_mended(har) else { return Vec::new() };
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    for entry in document.root().get("log").and_then(|log| log.get("entries")).into_iter().flat_map(Node::items) {
        for (message, body) in [("request", "postData"), ("response", "content")] {
            let name = entry.get(message).and_then(|message| message.get(body)?.get("_file")?.as_str());
            names.extend(name.map(Cow::into_owned).filter(|name| seen.insert(name.clone())));
        }
    }
    names
}

/// The body files that a HAR file's text names beside it, each with the reason why it cannot be read, as a clause.
pub fn named_body_files(har: &Path, text: &Bytes) -> Vec<(PathBuf, Option<String>)> {
    let folder = har.parent().unwrap_or(Path::new(""));
    let fault = |name: &str| find_inside(folder, name).err().map(|reason| format!("it {reason}"));
    body_file_names(text).into_iter().map(|name| (folder.join(&name), fault(&name))).collect()
}

/// Reads a regular file below `folder`, following no link on the way.
fn read_inside(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let path = find_inside(folder, name)?;
    fs::read(&path).map_err(|error| format!("cannot be read: {error}"))
}

/// The path of a regular file below `folder`, with no link on the way.
fn find_inside(folder: &Path, name: &str) -> Result<PathBuf, String> {
    // Recordings travel: what is absolute or leaves the folder on another system is refused here, too.
    let windows = name.contains('\\') || name.as_bytes().get(1) == Some(&b':');
    if windows || name.contains('\0') || Path::new(name).has_root() {
        return Err("is refused: its name has to be relative, with `/` between its parts".to_owned());
    }
    let mut path = folder.to_path_buf();
    let mut parts = Path::new(name).components().peekable();
    while let Some(part) = parts.next() {
        match part {
            Component::CurDir => continue,
            Component::Normal(part) => path.push(part),
            _ => return Err("is refused: it lies outside the recording's folder".to_owned()),
        }
        let metadata = fs::symlink_metadata(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "is missing; copy it beside the HAR file".to_owned(),
            _ => format!("cannot be read: {error}"),
        })?;
        let kind = metadata.file_type();
        if kind.is_symlink() {
            return Err("is refused: it is a link (or lies behind one); put the file itself there".to_owned());
        }
        if parts.peek().is_none() && !kind.is_file() {
            return Err("is refused: it is not a regular file".to_owned());
        }
    }
    if path == folder {
        return Err("is refused: it is not a regular file".to_owned());
    }
    Ok(path)
}
