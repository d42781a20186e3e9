//! Cuts the texts of the entries out of a recording, one after the other, without reading the entries.

use std::{
    io::{self, BufRead},
    path::Path,
};

use bytes::Bytes;
use contrail_exchange::{
    is_upstream_name,
    json::{Document, SyntaxError},
};

use super::{
    form::{self, is_journal, other_form},
    scan::{ScanError, Scanner},
    tool::Tool,
};
use crate::{
    MatchRules, ReadError, ReadFault,
    entry::note::{self, HeadTokens},
    error::conflict_line,
    journal::{
        lines::{is_entry, unmarked},
        unrecorded::{self, Unrecorded},
    },
};

/// What a file states about itself, as far as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// contrail wrote it (by `log.creator`, or because it is a journal).
    pub by_contrail: bool,
    /// It is a journal.
    pub journal: bool,
    /// `log._contrail.recorded`: the day of the recording.
    pub recorded: Option<String>,
    /// `log._contrail.unproven`: it was packed, or folded after a crash, and never proved itself.
    pub unproven: bool,
    /// `log._contrail.ignore`, `echo` and `caller`: how its requests are compared.
    pub rules: MatchRules,
    /// `log._contrail.upstreams`: the names of its upstreams in their order, where one has a name.
    pub upstreams: Vec<String>,
    /// Exchanges that a journal states as not recorded.
    pub unrecorded: Option<Unrecorded>,
    /// Bytes of a journal's torn last line, left out: contrail was killed while it wrote the exchange, or is writing
    /// it.
    pub torn: u64,
    /// How far a journal was read, once it was read to its end.
    pub read_to: Option<ReadTo>,
}

/// How far a journal was read: what is appended later begins there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadTo {
    /// Bytes, in whole lines.
    pub offset: u64,
    line: usize,
    entries: usize,
}

enum Input {
    /// Inside `log.entries`; whether nothing of it was taken yet.
    Har(Scanner<Box<dyn BufRead + Send>>, bool),
    /// A journal; the number of the last line that was taken, and the offset behind it.
    Journal(Box<dyn BufRead + Send>, usize, u64),
    /// Nothing left.
    Ended,
}

/// A recording as the texts of its entries.
pub(super) struct EntryTexts {
    name: String,
    input: Input,
    head: Head,
    tokens: HeadTokens,
    /// `log._contrail` was read.
    has_own: bool,
    next: usize,
    /// A member of `log`, while it is read.
    member: Vec<u8>,
}

/// Where a text stands: its index among the entries, and its line in a journal (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryPosition {
    pub(crate) index: usize,
    pub(crate) line: Option<usize>,
}

impl EntryTexts {
    /// Reads `input` up to its first entry.
    pub(super) fn begin(name: String, input: Box<dyn BufRead + Send>) -> Result<Self, ReadError> {
        let (head, tokens) = (Head::default(), HeadTokens::default());
        let mut texts = Self { name, input: Input::Ended, head, tokens, has_own: false, next: 0, member: Vec::new() };
        match texts.first(input) {
            Ok(input) => texts.input = input,
            Err(fault) => return Err(texts.fail(fault)),
        }
        Ok(texts)
    }

