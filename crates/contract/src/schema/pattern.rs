//! Regular expressions as documents write them: ECMA-262 with the meaning of the flag `u`, and what that flag refuses
//! (`[\w-.]`, `\_`, lone braces) as Annex B reads it without the flag.
//!
//! The engine of the judge has a stricter grammar. Here patterns become ones that it reads in the same meaning.

use std::collections::HashSet;

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

/// A part of a pattern.
#[derive(Debug, Clone, Copy)]
struct Token<'p> {
    kind: Kind,
    text: &'p str,
    at: usize,
    /// It is a member of a class.
    class: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `\d`, `\P{L}`: several characters.
    Set,
    /// `\b` or `\B`.
    Boundary,
    /// `\1`, `\k<name>`.
    Reference,
    /// Any other escape, a backslash at the end included.
    Escape,
    /// `[` or `[^`.
    Class,
    ClassEnd,
    /// `(`, `(?:`, `(?<=`, `(?<name>`, or the beginning of one that is none here, such as `(?P<`.
    Group,
    GroupEnd,
    /// `|`
    Or,
    /// `^` or `$`.
    Anchor,
    /// `*`, `{2,}?`
    Quantifier,
    /// Any other character; also `[]` and `[^]`.
    Character,
}

/// The parts of a pattern, from the first to the last. Together they are the pattern.
fn tokens(pattern: &str) -> impl Iterator<Item = Token<'_>> {
    let (mut at, mut class) = (0, false);
    std::iter::from_fn(move || {
        let rest = &pattern[at..];
        let first = rest.chars().next()?;
        let (kind, length) = match first {
            '\\' => escape(rest, class),
            ']' if class => (Kind::ClassEnd, 1),
            '[' if !class && rest.starts_with("[]") => (Kind::Character, 2),
            '[' if !class && rest.starts_with("[^]") => (Kind::Character, 3),
            '[' if !class => (Kind::Class, 1 + usize::from(rest.starts_with("[^"))),
            '(' if !class => (Kind::Group, group(rest)),
            ')' if !class => (Kind::GroupEnd, 1),
            '|' if !class => (Kind::Or, 1),
            '^' | '$' if !class => (Kind::Anchor, 1),
            other => match quantifier(rest).filter(|_| !class) {
                Some(length) => (Kind::Quantifier, length + usize::from(rest[length..].starts_with('?'))),
                None => (Kind::Character, other.len_utf8()),
            },
        };
        let token = Token { kind, text: &rest[..length], at, class: class && kind != Kind::ClassEnd };
        class = token.class || kind == Kind::Class;
        at += length;
        Some(token)
    })
}

/// What the escape is that a text begins with, and its length.
fn escape(rest: &str, class: bool) -> (Kind, usize) {
    let Some(character) = rest[1..].chars().next() else { return (Kind::Escape, 1) };
    let after = &rest[1 + character.len_utf8()..];
    let hex =
        |text: &str, count: usize| text.get(..count)?.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(count);
    let until =
        |open: char, close: char| after.starts_with(open).then(|| after.find(close)).flatten().map(|end| end + 1);
    let (kind, more) = match character {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' => (Kind::Set, Some(0)),
        'p' | 'P' => until('{', '}').map_or((Kind::Escape, None), |length| (Kind::Set, Some(length))),
        'b' | 'B' if !class => (Kind::Boundary, Some(0)),
        '1'..='9' if !class => (Kind::Reference, after.find(|next: char| !next.is_ascii_digit()).or(Some(after.len()))),
        'k' if !class => until('<', '>').map_or((Kind::Escape, None), |length| (Kind::Reference, Some(length))),
        'x' => (Kind::Escape, hex(after, 2)),
        'u' if surrogates(rest).is_some() => (Kind::Escape, Some(10)),
        'u' => (Kind::Escape, until('{', '}').or_else(|| hex(after, 4))),
        '0' => (Kind::Escape, Some(after.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count())),
        'c' => (Kind::Escape, after.starts_with(|next: char| next.is_ascii_alphabetic()).then_some(1)),
        _ => (Kind::Escape, None),
    };
    (kind, 1 + character.len_utf8() + more.unwrap_or(0))
}

/// The character that a text begins with as a pair of surrogates: `\uD83D\uDE00`.
fn surrogates(text: &str) -> Option<char> {
    let unit = |from: usize| {
        let digits = text.get(from..from + 6)?.strip_prefix(r"\u")?;
        u16::from_str_radix(digits.trim_start_matches('+'), 16).ok()
    };
    let high = unit(0).filter(|unit| (0xd800..0xdc00).contains(unit))?;
    char::decode_utf16([high, unit(6)?]).next()?.ok()
}

