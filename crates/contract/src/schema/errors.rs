//! Turns the judge's errors into violations: one per place, where a reader would look for it.

use std::collections::{BTreeMap, HashMap, HashSet};

use contrail_exchange::{
    finding::Finding,
    json::{push_pointer, reads_as_another_scalar},
};
use jsonschema::{
    ErrorIterator, ValidationError,
    error::{TypeKind, ValidationErrorKind as Rule},
};
use serde_json::Value;

use super::{Indeterminate, SchemaViolation};
use crate::list::{MAX_LIST, joined};

/// Bound on the violations reported of one value, and on the errors that are read to find them.
const MAX_VIOLATIONS: usize = 100;

/// What a value violates.
#[derive(Debug, Default)]
pub(super) struct Violations {
    /// One per place, in the order of the pointers.
    pub(super) found: Vec<SchemaViolation>,
    /// There may be more.
    pub(super) cut: bool,
}

/// What one place breaks: the more basic a clause, the earlier it comes; a wrong type makes the others moot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Clause {
    Type(String),
    Other(String),
}

/// What the judge's errors show. `under` is the member that selected the schema ([`super::represent::TapeNode::Under`]),
/// which no pointer shows; `written` are patterns as the document has them, by the form that the judge runs.
///
/// # Errors
///
/// [`Indeterminate`] where a pattern was too costly to be matched to its end.
pub(super) fn collect(
    errors: ErrorIterator<'_>,
    under: &str,
    written: &HashMap<String, String>,
) -> Result<Violations, Indeterminate> {
    let mut places = Places::new(written);
    for (read, error) in errors.enumerate() {
        if is_unfinished(&error) {
            return Err(Indeterminate::PATTERN);
        }
        if read == MAX_VIOLATIONS || places.cut {
            places.cut = true;
            break;
        }
        places.add(&error);
    }
    let cut = places.cut;
    let mut found = places.violations();
    for violation in &mut found {
        violation.at.drain(..=under.len());
    }
    Ok(Violations { found, cut })
}

/// What is wrong with a value, for a person: what was expected, and what is there.
pub(super) fn plainly(error: &ValidationError<'_>) -> String {
    let written = HashMap::new();
    let mut places = Places::new(&written);
    places.add(error);
    let expected: Vec<_> = places.violations().into_iter().map(|violation| violation.expected).collect();
    let seen = error.instance();
    let seen = if seen.is_object() || seen.is_array() { String::new() } else { format!(", saw {}", shown(seen)) };
    format!("expected {}{seen}", expected.join(" and "))
}

/// Whether an error says that the judge gave up, here or in any branch.
fn is_unfinished(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Rule::BacktrackLimitExceeded { .. } | Rule::RegexEngineFailure { .. } => true,
        Rule::OneOfNotValid { context } | Rule::OneOfMultipleValid { context } | Rule::AnyOf { context } => {
            context.iter().flatten().any(|error| is_unfinished(error))
        }
        Rule::PropertyNames { error } => is_unfinished(error),
        _ => false,
    }
}

#[derive(Debug)]
struct Places<'w> {
    clauses: BTreeMap<String, Vec<Clause>>,
    /// There are more places than are reported.
    cut: bool,
    /// Patterns as the document has them.
    written: &'w HashMap<String, String>,
}

impl<'w> Places<'w> {
    fn new(written: &'w HashMap<String, String>) -> Self {
        Self { clauses: BTreeMap::new(), cut: false, written }
    }

    fn violations(self) -> Vec<SchemaViolation> {
        self.clauses
            .into_iter()
            .map(|(at, clauses)| {
                let (Clause::Type(expected) | Clause::Other(expected)) = together(&clauses);
                SchemaViolation { at, expected: expected.into() }
            })
            .collect()
    }

    fn push(&mut self, at: String, mut clause: Clause) {
        let (Clause::Type(text) | Clause::Other(text)) = &mut clause;
        if text.len() > 2 * MAX_LIST {
            text.truncate(text.floor_char_boundary(MAX_LIST));
            text.push('…');
        }
        let Some(clauses) = self.place(at) else { return };
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    }

    /// The clauses of a place; `None` where there are more places than are reported.
    fn place(&mut self, at: String) -> Option<&mut Vec<Clause>> {
        if self.clauses.len() >= MAX_VIOLATIONS && !self.clauses.contains_key(&at) {
            self.cut = true;
            return None;
        }
        Some(self.clauses.entry(at).or_default())
    }

