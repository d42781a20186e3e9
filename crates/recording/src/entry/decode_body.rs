//! A body as a HAR file holds it: text, base64, a file beside it, parameters of a form, or nothing.

use std::borrow::Cow;

use base64::Engine as _;
use bytes::Bytes;
use contrail_exchange::{Body, DecodeLimits, Headers, Presence, Withheld, json, media};

use super::{EntryFault, files::Expecting, har};

/// The bytes that the file holds for a body; `None` if it holds none. `headers` are those of another tool's message.
pub(super) fn stored(
    text: Option<Cow<'_, str>>,
    encoding: Option<&str>,
    file: Option<&str>,
    headers: Option<&Headers>,
    files: &mut Expecting<'_>,
) -> Result<Option<Bytes>, EntryFault> {
    if let Some(file) = file {
        return files
            .read(file)
            .map(Some)
            .map_err(|reason| EntryFault::BodyFile { file: file.chars().take(200).collect(), reason });
    }
    let Some(text) = text else { return Ok(None) };
    if !encoding.is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64")) {
        let bytes = headers.and_then(|headers| one_per_character(&text, headers));
        return Ok(Some(bytes.map_or_else(|| Bytes::copy_from_slice(text.as_bytes()), Bytes::from)));
    }
    // Polly has a JSON array there, of the chunks of a coded body.
    let chunks = text.starts_with('[').then(|| serde_json::from_str::<Vec<String>>(&text).ok()).flatten();
    if let Some(chunks) = chunks {
        let chunks = chunks.iter().map(|chunk| from_base64(chunk));
        return chunks.collect::<Result<Vec<_>, _>>().map(|chunks| Some(chunks.concat().into()));
    }
    from_base64(&text).map(|bytes| Some(bytes.into()))
}

fn from_base64(text: &str) -> Result<Vec<u8>, EntryFault> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').collect();
    let decoded = base64::engine::general_purpose::STANDARD_NO_PAD
        .decode(&text)
        .or_else(|_| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(&text));
    decoded.map_err(|_| "a body marked as base64 is not base64".into())
}

/// The bytes of a text that holds one per character, as Firefox and mitmproxy save request bodies that are not UTF-8.
/// `Content-Length` decides: it is the number of characters then, and not that of the text's bytes in UTF-8.
fn one_per_character(text: &str, headers: &Headers) -> Option<Vec<u8>> {
    if text.is_ascii() || identity_length(headers)? == text.len() as u64 {
        return None;
    }
    let bytes: Vec<u8> = text.chars().map(u8::try_from).collect::<Result<_, _>>().ok()?;
    (identity_length(headers)? == bytes.len() as u64).then_some(bytes)
}

/// The bytes of a text that came in Latin-1: a file holds it in UTF-8 ("trans-coded", HAR 1.2), and a client would read
/// that by the charset which the header states. JSON is UTF-8 whatever its header states (RFC 8259, section 8.1).
pub(super) fn in_its_charset(content: Bytes, headers: &Headers) -> Bytes {
    let declared = headers.get_str("content-type").unwrap_or_default();
    let charset = media::parameter(declared.as_bytes(), "charset").unwrap_or_default().to_ascii_lowercase();
    let latin: [&[u8]; 3] = [b"iso-8859-1", b"latin1", b"windows-1252"];
    let is_latin = latin.contains(&&*charset) && declared.starts_with("text/");
    let text = std::str::from_utf8(&content).ok().filter(|_| is_latin);
    text.and_then(bytes_of).map(Bytes::from).unwrap_or(content)
}

/// The bytes of the content, where `Content-Length` states them.
fn identity_length(headers: &Headers) -> Option<u64> {
    length(headers).filter(|_| !headers.contains("content-encoding"))
}

/// A body that the file holds. `size` is how many bytes the producer says that there were.
pub(super) fn present(
    content: Bytes,
    size: Option<u64>,
    headers: &Headers,
    wire_size: Option<u64>,
    laid_out: bool,
    foreign: bool,
) -> Body {
    let mut body = Body { wire_size, ..Body::whole(content) };
    if laid_out {
        // Text that cannot be compacted was edited by hand, and stays as it is.
        if let Ok(document) = json::Document::parse(body.content.clone()) {
            body.content = json::compact(&document).into();
        }
    }
    if !foreign {
        return body;
    }
    if is_lossy(&body.content, headers) {
        return Body::withheld(Withheld::Other("lossy".to_owned()), wire_size);
    }
    body = undo_coding(body, headers);
    // Firefox cuts long bodies: the size is that of the whole, and the text breaks off.
    let kept = body.content.len() as u64;
    if body.is_whole() && size.is_some_and(|size| size > kept) && breaks_off(&body.content) {
        body.presence = Presence::Truncated { kept, total: size };
    }
    body
}

/// Whether the producer replaced bytes that are not UTF-8 by U+FFFD, so that what was sent is unknown.
fn is_lossy(content: &[u8], headers: &Headers) -> bool {
    memchr::memmem::find(content, "\u{fffd}".as_bytes()).is_some()
        && std::str::from_utf8(content).is_ok()
        && !headers.contains("content-encoding")
        && identity_length(headers) != Some(content.len() as u64)
}

