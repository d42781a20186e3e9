//! Values made of JSON text in one pass, for files of any producer: a `serde` format that keeps nothing of the text.
//!
//! Lenient where a [`Document`](super::Document) is strict. What nobody asks for is skipped with its grammar checked and no
//! more, so that names may repeat there, and text need not be Unicode. A string that is asked for as bytes need not be
//! either (half of a surrogate pair is given the three bytes that it would have in UTF-8); where it is, it comes as text.

use std::{fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, Visitor},
    forward_to_deserialize_any,
};

use super::{parse, strings};

/// Why text is not the value that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LenientError {
    /// It ends in the middle.
    Cut,
    /// It is not JSON.
    Grammar,
    /// It is another value: a member is missing or of another type.
    Shape,
    /// A member that is read has this name twice.
    Duplicate(&'static str),
}

impl fmt::Display for LenientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("it ends in the middle"),
            Self::Grammar => f.write_str("it is not valid JSON"),
            Self::Shape => f.write_str("a member is missing or of another type"),
            Self::Duplicate(name) => write!(f, "duplicate member `{name}`"),
        }
    }
}

impl std::error::Error for LenientError {}

impl de::Error for LenientError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Shape
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::Duplicate(name)
    }
}

/// Makes a value of JSON text. Its strings borrow from the text where they hold no escape.
///
/// # Errors
///
/// [`LenientError`]: the first thing that is wrong.
pub fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, LenientError> {
    // A line of a journal ends with a line feed.
    let controls = strings::control(text.trim_ascii_end()).is_some();
    let unicode = std::str::from_utf8(text).ok();
    let mut reader = Reader { text, unicode, at: 0, controls, scratch: Vec::new() };
    let value = T::deserialize(&mut reader)?;
    match parse::next(text, &mut reader.at) {
        None => Ok(value),
        Some(_) => Err(LenientError::Grammar),
    }
}

/// The text of a value, as it stands there. Only [`read`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// The text, without white space around it.
    #[must_use]
    pub fn get(self) -> &'a str {
        self.0
    }

    /// What it stands for.
    ///
    /// # Errors
    ///
    /// As [`read`].
    pub fn read<T: Deserialize<'a>>(self) -> Result<T, LenientError> {
        read(self.0.as_bytes())
    }
}

/// Tells [`Reader`] that the text itself is asked for.
const RAW: &str = "contrail::json::Raw";

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Raw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Raw<'de>, E> {
                Ok(Raw(text))
            }
        }

        deserializer.deserialize_newtype_struct(RAW, Text)
    }
}

/// A place in the text.
struct Reader<'de> {
    text: &'de [u8],
    /// The text again, if it is Unicode.
    unicode: Option<&'de str>,
    at: usize,
    /// There are control characters, if only white space.
    controls: bool,
    /// The last string that had escapes.
    scratch: Vec<u8>,
}

impl<'de> Reader<'de> {
    /// The next byte that is no white space, without taking it.
    #[inline]
    fn peek(&mut self) -> Result<u8, LenientError> {
        parse::next(self.text, &mut self.at).ok_or(LenientError::Cut)
    }

    /// Takes a string; where its inside stands, or `None` if it had escapes and is in the scratch.
    fn string(&mut self) -> Result<Option<Range<usize>>, LenientError> {
        let start = self.at + 1;
        let end = strings::special(self.text, start);
        match self.text.get(end) {
            None => return Err(LenientError::Cut),
            Some(b'"') => self.at = end + 1,
            Some(_) => {
                self.scratch.clear();
                self.scratch.extend_from_slice(&self.text[start..end]);
                self.at = unescape(self.text, end, &mut self.scratch)?;
                return Ok(None);
            }
        }
        Ok(Some(start..end))
    }

    /// Checks that what stands there can stand in a string that is text.
    fn check_controls(&self, inside: Range<usize>) -> Result<(), LenientError> {
        if self.controls && strings::control(&self.text[inside]).is_some() {
            Err(LenientError::Grammar)
        } else {
            Ok(())
        }
    }