    fn expect(&mut self, error: &ValidationError<'_>, text: impl Into<String>) {
        self.push(error.instance_path().as_str().to_owned(), Clause::Other(text.into()));
    }

    fn member(&mut self, error: &ValidationError<'_>, name: &str, text: &str) {
        let mut at = error.instance_path().as_str().to_owned();
        push_pointer(&mut at, name);
        self.push(at, Clause::Other(text.to_owned()));
    }

    fn add(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            Rule::Type { kind } => {
                let at = error.instance_path().as_str().to_owned();
                self.push(at, Clause::Type(types(kind)));
            }
            Rule::AdditionalProperties { unexpected } | Rule::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    self.member(error, name, "no such field");
                }
            }
            Rule::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                self.member(error, name, "this field to be there");
            }
            Rule::PropertyNames { error: name } => {
                let mut below = Self::new(self.written);
                below.add(name);
                let text = below
                    .violations()
                    .into_iter()
                    .map(|violation| violation.expected)
                    .collect::<Vec<_>>()
                    .join(" and ");
                self.expect(error, format!("field names to be {text}"));
            }
            Rule::OneOfNotValid { context } | Rule::AnyOf { context } => self.branches(error, context),
            Rule::OneOfMultipleValid { context } => {
                let fits = context.iter().enumerate().filter(|(_, errors)| errors.is_empty());
                let fits: Vec<String> = fits.map(|(index, _)| format!("/{index}")).collect();
                let (variants, count) = (context.len(), fits.len());
                let text = format!(
                    "{}{variants} documented variants ({count} fit: {})",
                    Finding::EXACTLY_ONE,
                    joined(fits, ", ")
                );
                self.expect(error, text);
            }
            Rule::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
                self.expect(error, "no fields");
            }
            Rule::Pattern { pattern } => {
                let shown = self.written.get(pattern).unwrap_or(pattern);
                self.expect(error, format!("a text that matches `{shown}`"));
            }
            _ => self.expect(error, clause(error.kind())),
        }
    }

    /// No branch holds. The one that the value's own discriminator selects (a member with `const` or `enum` in each
    /// branch) shows what is wrong; if there is none, what all branches agree on.
    fn branches(&mut self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) {
        let here = error.instance_path().as_str();
        let is_choice = |error: &&ValidationError<'static>| {
            let at = error.instance_path().as_str();
            let direct = at.strip_prefix(here).is_some_and(|rest| rest.rfind('/') == Some(0));
            direct && matches!(error.kind(), Rule::Constant { .. } | Rule::Enum { .. })
        };
        // Branches for another type of value than this one do not bear on it, unless all are; but for a scalar, where the
        // type may be what is wrong.
        let is_container = error.instance().is_object() || error.instance().is_array();
        let is_null = |kind: &TypeKind| matches!(kind, TypeKind::Single(single) if single.as_str() == "null");
        let other_type = |branch: &&Vec<ValidationError<'static>>| {
            branch.iter().any(|error| {
                let is_off = |kind| is_container || is_null(kind);
                error.instance_path().as_str() == here && matches!(error.kind(), Rule::Type { kind } if is_off(kind))
            })
        };
        let variants = context.len();
        let of_type: Vec<_> = context.iter().filter(|branch| !other_type(branch)).collect();
        let context: Vec<_> = if of_type.is_empty() { context.iter().collect() } else { of_type };
        let selected: Vec<_> = context.iter().filter(|branch| !branch.iter().any(|error| is_choice(&error))).collect();
        if let [only] = selected[..] {
            for error in *only {
                self.add(error);
            }
            return;
        }
        // What every branch states about the same place; choices among values add up.
        let clauses: Vec<BTreeMap<String, Vec<Clause>>> = context
            .iter()
            .map(|branch| {
                let mut places = Self::new(self.written);
                for error in *branch {
                    match error.kind() {
                        // Its values are listed below, those of all branches together.
                        Rule::Constant { .. } | Rule::Enum { .. } => {
                            places.place(error.instance_path().as_str().to_owned());
                        }
                        _ => places.add(error),
                    }
                }
                places.clauses
            })
            .collect();
        let mut common: Vec<&String> = clauses.first().into_iter().flat_map(BTreeMap::keys).collect();
        common.retain(|at| clauses.iter().all(|places| places.contains_key(*at)));
        // A member that decides between the branches makes the rest moot.
        if selected.is_empty() {
            let choices: Vec<&str> = context
                .iter()
                .copied()
                .flatten()
                .filter(is_choice)
                .map(|error| error.instance_path().as_str())
                .collect();
            common.retain(|at| choices.contains(&at.as_str()));
        }
        if common.is_empty() {
            self.expect(error, format!("one of the {variants} documented variants (none fits)"));
            return;
        }
        for at in common {
            let values =
                context.iter().copied().flatten().filter(|error| error.instance_path().as_str() == at).flat_map(
                    |error| match error.kind() {
                        Rule::Constant { expected_value } => std::slice::from_ref(&**expected_value),
                        Rule::Enum { options } => options.as_array().map(Vec::as_slice).unwrap_or_default(),
                        _ => &[],
                    },
                );
            let mut values = values.peekable();
            let mut wrong_type = values.peek().is_none();
            let mut texts = if wrong_type { Vec::new() } else { vec![one_of(values)] };
            let lists = |branch: &[ValidationError<'static>]| {
                let is_list =
                    |error: &ValidationError<'_>| matches!(error.kind(), Rule::Constant { .. } | Rule::Enum { .. });
                branch.iter().any(|error| error.instance_path().as_str() == at && is_list(error))
            };
            let others = context.iter().zip(&clauses).filter(|(branch, _)| !lists(branch));
            for clauses in others.filter_map(|(_, places)| places.get(at)) {
                let clause = together(clauses);
                wrong_type &= matches!(clause, Clause::Type(_));
                let (Clause::Type(text) | Clause::Other(text)) = clause;
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            let text = joined(texts, " or ");
            self.push(at.clone(), if wrong_type { Clause::Type(text) } else { Clause::Other(text) });
        }
    }
}

