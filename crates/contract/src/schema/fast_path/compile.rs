//! From the schemas that apply to a value to the one shape that they require together.
//!
//! A set of schemas is compiled as one: those that lead to a value, and what `$ref` and `allOf` add. Each branch of a
//! choice is compiled with the rest of its set, so that what any of them documents is accounted for; once more by
//! itself, for the gap walker, which asks whether it holds.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use contrail_exchange::json::Kind;

use crate::schema::represent::Tape;
use ahash::AHashMap;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::{
    constants::Constants,
    kinds::Kinds,
    table::{Branch, Choice, FEW, FastPath, Holding, Members, NamedMember, Others, Plain, Select, Shape, TextCheck},
};
use crate::{
    refs::{self, below},
    schema::{
        discriminator::{From, Selector},
        gaps::{self, KnownValues},
        judge,
        judged::Changes,
        keywords::NULLABLE,
        order::shorter_first,
    },
};

/// Bound on the shapes of a document; what is left is in doubt.
const MAX_SHAPES: usize = 1 << 16;

/// The index of [`Shape::Doubt`].
const DOUBT: usize = 0;

/// Bound on the pointers and names of all sets and shapes.
const MAX_NAMES: usize = 1 << 19;

/// Bound on the names that are looked up in the parts of all sets.
const MAX_LOOKUPS: usize = 1 << 22;

/// The schemas that apply to one value, by their pointers, and the choices among them that are decided (each by the
/// pointer of its list). Both sorted.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Set {
    schemas: Vec<String>,
    decided: Vec<String>,
}

struct Compiler<'a> {
    document: &'a Value,
    changes: &'a Changes,
    shapes: Vec<Shape>,
    known: HashMap<Set, usize>,
    /// Pointers and names so far.
    names: usize,
    /// Names looked up in parts so far.
    lookups: usize,
    /// Sets that have an index and no shape yet.
    todo: VecDeque<(usize, Set)>,
    /// Judges of single keywords, by their text; `None` where the keyword asserts nothing or is unusable.
    judges: HashMap<String, Option<Arc<Validator<Tape>>>>,
    /// Checks of texts: whether by a pattern, and its text or the name of the format.
    checks: HashMap<(bool, String), Arc<TextCheck>>,
    /// What schemas and choices list, by pointer; `None` where nothing.
    constants: HashMap<String, Option<Arc<Constants>>>,
    /// The values of open sets, by the pointer of the schema.
    known_values: HashMap<String, Arc<KnownValues>>,
}

/// The set states something that the fast path does not decide.
struct Unknown;

/// One schema of a set.
struct Part<'a> {
    pointer: String,
    schema: &'a Map<String, Value>,
}

impl Part<'_> {
    /// Null conforms, whatever else it states.
    fn is_nullable(&self) -> bool {
        self.schema.get(NULLABLE) == Some(&Value::Bool(true))
    }
}

impl FastPath {
    /// For the schemas at `places` of `document`, with the index of each; `None` stands for a schema that is in doubt.
    pub(in crate::schema) fn compile<'p>(
        document: &Value,
        places: impl Iterator<Item = Option<&'p String>>,
        changes: &Changes,
    ) -> (Self, Vec<usize>) {
        let mut compiler = Compiler {
            document,
            changes,
            shapes: vec![Shape::Doubt], // the one of index `DOUBT`
            known: HashMap::new(),
            names: 0,
            lookups: 0,
            todo: VecDeque::new(),
            judges: HashMap::new(),
            checks: HashMap::new(),
            constants: HashMap::new(),
            known_values: HashMap::new(),
        };
        let roots = places.map(|place| match place {
            Some(place) => compiler.shape(Set { schemas: vec![place.clone()], ..Set::default() }),
            None => DOUBT,
        });
        let roots = roots.collect();
        while let Some((index, set)) = compiler.todo.pop_front().filter(|_| compiler.names < MAX_NAMES) {
            if let Ok(shape) = compiler.compile(&set) {
                compiler.shapes[index] = shape;
            }
        }
        let mut path = Self { shapes: compiler.shapes };
        path.inline();
        (path, roots)
    }

    /// Puts shapes that need no walk where they are used.
    fn inline(&mut self) {
        let simple: Vec<Option<Others>> = self
            .shapes
            .iter()
            .map(|shape| match shape {
                Shape::Anything => Some(Others::Covered),
                Shape::Scalar(kinds) => Some(Others::Scalar(*kinds)),
                _ => None,
            })
            .collect();
        let put = |others: &mut Others| {
            if let Others::Shape(index) = others
                && let Some(simple) = simple[*index]
            {
                *others = simple;
            }
        };
        for shape in &mut self.shapes {
            if let Shape::Plain(plain) = shape {
                plain.members.named.iter_mut().for_each(|named| put(&mut named.shape));
                put(&mut plain.members.others);
                put(&mut plain.items.each);
            }
        }
    }
}

