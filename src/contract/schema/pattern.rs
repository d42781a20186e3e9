//! Regular expressions as documents write them: ECMA-262 without the flag `u`, Annex B included.
//!
//! The judge reads the stricter grammar of the flag `u`. Here the loose forms become strict ones of the same meaning.

use std::borrow::Cow;

use jsonschema::{FancyRegex, PatternOptions};
use regex_automata::{
    dfa::onepass,
    nfa::thompson::{self, WhichCaptures},
};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Any character but a line terminator: the dot without the flag `s` (ECMA-262, 22.2.2.7).
const DOT: &str = r"[^\n\r\u2028\u2029]";
/// The empty class, `[]`.
const NOTHING: &str = r"[^\u{0}-\u{10ffff}]";
/// Its complement, `[^]`.
const ANYTHING: &str = r"[\u{0}-\u{10ffff}]";
/// `\b`: only letters and digits of ASCII make a word (ECMA-262, 22.2.2.4.1).
const BOUNDARY: &str = "(?:(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]))";
/// Its complement, `\B`.
const NO_BOUNDARY: &str = "(?:(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<![A-Za-z0-9_])(?![A-Za-z0-9_]))";

/// The forms of a pattern that the judge may run, each of the same meaning, the likeliest first; none where it has what
/// only other engines know, or what contrail cannot run as ECMA-262 has it.
pub(super) fn forms(pattern: &str) -> Vec<Cow<'_, str>> {
    if foreign(pattern).is_some()
        || may_refer_to_nothing(pattern)
        || MODIFIERS.iter().any(|modifier| pattern.contains(modifier))
    {
        return Vec::new();
    }
    let strict = (!is_misread(pattern)).then(|| exact(pattern));
    let lenient = exact(&lenient(pattern)).into_owned();
    strict.into_iter().chain([Cow::Owned(lenient)]).collect()
}

/// The first part of a pattern that ECMA-262 does not have and the judge's engine does: `(?i)`, `(?P<n>`, `a++`, `^*`.
pub(super) fn foreign(pattern: &str) -> Option<&str> {
    let (mut class, mut at) = (false, 0);
    // Where the assertion begins that ends here: none can be repeated.
    let mut assertion = None;
    while let Some(character) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        let mut taken = character.len_utf8();
        let before = assertion.take();
        match character {
            '\\' => {
                assertion = (!class && rest[1..].starts_with(['b', 'B'])).then_some(at);
                taken += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            '^' | '$' if !class => assertion = Some(at),
            '[' => class = true,
            ']' => class = false,
            '(' if !class && rest.starts_with("(?") && !is_group(rest) => {
                let end = rest[2..].find(|next: char| !next.is_ascii_alphanumeric() && !"-^".contains(next));
                let end = end.and_then(|end| Some(2 + end + rest[2 + end..].chars().next()?.len_utf8()));
                return Some(&rest[..end.unwrap_or(rest.len())]);
            }
            '(' if !class && rest.starts_with("(?") => taken = 2,
            _ if !class => {
                if let Some(length) = quantifier(rest) {
                    if let Some(from) = before {
                        return Some(&pattern[from..at + length]);
                    }
                    taken = length + usize::from(rest[length..].starts_with('?'));
                    if let Some(second) = quantifier(&rest[taken..]) {
                        return Some(&rest[..taken + second]);
                    }
                }
            }
            _ => {}
        }
        at += taken;
    }
    None
}

/// Whether a pattern may refer back to a group that took no part in the match, as `^(")?a\1$` does: such a reference
/// matches nothing in ECMA-262 (22.2.2.7.2), and fails in the judge's engine.
fn may_refer_to_nothing(pattern: &str) -> bool {
    let (mut refers, mut optional) = (false, false);
    let (mut class, mut depth, mut closed) = (false, 0_usize, 0_usize);
    let mut characters = pattern.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                let next = characters.next().map(|(_, next)| next);
                let is_reference = match next {
                    Some('k') => pattern[at..].starts_with(r"\k<"),
                    next => matches!(next, Some('1'..='9')),
                };
                if is_reference && !class {
                    refers = true;
                    optional |= depth > 0 || closed == 0;
                }
            }
            '[' => class = true,
            ']' => class = false,
            '(' if !class => {
                depth += 1;
                optional |= ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern[at..].starts_with(look));
            }
            ')' if !class => {
                (depth, closed) = (depth.saturating_sub(1), closed + 1);
                optional |= pattern[at + 1..].starts_with(['?', '*', '{']);
            }
            '|' if !class => optional = true,
            _ => {}
        }
    }
    refers && optional
}

