//! Faults of a request head, line by line, as it was sent.

use super::{fault::RequestFault, line::Line};
use crate::host::is_authority;

/// Facts of a good head that hyper drops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeadFacts {
    /// It names another protocol in `Upgrade` (RFC 9110, section 7.8: over HTTP/1.1 only).
    pub(crate) asks_upgrade: bool,
    /// It is an `OPTIONS` of the server as a whole, written as an absolute URI without a path (RFC 9112, section
    /// 3.2.4).
    pub(crate) asterisk_form: bool,
}

/// Bounds of a head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) target: usize,
    pub(crate) bytes: usize,
    pub(crate) fields: usize,
    /// Of a body, chunk by chunk as announced.
    pub(crate) body: u64,
}

/// The lines of a head so far.
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) fault: Option<RequestFault>,
    pub(super) bytes: usize,
    fields: usize,
    lengths: usize,
    length: u64,
    codings: usize,
    tunnel: bool,
    old: bool,
    asterisk_form: bool,
    /// `Connection` names `upgrade`, and `Upgrade` another protocol than `h2c`.
    upgrade: (bool, bool),
    /// A `HEAD`, the answer to which has no body.
    pub(super) headless: bool,
    /// It ended.
    pub(super) ended: bool,
}

/// What follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    Body(u64),
    Chunks,
    Tunnel,
}

impl Head {
    pub(super) fn facts(&self) -> HeadFacts {
        let asks_upgrade = self.upgrade == (true, true) && !self.tunnel && !self.old;
        HeadFacts { asks_upgrade, asterisk_form: self.asterisk_form }
    }

    fn fault(&mut self, fault: RequestFault) {
        self.fault.get_or_insert(fault);
    }

    /// Looks at a line's bytes, its end included; gives the line without it.
    fn line<'a>(&mut self, line: &'a [u8], bounds: &Bounds) -> &'a [u8] {
        self.bytes += line.len();
        if self.bytes > bounds.bytes {
            self.fault(RequestFault::HEADER_BYTES);
        }
        let [text @ .., b'\r', b'\n'] = line else {
            self.fault(RequestFault::bad("a line of the head ends in a bare line feed"));
            return line.strip_suffix(b"\n").unwrap_or(line);
        };
        // No part of a line may hold a bare carriage return or a NUL, and each is looked at for what it may hold.
        text
    }

    pub(super) fn request_line(&mut self, line: &[u8], bounds: &Bounds) {
        let text = self.line(line, bounds);
        let blank = |byte: &u8| *byte == b' ';
        let (Some(first), Some(last)) = (text.iter().position(blank), text.iter().rposition(blank)) else {
            return self.fault(RequestFault::REQUEST_LINE);
        };
        let (method, target, version) =
            (&text[..first], text.get(first + 1..last).unwrap_or_default(), &text[last + 1..]);
        // No early exit, so that the compiler checks many bytes in one step.
        let usual = target.iter().fold(true, |usual, byte| usual & PLAIN[usize::from(*byte)]);
        if first == last || !usual && target.contains(&b' ') {
            return self.fault(RequestFault::REQUEST_LINE);
        }
        self.tunnel = method == b"CONNECT";
        self.headless = method == b"HEAD";
        self.old = version == b"HTTP/1.0";
        self.asterisk_form = method == b"OPTIONS"
            && strip_scheme(target).is_some_and(|rest| !rest.iter().any(|byte| matches!(byte, b'/' | b'?')));
        if target.len() > bounds.target {
            self.fault = Some(RequestFault::TARGET);
        } else if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
            self.fault(RequestFault::bad("the method contains invalid characters"));
        } else if let Some(fault) = target_fault(method, target, usual) {
            self.fault(RequestFault::bad(fault));
        }
        match version {
            b"HTTP/1.1" | b"HTTP/1.0" => {}
            [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => self.fault(RequestFault::VERSION),
            _ => self.fault(RequestFault::bad("the request line does not end in an HTTP version")),
        }
    }

    pub(super) fn field(&mut self, line: Line<'_>, bounds: &Bounds) {
        let text = self.line(line.bytes, bounds);
        self.fields += 1;
        if self.fields > bounds.fields {
            self.fault(RequestFault::HEADERS);
        }
        if text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            return self.fault(RequestFault::bad("a header field is folded over two lines"));
        }
        let Some((name, value)) = split_field(text) else {
            return self.fault(RequestFault::bad("a header field's name contains invalid characters"));
        };
        // No early exit, so that the compiler checks many bytes in one step.
        if !line.plain && value.iter().fold(false, |found, byte| found | is_control(*byte)) {
            self.fault(RequestFault::bad("a header field's value holds a control character"));
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            match std::str::from_utf8(value).ok().filter(|_| digits).and_then(|value| value.parse::<u64>().ok()) {
                // The two largest numbers stand for other things in hyper.
                Some(length) if length > u64::MAX - 2 => self.fault(RequestFault::LENGTH),
                Some(length) => self.length = length,
                None => self.fault(RequestFault::bad("Content-Length has to be one number")),
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.codings += 1;
            if !value.eq_ignore_ascii_case(b"chunked") {
                self.fault(RequestFault::bad("Transfer-Encoding has to be exactly one `chunked`"));
            }
        } else if is_framing_in_disguise(name) {
            self.fault(RequestFault::bad(DISGUISED));
        } else if name.eq_ignore_ascii_case(b"connection") {
            self.upgrade.0 |= list(value).any(|option| option.eq_ignore_ascii_case(b"upgrade"));
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.upgrade.1 |= list(value).any(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"h2c"));
        }
    }

    /// The empty line is here: what follows, or what is wrong.
    pub(super) fn end(&mut self, line: &[u8], bounds: &Bounds) -> Result<Follows, RequestFault> {
        self.line(line, bounds);
        if self.lengths > 1 {
            self.fault(RequestFault::bad("more than one Content-Length"));
        }
        if self.codings > 1 {
            self.fault(RequestFault::bad("Transfer-Encoding has to be exactly one `chunked`"));
        }
        if self.lengths > 0 && self.codings > 0 {
            self.fault(RequestFault::bad("Content-Length and Transfer-Encoding at once"));
        }
        if self.codings > 0 && self.old {
            self.fault(RequestFault::bad("HTTP/1.0 has no Transfer-Encoding"));
        }
        self.ended = true;
        match self.fault {
            Some(fault) => Err(fault),
            None if self.tunnel => Ok(Follows::Tunnel),
            None if self.codings > 0 => Ok(Follows::Chunks),
            None if self.length > 0 => Ok(Follows::Body(self.length)),
            None => Ok(Follows::Nothing),
        }
    }
}

