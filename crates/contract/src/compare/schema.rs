//! Two schemas, keyword by keyword.
//!
//! Keywords that restrict a value each on its own are compared by what they allow. Below a choice (`anyOf`, `oneOf`)
//! another branch may allow what this one does not any more, so nothing there is judged, but for "or null". What is
//! left (conditions, negations, patterns of names) is the same or it is not.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashSet},
    sync::LazyLock,
};

use contrail_exchange::{
    json::{Number, push_pointer},
    plural::plural,
};
use serde_json::{Map, Value};

use super::{
    bound::{BOUNDS, Bound, equal},
    change::{Change, Effect, Impact, Role},
    same::{Same, is_silent, target},
};
use crate::refs;

/// The schema that a contract without one stands for: anything is allowed.
pub(super) static ANYTHING: Value = Value::Bool(true);

/// Keywords that are compared by what they allow.
const COMPARED: [&str; 25] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "allOf",
    "anyOf",
    "oneOf",
    "maximum",
    "exclusiveMaximum",
    "maxLength",
    "maxItems",
    "maxProperties",
    "minimum",
    "exclusiveMinimum",
    "minLength",
    "minItems",
    "minProperties",
    "pattern",
    "multipleOf",
    "uniqueItems",
    "format",
    "x-contrail-known-values",
];

/// Keywords of which one more restricts, and one that differs may do anything.
const LIMITS: [&str; 3] = ["pattern", "multipleOf", "uniqueItems"];

/// The kind of a change of what further properties may be.
const FURTHER: &str = "additional-properties-changed";

/// Pairs of schemas without a change between them, of what a client sends or not. Many messages share one schema.
pub(super) type Unchanged = HashSet<(*const Value, *const Value, bool)>;

/// Compares the schemas of one message.
pub(super) struct Walk<'a, 'c> {
    /// The resolved documents that the references lead into.
    pub(super) old: &'a Value,
    pub(super) new: &'a Value,
    pub(super) role: Role,
    /// What the schemas describe, such as `request body`.
    pub(super) base: &'c str,
    pub(super) changes: &'c mut Vec<Change>,
    /// Pairs that state the same.
    unchanged: &'c mut Unchanged,
    /// How often the walk met a pair again of which it is not known to state the same.
    unsettled: usize,
    /// Pairs that were compared (below a choice or not), so that a schema that refers to itself ends; a shared one is
    /// reported at its first place.
    seen: HashSet<(*const Value, *const Value, bool)>,
}

/// Where the walk is.
#[derive(Clone)]
struct At {
    pointer: String,
    /// No choice stands above.
    decided: bool,
}

impl At {
    fn below(&self, token: &str) -> Self {
        let mut pointer = self.pointer.clone();
        push_pointer(&mut pointer, token);
        Self { pointer, ..*self }
    }
}

impl<'a, 'c> Walk<'a, 'c> {
    pub(super) fn new(
        (old, new): (&'a Value, &'a Value),
        role: Role,
        base: &'c str,
        changes: &'c mut Vec<Change>,
        unchanged: &'c mut Unchanged,
    ) -> Self {
        Self { old, new, role, base, changes, unchanged, unsettled: 0, seen: HashSet::new() }
    }

    /// Compares what a message's schemas state.
    pub(super) fn run(&mut self, old: &'a Value, new: &'a Value) {
        let before = self.changes.len();
        self.schemas(old, new, &At { pointer: String::new(), decided: true });
        if self.changes.len() == before {
            let sent = self.role.is_sent();
            self.unchanged.extend(self.seen.iter().map(|(old, new, _)| (*old, *new, sent)));
        }
    }

    fn add(&mut self, at: &At, what: &str, effect: Effect, message: String) {
        let effect = if at.decided { effect } else { Effect::Unclear };
        self.add_as(at, self.role.subject(!at.pointer.is_empty()), what, self.role.impact(effect), message);
    }

    fn add_as(&mut self, at: &At, subject: &str, what: &str, impact: Impact, message: String) {
        let place =
            if at.pointer.is_empty() { self.base.to_owned() } else { format!("{} at `{}`", self.base, at.pointer) };
        self.changes.push(Change { impact, kind: format!("{subject}-{what}"), operation: None, place, message });
    }

