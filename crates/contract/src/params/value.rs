//! Values that a text may stand for, and the search for the reading that the schema allows.
//!
//! A text outside of JSON has no types: `5` may be a number or a string, `a,b` a list or a string. A value violates its
//! schema only if no reading fits.

use std::{borrow::Cow, fmt, ops::Range};

use contrail_exchange::{
    is_at_or_below,
    json::{Document, push_pointer, write},
};

use crate::schema::{Indeterminate, Schema, SchemaVerdict, Types};

/// Bounds on the readings of one value that are judged. The larger the value, the fewer.
const MIN_JUDGMENTS: usize = 4;
const MAX_JUDGMENTS: usize = 64;
/// Bound on the choices of a value whose readings are searched.
const MAX_CHOICES: usize = 4096;
/// Bound on the bytes that are judged while the reading is searched.
const MAX_JUDGED_BYTES: usize = 256 << 10;

/// Bytes of JSON per choice, with the name of the member: as many as most have.
const BYTES_PER_CHOICE: usize = 32;

/// A value that a text may stand for.
#[derive(Debug, Clone)]
pub(super) enum Value<'t> {
    /// A scalar: a string, or the number, boolean or null that the text is a literal of. The types are those that the
    /// schema names, if it is known.
    Text(Cow<'t, str>, Types),
    /// JSON text.
    Json(Cow<'t, str>),
    /// An array.
    List(Vec<Value<'t>>),
    /// An object.
    Map(Vec<(Cow<'t, str>, Value<'t>)>),
    /// One of these, the likeliest first.
    Either(Vec<Value<'t>>),
}

/// No reading of a value is within the limits of the parser.
pub(super) const UNREAD: Indeterminate = Indeterminate("it is beyond a limit of the parser");

/// The reading that fits best.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) document: Document,
    pub(super) judged: SchemaVerdict,
}

impl Value<'_> {
    /// One of several values; `None` if there is none.
    pub(super) fn either(values: Vec<Self>) -> Option<Self> {
        let mut flat = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Self::Either(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        if flat.len() > 1 { Some(Self::Either(flat)) } else { flat.pop() }
    }

    /// How many choices there are in it, those of all branches included.
    fn choices(&self) -> usize {
        match self {
            Self::Text(..) => 1,
            Self::Json(_) => 0,
            Self::List(items) => items.iter().map(Self::choices).sum(),
            Self::Map(members) => members.iter().map(|(_, value)| value.choices()).sum(),
            Self::Either(values) => 1 + values.iter().map(Self::choices).sum::<usize>(),
        }
    }

    /// The likeliest choices.
    fn likeliest(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text, types) => {
                out.push(u8::from(literal(text, *types).is_some_and(|literal| types.prefers_literal(literal))));
            }
            Self::Json(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.likeliest(out)),
            Self::Map(members) => members.iter().for_each(|(_, value)| value.likeliest(out)),
            Self::Either(values) => {
                out.push(0);
                for value in values {
                    value.likeliest(out);
                }
            }
        }
    }

    /// Whether any reading but the likeliest exists.
    fn is_open(&self) -> bool {
        match self {
            Self::Text(text, types) => literal(text, *types).is_some(),
            Self::Json(_) => false,
            Self::List(items) => items.iter().any(Self::is_open),
            Self::Map(members) => members.iter().any(|(_, value)| value.is_open()),
            Self::Either(_) => true,
        }
    }

    /// The likeliest reading.
    pub(super) fn document(&self) -> Option<Document> {
        let mut choices = Vec::new();
        self.likeliest(&mut choices);
        Document::parse(Writer::write(self, &choices, None)).ok()
    }

    /// Judges the value: the likeliest reading, and where that violates the schema, others.
    ///
    /// # Errors
    ///
    /// [`Indeterminate`] where the likeliest reading cannot be judged.
    pub(super) fn judge(
        &self,
        schema: &Schema,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Reading, Indeterminate> {
        let mut choices = Vec::new();
        self.likeliest(&mut choices);
        let read = |choices: &[u8]| {
            let document = Document::parse(Writer::write(self, choices, None)).map_err(|_| UNREAD)?;
            let judged = schema.judge(&document, is_origin)?;
            Ok(Reading { document, judged })
        };
        let mut best = read(&choices)?;
        if best.judged.violations.is_empty() || choices.len() > MAX_CHOICES || !self.is_open() {
            return Ok(best);
        }
        let mut budget = (MAX_JUDGED_BYTES / best.document.source().len().max(1)).clamp(MIN_JUDGMENTS, MAX_JUDGMENTS);
        let texts = self.texts();
        // Takes the reading if it fits better; `None` ends the search.
        let mut attempt = |(at, candidate): (String, Vec<u8>), choices: &mut Vec<u8>, best: &mut Reading| {
            budget = budget.checked_sub(1)?;
            let better = |reading: &Reading| {
                let violations = &reading.judged.violations;
                violations.len() < best.judged.violations.len()
                    && !violations.iter().any(|violation| is_at_or_below(&violation.at, &at))
            };
            let better = read(&candidate).ok().filter(better);
            let took = better.is_some();
            if let Some(better) = better {
                (*best, *choices) = (better, candidate);
            }
            (!best.judged.violations.is_empty()).then_some(took)
        };
        // A choice of the schema may need all scalars below a place to be of one kind.
        let alike = |choices: &[u8], range: &Range<usize>, chosen: u8| {
            let mut candidate = choices.to_vec();
            texts.iter().filter(|index| range.contains(index)).for_each(|index| candidate[*index] = chosen);
            candidate
        };
        'search: loop {
            let mut points = Vec::new();
            Writer::write(self, &choices, Some(&mut points));
            let mut candidates = Vec::new();
            for Point { range, at, alternatives } in points {
                let violations = &best.judged.violations;
                if !violations.iter().any(|violation| related(&violation.at, &at)) {
                    continue;
                }
                let mut add = |candidate: Vec<u8>| candidates.push((at.clone(), candidate));
                if alternatives == 0 {
                    add(alike(&choices, &range, 1));
                    add(alike(&choices, &range, 0));
                }
                for other in (0..alternatives).filter(|other| *other != choices[range.start]) {
                    let mut candidate = choices.clone();
                    candidate[range.start] = other;
                    if range.len() > 1 {
                        let below = range.start + 1..range.end;
                        add(alike(&candidate, &below, 1));
                        add(alike(&candidate, &below, 0));
                    }
                    add(candidate);
                }
                if candidates.len() > MAX_JUDGMENTS {
                    break;
                }
            }
            candidates.retain(|(_, candidate)| *candidate != choices);
            for candidate in candidates {
                match attempt(candidate, &mut choices, &mut best) {
                    None => return Ok(best),
                    Some(true) => continue 'search,
                    Some(false) => {}
                }
            }
            return Ok(best);
        }
    }

    /// The choices between a string and a literal.
    fn texts(&self) -> Vec<usize> {
        let mut texts = Vec::new();
        self.find_texts(&mut 0, &mut texts);
        texts
    }

    fn find_texts(&self, next: &mut usize, texts: &mut Vec<usize>) {
        match self {
            Self::Text(..) => {
                texts.push(*next);
                *next += 1;
            }
            Self::Json(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.find_texts(next, texts)),
            Self::Map(members) => members.iter().for_each(|(_, value)| value.find_texts(next, texts)),
            Self::Either(values) => {
                *next += 1;
                for value in values {
                    value.find_texts(next, texts);
                }
            }
        }
    }
}

