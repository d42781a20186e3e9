//! What changed between two recordings, operation by operation, field by field.
//!
//! Exchanges are paired by what was asked (method, raw path, query and body by value) in recorded order. What is left
//! is paired within its operation and status, so that a request whose id changed is a difference and not two. What
//! distinguishes one run from another (dates, request ids) does not count; a redacted place counts by its type.
//!
//! Takes redacted exchanges only. Knows nothing of files or arguments.

mod places;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    io::{self, Write},
    time::Duration,
};

use contrail_exchange::{Response, plural::plural, visible::visible};
use contrail_recording::{Identity, IgnoreSet, MatchRules, without_run};
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde::Serialize;
use serde_json::json;

pub use self::places::{Place, SideBySide, describe, side_by_side};
use super::{
    Cited, Exit, Reason, ReportFormat, Title, Unread,
    cases::{Level, Suite, Trouble},
    page::{self, Cell, Page, Part, Tone},
    plain,
    quote::request_line,
};

/// One exchange of a recording.
#[derive(Debug)]
pub struct Item {
    /// Its index in the file.
    pub entry: usize,
    /// The documented operation, or method and path where there is none.
    pub operation: String,
    /// The exchange; its verdict does not matter.
    pub exchange: Redacted<JudgedExchange>,
    /// What of it does not count.
    ignored: IgnoreSet,
}

impl Item {
    /// An exchange without what distinguishes one run from another, redacted. Its operation is the documented one, if
    /// there is one. What `rules` leave out of it does not count.
    pub fn new(
        entry: usize,
        operation: Option<&str>,
        mut exchange: JudgedExchange,
        rules: &MatchRules,
        redactor: &Redactor,
    ) -> Self {
        without_run(&mut exchange.exchange);
        let request = &exchange.exchange.request;
        let ignored = rules.ignored(operation, request.method.as_str(), request.target.path());
        let undocumented = || format!("{} {}", request.method, ignored.path(request.target.path()));
        let operation = operation.map_or_else(undocumented, str::to_owned);
        let exchange = redactor.redact(exchange);
        Self { entry, operation: redactor.text(&operation).into_inner(), exchange, ignored }
    }

    fn identity(&self) -> Identity {
        Identity::of(&self.exchange.exchange.request, &self.ignored)
    }
}

/// What two recordings differ in.
#[derive(Debug, Default)]
pub struct Comparison {
    /// By operation, in the order of their names.
    pub operations: BTreeMap<String, Operation>,
}

/// What the exchanges of one operation differ in.
#[derive(Debug, Default, Serialize)]
pub struct Operation {
    /// Exchanges that are the same.
    pub same: usize,
    /// Pairs that differ.
    pub changed: Vec<Changed>,
    /// Exchanges that only the first recording has.
    #[serde(rename = "only_in_a")]
    pub only_a: Vec<Named>,
    /// Exchanges that only the second one has.
    #[serde(rename = "only_in_b")]
    pub only_b: Vec<Named>,
}

/// An exchange as a report names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its index in the file.
    pub entry: usize,
    /// Method, path and query.
    pub request: String,
    /// The status; 0 if no answer was recorded.
    pub status: u16,
}

/// Two exchanges that differ.
#[derive(Debug, Serialize)]
pub struct Changed {
    /// In the first recording.
    pub a: Named,
    /// In the second one.
    pub b: Named,
    /// Every difference.
    pub differences: Vec<Place>,
}

/// Two recordings, exchange by exchange.
#[derive(Debug, Default)]
pub struct Pairs {
    /// What is the same request in both, or may be, in the order of the first one.
    pub both: Vec<(Item, Item)>,
    /// What only the first one has.
    pub only_a: Vec<Item>,
    /// What only the second one has.
    pub only_b: Vec<Item>,
}

/// Exchanges with their places in their recording.
type Queue = VecDeque<(usize, Item)>;

/// Pairs the exchanges of two recordings: by what was asked, then what is left by operation and status.
#[must_use]
pub fn pair(a: Vec<Item>, b: Vec<Item>) -> Pairs {
    let mut by_request: HashMap<Identity, Queue> = HashMap::new();
    let mut both = Vec::new();
    for (order, item) in b.into_iter().enumerate() {
        by_request.entry(item.identity()).or_default().push_back((order, item));
    }
    let mut left: BTreeMap<(String, u16), [Queue; 2]> = BTreeMap::new();
    for (order, item) in a.into_iter().enumerate() {
        match by_request.get_mut(&item.identity()).and_then(VecDeque::pop_front) {
            Some((_, other)) => both.push((order, item, other)),
            None => left.entry(key(&item)).or_default()[0].push_back((order, item)),
        }
    }
    let mut rest: Vec<(usize, Item)> = by_request.into_values().flatten().collect();
    rest.sort_by_key(|(order, _)| *order);
    for (order, item) in rest {
        left.entry(key(&item)).or_default()[1].push_back((order, item));
    }
    let mut pairs = Pairs::default();
    for (_, [mut only_a, mut only_b]) in left {
        while let (Some(_), Some(_)) = (only_a.front(), only_b.front()) {
            both.extend(
                only_a.pop_front().zip(only_b.pop_front()).map(|((order, item), (_, other))| (order, item, other)),
            );
        }
        pairs.only_a.extend(only_a.into_iter().map(|(_, item)| item));
        pairs.only_b.extend(only_b.into_iter().map(|(_, item)| item));
    }
    both.sort_by_key(|(order, ..)| *order);
    pairs.both.extend(both.into_iter().map(|(_, item, other)| (item, other)));
    pairs
}

