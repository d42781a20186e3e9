//! What a file is, by how it begins.

use std::io::{self, BufRead, Cursor, Read as _};

use super::scan::{ScanError, Scanner};
use crate::journal::lines::{is_entry, unmarked};

/// The form of a file that may well hold a recording, and what to do about it.
pub(super) fn other_form(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x1f, 0x8b, ..] => Some("it is compressed with gzip; unpack it first (gunzip)"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("it is compressed with zstd; unpack it first (unzstd)"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some("it is compressed with bzip2; unpack it first (bunzip2)"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("it is compressed with xz; unpack it first (unxz)"),
        [b'P', b'K', 3, 4, ..] => Some("it is a ZIP archive; unpack it first (unzip)"),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [b'{', 0, 0, 0, ..] | [0, 0, 0, b'{', ..] => {
            Some("it is UTF-32, and HAR is UTF-8; convert it first (iconv -f UTF-32 -t UTF-8)")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{', 0, ..] | [0, b'{', ..] => {
            Some("it is UTF-16, and HAR is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)")
        }
        _ => None,
    }
}

/// Whether a file that begins like this is a journal: its first line is an entry, its members in any order, or says
/// something of the journal.
#[must_use]
pub fn is_journal(start: &[u8]) -> bool {
    let start = unmarked(start).trim_ascii_start();
    let line = memchr::memchr(b'\n', start).map_or(start, |end| &start[..end]);
    begins_journal(line) == Some(true)
}

/// Whether `input` is a journal, and `input` again. Of a journal whose entry is broken into lines, too.
pub(super) fn recognized(mut input: Box<dyn BufRead + Send>) -> io::Result<(bool, Box<dyn BufRead + Send>)> {
    /// Bytes within which an entry shows that it is one.
    const MAX_HELD: usize = 1 << 20;
    if let Some(found) = begins_journal(unmarked(input.fill_buf()?)) {
        return Ok((found, input));
    }
    let (mut held, mut found) = (Vec::new(), None);
    while found.is_none() && held.len() < MAX_HELD {
        // Twice as much each time, so that no byte is looked at often.
        let more = held.len().max(4096);
        if input.by_ref().take(more as u64).read_to_end(&mut held)? == 0 {
            break;
        }
        found = begins_journal(unmarked(&held));
    }
    Ok((found == Some(true), Box::new(Cursor::new(held).chain(input))))
}

/// Whether text that begins like this is a journal; `None` if more of it is needed.
fn begins_journal(start: &[u8]) -> Option<bool> {
    if !is_entry(start) {
        return Some(true);
    }
    match is_entry_of_har(start) {
        Ok(found) => Some(found),
        Err(ScanError::Cut) => None,
        Err(_) => Some(false),
    }
}

/// Whether an object is an entry of HAR by its first members.
fn is_entry_of_har(start: &[u8]) -> Result<bool, ScanError> {
    let mut scanner = Scanner::new(start);
    scanner.expect(b'{', "an object")?;
    let (mut request, mut beside) = (false, false);
    let mut first = true;
    while scanner.next(b'}', first)? {
        first = false;
        match scanner.name()?.as_str() {
            "startedDateTime" => return Ok(true),
            "log" => return Ok(false),
            "request" => request = true,
            "cache" | "timings" | "_contrail" => beside = true,
            _ => {}
        }
        if request && beside {
            return Ok(true);
        }
        scanner.value(None)?;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_known_by_the_members_of_its_first_line_in_any_order() {
        for (start, expected) in [
            (r#"{"startedDateTime":"2026"#, true),
            (r#"{"_contrail":{"token":{}},"cache":{},"request":{"#, true),
            (r#"{"request":{"url":"x"},"response":{},"startedDateTime":"#, true),
            (r#"{"time":1,"request":{"url":"x"},"timings":"#, true),
            ("\u{feff}{\"startedDateTime\":\"2026", true),
            ("\u{feff}\n {\"_chain\":\"x\"}", true),
            (r#"{"_unrecorded":{}}"#, true),
            // Other JSON with such members is no recording, and one entry in several lines no journal.
            (r#"{"request":{},"response":{}}"#, false),
            (r#"{"_contrail":{},"log":{"entries":[]}}"#, false),
            ("{\n\"startedDateTime\":\"2026\"}", false),
            (r#"{"cache":{},"log":{}}"#, false),
            ("{}", false),
            ("", false),
            ("[1]", false),
        ] {
            assert_eq!(is_journal(start.as_bytes()), expected, "{start}");
        }
    }
}