    /// Goes on behind what was read of a journal.
    pub(super) fn resume(name: String, input: Box<dyn BufRead + Send>, from: ReadTo) -> Self {
        Self {
            name,
            input: Input::Journal(input, from.line, from.offset),
            head: Head { by_contrail: true, journal: true, ..Head::default() },
            tokens: HeadTokens::default(),
            has_own: false,
            next: from.entries,
            member: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// Whether the file's tokens were read: in most files they come before the entries.
    pub(super) fn knows_tokens(&self) -> bool {
        self.has_own || self.head.journal
    }

    /// The tokens of `log._contrail`, as far as it was read.
    pub(super) fn take_tokens(&mut self) -> HeadTokens {
        std::mem::take(&mut self.tokens)
    }

    /// What the file states of itself behind its entries, as another reader of it found.
    pub(super) fn set_head(&mut self, head: &Head) {
        self.head.rules = head.rules.clone();
        self.head.upstreams.clone_from(&head.upstreams);
    }

    /// Appends the next entry's text to `out`; where it stands, or `None` at the end. After an error it has ended.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<EntryPosition>, ReadError> {
        let found = self.advance(out).map_err(|fault| self.fail(fault));
        if let Ok(Some(_)) = found {
            self.next += 1;
        }
        found
    }

    /// Gives nothing any more.
    pub(super) fn end(&mut self) {
        self.input = Input::Ended;
    }

    fn fail(&self, fault: ReadFault) -> ReadError {
        ReadError::of_file(&self.name, fault)
    }

    fn scan_fault(&self, error: ScanError) -> ReadFault {
        match error {
            ScanError::Io(error) => ReadFault::Io(error),
            ScanError::Cut => ReadFault::Cut { entries: self.next },
            ScanError::Unexpected { offset, expected } => {
                ReadFault::NotHar { reason: format!("expected {expected} at byte {offset}; export or copy it again") }
            }
        }
    }

    /// Reads up to the first entry.
    fn first(&mut self, mut input: Box<dyn BufRead + Send>) -> Result<Input, ReadFault> {
        let start = input.fill_buf().map_err(ReadFault::Io)?;
        if let Some(reason) = other_form(start) {
            return Err(ReadFault::NotHar { reason: reason.to_owned() });
        }
        let (journal, mut input) = form::recognized(input).map_err(ReadFault::Io)?;
        if journal {
            self.head.by_contrail = true;
            self.head.journal = true;
            let start = input.fill_buf().map_err(ReadFault::Io)?;
            let mark = start.len() - unmarked(start).len();
            input.consume(mark);
            return Ok(Input::Journal(input, 0, mark as u64));
        }
        let tool = Tool::beginning(input.fill_buf().map_err(ReadFault::Io)?);
        let not_har = |reason: &str| ReadFault::NotHar { reason: tool.map_or_else(|| reason.to_owned(), Tool::way) };
        let mut scanner = Scanner::new(input);
        scanner.skip_mark().map_err(|error| self.scan_fault(error))?;
        match scanner.peek().map_err(|error| self.scan_fault(error))? {
            Some(b'{') => {}
            None if self.name.ends_with(".journal") => {
                self.head.by_contrail = true;
                self.head.journal = true;
                return Ok(Input::Ended);
            }
            None => return Err(not_har("it is empty; record or export it again")),
            Some(0) => return Err(not_har("it begins with NUL, like a file whose content was lost; copy it again")),
            Some(_) => {
                return Err(not_har("it does not begin with a JSON object; name a HAR file, or export it as one"));
            }
        }
        match self.find_entries(&mut scanner) {
            Ok(true) => Ok(Input::Har(scanner, true)),
            Ok(false) => Err(not_har("it has no array `log.entries`; name a HAR file, or export it as one")),
            Err(Begin::Fault(fault)) => Err(fault),
            Err(Begin::Scan(ScanError::Cut)) => {
                Err(not_har("it ends before `log.entries` begins; export or copy it again"))
            }
            Err(Begin::Scan(error)) => Err(self.scan_fault(error)),
        }
    }

    /// Steps into `log.entries`; false if there is none.
    fn find_entries(&mut self, scanner: &mut Scanner<Box<dyn BufRead + Send>>) -> Result<bool, Begin> {
        scanner.expect(b'{', "an object")?;
        let mut first = true;
        while scanner.next(b'}', first)? {
            first = false;
            match scanner.name()?.as_str() {
                "log" => {}
                "openapi" | "swagger" => {
                    let reason = "it is an OpenAPI document; name a recording, and the document by `--contract`";
                    return Err(Begin::Fault(ReadFault::NotHar { reason: reason.to_owned() }));
                }
                _ => {
                    scanner.value(None)?;
                    continue;
                }
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

    /// Reads members of `log` up to (and into) `entries`, or to its end; whether `entries` was found.
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
                    self.has_own = true;
                    let own: Own = self.member(scanner)?;
                    let version = own.version.map_or_else(|| "missing".to_owned(), |raw| raw.get().to_owned());
                    note::check_version(&version).map_err(|found| Begin::Fault(ReadFault::Version { found }))?;
                    self.head.recorded = own.recorded;
                    self.head.unproven = own.unproven.unwrap_or_default();
                    self.head.rules = MatchRules::parse(&own.ignore, &own.echo, &own.caller)
                        .map_err(|bad| Begin::Fault(ReadFault::Rule { reason: bad }))?;
                    self.head.upstreams = own.upstreams;
                    self.head.upstreams.retain(|name| is_upstream_name(name));
                    if let Some(raw) = own.tokens {
                        let tokens = HeadTokens::parse(raw.get().as_bytes());
                        self.tokens = tokens.ok_or(Begin::Fault(ReadFault::Tokens))?;
                    }
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
        self.member.clear();
        scanner.value(Some(&mut self.member))?;
        Ok(serde_json::from_slice(&self.member).unwrap_or_default())
    }

    fn next_of_har(
        &mut self,
        scanner: &mut Scanner<Box<dyn BufRead + Send>>,
        first: bool,
        out: &mut Vec<u8>,
    ) -> Result<bool, ReadFault> {
        if !scanner.next(b']', first).map_err(|error| self.scan_fault(error))? {
            self.end_of_har(scanner)?;
            return Ok(false);
        }
        scanner.value(Some(out)).map_err(|error| self.scan_fault(error))?;
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
                // What DOS ends a text with (^Z), or a file system a file whose end it lost (NUL).
                Some(found) => {
                    let (offset, is_padding) = (scanner.offset(), matches!(found, 0 | 0x1a));
                    let what = if is_padding { "padding (NUL or ^Z)" } else { "something else" };
                    let reason = format!(
                        "{what} follows its JSON object at byte {offset}; `head -c {offset}` keeps what comes before"
                    );
                    Err(Begin::Fault(ReadFault::NotHar { reason }))
                }
            }
        })();
        rest.map_err(|error| match error {
            Begin::Fault(fault) => fault,
            Begin::Scan(error) => self.scan_fault(error),
        })
    }