/// The fault of a line that has not ended yet, so that its end is not waited for.
pub(super) fn unfinished(line: &[u8], request_line: bool, head: &Head, bounds: &Bounds) -> Option<RequestFault> {
    if request_line {
        let target = line.split(|byte| *byte == b' ').nth(1);
        if target.is_some_and(|target| target.len() > bounds.target) {
            return Some(RequestFault::TARGET);
        }
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        if text.iter().any(|byte| !(b' '..=b'~').contains(byte)) {
            return Some(RequestFault::bad("this is not an HTTP request line"));
        }
    }
    (head.bytes + line.len() > bounds.bytes).then_some(RequestFault::HEADER_BYTES)
}

/// Name and value of a field, if the name is a token that ends at the colon.
pub(super) fn split_field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !is_token(*byte))?;
    (end > 0 && text[end] == b':').then(|| (&text[..end], trim(&text[end + 1..])))
}

/// Without the blanks around it; `trim_ascii` takes a form feed for one.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The members of a comma-separated value.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(trim)
}

/// A target has one of four forms (RFC 9112, section 3.2), and which one depends on the method. A `usual` one is made
/// of what ordinary targets are.
fn target_fault(method: &[u8], target: &[u8], usual: bool) -> Option<&'static str> {
    if !usual && target.contains(&b'#') {
        return Some("a request target has no fragment");
    }
    if !usual && (!target.iter().all(u8::is_ascii_graphic) || http::Uri::try_from(target).is_err()) {
        return Some("the request target holds characters that no target has");
    }
    let absolute = || {
        let rest = strip_scheme(target)?;
        let authority = rest.split(|byte| matches!(byte, b'/' | b'?')).next()?;
        (is_authority(authority)).then_some(())
    };
    match target.first() {
        _ if method == b"CONNECT" => {
            let names_host = http::Uri::try_from(target).is_ok_and(|uri| uri.authority().is_some());
            (!names_host).then_some("CONNECT takes HOST:PORT and nothing else")
        }
        Some(b'/') => None,
        Some(b'*') if target.len() == 1 && method == b"OPTIONS" => None,
        _ if absolute().is_some() => None,
        _ => Some("a request target is a path or an absolute http or https URI without user information"),
    }
}

fn strip_scheme(target: &[u8]) -> Option<&[u8]> {
    ["http://", "https://"].iter().find_map(|scheme| {
        let start = target.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme.as_bytes()).then(|| &target[scheme.len()..])
    })
}

/// The fault of [`is_framing_in_disguise`].
pub(crate) const DISGUISED: &str = "a header field's name decides framing once its underscore becomes a hyphen";

/// Whether a name decides framing for an upstream that takes `_` for `-` (CGI and its heirs).
pub(crate) fn is_framing_in_disguise(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"content_length") || name.eq_ignore_ascii_case(b"transfer_encoding")
}

/// RFC 9110, section 5.6.2.
pub(super) fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// Bytes that a token is made of.
const TOKEN: [bool; 256] = table(b"!#$%&'*+-.^_`|~");
/// Bytes of which ordinary request targets are made.
const PLAIN: [bool; 256] = table(b"/%?&=._~+:-");

/// Letters, digits and these.
const fn table(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

pub(super) fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}
