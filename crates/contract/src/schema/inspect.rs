//! Unusable places of a document's schemas: found, listed, and left out of the build.
//!
//! A bad place never refuses a document. The keyword at it is left out, the schemas that reach it give no verdict of
//! full conformance, and `contrail contract` lists it.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use contrail_exchange::{is_at_or_below, json::unescape_pointer};
use serde_json::{Map, Value, json};

use super::{
    discriminator::Discriminators,
    errors, formats, judge,
    judged::Changes,
    keywords::{self, Holds, NULLABLE, holds, targets},
    pattern, resources,
};
use crate::{
    UnusablePlace,
    refs::{self, below},
};

/// Bound on the schemas that apply to one value by way of a schema, counted once for each way.
const MAX_WAYS: u64 = 1 << 14;

/// Bound on the weight of all patterns: some hundred megabytes.
const MAX_WEIGHT: usize = 1 << 19;

/// Bound on the patterns of one form: spellings of the same.
const MAX_ALIKE: usize = 16;

/// Bound on the schemas that lead to each other for one value: the judge recurses.
const MAX_CHAIN: usize = 128;

/// What an inspection finds.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    pub(super) unusable: Vec<UnusablePlace>,
    /// The schemas that hold an unusable place, by their JSON pointers, with what is wrong with the first.
    pub(super) broken: HashMap<String, String>,
    /// JSON pointers of all schemas that are objects.
    pub(super) schemas: Vec<String>,
    /// JSON pointers of all others.
    others: Vec<String>,
    /// Schemas that reach one with an unusable place, or with a format that restricts and is not asserted.
    undecided: HashSet<String>,
    /// References to the meta-schemas of JSON Schema.
    pub(super) meta_schemas: BTreeSet<String>,
    /// A pattern may be too costly to match to its end.
    pub(super) backtracks: bool,
    /// What references of schemas lead into: JSON pointers of their targets, and of all that those stand in.
    targets: HashSet<String>,
    /// The usable form of each pattern, no two of the same; `None` where there is none.
    patterns: HashMap<String, Option<String>>,
    /// The pattern of each usable form.
    pub(super) written: HashMap<String, String>,
    /// Changes that make the document usable for the build.
    changes: Vec<Change>,
}

/// One change of a schema, given by its JSON pointer.
#[derive(Debug)]
enum Change {
    /// Nothing in it is usable.
    Free(String),
    Remove(String, String),
    Replace(String, String, Value),
    /// What nothing else in it documents is not undocumented.
    Open(String),
}