impl<'a> Compiler<'a> {
    fn shape(&mut self, mut set: Set) -> usize {
        set.schemas.sort();
        set.schemas.dedup();
        set.decided.sort();
        if let Some(index) = self.known.get(&set) {
            return *index;
        }
        let index = self.shapes.len();
        self.shapes.push(Shape::Doubt);
        self.known.insert(set.clone(), index);
        self.names += set.schemas.len() + set.decided.len();
        if index < MAX_SHAPES {
            self.todo.push_back((index, set));
        }
        index
    }

    /// The judge of a schema of one keyword, without references.
    fn judge(&mut self, keyword: &str, value: &Value) -> Option<Arc<Validator<Tape>>> {
        let schema = json!({ keyword: value });
        let held = self.judges.entry(schema.to_string()).or_insert_with(|| {
            // An unknown format asserts nothing: its build fails here.
            judge::asserting_formats().should_ignore_unknown_formats(false).build(&schema).ok().map(Arc::new)
        });
        held.clone()
    }

    fn compile(&mut self, set: &Set) -> Result<Shape, Unknown> {
        let parts = self.parts(&set.schemas)?;
        if parts.is_empty() {
            return Ok(Shape::Anything);
        }
        for part in &parts {
            if let Some(selector) = self.changes.selectors.get(&part.pointer) {
                let keyword = match selector.from {
                    From::Branches(keyword) => keyword,
                    From::Children => "discriminator",
                };
                let list = below(&part.pointer, &[keyword]);
                if !set.decided.contains(&list) {
                    let nullable = parts.iter().any(Part::is_nullable);
                    return self.select(set, selector, part, &list, nullable);
                }
            }
            for keyword in ["oneOf", "anyOf"] {
                let list = below(&part.pointer, &[keyword]);
                if let Some(Value::Array(branches)) = part.schema.get(keyword)
                    && !set.decided.contains(&list)
                    && self.listed(part, keyword).is_none()
                {
                    let nullable = parts.iter().any(Part::is_nullable);
                    return Ok(Shape::Choice(self.choice(set, part, keyword, branches.len(), nullable)?));
                }
            }
        }
        let mut plain = Plain { nullable: parts.iter().any(Part::is_nullable), ..Plain::default() };
        for part in &parts {
            self.keywords(part, &mut plain)?;
            for keyword in ["oneOf", "anyOf"] {
                if let Some(constants) = self.listed(part, keyword) {
                    plain.allow(constants);
                }
            }
        }
        plain.members = self.members(&parts, std::mem::take(&mut plain.members))?;
        plain.items.each = self.each(&parts);
        if !plain.allowed.is_empty() {
            // A value that is listed whole has no gaps.
            for others in [&mut plain.members.others, &mut plain.items.each] {
                *others = if *others == Others::Gap { Others::Covered } else { *others };
            }
        }
        Ok(if plain.is_scalar() { Shape::Scalar(plain.kinds) } else { Shape::Plain(Box::new(plain)) })
    }

