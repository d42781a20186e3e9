//! The filter: one line of text that selects exchanges.
//!
//! ```text
//! query = and { "or" and }    and = term { term }    term = ["-"] ( "(" query ")" | word )
//! word  = [ key ":" ] value { "|" value } | key "~" regex      value = bare | '"' … '"'
//! ```
//!
//! Most keys are answered from summaries. `header`, `body` and `secret` need the exchange itself: for them the summary
//! gives [`Answer::Unknown`], and [`Filter::selects`] decides with it.

mod parse;
mod value;

use std::fmt;

use contrail_exchange::{Body, Headers, finding::UNDOCUMENTED, label, media};
use contrail_redact::JudgedExchange;
use regex::bytes::Regex;

use self::value::{Bound, Pattern};
use super::{
    names::Names,
    summary::{Mark, State, Summary},
};

/// A filter, compiled. The empty one selects everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    root: Option<Node>,
    /// It names an instant by its distance from now.
    is_relative: bool,
}

#[derive(Debug, Clone)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Term(Term),
}

/// One key with its alternatives.
#[derive(Debug, Clone)]
enum Term {
    Text(Field, Vec<Pattern>),
    /// `4xx`, `404`, `>=400`.
    Status(Vec<Bound>),
    Number(Measure, Vec<Bound>),
    Is(Is),
    /// Name and, where one was given, value.
    Header(Vec<(Pattern, Option<Pattern>)>),
    Body(Vec<Regex>),
    Secret(Vec<Pattern>),
    /// Path, operation, host or client holds this text.
    Anywhere(Vec<Pattern>),
}

/// A text of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Verdict,
    Rule,
    At,
    Kind,
    Operation,
    Tag,
    Method,
    Path,
    Query,
    Host,
    Client,
    Scope,
    Token,
    Blame,
    Unchecked,
    Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Took,
    Wait,
    Size,
    Since,
    Until,
    Entry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Slow,
    Marked(Mark),
    /// Of two recordings.
    State(State),
}

/// The words that `is:` takes.
fn is_words() -> impl Iterator<Item = (&'static str, Is)> {
    let own = [
        ("slow", Is::Slow),
        ("cut", Is::Marked(Mark::Cut)),
        ("redacted", Is::Marked(Mark::Redacted)),
        ("retried", Is::Marked(Mark::Retried)),
        ("left", Is::Marked(Mark::Left)),
        ("by-contrail", Is::Marked(Mark::ByContrail)),
    ];
    own.into_iter().chain(State::ALL.map(|(state, word)| (word, Is::State(state))))
}

/// Whether an exchange is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// The summary does not show it.
    Unknown,
}

impl From<bool> for Answer {
    fn from(is: bool) -> Self {
        if is { Self::Yes } else { Self::No }
    }
}

/// What is wrong with a filter, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterError {
    /// Byte offset in the text.
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What a filter needs to know besides the exchange.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) names: &'a Names,
    /// Whether it took longer than nearly all of its operation.
    pub(crate) is_slow: bool,
    /// What became of it between two recordings.
    pub(crate) state: Option<State>,
}

/// What a filter's instants are relative to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Now, in microseconds since the epoch.
    pub(crate) now: i64,
    /// Minutes of the reader's time zone east of UTC.
    pub(crate) zone: i32,
}

impl Filter {
    /// Compiles a filter.
    pub(crate) fn parse(text: &str, clock: Clock) -> Result<Self, FilterError> {
        parse::Parser::new(text, clock).filter()
    }

    /// Whether it selects others as time passes.
    pub(crate) fn is_relative(&self) -> bool {
        self.is_relative
    }

    /// Whether a summary may not suffice.
    pub(crate) fn reads(&self) -> bool {
        fn reads(node: &Node) -> bool {
            match node {
                Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(reads),
                Node::Not(node) => reads(node),
                Node::Term(term) => matches!(term, Term::Header(_) | Term::Body(_) | Term::Secret(_)),
            }
        }
        self.root.as_ref().is_some_and(reads)
    }