    /// What stands there, which has to be text.
    fn unicode(&self, span: Range<usize>) -> Result<&'de str, LenientError> {
        match self.unicode {
            Some(text) => text.get(span).ok_or(LenientError::Grammar),
            None => unicode(&self.text[span]),
        }
    }

    /// Takes a number; its text.
    fn number(&mut self) -> Result<&'de str, LenientError> {
        let start = self.at;
        let number = parse::number(self.text, start);
        (self.at, _) = number
            .map_err(|error| if error.offset < self.text.len() { LenientError::Grammar } else { LenientError::Cut })?;
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
                return Err(LenientError::Cut);
            }
        }
        Err(LenientError::Grammar)
    }

    /// Takes the next value, whatever it is.
    fn skip(&mut self) -> Result<(), LenientError> {
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
                let Some(close) = open.last() else { return Ok(()) };
                let byte = parse::next(self.text, &mut self.at).ok_or(LenientError::Cut)?;
                if byte != b',' && byte != *close {
                    return Err(LenientError::Grammar);
                }
                self.at += 1;
                if byte == b',' {
                    if *close == b'}' {
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
            _ => return Err(LenientError::Grammar),
        }
        self.colon()
    }

    fn colon(&mut self) -> Result<(), LenientError> {
        match self.peek()? {
            b':' => self.at += 1,
            _ => return Err(LenientError::Grammar),
        }
        Ok(())
    }

    fn skip_string(&mut self) -> Result<(), LenientError> {
        let start = self.at + 1;
        let mut end = strings::special(self.text, start);
        while self.text.get(end) == Some(&b'\\') {
            let (_, after) = escape(self.text, end)?;
            end = strings::special(self.text, after);
        }
        self.check_controls(start..end)?;
        if end == self.text.len() {
            return Err(LenientError::Cut);
        }
        self.at = end + 1;
        Ok(())
    }

    /// Gives what is in a container to `visit`, which has to take all of it.
    fn container<T>(
        &mut self,
        visit: impl FnOnce(&mut Inside<'_, 'de>) -> Result<T, LenientError>,
    ) -> Result<T, LenientError> {
        let close = closing(self.text[self.at]);
        self.at += 1;
        let mut inside = Inside { reader: self, close, first: true, ended: false };
        let value = visit(&mut inside)?;
        if inside.ended || !inside.step()? { Ok(value) } else { Err(LenientError::Grammar) }
    }
}

fn unicode(bytes: &[u8]) -> Result<&str, LenientError> {
    std::str::from_utf8(bytes).map_err(|_| LenientError::Grammar)
}

/// Appends a string from the escape at `at` on, and gives the position after its closing quote.
fn unescape(text: &[u8], mut at: usize, out: &mut Vec<u8>) -> Result<usize, LenientError> {
    const PIECE: usize = 512;
    // With room for what the last escape stands for.
    let (mut piece, mut length) = ([0; PIECE + 4], 0);
    loop {
        // A word is taken whole; what of it is not plain is written over.
        let Some(room) = piece[..PIECE].get_mut(length..).and_then(<[u8]>::first_chunk_mut) else {
            out.extend_from_slice(&piece[..length]);
            length = 0;
            continue;
        };
        *room = match text.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => *word,
            None => last_word(text, at)?,
        };
        let plain = strings::plain(*room);
        (at, length) = (at + plain, length + plain);
        if plain == room.len() {
            continue;
        }
        match (text.get(at), text.get(at + 1)) {
            (Some(b'"'), _) => {
                out.extend_from_slice(&piece[..length]);
                return Ok(at + 1);
            }
            // Most escapes.
            (_, Some(byte @ (b'"' | b'\\'))) => {
                piece[length] = *byte;
                (at, length) = (at + 2, length + 1);
            }
            _ => {
                let code;
                (code, at) = escape(text, at)?;
                length += encode(code, &mut piece[length..]);
            }
        }
    }
}

/// The bytes from `at` on, fewer than a word, with nothing behind them.
#[cold]
fn last_word(text: &[u8], at: usize) -> Result<[u8; 8], LenientError> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty()).ok_or(LenientError::Cut)?;
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    Ok(word)
}

