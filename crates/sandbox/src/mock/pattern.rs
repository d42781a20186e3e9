//! A text that a regular expression matches.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum characters of a text, so that no `{1000000}` fills the memory.
const MAX_LENGTH: usize = 4096;

/// A text of at least `min` characters where the pattern allows that; `None` for a pattern that this reader cannot
/// read.
///
/// Look-around is left out, so a caller has to check the text.
pub(super) fn matching(pattern: &str, min: usize, salt: usize) -> Option<String> {
    let hir = regex_syntax::parse(&without_look_around(pattern)).ok()?;
    let mut text = String::new();
    let mut writer = Writer { salt, extra: 0 };
    writer.write(&hir, &mut text)?;
    let missing = min.saturating_sub(text.chars().count());
    if missing > 0 {
        let mut longer = String::new();
        writer.extra = missing;
        writer.write(&hir, &mut longer)?;
        text = longer;
    }
    Some(text)
}

/// The pattern without `(?=…)`, `(?!…)`, `(?<=…)` and `(?<!…)`, and with the hyphen after a class of characters
/// escaped: `[\w-.]` is no range in ECMA-262 (Annex B).
fn without_look_around(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let look = ["(?=", "(?!", "(?<=", "(?<!"].iter().find(|start| rest.starts_with(**start));
        match (look, character) {
            (Some(_), _) => rest = &rest[group(rest)..],
            (None, '\\') => {
                let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
                out.push_str(&rest[..end]);
                let is_class = rest[..end].ends_with(['w', 'W', 'd', 'D', 's', 'S']);
                rest = &rest[end..];
                if is_class && rest.starts_with('-') {
                    out.push('\\');
                }
            }
            _ => {
                out.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    out
}

/// The length of the group at the start of a text.
fn group(text: &str) -> usize {
    let (mut depth, mut escaped, mut class) = (0_usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

struct Writer {
    /// Selects alternatives and characters.
    salt: usize,
    /// Characters that unbounded repetitions add.
    extra: usize,
}

impl Writer {
    fn write(&mut self, hir: &Hir, out: &mut String) -> Option<()> {
        if out.len() > MAX_LENGTH {
            return None;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => out.push(character(class, self.salt)?),
            HirKind::Repetition(repetition) => {
                let room = repetition.max.map_or(usize::MAX, |max| (max - repetition.min) as usize);
                let more = room.min(self.extra);
                self.extra -= more;
                for _ in 0..repetition.min as usize + more {
                    self.write(&repetition.sub, out)?;
                }
            }
            HirKind::Capture(capture) => self.write(&capture.sub, out)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.write(part, out))?,
            HirKind::Alternation(parts) => self.write(parts.get(self.salt % parts.len().max(1))?, out)?,
        }
        Some(())
    }
}

/// A character of a class, a letter or a digit where it has one.
fn character(class: &Class, salt: usize) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
        Class::Bytes(class) => class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
    };
    let holds = |character: &char| ranges.iter().any(|(start, end)| (*start..=*end).contains(&u32::from(*character)));
    let plain: Vec<char> = ('a'..='z').chain('0'..='9').chain('A'..='Z').filter(holds).collect();
    match plain.len() {
        0 => [' ', '-', '_', '.', '/'].into_iter().find(holds).or_else(|| char::from_u32(ranges.first()?.0)),
        count => plain.get(salt % count).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_matches_its_pattern() {
        for pattern in [
            "^[a-z0-9]{3,5}$",
            r"^rlp_[a-zA-Z0-9]{5,}$",
            r"^(?:abc|def)-\d+\.(x|y)?$",
            r"^\S+@\S+\.com$",
            r"^[^a-zA-Z0-9]+$",
            "^$",
            r"^https?://",
            "(?i)^ABC$",
        ] {
            for salt in 0..5 {
                for min in [0, 7] {
                    let text = matching(pattern, min, salt).unwrap();
                    assert!(regex::Regex::new(pattern).unwrap().is_match(&text), "{pattern} {text:?}");
                }
            }
        }
    }

    #[test]
    fn repetitions_without_end_fill_a_text_to_its_length() {
        assert_eq!(matching("^a+$", 6, 0).unwrap(), "aaaaaa");
        assert_eq!(matching("^a{2,4}b*$", 6, 0).unwrap(), "aaaabb");
    }

    #[test]
    fn a_hyphen_after_a_class_of_characters_is_itself() {
        assert_eq!(matching(r"^[\d-\.]\w-x$", 0, 0).unwrap(), "0a-x");
    }

    #[test]
    fn look_around_is_left_out_and_what_cannot_be_read_gives_nothing() {
        assert_eq!(matching(r"^(?!x[)]\))a(?=b)b$", 0, 0).unwrap(), "ab");
        assert_eq!(matching("(", 0, 0), None);
        assert_eq!(matching("^a{100000}$", 0, 0), None);
    }
}
