//! The pass over the text, value by value.

use std::{borrow::Cow, ops::Range};

use super::{
    error::{LenientError, LenientFault},
    quoted::Quoted,
};
use crate::json::{Kind, parse, strings};

/// A place in JSON text.
pub struct Reader<'a> {
    text: &'a [u8],
    /// The text again, if it is Unicode.
    unicode: Option<&'a str>,
    at: usize,
    /// There are control characters, if only white space.
    controls: bool,
}

impl<'a> Reader<'a> {
    /// At the beginning of a text.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        // A line of a journal ends with a line feed.
        let controls = strings::control(text.trim_ascii_end()).is_some();
        let unicode = simdutf8::basic::from_utf8(text).ok();
        Self { text, unicode, at: 0, controls }
    }

    /// Whether nothing but white space follows.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        parse::next(self.text, self.at).1.is_none()
    }

    /// Takes an object; `member` takes the value of each member.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, or the error of `member`.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&str, &mut Self) -> Result<(), LenientError>,
    ) -> Result<(), LenientError> {
        self.open(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek()? != b'"' {
                return Err(LenientFault::Grammar.into());
            }
            let name = self.string()?;
            self.colon()?;
            member(&name, self).map_err(|error| error.within(&name))?;
            if self.closes(b'}')? {
                return Ok(());
            }
        }
    }

    /// Takes an array; `item` takes each item.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, or the error of `item`.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), LenientError>) -> Result<(), LenientError> {
        self.open(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self).map_err(|error| error.within("*"))?;
            if self.closes(b']')? {
                return Ok(());
            }
        }
    }

    /// Takes a string that has to be text.
    ///
    /// # Errors
    ///
    /// It is another value, or holds what is no text.
    pub fn string(&mut self) -> Result<Cow<'a, str>, LenientError> {
        self.peek()?;
        let start = self.at;
        if let Some(text) = self.plain() {
            self.check_controls(start..self.at)?;
            return Ok(Cow::Borrowed(text));
        }
        let quoted = self.quoted()?;
        self.check_controls(start..self.at)?;
        // What is no text around the escapes is none before them.
        let fault = if self.unicode.is_some() { LenientFault::Surrogate } else { LenientFault::Grammar };
        quoted.strict().ok_or_else(|| fault.into())
    }

    /// Takes a string that need not be text: half of a surrogate pair, and what is not UTF-8, become U+FFFD.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn lossy(&mut self) -> Result<Cow<'a, str>, LenientError> {
        self.peek()?;
        match self.plain() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.quoted().map(Quoted::lossy),
        }
    }

    /// As [`Reader::lossy`], with its escapes left for later.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn quoted(&mut self) -> Result<Quoted<'a>, LenientError> {
        if self.peek()? != b'"' {
            return Err(self.misfit(Kind::String));
        }
        if let Some(text) = self.plain() {
            return Ok(Quoted::Text(text));
        }
        let (span, is_escaped) = self.span()?;
        let inside = &self.text[span];
        Ok(if is_escaped { Quoted::Escaped(inside) } else { Quoted::Bytes(inside) })
    }

    /// Takes `true` or `false`.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn boolean(&mut self) -> Result<bool, LenientError> {
        match self.peek()? {
            b't' | b'f' => Ok(self.word()? == Word::True),
            _ => Err(self.misfit(Kind::Boolean)),
        }
    }

    /// Takes a natural number, written as one.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn natural(&mut self) -> Result<u64, LenientError> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => self.number()?.parse().map_err(|_| LenientFault::Shape(None).into()),
            _ => Err(self.misfit(Kind::Number)),
        }
    }

    /// Takes `null`, which is nothing, or another value by a function.
    ///
    /// # Errors
    ///
    /// What begins like `null` is something else, or the error of `read`.
    pub fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, LenientError>,
    ) -> Result<Option<T>, LenientError> {
        if self.peek()? == b'n' { self.word().map(|_| None) } else { read(self).map(Some) }
    }

    /// Whether an object begins there.
    ///
    /// # Errors
    ///
    /// Nothing follows.
    pub fn is_object(&mut self) -> Result<bool, LenientError> {
        Ok(self.peek()? == b'{')
    }

    /// Whether a string begins there.
    ///
    /// # Errors
    ///
    /// Nothing follows.
    pub fn is_string(&mut self) -> Result<bool, LenientError> {
        Ok(self.peek()? == b'"')
    }

    /// Takes the next value, whatever it is; its text.
    pub(super) fn raw(&mut self) -> Result<&'a str, LenientError> {
        if matches!(self.peek()?, b'-' | b'0'..=b'9') {
            return self.number();
        }
        let start = self.at;
        self.skip()?;
        self.unicode(start..self.at)
    }

    /// What is wrong where another value was asked for: its own fault, if it has one.
    #[cold]
    fn misfit(&mut self, expected: Kind) -> LenientError {
        let (found, taken) = match self.text.get(self.at) {
            Some(b'{') => (Kind::Object, Ok(())),
            Some(b'[') => (Kind::Array, Ok(())),
            Some(b'"') => (Kind::String, self.string().map(drop)),
            Some(b'n') => (Kind::Null, self.skip()),
            Some(b't' | b'f') => (Kind::Boolean, self.skip()),
            _ => (Kind::Number, self.skip()),
        };
        taken.err().unwrap_or_else(|| LenientFault::Shape(Some((found, expected))).into())
    }

    /// Takes the bracket that opens what was asked for.
    fn open(&mut self, bracket: u8) -> Result<(), LenientError> {
        if self.peek()? != bracket {
            return Err(self.misfit(if bracket == b'{' { Kind::Object } else { Kind::Array }));
        }
        self.at += 1;
        Ok(())
    }

    /// Takes what follows a member or item; whether it closes what they stand in.
    fn closes(&mut self, close: u8) -> Result<bool, LenientError> {
        let byte = self.peek()?;
        if byte != b',' && byte != close {
            return Err(LenientFault::Grammar.into());
        }
        self.at += 1;
        Ok(byte == close)
    }

    /// The next byte that is no white space, without taking it.
    #[inline]
    fn peek(&mut self) -> Result<u8, LenientError> {
        let byte;
        (self.at, byte) = parse::next(self.text, self.at);
        byte.ok_or_else(|| LenientFault::Cut.into())
    }

    /// Takes a string that is text without escapes, as most are.
    #[inline]
    fn plain(&mut self) -> Option<&'a str> {
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at + 1;
        let end = strings::special(self.text, start);
        if self.text.get(end) != Some(&b'"') {
            return None;
        }
        let text = self.unicode?.get(start..end)?;
        self.at = end + 1;
        Some(text)
    }

    /// Takes a string; where its inside stands, and whether it has escapes.
    fn span(&mut self) -> Result<(Range<usize>, bool), LenientError> {
        let start = self.at + 1;
        let mut end = strings::special(self.text, start);
        let is_escaped = self.text.get(end) == Some(&b'\\');
        while self.text.get(end) == Some(&b'\\') {
            let Some((_, after)) = strings::decoded(self.text, end) else { return Err(self.bad_escape(end).into()) };
            end = strings::special(self.text, after);
        }
        if end == self.text.len() {
            return Err(LenientFault::Cut.into());
        }
        self.at = end + 1;
        Ok((start..end, is_escaped))
    }

    /// What is wrong with the escape at `at`: the text may end inside it.
    fn bad_escape(&self, at: usize) -> LenientFault {
        let length = self.text.len();
        let is_cut = match self.text.get(at + 1) {
            None => true,
            Some(b'u') => length < at + 6 || length < at + 12 && strings::hex(self.text, at + 2).is_some(),
            Some(_) => false,
        };
        if is_cut { LenientFault::Cut } else { LenientFault::Grammar }
    }

    /// Checks that a string of these bytes is text.
    fn check_controls(&self, inside: Range<usize>) -> Result<(), LenientError> {
        if self.controls && strings::control(&self.text[inside]).is_some() {
            Err(LenientFault::Grammar.into())
        } else {
            Ok(())
        }
    }

    /// What is written, which has to be text.
    fn unicode(&self, span: Range<usize>) -> Result<&'a str, LenientError> {
        match self.unicode {
            Some(text) => text.get(span).ok_or_else(|| LenientFault::Grammar.into()),
            None => unicode(&self.text[span]),
        }
    }

    /// Takes a number; its text.
    fn number(&mut self) -> Result<&'a str, LenientError> {
        let start = self.at;
        let number = parse::number(self.text, start);
        (self.at, _) = number
            .map_err(|error| if error.offset < self.text.len() { LenientFault::Grammar } else { LenientFault::Cut })?;
        self.unicode(start..self.at)
    }

    /// Takes `null`, `true` or `false`.
    fn word(&mut self) -> Result<Word, LenientError> {
        let rest = &self.text[self.at..];
        for (text, word) in [("null", Word::Null), ("true", Word::True), ("false", Word::False)] {
            if rest.starts_with(text.as_bytes()) {
                self.at += text.len();
                return Ok(word);
            }
            if text.as_bytes().starts_with(rest) {
                return Err(LenientFault::Cut.into());
            }
        }
        Err(LenientFault::Grammar.into())
    }

    /// Takes the next value, whatever it is.
    ///
    /// # Errors
    ///
    /// It is not JSON.
    pub fn skip(&mut self) -> Result<(), LenientError> {
        // What closes the containers that are open.
        let mut open = Vec::new();
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                bracket @ (b'{' | b'[') => {
                    let close = closing(bracket);
                    self.at += 1;
                    if self.peek()? != close {
                        open.push(close);
                        if close == b'}' {
                            self.skip_name()?;
                        }
                        continue;
                    }
                    self.at += 1;
                }
                b'-' | b'0'..=b'9' => self.number().map(drop)?,
                _ => self.word().map(drop)?,
            }
            loop {
                let Some(&close) = open.last() else { return Ok(()) };
                if !self.closes(close)? {
                    if close == b'}' {
                        self.skip_name()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    /// Takes a member's name and the colon after it.
    fn skip_name(&mut self) -> Result<(), LenientError> {
        match self.peek()? {
            b'"' => self.skip_string()?,
            _ => return Err(LenientFault::Grammar.into()),
        }
        self.colon()
    }

    fn colon(&mut self) -> Result<(), LenientError> {
        match self.peek()? {
            b':' => self.at += 1,
            _ => return Err(LenientFault::Grammar.into()),
        }
        Ok(())
    }

    fn skip_string(&mut self) -> Result<(), LenientError> {
        let (span, _) = self.span()?;
        self.check_controls(span)
    }
}

fn unicode(bytes: &[u8]) -> Result<&str, LenientError> {
    std::str::from_utf8(bytes).map_err(|_| LenientFault::Grammar.into())
}

/// What closes what a bracket opens: ASCII has it two places further.
fn closing(bracket: u8) -> u8 {
    bracket + 2
}

#[derive(PartialEq, Eq)]
enum Word {
    Null,
    True,
    False,
}