    fn schemas(&mut self, old: &'a Value, new: &'a Value, at: &At) {
        let (old, new) = (target(self.old, old), target(self.new, new));
        let pair = (std::ptr::from_ref(old), std::ptr::from_ref(new), self.role.is_sent());
        if self.unchanged.contains(&pair) {
            return;
        }
        if !self.seen.insert((pair.0, pair.1, at.decided)) {
            self.unsettled += 1;
            return;
        }
        let before = (self.changes.len(), self.unsettled);
        self.keywords(old, new, at);
        if (self.changes.len(), self.unsettled) == before {
            self.unchanged.insert(pair);
        }
    }

    /// Compares two schemas that no reference stands for any more.
    fn keywords(&mut self, old: &'a Value, new: &'a Value, at: &At) {
        let (Some(one), Some(other)) = (members(old), members(new)) else {
            if !Same::new(self.old, self.new).schemas(old, new) {
                self.add(at, "schema-changed", Effect::Unclear, "the schema changed".to_owned());
            }
            return;
        };
        match (is_silent(one), is_silent(other)) {
            (true, true) => return,
            (true, false) => {
                let effect = if self.role.is_sent() { Effect::Unclear } else { Effect::Narrower };
                return self.add(at, "schema-added", effect, "the contract stated nothing, and states a schema".into());
            }
            (false, true) => {
                return self.add(at, "schema-removed", Effect::Unclear, "the contract states nothing any more".into());
            }
            (false, false) => {}
        }
        let before = self.changes.len();
        if !self.types(one, other, at) {
            return;
        }
        self.values(one, other, at);
        self.known_values(one, other, at);
        self.bounds(one, other, at);
        self.limits(one, other, at);
        self.properties(one, other, at);
        self.rest_of_properties(one, other, at);
        self.items(one, other, at);
        if !Same::new(self.old, self.new).keywords(one, other, &COMPARED) {
            self.add(at, "schema-changed", Effect::Unclear, "the schema changed in another keyword".to_owned());
        }
        self.branches(one, other, at, before);
    }

    /// Whether a value of both schemas may exist.
    fn types(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) -> bool {
        let (one, other) = (types(old), types(new));
        let names = |types: &Option<BTreeSet<&str>>| {
            types.as_ref().map_or("any".to_owned(), |types| types.iter().copied().collect::<Vec<_>>().join(" or "))
        };
        if one == other {
            return true;
        }
        let effect = match (&one, &other) {
            (None, _) => Effect::Narrower,
            (_, None) => Effect::Wider,
            (Some(one), Some(other)) => match (takes(one, other), takes(other, one)) {
                (false, true) => Effect::Wider,
                (true, false) => Effect::Narrower,
                _ => Effect::Other,
            },
        };
        // Silence about the type is no promise that any is taken, or that any is sent.
        let silent = one.is_none() && self.role.is_sent() || other.is_none() && !self.role.is_sent();
        let effect = if silent { Effect::Unclear } else { effect };
        let what = if effect == Effect::Wider { "type-generalized" } else { "type-changed" };
        self.add(at, what, effect, format!("the type changed from {} to {}", names(&one), names(&other)));
        match (one, other) {
            (Some(one), Some(other)) => one.iter().any(|name| takes_type(&other, name)),
            _ => true,
        }
    }

    fn values(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        match (values(old), values(new)) {
            (None, Some(new)) => {
                self.add(at, "became-enum", Effect::Narrower, format!("only {} are allowed now", listed(&new)));
            }
            (Some(old), None) => {
                let effect = if self.role.is_sent() { Effect::Wider } else { Effect::Unclear };
                let message = format!("values beside {} are allowed now", listed(&old));
                self.add(at, "became-not-enum", effect, message);
            }
            (Some(old), Some(new)) => {
                let (gone, added) = (missing(&old, &new), missing(&new, &old));
                if !gone.is_empty() {
                    self.add(at, "enum-value-removed", Effect::Narrower, format!("without {} now", listed(&gone)));
                }
                if !added.is_empty() {
                    // Whether a reader copes with a further value is the reader's.
                    let effect = if self.role.is_sent() { Effect::Wider } else { Effect::Unclear };
                    self.add(at, "enum-value-added", effect, format!("{} added", listed(&added)));
                }
            }
            (None, None) => {}
        }
    }