/// Where a pair differs.
pub fn differences(a: &Item, b: &Item) -> Vec<Place> {
    places::differences(&a.exchange.exchange, &b.exchange.exchange, &a.ignored)
}

/// Compares two recordings.
pub fn compare(a: Vec<Item>, b: Vec<Item>) -> Comparison {
    let mut comparison = Comparison::default();
    let Pairs { both, only_a, only_b } = pair(a, b);
    for item in only_a {
        comparison.of(&item).only_a.push(Named::of(&item));
    }
    for item in only_b {
        comparison.of(&item).only_b.push(Named::of(&item));
    }
    for (item, other) in both {
        let differences = differences(&item, &other);
        let operation = comparison.of(&item);
        if differences.is_empty() {
            operation.same += 1;
        } else {
            operation.changed.push(Changed { a: Named::of(&item), b: Named::of(&other), differences });
        }
    }
    comparison
}

fn key(item: &Item) -> (String, u16) {
    (item.operation.clone(), status(item.exchange.exchange.response.as_ref()))
}

fn status(response: Option<&Response>) -> u16 {
    response.map_or(0, |response| response.status)
}

impl Named {
    fn cited(&self, source: &str) -> Cited {
        Cited::of(source, self.entry, &self.request, self.status)
    }

    fn of(item: &Item) -> Self {
        let exchange = &item.exchange.exchange;
        Self { entry: item.entry, request: request_line(exchange), status: status(exchange.response.as_ref()) }
    }
}

impl Comparison {
    fn of(&mut self, item: &Item) -> &mut Operation {
        self.operations.entry(item.operation.clone()).or_default()
    }

    /// Whether anything differs.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.operations.values().any(Operation::differs)
    }

    fn count(&self, of: impl Fn(&Operation) -> usize) -> usize {
        self.operations.values().map(of).sum()
    }

    /// Writes a report.
    ///
    /// # Errors
    ///
    /// `to` failed.
    pub fn write(&self, kind: ReportFormat, names: [&str; 2], to: &mut dyn Write) -> io::Result<()> {
        match kind {
            ReportFormat::Text => self.text(names, to),
            ReportFormat::Json => self.json(names, to),
            _ => {
                let fill = |page: &mut Page| {
                    page.sentences.push(vec![page::text(self.summary(names))]);
                    page.parts
                        .extend(self.operations.iter().filter_map(|(name, operation)| operation.part(name, names)));
                    self.operations.iter().map(|(name, operation)| operation.suite(name, names)).collect()
                };
                let sources = names.map(str::to_owned);
                let title = Title::named("Differences of two recordings");
                plain::write(kind, &title, &sources, &self.exit(names), fill, to)
            }
        }
    }

    /// For people: per operation, each place once, with how many exchanges differ there and one sample.
    fn text(&self, names: [&str; 2], to: &mut dyn Write) -> io::Result<()> {
        let names = names.map(visible);
        for (name, operation) in self.operations.iter().filter(|(_, operation)| operation.differs()) {
            let total = operation.same + operation.changed.len();
            match total {
                0 => writeln!(to, "{}:", visible(name))?,
                _ => writeln!(
                    to,
                    "{}: {} of {} differ{}",
                    visible(name),
                    operation.changed.len(),
                    plural(total, "exchange"),
                    if total == 1 { "s" } else { "" }
                )?,
            }
            for (place, (count, sample, difference)) in operation.places() {
                let shown = |value: &Option<String>| {
                    value.as_deref().map_or("nothing".to_owned(), |text| visible(text).into_owned())
                };
                writeln!(to, "  {}: {} → {}", visible(&place), shown(&difference.a), shown(&difference.b))?;
                writeln!(to, "    {}, the first: {}", plural(count, "exchange"), sample.pair())?;
            }
            for (side, only) in names.iter().zip([&operation.only_a, &operation.only_b]) {
                for named in only {
                    writeln!(
                        to,
                        "  only in {side}: entry {}: {} ({})",
                        named.entry,
                        visible(&named.request),
                        named.status
                    )?;
                }
            }
            writeln!(to)?;
        }
        writeln!(to, "{}", visible(&self.summary([&names[0], &names[1]])))
    }

    fn summary(&self, names: [&str; 2]) -> String {
        let same = self.count(|operation| operation.same);
        if !self.differs() {
            return format!("no differences in {}", plural(same, "exchange"));
        }
        format!(
            "{}, {} the same, {} only in {}, {} only in {}",
            plural_verb(self.count(|operation| operation.changed.len())),
            same,
            self.count(|operation| operation.only_a.len()),
            names[0],
            self.count(|operation| operation.only_b.len()),
            names[1],
        )
    }

    fn exit(&self, names: [&str; 2]) -> Exit {
        plain::exit(None, Unread::default(), self.differs().then(|| Reason::shown("findings", self.summary(names))))
    }

    /// For machines: every operation with every pair that differs.
    fn json(&self, names: [&str; 2], to: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Listed<'a> {
            operation: &'a String,
            #[serde(flatten)]
            differences: &'a Operation,
        }
        let listed = |(name, differences)| Listed { operation: name, differences };
        let operations: Vec<Listed<'_>> = self.operations.iter().map(listed).collect();
        let document = json!({
            "a": names[0],
            "b": names[1],
            "summary": {
                "same": self.count(|operation| operation.same),
                "changed": self.count(|operation| operation.changed.len()),
                "only_in_a": self.count(|operation| operation.only_a.len()),
                "only_in_b": self.count(|operation| operation.only_b.len()),
            },
            "operations": operations,
            "exit": self.exit(names),
        });
        writeln!(to, "{document:#}")
    }
}