/// Groups with a modifier, which ECMA-262 has and the engine reads otherwise.
const MODIFIERS: [&str; 6] = ["(?i:", "(?-i:", "(?m:", "(?-m:", "(?s:", "(?-s:"];

/// Whether a text begins with a group as ECMA-262 has it, of the modifiers one with a single flag.
fn is_group(text: &str) -> bool {
    ["(?:", "(?=", "(?!", "(?<"].iter().chain(&MODIFIERS).any(|known| text.starts_with(known))
}

/// The length of the quantifier that a text begins with, without the `?` that makes it lazy.
fn quantifier(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'*' | b'+' | b'?' => Some(1),
        b'{' if is_repetition(text) => Some(text.find('}')? + 1),
        _ => None,
    }
}

/// A pattern with what would mean more or less to the judge written out: the dot, the boundaries of words, the empty
/// class and its complement, and beside look-around, where the judge translates nothing, the sets (`\d`, `\W`).
fn exact(pattern: &str) -> Cow<'_, str> {
    let looks = looks(pattern);
    if !looks && ![".", "[]", "[^]"].iter().any(|part| pattern.contains(part)) {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut class = false;
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '\\' => match rest[1..].chars().next() {
                Some(escape) => {
                    taken += escape.len_utf8();
                    match set_of(escape).filter(|_| looks) {
                        Some(members) if class => out.push_str(members),
                        Some(members) => out.extend(["[", members, "]"]),
                        None if escape == 'b' && !class => out.push_str(BOUNDARY),
                        None if escape == 'B' && !class => out.push_str(NO_BOUNDARY),
                        None => out.extend(['\\', escape]),
                    }
                }
                None => out.push('\\'),
            },
            '.' if !class => out.push_str(DOT),
            '[' if !class && rest.starts_with("[]") => {
                taken = 2;
                out.push_str(NOTHING);
            }
            '[' if !class && rest.starts_with("[^]") => {
                taken = 3;
                out.push_str(ANYTHING);
            }
            other => {
                class = other == '[' || (class && other != ']');
                out.push(other);
            }
        }
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

/// Bound on the backtracking of one match: about a millisecond.
const MAX_BACKTRACKING: usize = 10_000;

/// Bound on the memory of one compiled pattern, in bytes.
const MAX_SIZE: usize = 2 << 20;

/// The engine of the judge, and its bounds.
pub(super) fn engine() -> PatternOptions<FancyRegex> {
    PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKING).size_limit(MAX_SIZE)
}

/// Bound on the memory of a [`Matcher`], in bytes.
const MAX_MATCHER: usize = 16 << 10;

/// A pattern that a text is compared with from its beginning, each byte once: several times as fast as by the judge.
#[derive(Debug)]
pub(super) struct Matcher(onepass::DFA);

impl Matcher {
    /// Of a pattern that means the same here as to the judge; `None` where that is not certain.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let differs = ["\\", "(?", "&&", "--", "~~"];
        if !pattern.is_ascii() || differs.iter().any(|part| pattern.contains(part)) || nests_classes(pattern) {
            return None;
        }
        let starts = regex_syntax::parse(pattern).ok()?.properties().look_set_prefix().contains(Look::Start);
        // Where a match begins and ends does not matter.
        let captures = thompson::Config::new().which_captures(WhichCaptures::Implicit).utf8(false);
        let mut builder = onepass::Builder::new();
        builder.configure(onepass::Config::new().size_limit(Some(MAX_MATCHER))).thompson(captures);
        if starts { builder.build(pattern).ok().map(Self) } else { None }
    }

    pub(super) fn matches(&self, text: &[u8]) -> bool {
        self.0.is_match(&mut self.0.create_cache(), text)
    }
}

/// Whether a bracket is a member of a class, in a pattern without escapes: here it would begin a class in the class.
fn nests_classes(pattern: &str) -> bool {
    let mut class = false;
    pattern.bytes().any(|byte| {
        let nests = class && byte == b'[';
        class = byte == b'[' || class && byte != b']';
        nests
    })
}

/// What a pattern weighs that has one character.
const LEAST_WEIGHT: usize = 100;

