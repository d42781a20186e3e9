//! Parts of multipart bodies (RFC 2046, section 5.1; RFC 7578).

use std::ops::Range;

/// What ends a line of a multipart body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    /// CRLF, as the standard says.
    Crlf,
    /// A line feed by itself too, as most readers take it.
    Any,
}

/// A multipart body, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Multipart {
    pub parts: Vec<Part>,
    /// What stands before the first delimiter and after the last.
    pub outside: [Range<usize>; 2],
}

/// A part of a multipart body.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Its header fields, without the empty line.
    pub head: Range<usize>,
    /// Its content, without the line break before the delimiter.
    pub body: Range<usize>,
}

/// Takes a multipart body apart; `None` if it is none: no delimiter, a line that only begins like one, no end.
pub fn multipart(content: &[u8], boundary: &[u8], ends: LineEnds) -> Option<Multipart> {
    if boundary.is_empty() {
        return None;
    }
    let delimiter = [b"--", boundary].concat();
    let finder = memchr::memmem::Finder::new(&delimiter);
    let begins_line = |at: usize| match ends {
        LineEnds::Crlf => at == 0 || content[..at].ends_with(b"\r\n"),
        LineEnds::Any => at == 0 || content[..at].ends_with(b"\n"),
    };
    let find = |mut from: usize| -> Option<usize> {
        loop {
            let at = from + finder.find(content.get(from..)?)?;
            if begins_line(at) {
                return Some(at);
            }
            from = at + 1;
        }
    };
    let mut at = find(0)?;
    let before = 0..at;
    let mut parts = Vec::new();
    loop {
        let rest = &content[at + delimiter.len()..];
        if rest.starts_with(b"--") {
            return Some(Multipart { parts, outside: [before, at + delimiter.len() + 2..content.len()] });
        }
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = content.len() - rest.len() + blank + line_end(&rest[blank..], ends)?;
        let next = find(start)?;
        // A delimiter right after a part's head takes the head's last line end for its own.
        let end = (next - before_line(content, next, ends)).max(start);
        let gap = head_end(&content[start..end], ends)?;
        parts.push(Part { head: start..start + gap.start, body: start + gap.end..end });
        at = next;
    }
}

/// The length of the line end that a text begins with.
fn line_end(text: &[u8], ends: LineEnds) -> Option<usize> {
    match text {
        [b'\r', b'\n', ..] => Some(2),
        [b'\n', ..] if ends == LineEnds::Any => Some(1),
        _ => None,
    }
}

/// The length of the line end before the line that begins at `at`.
fn before_line(content: &[u8], at: usize, ends: LineEnds) -> usize {
    match &content[..at] {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n'] if ends == LineEnds::Any => 1,
        _ => 0,
    }
}

/// Where the empty line stands that ends a part's head, with the line end before it.
fn head_end(part: &[u8], ends: LineEnds) -> Option<Range<usize>> {
    if let Some(length) = line_end(part, ends) {
        return Some(0..length);
    }
    memchr::memchr_iter(b'\n', part).find_map(|at| {
        let line = before_line(part, at + 1, ends);
        let length = line_end(&part[at + 1..], ends).filter(|_| line > 0)?;
        Some(at + 1 - line..at + 1 + length)
    })
}

/// The header fields of a part's head, in order, folded lines joined by a blank.
pub fn part_fields(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.first(), fields.last_mut()) {
            (Some(b' ' | b'\t'), Some((_, value))) => {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii());
            }
            _ => {
                if let Some(colon) = memchr::memchr(b':', line) {
                    let name = String::from_utf8_lossy(line[..colon].trim_ascii()).to_ascii_lowercase();
                    fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(content: &'a str, boundary: &str, ends: LineEnds) -> Option<Vec<(&'a str, &'a str)>> {
        let found = multipart(content.as_bytes(), boundary.as_bytes(), ends)?;
        Some(found.parts.into_iter().map(|part| (&content[part.head], &content[part.body])).collect())
    }

    #[test]
    fn the_parts_of_a_multipart_body_are_found_and_a_broken_one_is_refused() {
        let whole = "before\r\n--b \r\nA: 1\r\n\r\none\r\n--b\r\n\r\ntwo\n--b\r\n--b--\r\nafter";
        let found = parts(whole, "b", LineEnds::Crlf).unwrap();
        assert_eq!(found, [("A: 1", "one"), ("", "two\n--b")]);
        let outside = multipart(whole.as_bytes(), b"b", LineEnds::Crlf).unwrap().outside;
        assert_eq!(outside.map(|range| &whole[range]), ["before\r\n", "\r\nafter"]);
        for broken in ["--b\r\n\r\none\r\n", "--b\r\nno end", "--bx\r\n\r\n--b--", "", "--b", "--b\r\nA: 1\r\n--b--"] {
            for ends in [LineEnds::Crlf, LineEnds::Any] {
                assert_eq!(parts(broken, "b", ends), None, "{broken}");
            }
        }
        assert_eq!(parts("--\r\n\r\n----", "", LineEnds::Any), None);
    }

    #[test]
    fn a_bare_line_feed_ends_a_line_only_where_any_does() {
        let body = "--b\nA: 1\n\none\n--b\r\nB: 2\r\n\r\ntwo\n\n--b--";
        assert_eq!(parts(body, "b", LineEnds::Crlf), None);
        assert_eq!(parts(body, "b", LineEnds::Any).unwrap(), [("A: 1", "one"), ("B: 2", "two\n")]);
        let mixed = "--b\r\nA: 1\n\nB: 2\r\n\r\none\r\n--b--";
        assert_eq!(parts(mixed, "b", LineEnds::Crlf).unwrap(), [("A: 1\n\nB: 2", "one")]);
        assert_eq!(parts(mixed, "b", LineEnds::Any).unwrap(), [("A: 1", "B: 2\r\n\r\none")]);
    }

    #[test]
    fn the_fields_of_a_part_are_read_whatever_their_case_blanks_and_folds() {
        let head = b"Content-DISPOSITION : form-data;\r\n\tname=\"a\"\r\nno field\nX: 1";
        let found = part_fields(head);
        assert_eq!(found[0], ("content-disposition".to_owned(), b"form-data; name=\"a\"".to_vec()));
        assert_eq!(found[1], ("x".to_owned(), b"1".to_vec()));
        assert_eq!(found.len(), 2);
    }
}
