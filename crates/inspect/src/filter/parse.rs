//! From the text of a filter to its nodes.

use std::cell::Cell;

use contrail_exchange::{
    finding::{Blame, Kind, Rule, Unchecked},
    suggest::nearest,
};
use jiff::{Timestamp, civil, tz::Offset};
use regex::{RegexBuilder, bytes::RegexBuilder as BytesBuilder};

use super::{
    Clock, Field, Filter, FilterError, Is, Measure, Node, Term,
    value::{Bound, Pattern, bytes, plain, seconds},
    verdict,
};
use crate::summary::{Mark, VERDICTS};

/// Maximum bytes of a filter.
const MAX_LENGTH: usize = 8 << 10;
/// Maximum depth of parentheses.
const MAX_DEPTH: usize = 50;
/// Maximum size of a compiled regular expression.
const MAX_EXPRESSION: usize = 1 << 20;

/// The keys, as people write them.
const KEYS: [&str; 24] = [
    "verdict",
    "rule",
    "at",
    "kind",
    "op",
    "method",
    "status",
    "path",
    "host",
    "query",
    "client",
    "scope",
    "token",
    "blame",
    "unchecked",
    "took",
    "wait",
    "size",
    "since",
    "until",
    "is",
    "header",
    "body",
    "secret",
];

/// Further keys that the page itself uses.
const MORE_KEYS: [&str; 2] = ["source", "entry"];

pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    clock: Clock,
    is_relative: Cell<bool>,
}

