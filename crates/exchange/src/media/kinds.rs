//! Media types, and which of them are JSON.

use std::borrow::Cow;

use crate::json::Document;

/// The media type of a form.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// The media type of JSON.
pub const JSON: &str = "application/json";

/// The media type of a form with files.
pub const MULTIPART_FORM: &str = "multipart/form-data";

/// Whether a media type is a sequence of items that stand by themselves (OpenAPI 3.2, section 4.14.3).
pub fn is_sequence(essence: &str) -> bool {
    let json = ["application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/json-seq"];
    json.contains(&essence) || essence == EVENT_STREAM || essence.ends_with("+json-seq")
}

/// The media type of server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Where each whole event of a stream of server-sent events ends.
pub fn event_ends(content: &[u8]) -> impl Iterator<Item = usize> {
    let mut from = 0;
    memchr::memchr2_iter(b'\n', b'\r', content).filter_map(move |at| {
        let end = EVENT_ENDS.iter().find(|end| at >= from && content[at..].starts_with(end))?;
        from = at + end.len();
        Some(from)
    })
}

/// An event ends with an empty line, and a line with CR LF, CR or LF (WHATWG HTML, section 9.2.5).
const EVENT_ENDS: [&[u8]; 4] = [b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r"];

/// Where the last whole item of a sequence of this type ends; `None` if the type is no sequence.
pub fn whole_items(essence: &str, content: &[u8]) -> Option<usize> {
    if !is_sequence(essence) {
        return None;
    }
    if essence == EVENT_STREAM {
        let ends = EVENT_ENDS.iter();
        let end = ends.filter_map(|end| Some(memchr::memmem::rfind(content, end)? + end.len())).max();
        return Some(end.unwrap_or(0));
    }
    let lines = memchr::memrchr(b'\n', content).map_or(0, |at| at + 1);
    if !essence.ends_with("json-seq") {
        return Some(lines);
    }
    // A text can hold line feeds: the last one is whole if it is JSON and ends with one (RFC 7464, section 2.4).
    let last = memchr::memrchr(0x1e, content).unwrap_or(0);
    let text = content.get(last + 1..lines).unwrap_or_default();
    let is_whole = lines == content.len() && Document::parse(text.to_vec()).is_ok();
    Some(if is_whole { lines } else { last })
}

/// Type and subtype of a `Content-Type`, in lower case, without parameters.
pub fn essence(value: &[u8]) -> Cow<'_, str> {
    let essence = value[..memchr::memchr(b';', value).unwrap_or(value.len())].trim_ascii();
    match std::str::from_utf8(essence) {
        Ok(essence) if !essence.bytes().any(|byte| byte.is_ascii_uppercase()) => Cow::Borrowed(essence),
        _ => Cow::Owned(String::from_utf8_lossy(essence).trim().to_ascii_lowercase()),
    }
}

/// Whether a media type says that its content is JSON: `application/json`, `text/json`, or a structured type such as
/// `application/problem+json`.
pub fn is_json(essence: &str) -> bool {
    matches!(essence, JSON | "text/json") || has_json_suffix(essence)
}

/// Whether its content is text that no grammar divides, as far as contrail reads it: XML is none, nor is a sequence.
pub fn is_text(essence: &str) -> bool {
    let is_xml = essence == "text/xml" || essence.ends_with("+xml");
    essence.starts_with("text/") && !is_xml && !is_json(essence) && !is_sequence(essence)
}

/// Whether it is a structured type of JSON (RFC 6839).
pub fn has_json_suffix(essence: &str) -> bool {
    let subtype = essence.split_once('/').map(|(_, subtype)| subtype);
    subtype.and_then(|subtype| subtype.strip_suffix("+json")).is_some_and(|name| !name.is_empty())
}

/// Whether a sender of this media type means JSON: by its name ([`is_json`]), or by a suffix without one.
pub fn means_json(essence: &str) -> bool {
    is_json(essence) || essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_that_breaks_off_is_whole_up_to_its_last_whole_item() {
        for (essence, whole, rest) in [
            (EVENT_STREAM, "data: 1\n\nid: 2\ndata: 2\n\n", "data: 3\n"),
            (EVENT_STREAM, "data: 1\r\n\r\n", "data: 2\r\n"),
            (EVENT_STREAM, "data: 1\r\r", "data: 2\r"),
            (EVENT_STREAM, "", "data: 1\n"),
            ("application/x-ndjson", "{}\n{\"a\":1}\n", "{\"a\""),
            ("application/json-seq", "\u{1e}{}\n", "\u{1e}{\"a\":\n"),
            ("application/json-seq", "\u{1e}{}\n\u{1e}{\"a\":\n1}\n", ""),
            ("application/geo+json-seq", "\u{1e}{}\n", "\u{1e}12"),
        ] {
            assert_eq!(
                whole_items(essence, format!("{whole}{rest}").as_bytes()),
                Some(whole.len()),
                "{whole:?} {rest:?}"
            );
        }
        assert_eq!(whole_items("application/json", b"{}\n"), None);
    }

    #[test]
    fn each_event_of_a_stream_ends_with_its_empty_line() {
        let ends = |content: &str| event_ends(content.as_bytes()).collect::<Vec<_>>();
        assert_eq!(ends("data: 1\n\nid: 2\ndata: 2\n\ndata"), [9, 24]);
        assert_eq!(ends("data: 1\r\n\r\ndata: 2\r\rdata: 3\r\n"), [11, 20]);
        assert_eq!(ends(""), [0; 0]);
    }

    #[test]
    fn the_meanings_of_json_differ_where_their_names_say() {
        for (value, named, meant) in [
            ("application/json", true, true),
            ("Application/JSON ; charset=utf-8", true, true),
            ("application/problem+json", true, true),
            ("text/json", true, true),
            ("application/+json", false, true),
            ("+json", false, true),
            ("application/jsonp", false, false),
            ("text/plain", false, false),
        ] {
            let essence = essence(value.as_bytes());
            assert_eq!((is_json(&essence), means_json(&essence)), (named, meant), "{value}");
        }
    }
}
