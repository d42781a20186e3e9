//! The pass over the bytes: a loop with an explicit stack, one [`Slot`] per token that carries a value.

use std::{borrow::Cow, collections::HashSet};

use super::{DEPTH, Fault, Kind, MAX_SOURCE, SyntaxError};
use std::sync::atomic::Ordering;

/// One value (or member name) on the tape. A container is followed by its content; a member is its name, then its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// First byte of the token in the source.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
    /// Index of the first slot after this value and all that it holds.
    pub(super) next: u32,
    /// Bits 0 to 2: the kind. Bit 3: a string with escapes, or a number with a fraction or an exponent. Above: members
    /// or items.
    meta: u32,
}

const MARK: u32 = 1 << 3;
const COUNT_ONE: u32 = 1 << 4;

impl Slot {
    fn new(kind: Kind, start: usize, end: usize, next: usize, marked: bool) -> Self {
        Self {
            start: small(start),
            end: small(end),
            next: small(next),
            meta: kind as u32 | if marked { MARK } else { 0 },
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self.meta & 7 {
            0 => Kind::Null,
            1 => Kind::Boolean,
            2 => Kind::Number,
            3 => Kind::String,
            4 => Kind::Array,
            _ => Kind::Object,
        }
    }

    /// A string with escapes, or a number with a fraction or an exponent.
    pub(super) fn is_marked(self) -> bool {
        self.meta & MARK != 0
    }

    pub(super) fn count(self) -> usize {
        (self.meta >> 4) as usize
    }
}

/// Positions fit: [`MAX_SOURCE`] is far below `u32::MAX`, and a tape has no more slots than the source has bytes.
fn small(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// What may come next.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    /// A value (after a colon, after a comma in an array, or at the start).
    Value,
    /// A value or the end of an array that has just begun.
    ItemOrEnd,
    /// A member name (after a comma).
    Name,
    /// A member name or the end of an object that has just begun.
    NameOrEnd,
    /// A comma or the end of the open container; the end of the document if none is open.
    After,
}

/// Tape for `source`, never empty, and how deep it goes.
pub(super) fn parse(source: &[u8]) -> Result<(Vec<Slot>, usize), SyntaxError> {
    let fail = |fault, offset| Err(SyntaxError { fault, offset });
    if source.len() > MAX_SOURCE {
        return fail(Fault::TooLong, MAX_SOURCE);
    }
    if source.starts_with(b"\xef\xbb\xbf") {
        return fail(Fault::ByteOrderMark, 0);
    }
    match std::str::from_utf8(source) {
        Ok(_) => Pass::new(source).run(),
        Err(error) => {
            let valid = error.valid_up_to();
            match Pass::new(&source[..valid]).run() {
                Err(earlier) if earlier.offset < valid => Err(earlier),
                _ => fail(Fault::Utf8, valid),
            }
        }
    }
}

struct Pass<'a> {
    source: &'a [u8],
    at: usize,
    tape: Vec<Slot>,
    /// Tape indices of the containers that are open.
    open: Vec<u32>,
    max_depth: usize,
    /// Most containers that were open at once.
    depth: usize,
}

type Step<T = ()> = Result<T, SyntaxError>;

impl<'a> Pass<'a> {
    fn new(source: &'a [u8]) -> Self {
        Self {
            source,
            at: 0,
            tape: Vec::with_capacity(source.len() / 12 + 1),
            open: Vec::new(),
            max_depth: DEPTH.load(Ordering::Relaxed),
            depth: 0,
        }
    }