    /// What the parts of a set that are constants allow; `None` where none is, or where null conforms anyway.
    fn constants(&mut self, parts: &[Part<'_>]) -> Option<Arc<Constants>> {
        if parts.iter().any(Part::is_nullable) {
            return None;
        }
        let constants = parts.iter().filter_map(|part| self.constants_of(part));
        constants.reduce(|held, others| Arc::new((*held).clone().and(&others)))
    }

    /// The values that a schema lists.
    fn constants_of(&mut self, part: &Part<'_>) -> Option<Arc<Constants>> {
        if let Some(known) = self.constants.get(&part.pointer) {
            return known.clone();
        }
        let constants = Constants::of(part.schema).map(Arc::new);
        self.constants.insert(part.pointer.clone(), constants.clone());
        constants
    }

    /// The values that a choice lists, if it is one of values.
    fn listed(&mut self, part: &Part<'_>, keyword: &str) -> Option<Arc<Constants>> {
        let branches = part.schema.get(keyword)?.as_array()?;
        let decides = self.changes.selectors.contains_key(&part.pointer);
        if decides || self.changes.undecided.contains(&part.pointer) {
            return None;
        }
        let list = below(&part.pointer, &[keyword]);
        let listed = self.constants.entry(list);
        listed.or_insert_with(|| Constants::of_choice(keyword, branches).map(Arc::new)).clone()
    }

    /// The schemas of a set with all that they refer to, but those that are silent.
    fn parts(&self, from: &[String]) -> Result<Vec<Part<'a>>, Unknown> {
        let mut seen: HashSet<String> = HashSet::new();
        let mut parts = Vec::new();
        let mut todo: Vec<String> = from.iter().rev().cloned().collect();
        while let Some(pointer) = todo.pop() {
            if !seen.insert(pointer.clone()) {
                continue;
            }
            let schema = match refs::at(self.document, &pointer) {
                Some(Value::Object(schema)) => schema,
                // The rest of a nullable schema stands in the judge's document alone.
                Some(Value::Bool(true)) if !pointer.ends_with(NULLABLE) => continue,
                _ => return Err(Unknown),
            };
            if let Some(target) = schema.get("$ref") {
                todo.push(target.as_str().and_then(refs::target).ok_or(Unknown)?);
            }
            if let Some(all) = schema.get("allOf") {
                let count = all.as_array().ok_or(Unknown)?.len();
                todo.extend((0..count).rev().map(|index| below(&pointer, &["allOf", &index.to_string()])));
            }
            if schema.keys().any(|keyword| gaps::says_something(keyword)) {
                parts.push(Part { pointer, schema });
            }
        }
        Ok(parts)
    }

    /// A shape for each value of a discriminator. `list` is what it decides.
    fn select(
        &mut self,
        set: &Set,
        selector: &Selector,
        part: &Part<'_>,
        list: &str,
        nullable: bool,
    ) -> Result<Shape, Unknown> {
        let mut decided = set.clone();
        decided.decided.push(list.to_owned());
        let selected = |this: &mut Self, schema: &String| {
            let mut set = decided.clone();
            set.schemas.push(schema.clone());
            Self::no_circle(&this.parts(std::slice::from_ref(schema))?, &decided.decided)?;
            Ok(this.shape(set))
        };
        let mut cases = AHashMap::new();
        for case in &selector.cases {
            let shape = selected(self, &case.schema)?;
            for value in &case.values {
                cases.entry(value.as_bytes().into()).or_insert(shape);
            }
        }
        let default = selector.default.as_ref().map(|schema| selected(self, schema)).transpose()?;
        let otherwise = match selector.from {
            _ if default.is_some() => default.unwrap_or(DOUBT),
            From::Children => self.shape(decided),
            From::Branches(keyword) => {
                let count = part.schema.get(keyword).and_then(Value::as_array).ok_or(Unknown)?.len();
                match self.choice(set, part, keyword, count, nullable) {
                    Ok(choice) => {
                        self.shapes.push(Shape::Choice(choice));
                        self.shapes.len() - 1
                    }
                    Err(Unknown) => DOUBT,
                }
            }
        };
        let children = selector.from == From::Children;
        let (property, has_default) = (selector.property.as_str().into(), default.is_some());
        Ok(Shape::Select(Box::new(Select { property, cases, otherwise, has_default, children })))
    }

    fn choice(
        &mut self,
        set: &Set,
        part: &Part<'_>,
        keyword: &str,
        count: usize,
        nullable: bool,
    ) -> Result<Choice, Unknown> {
        let list = below(&part.pointer, &[keyword]);
        if count > Choice::MAX_BRANCHES {
            return Err(Unknown);
        }
        let branches = (0..count).map(|index| self.branch(set, &list, index));
        let mut branches = branches.collect::<Result<Vec<_>, _>>()?;
        // What every branch requires excludes none of them more than another.
        let [first, others @ ..] = &branches[..] else { return Err(Unknown) };
        let mut common = first.required.clone();
        common.retain(|name| others.iter().all(|other| other.required.contains(name)));
        for branch in &mut branches {
            branch.required.retain(|name| !common.contains(name));
        }
        let holding = match keyword {
            "oneOf" if self.changes.undecided.contains(&part.pointer) => Holding::Undecided,
            "oneOf" => Holding::One,
            _ => Holding::Any,
        };
        let decision = self.changes.decisions.get(&part.pointer).filter(|held| held.keyword == keyword).cloned();
        Ok(Choice { holding, nullable, branches, decision })
    }

