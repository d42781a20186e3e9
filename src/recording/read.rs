//! Opening a recording, whatever it is: a HAR file of any producer, a journal, a folder of them, standard input.
//!
//! Entries are read one at a time, so that a file's size does not matter.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Entry, ReadError, ReadFault, chain,
    convert::{self, Converted, Fault},
    files::BodyFiles,
    journal,
    scan::{ScanError, Scanner},
};
use crate::token::TokenCache;

/// The recordings that `path` names, in the order of their names: itself if it is a file or `-`; of a folder every
/// `.har` and `.journal` file in it and below.
///
/// # Errors
///
/// [`ReadFault::NotFound`], [`ReadFault::EmptyFolder`], or [`ReadFault::Io`].
pub fn sources(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let fail = |fault| ReadError { source_name: path.display().to_string(), fault };
    if path.as_os_str() == "-" {
        return Ok(vec![path.to_path_buf()]);
    }
    let metadata = fs::metadata(path).map_err(|error| fail(fault_of(error)))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).map_err(|error| fail(ReadFault::Io(error)))? {
            let item = item.map_err(|error| fail(ReadFault::Io(error)))?;
            let kind = item.file_type().map_err(|error| fail(ReadFault::Io(error)))?;
            let path = item.path();
            if kind.is_dir() {
                folders.push(path);
            } else if is_recording_name(&path) {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(fail(ReadFault::EmptyFolder));
    }
    found.sort();
    Ok(found)
}

fn is_recording_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har") || extension == "journal")
}

fn fault_of(error: io::Error) -> ReadFault {
    if error.kind() == io::ErrorKind::NotFound { ReadFault::NotFound } else { ReadFault::Io(error) }
}

/// A recording that is being read: an iterator of its entries. After an error it ends.
pub struct Recording {
    name: String,
    input: Input,
    files: BodyFiles,
    head: Head,
    next: usize,
    skipped: usize,
    carries_authorization: bool,
    tokens: Arc<TokenCache>,
    buffer: Vec<u8>,
}

/// What a file says of itself, as far as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// contrail wrote it (by `log.creator`, or because it is a journal).
    pub by_contrail: bool,
    /// It is a journal.
    pub journal: bool,
    /// `log._contrail.recorded`: the day of the recording.
    pub recorded: Option<String>,
    /// `log._contrail.unproven`: it was folded after a crash and never proved itself.
    pub unproven: bool,
}

enum Input {
    /// Inside `log.entries`; whether nothing of it was taken yet.
    Har(Scanner<Box<dyn BufRead + Send>>, bool),
    /// A journal; the number of the last line that was taken.
    Journal(Box<dyn BufRead + Send>, usize),
    /// Nothing left.
    Ended,
}

/// Opens one recording: a HAR file, a journal, or `-` for standard input. A folder stands for the only recording in it.
///
/// # Errors
///
/// [`ReadError`] if there is none, it cannot be read, it is neither HAR nor journal, or it is of a newer version.
pub fn open(path: &Path) -> Result<Recording, ReadError> {
    let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
    if path.as_os_str() == "-" {
        return Recording::new(name, Box::new(BufReader::with_capacity(CHUNK, io::stdin())), None);
    }
    let fail = |fault| ReadError { source_name: name.clone(), fault };
    let metadata = fs::metadata(path).map_err(|error| fail(fault_of(error)))?;
    if metadata.is_dir() {
        let inside = sources(path)?;
        return match inside.as_slice() {
            [only] => open(only),
            _ => Err(fail(ReadFault::NotHar {
                reason: format!("it is a folder of {} recordings; name one", inside.len()),
            })),
        };
    }
    let file = File::open(path).map_err(|error| fail(fault_of(error)))?;
    let folder =
        path.parent().map(|parent| if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.into() });
    Recording::new(name, Box::new(BufReader::with_capacity(CHUNK, file)), folder)
}

/// Bytes read from a file at a time.
const CHUNK: usize = 256 << 10;