    /// Values of a set that is open anyway.
    fn known_values(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        let known = |schema: &'a Map<String, Value>| {
            let values = schema.get("x-contrail-known-values").and_then(Value::as_array);
            values.into_iter().flatten().collect::<Vec<_>>()
        };
        let (old, new) = (known(old), known(new));
        let (gone, added) = (missing(&old, &new), missing(&new, &old));
        if !gone.is_empty() {
            let effect = if self.role.is_sent() { Effect::Unclear } else { Effect::Narrower };
            self.add(at, "known-value-removed", effect, format!("without {} now", listed(&gone)));
        }
        if !added.is_empty() {
            let effect = if self.role.is_sent() { Effect::Wider } else { Effect::Unclear };
            self.add(at, "known-value-added", effect, format!("{} added", listed(&added)));
        }
    }

    fn bounds(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        for (keywords, is_upper) in BOUNDS {
            let (was, is) = (Bound::of(old, keywords, is_upper), Bound::of(new, keywords, is_upper));
            let (effect, how) = match (&was, &is) {
                (None, None) => continue,
                (None, Some(_)) => (Effect::Narrower, "set"),
                (Some(_), None) => (Effect::Wider, "unset"),
                (Some(one), Some(other)) => match one.order(other) {
                    Some(Ordering::Equal) => continue,
                    Some(Ordering::Less) if is_upper => (Effect::Wider, "increased"),
                    Some(Ordering::Less) => (Effect::Narrower, "increased"),
                    Some(Ordering::Greater) if is_upper => (Effect::Narrower, "decreased"),
                    Some(Ordering::Greater) => (Effect::Wider, "decreased"),
                    None => (Effect::Unclear, "changed"),
                },
            };
            let [one, other] = [&was, &is].map(|bound| bound.as_ref().map(|bound| (bound.keyword, bound.limit)));
            let keyword = other.or(one).map_or("", |(keyword, _)| keyword);
            self.add(at, &format!("{}-{how}", kebab(keyword)), effect, was_and_is(one, other));
        }
    }

    fn limits(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        for keyword in LIMITS {
            let held = |schema: &'a Map<String, Value>| schema.get(keyword).filter(|value| **value != false);
            let (effect, how) = match (held(old), held(new)) {
                (None, Some(_)) => (Effect::Narrower, "set"),
                (Some(_), None) => (Effect::Wider, "unset"),
                (Some(one), Some(other)) if !equal(one, other) => (Effect::Unclear, "changed"),
                _ => continue,
            };
            let stated = |value: Option<&'a Value>| value.map(|value| (keyword, value));
            let message = was_and_is(stated(held(old)), stated(held(new)));
            self.add(at, &format!("{}-{how}", kebab(keyword)), effect, message);
        }
        // Whether a format is asserted depends on who reads the schema.
        let [one, other] = [old, new].map(|schema| schema.get("format").map(|format| ("format", format)));
        if one != other {
            self.add(at, "format-changed", Effect::Unclear, was_and_is(one, other));
        }
    }

    fn properties(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        let (one, other) = (Properties::of(self.old, old, self.role), Properties::of(self.new, new, self.role));
        let closed = |schema: &Map<String, Value>| schema.get("additionalProperties") == Some(&Value::Bool(false));
        // What a further property was, a property that is new may not be any more, or the reverse.
        let further = old.get("additionalProperties");
        let mut names: Vec<&str> = one.schemas.iter().chain(&other.schemas).map(|(name, _)| *name).collect();
        names.extend(one.required.iter().chain(&other.required));
        let mut known = HashSet::new();
        names.retain(|name| known.insert(*name));
        let sent = self.role.is_sent();
        for name in names {
            let at = at.below(name);
            let (was, is) = (one.required.contains(name), other.required.contains(name));
            let impact = |impact: Impact| if at.decided { impact } else { Impact::Unclear };
            match (one.schema(name), other.schema(name)) {
                (Some(schema), Some(now)) => {
                    self.required(&at, was, is);
                    self.schemas(schema, now, &at);
                }
                (None, None) => self.required(&at, was, is),
                (None, Some(_)) if was => self.required(&at, was, is),
                (None, Some(_)) => {
                    let (what, found) = match (sent, is) {
                        (true, true) => ("new-required-request-property", Impact::Breaking),
                        (true, false) if further.is_some_and(|further| *further != false) => {
                            ("new-optional-request-property", Impact::Unclear)
                        }
                        (true, false) => ("new-optional-request-property", Impact::NonBreaking),
                        (false, _) if further.is_some_and(|further| *further != true) => {
                            ("response-property-added", Impact::Unclear)
                        }
                        (false, _) => ("response-property-added", Impact::NonBreaking),
                    };
                    let required = if is { "a required" } else { "an optional" };
                    self.add_kind(&at, what, impact(found), format!("{required} property is new"));
                }
                (Some(_), None) => {
                    let (what, found) = match (sent, was && !is) {
                        (true, _) if closed(new) => ("request-property-removed", Impact::Breaking),
                        (true, _) => ("request-property-removed", Impact::Unclear),
                        (false, true) => ("response-required-property-removed", Impact::Breaking),
                        (false, false) => ("response-optional-property-removed", Impact::Unclear),
                    };
                    self.add_kind(&at, what, impact(found), "the contract does not have the property any more".into());
                }
            }
        }
    }

    fn add_kind(&mut self, at: &At, kind: &str, impact: Impact, message: String) {
        let place = format!("{} at `{}`", self.base, at.pointer);
        self.changes.push(Change { impact, kind: kind.to_owned(), operation: None, place, message });
    }

    fn required(&mut self, at: &At, was: bool, is: bool) {
        match (was, is) {
            (false, true) => self.add(at, "became-required", Effect::Narrower, "the property is now required".into()),
            (true, false) => self.add(at, "became-optional", Effect::Wider, "the property is optional now".into()),
            _ => {}
        }
    }

    /// What further properties may be.
    fn rest_of_properties(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        let rest = |schema: &'a Map<String, Value>| match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => None,
            Some(Value::Object(empty)) if is_silent(empty) => None,
            stated => stated,
        };
        match (rest(old), rest(new)) {
            (Some(Value::Object(_)), Some(Value::Object(_))) => {
                self.schemas(&old["additionalProperties"], &new["additionalProperties"], &at.below("*"));
            }
            (Some(Value::Bool(false)), None) => {
                let effect = if self.role.is_sent() { Effect::Wider } else { Effect::Unclear };
                self.add(at, FURTHER, effect, "further properties are allowed now".into());
            }
            (None, Some(Value::Bool(false))) => {
                self.add(at, FURTHER, Effect::Narrower, "no further properties are allowed now".into());
            }
            (one, other) if one != other => {
                self.add(at, FURTHER, Effect::Unclear, "what further properties may be changed".into());
            }
            _ => {}
        }
    }

    fn items(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At) {
        let items = |schema: &'a Map<String, Value>| schema.get("items").unwrap_or(&ANYTHING);
        self.schemas(items(old), items(new), &at.below("*"));
    }

    /// Compares the branches of choices. Where several parts of an `allOf` changed, one may make up for another, so
    /// none of the changes since `before` is judged.
    fn branches(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, at: &At, before: usize) {
        let branches = |schema: &'a Map<String, Value>, keyword: &str| {
            schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
        };
        let mut changed = usize::from(self.changes.len() > before);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let (old, new) = (branches(old, keyword), branches(new, keyword));
            if old.len() != new.len() {
                let message = format!("`{keyword}` had {} and has {}", plural(old.len(), "schema"), new.len());
                self.add(at, "schema-changed", Effect::Unclear, message);
                changed += 2;
                continue;
            }
            let decided = keyword == "allOf" || is_or_null(old) && is_or_null(new);
            let at = At { decided: at.decided && decided, ..at.clone() };
            for (old, new) in old.iter().zip(new) {
                let held = self.changes.len();
                self.schemas(old, new, &at);
                changed += usize::from(self.changes.len() > held);
            }
        }
        if changed > 1 && !(branches(old, "allOf").is_empty() && branches(new, "allOf").is_empty()) {
            self.changes[before..].iter_mut().for_each(|change| change.impact = Impact::Unclear);
        }
    }
}