/// The length of the head of the group that a text begins with.
fn group(text: &str) -> usize {
    if !text.starts_with("(?") {
        return 1;
    }
    let end = text[2..].find(|next: char| !next.is_ascii_alphanumeric() && !"-^".contains(next));
    let end = end.map_or(text.len(), |end| 2 + end);
    let length = end + text[end..].chars().next().map_or(0, char::len_utf8);
    match &text[..length] {
        "(?<" if text[3..].starts_with(['=', '!']) => 4,
        "(?<" => text.find('>').map_or(length, |end| end + 1),
        _ => length,
    }
}

/// The length of the quantifier that a text begins with, without the `?` that makes it lazy.
fn quantifier(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'*' | b'+' | b'?' => Some(1),
        b'{' if is_repetition(text) => Some(text.find('}')? + 1),
        _ => None,
    }
}

/// Groups that look around.
const LOOKS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// Groups with a modifier, which ECMA-262 has and the engine reads otherwise.
const MODIFIERS: [&str; 6] = ["(?i:", "(?-i:", "(?m:", "(?-m:", "(?s:", "(?-s:"];

impl Token<'_> {
    fn looks(&self) -> bool {
        self.kind == Kind::Group && LOOKS.contains(&self.text)
    }

    /// Whether it begins a group with a name.
    fn names(&self) -> bool {
        self.kind == Kind::Group && self.text.starts_with("(?<") && !self.looks()
    }
}

/// A pattern as the judge reads it in the meaning that it has here; `None` where it has what ECMA-262 does not have, or
/// what contrail cannot run as ECMA-262 has it.
pub(super) fn usable(pattern: &str) -> Option<String> {
    (foreign(pattern).is_none() && !differs(pattern)).then(|| translated(pattern))
}

/// The first part of a pattern that ECMA-262 does not have, and the judge's engine may: `(?i)`, `(?P<n>`, `a++`, `^*`.
pub(super) fn foreign(pattern: &str) -> Option<&str> {
    let named = tokens(pattern).any(|token| token.names());
    // Where what ends here begins, if nothing may repeat it.
    let mut fixed = Some(0);
    // Where each open group begins, if it looks behind.
    let mut open = Vec::new();
    for token in tokens(pattern) {
        let Token { kind, text, at, .. } = token;
        let known = match kind {
            Kind::Quantifier => fixed.is_none(),
            Kind::Group => {
                ["(", "(?:"].iter().chain(&LOOKS).chain(&MODIFIERS).any(|known| *known == text) || token.names()
            }
            Kind::Escape => text != r"\" && (text != r"\k" || !named),
            _ => true,
        };
        if !known {
            let from = fixed.filter(|_| kind == Kind::Quantifier).unwrap_or(at);
            return Some(&pattern[from..at + text.len()]);
        }
        fixed = match kind {
            Kind::Group => {
                open.push(text.starts_with("(?<").then_some(at).filter(|_| token.looks()));
                Some(at)
            }
            Kind::GroupEnd => open.pop().flatten(),
            Kind::Anchor | Kind::Boundary | Kind::Or | Kind::Quantifier => Some(at),
            _ => None,
        };
    }
    None
}

/// Whether the judge's engine reads a pattern otherwise than ECMA-262: it has modifiers, it gives a name to two groups,
/// or it may refer back to a group that took no part in the match, as `^(")?a\1$` does. Such a reference matches nothing
/// in ECMA-262 (22.2.2.7.2), and fails in the engine.
fn differs(pattern: &str) -> bool {
    let (mut refers, mut optional) = (false, false);
    let (mut depth, mut closed) = (0_usize, 0_usize);
    let mut names = HashSet::new();
    let mut before = None;
    for token in tokens(pattern) {
        match token.kind {
            Kind::Reference => {
                refers = true;
                optional |= depth > 0 || closed == 0;
            }
            Kind::Group => {
                if MODIFIERS.contains(&token.text) || token.names() && !names.insert(token.text) {
                    return true;
                }
                depth += 1;
                optional |= token.looks();
            }
            Kind::GroupEnd => (depth, closed) = (depth.saturating_sub(1), closed + 1),
            Kind::Quantifier if before == Some(Kind::GroupEnd) => optional |= !token.text.starts_with('+'),
            Kind::Or => optional = true,
            _ => {}
        }
        before = Some(token.kind);
    }
    refers && optional
}