/// Whether one place lies at or below the other.
fn related(one: &str, other: &str) -> bool {
    is_at_or_below(one, other) || is_at_or_below(other, one)
}

/// The JSON literal that a text may stand for; `5.0` is none where the schema says integer.
fn literal(text: &str, types: Types) -> Option<&str> {
    match text {
        "true" | "false" | "null" => Some(text),
        // A null has no serialisation of its own (OpenAPI 3.1.1, appendix B).
        "" => Some("null"),
        _ => {
            let first = text.as_bytes().first().copied()?;
            let number = (first == b'-' || first.is_ascii_digit())
                && (is_integer(text)
                    || (types.number_or_unknown() && serde_json::from_str::<serde_json::Number>(text).is_ok()));
            // `from_str` skips white space.
            (number && !text.ends_with(|last: char| last.is_ascii_whitespace())).then_some(text)
        }
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits == "0"
        || (!digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A place of the value where there is a choice, or a container with choices below it.
struct Point {
    /// Its choice, and those below it.
    range: Range<usize>,
    at: String,
    /// None for a container.
    alternatives: u8,
}

/// Writes a value as JSON.
struct Writer<'c> {
    choices: &'c [u8],
    next: usize,
    out: Vec<u8>,
    at: String,
    points: Option<&'c mut Vec<Point>>,
}

impl<'c> Writer<'c> {
    fn write(value: &Value<'_>, choices: &'c [u8], points: Option<&'c mut Vec<Point>>) -> Vec<u8> {
        let out = Vec::with_capacity(choices.len() * BYTES_PER_CHOICE);
        let mut writer = Self { choices, next: 0, out, at: String::new(), points };
        writer.value(value);
        writer.out
    }

    /// Notes a place with what it holds.
    fn note(&mut self, value: &Value<'_>, alternatives: usize) {
        let range = self.next..self.next + self.points.as_ref().map_or(0, |_| value.choices());
        let alternatives = u8::try_from(alternatives).unwrap_or(u8::MAX);
        if let Some(points) = self.points.as_deref_mut().filter(|_| alternatives != 1) {
            points.push(Point { range, at: self.at.clone(), alternatives });
        }
    }

    fn choose(&mut self) -> usize {
        self.next += 1;
        usize::from(self.choices.get(self.next - 1).copied().unwrap_or_default())
    }

    fn below(&mut self, token: impl fmt::Display, value: &Value<'_>) {
        let length = self.at.len();
        if self.points.is_some() {
            push_pointer(&mut self.at, &token.to_string());
        }
        self.value(value);
        self.at.truncate(length);
    }

    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Text(text, types) => {
                let literal = literal(text, *types);
                self.note(value, 1 + usize::from(literal.is_some()));
                match (self.choose(), literal) {
                    (1, Some(literal)) => write::raw(&mut self.out, literal),
                    _ => write::string(text, &mut self.out),
                }
            }
            Value::Json(text) => write::raw(&mut self.out, text),
            Value::List(items) => {
                self.note(value, 0);
                self.out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b',');
                    }
                    self.below(index, item);
                }
                self.out.push(b']');
            }
            Value::Map(members) => {
                self.note(value, 0);
                self.out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b',');
                    }
                    write::string(name, &mut self.out);
                    self.out.push(b':');
                    self.below(name, value);
                }
                self.out.push(b'}');
            }
            Value::Either(values) => {
                self.note(value, values.len());
                let chosen = self.choose();
                for (index, value) in values.iter().enumerate() {
                    if index == chosen {
                        self.value(value);
                    } else {
                        self.next += value.choices();
                    }
                }
            }
        }
    }
}