    /// The time to which its terms bound what it selects, in microseconds since the epoch.
    #[expect(clippy::cast_possible_truncation, reason = "an instant is a whole number")]
    pub(crate) fn time(&self) -> (Option<i64>, Option<i64>) {
        let terms = match &self.root {
            Some(Node::All(nodes)) => nodes,
            Some(node) => std::slice::from_ref(node),
            None => &[],
        };
        let (mut since, mut until) = (None, None);
        for term in terms {
            let Node::Term(Term::Number(measure @ (Measure::Since | Measure::Until), bounds)) = term else { continue };
            // The widest of alternatives, the narrowest of terms.
            if *measure == Measure::Since {
                let from = bounds.iter().filter_map(|bound| bound.from).map(|(from, _)| from as i64).min();
                since = since.max(from);
            } else {
                let to = bounds.iter().filter_map(|bound| bound.to).map(|(to, _)| to as i64).max();
                until = until.into_iter().chain(to).min();
            }
        }
        (since, until)
    }

    /// Whether it selects an exchange; [`Answer::Unknown`] only without `whole`.
    pub(crate) fn selects(&self, summary: &Summary, whole: Option<&JudgedExchange>, context: Context<'_>) -> Answer {
        self.root.as_ref().map_or(Answer::Yes, |node| node.selects(summary, whole, context))
    }
}

impl Node {
    fn selects(&self, summary: &Summary, whole: Option<&JudgedExchange>, context: Context<'_>) -> Answer {
        let each = |nodes: &[Self], decides: Answer, otherwise: Answer| {
            let mut answer = otherwise;
            for node in nodes {
                match node.selects(summary, whole, context) {
                    found if found == decides => return decides,
                    Answer::Unknown => answer = Answer::Unknown,
                    _ => {}
                }
            }
            answer
        };
        match self {
            Self::All(nodes) => each(nodes, Answer::No, Answer::Yes),
            Self::Any(nodes) => each(nodes, Answer::Yes, Answer::No),
            Self::Not(node) => match node.selects(summary, whole, context) {
                Answer::Yes => Answer::No,
                Answer::No => Answer::Yes,
                Answer::Unknown => Answer::Unknown,
            },
            Self::Term(term) => term.selects(summary, whole, context),
        }
    }
}

impl Term {
    fn selects(&self, summary: &Summary, whole: Option<&JudgedExchange>, context: Context<'_>) -> Answer {
        let any = |patterns: &[Pattern], text: &str| patterns.iter().any(|pattern| pattern.matches(text));
        let is = match self {
            Self::Text(field, patterns) => field.any(summary, context.names, |text| any(patterns, text)),
            Self::Status(bounds) => bounds.iter().any(|bound| bound.holds(f64::from(summary.status))),
            Self::Number(measure, bounds) => {
                measure.of(summary).is_some_and(|value| bounds.iter().any(|bound| bound.holds(value)))
            }
            Self::Is(Is::Slow) => context.is_slow,
            Self::Is(Is::Marked(mark)) => summary.is_marked(*mark),
            Self::Is(Is::State(state)) => context.state == Some(*state),
            Self::Anywhere(patterns) => {
                let fields = [Field::Operation, Field::Host, Field::Client];
                let named = || fields.iter().any(|field| field.any(summary, context.names, |text| any(patterns, text)));
                any(patterns, &summary.path) || named()
            }
            Self::Header(_) | Self::Body(_) | Self::Secret(_) => {
                let Some(whole) = whole else { return Answer::Unknown };
                return self.is_in(whole).into();
            }
        };
        is.into()
    }

    /// The same of what only the exchange itself shows.
    fn is_in(&self, whole: &JudgedExchange) -> bool {
        let exchange = &whole.exchange;
        let (request, response) = (&exchange.request, exchange.response.as_ref());
        let headers = || {
            let of = [Some(&request.headers), response.map(|response| &response.headers)];
            of.into_iter().flatten().flat_map(Headers::iter)
        };
        let bodies = || [Some(&request.body), response.map(|response| &response.body)].into_iter().flatten();
        match self {
            Self::Header(wanted) => headers().any(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes());
                wanted.iter().any(|(field, text)| {
                    field.matches(name.as_str()) && text.as_ref().is_none_or(|text| text.matches(&value))
                })
            }),
            Self::Body(expressions) => {
                bodies().any(|body| expressions.iter().any(|expression| expression.is_match(&body.content)))
            }
            Self::Secret(patterns) => {
                let is_wanted = |text: &[u8]| {
                    label::labels(text).any(|label| {
                        let label = String::from_utf8_lossy(label);
                        patterns.iter().any(|pattern| pattern.matches(label.trim_matches(['!', '.'])))
                    })
                };
                let form = |body: &Body| is_wanted(&media::decoded(&body.content));
                bodies().any(|body| is_wanted(&body.content) || form(body))
                    || headers().any(|(_, value)| is_wanted(value.as_bytes()))
                    || is_wanted(request.target.path_and_query.as_bytes())
            }
            _ => false,
        }
    }
}

