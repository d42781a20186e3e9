//! The text of a fixture while it is written: one self-contained file, or a folder with a file per distinct body.
//!
//! Entries wait in an anonymous file until the last one is known: only then is it clear which tokens the head has to
//! tell of, and, in a folder, which body files keep their names. Nothing on disk changes where the fixture comes out as
//! it was.

use std::{
    collections::HashMap,
    fs,
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
};

use bytes::Bytes;

use super::{
    LaidOut, VERSION, WriteError,
    commit::Staging,
    disk::refused,
    journal::{Journal, file_digest},
    layout,
    names::{self, Digest, Held, Side, Slot, Wanted},
    read::open,
    tokens::TokenTable,
    write::Place,
};
use crate::{
    exchange::{Body, Request},
    hex::hex,
    json::Document,
};

/// A fixture that is being written.
#[derive(Debug)]
pub(super) struct Target {
    text: fs::File,
    buffered: Vec<u8>,
    day: String,
    unproven: bool,
    tokens: TokenTable,
    /// Entries, each after its length, with body files by number.
    entries: io::BufWriter<fs::File>,
    /// Entries so far, by the operation's name in files.
    numbers: HashMap<String, usize>,
    bodies: Option<Bodies>,
    /// Dropped last: until the commit it clears away what was written.
    staging: Staging,
}

/// The body files of a fixture in a folder.
#[derive(Debug)]
struct Bodies {
    /// Those of the fixture that is there.
    held: Held,
    /// Those of this one, in the order of the entries that name them first.
    wanted: Vec<Wanted>,
    by_digest: HashMap<Digest, usize>,
}

/// Where the next entry stands among those of its operation, and what it asked for.
#[derive(Debug)]
pub(super) struct Number {
    operation: String,
    nth: usize,
    method: String,
    url: String,
}

/// What becomes of body files.
#[derive(Debug, Default)]
struct Changes {
    /// New ones: their number, and the name that they got.
    put: Vec<(usize, String)>,
    /// Old ones that go.
    remove: Vec<String>,
}

/// A body that has a file of its own.
#[derive(Debug)]
pub(super) struct Filed {
    /// Stands for the name until there is one.
    name: String,
    sha256: String,
    laid_out: bool,
}

/// What is the same in the whole file.
#[derive(Debug, Clone)]
pub(super) struct Preamble {
    /// The day to state; `None` for the one that stands there already, else `today`.
    pub(super) recorded: Option<String>,
    pub(super) today: String,
    pub(super) unproven: bool,
}

impl Target {
    /// Begins the fixture at this place; its folders are made.
    pub(super) fn begin(mut staging: Staging, preamble: &Preamble) -> Result<Self, WriteError> {
        let text = staging.open()?;
        let har = staging.place().har();
        let stated = || open(har).ok().and_then(|recording| recording.head().recorded.clone());
        let day = preamble.recorded.clone().or_else(stated).filter(|day| day.len() == preamble.today.len());
        let day = day.unwrap_or_else(|| preamble.today.clone());
        let spool = tempfile::tempfile().map_err(refused("spool beside", har))?;
        let bodies = staging.place().folder().map(|folder| Bodies {
            held: Held::read(har, folder),
            wanted: Vec::new(),
            by_digest: HashMap::new(),
        });
        Ok(Self {
            text,
            buffered: Vec::new(),
            day,
            unproven: preamble.unproven,
            tokens: TokenTable::default(),
            entries: io::BufWriter::with_capacity(256 << 10, spool),
            numbers: HashMap::new(),
            bodies,
            staging,
        })
    }

    /// The next entry's number within its operation, from 1.
    pub(super) fn number(&mut self, operation: Option<&str>, request: &Request) -> Number {
        let operation: String = operation
            .unwrap_or("undocumented")
            .chars()
            .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' })
            .take(100)
            .collect();
        let nth = self.numbers.entry(operation.to_ascii_lowercase()).or_default();
        *nth += 1;
        let nth = *nth;
        if self.bodies.is_none() {
            return Number { operation, nth, method: String::new(), url: String::new() };
        }
        let target = &request.target;
        let url = format!("{}://{}{}", target.scheme, target.authority, target.after_origin());
        Number { operation, nth, method: request.method.to_string(), url }
    }

