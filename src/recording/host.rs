//! The upstream's origin becomes `https://tenant.example` wherever it occurs, in any of the spellings that a message
//! has for it: plain, with JSON's `\/`, percent-encoded, and the authority alone.

use std::borrow::Cow;

/// The origin in fixtures.
pub const TENANT_ORIGIN: &str = "https://tenant.example";

/// The authority in fixtures.
const TENANT: &str = "tenant.example";

/// Replaces one origin.
#[derive(Debug, Clone)]
pub struct HostRename {
    /// The authority in lower case, as it stands in texts: plain, and with its colon percent-encoded.
    spellings: Vec<Vec<u8>>,
    /// Whether the authority is only replaced after a scheme: a single name like `localhost` means too many things.
    after_scheme: bool,
}

impl HostRename {
    /// Replaces `origin` (`https://host:port`); `None` for the one that fixtures have.
    #[must_use]
    pub fn new(origin: &str) -> Option<Self> {
        let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority).to_ascii_lowercase();
        if authority.is_empty() || authority == TENANT {
            return None;
        }
        let mut spellings = vec![authority.clone().into_bytes()];
        if authority.contains(':') {
            spellings.push(authority.replace(':', "%3a").into_bytes());
        }
        Some(Self { spellings, after_scheme: !authority.contains(['.', ':']) })
    }

    /// Whether this is the authority.
    pub(super) fn is(&self, authority: &str) -> bool {
        authority.as_bytes().eq_ignore_ascii_case(&self.spellings[0])
    }

    /// The text with every occurrence replaced.
    pub(super) fn apply<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut out: Option<Vec<u8>> = None;
        let (mut at, mut copied) = (0, 0);
        while let Some((start, end)) = self.find(text, at) {
            at = end;
            let scheme = scheme_before(&text[..start]);
            let apart = (scheme.is_some() || !self.after_scheme) && starts(text, start) && ends(text, end);
            if !apart {
                continue;
            }
            let out = out.get_or_insert_with(|| Vec::with_capacity(text.len() + 16));
            if let Some((begin, separator)) = scheme.filter(|(begin, _)| *begin >= copied) {
                out.extend_from_slice(&text[copied..begin]);
                out.extend_from_slice(b"https");
                out.extend_from_slice(&text[separator..start]);
            } else {
                out.extend_from_slice(&text[copied..start]);
            }
            out.extend_from_slice(TENANT.as_bytes());
            copied = end;
        }
        match out {
            None => text.into(),
            Some(mut out) => {
                out.extend_from_slice(&text[copied..]);
                out.into()
            }
        }
    }

    /// The same for text.
    pub(super) fn text(&self, text: &mut String) {
        if let Cow::Owned(new) = self.apply(text.as_bytes())
            && let Ok(new) = String::from_utf8(new)
        {
            *text = new;
        }
    }

    /// The next occurrence from `from` on, whatever stands around it.
    fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let first = self.spellings[0][0];
        let mut at = from;
        loop {
            at += memchr::memchr2(first, first.to_ascii_uppercase(), text.get(at..)?)?;
            for spelling in &self.spellings {
                let end = at + spelling.len();
                if text.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(spelling)) {
                    return Some((at, end));
                }
            }
            at += 1;
        }
    }
}

/// Where the scheme before an authority begins, and where what separates them does.
fn scheme_before(before: &[u8]) -> Option<(usize, usize)> {
    for separator in ["://", ":\\/\\/", "%3a%2f%2f", ":%2f%2f"] {
        let Some(start) = before.len().checked_sub(separator.len()) else { continue };
        if !before[start..].eq_ignore_ascii_case(separator.as_bytes()) {
            continue;
        }
        for scheme in ["https", "http"] {
            let Some(begin) = start.checked_sub(scheme.len()) else { continue };
            if before[begin..start].eq_ignore_ascii_case(scheme.as_bytes()) {
                return Some((begin, start));
            }
        }
    }
    None
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// Whether no part of a longer name stands before.
fn starts(text: &[u8], start: usize) -> bool {
    let encoded = start >= 3
        && text[start - 3] == b'%'
        && text[start - 2].is_ascii_hexdigit()
        && text[start - 1].is_ascii_hexdigit();
    encoded || start == 0 || !is_host(text[start - 1])
}

/// Whether no part of a longer name, and no port, follows.
fn ends(text: &[u8], end: usize) -> bool {
    match text.get(end) {
        None => true,
        // The end of a sentence.
        Some(b'.') => text.get(end + 1).is_none_or(|next| !is_host(*next)),
        Some(b':') => text.get(end + 1).is_none_or(|next| !next.is_ascii_digit()),
        Some(b'%') => {
            !text[end..].get(..4).is_some_and(|rest| rest[..3].eq_ignore_ascii_case(b"%3a") && rest[3].is_ascii_digit())
        }
        Some(next) => !is_host(*next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(origin: &str, text: &str) -> String {
        let mut text = text.to_owned();
        HostRename::new(origin).unwrap().text(&mut text);
        text
    }

    #[test]
    fn every_spelling_of_the_origin_is_replaced() {
        for (text, expected) in [
            ("https://up.acme.com/api/v2/", "https://tenant.example/api/v2/"),
            ("HTTP://UP.ACME.COM", "https://tenant.example"),
            (r#"{"iss":"https:\/\/up.acme.com\/"}"#, r#"{"iss":"https:\/\/tenant.example\/"}"#),
            ("audience=https%3A%2F%2Fup.acme.com%2Fapi", "audience=https%3A%2F%2Ftenant.example%2Fapi"),
            ("a https://up.acme.com and https://up.acme.com.", "a https://tenant.example and https://tenant.example."),
            ("domain=up.acme.com; Path=/", "domain=tenant.example; Path=/"),
            ("q=%22up.acme.com%22", "q=%22tenant.example%22"),
        ] {
            assert_eq!(renamed("https://up.acme.com", text), expected);
        }
        assert_eq!(
            renamed("http://127.0.0.1:5000", "http://127.0.0.1:5000/x http%3A%2F%2F127.0.0.1%3A5000 127.0.0.1:5000"),
            "https://tenant.example/x https%3A%2F%2Ftenant.example tenant.example"
        );
    }

    #[test]
    fn other_hosts_stay() {
        for text in [
            "https://up.acme.com.evil.example",
            "https://www.up.acme.com",
            "https://up.acme.com:8443",
            "https%3A%2F%2Fup.acme.com%3A8443",
            "xup.acme.com",
            "up.acme.community",
        ] {
            assert_eq!(renamed("https://up.acme.com", text), text);
        }
    }

    #[test]
    fn a_single_name_is_replaced_only_as_an_origin() {
        assert_eq!(renamed("http://localhost", "localhost http://localhost/"), "localhost https://tenant.example/");
    }
}