impl Recording {
    /// Reads from `input`; body files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn new(name: String, input: Box<dyn BufRead + Send>, folder: Option<PathBuf>) -> Result<Self, ReadError> {
        let mut recording = Self {
            name,
            input: Input::Ended,
            files: BodyFiles::new(folder),
            head: Head::default(),
            next: 0,
            skipped: 0,
            carries_authorization: false,
            tokens: Arc::new(TokenCache::new(Duration::ZERO, None)),
            buffer: Vec::new(),
        };
        match recording.begin(input) {
            Ok(input) => recording.input = input,
            Err(fault) => return Err(recording.fail(fault)),
        }
        Ok(recording)
    }

    /// Reads the tokens of other tools' files through `tokens` (its clock skew, its keys). Entries that contrail wrote hold
    /// their token's facts, as they were judged then.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<TokenCache>) -> Self {
        self.tokens = tokens;
        self
    }

    /// The name that it was opened by.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.name
    }

    /// What the file said of itself so far; complete once the entries are read.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How many entries were left out so far because they are not HTTP.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Whether any entry so far carried an `Authorization` header. Browsers strip it: in a file that contrail did not
    /// write and in which none carries it, nobody can judge authentication.
    #[must_use]
    pub fn carries_authorization(&self) -> bool {
        self.carries_authorization
    }

    fn fail(&self, fault: ReadFault) -> ReadError {
        ReadError { source_name: self.name.clone(), fault }
    }

    fn scan_fault(&self, error: ScanError) -> ReadFault {
        match error {
            ScanError::Io(error) => ReadFault::Io(error),
            ScanError::Cut => ReadFault::Cut { entries: self.next },
            ScanError::Unexpected { offset, expected } => {
                ReadFault::NotHar { reason: format!("expected {expected} at byte {offset}") }
            }
        }
    }

    /// Reads up to the first entry.
    fn begin(&mut self, mut input: Box<dyn BufRead + Send>) -> Result<Input, ReadFault> {
        if is_journal(input.fill_buf().map_err(ReadFault::Io)?) {
            self.head.by_contrail = true;
            self.head.journal = true;
            return Ok(Input::Journal(input, 0));
        }
        let not_har = |reason: &str| ReadFault::NotHar { reason: reason.to_owned() };
        let mut scanner = Scanner::new(input);
        scanner.skip_mark().map_err(|error| self.scan_fault(error))?;
        match scanner.peek().map_err(|error| self.scan_fault(error))? {
            Some(b'{') => {}
            None if self.name.ends_with(".journal") => {
                self.head.by_contrail = true;
                self.head.journal = true;
                return Ok(Input::Ended);
            }
            None => return Err(not_har("it is empty")),
            Some(_) => return Err(not_har("it does not begin with a JSON object")),
        }
        match self.find_entries(&mut scanner) {
            Ok(true) => Ok(Input::Har(scanner, true)),
            Ok(false) => Err(not_har("it has no array `log.entries`")),
            Err(Begin::Fault(fault)) => Err(fault),
            Err(Begin::Scan(ScanError::Cut)) => Err(not_har("it ends before `log.entries` begins")),
            Err(Begin::Scan(error)) => Err(self.scan_fault(error)),
        }
    }

    /// Steps into `log.entries`; false if there is none.
    fn find_entries(&mut self, scanner: &mut Scanner<Box<dyn BufRead + Send>>) -> Result<bool, Begin> {
        scanner.expect(b'{', "an object")?;
        let mut first = true;
        while scanner.next(b'}', first)? {
            first = false;
            if scanner.name()? != "log" {
                scanner.value(None)?;
                continue;
            }
            match scanner.peek()? {
                Some(b'{') => {}
                Some(_) => return Ok(false),
                None => return Err(ScanError::Cut.into()),
            }
            scanner.expect(b'{', "an object")?;
            return self.members_of_log(scanner, true);
        }
        Ok(false)
    }

    /// Reads members of `log` up to (and into) `entries`, or to its end; whether `entries` was met.
    fn members_of_log(&mut self, scanner: &mut Scanner<Box<dyn BufRead + Send>>, first: bool) -> Result<bool, Begin> {
        let mut first = first;
        while scanner.next(b'}', first)? {
            first = false;
            match scanner.name()?.as_str() {
                "entries" if scanner.peek()? == Some(b'[') => {
                    scanner.expect(b'[', "an array")?;
                    return Ok(true);
                }
                "creator" => {
                    let creator: Creator = self.member(scanner)?;
                    self.head.by_contrail |= creator.name.as_deref() == Some("contrail");
                }
                "_contrail" => {
                    let own: Own = self.member(scanner)?;
                    let version = own.version.map_or_else(|| "missing".to_owned(), |raw| raw.get().to_owned());
                    convert::check_version(&version).map_err(|found| Begin::Fault(ReadFault::Version { found }))?;
                    self.head.recorded = own.recorded;
                    self.head.unproven = own.unproven.unwrap_or_default();
                }
                _ => scanner.value(None)?,
            }
        }
        Ok(false)
    }

    fn member<T: serde::de::DeserializeOwned + Default>(
        &mut self,
        scanner: &mut Scanner<Box<dyn BufRead + Send>>,
    ) -> Result<T, Begin> {
        self.buffer.clear();
        scanner.value(Some(&mut self.buffer))?;
        Ok(serde_json::from_slice(&self.buffer).unwrap_or_default())
    }

    fn next_of_har(&mut self, scanner: &mut Scanner<Box<dyn BufRead + Send>>, first: bool) -> Result<bool, ReadFault> {
        let cut = |this: &Self, error| this.scan_fault(error);
        if !scanner.next(b']', first).map_err(|error| cut(self, error))? {
            self.end_of_har(scanner)?;
            return Ok(false);
        }
        self.buffer.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let taken = scanner.value(Some(&mut buffer));
        self.buffer = buffer;
        taken.map_err(|error| cut(self, error))?;
        Ok(true)
    }

    /// Reads what follows the entries.
    fn end_of_har(&mut self, scanner: &mut Scanner<Box<dyn BufRead + Send>>) -> Result<(), ReadFault> {
        let rest = (|| -> Result<(), Begin> {
            if self.members_of_log(scanner, false)? {
                return Err(scanner.unexpected("one member `entries`, not two").into());
            }
            while scanner.next(b'}', false)? {
                scanner.name()?;
                scanner.value(None)?;
            }
            match scanner.peek()? {
                None => Ok(()),
                Some(_) => Err(scanner.unexpected("the end of the file").into()),
            }
        })();
        rest.map_err(|error| match error {
            Begin::Fault(fault) => fault,
            Begin::Scan(error) => self.scan_fault(error),
        })
    }

    /// Takes the next line of a journal that is not empty; false at the end, a torn last line being none.
    fn next_line(&mut self, input: &mut dyn BufRead, line: &mut usize) -> Result<bool, ReadFault> {
        loop {
            self.buffer.clear();
            input.read_until(b'\n', &mut self.buffer).map_err(ReadFault::Io)?;
            if self.buffer.last() != Some(&b'\n') {
                return Ok(false);
            }
            *line += 1;
            let own = self.buffer.starts_with(chain::START) || self.buffer.starts_with(journal::FOLD_START);
            if !own && !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The next text into the buffer; where it stands, or `None` at the end.
    fn advance(&mut self) -> Result<Option<Place>, ReadFault> {
        match std::mem::replace(&mut self.input, Input::Ended) {
            Input::Ended => Ok(None),
            Input::Har(mut scanner, first) => {
                if !self.next_of_har(&mut scanner, first)? {
                    return Ok(None);
                }
                self.input = Input::Har(scanner, false);
                Ok(Some(Place::Entry))
            }
            Input::Journal(mut input, mut line) => {
                if !self.next_line(&mut *input, &mut line)? {
                    return Ok(None);
                }
                self.input = Input::Journal(input, line);
                Ok(Some(Place::Line(line)))
            }
        }
    }

    fn read_next(&mut self) -> Result<Option<Entry>, ReadFault> {
        while let Some(place) = self.advance()? {
            let index = self.next;
            self.next += 1;
            match convert::entry(&self.buffer, &mut self.files, &self.tokens) {
                Ok(Converted::NotHttp) => self.skipped += 1,
                Ok(Converted::Exchange(converted)) => {
                    let (exchange, note) = *converted;
                    self.carries_authorization |= exchange.request.headers.contains("authorization");
                    return Ok(Some(Entry { index, exchange, note }));
                }
                Err(Fault::Version(found)) => return Err(ReadFault::Version { found }),
                Err(Fault::BodyFile { file, reason }) => return Err(ReadFault::BodyFile { index, file, reason }),
                Err(Fault::Entry(reason)) => {
                    return Err(match place {
                        Place::Entry => ReadFault::Entry { index, reason },
                        Place::Line(line) => ReadFault::Line { line, reason },
                    });
                }
            }
        }
        Ok(None)
    }
}

impl Iterator for Recording {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.read_next() {
            Ok(entry) => entry.map(Ok),
            Err(fault) => {
                self.input = Input::Ended;
                Some(Err(self.fail(fault)))
            }
        }
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("name", &self.name).field("head", &self.head).finish_non_exhaustive()
    }
}

/// Where a text stands.
enum Place {
    Entry,
    Line(usize),
}

/// Why the members of `log` could not be read.
enum Begin {
    Scan(ScanError),
    Fault(ReadFault),
}

impl From<ScanError> for Begin {
    fn from(error: ScanError) -> Self {
        Self::Scan(error)
    }
}

/// `log.creator`
#[derive(Default, serde::Deserialize)]
struct Creator {
    name: Option<String>,
}

/// `log._contrail`
#[derive(Default, serde::Deserialize)]
struct Own {
    version: Option<Box<serde_json::value::RawValue>>,
    recorded: Option<String>,
    unproven: Option<bool>,
}

/// Whether a file that begins like this is a journal: its lines begin with an entry's first member.
fn is_journal(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    start.starts_with(b"{\"startedDateTime\"")
        || start.starts_with(chain::START)
        || start.starts_with(journal::FOLD_START)
}