    /// Puts a body where it belongs: into a file of its own, where it has one.
    pub(super) fn body(
        &mut self,
        body: &Body,
        number: &Number,
        side: Side,
        json: bool,
    ) -> Result<Option<Filed>, WriteError> {
        let Some(bodies) = &mut self.bodies else { return Ok(None) };
        if body.content.is_empty() {
            return Ok(None);
        }
        let pretty = layout::pretty_body(&body.content);
        let laid_out = pretty.is_some();
        let bytes = pretty.as_deref().unwrap_or(&body.content);
        let digest = names::digest_of(bytes);
        let filed = |at: usize| Filed { name: placeholder(at), sha256: hex(&digest), laid_out };
        if let Some(at) = bodies.by_digest.get(&digest) {
            return Ok(Some(filed(*at)));
        }
        let extension = match std::str::from_utf8(&body.content) {
            _ if json || laid_out => "json",
            Ok(_) => "txt",
            Err(_) => "bin",
        };
        let at = bodies.wanted.len();
        if bodies.held.name_of(&digest).is_none() {
            self.staging.write(at, bytes)?;
        }
        bodies.by_digest.insert(digest, at);
        bodies.wanted.push(Wanted {
            slot: Slot::new(&number.method, &number.url, side),
            digest,
            operation: number.operation.clone(),
            number: number.nth,
            extension,
        });
        Ok(Some(filed(at)))
    }

    /// The label that stands for the facts of the request's token in the entry ([`TokenTable::label`]).
    pub(super) fn token<'a>(&mut self, request: &'a Request) -> Option<&'a str> {
        self.tokens.label(request)
    }

    /// Takes one entry, encoded with its bodies where [`Target::body`] put them.
    pub(super) fn entry(&mut self, encoded: &[u8]) -> Result<(), WriteError> {
        let length = (encoded.len() as u64).to_le_bytes();
        let spooled = self.entries.write_all(&length).and_then(|()| self.entries.write_all(encoded));
        spooled.map_err(refused("spool beside", self.staging.place().har()))
    }

    /// Writes what stands before the entries; where in the text the day stands.
    fn head(&mut self) -> Result<u64, WriteError> {
        const RECORDED: &[u8] = b"\"recorded\": \"";
        let mut own = format!("{{\"version\":{VERSION},\"recorded\":\"{}\"", self.day).into_bytes();
        if self.unproven {
            own.extend_from_slice(b",\"unproven\":true");
        }
        self.tokens.write(&mut own);
        own.push(b'}');
        let head = format!(
            "{{\n  \"log\": {{\n    \"version\": \"1.2\",\n    \"creator\": {{ \"name\": \"contrail\", \"version\": \"{VERSION}\" }},\n    \"_contrail\": "
        );
        self.buffered.extend_from_slice(head.as_bytes());
        let recorded = self.buffered.len();
        self.lay_out(own, 4)?;
        let recorded = memchr::memmem::find(&self.buffered[recorded..], RECORDED).map_or(0, |at| recorded + at);
        self.buffered.extend_from_slice(b",\n    \"entries\": [");
        Ok((recorded + RECORDED.len()) as u64)
    }

    fn lay_out(&mut self, encoded: Vec<u8>, indent: usize) -> Result<(), WriteError> {
        match Document::parse(Bytes::from(encoded)) {
            Ok(document) => layout::lay_out(&document, indent, &mut self.buffered),
            Err(error) => {
                let error = io::Error::other(format!("an entry did not come out as JSON: {error:?}"));
                return Err(refused("write", self.staging.place().har())(error));
            }
        }
        Ok(())
    }

    fn flush_some(&mut self) -> Result<(), WriteError> {
        if self.buffered.len() > 1 << 20 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.text.write_all(&self.buffered).map_err(refused("write", self.staging.place().har()))?;
        self.buffered.clear();
        Ok(())
    }

    /// Gives body files their names: what becomes of them, and the names.
    fn name(&mut self) -> (Changes, Vec<String>) {
        let Some(Bodies { held, wanted, .. }) = self.bodies.take() else { return Default::default() };
        let folder = self.staging.place().root();
        let names = names::assign(&held, &wanted, |name| fs::symlink_metadata(folder.join(name)).is_ok());
        let remove = held.without(&names);
        let new = |digest: &Digest| held.name_of(digest).is_none();
        let put = wanted.iter().zip(&names).enumerate().filter(|(_, (wanted, _))| new(&wanted.digest));
        let put = put.map(|(at, (_, name))| (at, name.clone())).collect();
        (Changes { put, remove }, names)
    }

    /// Writes the entries that waited.
    fn entries(&mut self, names: &[String]) -> Result<(), WriteError> {
        let place = self.staging.place().clone();
        let spooled = || refused("read the spool beside", place.har());
        self.entries.flush().map_err(spooled())?;
        let mut entries = self.entries.get_ref().try_clone().map_err(spooled())?;
        entries.seek(SeekFrom::Start(0)).map_err(spooled())?;
        let mut entries = BufReader::with_capacity(256 << 10, entries);
        let mut length = [0; 8];
        let mut first = true;
        loop {
            match entries.read_exact(&mut length) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(spooled()(error)),
            }
            let mut encoded = Vec::new();
            (&mut entries).take(u64::from_le_bytes(length)).read_to_end(&mut encoded).map_err(spooled())?;
            self.buffered.extend_from_slice(if std::mem::take(&mut first) { b"\n      " } else { b",\n      " });
            self.lay_out(named(encoded, names), 6)?;
            self.flush_some()?;
        }
        self.buffered.extend_from_slice(if first { b"]\n  }\n}\n" } else { b"\n    ]\n  }\n}\n" });
        self.flush()
    }

    /// Puts the fixture into its place; `journal` says so before and after. Whether anything on disk changed.
    pub(super) fn finish(mut self, today: &str, keep_day: bool, journal: Option<&Journal>) -> Result<bool, WriteError> {
        let (Changes { put, remove }, names) = self.name();
        let day_at = self.head()?;
        self.entries(&names)?;
        let Self { mut text, staging, .. } = self;
        let har = staging.place().har().to_path_buf();
        let equal = same_content(&mut text, &har).map_err(refused("read", &har))?;
        if equal && put.is_empty() && remove.is_empty() {
            drop(staging);
            journal.map_or(Ok(()), Journal::folded)?;
            return Ok(false);
        }
        if !keep_day && self.day != today {
            text.seek(SeekFrom::Start(day_at))
                .and_then(|_| text.write_all(today.as_bytes()))
                .map_err(refused("write", &har))?;
        }
        let digest = file_digest(&mut text).map_err(refused("read", &har))?;
        let before = || journal.map_or(Ok(()), |journal| journal.folding(&har, &digest));
        staging.commit(&text, put.into_iter(), remove, before)?;
        journal.map_or(Ok(()), Journal::folded)?;
        Ok(true)
    }
}