    fn fail<T>(&self, fault: Fault) -> Step<T> {
        Err(SyntaxError { fault, offset: self.at })
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    fn run(mut self) -> Step<(Vec<Slot>, usize)> {
        let mut expect = Expect::Value;
        loop {
            while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
                self.at += 1;
            }
            let Some(byte) = self.peek() else {
                return if expect == Expect::After && self.open.is_empty() {
                    Ok((self.tape, self.depth))
                } else {
                    self.fail(Fault::Grammar)
                };
            };
            expect = match (expect, byte) {
                (Expect::Name | Expect::NameOrEnd, b'"') => {
                    self.count();
                    self.string()?;
                    while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
                        self.at += 1;
                    }
                    if self.peek() != Some(b':') {
                        return self.fail(Fault::Grammar);
                    }
                    self.at += 1;
                    Expect::Value
                }
                (Expect::After, b',') => match self.open_kind() {
                    Some(Kind::Object) => {
                        self.at += 1;
                        Expect::Name
                    }
                    Some(_) => {
                        self.at += 1;
                        Expect::Value
                    }
                    None => return self.fail(Fault::Grammar),
                },
                (Expect::ItemOrEnd, b']') | (Expect::NameOrEnd, b'}') | (Expect::After, b']' | b'}') => {
                    self.close(byte)?;
                    Expect::After
                }
                (Expect::Value | Expect::ItemOrEnd, _) => self.value(byte)?,
                _ => return self.fail(Fault::Grammar),
            };
        }
    }

    fn open_kind(&self) -> Option<Kind> {
        self.open.last().map(|index| self.tape[*index as usize].kind())
    }

    /// Counts one more member or item of the open container.
    fn count(&mut self) {
        if let Some(index) = self.open.last() {
            self.tape[*index as usize].meta += COUNT_ONE;
        }
    }

    fn value(&mut self, first: u8) -> Step<Expect> {
        if self.open_kind() == Some(Kind::Array) {
            self.count();
        }
        match first {
            b'"' => self.string()?,
            b'{' => return self.enter(Kind::Object),
            b'[' => return self.enter(Kind::Array),
            b't' => self.word(b"true", Kind::Boolean)?,
            b'f' => self.word(b"false", Kind::Boolean)?,
            b'n' => self.word(b"null", Kind::Null)?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => return self.fail(Fault::Grammar),
        }
        Ok(Expect::After)
    }

    fn enter(&mut self, kind: Kind) -> Step<Expect> {
        if self.open.len() >= self.max_depth {
            return self.fail(Fault::TooDeep);
        }
        self.open.push(small(self.tape.len()));
        self.depth = self.depth.max(self.open.len());
        self.tape.push(Slot::new(kind, self.at, self.at, 0, false));
        self.at += 1;
        Ok(if kind == Kind::Object { Expect::NameOrEnd } else { Expect::ItemOrEnd })
    }

    fn close(&mut self, byte: u8) -> Step {
        let Some(index) = self.open.pop() else { return self.fail(Fault::Grammar) };
        let index = index as usize;
        let kind = self.tape[index].kind();
        if (kind == Kind::Object) != (byte == b'}') {
            return self.fail(Fault::Grammar);
        }
        self.at += 1;
        self.tape[index].end = small(self.at);
        self.tape[index].next = small(self.tape.len());
        if kind == Kind::Object { self.distinct(index) } else { Ok(()) }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Step {
        if !self.source[self.at..].starts_with(word) {
            return self.fail(Fault::Grammar);
        }
        self.push(kind, self.at + word.len(), false);
        Ok(())
    }

    fn push(&mut self, kind: Kind, end: usize, marked: bool) {
        let next = self.tape.len() + 1;
        self.tape.push(Slot::new(kind, self.at, end, next, marked));
        self.at = end;
    }

    fn number(&mut self) -> Step {
        let digits = |from: usize| {
            self.source[from..].iter().position(|byte| !byte.is_ascii_digit()).map_or(self.source.len(), |n| from + n)
        };
        let fault = |offset| Err(SyntaxError { fault: Fault::Grammar, offset });
        let first = self.at + usize::from(self.source[self.at] == b'-');
        let mut end = match self.source.get(first) {
            Some(b'0') => first + 1,
            Some(b'1'..=b'9') => digits(first),
            _ => return fault(first),
        };
        let mut marked = false;
        if self.source.get(end) == Some(&b'.') {
            let fraction = end + 1;
            end = digits(fraction);
            if end == fraction {
                return fault(end);
            }
            marked = true;
        }
        if matches!(self.source.get(end), Some(b'e' | b'E')) {
            let exponent = end + 1 + usize::from(matches!(self.source.get(end + 1), Some(b'+' | b'-')));
            if exponent >= self.source.len() {
                return fault(self.source.len());
            }
            end = digits(exponent);
            if end == exponent {
                return fault(end);
            }
            marked = true;
        }
        self.push(Kind::Number, end, marked);
        Ok(())
    }

    /// Scans a string literal; the source is valid UTF-8 already.
    fn string(&mut self) -> Step {
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at = self.plain(at)?;
            if self.source[at] == b'"' {
                self.push(Kind::String, at + 1, escaped);
                return Ok(());
            }
            escaped = true;
            at = self.escape(at)?;
        }
    }

    /// From `at` to the next quote or backslash; control characters are faults.
    fn plain(&self, mut at: usize) -> Step<usize> {
        let fault = |offset| Err(SyntaxError { fault: Fault::Grammar, offset });
        // Names and short values end within a few bytes, where a call to memchr costs more than it saves.
        let near = self.source.len().min(at + 16);
        while at < near {
            match self.source[at] {
                b'"' | b'\\' => return Ok(at),
                0..0x20 => return fault(at),
                _ => at += 1,
            }
        }
        let rest = &self.source[at..];
        let length = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        // A fold rather than `any`: without an early exit it is vectorised.
        if rest[..length].iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20 {
            let control = rest.iter().position(|byte| *byte < 0x20).unwrap_or(0);
            return fault(at + control);
        }
        if length == rest.len() { fault(self.source.len()) } else { Ok(at + length) }
    }

    /// Checks the escape at `at` and gives the position after it.
    fn escape(&self, at: usize) -> Step<usize> {
        let fault = |fault| Err(SyntaxError { fault, offset: at });
        match self.source.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => match hex(self.source, at + 2) {
                None => fault(Fault::Grammar),
                Some(0xD800..0xDC00) => match self.source.get(at + 6..at + 8) {
                    Some(b"\\u") => match hex(self.source, at + 8) {
                        Some(0xDC00..0xE000) => Ok(at + 12),
                        Some(_) => fault(Fault::LoneSurrogate),
                        None => fault(Fault::Grammar),
                    },
                    _ => fault(Fault::LoneSurrogate),
                },
                Some(0xDC00..0xE000) => fault(Fault::LoneSurrogate),
                Some(_) => Ok(at + 6),
            },
            _ => fault(Fault::Grammar),
        }
    }

    /// Whether the object at `index` names each member once, escapes undone.
    fn distinct(&self, index: usize) -> Step {
        /// Up to here comparing every pair is cheaper than hashing.
        const PAIRWISE: usize = 12;
        let object = self.tape[index];
        if object.count() < 2 {
            return Ok(());
        }
        let names = || {
            let mut at = index + 1;
            std::iter::from_fn(move || {
                (at < object.next as usize).then(|| {
                    let slot = self.tape[at];
                    at = self.tape[at + 1].next as usize;
                    (name(self.source, slot), slot.start as usize)
                })
            })
        };
        let duplicate = |offset| Err(SyntaxError { fault: Fault::DuplicateKey, offset });
        if object.count() <= PAIRWISE {
            let mut seen: [Cow<'_, [u8]>; PAIRWISE] = [const { Cow::Borrowed(&[]) }; PAIRWISE];
            for (count, (name, offset)) in names().enumerate() {
                if seen[..count].contains(&name) {
                    return duplicate(offset);
                }
                seen[count] = name;
            }
        } else {
            let mut seen = HashSet::with_capacity(object.count());
            for (name, offset) in names() {
                if !seen.insert(name) {
                    return duplicate(offset);
                }
            }
        }
        Ok(())
    }
}

