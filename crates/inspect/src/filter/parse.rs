//! From the text of a filter to its nodes.

use std::cell::Cell;

use contrail_exchange::{
    TokenTime,
    finding::{Blame, Kind, Rule, Unchecked},
    suggest::nearest,
};
use jiff::{Timestamp, civil, tz::Offset};
use regex::{RegexBuilder, bytes::RegexBuilder as BytesBuilder};

use super::{
    Clock, Field, Filter, FilterError, Measure, Node, Term, is_words,
    value::{Bound, Pattern, bytes, plain, seconds},
};
use crate::summary::VERDICTS;

/// Maximum bytes of a filter.
const MAX_LENGTH: usize = 8 << 10;
/// Maximum depth of parentheses.
const MAX_DEPTH: usize = 50;
/// Maximum size of a compiled regular expression.
const MAX_EXPRESSION: usize = 1 << 20;

/// The keys besides those of [`Field`], as people write them.
const OTHER_KEYS: [&str; 11] =
    ["status", "took", "wait", "size", "since", "until", "entry", "is", "header", "body", "secret"];

/// All keys.
fn keys() -> impl Iterator<Item = &'static str> + Clone {
    Field::KEYS.into_iter().map(|(key, _)| key).chain(OTHER_KEYS)
}

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

    /// Whether the word `or` is next.
    fn is_at_or(&self) -> bool {
        let after = self.rest().strip_prefix("or");
        after.is_some_and(|after| after.starts_with(|next: char| next.is_whitespace() || next == '('))
    }

    fn alternatives(&mut self) -> Result<Node, FilterError> {
        let mut nodes = vec![self.all()?];
        while self.is_at_or() {
            self.at += "or".len();
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
            if rest.is_empty() || rest.starts_with(')') || self.is_at_or() {
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
        let bounds = |read: &dyn Fn(&str) -> Option<Bound>, example: &str| {
            let bound = |value: &Written| {
                read(&value.text).ok_or_else(|| error(value.at, format!("`{key}:` takes a value as in {example}")))
            };
            values.iter().map(bound).collect::<Result<Vec<_>, _>>()
        };
        if let Some(field) = Field::named(key) {
            if let Some(words) = words(field) {
                one_of(values, &words)?;
            }
            let folds = matches!(field, Field::Operation | Field::Method | Field::Host);
            return Ok(Term::Text(field, patterns(!folds).collect()));
        }
        let measured = |measure, read: fn(&str) -> Option<f64>, example| {
            Ok(Term::Number(measure, bounds(&|text| Bound::parse(text, read), example)?))
        };
        match key {
            "is" => self.is(values),
            "secret" => Ok(Term::Secret(patterns(true).collect())),
            "header" => Ok(Term::Header(values.iter().map(header).collect())),
            "body" => {
                let found = values
                    .iter()
                    .map(|value| expression(&Written { text: regex::escape(&value.text), ..*value }, true));
                Ok(Term::Body(found.collect::<Result<_, _>>()?))
            }
            "status" => Ok(Term::Status(bounds(&Bound::status, "status:404, status:4xx or status:>=400")?)),
            "took" => measured(Measure::Took, seconds, "took:>500ms or took:<2s"),
            "wait" => measured(Measure::Wait, seconds, "wait:>500ms or wait:<2s"),
            "size" => measured(Measure::Size, bytes, "size:>1MB or size:0"),
            "entry" => measured(Measure::Entry, plain, "entry:41 or entry:>=41"),
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
        one_of(values, &is_words().map(|(word, _)| word).collect::<Vec<_>>())?;
        let is = match values {
            [only] => is_words().find(|(word, _)| *word == only.text),
            _ => None,
        };
        is.map(|(_, is)| Term::Is(is)).ok_or_else(|| error(self.at, "`is:` takes one word; write is:slow or is:cut"))
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
    let known = keys();
    // `operation` is not near `op`, and begins with it.
    let begins = || known.clone().find(|known| known.len() > 1 && key.starts_with(known));
    let hint = nearest(key, known.clone()).or_else(begins).map_or_else(
        || "; quote a text that holds a colon".to_owned(),
        |nearest| format!("; did you mean `{nearest}:`?"),
    );
    error(at, format!("there is no `{key}:`{hint}"))
}

/// The words that a field has, where there are no others.
fn words(field: Field) -> Option<Vec<&'static str>> {
    Some(match field {
        Field::Verdict => VERDICTS.into(),
        Field::Rule => Rule::ALL.iter().map(|rule| rule.id()).collect(),
        Field::Kind => [Kind::Violation, Kind::Gap].map(Kind::name).into(),
        Field::Token => [TokenTime::Valid, TokenTime::Expired, TokenTime::NotYet].map(TokenTime::name).into(),
        Field::Blame => Blame::ALL.map(Blame::name).into(),
        Field::Unchecked => Unchecked::ALL.map(Unchecked::name).into(),
        _ => return None,
    })
}

/// Checks that each value is one of these words; one with `*` stands for some of them.
fn one_of(values: &[Written], known: &[&'static str]) -> Result<(), FilterError> {
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
    match Field::named(key) {
        Some(
            field @ (Field::Rule
            | Field::At
            | Field::Operation
            | Field::Method
            | Field::Path
            | Field::Query
            | Field::Host
            | Field::Client),
        ) => Ok(Term::Text(field, vec![pattern()?])),
        _ if keys().any(|known| known == key) => {
            Err(error(at, format!("`{key}` takes no regular expression; write `{key}:`")))
        }
        _ => Err(unknown(key, at)),
    }
}