    fn branch(&mut self, set: &Set, list: &str, index: usize) -> Result<Branch, Unknown> {
        let pointer = below(list, &[&index.to_string()]);
        let parts = self.parts(std::slice::from_ref(&pointer))?;
        let mut set = set.clone();
        set.schemas.push(pointer);
        set.decided.push(list.to_owned());
        Self::no_circle(&parts, &set.decided)?;
        let mut branch = Branch { kinds: Kinds::ALL, values: None, required: Vec::new(), shape: 0 };
        for part in &parts {
            if let Some(types) = part.schema.get("type") {
                branch.kinds.0 &= Kinds::named(types).ok_or(Unknown)?.0.0;
            }
            branch.required.extend(required(part)?.into_iter().map(Box::from));
        }
        if parts.iter().any(Part::is_nullable) {
            branch.kinds.0 |= Kinds::of(Kind::Null).0;
        }
        branch.values = self.constants(&parts);
        branch.shape = self.shape(set);
        Ok(branch)
    }

    /// A branch that leads back to a choice that it is a branch of never ends, and no specification defines what it
    /// means.
    fn no_circle(branch: &[Part<'_>], decided: &[String]) -> Result<(), Unknown> {
        let lists = |part: &Part<'_>| {
            let choices = ["oneOf", "anyOf"].into_iter().filter(|keyword| part.schema.contains_key(*keyword));
            choices.map(|keyword| below(&part.pointer, &[keyword])).collect::<Vec<_>>()
        };
        if branch.iter().flat_map(lists).any(|list| decided.contains(&list)) { Err(Unknown) } else { Ok(()) }
    }

    /// Takes over what one schema asks by itself; members and items come later.
    fn keywords(&mut self, part: &Part<'_>, plain: &mut Plain) -> Result<(), Unknown> {
        for (keyword, value) in part.schema {
            let length = || value.as_u64().and_then(|length| usize::try_from(length).ok()).ok_or(Unknown);
            let limit = |beyond: i64| value.as_i64().and_then(|limit| limit.checked_add(beyond)).ok_or(Unknown);
            match keyword.as_str() {
                "type" => {
                    let (kinds, whole) = Kinds::named(value).ok_or(Unknown)?;
                    plain.kinds.0 &= kinds.0;
                    plain.whole |= whole;
                }
                "minimum" => raise(&mut plain.least, limit(0)?),
                "exclusiveMinimum" => raise(&mut plain.least, limit(1)?),
                "maximum" => lower(&mut plain.most, limit(0)?),
                "exclusiveMaximum" => lower(&mut plain.most, limit(-1)?),
                "minLength" => plain.text.length.at_least(length()?),
                "maxLength" => lower(&mut plain.text.length.most, length()?),
                "minItems" => plain.items.count.at_least(length()?),
                "maxItems" => lower(&mut plain.items.count.most, length()?),
                "minProperties" => plain.members.count.at_least(length()?),
                "maxProperties" => lower(&mut plain.members.count.most, length()?),
                "format" => plain.text.checks.extend(self.check(keyword, value)),
                "pattern" => plain.text.checks.push(self.check(keyword, value).ok_or(Unknown)?),
                "enum" | "const" => plain.allow(self.constants_of(part).ok_or(Unknown)?),
                "uniqueItems" => plain.items.unique |= value.as_bool().ok_or(Unknown)?,
                "multipleOf" | "dependentRequired" => {
                    plain.asked.push(self.judge(keyword, value).ok_or(Unknown)?);
                }
                "x-contrail-known-values" => {
                    let known = self.known_values.entry(part.pointer.clone());
                    let known = known.or_insert_with(|| Arc::new(KnownValues::of(Some(value))));
                    plain.text.known.extend(Some(Arc::clone(known)).filter(|known| !known.is_empty()));
                }
                // Read elsewhere: parts, branches, members, items.
                "$ref"
                | "allOf"
                | "oneOf"
                | "anyOf"
                | "properties"
                | "required"
                | "additionalProperties"
                | "items"
                | "x-contrail-unnamed-keys" => {}
                other if gaps::says_something(other) && other != "discriminator" => return Err(Unknown),
                _ => {}
            }
        }
        Ok(())
    }

