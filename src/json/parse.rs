//! The pass over the bytes: a loop with an explicit stack, one [`Slot`] per token that carries a value.

use std::sync::atomic::Ordering;

use super::{DEPTH, Fault, Kind, MAX_SOURCE, SyntaxError, names, strings};

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
/// Where the count of members or items begins.
const COUNT: u32 = 4;

impl Slot {
    #[inline]
    fn new(kind: Kind, start: usize, end: usize, next: usize, marked: bool) -> Self {
        Self {
            start: small(start),
            end: small(end),
            next: small(next),
            meta: kind as u32 | if marked { MARK } else { 0 },
        }
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        use Kind::{Array, Boolean, Null, Number, Object, String};
        const KINDS: [Kind; 8] = [Null, Boolean, Number, String, Array, Object, Object, Object];
        KINDS[(self.meta & 7) as usize]
    }

    /// A string with escapes, or a number with a fraction or an exponent.
    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.meta & MARK != 0
    }

    #[inline]
    pub(super) fn count(self) -> usize {
        (self.meta >> COUNT) as usize
    }
}

/// Positions fit: [`MAX_SOURCE`] is far below `u32::MAX`, and a tape has no more slots than the source has bytes.
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn small(position: usize) -> u32 {
    position as u32
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
    // Most documents are ASCII on one line, which is told without looking at each byte by itself.
    let (least, most) = source.iter().fold((u8::MAX, 0), |(least, most), byte| (least.min(*byte), most.max(*byte)));
    let controls = least < 0x20;
    let valid = if most < 0x80 { source.len() } else { valid_up_to(source) };
    match Pass::new(&source[..valid], controls).run() {
        Err(earlier) if earlier.offset < valid => Err(earlier),
        _ if valid < source.len() => fail(Fault::Utf8, valid),
        whole => whole,
    }
}

/// How many bytes are UTF-8.
fn valid_up_to(source: &[u8]) -> usize {
    std::str::from_utf8(source).map_or_else(|error| error.valid_up_to(), str::len)
}

struct Pass<'a> {
    /// Valid UTF-8.
    source: &'a [u8],
    /// There are control characters, if only white space.
    controls: bool,
    at: usize,
    tape: Vec<Slot>,
    /// The container that is open.
    within: Open,
    /// Those around it, outermost first.
    around: Vec<Open>,
    max_depth: usize,
    /// Most containers that were open at once.
    depth: usize,
}

/// An open container, or the outside of the document.
#[derive(Clone, Copy)]
struct Open {
    /// `None` for the outside.
    kind: Option<Kind>,
    /// Its index on the tape.
    index: usize,
    /// Members or items so far.
    count: u32,
}

type Step<T = ()> = Result<T, SyntaxError>;

impl<'a> Pass<'a> {
    fn new(source: &'a [u8], controls: bool) -> Self {
        Self {
            source,
            controls,
            at: 0,
            tape: Vec::with_capacity(source.len() / 12 + 1),
            within: Open { kind: None, index: 0, count: 0 },
            around: Vec::new(),
            max_depth: DEPTH.load(Ordering::Relaxed),
            depth: 0,
        }
    }

    #[cold]
    fn fail<T>(&self, fault: Fault) -> Step<T> {
        Err(SyntaxError { fault, offset: self.at })
    }

    /// The next byte that is no white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.source.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn run(mut self) -> Step<(Vec<Slot>, usize)> {
        loop {
            let container = self.value()?;
            let is_empty = match container {
                None => true,
                Some(kind) => self.peek() == Some(if kind == Kind::Object { b'}' } else { b']' }),
            };
            if is_empty && self.after()? {
                return Ok((self.tape, self.depth));
            }
            match self.within.kind {
                Some(Kind::Object) => self.name()?,
                _ => self.within.count += 1,
            }
        }
    }

    /// Reads a scalar, or enters a container.
    #[inline]
    fn value(&mut self) -> Step<Option<Kind>> {
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'{') => return self.enter(Kind::Object).map(Some),
            Some(b'[') => return self.enter(Kind::Array).map(Some),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word(b"true", Kind::Boolean)?,
            Some(b'f') => self.word(b"false", Kind::Boolean)?,
            Some(b'n') => self.word(b"null", Kind::Null)?,
            _ => return self.fail(Fault::Grammar),
        }
        Ok(None)
    }

    /// From the end of a value, or the inside of an empty container, to the next value's place; true at the end.
    #[inline]
    fn after(&mut self) -> Step<bool> {
        loop {
            match (self.peek(), self.within.kind) {
                (Some(b','), Some(_)) => {
                    self.at += 1;
                    return Ok(false);
                }
                (Some(b'}'), Some(Kind::Object)) | (Some(b']'), Some(Kind::Array)) => self.close()?,
                (None, None) => return Ok(true),
                _ => return self.fail(Fault::Grammar),
            }
        }
    }

    /// Reads a member's name and its colon.
    #[inline]
    fn name(&mut self) -> Step {
        if self.peek() != Some(b'"') {
            return self.fail(Fault::Grammar);
        }
        self.within.count += 1;
        self.string()?;
        if self.peek() != Some(b':') {
            return self.fail(Fault::Grammar);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn enter(&mut self, kind: Kind) -> Step<Kind> {
        if self.around.len() >= self.max_depth {
            return self.fail(Fault::TooDeep);
        }
        self.around.push(self.within);
        self.depth = self.depth.max(self.around.len());
        self.within = Open { kind: Some(kind), index: self.tape.len(), count: 0 };
        self.tape.push(Slot::new(kind, self.at, self.at, 0, false));
        self.at += 1;
        Ok(kind)
    }

    #[inline]
    fn close(&mut self) -> Step {
        let Open { kind, index, count } = self.within;
        self.at += 1;
        let next = small(self.tape.len());
        let slot = &mut self.tape[index];
        slot.end = small(self.at);
        slot.next = next;
        slot.meta |= count << COUNT;
        if let Some(around) = self.around.pop() {
            self.within = around;
        }
        if kind == Some(Kind::Object)
            && let Some(offset) = names::repeated(self.source, &self.tape, index)
        {
            return Err(SyntaxError { fault: Fault::DuplicateKey, offset });
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Step {
        if !self.source[self.at..].starts_with(word) {
            return self.fail(Fault::Grammar);
        }
        self.push(kind, self.at + word.len(), false);
        Ok(())
    }

    #[inline]
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
    #[inline]
    fn string(&mut self) -> Step {
        let end = self.plain(self.at + 1)?;
        if self.source[end] == b'"' {
            self.push(Kind::String, end + 1, false);
            return Ok(());
        }
        self.escaped(end)
    }

    /// The same, from the first backslash on.
    #[cold]
    fn escaped(&mut self, mut at: usize) -> Step {
        while self.source[at] != b'"' {
            at = self.plain(strings::escape(self.source, at)?)?;
        }
        self.push(Kind::String, at + 1, true);
        Ok(())
    }

    /// From `at` to the next quote or backslash; control characters are faults.
    #[inline]
    fn plain(&self, at: usize) -> Step<usize> {
        let found = strings::special(self.source, at);
        let end = found.unwrap_or(self.source.len());
        if self.controls
            && let Some(control) = strings::control(&self.source[at..end])
        {
            return Err(SyntaxError { fault: Fault::Grammar, offset: at + control });
        }
        found.ok_or(SyntaxError { fault: Fault::Grammar, offset: end })
    }
}