/// The properties that a message shows.
struct Properties<'a> {
    schemas: Vec<(&'a str, &'a Value)>,
    required: HashSet<&'a str>,
}

impl<'a> Properties<'a> {
    fn of(document: &'a Value, schema: &'a Map<String, Value>, role: Role) -> Self {
        let all = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let other_side = if role.is_sent() { "readOnly" } else { "writeOnly" };
        let hidden = |schema: &Value| {
            let holds = |schema: &Value| schema.get(other_side) == Some(&Value::Bool(true));
            holds(schema) || holds(refs::followed(document, schema))
        };
        let (hidden, shown): (Vec<_>, Vec<_>) =
            all.map(|(name, schema)| (name.as_str(), schema)).partition(|(_, schema)| hidden(schema));
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter_map(Value::as_str).filter(|name| !hidden.iter().any(|(held, _)| held == name));
        Self { schemas: shown, required: required.collect() }
    }

    fn schema(&self, name: &str) -> Option<&'a Value> {
        self.schemas.iter().find(|(held, _)| *held == name).map(|(_, schema)| *schema)
    }
}

/// The keywords of a schema that holds no reference any more.
fn members(schema: &Value) -> Option<&Map<String, Value>> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    match schema {
        Value::Bool(true) => Some(&EMPTY),
        Value::Object(members) if !members.contains_key("$ref") => Some(members),
        _ => None,
    }
}