impl Field {
    /// The keys that select by a text, as people write them.
    const KEYS: [(&'static str, Self); 16] = [
        ("verdict", Self::Verdict),
        ("rule", Self::Rule),
        ("at", Self::At),
        ("kind", Self::Kind),
        ("op", Self::Operation),
        ("tag", Self::Tag),
        ("method", Self::Method),
        ("path", Self::Path),
        ("query", Self::Query),
        ("host", Self::Host),
        ("client", Self::Client),
        ("scope", Self::Scope),
        ("token", Self::Token),
        ("blame", Self::Blame),
        ("unchecked", Self::Unchecked),
        ("source", Self::Source),
    ];

    /// The field of a key.
    pub(crate) fn named(key: &str) -> Option<Self> {
        Self::KEYS.into_iter().find(|(held, _)| *held == key).map(|(_, field)| field)
    }

    /// Whether one of an exchange's values is `wanted`.
    pub(crate) fn any(self, summary: &Summary, names: &Names, mut wanted: impl FnMut(&str) -> bool) -> bool {
        let name = |number| names.text(number).map_or("", |text| text);
        let (path, query) = summary.divided();
        match self {
            Self::Verdict => wanted(summary.verdict_name()),
            Self::Rule => summary.findings.iter().any(|seen| wanted(seen.rule.id())),
            Self::At => summary.findings.iter().any(|seen| wanted(name(seen.at))),
            Self::Kind => summary.findings.iter().any(|seen| wanted(seen.rule.kind().name())),
            Self::Operation => wanted(if summary.operation == 0 { UNDOCUMENTED } else { name(summary.operation) }),
            Self::Tag => names.tags(summary.operation).iter().any(|tag| wanted(tag)),
            Self::Method => wanted(name(summary.method)),
            Self::Path => wanted(path),
            Self::Query => {
                query.split('&').any(|pair| wanted(pair) || wanted(pair.split_once('=').map_or(pair, |(name, _)| name)))
            }
            Self::Host => wanted(name(summary.host)),
            Self::Client => summary.client != 0 && wanted(name(summary.client)),
            Self::Scope => name(summary.scopes).split_whitespace().any(wanted),
            Self::Token => summary.time.is_some_and(|time| wanted(time.name())),
            Self::Blame => summary.blame.is_some_and(|blame| wanted(blame.name())),
            Self::Unchecked => summary.unchecked.iter().any(|aspect| wanted(aspect.name())),
            Self::Source => wanted(name(summary.source)),
        }
    }
}

/// The words of `is:` that hold for an exchange, but for `slow`.
pub(crate) fn marks(summary: &Summary, state: Option<State>) -> impl Iterator<Item = &'static str> {
    let holds = move |is: &Is| match is {
        Is::Slow => false,
        Is::Marked(mark) => summary.is_marked(*mark),
        Is::State(one) => state == Some(*one),
    };
    is_words().filter(move |(_, is)| holds(is)).map(|(word, _)| word)
}

/// A text as a value of a key.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Measure {
    /// The exchange's value: seconds, bytes, or microseconds since the epoch.
    fn of(self, summary: &Summary) -> Option<f64> {
        let seconds = |micros: u32| f64::from(micros) / 1e6;
        #[expect(clippy::cast_precision_loss, reason = "an instant is exact up to the year 2255")]
        match self {
            Self::Took => summary.took.map(seconds),
            Self::Wait => summary.wait.map(seconds),
            Self::Size => Some(summary.size as f64),
            Self::Since | Self::Until => summary.started.map(|at| at as f64),
            Self::Entry => Some(f64::from(summary.entry)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
