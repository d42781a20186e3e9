//! Reads YAML 1.2 (core schema) as JSON values.
//!
//! Numbers keep their digits, mappings their order; a key that occurs twice is an error. Keys are the text of
//! their scalar (`200:` is `"200"`). Aliases are copied, within a bound; merge keys (`<<`) are followed.

use std::{collections::HashMap, fmt::Write as _};

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};

/// Maximum nesting of a contract or an overlay.
const MAX_DEPTH: usize = 256;
/// Maximum values that anchors and aliases add to those of the text.
const MAX_COPIES: usize = 100_000;
/// Maximum bytes of the texts and keys of those values.
const MAX_COPIED_BYTES: usize = 64 * 1024 * 1024;

/// Reads one document.
///
/// # Errors
///
/// What is wrong, with line and column.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    built(text, Builder::default())
}

/// The member of the object that stands for a binary scalar, in base64 ([`read_verbatim`]).
pub const BINARY: &str = "!!binary";

/// Reads one document whose scalars are texts as they stand there, null aside: a recorded body `1e5` or `no` is that
/// text in every version of YAML. A binary scalar is an object with the one member [`BINARY`].
///
/// # Errors
///
/// As [`read`].
pub fn read_verbatim(text: &str) -> Result<Value, String> {
    built(text, Builder { verbatim: true, ..Builder::default() })
}

fn built(text: &str, mut builder: Builder) -> Result<Value, String> {
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let (what, at) = (error.info(), error.marker());
            let (what, (line, column)) =
                indenting_tab(text, &what, at.line()).unwrap_or((&what, (at.line(), at.col() + 1)));
            format!("{what} at line {line} column {column}")
        })?;
        builder.event(event, span)?;
    }
    Ok(builder.done.unwrap_or(Value::Null))
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, (Value, Size)>,
    done: Option<Value>,
    verbatim: bool,
    size: Size,
    /// Of that, what is copied, and the copies that anchors keep.
    copies: Size,
}

/// How much memory values take.
#[derive(Clone, Copy, Default)]
struct Size {
    values: usize,
    /// Of their texts and keys.
    bytes: usize,
}

impl std::ops::AddAssign for Size {
    fn add_assign(&mut self, more: Self) {
        self.values += more.values;
        self.bytes += more.bytes;
    }
}

impl std::ops::Sub for Size {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { values: self.values - before.values, bytes: self.bytes - before.bytes }
    }
}

struct Open {
    kind: Kind,
    anchor: usize,
    before: Size,
}

enum Kind {
    Sequence(Vec<Value>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    members: Map<String, Value>,
    key: Option<String>,
    /// The key is `<<` (<https://yaml.org/type/merge.html>).
    merges: bool,
    /// What `<<` holds.
    merged: Option<Value>,
}

impl Mapping {
    /// Takes a key; its value comes next.
    fn start(&mut self, key: String, merges: bool) -> Result<(), String> {
        self.merges = merges;
        if if merges { self.merged.is_some() } else { self.members.contains_key(&key) } {
            return Err(format!("duplicate key `{key}`"));
        }
        self.key = Some(key);
        Ok(())
    }