/// About how large a pattern is when compiled: its characters, each counted as often as it is repeated.
pub(super) fn weight(pattern: &str) -> usize {
    let plain = ["(?=", "(?!", "(?<=", "(?<!"].iter().fold(pattern.to_owned(), |text, look| text.replace(look, "(?:"));
    let size = regex_syntax::parse(&plain).map_or(pattern.len() * 16, |hir| size(&hir));
    LEAST_WEIGHT.saturating_add(size)
}

/// Recurses as deep as the parser allows a pattern to be.
fn size(hir: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(size).fold(0, usize::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len() * 4,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            size(&repetition.sub).saturating_mul(times as usize)
        }
        HirKind::Capture(capture) => size(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

/// Whether no linear engine runs a pattern: it looks around, or refers back. Some that one runs are among them.
pub(super) fn backtracks(pattern: &str) -> bool {
    let refers = |text: &str| text.starts_with(|next: char| matches!(next, '1'..='9' | 'k'));
    looks(pattern) || pattern.split('\\').skip(1).any(refers)
}

/// A boundary is written out as look-around.
fn looks(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<", r"\b", r"\B"].iter().any(|look| pattern.contains(look))
}

/// The members of a set without the flag `u` (ECMA-262, 22.2.2.9), as ranges of a class.
fn set_of(escape: char) -> Option<&'static str> {
    Some(match escape {
        'd' => "0-9",
        'D' => r"\u{0}-\u{2f}\u{3a}-\u{10ffff}",
        'w' => "A-Za-z0-9_",
        'W' => r"\u{0}-\u{2f}\u{3a}-\u{40}\u{5b}-\u{5e}\u{60}\u{7b}-\u{10ffff}",
        's' => r"\t-\r\u{20}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}",
        'S' => {
            r"\u{0}-\u{8}\u{e}-\u{1f}\u{21}-\u{9f}\u{a1}-\u{167f}\u{1681}-\u{1fff}\u{200b}-\u{2027}\u{202a}-\u{202e}\u{2030}-\u{205e}\u{2060}-\u{2fff}\u{3001}-\u{fefe}\u{ff00}-\u{10ffff}"
        }
        _ => return None,
    })
}

/// The strict form of a pattern. What needs no change stays.
fn lenient(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut class = false;
    // Inside a class: whether the last member stands for several characters (`\w`), so that no range starts with it.
    let mut after_set = false;
    while let Some(character) = rest.chars().next() {
        let taken = match character {
            '\\' => {
                let escape = escape(rest, class);
                out.push_str(&escape.text);
                after_set = class && escape.is_set;
                escape.length
            }
            '[' if !class => {
                class = true;
                after_set = false;
                let negated = rest[1..].starts_with('^');
                out.push_str(if negated { "[^" } else { "[" });
                1 + usize::from(negated)
            }
            '[' => {
                out.push_str("\\[");
                after_set = false;
                1
            }
            ']' if class => {
                class = false;
                out.push(']');
                1
            }
            '-' if class && !rest[1..].starts_with(']') && (after_set || starts_with_set(&rest[1..])) => {
                out.push_str("\\-");
                after_set = false;
                1
            }
            '{' if !class && !is_repetition(rest) => {
                out.push_str("\\{");
                1
            }
            '}' if !class && !closes_repetition(&out) => {
                out.push_str("\\}");
                1
            }
            ']' => {
                out.push_str("\\]");
                1
            }
            other => {
                out.push(other);
                after_set = false;
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// An escape in its strict form.
struct Escape {
    text: String,
    /// Bytes of the pattern.
    length: usize,
    /// It stands for several characters.
    is_set: bool,
}

fn escape(rest: &str, class: bool) -> Escape {
    let Some(character) = rest[1..].chars().next() else {
        return Escape { text: "\\\\".to_owned(), length: 1, is_set: false };
    };
    if let Some(length) = known_escape(rest) {
        let is_set = matches!(character, 'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P');
        return Escape { text: rest[..length].to_owned(), length, is_set };
    }
    let length = 1 + character.len_utf8();
    let syntax = "^$\\.*+?()[]{}|/".contains(character) || (class && character == '-');
    // Any other character stands for itself.
    let text = if syntax { rest[..length].to_owned() } else { character.to_string() };
    Escape { text, length, is_set: false }
}

/// The length of the escape that a text begins with, if it stands for another character, for several, or for a place.
fn known_escape(rest: &str) -> Option<usize> {
    let digits = |count: usize| {
        let digits = rest.get(2..2 + count)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(2 + count)
    };
    let braced = || if rest[2..].starts_with('{') { rest.find('}').map(|end| end + 1) } else { None };
    match rest.as_bytes().get(1)? {
        b'd'
        | b'D'
        | b'w'
        | b'W'
        | b's'
        | b'S'
        | b't'
        | b'n'
        | b'v'
        | b'f'
        | b'r'
        | b'b'
        | b'B'
        | b'c'
        | b'0'..=b'9' => Some(2),
        b'k' => rest[2..].starts_with('<').then_some(2),
        b'x' => digits(2),
        b'u' => braced().or_else(|| digits(4)),
        b'p' | b'P' => braced(),
        _ => None,
    }
}

/// Whether an escape of the pattern is none here, and might be one for the judge: `\A`, `\<`, `\x{61}`, `\b{start}`.
fn is_misread(pattern: &str) -> bool {
    // `{,3}` is no repetition (Annex B).
    if pattern.contains("{,") {
        return true;
    }
    let mut rest = pattern;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at..];
        let Some(character) = rest[1..].chars().next() else { return false };
        let length = known_escape(rest);
        let is_boundary_of = matches!(character, 'b' | 'B') && rest[2..].starts_with('{');
        if is_boundary_of || length.is_none() && (character.is_ascii_alphabetic() || matches!(character, '<' | '>')) {
            return true;
        }
        rest = &rest[length.unwrap_or(1 + character.len_utf8())..];
    }
    false
}

/// Whether the next member of a class stands for several characters.
fn starts_with_set(rest: &str) -> bool {
    let mut characters = rest.chars();
    characters.next() == Some('\\') && characters.next().is_some_and(|next| "dDwWsS".contains(next))
}

/// Whether a brace opens `{n}`, `{n,}` or `{n,m}`.
fn is_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest[1..].split_once('}') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match inside.split_once(',') {
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        None => is_number(inside),
    }
}

/// Whether the closing brace belongs to an open repetition or to an escape such as `\u{…}` or `\p{…}`.
fn closes_repetition(out: &str) -> bool {
    let Some(open) = out.rfind('{') else { return false };
    if out[open..].contains('}') {
        return false;
    }
    !out[..open].ends_with('\\')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Matcher, exact, foreign, forms, is_misread, lenient, may_refer_to_nothing};
    use crate::{contract::schema::judge::asserting_formats, json::TapeNode};

    #[test]
    fn loose_forms_of_annex_b_become_strict_ones() {
        for (loose, strict) in [
            (r"^[\w-\.~%]+$", r"^[\w\-\.~%]+$"),
            (r"^[a-\d]$", r"^[a\-\d]$"),
            (r"^[\d-]$", r"^[\d-]$"),
            (r"^[a-z]{2,3}$", r"^[a-z]{2,3}$"),
            (r"^(?:[a-z]|{org_id})*$", r"^(?:[a-z]|\{org_id\})*$"),
            (r"a{,3}", r"a\{,3\}"),
            (r"a{2}b}", r"a{2}b\}"),
            (r"\Z\-\_", "Z-_"),
            (r"[[]", r"[\[]"),
            (r"]", r"\]"),
        ] {
            assert_eq!(lenient(loose), strict, "{loose}");
        }
    }

    #[test]
    fn the_dot_and_the_sets_beside_look_around_are_written_out() {
        for (pattern, written) in [
            (r"^\w.[.]\.$", r"^\w[^\n\r\u2028\u2029][.]\.$"),
            (r"^\w[a.]$", r"^\w[a.]$"),
            (r"^[^][]$", r"^[\u{0}-\u{10ffff}][^\u{0}-\u{10ffff}]$"),
            (r"^(?=.)a\.[.]$", r"^(?=[^\n\r\u2028\u2029])a\.[.]$"),
            (r"^(?=\d)[\w-]\D$", r"^(?=[0-9])[A-Za-z0-9_-][\u{0}-\u{2f}\u{3a}-\u{10ffff}]$"),
            (r"(?=a)\", r"(?=a)\"),
        ] {
            assert_eq!(exact(pattern), written, "{pattern}");
        }
    }

    #[test]
    fn a_matcher_decides_what_the_judge_decides() {
        let texts =
            ["", "0", "7", "07", "a", "ab", "a-b", "b", "é", "é1", "a\n", "[", "123456789012345678901234567890"];
        let patterns = ["^(0|[1-9][0-9]*)$", "^[a-z0-9-]{1,3}$", "^a|b$", "^(a|ab)$", "^[^a]*$", "^a", "^$", "^[a-]+$"];
        for pattern in patterns {
            let judge = asserting_formats().build(&json!({ "pattern": pattern })).unwrap();
            let Some(matcher) = Matcher::of(pattern) else {
                assert_eq!(pattern, "^a|b$");
                continue;
            };
            for text in texts {
                assert_eq!(matcher.matches(text.as_bytes()), judge.is_valid(TapeNode::Text(text)), "{pattern} {text}");
            }
        }
        for other in ["a$", r"^\d$", "^(?=a)", "^[a--z]$", "^[é]$", "^[[a]]$", "^[[:alpha:]]$"] {
            assert!(Matcher::of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn what_only_other_engines_have_is_found_and_what_ecma_262_has_is_not() {
        for (pattern, part) in [
            ("(?i)^a$", "(?i)"),
            ("^(?P<n>a)$", "(?P<"),
            ("^(?>a|ab)$", "(?>"),
            ("a(?#note)", "(?#"),
            ("(?(1)a|b)", "(?("),
            ("(?i-s)a", "(?i-s)"),
            ("(?im:a)", "(?im:"),
            ("(?", "(?"),
            ("^a++$", "++"),
            ("^[a+]{2}+$", "{2}+"),
            ("a{2,3}?{4}", "{2,3}?{4}"),
            ("^*a", "^*"),
            (r"^\b+a", r"\b+"),
            ("a${2}", "${2}"),
        ] {
            assert_eq!(foreign(pattern), Some(part), "{pattern}");
            assert!(forms(pattern).is_empty(), "{pattern}");
        }
        for pattern in [
            r"^(?:a)(?=b)(?!c)(?<=d)(?<!e)(?<n>f)$",
            "(?i:a)(?-i:b)",
            "[(?i)++]",
            r"\(?i)\+\++",
            "a+?b??c{2}?",
            "x{,3}+",
        ] {
            assert_eq!(foreign(pattern), None, "{pattern}");
        }
        for (pattern, may_refer) in [
            (r"^(a)\1$", false),
            (r"^(?<n>a)b\k<n>$", false),
            (r"^[(?\1|](a)?$", false),
            (r#"^(")?a\1$"#, true),
            (r"^(?:(a)|b)\1$", true),
            (r"^(a)?(?!\1)", true),
            (r"^(\1)$", true),
            (r"^\1(a)$", true),
        ] {
            assert_eq!(may_refer_to_nothing(pattern), may_refer, "{pattern}");
        }
        assert_eq!(forms(r"^(?=x)x{,3}$"), [r"^(?=x)x\{,3\}$"]);
        // ECMA-262 has them; the engine folds other letters, and takes other characters for the ends of lines.
        for pattern in ["(?i:k)", "(?-i:k)", "(?s:.)", "(?m:^a$)"] {
            assert_eq!((foreign(pattern), forms(pattern).len()), (None, 0), "{pattern}");
        }
    }

    #[test]
    fn a_letter_that_only_the_judge_knows_stands_for_itself() {
        for (pattern, strict) in [
            (r"\A[a-z]+\z", "A[a-z]+z"),
            (r"^\<\h+\>$", "^<h+>$"),
            (r"^\x{61}\x61\U00000061$", r"^x{61}\x61U00000061$"),
            (r"^\pL\p{L}\u{61}\u0061\u61$", r"^pL\p{L}\u{61}\u0061u61$"),
            (r"\b{start}", r"\b\{start\}"),
            (r"(?=a)\K\k", "(?=a)Kk"),
        ] {
            assert!(is_misread(pattern), "{pattern}");
            assert_eq!(lenient(pattern), strict);
        }
        for pattern in [r"^[\w.\-]+\b\.\/\@\d{2}\x61\p{L}(?<n>a)\k<n>\1\cA$", "", "a{2}", "\\"] {
            assert!(!is_misread(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_cut_anywhere_gives_some_text_and_no_panic() {
        for pattern in [r"^[\w-\.~%]+\u{10}(?=ä){2,}\", "{{}}[[]]--\\", "(?iä)(?ä+?*"] {
            for (at, _) in pattern.char_indices() {
                let _ = forms(&pattern[..at]);
            }
        }
    }
}
