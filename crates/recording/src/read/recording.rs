//! One recording, opened: an iterator of its entries.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    os::{fd::AsFd as _, unix::fs::FileExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use contrail_exchange::token::TokenCache;

use super::{
    reader::Reader,
    walk::{fault_of, sources},
};
use crate::{
    Entry, Head, ReadError, ReadFault,
    entry::note::HeadTokens,
    read::entry_texts::{EntryTexts, ReadTo},
};

/// Bytes read from a file at a time.
const CHUNK: usize = 256 << 10;

/// A recording that is being read: an iterator of its entries. After an error it ends.
pub struct Recording {
    pub(super) texts: EntryTexts,
    pub(super) reader: Reader,
    pub(super) skipped: usize,
    buffer: Vec<u8>,
    /// Bytes of its file that were read.
    read: Arc<AtomicU64>,
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
    Opened::of(path)?.begin(length)
}

/// As [`open_up_to`], for exchanges that are judged by their credentials: where no entry of another tool's file carries
/// `Authorization`, as browsers export them, those of all its entries are unknown. Such a file is read twice, so what
/// comes only once (standard input, a pipe) is copied into a temporary file first.
///
/// # Errors
///
/// As [`open`].
pub fn open_to_judge(path: &Path, length: Option<u64>) -> Result<Recording, ReadError> {
    let opened = Opened::of(path)?.spooled()?;
    let mut recording = opened.begin(length)?;
    if !recording.head().by_contrail {
        recording.reader.shared.strips_authorization = strips_authorization(opened.begin(length)?);
    }
    Ok(recording)
}

/// As [`open_to_judge`], for another tool's file that was converted in memory: `har` in the place of the file `path`.
///
/// # Errors
///
/// As [`open`].
pub fn open_text(path: &Path, har: &Bytes) -> Result<Recording, ReadError> {
    let begin = || Recording::new(path.display().to_string(), Box::new(io::Cursor::new(har.clone())), None);
    let mut recording = begin()?;
    recording.reader.shared.strips_authorization = strips_authorization(begin()?);
    Ok(recording)
}

/// Opens a journal that was read before, and reads what was appended since.
///
/// # Errors
///
/// It cannot be read.
pub fn open_again(path: &Path, from: ReadTo) -> Result<Recording, ReadError> {
    let Opened { name, file, folder, .. } = Opened::of(path)?;
    let input = FromStart { file, at: from.offset, read: Arc::default() };
    let mut reader = Reader::new(&name, folder);
    reader.is_file = true;
    let texts = EntryTexts::resume(name, Box::new(BufReader::with_capacity(CHUNK, input)), from);
    Ok(Recording { texts, reader, skipped: 0, buffer: Vec::new(), read: Arc::default() })
}

/// Whether another tool's file carries no `Authorization` anywhere. What is wrong with the file is found when it is read.
fn strips_authorization(recording: Recording) -> bool {
    struct Decided;
    impl From<ReadError> for Decided {
        fn from(_: ReadError) -> Self {
            Self
        }
    }
    let carries = |entry: Entry| entry.exchange.request.headers.contains("authorization");
    let end = recording.each(carries, |carries| if carries { Err(Decided) } else { Ok(()) });
    end.is_ok_and(|end| !end.head.by_contrail)
}

/// What a recording is read from.
struct Opened {
    name: String,
    file: Arc<File>,
    /// Body files are looked for in it.
    folder: Option<PathBuf>,
    /// It can be read again, unlike a pipe.
    is_file: bool,
}

/// Reads a file from a byte on, beside any other reader.
struct FromStart {
    file: Arc<File>,
    at: u64,
    /// How far it came, for others to see.
    read: Arc<AtomicU64>,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        self.read.store(self.at, Ordering::Relaxed);
        Ok(read)
    }
}