    /// The check of a `format` or a `pattern`. A format that the judge does not know asserts nothing.
    fn check(&mut self, keyword: &str, value: &Value) -> Option<Arc<TextCheck>> {
        let judge = self.judge(keyword, value)?;
        let text = value.as_str().unwrap_or_default();
        let check = self.checks.entry((keyword == "pattern", text.to_owned()));
        let check = check.or_insert_with(|| Arc::new(TextCheck::of(keyword, text, judge)));
        Some(Arc::clone(check))
    }

    fn members(&mut self, parts: &[Part<'_>], mut members: Members) -> Result<Members, Unknown> {
        let mut names: Vec<&str> = Vec::new();
        let mut needed: Vec<&str> = Vec::new();
        for part in parts {
            let documented = part.schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
            names.extend(documented.map(String::as_str));
            needed.extend(required(part)?);
        }
        names.extend(&needed);
        self.names += names.len();
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        needed.sort_unstable();
        needed.dedup();
        if needed.len() > 64 {
            return Err(Unknown);
        }
        self.lookups += names.len() * parts.len();
        if self.lookups > MAX_LOOKUPS {
            return Err(Unknown);
        }
        for name in names {
            let bit = needed.binary_search(&name).map_or(0, |index| 1 << index);
            members.required |= bit;
            let shape = self.member(parts, Some(name));
            members.named.push(NamedMember { name: name.into(), bit, shape });
        }
        if members.named.len() > FEW {
            let names = members.named.iter().map(|named| named.name.clone());
            members.sorted = names.zip(0..).collect();
            members.sorted.sort_unstable_by(|(left, _), (right, _)| shorter_first(left.as_bytes(), right.as_bytes()));
        }
        members.others = self.member(parts, None);
        Ok(members)
    }

    /// What all schemas of an object state about the member of this name, or of one that none of them names.
    fn member(&mut self, parts: &[Part<'_>], name: Option<&str>) -> Others {
        let mut set = Set::default();
        let mut covered = false;
        for part in parts {
            let properties = part.schema.get("properties").and_then(Value::as_object);
            if let Some(name) = name.filter(|name| properties.is_some_and(|held| held.contains_key(*name))) {
                set.schemas.push(below(&part.pointer, &["properties", name]));
                covered = true;
                continue;
            }
            let unnamed = part.schema.contains_key("x-contrail-unnamed-keys");
            match part.schema.get("additionalProperties") {
                None => {}
                Some(Value::Bool(false)) => return Others::Closed,
                Some(Value::Bool(true)) => covered |= !unnamed,
                Some(_) => {
                    set.schemas.push(below(&part.pointer, &["additionalProperties"]));
                    covered |= !unnamed;
                }
            }
        }
        match (covered, set.schemas.is_empty()) {
            (false, true) => Others::Gap,
            (false, false) => Others::Unnamed(self.shape(set)),
            (true, true) => Others::Covered,
            (true, false) => Others::Shape(self.shape(set)),
        }
    }

    fn each(&mut self, parts: &[Part<'_>]) -> Others {
        let items = parts.iter().filter(|part| part.schema.contains_key("items"));
        let schemas: Vec<String> = items.map(|part| below(&part.pointer, &["items"])).collect();
        if schemas.is_empty() { Others::Gap } else { Others::Shape(self.shape(Set { schemas, ..Set::default() })) }
    }
}

fn raise(least: &mut Option<i64>, limit: i64) {
    *least = Some(least.map_or(limit, |held| held.max(limit)));
}

fn lower<T: Ord + Copy>(most: &mut Option<T>, limit: T) {
    *most = Some(most.map_or(limit, |held| held.min(limit)));
}

fn required<'a>(part: &Part<'a>) -> Result<Vec<&'a str>, Unknown> {
    match part.schema.get("required") {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => names.iter().map(|name| name.as_str().ok_or(Unknown)).collect(),
        Some(_) => Err(Unknown),
    }
}
