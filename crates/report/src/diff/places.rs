//! What two exchanges have at each place: of requests method, path, query by name and body; of responses status, header
//! fields by name and body. JSON is compared by value.

use std::{collections::BTreeMap, iter::Peekable, vec::IntoIter};

use contrail_exchange::{
    Body, Exchange, Headers, Presence, Target,
    json::{self as document, Care, Change, Document, Kind, Node},
    label,
};
use contrail_recording::{Identity, IgnoreSet, fixture::request_parts::pairs};
use contrail_redact::{JudgedExchange, Redacted};
use serde::Serialize;

use super::status;

/// Longest value of a report, in characters.
const MAX_REPORTED: usize = 80;
/// The same where two exchanges stand side by side.
const MAX_SHOWN: usize = 1000;
/// Maximum places side by side: of those that differ, and of those that do not.
const MAX_PLACES: usize = 1000;
/// Maximum pairs of lines that are looked at to align two texts; beyond, what differs stands in their order.
const MAX_LINE_PAIRS: usize = 1 << 20;
/// Maximum depth of a value that is shown by itself.
const MAX_DEPTH: usize = 64;

/// What two exchanges have at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Which part: `method`, `path`, `query`, `request header`, `request body`, `status`, `response header`,
    /// `response body` or `transport`.
    pub part: &'static str,
    /// Where in it: a parameter's or header's name, a JSON pointer, a line; empty for the part as a whole.
    pub at: String,
    /// What the first one has there; `None` if nothing.
    pub a: Option<String>,
    /// What the second one has there; `None` if nothing.
    pub b: Option<String>,
    /// Whether that is the same by value.
    #[serde(skip)]
    pub same: bool,
}

/// Two exchanges side by side.
#[derive(Debug, Default)]
pub struct SideBySide {
    /// Every place, up to a bound, whether it differs or not; texts that are no JSON by line.
    pub places: Vec<Place>,
    /// Further places that differ.
    pub further: usize,
}

/// Every place at which two exchanges differ, but for those that are ignored.
pub(super) fn differences(a: &Exchange, b: &Exchange, ignored: &IgnoreSet) -> Vec<Place> {
    Walk { ignored, whole: false, found: Vec::new(), held: [0; 2] }.exchanges(a, b).places
}

/// Two exchanges side by side. What differs is what a comparison of their recordings reports, and fields of requests
/// in any case.
#[must_use]
pub fn side_by_side(a: &Redacted<JudgedExchange>, b: &Redacted<JudgedExchange>) -> SideBySide {
    Walk { ignored: &IgnoreSet::default(), whole: true, found: Vec::new(), held: [0; 2] }
        .exchanges(&a.exchange, &b.exchange)
}

/// How much of a body is there, in words.
pub fn describe(body: &Body) -> String {
    match &body.presence {
        Presence::Whole if body.content.is_empty() => "nothing".to_owned(),
        Presence::Whole => format!("{} bytes", body.content.len()),
        Presence::Truncated { kept, .. } => format!("cut after {kept} bytes"),
        Presence::Withheld(reason) => format!("withheld ({})", reason.name()),
    }
}

/// Labels of redaction on both sides are the same, whatever their numbers.
fn same(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || label::matches(a, b) && label::matches(b, a),
        (a, b) => a == b,
    }
}

struct Walk<'a> {
    ignored: &'a IgnoreSet,
    /// What is the same is listed, too.
    whole: bool,
    found: Vec<Place>,
    /// How many of `whole` there were: those that differ, those that do not.
    held: [usize; 2],
}