impl Opened {
    fn of(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            let name = "standard input".to_owned();
            return match io::stdin().as_fd().try_clone_to_owned() {
                Ok(input) => Ok(Self { name, file: Arc::new(input.into()), folder: None, is_file: false }),
                Err(error) => Err(ReadError { source_name: name, fault: ReadFault::Io(error) }),
            };
        }
        let fail = |fault| ReadError { source_name: path.display().to_string(), fault };
        let (file, metadata) = opened(path).map_err(fail)?;
        if metadata.is_dir() {
            let inside = sources(path)?;
            return match inside.as_slice() {
                [only] => Self::of(only),
                _ => Err(fail(ReadFault::NotHar {
                    reason: format!("it is a folder of {} recordings; name one", inside.len()),
                })),
            };
        }
        let folder =
            path.parent().map(|parent| if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.into() });
        Ok(Self { name: path.display().to_string(), file: Arc::new(file), folder, is_file: metadata.is_file() })
    }

    /// The same from a temporary file, if it comes only once.
    fn spooled(self) -> Result<Self, ReadError> {
        if self.is_file {
            return Ok(self);
        }
        let spool = || -> io::Result<File> {
            let mut spool = tempfile::tempfile()?;
            io::copy(&mut &*self.file, &mut spool)?;
            Ok(spool)
        };
        match spool() {
            Ok(spool) => Ok(Self { file: Arc::new(spool), is_file: true, ..self }),
            Err(error) => Err(ReadError { source_name: self.name, fault: ReadFault::Io(error) }),
        }
    }

    fn input(&self, length: Option<u64>, read: &Arc<AtomicU64>) -> Box<dyn BufRead + Send> {
        let (file, length) = (Arc::clone(&self.file), length.unwrap_or(u64::MAX));
        if self.is_file {
            return Box::new(BufReader::with_capacity(
                CHUNK,
                FromStart { file, at: 0, read: Arc::clone(read) }.take(length),
            ));
        }
        Box::new(BufReader::with_capacity(CHUNK, file.take(length)))
    }

    fn begin(&self, length: Option<u64>) -> Result<Recording, ReadError> {
        let read = Arc::default();
        let mut recording = Recording::new(self.name.clone(), self.input(length, &read), self.folder.clone())?;
        recording.read = read;
        if self.is_file && !recording.texts.knows_tokens() {
            let (tokens, head) = self.late_head().unwrap_or_default();
            recording.reader.shared.head = tokens;
            recording.texts.set_head(&head);
        }
        recording.reader.is_file = self.is_file;
        Ok(recording)
    }

    /// The tokens and the head of a fixture whose `log._contrail` follows its entries; `None` for any other file. The
    /// file is read through for them, unless its first entry shows that contrail did not write it.
    fn late_head(&self) -> Option<(HeadTokens, Head)> {
        let mut texts = EntryTexts::begin(String::new(), self.input(None, &Arc::default())).ok()?;
        let mut text = Vec::new();
        texts.next(&mut text).ok()??;
        memchr::memmem::find(&text, b"\"_contrail\"")?;
        loop {
            text.clear();
            if texts.next(&mut text).ok()?.is_none() {
                return Some((texts.take_tokens(), texts.head().clone()));
            }
        }
    }
}

fn opened(path: &Path) -> Result<(File, fs::Metadata), ReadFault> {
    let file = File::open(path).map_err(|error| fault_of(path, error))?;
    let metadata = file.metadata().map_err(ReadFault::Io)?;
    Ok((file, metadata))
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
        Ok(Self { texts, reader, skipped: 0, buffer: Vec::new(), read: Arc::default() })
    }

    /// Reads the tokens of other tools' files through `tokens` (its clock skew, its keys). Entries that contrail wrote
    /// hold their token's facts, as they were judged then.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<TokenCache>) -> Self {
        self.reader.shared.tokens = tokens;
        self
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

    /// The same of the whole file, whose entries are read for it.
    ///
    /// # Errors
    ///
    /// The first entry that cannot be read.
    pub fn whole_head(&mut self) -> Result<&Head, ReadError> {
        self.try_for_each(|entry| entry.map(drop))?;
        Ok(self.head())
    }

    /// How many entries were left out so far because they are not HTTP.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The bytes of its file that were read so far. It counts on while entries are read, and stays 0 for what is not a
    /// file.
    #[must_use]
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }

    /// Whether the file's producer leaves out `Authorization`, as far as [`open_to_judge`] found out.
    #[must_use]
    pub fn strips_authorization(&self) -> bool {
        self.reader.shared.strips_authorization
    }

    fn read_next(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            self.buffer.clear();
            let Some(position) = self.texts.next(&mut self.buffer)? else { return Ok(None) };
            if let Some(entry) = self.reader.entry(&self.buffer, position)? {
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