/// A pattern with the loose forms of Annex B made strict, and with what means more or less to the judge written out: the
/// dot, the boundaries of words, the empty class and its complement, and the sets.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut tokens = tokens(pattern).peekable();
    // The last member of the class stands for several characters, so that no range starts with it.
    let mut after_set = false;
    while let Some(Token { kind, text, class, .. }) = tokens.next() {
        let next = tokens.peek().map(|next| next.kind);
        match (kind, text) {
            (Kind::Set, _) => match set_of(text) {
                Some(members) if class => out.push_str(members),
                Some(members) => out.extend(["[", members, "]"]),
                None => out.push_str(text),
            },
            (Kind::Boundary, r"\b") => out.push_str(BOUNDARY),
            (Kind::Boundary, _) => out.push_str(NO_BOUNDARY),
            (Kind::Escape, _) => out.push_str(&character(text, class)),
            (Kind::Character, ".") if !class => out.push_str(DOT),
            (Kind::Character, "[]") => out.push_str(NOTHING),
            (Kind::Character, "[^]") => out.push_str(ANYTHING),
            (Kind::Character, "-")
                if class && next != Some(Kind::ClassEnd) && (after_set || next == Some(Kind::Set)) =>
            {
                out.push_str(r"\-");
            }
            (Kind::Character, "[" | "]") => out.extend(["\\", text]),
            (Kind::Character, "{" | "}") if !class => out.extend(["\\", text]),
            _ => out.push_str(text),
        }
        after_set = class && kind == Kind::Set;
    }
    out
}

/// An escape that stands for one character, as the judge reads it.
fn character(escape: &str, class: bool) -> String {
    let Some(character) = escape[1..].chars().next() else { return r"\\".to_owned() };
    let digits = &escape[1 + character.len_utf8()..];
    match character {
        'b' if class => r"\x08".to_owned(),
        'c' if !digits.is_empty() => format!(r"\x{:02x}", digits.as_bytes()[0] % 32),
        // Annex B: such a backslash is one.
        'c' => r"\\c".to_owned(),
        'u' if surrogates(escape).is_some() => surrogates(escape).map(String::from).unwrap_or_default(),
        'x' | 'u' if !digits.is_empty() => escape.to_owned(),
        't' | 'n' | 'v' | 'f' | 'r' | '1'..='9' => escape.to_owned(),
        '0' => u8::from_str_radix(digits, 8).map_or_else(|_| r"\x00".to_owned(), |code| format!(r"\x{code:02x}")),
        '-' if class => escape.to_owned(),
        syntax if r"^$\.*+?()[]{}|/".contains(syntax) => escape.to_owned(),
        // Any other character stands for itself.
        other => other.to_string(),
    }
}