impl Walk<'_> {
    fn exchanges(mut self, a: &Exchange, b: &Exchange) -> SideBySide {
        self.scalar("method", "", Some(a.request.method.as_str()), Some(b.request.method.as_str()));
        let path = |exchange: &'_ Exchange| self.ignored.path(exchange.request.target.path()).into_owned();
        let paths = [path(a), path(b)];
        self.scalar("path", "", Some(&paths[0]), Some(&paths[1]));
        self.query(&a.request.target, &b.request.target);
        let is_same_request = Identity::of(&a.request, self.ignored) == Identity::of(&b.request, self.ignored);
        if self.whole || !is_same_request {
            self.body("request body", &a.request.body, &b.request.body);
        }
        if is_same_request {
            // Written otherwise, perhaps.
            self.found.iter_mut().for_each(|place| place.same = true);
            self.found.retain(|_| self.whole);
            self.held = [0, self.found.len()];
        }
        let (one, other) = (status(a.response.as_ref()), status(b.response.as_ref()));
        self.scalar("status", "", Some(&one.to_string()), Some(&other.to_string()));
        if let (Some(a), Some(b)) = (&a.response, &b.response) {
            self.headers("response header", &a.headers, &b.headers);
            self.body("response body", &a.body, &b.body);
        }
        self.scalar("transport", "", a.transport.unfinished(), b.transport.unfinished());
        // By themselves they are no difference of recordings: clients of two versions send other ones.
        if self.whole || !self.found.is_empty() {
            let rest = std::mem::take(&mut self.found);
            self.headers("request header", &a.request.headers, &b.request.headers);
            self.found.extend(rest);
        }
        SideBySide { places: self.found, further: self.held[0].saturating_sub(MAX_PLACES) }
    }

    fn push(&mut self, part: &'static str, at: impl Into<String>, values: [Option<&str>; 2], same: bool) {
        if !self.whole && same {
            return;
        }
        let held = &mut self.held[usize::from(same)];
        *held += 1;
        if self.whole && *held > MAX_PLACES {
            return;
        }
        let longest = if self.whole { MAX_SHOWN } else { MAX_REPORTED };
        // Of long texts, where they begin to differ.
        let from = match values {
            [Some(a), Some(b)] if self.whole && !same => common(a, b).saturating_sub(longest / 2),
            _ => 0,
        };
        let [a, b] = values.map(|value| value.map(|text| shorten(text, from, longest)));
        self.found.push(Place { part, at: at.into(), a, b, same });
    }

    /// Whether no further value that is the same is listed.
    fn is_full(&self) -> bool {
        self.held[1] >= MAX_PLACES
    }

    fn scalar(&mut self, part: &'static str, at: &str, a: Option<&str>, b: Option<&str>) {
        if self.whole && a.is_none() && b.is_none() {
            return;
        }
        self.push(part, at, [a, b], same(a, b));
    }

    fn query(&mut self, a: &Target, b: &Target) {
        let mut names: BTreeMap<Vec<u8>, [Vec<String>; 2]> = BTreeMap::new();
        for (side, target) in [a, b].into_iter().enumerate() {
            for pair in pairs(target.query().unwrap_or_default()) {
                let value = String::from_utf8_lossy(&pair.value).into_owned();
                names.entry(pair.name).or_default()[side].push(value);
            }
        }
        for (name, values) in names.into_iter().filter(|(name, _)| !self.ignored.leaves_out_parameter(name)) {
            let [a, b] = values.map(|values| (!values.is_empty()).then(|| values.join(", ")));
            self.scalar("query", &String::from_utf8_lossy(&name), a.as_deref(), b.as_deref());
        }
    }

    fn headers(&mut self, part: &'static str, a: &Headers, b: &Headers) {
        let mut names: Vec<&str> = a.iter().chain(b.iter()).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            // The body's own differences show it better.
            if name == "content-length" || self.ignored.headers.iter().any(|ignored| ignored == name) {
                continue;
            }
            let joined = |headers: &Headers| {
                let values: Vec<_> =
                    headers.get_all(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
                (!values.is_empty()).then(|| values.join(", "))
            };
            self.scalar(part, name, joined(a).as_deref(), joined(b).as_deref());
        }
    }

    fn body(&mut self, part: &'static str, a: &Body, b: &Body) {
        if self.ignored.body {
            return;
        }
        if a.presence != b.presence {
            self.scalar(part, "", Some(&describe(a)), Some(&describe(b)));
            return;
        }
        if a.content == b.content && (!self.whole || a.content.is_empty()) {
            return;
        }
        if let (Ok(one), Ok(other)) = (Document::parse(a.content.clone()), Document::parse(b.content.clone())) {
            let redacted = |place: &str| a.redacted.iter().chain(&b.redacted).any(|redacted| redacted == place);
            self.json(part, &one, &other, &redacted);
            return;
        }
        match (std::str::from_utf8(&a.content), std::str::from_utf8(&b.content)) {
            (Ok(one), Ok(other)) if self.whole => self.lines(part, one, other),
            (Ok(one), Ok(other)) if same(Some(one), Some(other)) => {}
            _ => self.push(part, "", [Some(&describe(a)), Some(&describe(b))], a.content == b.content),
        }
    }

    fn json(&mut self, part: &'static str, one: &Document, other: &Document, redacted: &dyn Fn(&str) -> bool) {
        let ignored = self.ignored;
        let care = |place: &[String]| match place {
            _ if ignored.leaves_out_place(place) => Care::Nothing,
            _ if redacted(&pointer(place)) => Care::Type,
            _ => Care::Value,
        };
        let mut changes = document::changes(one.root(), other.root(), &[], &care).into_iter().peekable();
        if self.whole {
            self.values(part, one.root(), other, &mut Vec::new(), &mut changes);
        }
        changes.for_each(|change| self.change(part, &change));
    }

    fn change(&mut self, part: &'static str, change: &Change<'_>) {
        let [a, b] = [change.left, change.right].map(|node| node.map(show));
        self.push(part, pointer(&change.place), [a.as_deref(), b.as_deref()], false);
    }

    /// Each value of a document in its place, as the change that is next there, or as the same.
    fn values<'n>(
        &mut self,
        part: &'static str,
        node: Node<'n>,
        other: &Document,
        place: &mut Vec<String>,
        changes: &mut Peekable<IntoIter<Change<'n>>>,
    ) {
        if let Some(change) = changes.next_if(|change| change.place == *place) {
            self.change(part, &change);
            return;
        }
        if self.is_full() {
            return;
        }
        let is_shown_whole = node.is_empty() || place.len() >= MAX_DEPTH;
        match node.kind() {
            Kind::Object if !is_shown_whole => {
                for (name, value) in node.members() {
                    place.push(name.into_owned());
                    self.values(part, value, other, place, changes);
                    place.pop();
                }
            }
            Kind::Array if !is_shown_whole => {
                for (index, value) in node.items().enumerate() {
                    place.push(index.to_string());
                    self.values(part, value, other, place, changes);
                    place.pop();
                }
            }
            _ => {
                let at = pointer(place);
                let theirs = other.pointer(&at).map(show);
                self.push(part, at, [Some(&show(node)), theirs.as_deref()], true);
            }
        }
        // What only the other one has in here.
        let is_within =
            |change: &Change<'_>| change.place.len() == place.len() + 1 && change.place.starts_with(place.as_slice());
        while let Some(change) = changes.next_if(is_within) {
            self.change(part, &change);
        }
    }

    fn lines(&mut self, part: &'static str, one: &str, other: &str) {
        let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
        for (left, right) in aligned(&one, &other) {
            let at = left.or(right).map_or(0, |line| line + 1);
            let values = [left.map(|line| one[line]), right.map(|line| other[line])];
            self.push(part, format!("line {at}"), values, same(values[0], values[1]));
        }
    }
}