fn name(source: &[u8], slot: Slot) -> Cow<'_, [u8]> {
    let inner = &source[slot.start as usize + 1..slot.end as usize - 1];
    if slot.is_marked() {
        let text = std::str::from_utf8(inner).unwrap_or_default();
        Cow::Owned(unescape(text).into_bytes())
    } else {
        Cow::Borrowed(inner)
    }
}

/// The four hexadecimal digits at `at`.
fn hex(source: &[u8], at: usize) -> Option<u32> {
    source.get(at..at + 4)?.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?))
}

/// Undoes the escapes of a string's inside, which the pass has found well-formed.
pub(super) fn unescape(inner: &str) -> String {
    let bytes = inner.as_bytes();
    let mut out = String::with_capacity(inner.len());
    let mut copied = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[copied..]) {
        let at = copied + found;
        out.push_str(&inner[copied..at]);
        copied = at + 2;
        match bytes.get(at + 1) {
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                let mut code = hex(bytes, at + 2).unwrap_or(0xFFFD);
                copied = at + 6;
                if (0xD800..0xDC00).contains(&code) {
                    let low = hex(bytes, at + 8).unwrap_or(0xDC00);
                    code = 0x10000 + ((code - 0xD800) << 10) + (low & 0x3FF);
                    copied = at + 12;
                }
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(char::from(*other)),
            None => {}
        }
    }
    out.push_str(&inner[copied..]);
    out
}