impl Inspection {
    /// Inspects the schemas at `places` and all that they lead to.
    pub(super) fn of<'p>(document: &Value, places: impl IntoIterator<Item = &'p str>) -> Self {
        let mut todo: VecDeque<String> = places.into_iter().map(str::to_owned).collect();
        let mut seen: HashSet<String> = HashSet::new();
        let mut edges: Vec<(String, String)> = Vec::new();
        let mut inspector =
            Inspector { document, found: Self::default(), schemas: HashMap::new(), weight: 0, discriminators: None };
        while let Some(pointer) = todo.pop_front() {
            if !seen.insert(pointer.clone()) {
                continue;
            }
            match refs::at(document, &pointer) {
                Some(Value::Object(schema)) => {
                    inspector.schema(&pointer, schema);
                    let targets = targets(&pointer, schema);
                    edges.extend(targets.iter().map(|target| (target.clone(), pointer.clone())));
                    todo.extend(targets);
                    inspector.schemas.insert(pointer.clone(), schema);
                    inspector.found.schemas.push(pointer);
                }
                Some(Value::Bool(_)) => inspector.found.others.push(pointer),
                None => {}
                Some(_) => {
                    inspector.found.others.push(pointer.clone());
                    let reason = "expected a schema: an object or a boolean".to_owned();
                    inspector.found.broken.insert(pointer.clone(), reason.clone());
                    inspector.found.changes.push(Change::Free(pointer.clone()));
                    inspector.report(pointer, reason);
                }
            }
        }
        inspector.bound_work();
        inspector.taint(&edges);
        inspector.found
    }

    /// Lists unusable places by the pointers that they have in the document as it was.
    pub(super) fn relocate(&mut self, original: impl Fn(&str) -> String) {
        for place in &mut self.unusable {
            place.at = original(&place.at);
        }
        let mut listed = HashSet::new();
        self.unusable.retain(|place| listed.insert(place.clone()));
    }

    /// Whether a reference leads to a schema, or into it.
    pub(super) fn is_target(&self, pointer: &str) -> bool {
        self.targets.contains(pointer)
    }

    /// The document for the build: of all its parts, the schemas, but for those `left_out`.
    pub(super) fn usable(&self, document: &Value, left_out: &HashSet<&str>) -> Value {
        let mut usable = self.schemas_of(document, left_out);
        for change in &self.changes {
            match change {
                Change::Free(at) => {
                    if let Some(schema) = usable.pointer_mut(at) {
                        *schema = json!({"additionalProperties": true, "items": true});
                    }
                }
                Change::Remove(at, keyword) => {
                    if let Some(Value::Object(schema)) = usable.pointer_mut(at) {
                        schema.shift_remove(keyword);
                    }
                }
                Change::Open(at) => {
                    if let Some(Value::Object(schema)) = usable.pointer_mut(at) {
                        for keyword in ["additionalProperties", "items"] {
                            schema.entry(keyword).or_insert(Value::Bool(true));
                        }
                    }
                }
                Change::Replace(at, keyword, value) => {
                    if let Some(Value::Object(schema)) = usable.pointer_mut(at) {
                        schema.insert(keyword.clone(), value.clone());
                    }
                }
            }
        }
        usable
    }

    /// The schemas of a document at their places, without what stands around them.
    fn schemas_of(&self, document: &Value, left_out: &HashSet<&str>) -> Value {
        let mut pointers: Vec<&str> = self.schemas.iter().chain(&self.others).map(String::as_str).collect();
        // A schema comes before those inside it.
        pointers.sort_unstable();
        let mut held = Value::Object(Map::new());
        let mut outer: Option<&str> = None;
        for pointer in pointers {
            if outer.is_some_and(|outer| is_at_or_below(pointer, outer)) {
                continue;
            }
            outer = Some(pointer);
            if !left_out.contains(pointer) {
                copy(document, &mut held, pointer);
            }
        }
        held
    }

    /// What the judge needs in other words.
    pub(super) fn changes_for_judge(&self, document: &Value) -> Changes {
        let discriminators = Discriminators::of(document);
        let mut changes = Changes::default();
        for at in &self.schemas {
            let Some(schema) = refs::at(document, at).and_then(Value::as_object) else { continue };
            if let Some(selector) = discriminators.at(at, schema) {
                changes.selectors.insert(at.clone(), selector);
            }
            if schema.get(NULLABLE) == Some(&Value::Bool(true)) {
                changes.nullable.insert(at.clone());
            }
            for pattern in schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                if let Some(Some(usable)) = self.patterns.get(pattern).filter(|usable| usable.as_ref() != Some(pattern))
                {
                    changes.renamed.insert(below(at, &["patternProperties", pattern]), usable.clone());
                }
            }
            let branches = schema.get("oneOf").and_then(Value::as_array).map_or(0, Vec::len);
            let is_undecided = |index: usize| self.undecided.contains(&below(at, &["oneOf", &index.to_string()]));
            if (0..branches).any(is_undecided) || (branches > 0 && discriminators.has_unread_default(at, schema)) {
                changes.undecided.insert(at.clone());
            }
        }
        changes
    }
}

struct Inspector<'d> {
    document: &'d Value,
    found: Inspection,
    /// By pointer.
    schemas: HashMap<String, &'d Map<String, Value>>,
    /// The weight of all patterns so far.
    weight: usize,
    /// Read where a discriminator has a default.
    discriminators: Option<Discriminators<'d>>,
}