/// Whether a choice is between null and one other schema, so that no branch makes up for the other.
fn is_or_null(branches: &[Value]) -> bool {
    let is_null = |branch: &Value| branch.get("type").is_some_and(|name| name == "null");
    branches.len() == 2 && branches.iter().filter(|branch| is_null(branch)).count() == 1
}

fn types(schema: &Map<String, Value>) -> Option<BTreeSet<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some([one.as_str()].into()),
        Value::Array(several) => Some(several.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Whether all values of these types have one of those.
fn takes(those: &BTreeSet<&str>, these: &BTreeSet<&str>) -> bool {
    these.iter().all(|name| takes_type(those, name))
}

fn takes_type(types: &BTreeSet<&str>, name: &str) -> bool {
    types.contains(name) || name == "integer" && types.contains("number")
}

/// The values that a schema allows, if it lists them.
fn values(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), None) => Some(values.iter().collect()),
        (_, Some(value)) => Some(vec![value]),
        _ => None,
    }
}

fn missing<'v>(these: &[&'v Value], those: &[&'v Value]) -> Vec<&'v Value> {
    let held: HashSet<ListValue<'_>> = those.iter().copied().map(ListValue::of).collect();
    these.iter().filter(|value| !held.contains(&ListValue::of(value))).copied().collect()
}

/// A value of a list; two are one where [`equal`] holds.
#[derive(PartialEq, Eq, Hash)]
enum ListValue<'v> {
    Number(Number),
    Other(&'v Value),
}

impl<'v> ListValue<'v> {
    fn of(value: &'v Value) -> Self {
        match value {
            Value::Number(number) => Self::Number(Number::parse(&number.to_string())),
            value => Self::Other(value),
        }
    }
}

fn listed(values: &[&Value]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}

/// A keyword with its value, before and after.
fn was_and_is(was: Option<(&str, &Value)>, is: Option<(&str, &Value)>) -> String {
    match (was, is) {
        (Some((keyword, old)), Some((same, new))) if keyword == same => {
            format!("`{keyword}` changed from {old} to {new}")
        }
        (Some((keyword, old)), Some((other, new))) => format!("`{keyword}` {old} became `{other}` {new}"),
        (None, Some((keyword, new))) => format!("`{keyword}` {new} is new"),
        (Some((keyword, old)), None) => format!("`{keyword}` {old} is gone"),
        (None, None) => String::new(),
    }
}

/// `maxLength` as `max-length`.
fn kebab(keyword: &str) -> String {
    keyword.chars().fold(String::new(), |mut name, letter| {
        if letter.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
        name
    })
}