/// Whether no linear engine runs a pattern: it looks around, or refers back.
pub(super) fn backtracks(pattern: &str) -> bool {
    tokens(pattern).any(|token| token.looks() || matches!(token.kind, Kind::Boundary | Kind::Reference))
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

/// The members of a set (ECMA-262, 22.2.2.9), as ranges of a class.
fn set_of(escape: &str) -> Option<&'static str> {
    Some(match escape {
        r"\d" => "0-9",
        r"\D" => r"\u{0}-\u{2f}\u{3a}-\u{10ffff}",
        r"\w" => "A-Za-z0-9_",
        r"\W" => r"\u{0}-\u{2f}\u{3a}-\u{40}\u{5b}-\u{5e}\u{60}\u{7b}-\u{10ffff}",
        r"\s" => r"\t-\r\u{20}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}",
        r"\S" => {
            r"\u{0}-\u{8}\u{e}-\u{1f}\u{21}-\u{9f}\u{a1}-\u{167f}\u{1681}-\u{1fff}\u{200b}-\u{2027}\u{202a}-\u{202e}\u{2030}-\u{205e}\u{2060}-\u{2fff}\u{3001}-\u{fefe}\u{ff00}-\u{10ffff}"
        }
        _ => return None,
    })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Matcher, differs, foreign, tokens, translated, usable};
    use crate::schema::judge::asserting_formats;
    use crate::schema::represent::TapeNode;

    #[test]
    fn loose_forms_of_annex_b_become_strict_ones() {
        for (loose, strict) in [
            (r"^[\w-\.~%]+$", r"^[A-Za-z0-9_\-\.~%]+$"),
            (r"^[a-\d]$", r"^[a\-0-9]$"),
            (r"^[\d-]$", r"^[0-9-]$"),
            (r"^[a-z]{2,3}$", r"^[a-z]{2,3}$"),
            (r"^(?:[a-z]|{org_id})*$", r"^(?:[a-z]|\{org_id\})*$"),
            (r"a{,3}", r"a\{,3\}"),
            (r"a{2}b}", r"a{2}b\}"),
            (r"\Z\-\_", "Z-_"),
            (r"[[{}]", r"[\[{}]"),
            (r"]", r"\]"),
            (r"\c1[\b]\cA\0\08\0123", r"\\c1[\x08]\x01\x00\x008\x0a3"),
        ] {
            assert_eq!(translated(loose), strict, "{loose}");
        }
    }

    #[test]
    fn the_dot_and_the_sets_are_written_out() {
        for (pattern, written) in [
            (r"^\w.[.]\.$", r"^[A-Za-z0-9_][^\n\r\u2028\u2029][.]\.$"),
            (r"^\w[a.]$", r"^[A-Za-z0-9_][a.]$"),
            (r"^[^][]$", r"^[\u{0}-\u{10ffff}][^\u{0}-\u{10ffff}]$"),
            (r"^(?=.)a\.[.]$", r"^(?=[^\n\r\u2028\u2029])a\.[.]$"),
            (r"^(?=\d)[\w-]\D$", r"^(?=[0-9])[A-Za-z0-9_-][\u{0}-\u{2f}\u{3a}-\u{10ffff}]$"),
            (r"^(?<n>\d)$", r"^(?<n>[0-9])$"),
            (r"^(\d)\1$", r"^([0-9])\1$"),
        ] {
            assert_eq!(translated(pattern), written, "{pattern}");
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
            ("*a", "*"),
            ("(a|+)", "|+"),
            ("(?:?)", "(?:?"),
            ("(?<=(a))*b", "(?<=(a))*"),
            (r"(?<n>a)\k", r"\k"),
            (r"a\", r"\"),
        ] {
            assert_eq!(foreign(pattern), Some(part), "{pattern}");
            assert_eq!(usable(pattern), None, "{pattern}");
        }
        for pattern in [
            r"^(?:a)(?=b)(?!c)(?<=d)(?<!e)(?<n>f)$",
            "(?i:a)(?-i:b)",
            "[(?i)++]",
            r"\(?i)\+\++",
            "a+?b??c{2}?",
            "x{,3}+",
            "(?=a)*b",
            r"\k(?:a)",
        ] {
            assert_eq!(foreign(pattern), None, "{pattern}");
        }
        assert_eq!(usable(r"^(?=x)x{,3}$").as_deref(), Some(r"^(?=x)x\{,3\}$"));
    }

    #[test]
    fn what_the_engine_would_read_otherwise_than_ecma_262_is_found() {
        for pattern in [r"^(a)\1$", r"^(?<n>a)b\k<n>$", r"^[(?\1|](a)?$", "(?<n>a)(?<m>a)", r"^(a)+\1$"] {
            assert!(!differs(pattern), "{pattern}");
        }
        for pattern in [
            r#"^(")?a\1$"#,
            r"^(?:(a)|b)\1$",
            r"^(a)?(?!\1)",
            r"^(\1)$",
            r"^\1(a)$",
            "(?<n>a)(?<n>b)",
            // The engine folds other letters, and takes other characters for the ends of lines.
            "(?i:k)",
            "(?-i:k)",
            "(?s:.)",
            "(?m:^a$)",
        ] {
            assert!(differs(pattern) && usable(pattern).is_none(), "{pattern}");
            assert_eq!(foreign(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn a_letter_that_only_the_engine_knows_stands_for_itself() {
        for (pattern, strict) in [
            (r"\A[a-z]+\z", "A[a-z]+z"),
            (r"^\<\h+\>$", "^<h+>$"),
            (r"^\x{61}\x61\U00000061$", r"^x{61}\x61U00000061$"),
            (r"^\pL\u0061\u61$", r"^pL\u0061u61$"),
            (r"(?=a)\K\k", "(?=a)Kk"),
        ] {
            assert_eq!(translated(pattern), strict);
        }
        assert!(translated(r"\b{start}").ends_with(r"\{start\}"));
    }

    #[test]
    fn what_the_flag_u_adds_has_its_meaning() {
        for (pattern, text, matches) in [
            (r"^\p{L}$", "é", true),
            (r"^\p{L}$", "p{L}", false),
            (r"^[\w-.\p{L}]$", "é", true),
            (r"^\u{61}$", "a", true),
            ("^.$", "\u{1f432}", true),
            ("^[^a]{2}$", "\u{1f432}", false),
            (r"^\ud83d\udc32+$", "\u{1f432}\u{1f432}", true),
            (r"^[\ud83d\udc32]$", "\u{1f432}", true),
        ] {
            let judge = asserting_formats().build(&json!({ "pattern": usable(pattern) })).unwrap();
            assert_eq!(judge.is_valid(TapeNode::Text(text)), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_cut_anywhere_gives_some_text_and_no_panic() {
        for pattern in [r"^[\w-\.~%]+\u{10}(?=ä){2,}\", "{{}}[[]]--\\", "(?iä)(?ä+?*", r"\ud83d\udc32(?<ä>"] {
            for (at, _) in pattern.char_indices() {
                let cut = &pattern[..at];
                assert_eq!(tokens(cut).map(|token| token.text).collect::<String>(), cut);
                let _ = (usable(cut), translated(cut));
            }
        }
    }
}