impl Inspector<'_> {
    fn report(&mut self, at: String, reason: String) {
        self.found.unusable.push(UnusablePlace { at, reason });
    }

    fn unusable(&mut self, pointer: &str, keyword: &str, reason: String) {
        self.leave_out(pointer, keyword, reason, documents(keyword));
    }

    /// `opens`: the keyword may document what nothing else does.
    fn leave_out(&mut self, pointer: &str, keyword: &str, reason: String, opens: bool) {
        self.remove(pointer, keyword, format!("the document's `{keyword}` is unusable: {reason}"));
        // What these do not account for is neither excluded nor undocumented.
        match keyword {
            "properties" | "patternProperties" => self.replace(pointer, "additionalProperties", Value::Bool(true)),
            "prefixItems" => self.replace(pointer, "items", Value::Bool(true)),
            _ if opens => self.found.changes.push(Change::Open(pointer.to_owned())),
            _ => {}
        }
        self.report(below(pointer, &[keyword]), reason);
    }

    /// Leaves out what would multiply the work of judging one value: parts that lead to parts by ever more ways.
    fn bound_work(&mut self) {
        // By pointer: the ways, and the longest chain; `None` on the way to a schema that is being weighed.
        let mut weights: HashMap<String, Option<(u64, usize)>> = HashMap::new();
        for start in self.found.schemas.clone() {
            // A schema is weighed after those that it leads to.
            let mut open: Vec<(String, bool)> = vec![(start, false)];
            while let Some((at, weighed)) = open.pop() {
                let Some(schema) = self.schemas.get(&at) else { continue };
                let parts = keywords::same_value(&at, schema);
                if weighed {
                    let weight = self.weigh(&at, &parts, &weights, &open);
                    weights.insert(at, Some(weight));
                } else if !weights.contains_key(&at) {
                    weights.insert(at.clone(), None);
                    open.push((at, true));
                    let new = parts.into_iter().flat_map(|(_, parts)| parts);
                    open.extend(new.filter(|part| !weights.contains_key(part)).map(|part| (part, false)));
                }
            }
        }
    }

    fn weigh(
        &mut self,
        at: &str,
        parts: &[(&str, Vec<String>)],
        weights: &HashMap<String, Option<(u64, usize)>>,
        open: &[(String, bool)],
    ) -> (u64, usize) {
        // A circle has no end, unless the value of a member selects the way: there the judge enters a schema once.
        let selects = |at: &str| self.schemas.get(at).is_some_and(|schema| schema.contains_key("discriminator"));
        let is_endless = |part: &String| {
            if weights.get(part).is_none_or(Option::is_some) {
                return false;
            }
            let way = open.iter().filter(|(_, weighed)| *weighed).map(|(at, _)| at.as_str());
            let way: Vec<&str> = way.skip_while(|at| at != part).chain([at]).collect();
            way.iter().skip(1).any(|at| is_condition(at)) || !way.iter().any(|at| selects(at))
        };
        let endless: Vec<bool> = parts.iter().map(|(_, parts)| parts.iter().any(is_endless)).collect();
        let (mut ways, mut chain): (u64, usize) = (1, 1);
        for ((keyword, parts), endless) in parts.iter().zip(endless) {
            if endless {
                // JSON Schema, Core, 9.4.1: "A schema MUST NOT be run into an infinite loop against an instance."
                let reason = "it leads back to this schema for the same value, in a circle".to_owned();
                // A circle alone leads to nothing further.
                self.leave_out(at, keyword, reason, parts.len() > 1);
                continue;
            }
            let held = || parts.iter().filter_map(|part| weights.get(part)?.as_ref());
            let more = held().fold(0, |sum: u64, (ways, _)| sum.saturating_add(*ways));
            let longest = held().map(|(_, chain)| chain + 1).max().unwrap_or_default();
            if ways.saturating_add(more) > MAX_WAYS || longest > MAX_CHAIN {
                let reason =
                    format!("a value would be checked in more than {MAX_WAYS} ways, or by way of {MAX_CHAIN} schemas");
                self.unusable(at, keyword, reason);
            } else {
                ways += more;
                chain = chain.max(longest);
            }
        }
        (ways, chain)
    }

    /// Takes out what would be false where a part of it allows too much: `not`, `if`, and what counts or excludes.
    fn taint(&mut self, edges: &[(String, String)]) {
        let mut unsure: HashSet<String> = self.found.broken.keys().cloned().collect();
        unsure.extend(self.restricting_formats());
        if unsure.is_empty() {
            return;
        }
        let mut sources: HashMap<&str, Vec<&str>> = HashMap::new();
        for (target, source) in edges {
            sources.entry(target).or_default().push(source);
        }
        let reaching = |from: HashSet<String>| {
            let mut todo: Vec<String> = from.iter().cloned().collect();
            let mut reaching = from;
            while let Some(at) = todo.pop() {
                for source in sources.get(at.as_str()).into_iter().flatten() {
                    if reaching.insert((*source).to_owned()) {
                        todo.push((*source).to_owned());
                    }
                }
            }
            reaching
        };
        let broken = reaching(self.found.broken.keys().cloned().collect());
        self.found.undecided = reaching(unsure);
        for at in self.found.schemas.clone() {
            let Some(schema) = self.schemas.get(&at).copied() else { continue };
            for (keyword, part) in [("not", "not"), ("if", "if"), ("maxContains", "contains")] {
                if schema.contains_key(keyword) && self.found.undecided.contains(&below(&at, &[part])) {
                    let reason = format!(
                        "contrail cannot decide the `{part}`: a part of it is unusable, or has a format that is not checked"
                    );
                    // What the condition selects may document more.
                    let selects = |key: &&str| {
                        let selected = schema.get(*key).and_then(Value::as_object);
                        selected.is_some_and(|selected| selected.keys().any(|keyword| documents(keyword)))
                    };
                    let opens = keyword == "if" && ["then", "else"].iter().any(selects);
                    self.leave_out(&at, keyword, reason, opens);
                }
            }
            for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
                if schema.contains_key(keyword) && broken.contains(&at) {
                    self.remove(&at, keyword, format!("contrail cannot use all that its `{keyword}` looks at"));
                }
            }
            // A name is no value that the walk comes to.
            if broken.contains(&below(&at, &["propertyNames"])) {
                let reason = "contrail cannot use all of its `propertyNames`".to_owned();
                self.found.broken.entry(at).or_insert(reason);
            }
        }
    }

    /// Schemas with a format that may decide and that is not asserted.
    fn restricting_formats(&self) -> impl Iterator<Item = String> {
        let format = |at: &str| self.schemas.get(at)?.get("format")?.as_str();
        let undecided = |at: &&String| format(at).is_some_and(formats::is_undecided);
        self.found.schemas.iter().filter(undecided).cloned().collect::<Vec<_>>().into_iter()
    }

    fn remove(&mut self, pointer: &str, keyword: &str, reason: String) {
        self.found.broken.entry(pointer.to_owned()).or_insert(reason);
        self.found.changes.push(Change::Remove(pointer.to_owned(), keyword.to_owned()));
    }

    fn replace(&mut self, pointer: &str, keyword: &str, value: Value) {
        self.found.changes.push(Change::Replace(pointer.to_owned(), keyword.to_owned(), value));
    }

    fn schema(&mut self, pointer: &str, schema: &Map<String, Value>) {
        for (keyword, value) in schema {
            match keyword.as_str() {
                "$ref" => self.reference(pointer, value),
                "pattern" => self.pattern(pointer, value),
                "patternProperties" => self.patterns(pointer, value),
                "required" => self.required(pointer, value),
                // Nothing tells which branch a value has that no mapping names.
                "discriminator" if value.get("defaultMapping").is_some() => {
                    let document = self.document;
                    let discriminators = self.discriminators.get_or_insert_with(|| Discriminators::of(document));
                    if discriminators.has_unread_default(pointer, schema) {
                        let reason = "the document's `defaultMapping` leads to no branch".to_owned();
                        self.found.broken.entry(pointer.to_owned()).or_insert(reason);
                    }
                }
                // Draft 2020-12 has it no more, and ignores what it does not have; the judge judges by it.
                "dependencies" => {
                    self.found.changes.push(Change::Remove(pointer.to_owned(), keyword.clone()));
                }
                "$dynamicRef" => {
                    self.unusable(pointer, keyword, "contrail cannot find out where it leads".to_owned());
                }
                "$schema" if !value.as_str().is_some_and(resources::is_dialect) => {
                    let reason = format!("contrail judges by JSON Schema 2020-12, and not by {value}");
                    self.unusable(pointer, keyword, reason);
                }
                "x-contrail-unnamed-keys" if value.as_u64().is_none() => {
                    let reason = "expected the number of keys, a whole number".to_owned();
                    self.unusable(pointer, keyword, reason);
                }
                "x-contrail-known-values"
                    if !value.as_array().is_some_and(|values| values.iter().all(Value::is_string)) =>
                {
                    self.unusable(pointer, keyword, "expected a list of strings".to_owned());
                }
                _ => self.keyword(pointer, keyword, value),
            }
        }
    }

    /// Holds a keyword to the meta-schema of Draft 2020-12, without the schemas below it.
    fn keyword(&mut self, pointer: &str, keyword: &str, value: &Value) {
        let alone = match holds(keyword) {
            Holds::One | Holds::Members if value.is_object() => return,
            Holds::List => match value.as_array() {
                Some(schemas) if !schemas.is_empty() => return,
                _ => json!({ keyword: value }),
            },
            _ if is_plain(keyword, value) => return,
            _ => json!({ keyword: value }),
        };
        if let Err(error) = jsonschema::draft202012::meta::validate(&alone) {
            let reason = errors::plainly(&error);
            if matches!(keyword, "examples" | "title" | "description" | "$comment" | "deprecated") {
                // It restricts nothing, so the rest of the schema is whole without it.
                self.found.changes.push(Change::Remove(pointer.to_owned(), keyword.to_owned()));
                self.report(below(pointer, &[keyword]), reason);
            } else {
                self.unusable(pointer, keyword, reason);
            }
        }
    }

    fn reference(&mut self, pointer: &str, value: &Value) {
        let Some(target) = value.as_str() else {
            return self.unusable(pointer, "$ref", "expected a string".to_owned());
        };
        let leads_to = refs::target(target);
        let mut above = std::iter::successors(leads_to.as_deref(), |at| at.rfind('/').map(|end| &at[..end]));
        while let Some(at) = above.next().filter(|at| !self.found.targets.contains(*at)) {
            self.found.targets.insert(at.to_owned());
        }
        if refs::is_meta_schema(target) {
            self.found.meta_schemas.insert(target.to_owned());
        } else if refs::resolve(self.document, target).is_none() {
            self.unusable(pointer, "$ref", UnusablePlace::dangling(pointer, target).reason);
        }
    }

    fn required(&mut self, pointer: &str, value: &Value) {
        let names = value.as_array().filter(|names| names.iter().all(Value::is_string));
        let Some(names) = names else {
            return self.unusable(pointer, "required", "expected a list of strings".to_owned());
        };
        let mut distinct: Vec<&Value> = Vec::new();
        let mut seen = HashSet::new();
        distinct.extend(names.iter().filter(|name| seen.insert(name.as_str())));
        if distinct.len() < names.len() {
            let distinct = json!(distinct);
            self.replace(pointer, "required", distinct);
        }
    }

    fn pattern(&mut self, pointer: &str, value: &Value) {
        let Some(pattern) = value.as_str() else {
            return self.unusable(pointer, "pattern", "expected a string".to_owned());
        };
        match self.usable_pattern(pattern) {
            Some(usable) if usable == pattern => {}
            Some(usable) => {
                self.replace(pointer, "pattern", json!(usable));
            }
            None => {
                let reason = match pattern::foreign(pattern) {
                    Some(part) => format!("ECMA-262 has no `{}`", part.escape_debug()),
                    None => "contrail cannot run this regular expression".to_owned(),
                };
                self.unusable(pointer, "pattern", reason);
            }
        }
    }

    fn patterns(&mut self, pointer: &str, value: &Value) {
        let Some(patterns) = value.as_object() else {
            return self.unusable(pointer, "patternProperties", "expected an object".to_owned());
        };
        let mut unusable = None;
        for pattern in patterns.keys() {
            if self.usable_pattern(pattern).is_none() {
                unusable = unusable.or(Some(pattern));
            }
        }
        if let Some(pattern) = unusable {
            let shown = pattern.escape_debug();
            let reason = match pattern::foreign(pattern) {
                Some(part) => format!("ECMA-262 has no `{}`, as in `{shown}`", part.escape_debug()),
                None => format!("contrail cannot run the regular expression `{shown}`"),
            };
            self.unusable(pointer, "patternProperties", reason);
        }
    }

    /// Whether the bound on all patterns of the document leaves room for one more.
    fn affords(&mut self, pattern: &str) -> bool {
        let weight = pattern::weight(pattern);
        let fits = self.weight.saturating_add(weight) <= MAX_WEIGHT;
        self.weight += if fits { weight } else { 0 };
        fits
    }

    fn usable_pattern(&mut self, pattern: &str) -> Option<String> {
        if let Some(held) = self.found.patterns.get(pattern) {
            return held.clone();
        }
        self.found.backtracks |= pattern::backtracks(pattern);
        let usable = pattern::usable(pattern).filter(|form| self.affords(form) && compiles(form));
        // A message shows the pattern of a form, and names may have several, so no two have the same.
        let usable = usable.and_then(|form| {
            let mut alike = (0..MAX_ALIKE).map(|count| form.clone() + &"(?:)".repeat(count));
            alike.find(|form| !self.found.written.contains_key(form))
        });
        if let Some(usable) = &usable {
            self.found.written.insert(usable.clone(), pattern.to_owned());
        }
        self.found.patterns.insert(pattern.to_owned(), usable.clone());
        usable
    }
}

