//! Finds values in a JSON stream without holding more than one of them: entries of a HAR file of any size.
//!
//! Knows brackets and strings only; what it hands out is parsed (and its grammar checked) by the caller.

use std::io::{self, BufRead};

/// Why the stream could not be followed.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// It could not be read.
    Io(io::Error),
    /// It ended inside a value.
    Cut,
    /// Something else stood there than what JSON allows.
    Unexpected {
        /// Byte offset in the stream.
        offset: u64,
        /// What was expected.
        expected: &'static str,
    },
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A cursor over a JSON stream.
#[derive(Debug)]
pub(crate) struct Scanner<R> {
    input: R,
    offset: u64,
}

impl<R: BufRead> Scanner<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, offset: 0 }
    }

    /// How many bytes were taken so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Drops a UTF-8 byte-order mark.
    pub(crate) fn skip_mark(&mut self) -> Result<(), ScanError> {
        if self.input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            self.consume(3);
        }
        Ok(())
    }

    /// The next byte that is no white space, without taking it; `None` at the end.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, ScanError> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let blank = chunk.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
            let next = chunk.get(blank).copied();
            self.consume(blank);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// Takes `byte`, which has to come next.
    pub(crate) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), ScanError> {
        match self.peek()? {
            Some(found) if found == byte => {
                self.consume(1);
                Ok(())
            }
            Some(_) => Err(self.unexpected(expected)),
            None => Err(ScanError::Cut),
        }
    }

    /// Steps to the next member or item of a container that ends with `close`: false (and the bracket taken) at its
    /// end. `first` is whether nothing of it was taken yet.
    pub(crate) fn next(&mut self, close: u8, first: bool) -> Result<bool, ScanError> {
        match self.peek()? {
            None => Err(ScanError::Cut),
            Some(found) if found == close => {
                self.consume(1);
                Ok(false)
            }
            Some(_) if first => Ok(true),
            Some(b',') => {
                self.consume(1);
                Ok(true)
            }
            Some(_) => Err(self.unexpected("a comma or a closing bracket")),
        }
    }

    /// Takes a member's name and the colon after it.
    pub(crate) fn name(&mut self) -> Result<String, ScanError> {
        if self.peek()? != Some(b'"') {
            return Err(self.unexpected("a member's name"));
        }
        let mut text = Vec::new();
        self.value(Some(&mut text))?;
        let offset = self.offset;
        let name =
            serde_json::from_slice(&text).map_err(|_| ScanError::Unexpected { offset, expected: "a member's name" })?;
        self.expect(b':', "a colon")?;
        Ok(name)
    }

    /// Takes the next value, whole; its text is appended to `out`.
    pub(crate) fn value(&mut self, out: Option<&mut Vec<u8>>) -> Result<(), ScanError> {
        match self.peek()? {
            None => Err(ScanError::Cut),
            Some(b'{' | b'[') => self.container(out),
            Some(b'"') => self.string(out),
            Some(b',' | b':' | b'}' | b']') => Err(self.unexpected("a value")),
            Some(_) => self.scalar(out),
        }
    }

    fn container(&mut self, mut out: Option<&mut Vec<u8>>) -> Result<(), ScanError> {
        let mut depth = 0_usize;
        let mut string = StringState::Outside;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Err(ScanError::Cut);
            }
            let mut at = 0;
            let mut ended = false;
            while at < chunk.len() {
                if string != StringState::Outside {
                    at += string.advance(&chunk[at..]);
                    continue;
                }
                match chunk[at] {
                    b'"' => string = StringState::Inside,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    ended = true;
                    break;
                }
            }
            if let Some(out) = out.as_deref_mut() {
                out.extend_from_slice(&chunk[..at]);
            }
            self.consume(at);
            if ended {
                return Ok(());
            }
        }
    }

    fn string(&mut self, mut out: Option<&mut Vec<u8>>) -> Result<(), ScanError> {
        if let Some(out) = out.as_deref_mut() {
            out.push(b'"');
        }
        self.consume(1);
        let mut state = StringState::Inside;
        while state != StringState::Outside {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Err(ScanError::Cut);
            }
            let mut at = 0;
            while at < chunk.len() && state != StringState::Outside {
                at += state.advance(&chunk[at..]);
            }
            if let Some(out) = out.as_deref_mut() {
                out.extend_from_slice(&chunk[..at]);
            }
            self.consume(at);
        }
        Ok(())
    }

    fn scalar(&mut self, mut out: Option<&mut Vec<u8>>) -> Result<(), ScanError> {
        loop {
            let chunk = self.input.fill_buf()?;
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            let end = chunk.iter().position(ends);
            let at = end.unwrap_or(chunk.len());
            let cut = chunk.is_empty();
            if let Some(out) = out.as_deref_mut() {
                out.extend_from_slice(&chunk[..at]);
            }
            self.consume(at);
            if end.is_some() || cut {
                return Ok(());
            }
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.offset += bytes as u64;
    }

    /// The error for what comes next.
    pub(crate) fn unexpected(&self, expected: &'static str) -> ScanError {
        ScanError::Unexpected { offset: self.offset, expected }
    }
}

/// Where a cursor is in respect of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringState {
    Outside,
    Inside,
    Escaped,
}

impl StringState {
    /// How many bytes of `chunk` (which is not empty) belong to the string up to the next change of state.
    fn advance(&mut self, chunk: &[u8]) -> usize {
        if *self == Self::Escaped {
            *self = Self::Inside;
            return 1;
        }
        match memchr::memchr2(b'"', b'\\', chunk) {
            None => chunk.len(),
            Some(at) => {
                *self = if chunk[at] == b'"' { Self::Outside } else { Self::Escaped };
                at + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_are_cut_out_whole_at_any_buffer_size(
            texts in proptest::collection::vec(".{0,12}", 1..6), capacity in 1..40_usize, pretty: bool,
        ) {
            let values: Vec<serde_json::Value> = texts
                .iter()
                .enumerate()
                .map(|(index, text)| match index % 4 {
                    0 => serde_json::json!({ text.as_str(): [text, {"a\\\"]}": null}] }),
                    1 => serde_json::json!(text),
                    2 => serde_json::json!(index),
                    _ => serde_json::json!([[], {}, text]),
                })
                .collect();
            let file = if pretty { serde_json::to_string_pretty(&values) } else { serde_json::to_string(&values) }.unwrap();
            let mut scanner = Scanner::new(BufReader::with_capacity(capacity, file.as_bytes()));
            scanner.expect(b'[', "an array").unwrap();
            let mut found: Vec<serde_json::Value> = Vec::new();
            while scanner.next(b']', found.is_empty()).unwrap() {
                let mut span = Vec::new();
                scanner.value(Some(&mut span)).unwrap();
                found.push(serde_json::from_slice(&span).unwrap());
            }
            prop_assert_eq!(found, values);
            prop_assert_eq!(scanner.peek().unwrap(), None);
        }
    }
}