    /// The members with those of the merged mappings: its own win, then those of an earlier mapping.
    fn finish(self) -> Result<Map<String, Value>, &'static str> {
        let merged = match self.merged {
            None => return Ok(self.members),
            Some(Value::Array(mappings)) => mappings,
            Some(mapping) => vec![mapping],
        };
        let mut members = Map::new();
        for mapping in merged {
            let Value::Object(more) = mapping else {
                return Err("found a merge key (`<<`) without mappings");
            };
            for (name, value) in more {
                members.entry(name).or_insert(value);
            }
        }
        members.extend(self.members);
        Ok(members)
    }
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), String> {
        let placed = |what: &str| format!("{what} at line {} column {}", span.start.line(), span.start.col() + 1);
        match event {
            Event::DocumentStart(..) if self.done.is_some() => return Err(placed("a second document starts")),
            Event::Scalar(text, style, anchor, tag) => {
                let resolved = match tag.as_ref().and_then(|tag| tag.core_suffix()) {
                    Some(kind) => kind != "str",
                    None => style == ScalarStyle::Plain && tag.as_ref().is_none_or(|tag| tag.handle() != "!"),
                };
                let plain = resolved.then(|| plain(&text)).filter(|plain| !self.verbatim || plain.is_null());
                let value = match plain {
                    _ if self.verbatim && tag.as_ref().is_some_and(|tag| tag.suffix() == "binary") => {
                        serde_json::json!({ BINARY: &*text })
                    }
                    Some(plain) => plain,
                    None => Value::String(text.clone().into_owned()),
                };
                let mut size = Size { values: 1, bytes: text.len() };
                let Some(mapping) = self.without_key() else {
                    self.size += size;
                    return self.close(value, anchor, size).map_err(placed);
                };
                let merges = text == "<<" && style == ScalarStyle::Plain;
                mapping.start(text.into_owned(), merges).map_err(|what| placed(&what))?;
                self.keep(value, anchor, size).map_err(placed)?;
                size.values = 0;
                self.size += size;
            }
            Event::SequenceStart(_, anchor, _) => self.start(Kind::Sequence(Vec::new()), anchor).map_err(placed)?,
            Event::MappingStart(_, anchor, _) => {
                self.start(Kind::Mapping(Mapping::default()), anchor).map_err(placed)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { kind, anchor, before }) = self.open.pop() {
                    let value = match kind {
                        Kind::Sequence(items) => Value::Array(items),
                        Kind::Mapping(mapping) => Value::Object(mapping.finish().map_err(placed)?),
                    };
                    self.close(value, anchor, self.size - before).map_err(placed)?;
                }
            }
            Event::Alias(anchor) => {
                let Some((_, size)) = self.anchors.get(&anchor) else {
                    return Err(placed("found an alias inside its own anchor"));
                };
                let size = *size;
                self.copy(size).map_err(placed)?;
                self.size += size;
                let value = self.anchors.get(&anchor).map(|(value, _)| value.clone()).unwrap_or_default();
                let Some(mapping) = self.without_key() else {
                    return self.close(value, 0, size).map_err(placed);
                };
                let key = match value {
                    Value::String(text) => text,
                    Value::Array(_) | Value::Object(_) => return Err(placed("found a key that is not a scalar")),
                    value => value.to_string(),
                };
                mapping.start(key, false).map_err(|what| placed(&what))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The innermost mapping, if what comes next in it is a key.
    fn without_key(&mut self) -> Option<&mut Mapping> {
        match self.open.last_mut() {
            Some(Open { kind: Kind::Mapping(mapping @ Mapping { key: None, .. }), .. }) => Some(mapping),
            _ => None,
        }
    }

    fn copy(&mut self, more: Size) -> Result<(), &'static str> {
        self.copies += more;
        if self.copies.values > MAX_COPIES {
            return Err("found aliases of more values than contrail accepts");
        }
        if self.copies.bytes > MAX_COPIED_BYTES {
            return Err("found aliases of more text than contrail accepts");
        }
        Ok(())
    }

    fn start(&mut self, kind: Kind, anchor: usize) -> Result<(), &'static str> {
        if self.without_key().is_some() {
            return Err("found a key that is not a scalar");
        }
        if self.open.len() >= MAX_DEPTH {
            return Err("found deeper nesting than contrail accepts");
        }
        let before = self.size;
        self.size.values += 1;
        self.open.push(Open { kind, anchor, before });
        Ok(())
    }

    /// Keeps what aliases of an anchor are copies of; 0 is none.
    fn keep(&mut self, value: Value, anchor: usize, size: Size) -> Result<(), &'static str> {
        if anchor != 0 {
            self.copy(size)?;
            self.anchors.insert(anchor, (value, size));
        }
        Ok(())
    }

    fn close(&mut self, value: Value, anchor: usize, size: Size) -> Result<(), &'static str> {
        if anchor != 0 {
            self.keep(value.clone(), anchor, size)?;
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            Some(Kind::Sequence(items)) => items.push(value),
            Some(Kind::Mapping(mapping)) => match mapping.key.take() {
                Some(_) if mapping.merges => mapping.merged = Some(value),
                Some(key) => drop(mapping.members.insert(key, value)),
                None => {}
            },
            None => self.done = Some(value),
        }
        Ok(())
    }
}

/// A plain scalar by the core schema (YAML 1.2.2, section 10.3.2). The numbers that JSON does not have (`.inf`, `.nan`)
/// are texts.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(number) = text.parse::<Number>() {
        return Value::Number(number);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && let Ok(number) = u128::from_str_radix(digits, radix)
            && let Ok(number) = number.to_string().parse()
        {
            return Value::Number(number);
        }
    }
    decimal(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The decimal numbers of the core schema that JSON spells otherwise: `+1`, `007`, `.5`, `1.`.
fn decimal(text: &str) -> Option<Number> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let mut json = format!("{sign}{whole}");
    if !fraction.is_empty() {
        let _ = write!(json, ".{fraction}");
    }
    if let Some(exponent) = exponent {
        let _ = write!(json, "e{exponent}");
    }
    json.parse().ok()
}

