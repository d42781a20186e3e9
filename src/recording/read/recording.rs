//! One recording, opened: an iterator of its entries.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    reader::Reader,
    reread::Rereader,
    walk::{fault_of, sources},
};
use crate::{
    recording::{
        Entry, Head, ReadError, ReadFault, entry::note::HeadTokens, fixture::commit, read::entry_texts::EntryTexts,
    },
    token::TokenCache,
};

/// Bytes read from a file at a time.
const CHUNK: usize = 256 << 10;

/// A recording that is being read: an iterator of its entries. After an error it ends.
pub struct Recording {
    pub(super) texts: EntryTexts,
    pub(super) reader: Reader,
    /// What entries can be read from again; none for standard input.
    file: Option<File>,
    pub(super) skipped: usize,
    carries_authorization: bool,
    buffer: Vec<u8>,
}

/// Opens one recording: a HAR file, a journal, or `-` for standard input. A folder stands for the only recording in it.
///
/// # Errors
///
/// [`ReadError`] if there is none, it cannot be read, it is neither HAR nor journal, or it is of a newer version.
pub fn open(path: &Path) -> Result<Recording, ReadError> {
    open_up_to(path, None)
}

/// Opens one recording and reads no more than its first `length` bytes: those of a live trail whose chain was checked.
///
/// # Errors
///
/// As [`open`].
pub fn open_up_to(path: &Path, length: Option<u64>) -> Result<Recording, ReadError> {
    let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
    if path.as_os_str() == "-" {
        return Recording::new(name, Box::new(BufReader::with_capacity(CHUNK, io::stdin())), None);
    }
    let fail = |fault| ReadError { source_name: name.clone(), fault };
    let (file, metadata) = opened(path).map_err(fail)?;
    if metadata.is_dir() {
        let inside = sources(path)?;
        return match inside.as_slice() {
            [only] => open_up_to(only, length),
            _ => Err(fail(ReadFault::NotHar {
                reason: format!("it is a folder of {} recordings; name one", inside.len()),
            })),
        };
    }
    let folder =
        path.parent().map(|parent| if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.into() });
    // A pipe can be read only once.
    let again = if metadata.is_file() { file.try_clone().map(Some) } else { Ok(None) };
    let again = again.map_err(|error| fail(ReadFault::Io(error)))?;
    let file = file.take(length.unwrap_or(u64::MAX));
    let mut recording = Recording::new(name, Box::new(BufReader::with_capacity(CHUNK, file)), folder)?;
    if again.is_some() && !recording.texts.knows_tokens() {
        recording.reader.shared.head = late_tokens(path).unwrap_or_default();
    }
    recording.reader.is_file = again.is_some();
    Ok(Recording { file: again, ..recording })
}

/// The tokens of a fixture whose `log._contrail` follows its entries; `None` for any other file. The file is read
/// through for them, unless its first entry shows that contrail did not write it.
fn late_tokens(path: &Path) -> Option<HeadTokens> {
    let (file, _) = opened(path).ok()?;
    let mut texts = EntryTexts::begin(String::new(), Box::new(BufReader::with_capacity(CHUNK, file))).ok()?;
    let mut text = Vec::new();
    texts.next(&mut text).ok()??;
    memchr::memmem::find(&text, b"\"_contrail\"")?;
    loop {
        text.clear();
        if texts.next(&mut text).ok()?.is_none() {
            return Some(texts.take_tokens());
        }
    }
}

/// Opens what the recording `path` is now.
fn opened(path: &Path) -> Result<(File, fs::Metadata), ReadFault> {
    let mut again = true;
    loop {
        let current = commit::current(path).map_err(|reason| ReadFault::Unfinished { reason })?;
        match File::open(&current) {
            // Another process has moved it to its place since.
            Err(error) if error.kind() == io::ErrorKind::NotFound && std::mem::take(&mut again) => {}
            file => {
                let file = file.map_err(fault_of)?;
                let metadata = file.metadata().map_err(fault_of)?;
                return Ok((file, metadata));
            }
        }
    }
}

/// Whether another tool's file carries no `Authorization` anywhere, as browsers export them: then its callers are
/// unknown. What can be read only once (standard input, a pipe) is taken as it is.
///
/// # Errors
///
/// As [`open`], and what is wrong with its entries.
pub(in crate::recording) fn strips_authorization(path: &Path) -> Result<bool, ReadError> {
    if path.as_os_str() == "-" || !path.is_file() {
        return Ok(false);
    }
    let mut recording = open(path)?;
    if recording.head().by_contrail {
        return Ok(false);
    }
    while let Some(entry) = recording.next() {
        entry?;
        if recording.carries_authorization() {
            return Ok(false);
        }
    }
    Ok(!recording.head().by_contrail)
}

impl Recording {
    /// Reads from `input`; body files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn new(name: String, input: Box<dyn BufRead + Send>, folder: Option<PathBuf>) -> Result<Self, ReadError> {
        let mut reader = Reader::new(&name, folder);
        let mut texts = EntryTexts::begin(name, input)?;
        reader.shared.head = texts.take_tokens();
        Ok(Self { texts, reader, file: None, skipped: 0, carries_authorization: false, buffer: Vec::new() })
    }

    /// Reads the tokens of other tools' files through `tokens` (its clock skew, its keys). Entries that contrail wrote
    /// hold their token's facts, as they were judged then.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<TokenCache>) -> Self {
        self.reader.shared.tokens = tokens;
        self
    }

    /// What its entries can be read from again; `None` for what can be read only once.
    #[must_use]
    pub fn rereader(&mut self) -> Option<Rereader> {
        self.file.take().map(|file| Rereader::new(file, self.reader.clone()))
    }

    /// The name that it was opened by.
    #[must_use]
    pub fn source(&self) -> &str {
        self.texts.name()
    }

    /// What the file states of itself so far; complete once the entries are read.
    #[must_use]
    pub fn head(&self) -> &Head {
        self.texts.head()
    }

    /// How many entries were left out so far because they are not HTTP.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Whether any entry so far carried an `Authorization` header. Browsers strip it: in a file that contrail did not
    /// write and in which none carries it, authentication cannot be judged.
    #[must_use]
    pub fn carries_authorization(&self) -> bool {
        self.carries_authorization
    }

    fn read_next(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            self.buffer.clear();
            let Some(position) = self.texts.next(&mut self.buffer)? else { return Ok(None) };
            if let Some(entry) = self.reader.entry(&self.buffer, position)? {
                self.carries_authorization |= entry.exchange.request.headers.contains("authorization");
                return Ok(Some(entry));
            }
            self.skipped += 1;
        }
    }
}

impl Iterator for Recording {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read_next();
        if next.is_err() {
            self.texts.end();
        }
        next.transpose()
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("name", &self.source()).field("head", self.head()).finish_non_exhaustive()
    }
}