/// What the escape at `at` stands for, half of a surrogate pair for itself, and the position after it.
#[inline]
fn escape(text: &[u8], at: usize) -> Result<(u32, usize), LenientError> {
    let code = match text.get(at + 1).ok_or(LenientError::Cut)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unit_or_pair(text, at),
        _ => return Err(LenientError::Grammar),
    };
    Ok((code.into(), at + 2))
}

fn unit_or_pair(text: &[u8], at: usize) -> Result<(u32, usize), LenientError> {
    let unit = |at: usize| {
        strings::hex(text, at).ok_or(if text.len() < at + 4 { LenientError::Cut } else { LenientError::Grammar })
    };
    let code = unit(at + 2)?;
    if (0xD800..0xDC00).contains(&code)
        && text[at + 6..].starts_with(b"\\u")
        && let low @ 0xDC00..0xE000 = unit(at + 8)?
    {
        return Ok((0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12));
    }
    Ok((code, at + 6))
}

/// Writes a character, half of a surrogate pair as if it were one; how many bytes that takes.
#[inline]
fn encode(code: u32, out: &mut [u8]) -> usize {
    match char::from_u32(code) {
        Some(character) => character.encode_utf8(out).len(),
        None => {
            let bytes = [0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F];
            out[..3].copy_from_slice(&bytes.map(|byte| byte.to_le_bytes()[0]));
            3
        }
    }
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

/// The members or items of a container.
struct Inside<'r, 'de> {
    reader: &'r mut Reader<'de>,
    close: u8,
    first: bool,
    ended: bool,
}

impl Inside<'_, '_> {
    /// Steps to the next member or item; false (and the bracket taken) at the end.
    fn step(&mut self) -> Result<bool, LenientError> {
        let first = std::mem::take(&mut self.first);
        match self.reader.peek()? {
            byte if byte == self.close => self.ended = true,
            _ if first => return Ok(true),
            b',' => {}
            _ => return Err(LenientError::Grammar),
        }
        self.reader.at += 1;
        Ok(!self.ended)
    }
}

impl<'de> de::SeqAccess<'de> for Inside<'_, 'de> {
    type Error = LenientError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, LenientError> {
        if self.step()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> de::MapAccess<'de> for Inside<'_, 'de> {
    type Error = LenientError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, LenientError> {
        if !self.step()? {
            return Ok(None);
        }
        match self.reader.peek()? {
            b'"' => seed.deserialize(&mut *self.reader).map(Some),
            _ => Err(LenientError::Grammar),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, LenientError> {
        self.reader.colon()?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = LenientError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        match self.peek()? {
            b'"' => {
                let start = self.at;
                let span = self.string()?;
                self.check_controls(start..self.at)?;
                match span {
                    Some(span) => visitor.visit_borrowed_str(self.unicode(span)?),
                    None => visitor.visit_str(unicode(&self.scratch)?),
                }
            }
            b'{' => self.container(|members| visitor.visit_map(members)),
            b'[' => self.container(|items| visitor.visit_seq(items)),
            b'-' | b'0'..=b'9' => {
                let number = self.number()?;
                if let Ok(natural) = number.parse::<u64>() {
                    visitor.visit_u64(natural)
                } else if let Ok(integer) = number.parse::<i64>() {
                    visitor.visit_i64(integer)
                } else {
                    visitor.visit_f64(number.parse().map_err(|_| LenientError::Grammar)?)
                }
            }
            _ => match self.word()? {
                Word::Null => visitor.visit_unit(),
                word => visitor.visit_bool(word == Word::True),
            },
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        if self.peek()? != b'"' {
            return self.deserialize_any(visitor);
        }
        match self.string()? {
            Some(span) => match self.unicode {
                Some(_) => visitor.visit_borrowed_str(self.unicode(span)?),
                None => visitor.visit_borrowed_bytes(&self.text[span]),
            },
            None => visitor.visit_bytes(&self.scratch),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        if self.peek()? == b'n' {
            self.word()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, LenientError> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        self.peek()?;
        let start = self.at;
        self.skip()?;
        visitor.visit_borrowed_str(self.unicode(start..self.at)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct
        seq tuple tuple_struct map struct enum identifier
    }
}

#[cfg(test)]
mod tests;