impl Operation {
    fn differs(&self) -> bool {
        !(self.changed.is_empty() && self.only_a.is_empty() && self.only_b.is_empty())
    }

    /// A table of what differs; nothing where nothing does.
    fn part(&self, name: &str, names: [&str; 2]) -> Option<Part> {
        let shown = |value: &Option<String>| match value {
            Some(value) => vec![page::code(value)],
            None => vec![page::text("nothing")],
        };
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for (place, (count, sample, difference)) in self.places() {
            rows.push(vec![
                vec![page::text(place)],
                shown(&difference.a),
                shown(&difference.b),
                vec![page::text(count.to_string())],
                vec![page::text(sample.pair())],
            ]);
        }
        for (side, only) in names.iter().zip([&self.only_a, &self.only_b]) {
            for Named { entry, request, status } in only {
                let place = vec![page::text(format!("only in {side}"))];
                let first = vec![page::code(request), page::text(format!(" → {status} (entry {entry})"))];
                rows.push(vec![place, Cell::new(), Cell::new(), vec![page::text("1")], first]);
            }
        }
        Part::table(Tone::Bad, name, &["place", "A", "B", "times", "first"], rows)
    }

    fn suite(&self, name: &str, [a, b]: [&str; 2]) -> Suite {
        let mut suite = Suite::new(name);
        suite.pass("compared", Duration::ZERO);
        for Changed { a: one, differences, .. } in &self.changed {
            let text: Vec<String> = differences
                .iter()
                .map(|one| {
                    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
                    format!("{}: {} → {}", one.name(), shown(&one.a), shown(&one.b))
                })
                .collect();
            let message = plural(differences.len(), "difference");
            let trouble = Trouble::new(Level::Failure, "changed", message).with_text(text.join("\n"));
            suite.add_again(one.request.clone(), Trouble { cited: Some(one.cited(a)), ..trouble });
        }
        for (kind, only, source) in [("only-in-a", &self.only_a, a), ("only-in-b", &self.only_b, b)] {
            for one in only {
                let trouble = Trouble::new(Level::Failure, kind, format!("only in {source}"));
                suite.add_again(one.request.clone(), Trouble { cited: Some(one.cited(source)), ..trouble });
            }
        }
        suite
    }

    /// Each place that differs (items of an array as one) with how many exchanges differ there, and the first of them.
    fn places(&self) -> BTreeMap<String, (usize, &Changed, &Place)> {
        let mut places: BTreeMap<String, (usize, &Changed, &Place)> = BTreeMap::new();
        for changed in &self.changed {
            let mut seen = Vec::new();
            for difference in &changed.differences {
                let place = difference.name();
                if seen.contains(&place) {
                    continue;
                }
                places.entry(place.clone()).or_insert((0, changed, difference)).0 += 1;
                seen.push(place);
            }
        }
        places
    }
}

impl Changed {
    fn pair(&self) -> String {
        if self.a.request == self.b.request {
            format!("{} (entries {} and {})", visible(&self.a.request), self.a.entry, self.b.entry)
        } else {
            format!(
                "{} (entry {}) and {} (entry {})",
                visible(&self.a.request),
                self.a.entry,
                visible(&self.b.request),
                self.b.entry
            )
        }
    }
}

impl Place {
    /// Its name in a report: items of an array have one.
    fn name(&self) -> String {
        let general: Vec<&str> = self
            .at
            .split('/')
            .map(|token| if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { token })
            .collect();
        match (self.part, self.at.as_str()) {
            (part, "") => part.to_owned(),
            ("query" | "request header" | "response header", name) => format!("{} `{name}`", self.part),
            (part, _) => format!("{part} at `{}`", general.join("/")),
        }
    }
}

fn plural_verb(count: usize) -> String {
    if count == 1 { "1 exchange differs".to_owned() } else { format!("{count} exchanges differ") }
}