/// Which lines stand side by side: equal ones in order, as many as there are, and what lies between them in pairs.
fn aligned(one: &[&str], other: &[&str]) -> Vec<(Option<usize>, Option<usize>)> {
    let is_same = |left: &str, right: &str| same(Some(left), Some(right));
    let before = one.iter().zip(other).take_while(|(left, right)| is_same(left, right)).count();
    let (rest, others) = (&one[before..], &other[before..]);
    let after = rest.iter().rev().zip(others.iter().rev()).take_while(|(left, right)| is_same(left, right)).count();
    let (rows, columns) = (rest.len() - after, others.len() - after);
    let mut equal: Vec<(usize, usize)> = (0..before).map(|line| (line, line)).collect();
    if rows.saturating_mul(columns) <= MAX_LINE_PAIRS {
        // The longest common subsequence of what is left from each pair of lines on.
        let mut longest = vec![vec![0_usize; columns + 1]; rows + 1];
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                longest[row][column] = if is_same(rest[row], others[column]) {
                    longest[row + 1][column + 1] + 1
                } else {
                    longest[row + 1][column].max(longest[row][column + 1])
                };
            }
        }
        let (mut row, mut column) = (0, 0);
        while row < rows && column < columns {
            if is_same(rest[row], others[column]) {
                equal.push((before + row, before + column));
                (row, column) = (row + 1, column + 1);
            } else if longest[row + 1][column] >= longest[row][column + 1] {
                row += 1;
            } else {
                column += 1;
            }
        }
    }
    equal.extend((0..after).map(|line| (before + rows + line, before + columns + line)));
    let mut all = Vec::new();
    let (mut left, mut right) = (0, 0);
    for (row, column) in equal.into_iter().chain([(one.len(), other.len())]) {
        while left < row || right < column {
            all.push(((left < row).then_some(left), (right < column).then_some(right)));
            (left, right) = ((left + 1).min(row), (right + 1).min(column));
        }
        if row < one.len() {
            all.push((Some(row), Some(column)));
        }
        (left, right) = (row + 1, column + 1);
    }
    all
}

