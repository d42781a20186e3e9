//! The pass over the text, value by value.

use std::ops::Range;

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, Visitor},
    forward_to_deserialize_any,
};

use super::{
    error::LenientError,
    escapes::{escape, unescape},
    object::OBJECT,
};
use crate::json::{parse, strings};

/// Tells [`Reader`] that the text itself is asked for.
pub(super) const RAW: &str = "contrail::json::Raw";

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
    match parse::next(text, reader.at) {
        (_, None) => Ok(value),
        (_, Some(_)) => Err(LenientError::Grammar),
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
        let byte;
        (self.at, byte) = parse::next(self.text, self.at);
        byte.ok_or(LenientError::Cut)
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

    /// The last string that had escapes, which has to be text.
    fn unescaped(&self) -> Result<&str, LenientError> {
        // What is no text around the escapes is none before them.
        let error = if self.unicode.is_some() { LenientError::Surrogate } else { LenientError::Grammar };
        std::str::from_utf8(&self.scratch).map_err(|_| error)
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
                let byte = self.peek()?;
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
                    None => visitor.visit_str(self.unescaped()?),
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

    /// A member's name: where all is text, its bytes suffice to compare it.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        if self.unicode.is_none() || self.peek()? != b'"' {
            return self.deserialize_any(visitor);
        }
        let start = self.at;
        let span = self.string()?;
        self.check_controls(start..self.at)?;
        match span {
            Some(span) => visitor.visit_borrowed_bytes(&self.text[span]),
            None => visitor.visit_str(self.unescaped()?),
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
        match name {
            RAW => {
                self.peek()?;
                let start = self.at;
                self.skip()?;
                visitor.visit_borrowed_str(self.unicode(start..self.at)?)
            }
            OBJECT if self.peek()? != b'{' => {
                self.skip()?;
                visitor.visit_none()
            }
            OBJECT => visitor.visit_some(self),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LenientError> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct
        seq tuple tuple_struct map struct enum
    }
}
