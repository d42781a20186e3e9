//! Labels: what stands in place of a secret.
//!
//! ```text
//! label  = "!" [ kind "-" ] number *"." "!"        !token-1!   !password-12....!   !3!
//! kind   = one of the names of `Kind`
//! ```
//!
//! The number distinguishes the secrets of one recording, whatever their kind. Dots fill a label up to a schema's
//! shortest length; the form without a kind fits a short longest one; where not even that fits, one or two `!` stand
//! alone. Every character is free of escapes in JSON, JSON pointers, URLs, forms, cookies and header fields, so a label
//! reads the same in all of them. A label in place of a JSON number is the number itself.

use std::ops::Range;

/// Bounds that a schema states for the length of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Minimum characters.
    pub min: Option<usize>,
    /// Maximum characters.
    pub max: Option<usize>,
}

/// What a secret is; the word in its label and in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "a variant is named after its label")]
pub enum Kind {
    Token,
    ClientSecret,
    Password,
    Cookie,
    Assertion,
    Code,
    PrivateKey,
    ApiKey,
    Basic,
    Credential,
    Secret,
    Custom,
    Email,
    Phone,
    Person,
    Card,
}

impl Kind {
    /// Every kind with its name, in the order of their declaration.
    pub const NAMES: [(Self, &'static str); 16] = [
        (Self::Token, "token"),
        (Self::ClientSecret, "client-secret"),
        (Self::Password, "password"),
        (Self::Cookie, "cookie"),
        (Self::Assertion, "assertion"),
        (Self::Code, "code"),
        (Self::PrivateKey, "private-key"),
        (Self::ApiKey, "api-key"),
        (Self::Basic, "basic"),
        (Self::Credential, "credential"),
        (Self::Secret, "secret"),
        (Self::Custom, "custom"),
        (Self::Email, "email"),
        (Self::Phone, "phone"),
        (Self::Person, "person"),
        (Self::Card, "card"),
    ];

    /// The word in a label.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The kind that a label names.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, held)| *held == name).map(|(kind, _)| kind)
    }

    /// Personal data, which is masked only under `--redact personal`.
    pub fn is_personal(self) -> bool {
        matches!(self, Self::Email | Self::Phone | Self::Person | Self::Card)
    }
}

/// Maximum digits of a label's number.
const DIGITS: usize = 9;

/// A label as read from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// What the secret was; `None` in the short form.
    pub kind: Option<Kind>,
    /// Which secret of the recording it was.
    pub number: u32,
    /// Dots before the closing mark.
    padding: usize,
}

/// The text that stands for secret `number` of `kind` where `bounds` hold.
pub fn text(kind: Kind, number: u32, bounds: Bounds) -> String {
    let most = bounds.max.unwrap_or(usize::MAX);
    let named = format!("!{}-{number}", kind.name());
    let short = format!("!{number}");
    let mut label = if named.len() < most { named } else { short };
    if label.len() >= most {
        return "!".repeat(most.min(2));
    }
    while label.len() + 1 < bounds.min.unwrap_or(0) {
        label.push('.');
    }
    label.push('!');
    label
}

impl Label {
    /// The label that begins at `text[at]`, and where it ends.
    fn at(text: &[u8], at: usize) -> Option<(Self, usize)> {
        let rest = text.get(at..)?.strip_prefix(b"!")?;
        // The longest kind has 13 letters.
        let named = rest.iter().take(16).take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-').count();
        let kind = match named {
            0 => None,
            _ => Some(Kind::from_name(std::str::from_utf8(rest[..named].strip_suffix(b"-")?).ok()?)?),
        };
        let digits = rest[named..].iter().take(DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > DIGITS || rest[named] == b'0' {
            return None;
        }
        let number = std::str::from_utf8(&rest[named..named + digits]).ok()?.parse().ok()?;
        let padding = rest[named + digits..].iter().take_while(|byte| **byte == b'.').count();
        let end = named + digits + padding;
        (rest.get(end) == Some(&b'!')).then_some((Self { kind, number, padding }, at + end + 2))
    }

    /// The same label with another number; a filled one keeps its length where it can.
    fn renumbered(self, number: u32) -> String {
        let kind = self.kind.map(|kind| format!("{}-", kind.name())).unwrap_or_default();
        let bare = format!("!{kind}{number}");
        let before = 1 + kind.len() + self.number.to_string().len() + self.padding;
        let padding = if self.padding == 0 { 0 } else { before.saturating_sub(bare.len()) };
        format!("{bare}{}!", ".".repeat(padding))
    }
}

/// Every label of a text.
pub fn find(text: &[u8]) -> impl Iterator<Item = (Range<usize>, Label)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + memchr::memchr(b'!', text.get(from..)?)?;
            if let Some((label, end)) = Label::at(text, at) {
                from = end;
                return Some((at..end, label));
            }
            from = at + 1;
        }
    })
}

/// The text of every label of a text.
pub fn labels(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    find(text).map(|(range, _)| &text[range])
}

/// Whether a text begins with a label.
pub fn begins(text: &[u8]) -> bool {
    Label::at(text, 0).is_some()
}

/// Whether the text is a label, whole.
#[must_use]
pub fn is_label(text: &str) -> bool {
    is_label_bytes(text.as_bytes())
}

