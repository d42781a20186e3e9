//! Values that were read before, by their text: most of what entries of a recording state is the same in many of them,
//! and comes in the same order.

use std::{fmt, sync::Arc};

use ahash::AHashMap;

use super::{error::LenientError, reader::Reader};

/// What was read lately, by its text. A text that was read before is not read again.
#[derive(Clone)]
pub struct Known<T> {
    held: Vec<Held<T>>,
    by_text: AHashMap<Arc<[u8]>, usize>,
    /// Of the texts.
    bytes: usize,
    /// The place of the object that was taken last.
    last: usize,
}

#[derive(Clone)]
struct Held<T> {
    /// `None` if it is not looked for.
    text: Option<Arc<[u8]>>,
    value: T,
    /// The place of the object that came after it the last time.
    next: usize,
}

impl<T> Known<T> {
    /// Maximum bytes of texts; beyond it, all values are dropped.
    const MAX_BYTES: usize = 128 << 10;
    /// Maximum bytes of one text. A longer one is read each time.
    const MAX_TEXT: usize = 4 << 10;

    /// The value of a text, which `read` makes of one that is not known.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn value<E>(&mut self, text: &[u8], read: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let at = match self.by_text.get(text) {
            Some(at) => *at,
            None => {
                let value = read()?;
                self.keep(text, true, value)
            }
        };
        Ok(self.get(at))
    }

    /// Takes the object that begins there, and gives the place of its value: `read` makes one of an object that is not
    /// known. `end` guesses where the object ends. No object is the beginning of another one, so that a wrong guess
    /// finds none.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn object<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        end: impl FnOnce(&Reader<'a>) -> Option<usize>,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, LenientError>,
    ) -> Result<usize, LenientError> {
        let is_object = reader.is_object()?;
        let start = reader.at();
        let next = self.held.get(self.last).map_or(0, |last| last.next);
        if let Some(text) = self.held.get(next).and_then(|held| held.text.as_ref())
            && reader.pass(text)
        {
            self.last = next;
            return Ok(next);
        }
        let end = if is_object { end(reader) } else { None };
        let text = reader.between(start, end.unwrap_or(start));
        let at = match self.by_text.get(text) {
            Some(at) => {
                reader.pass(text);
                *at
            }
            None => {
                let value = read(reader)?;
                self.keep(reader.between(start, reader.at()), end == Some(reader.at()), value)
            }
        };
        if let Some(last) = self.held.get_mut(self.last) {
            last.next = at;
        }
        self.last = at;
        Ok(at)
    }

    /// The value at a place. Places hold until another value is asked for.
    #[must_use]
    pub fn get(&self, at: usize) -> &T {
        &self.held[at].value
    }

    /// Keeps the value of a text, which is looked for only if it can be found.
    fn keep(&mut self, text: &[u8], can_be_found: bool, value: T) -> usize {
        if self.bytes > Self::MAX_BYTES {
            *self = Self::default();
        }
        let at = self.held.len();
        // A value takes some room, however short its text is.
        self.bytes += text.len().max(64);
        let text: Option<Arc<[u8]>> = (can_be_found && text.len() <= Self::MAX_TEXT).then(|| text.into());
        if let Some(text) = &text {
            self.by_text.insert(Arc::clone(text), at);
        }
        self.held.push(Held { text, value, next: at });
        at
    }
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { held: Vec::new(), by_text: AHashMap::new(), bytes: 0, last: 0 }
    }
}

impl<T> fmt::Debug for Known<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("values", &self.held.len()).finish_non_exhaustive()
    }
}