fn pointer(place: &[String]) -> String {
    let mut text = String::new();
    for token in place {
        document::push_pointer(&mut text, token);
    }
    text
}

fn show(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Object => format!("an object of {} members", node.len()),
        Kind::Array => format!("an array of {} items", node.len()),
        _ => node.raw().to_owned(),
    }
}

/// How many characters two texts have in common at their beginning.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// A text from a character on, of at most so many.
fn shorten(text: &str, from: usize, longest: usize) -> String {
    let mut ends = text.char_indices().map(|(at, _)| at);
    let start = if from == 0 { 0 } else { ends.nth(from).unwrap_or(text.len()) };
    let rest = &text[start..];
    let end = rest.char_indices().nth(longest).map_or(rest.len(), |(at, _)| at);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{before}{}{after}", &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_stand_side_by_side_and_what_lies_between_in_pairs() {
        let rows = |one: &str, other: &str| -> Vec<String> {
            let (one, other): (Vec<&str>, Vec<&str>) = (one.split(' ').collect(), other.split(' ').collect());
            let text = |lines: &[&str], at: Option<usize>| at.map_or("-".to_owned(), |at| lines[at].to_owned());
            let both = |(left, right)| format!("{}{}", text(&one, left), text(&other, right));
            aligned(&one, &other).into_iter().map(both).collect()
        };
        assert_eq!(rows("a b c", "a b c"), ["aa", "bb", "cc"]);
        assert_eq!(rows("a b c d", "a x c d"), ["aa", "bx", "cc", "dd"]);
        assert_eq!(rows("a c", "a b b c"), ["aa", "-b", "-b", "cc"]);
        assert_eq!(rows("a b c d e", "b d e f"), ["a-", "bb", "c-", "dd", "ee", "-f"]);
        assert_eq!(rows("a b", "c"), ["ac", "b-"]);
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let text = |end: &str| format!("{}{end}", "é".repeat(3000));
        let (a, b) = (text("a"), text("b"));
        let from = common(&a, &b).saturating_sub(10);
        assert_eq!(shorten(&a, from, 20), format!("…{}a", "é".repeat(10)));
        assert_eq!(shorten("abc", 0, 2), "ab…");
        assert_eq!(shorten("abc", 0, 3), "abc");
    }
}