/// A value as it was written, and where.
struct Written {
    text: String,
    at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, clock: Clock) -> Self {
        Self { text, at: 0, depth: 0, clock, is_relative: Cell::new(false) }
    }

    pub(super) fn filter(mut self) -> Result<Filter, FilterError> {
        if self.text.len() > MAX_LENGTH {
            return Err(error(MAX_LENGTH, format!("a filter has at most {MAX_LENGTH} bytes")));
        }
        self.skip();
        if self.rest().is_empty() {
            return Ok(Filter::default());
        }
        let root = self.alternatives()?;
        if !self.rest().is_empty() {
            return Err(error(self.at, "this `)` closes nothing"));
        }
        Ok(Filter { root: Some(root), is_relative: self.is_relative.get() })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, character: char) -> bool {
        let takes = self.rest().starts_with(character);
        self.at += if takes { character.len_utf8() } else { 0 };
        takes
    }

    /// Whether the word `or` is next; it is taken.
    fn takes_or(&mut self) -> bool {
        let after = self.rest().strip_prefix("or");
        let takes = after.is_some_and(|after| after.starts_with(|next: char| next.is_whitespace() || next == '('));
        self.at += if takes { 2 } else { 0 };
        takes
    }

    fn alternatives(&mut self) -> Result<Node, FilterError> {
        let mut nodes = vec![self.all()?];
        while self.takes_or() {
            self.skip();
            if self.rest().is_empty() {
                return Err(error(self.at, "something has to follow `or`"));
            }
            nodes.push(self.all()?);
        }
        Ok(one(nodes, Node::Any))
    }

    fn all(&mut self) -> Result<Node, FilterError> {
        let mut nodes = vec![self.term()?];
        loop {
            self.skip();
            let rest = self.rest();
            let mut ahead = Self::new(self.text, self.clock);
            ahead.at = self.at;
            if rest.is_empty() || rest.starts_with(')') || ahead.takes_or() {
                return Ok(one(nodes, Node::All));
            }
            nodes.push(self.term()?);
        }
    }

    fn term(&mut self) -> Result<Node, FilterError> {
        self.skip();
        let not = self.rest().len() > 1 && self.takes('-');
        let at = self.at;
        let node = if self.takes('(') {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(error(at, format!("at most {MAX_DEPTH} parentheses may be open at once")));
            }
            let node = self.alternatives()?;
            self.skip();
            if !self.takes(')') {
                return Err(error(at, "this `(` is not closed"));
            }
            self.depth -= 1;
            node
        } else {
            Node::Term(self.word()?)
        };
        Ok(if not { Node::Not(Box::new(node)) } else { node })
    }

    fn word(&mut self) -> Result<Term, FilterError> {
        let at = self.at;
        let is_key = |character: char| character.is_ascii_alphabetic() || character == '-';
        let length = self.rest().find(|other| !is_key(other)).unwrap_or(self.rest().len());
        let (key, sign) = (&self.rest()[..length], self.rest()[length..].chars().next());
        match sign {
            Some(':') if length > 0 => {
                self.at += length + 1;
                let values = self.values()?;
                self.keyed(key, at, &values)
            }
            Some('~') if length > 0 => {
                self.at += length + 1;
                let expression = self.value()?;
                keyed_expression(key, at, &expression)
            }
            _ => {
                let values = self.values()?;
                Ok(Term::Anywhere(values.into_iter().map(|value| Pattern::Within(value.text)).collect()))
            }
        }
    }

    fn values(&mut self) -> Result<Vec<Written>, FilterError> {
        let mut values = vec![self.value()?];
        while self.takes('|') {
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// A bare value, or one in quotes.
    fn value(&mut self) -> Result<Written, FilterError> {
        let at = self.at;
        if !self.takes('"') {
            let rest = self.rest();
            let length =
                rest.find(|next: char| next.is_whitespace() || matches!(next, ')' | '|')).unwrap_or(rest.len());
            if length == 0 {
                return Err(error(at, "a value is missing here"));
            }
            self.at += length;
            return Ok(Written { text: rest[..length].to_owned(), at });
        }
        let mut text = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' => {
                    self.at += offset + 1;
                    return Ok(Written { text, at });
                }
                '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
                other => text.push(other),
            }
        }
        Err(error(at, "this quote is not closed"))
    }

    fn keyed(&self, key: &str, at: usize, values: &[Written]) -> Result<Term, FilterError> {
        let patterns = |case: bool| values.iter().map(move |value| Pattern::Whole { text: value.text.clone(), case });
        let text = |field| Ok(Term::Text(field, patterns(true).collect()));
        let folded = |field| Ok(Term::Text(field, patterns(false).collect()));
        let bounds = |read: &dyn Fn(&str) -> Option<Bound>, example: &str| {
            let bound = |value: &Written| {
                read(&value.text).ok_or_else(|| error(value.at, format!("`{key}:` takes a value as in {example}")))
            };
            values.iter().map(bound).collect::<Result<Vec<_>, _>>()
        };
        match key {
            "verdict" => {
                one_of(values, VERDICTS)?;
                let wanted: Vec<Pattern> = patterns(true).collect();
                let is_wanted = |word: &&str| wanted.iter().any(|pattern| pattern.matches(word));
                Ok(Term::Verdict(
                    VERDICTS.iter().filter(|word| is_wanted(word)).filter_map(|word| verdict(word)).collect(),
                ))
            }
            "rule" => {
                one_of(values, Rule::ALL.iter().map(|rule| rule.id()))?;
                text(Field::Rule)
            }
            "kind" => {
                one_of(values, [Kind::Violation, Kind::Gap].into_iter().map(Kind::name))?;
                text(Field::Kind)
            }
            "blame" => {
                one_of(values, Blame::ALL.into_iter().map(Blame::name))?;
                text(Field::Blame)
            }
            "unchecked" => {
                one_of(values, Unchecked::ALL.into_iter().map(Unchecked::name))?;
                Ok(Term::Unchecked(patterns(true).collect()))
            }
            "token" => {
                one_of(values, ["valid", "expired", "not-yet"])?;
                text(Field::Token)
            }
            "is" => self.is(values),
            "at" => text(Field::At),
            "op" => folded(Field::Operation),
            "method" => folded(Field::Method),
            "path" => text(Field::Path),
            "query" => text(Field::Query),
            "host" => folded(Field::Host),
            "client" => text(Field::Client),
            "source" => text(Field::Source),
            "scope" => Ok(Term::Scope(patterns(true).collect())),
            "secret" => Ok(Term::Secret(patterns(true).collect())),
            "header" => Ok(Term::Header(values.iter().map(header).collect())),
            "body" => {
                let found = values
                    .iter()
                    .map(|value| expression(&Written { text: regex::escape(&value.text), ..*value }, true));
                Ok(Term::Body(found.collect::<Result<_, _>>()?))
            }
            "status" => Ok(Term::Status(bounds(&Bound::status, "status:404, status:4xx or status:>=400")?)),
            "took" => {
                let read = |text: &str| Bound::parse(text, seconds);
                Ok(Term::Number(Measure::Took, bounds(&read, "took:>500ms or took:<2s")?))
            }
            "wait" => {
                let read = |text: &str| Bound::parse(text, seconds);
                Ok(Term::Number(Measure::Wait, bounds(&read, "wait:>500ms or wait:<2s")?))
            }
            "size" => {
                let read = |text: &str| Bound::parse(text, bytes);
                Ok(Term::Number(Measure::Size, bounds(&read, "size:>1MB or size:0")?))
            }
            "entry" => {
                let read = |text: &str| Bound::parse(text, plain);
                Ok(Term::Number(Measure::Entry, bounds(&read, "entry:41 or entry:>=41")?))
            }
            "since" => {
                let read = |text: &str| Some(Bound { from: Some((self.instant(text)?, false)), to: None });
                Ok(Term::Number(Measure::Since, bounds(&read, EXAMPLE)?))
            }
            "until" => {
                let read = |text: &str| Some(Bound { from: None, to: Some((self.instant(text)?, false)) });
                Ok(Term::Number(Measure::Until, bounds(&read, EXAMPLE)?))
            }
            _ => Err(unknown(key, at)),
        }
    }

    fn is(&self, values: &[Written]) -> Result<Term, FilterError> {
        let words = [
            ("slow", Is::Slow),
            ("cut", Is::Marked(Mark::Cut)),
            ("redacted", Is::Marked(Mark::Redacted)),
            ("retried", Is::Marked(Mark::Retried)),
            ("left", Is::Marked(Mark::Left)),
            ("by-contrail", Is::Marked(Mark::ByContrail)),
        ];
        one_of(values, words.iter().map(|(word, _)| *word))?;
        match values {
            [only] => {
                let found = words.into_iter().find(|(word, _)| *word == only.text).map(|(_, is)| is);
                found.map(Term::Is).ok_or_else(|| error(only.at, "`is:` takes one word"))
            }
            _ => Err(error(self.at, "`is:` takes one word; write is:slow or is:cut")),
        }
    }

    /// Microseconds since the epoch of `10:02`, `10:02:31.5`, `-5m`, or a date with a time.
    #[expect(clippy::cast_precision_loss, reason = "an instant is exact up to the year 2255")]
    fn instant(&self, text: &str) -> Option<f64> {
        let Clock { now, zone } = self.clock;
        if let Some(ago) = text.strip_prefix('-') {
            self.is_relative.set(true);
            return Some(now as f64 - seconds(ago)? * 1e6);
        }
        if let Ok(at) = text.parse::<Timestamp>() {
            return Some(at.as_microsecond() as f64);
        }
        let offset = Offset::from_seconds(zone.checked_mul(60)?).ok()?;
        let today = offset.to_datetime(Timestamp::from_microsecond(now).ok()?).date();
        let at: civil::DateTime = match text.parse::<civil::Time>() {
            Ok(time) => today.to_datetime(time),
            Err(_) => text.parse().ok()?,
        };
        Some(offset.to_timestamp(at).ok()?.as_microsecond() as f64)
    }
}