/// Copies what stands at a pointer. In lists on the way, null keeps the place of what is left out.
fn copy(mut from: &Value, mut to: &mut Value, pointer: &str) {
    for token in pointer.split('/').skip(1) {
        let next = match (from, &mut *to) {
            (Value::Object(members), Value::Object(held)) => {
                let name = unescape_pointer(token);
                members.get(&*name).map(|member| (member, held.entry(name).or_insert(Value::Null)))
            }
            (Value::Array(items), Value::Array(held)) => {
                let index = token.parse().unwrap_or(usize::MAX);
                items.get(index).zip(held.get_mut(index))
            }
            _ => None,
        };
        let Some((inside, place)) = next else { return };
        if place.is_null() {
            *place = match inside {
                Value::Array(items) => Value::Array(vec![Value::Null; items.len()]),
                _ => Value::Object(Map::new()),
            };
        }
        (from, to) = (inside, place);
    }
    *to = from.clone();
}

/// Whether the judge runs a pattern.
fn compiles(pattern: &str) -> bool {
    judge::asserting_formats().build(&json!({ "pattern": pattern })).is_ok()
}

/// Whether a schema is a condition of the one that it stands in.
fn is_condition(at: &str) -> bool {
    let mut tokens = at.rsplit('/');
    let last = tokens.next().unwrap_or_default();
    matches!(last, "not" | "if" | "then" | "else") || tokens.next() == Some("dependentSchemas")
}

/// Whether a keyword may document members or items, by itself or with another one that needs it.
fn documents(keyword: &str) -> bool {
    match keyword {
        "$ref" | "$dynamicRef" => true,
        "not" | "contains" | "propertyNames" | "contentSchema" | "$defs" => false,
        other => !matches!(holds(other), Holds::Other),
    }
}

/// Whether the commonest keywords have the value that they mostly have, which needs no meta-schema.
fn is_plain(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => {
            matches!(value.as_str(), Some("string" | "object" | "array" | "integer" | "number" | "boolean" | "null"))
        }
        "title" | "description" | "format" => value.is_string(),
        "enum" => value.is_array(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "minimum" | "maximum" => value.is_number(),
        "items" | "additionalProperties" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
        "example" | "examples" | "default" | "const" => keyword != "examples" || value.is_array(),
        other => other.starts_with("x-"),
    }
}