/// What begins where an entry names a body file. Within a string the quotes would be escaped.
const NAMED: &[u8] = b"\"_file\":\"";

fn placeholder(at: usize) -> String {
    at.to_string()
}

/// An entry with the names of its body files instead of their numbers.
fn named(encoded: Vec<u8>, names: &[String]) -> Vec<u8> {
    if names.is_empty() {
        return encoded;
    }
    let mut out = Vec::with_capacity(encoded.len() + 100);
    let mut rest = &encoded[..];
    while let Some(found) = memchr::memmem::find(rest, NAMED) {
        let (before, after) = rest.split_at(found + NAMED.len());
        out.extend_from_slice(before);
        let end = memchr::memchr(b'"', after).unwrap_or(after.len());
        let number = std::str::from_utf8(&after[..end]).ok().and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| names.get(number)) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => out.extend_from_slice(&after[..end]),
        }
        rest = &after[end..];
    }
    out.extend_from_slice(rest);
    out
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
pub(super) fn places<'a>(request: Option<&'a Filed>, response: Option<&'a Filed>) -> (Place<'a>, Place<'a>, LaidOut) {
    let place = |filed: Option<&'a Filed>| {
        filed.map_or(Place::Inline, |filed| Place::File { name: &filed.name, sha256: &filed.sha256 })
    };
    let laid_out = |filed: Option<&Filed>| filed.is_some_and(|filed| filed.laid_out);
    (place(request), place(response), LaidOut { request: laid_out(request), response: laid_out(response) })
}