/// All clauses of a place as one.
fn together(clauses: &[Clause]) -> Clause {
    let is_type = |clause: &&Clause| matches!(clause, Clause::Type(_));
    let wrong_type = clauses.iter().any(|clause| is_type(&clause));
    let stated = clauses.iter().filter(|clause| !wrong_type || is_type(clause));
    let texts: Vec<&str> = stated.map(|(Clause::Type(text) | Clause::Other(text))| text.as_str()).collect();
    let text = texts.join(" and ");
    if wrong_type { Clause::Type(text) } else { Clause::Other(text) }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if reads_as_another_scalar(text) => format!("\"{text}\""),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("`{}`", text.replace('`', "\\u{60}"))
}

/// Lists values, each once, as far as a message has room for them.
fn one_of<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    let mut seen = HashSet::new();
    let listed = joined(values.filter(|value| seen.insert(*value)).map(shown), ", ");
    if seen.len() == 1 { listed } else { format!("one of {listed}") }
}

fn types(kind: &TypeKind) -> String {
    let name = |name: &str| match name {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        other => format!("a {other}"),
    };
    match kind {
        TypeKind::Single(single) => name(single.as_str()),
        TypeKind::Multiple(several) => several.iter().map(|one| name(one.as_str())).collect::<Vec<_>>().join(" or "),
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn clause(kind: &Rule) -> String {
    match kind {
        Rule::Constant { expected_value } => shown(expected_value),
        Rule::Enum { options } => one_of(options.as_array().into_iter().flatten()),
        Rule::Maximum { limit } => format!("at most {limit}"),
        Rule::Minimum { limit } => format!("at least {limit}"),
        Rule::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Rule::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Rule::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Rule::MaxLength { limit } => format!("at most {}", counted(*limit, "character")),
        Rule::MinLength { limit } => format!("at least {}", counted(*limit, "character")),
        Rule::MaxItems { limit } => format!("at most {}", counted(*limit, "item")),
        Rule::MinItems { limit } => format!("at least {}", counted(*limit, "item")),
        Rule::MaxProperties { limit } => format!("at most {}", counted(*limit, "field")),
        Rule::MinProperties { limit } => format!("at least {}", counted(*limit, "field")),
        Rule::Format { format } => match format.as_str() {
            "date-time" => "a date-time (RFC 3339)".to_owned(),
            "strict-https-uri" => "an absolute https URI with a host".to_owned(),
            other => format!("the format `{other}`"),
        },
        Rule::Custom { message, .. } => message.clone(),
        Rule::UniqueItems => "no item twice".to_owned(),
        Rule::FalseSchema => "nothing here".to_owned(),
        Rule::Contains => "an item as documented".to_owned(),
        Rule::Not { .. } => "none of what the document rules out".to_owned(),
        other => format!("what its `{}` requires", other.keyword()),
    }
}