/// [`is_label`] of bytes.
pub fn is_label_bytes(text: &[u8]) -> bool {
    matches!(text, b"!" | b"!!") || Label::at(text, 0).is_some_and(|(_, end)| end == text.len())
}

/// The number of a label, if the text is one, whole.
pub fn label_number(text: &[u8]) -> Option<u32> {
    Label::at(text, 0).filter(|(_, end)| *end == text.len()).map(|(label, _)| label.number)
}

/// Whether a label stands anywhere in the text.
#[must_use]
pub fn has_label(text: &str) -> bool {
    holds(text.as_bytes())
}

/// [`has_label`] of bytes.
pub fn holds(text: &[u8]) -> bool {
    find(text).next().is_some()
}

/// Whether `live` is what `recorded` says, where each label in `recorded` stands for any text that is not empty.
#[must_use]
pub fn matches(recorded: &str, live: &str) -> bool {
    if matches!(recorded, "!" | "!!") {
        return !live.is_empty();
    }
    let mut labels = find(recorded.as_bytes());
    let Some((first, _)) = labels.next() else { return recorded == live };
    let Some(mut rest) = live.strip_prefix(&recorded[..first.start]) else { return false };
    let mut end = first.end;
    for (next, _) in labels {
        let between = &recorded[end..next.start];
        end = next.end;
        match skip_one(rest).and_then(|tail| tail.find(between).map(|at| &tail[at + between.len()..])) {
            Some(tail) => rest = tail,
            None => return false,
        }
    }
    skip_one(rest).is_some_and(|tail| tail.ends_with(&recorded[end..]))
}

fn skip_one(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    characters.next().map(|_| characters.as_str())
}

/// The text with the number zero in every label, to compare texts of recordings that number them differently.
#[must_use]
pub fn unnumbered(text: &str) -> String {
    relabel(text.as_bytes(), |_| 0).map_or_else(|| text.to_owned(), |new| String::from_utf8_lossy(&new).into_owned())
}

/// Rewrites the numbers of all labels; `None` where there is none to rewrite.
pub fn relabel(text: &[u8], mut number: impl FnMut(u32) -> u32) -> Option<Vec<u8>> {
    replace(text, |_, label| {
        let new = number(label.number);
        (new != label.number).then(|| label.renumbered(new))
    })
}

/// Puts what `new` gives of a label's place in the place of it; `None` where it gives nothing.
pub fn replace(text: &[u8], mut new: impl FnMut(Range<usize>, &Label) -> Option<String>) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut copied = 0;
    for (range, label) in find(text) {
        let Some(new) = new(range.clone(), &label) else { continue };
        let out = out.get_or_insert_with(|| Vec::with_capacity(text.len() + 8));
        out.extend_from_slice(&text[copied..range.start]);
        out.extend_from_slice(new.as_bytes());
        copied = range.end;
    }
    out.map(|mut out| {
        out.extend_from_slice(&text[copied..]);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(min: usize, max: usize) -> Bounds {
        Bounds { min: Some(min), max: Some(max) }
    }

    #[test]
    fn a_label_fits_its_bounds_and_is_recognised_in_every_size() {
        for number in [1, 9, 10, 123_456] {
            for max in 1..60 {
                for min in 0..=max {
                    let label = text(Kind::ClientSecret, number, bounds(min, max));
                    assert!(label.len() <= max, "{label} of {min}..{max}");
                    assert!(label.len() >= min || max < 9, "{label} of {min}..{max}");
                    assert!(is_label(&label), "{label}");
                }
            }
        }
        assert_eq!(text(Kind::Token, 1, Bounds::default()), "!token-1!");
        assert_eq!(text(Kind::Token, 1, bounds(26, 26)), "!token-1.................!");
        assert_eq!(text(Kind::Token, 12, bounds(0, 6)), "!12!");
    }

    #[test]
    fn what_only_looks_like_a_label_is_none() {
        for text in
            ["", "token-1", "!token-1", "!tokens-1!", "!token-!", "!token-01!", "!token-1234567890!", "!a!", "! 1!"]
        {
            assert!(!is_label(text), "{text}");
            assert!(!has_label(text), "{text}");
        }
        assert!(has_label("Bearer !token-1!, really!"));
    }

    #[test]
    fn a_label_stands_for_any_text_where_it_is_matched() {
        assert!(matches("/a/!token-1!/b", "/a/xyz/b"));
        assert!(matches("/a/!token-1!/b", "/a/!token-7!/b"));
        assert!(matches("!1!-!2!", "a-b"));
        assert!(matches("x=!1!&y=!2!", "x=a&y=b&y=c"));
        assert!(!matches("/a/!token-1!/b", "/a//b"));
        assert!(!matches("/a/!token-1!/b", "/a/xyz/c"));
        assert!(!matches("!1!-!2!", "ab"));
        assert!(matches("plain", "plain") && !matches("plain", "Plain"));
        assert!(matches("!!", "ab"));
        assert!(matches("é!1!é", "éüé"));
    }

    #[test]
    fn renumbering_keeps_the_length_of_a_filled_label() {
        let shift = |text: &str| String::from_utf8(relabel(text.as_bytes(), |n| n + 99).unwrap()).unwrap();
        assert_eq!(shift("a !token-1.....! b !2!"), "a !token-100...! b !101!");
        assert_eq!(relabel(b"no label!", |n| n + 1), None);
        assert_eq!(relabel(b"!token-1!", |n| n), None);
    }
}