    /// Appends the next line of a journal that is an entry; false at the end, a torn last line being none.
    fn next_line(
        input: &mut dyn BufRead,
        line: &mut usize,
        offset: &mut u64,
        head: &mut Head,
        out: &mut Vec<u8>,
    ) -> Result<bool, ReadFault> {
        let start = out.len();
        loop {
            out.truncate(start);
            *offset += read_line(input, out).map_err(ReadFault::Io)? as u64;
            let text = &out[start..];
            if text.last() != Some(&b'\n') {
                head.torn = text.len() as u64;
                return Ok(false);
            }
            *line += 1;
            if is_entry(text) && !text.trim_ascii().is_empty() {
                return Ok(true);
            }
            if let Some(unrecorded) = Unrecorded::parse(text) {
                unrecorded::add(&mut head.unrecorded, unrecorded);
            }
        }
    }

    /// Appends the next text; where it stands, or `None` at the end. Whatever fails, the input has ended.
    fn advance(&mut self, out: &mut Vec<u8>) -> Result<Option<EntryPosition>, ReadFault> {
        let mut position = EntryPosition { index: self.next, line: None };
        match std::mem::replace(&mut self.input, Input::Ended) {
            Input::Ended => return Ok(None),
            Input::Har(mut scanner, first) => {
                if !self.next_of_har(&mut scanner, first, out)? {
                    return Ok(None);
                }
                self.input = Input::Har(scanner, false);
            }
            Input::Journal(mut input, mut line, mut offset) => {
                if !Self::next_line(&mut *input, &mut line, &mut offset, &mut self.head, out)? {
                    let offset = offset - self.head.torn;
                    self.head.read_to = Some(ReadTo { offset, line, entries: self.next });
                    return Ok(None);
                }
                position.line = Some(line);
                self.input = Input::Journal(input, line, offset);
            }
        }
        Ok(Some(position))
    }
}

/// Appends a line with its end, or what there is of it; how many bytes. As [`BufRead::read_until`], whose search looks
/// at one word at a time.
fn read_line(input: &mut dyn BufRead, out: &mut Vec<u8>) -> io::Result<usize> {
    let start = out.len();
    loop {
        let held = match input.fill_buf() {
            Ok(held) => held,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', held);
        let taken = end.map_or(held.len(), |end| end + 1);
        out.extend_from_slice(&held[..taken]);
        input.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(out.len() - start);
        }
    }
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
    #[serde(default)]
    upstreams: Vec<String>,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    echo: Vec<String>,
    #[serde(default)]
    caller: Vec<String>,
    tokens: Option<Box<serde_json::value::RawValue>>,
}

/// Why the secrets of a file cannot be found by their places: it has another form than HAR, or it is a recording that
/// is not valid JSON. `None` for all other files.
///
/// The torn last line of a journal is no fault: no reader takes it.
#[must_use]
pub fn unsearchable(name: &str, content: &Bytes) -> Option<String> {
    if let Some(form) = other_form(content) {
        return Some(form.to_owned());
    }
    if is_journal(content) {
        return unsearchable_line(content);
    }
    let is_named = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har"));
    let holds = |text: &[u8]| memchr::memmem::find(content, text).is_some();
    let is_har = content.trim_ascii_start().starts_with(b"{") && holds(b"\"log\"") && holds(b"\"entries\"");
    if !(is_named || is_har) || content.trim_ascii().is_empty() {
        return None;
    }
    fault(content).map(|fault| match conflict_line(content) {
        Some(line) => format!("git left a merge conflict at its line {line}; keep one side"),
        None => format!("it is a recording with {fault}"),
    })
}

/// The first line of a journal that is an entry and not valid JSON.
fn unsearchable_line(content: &Bytes) -> Option<String> {
    let content = content.slice_ref(unmarked(content));
    let mut start = 0;
    for (index, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = content.slice(start..start + line.len());
        start += line.len();
        let is_read = line.ends_with(b"\n") && is_entry(line) && !line.trim_ascii().is_empty();
        if is_read && let Some(fault) = fault(&text) {
            return Some(format!("line {} has {fault}", index + 1));
        }
    }
    None
}

/// What keeps a text from being read as JSON, even leniently.
fn fault(text: &Bytes) -> Option<SyntaxError> {
    let fault = Document::parse(text.clone()).err()?;
    Document::mended(text).is_none().then_some(fault)
}