/// Undoes a content coding that is still there; most producers hold bodies decoded, whatever their headers say.
fn undo_coding(body: Body, headers: &Headers) -> Body {
    // Codings are case-insensitive (RFC 9110, section 8.4.1).
    let coding = headers.get_str("content-encoding").unwrap_or_default().trim().to_ascii_lowercase();
    let text = std::str::from_utf8(&body.content).ok();
    let decoded = |body: Body| body.decode(headers, DecodeLimits::default());
    // A text was compressed if what its characters stand for can be decoded.
    let is_undone = |body: &Body| body.is_whole() && !body.coded;
    let is_coded = |bytes: Vec<u8>| is_undone(&decoded(Body::whole(bytes)));
    let is_mangled = |text: &str| is_mangled(text) || bytes_of(text).is_some_and(is_coded);
    let (coded, mangled) = match &*coding {
        "" | "identity" => return body,
        "gzip" | "x-gzip" => {
            (body.content.starts_with(&[0x1f, 0x8b]), text.is_some_and(|text| text.starts_with('\u{1f}')))
        }
        "zstd" => (body.content.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), text.is_some_and(is_mangled)),
        _ => (text.is_none(), text.is_some_and(is_mangled)),
    };
    // The producer of the file may have cut or changed it: that is no fault of the message.
    let unreadable = Body::withheld(Withheld::Other("coded".to_owned()), body.wire_size);
    if mangled {
        return unreadable;
    }
    if !coded {
        return body;
    }
    let decoded = decoded(body.clone());
    // Bytes that are not text and not coded either: an image under a coding that was undone.
    match decoded.presence {
        _ if is_undone(&decoded) => decoded,
        Presence::Withheld(Withheld::MaxDecoded | Withheld::MaxRatio) if coding.ends_with("gzip") => decoded,
        _ if coding.ends_with("gzip") => unreadable,
        _ => body,
    }
}

/// Whether a text was compressed, and its producer read the bytes as characters. Hardly a text has both a control
/// character (but that of colours) and what stands for bytes that are none of UTF-8: U+FFFD, or the characters that
/// Latin-1 and windows-1252 have for them.
fn is_mangled(text: &str) -> bool {
    let is_control = |byte: u8| byte < b' ' && !byte.is_ascii_whitespace() && byte != 0x1b;
    let stands_for_byte = |character| {
        matches!(character, '\u{80}'..='\u{9f}' | char::REPLACEMENT_CHARACTER) || WINDOWS_1252.contains(character)
    };
    text.bytes().any(is_control) && text.contains(stands_for_byte)
}

/// The characters that windows-1252 has for the bytes from 0x80 to 0x9f; where it has none, that of Latin-1.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// The bytes that a text stands for in Latin-1 or windows-1252; `None` where it has only characters of ASCII, or others.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let byte = |character: char| {
        let place = || WINDOWS_1252.chars().position(|held| held == character);
        u8::try_from(character).ok().or_else(|| u8::try_from(0x80 + place()?).ok())
    };
    if text.is_ascii() { None } else { text.chars().map(byte).collect() }
}

/// Whether the text is JSON that ends in the middle.
fn breaks_off(content: &[u8]) -> bool {
    matches!(content.trim_ascii_start().first(), Some(b'{' | b'['))
        && serde_json::from_slice::<serde::de::IgnoredAny>(content).is_err_and(|error| error.is_eof())
}

/// A body that the file does not hold: absent, or not saved. `unknown` states that it may have been there where no size
/// is given: `content.text` is optional (HAR 1.2), so its lack proves nothing.
pub(super) fn missing(
    size: Option<u64>,
    unknown: bool,
    headers: &Headers,
    wire_size: Option<u64>,
    foreign: bool,
) -> Body {
    if !foreign {
        return Body { wire_size, ..Body::default() };
    }
    let stated = lengths(headers).max();
    // Where one size is zero and the other is not, there was a body.
    let there = match size.max(stated) {
        Some(size) => size > 0,
        None => unknown || headers.contains("transfer-encoding"),
    };
    if there { Body::withheld(Withheld::NotSaved, wire_size) } else { Body { wire_size, ..Body::default() } }
}

/// The values of `Content-Length`; several may contradict each other (RFC 9110, section 8.6).
fn lengths(headers: &Headers) -> impl Iterator<Item = u64> {
    let values = headers.get_all("content-length").filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|length| length.trim().parse().ok())
}

/// The value of `Content-Length`, unless several contradict each other.
fn length(headers: &Headers) -> Option<u64> {
    let mut stated = lengths(headers);
    let length = stated.next()?;
    stated.all(|other| other == length).then_some(length)
}

/// A form of which only the parameters were saved. Some producers save them decoded, some as they were sent; the length
/// tells, and where it is not stated they count as decoded.
pub(super) fn form(params: &[har::Param<'_>], wire_size: Option<u64>, headers: &Headers) -> Body {
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
    let multipart = headers.get_str("content-type").is_some_and(|mime| !mime.contains("form-urlencoded"));
    if multipart || params.iter().any(|param| param.file_name.is_some()) {
        return Body::withheld(Withheld::NotSaved, wire_size);
    }
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    let mut raw = String::new();
    for param in params {
        let (name, value) = (text(&param.name), text(&param.value));
        if !raw.is_empty() {
            raw.push('&');
        }
        raw.push_str(&name);
        raw.push('=');
        raw.push_str(&value);
        encoded.append_pair(&name, &value);
    }
    let encoded = encoded.finish();
    let stated = length(headers).or(wire_size);
    let as_sent = stated == Some(raw.len() as u64) && stated != Some(encoded.len() as u64);
    Body { wire_size, ..Body::whole(if as_sent { raw } else { encoded }) }
}