/// How an instant is written.
const EXAMPLE: &str = "since:10:02, since:-5m or since:2026-01-31T10:02:00Z";

const NO_EXPRESSION: &str = "this is no regular expression that contrail can use; quote one with spaces, `)` or `|`";

fn error(at: usize, message: impl Into<String>) -> FilterError {
    FilterError { at, message: message.into() }
}

fn one(mut nodes: Vec<Node>, of: impl Fn(Vec<Node>) -> Node) -> Node {
    if nodes.len() == 1 { nodes.remove(0) } else { of(nodes) }
}

fn unknown(key: &str, at: usize) -> FilterError {
    let known = KEYS.into_iter().chain(MORE_KEYS);
    // `operation` is not near `op`, and begins with it.
    let begins = || known.clone().find(|known| known.len() > 1 && key.starts_with(known));
    let hint = nearest(key, known.clone()).or_else(begins).map_or_else(
        || "; quote a text that holds a colon".to_owned(),
        |nearest| format!("; did you mean `{nearest}:`?"),
    );
    error(at, format!("there is no `{key}:`{hint}"))
}

/// Checks that a word is one of those that a key takes. One with `*` may be any.
fn one_of<'k>(values: &[Written], known: impl IntoIterator<Item = &'k str>) -> Result<(), FilterError> {
    let known: Vec<&str> = known.into_iter().collect();
    for value in values.iter().filter(|value| !value.text.contains('*')) {
        if !known.contains(&&*value.text) {
            let hint = match nearest(&value.text, known.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("it is one of {}", known[..known.len().min(12)].join(", ")),
            };
            return Err(error(value.at, format!("`{}` is none of its words; {hint}", value.text)));
        }
    }
    Ok(())
}

/// `NAME`, or `NAME=VALUE`.
fn header(value: &Written) -> (Pattern, Option<Pattern>) {
    let (name, text) = match value.text.split_once('=') {
        Some((name, text)) => (name, Some(text)),
        None => (&*value.text, None),
    };
    let pattern = |text: &str, case| Pattern::Whole { text: text.to_owned(), case };
    (pattern(name, false), text.map(|text| pattern(text, true)))
}

fn expression(value: &Written, folds: bool) -> Result<regex::bytes::Regex, FilterError> {
    BytesBuilder::new(&value.text)
        .case_insensitive(folds)
        .size_limit(MAX_EXPRESSION)
        .build()
        .map_err(|_| error(value.at, NO_EXPRESSION))
}

fn keyed_expression(key: &str, at: usize, value: &Written) -> Result<Term, FilterError> {
    if key == "body" {
        return Ok(Term::Body(vec![expression(value, false)?]));
    }
    let pattern = || {
        RegexBuilder::new(&value.text)
            .size_limit(MAX_EXPRESSION)
            .build()
            .map(Pattern::Expression)
            .map_err(|_| error(value.at, NO_EXPRESSION))
    };
    let field = match key {
        "path" => Field::Path,
        "op" => Field::Operation,
        "host" => Field::Host,
        "client" => Field::Client,
        "at" => Field::At,
        "query" => Field::Query,
        "rule" => Field::Rule,
        "method" => Field::Method,
        _ if KEYS.contains(&key) => {
            return Err(error(at, format!("`{key}` takes no regular expression; write `{key}:`")));
        }
        _ => return Err(unknown(key, at)),
    };
    Ok(Term::Text(field, vec![pattern()?]))
}