/// What is wrong with the tab that an error is about, with its line and column. The parser names the place where the
/// value before it starts, or the one behind it, and behind a comment or a block scalar it mentions no tab.
fn indenting_tab<'w>(text: &str, what: &'w str, line: usize) -> Option<(&'w str, (usize, usize))> {
    let lines: Vec<&str> = text.lines().collect();
    let at = line.saturating_sub(1);
    let spaces = |index: usize| lines[index].len() - lines[index].trim_start_matches(' ').len();
    let is_blank = |index: &usize| lines[*index].trim().is_empty();
    let is_comment = |index: &usize| lines[*index].trim_start().starts_with('#');
    let is_tab = |index: &usize| lines[*index].as_bytes().get(spaces(*index)) == Some(&b'\t');
    let place = |index: usize| (index + 1, spaces(index) + 1);
    let (mut below, mut above) = (at..lines.len(), (0..lines.len().min(line)).rev());
    if what.split(' ').any(|word| matches!(word, "tab" | "tabs")) {
        let is_scalar = what.contains("block scalar");
        let is_meant = |index: &usize| is_tab(index) && !is_comment(index) && (is_scalar || !is_blank(index));
        let found = below.find(|index| is_meant(index) && spaces(*index) <= spaces(at))?;
        return Some((what, place(found)));
    }
    let found = if what.starts_with("comment intercepting") {
        below.skip(1).find(|index| !is_blank(index) && !is_comment(index)).filter(is_tab)?
    } else if what.starts_with("while parsing a block") {
        // The line itself, or a blank one that ends a block scalar before it.
        above.find(|index| is_tab(index) || *index != at && !is_blank(index)).filter(is_tab)?
    } else {
        return None;
    };
    Some(("tab cannot be used as indentation", place(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        read(text).unwrap().to_string()
    }

    #[test]
    fn scalars_stay_as_they_stand_where_they_are_read_verbatim() {
        let read = read_verbatim("a: 1e5\nb: no\nc: ~\nd: '~'\ne: !!binary |\n  AP/+\nf: 007\n").unwrap();
        let expected = r#"{"a":"1e5","b":"no","c":null,"d":"~","e":{"!!binary":"AP/+\n"},"f":"007"}"#;
        assert_eq!(read.to_string(), expected);
    }

    #[test]
    fn merge_keys_add_what_a_mapping_lacks() {
        let text =
            "x: &x {k: 1, l: 1}\ny: &y {l: 2, m: 2}\none:\n  <<: *x\n  k: 3\nboth:\n  n: 4\n  <<: [*x, *y]\n'<<': 5\n";
        let value = read(text).unwrap();
        assert_eq!(value["one"].to_string(), r#"{"k":3,"l":1}"#);
        assert_eq!(value["both"].to_string(), r#"{"k":1,"l":1,"m":2,"n":4}"#);
        assert_eq!(value["<<"], 5);
    }

    #[test]
    fn plain_scalars_follow_the_core_schema_and_keep_every_digit() {
        for (yaml, expected) in [
            ("10000", "10000"),
            ("18446744073709551616", "18446744073709551616"),
            ("0.1000", "0.1000"),
            ("1e400", "1e+400"),
            ("+5", "5"),
            ("007", "7"),
            (".5", "0.5"),
            ("5.", "5"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("~", "null"),
            ("no", "\"no\""),
            ("on", "\"on\""),
            ("True", "true"),
            ("'5'", "\"5\""),
            ("!!str 5", "\"5\""),
            ("!<tag:yaml.org,2002:str> 5", "\"5\""),
            ("!!int \"7\"", "7"),
            ("!!float '0.5'", "0.5"),
            ("!!bool \"true\"", "true"),
            ("!!null ''", "null"),
            (".inf", "\".inf\""),
            ("-.INF", "\"-.INF\""),
            (".nan", "\".nan\""),
            ("1_000", "\"1_000\""),
            ("2026-01-01", "\"2026-01-01\""),
            ("-", "[null]"),
            ("0x", "\"0x\""),
            ("0x+1F", "\"0x+1F\""),
            ("0o-7", "\"0o-7\""),
            ("", "null"),
        ] {
            assert_eq!(json(yaml), expected, "{yaml}");
        }
    }

    #[test]
    fn tabs_separate_and_are_part_of_texts_where_spaces_indent() {
        for (yaml, expected) in [
            ("a:\t1\t# b\n\t# c\nd: 2\n\t\n", r#"{"a":1,"d":2}"#),
            ("a: |\t# b\n  \tc\n  d\te\n  \t\n  f\n", r#"{"a":"\tc\nd\te\n\t\nf\n"}"#),
            ("a: b\n \tc\nd: [\n \t1,\t2]\n", r#"{"a":"b c","d":[1,2]}"#),
        ] {
            assert_eq!(json(yaml), expected, "{yaml}");
        }
    }

    #[test]
    fn keys_are_the_text_of_their_scalar() {
        assert_eq!(json("200: a\n'201': b\n2XX: c\ntrue: d\n"), r#"{"200":"a","201":"b","2XX":"c","true":"d"}"#);
    }

    #[test]
    fn a_key_may_have_an_anchor_and_be_an_alias() {
        let text = "a: {&k key: 1}\nb: *k\nc: {*k : 2}\nd: &n 200\ne: {*n : 3}\n";
        assert_eq!(json(text), r#"{"a":{"key":1},"b":"key","c":{"key":2},"d":200,"e":{"200":3}}"#);
    }

    #[test]
    fn what_a_contract_cannot_hold_is_refused_with_its_place() {
        for (yaml, expected) in [
            ("a:\n  b: 1\n  b: 2\n", "duplicate key `b` at line 3 column 3"),
            ("a: 1\n\tb: 2\n", "while scanning a plain scalar, found a tab at line 2 column 1"),
            ("a: 1\nb:\n\tc: 1\n", "tabs disallowed within this context (block indentation) at line 3 column 1"),
            ("a: b\n  c\n \td\n\te: f\n", "while scanning a plain scalar, found a tab at line 4 column 1"),
            ("a: b\n\t\n\n\te: f\n", "while scanning a plain scalar, found a tab at line 4 column 1"),
            ("a:\n  b: 1\n  \tc: 1\n", "while scanning a plain scalar, found a tab at line 3 column 3"),
            ("a: b\n\t# c\n\te: f\n", "while scanning a plain scalar, found a tab at line 3 column 1"),
            ("a: 1 # b\n\tc: 1\n", "tab cannot be used as indentation at line 2 column 1"),
            ("a: |\n  b\n # c\n\td: 1\n", "tab cannot be used as indentation at line 4 column 1"),
            ("a: |\n  b\n\n\t\n\n  c\n", "tab cannot be used as indentation at line 4 column 1"),
            ("a: |\n  b\n \tc\n", "tab cannot be used as indentation at line 3 column 2"),
            ("a: >\n\t\n  b\n", "a block scalar content cannot start with a tab at line 2 column 1"),
            ("a: |\n  b\n c\n", "while parsing a block mapping, did not find expected key at line 3 column 2"),
            ("a: 1\n---\nb: 2\n", "a second document starts at line 2 column 1"),
            ("a: &x [1]\nb:\n  <<: *x\n", "found a merge key (`<<`) without mappings at line 4 column 1"),
            ("b:\n  <<: {}\n  <<: {}\n", "duplicate key `<<` at line 3 column 3"),
            ("? [a]\n: b\n", "found a key that is not a scalar at line 1 column 3"),
            ("a: &x [1]\nb: {*x : 2}\n", "found a key that is not a scalar at line 2 column 5"),
            ("a: &x b\nb: {b: 1, *x : 2}\n", "duplicate key `b` at line 2 column 11"),
            ("a: &x [*x]\n", "found an alias inside its own anchor at line 1 column 8"),
            ("a: [1\n", "unclosed bracket '[' at line 1 column 4"),
            ("a: *nowhere\n", "while parsing node, found unknown anchor at line 1 column 4"),
        ] {
            let error = read(yaml).unwrap_err();
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn aliases_are_copied_within_a_budget_and_nesting_within_a_depth() {
        assert_eq!(json("a: &x {k: [1]}\nb: *x\n"), r#"{"a":{"k":[1]},"b":{"k":[1]}}"#);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let _ = writeln!(bomb, "a{level}: &a{level} [{}]", vec![format!("*a{}", level - 1); 10].join(", "));
        }
        assert_eq!(read(&bomb).unwrap_err(), "found aliases of more values than contrail accepts at line 5 column 40");
        // Each anchor keeps a copy of all that is inside it.
        let inside = "&a [x, ".repeat(250) + &"x, ".repeat(500) + &"]".repeat(250);
        assert_eq!(
            read(&inside).unwrap_err(),
            "found aliases of more values than contrail accepts at line 1 column 3403"
        );
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert!(read(&deep).is_err());
    }

    #[test]
    fn aliases_of_long_texts_and_keys_are_copied_within_a_budget_of_bytes() {
        let long = "x".repeat(1024 * 1024);
        for anchor in [format!("&a {long}"), format!("&a {{? {long} : 1}}"), format!("&a [[&b {long}]]")] {
            let document = |aliases| format!("a: {anchor}\nb: [{}]\n", vec!["*a"; aliases].join(", "));
            assert!(read(&document(60)).is_ok(), "{}", &anchor[..12]);
            let error = read(&document(64)).unwrap_err();
            assert!(error.starts_with("found aliases of more text than contrail accepts at line 2"), "{error}");
        }
    }
}
