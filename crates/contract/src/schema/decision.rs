//! The branch of a choice that a member of the value selects: one for which every branch lists other values.
//!
//! A discriminator states that in the document; here `const` and `enum` do. The other branches cannot hold, so none of
//! them is asked, and the judge reports what the value breaks of the one that is selected.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use ahash::AHashMap;
use contrail_exchange::json::{Kind, Node, Number};
use serde_json::{Map, Value, json};

use super::{adapt::parts, keywords::NULLABLE};
use crate::refs::{self, below};

/// Choices within choices whose branches are read.
const MAX_NESTED: usize = 3;

/// Bound on the schemas that are read for all choices of a document.
const MAX_READ: usize = 1 << 20;

/// What a value selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    /// The branch of this index: no other can hold.
    Branch(usize),
    /// No branch can hold.
    Nothing,
    /// That is open.
    Open,
}

/// A member that selects a branch of `oneOf` or `anyOf`.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    pub(super) keyword: &'static str,
    /// Its name, after that of the member that it is in, if it is in one.
    pub(super) path: Vec<String>,
    /// Values that one branch alone lists, by branch.
    pub(super) cases: Vec<(usize, Vec<Value>)>,
    texts: AHashMap<Box<str>, Decided>,
    integers: AHashMap<i64, Decided>,
    /// `false`, `true`.
    booleans: [Decided; 2],
    /// Every other value.
    others: Decided,
    /// No such member.
    pub(super) absent: Decided,
}

impl Decision {
    /// By the member at the end of a path, if it decides anything.
    fn by_member(keyword: &'static str, path: &[&str], branches: &[BranchFacts<'_>]) -> Option<Self> {
        let name = *path.last()?;
        let branches = || branches.iter().enumerate().filter(|(_, branch)| branch.takes_objects);
        if branches().count() < 2 {
            return None;
        }
        let mut found = Self {
            keyword,
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            cases: Vec::new(),
            texts: AHashMap::new(),
            integers: AHashMap::new(),
            booleans: [Decided::Nothing; 2],
            others: Decided::Nothing,
            absent: Decided::Open,
        };
        let is_decisive = |value: &&Value| value.is_string() || value.is_boolean() || value.is_i64();
        let listed =
            |branch: &BranchFacts<'_>| branch.listed.get(name).is_some_and(|values| values.iter().all(is_decisive));
        if branches().all(|(_, branch)| listed(branch)) {
            for (index, branch) in branches() {
                for value in &branch.listed[name] {
                    let decided = match value {
                        Value::String(text) => found.texts.entry(text.as_str().into()).or_insert(Decided::Nothing),
                        Value::Number(number) => found.integers.entry(number.as_i64()?).or_insert(Decided::Nothing),
                        other => &mut found.booleans[usize::from(other.as_bool() == Some(true))],
                    };
                    *decided = match *decided {
                        Decided::Nothing => Decided::Branch(index),
                        held if held == Decided::Branch(index) => held,
                        _ => Decided::Open,
                    };
                }
            }
            for (index, branch) in branches() {
                let own = branch.listed[name].iter().filter(|value| found.by_value(value) == Decided::Branch(index));
                let own: Vec<Value> = own.map(|value| (*value).clone()).collect();
                found.cases.extend((!own.is_empty()).then_some((index, own)));
            }
        } else {
            (found.booleans, found.others) = ([Decided::Open; 2], Decided::Open);
        }
        let mut without = branches().filter(|(_, branch)| !(branch.required.contains(name) && listed(branch)));
        if let ([_], Some((index, _)), None) = (path, without.next(), without.next()) {
            found.absent = Decided::Branch(index);
        }
        (found.decided() > 0).then_some(found)
    }

    /// How many branches it selects.
    fn decided(&self) -> usize {
        self.cases.len() + usize::from(self.absent != Decided::Open)
    }

    fn by_value(&self, value: &Value) -> Decided {
        match value {
            Value::String(text) => self.texts.get(text.as_str()).copied().unwrap_or(self.others),
            Value::Bool(value) => self.booleans[usize::from(*value)],
            Value::Number(number) => number.as_i64().map_or(self.others, |number| self.by_integer(number)),
            _ => self.others,
        }
    }

    fn by_integer(&self, number: i64) -> Decided {
        self.integers.get(&number).copied().unwrap_or(self.others)
    }

    /// What a value selects.
    pub(super) fn by(&self, value: Node<'_>) -> Decided {
        let Some((name, outer)) = self.path.split_last() else { return Decided::Open };
        let mut object = value;
        for name in outer {
            let Some(inner) = object.get(name) else { return Decided::Open };
            object = inner;
        }
        if object.kind() != Kind::Object {
            return Decided::Open;
        }
        let Some(member) = object.get(name) else { return self.absent };
        match member.kind() {
            Kind::String => {
                let text = member.as_str().unwrap_or_default();
                self.texts.get(&*text).copied().unwrap_or(self.others)
            }
            Kind::Number => integer(member).map_or(self.others, |number| self.by_integer(number)),
            Kind::Boolean => self.booleans[usize::from(member.as_bool() == Some(true))],
            _ => self.others,
        }
    }

    /// The same for the judge: schemas that hold together where the choice of the schema at `at` does. `all` is the
    /// choice itself, and `to` leads to a branch.
    pub(super) fn guarded(&self, at: &str, all: &Value, to: impl Fn(&str) -> Value) -> Vec<Value> {
        let branch = |index: usize| to(&below(at, &[self.keyword, &index.to_string()]));
        let mut guards: Vec<(Value, usize)> =
            self.cases.iter().map(|(index, values)| (self.guard(values), *index)).collect();
        if let (Decided::Branch(index), [name]) = (self.absent, &self.path[..]) {
            guards.push((json!({"type": "object", "not": {"required": [name]}}), index));
        }
        let any: Vec<&Value> = guards.iter().map(|(guard, _)| guard).collect();
        let otherwise = json!({"if": {"anyOf": any}, "else": all});
        let cases = guards.iter().map(|(guard, index)| json!({"if": guard, "then": branch(*index)}));
        cases.chain([otherwise]).collect()
    }

    /// A schema of the values whose member is one of these.
    fn guard(&self, values: &[Value]) -> Value {
        self.path.iter().rev().fold(
            json!({"enum": values}),
            |inner, name| json!({"type": "object", "required": [name], "properties": {name: inner}}),
        )
    }
}

/// What a branch states of every object that it takes.
struct BranchFacts<'d> {
    takes_objects: bool,
    /// By the name of a member, the only values that it may have.
    listed: BTreeMap<&'d str, Vec<&'d Value>>,
    required: BTreeSet<&'d str>,
    /// Other members that it describes.
    members: BTreeMap<&'d str, &'d Value>,
}

impl BranchFacts<'_> {
    /// Of a branch that was not read.
    fn nothing(takes_objects: bool) -> Self {
        Self { takes_objects, listed: BTreeMap::new(), required: BTreeSet::new(), members: BTreeMap::new() }
    }

    /// Adds what all branches of a choice state.
    fn add_choice(&mut self, mut branches: Vec<Self>) {
        branches.retain(|branch| branch.takes_objects);
        let Some(last) = branches.pop() else {
            self.takes_objects = false;
            return;
        };
        for (name, mut values) in last.listed {
            if branches.iter().all(|branch| branch.listed.contains_key(name)) {
                values.extend(branches.iter().flat_map(|branch| &branch.listed[name]));
                self.listed.entry(name).or_insert(values);
            }
        }
        let required = last.required.into_iter();
        self.required.extend(required.filter(|name| branches.iter().all(|branch| branch.required.contains(name))));
    }
}

/// Finds the decisions of a document's choices.
pub(super) struct Decisions<'d> {
    document: &'d Value,
    /// How many schemas may still be read. What is not read decides nothing.
    left: Cell<usize>,
}

impl<'d> Decisions<'d> {
    pub(super) fn of(document: &'d Value) -> Self {
        Self { document, left: Cell::new(MAX_READ) }
    }

    /// The decision of one of these choices of the schema at a JSON pointer, where there is one.
    pub(super) fn at(&self, at: &str, keywords: &[&'static str]) -> Option<Decision> {
        let schema = refs::at(self.document, at)?.as_object()?;
        keywords.iter().copied().find_map(|keyword| {
            let branches = schema.get(keyword)?.as_array()?;
            // Most choices are between objects of one branch and scalars.
            if branches.iter().filter(|branch| takes_objects(&self.parts(branch))).count() < 2 {
                return None;
            }
            let stated: Vec<_> = branches.iter().map(|branch| self.stated(branch, MAX_NESTED)).collect();
            let direct = names(&stated).into_iter().filter_map(|name| Decision::by_member(keyword, &[name], &stated));
            direct.max_by_key(Decision::decided).or_else(|| self.by_inner_member(keyword, &stated))
        })
    }

    /// By a member of a member that all branches describe.
    fn by_inner_member(&self, keyword: &'static str, stated: &[BranchFacts<'d>]) -> Option<Decision> {
        let taking = || stated.iter().filter(|branch| branch.takes_objects);
        let outer = taking().next()?.members.keys();
        let outer = outer.filter(|name| taking().all(|branch| branch.members.contains_key(*name)));
        let decisions = outer.filter_map(|outer| {
            let inner = stated.iter().map(|branch| match branch.members.get(outer) {
                Some(member) => self.stated(member, 0),
                None => BranchFacts::nothing(false),
            });
            let inner: Vec<_> = inner.collect();
            let decisions = names(&inner).into_iter();
            let decisions = decisions.filter_map(|name| Decision::by_member(keyword, &[outer, name], &inner));
            decisions.max_by_key(Decision::decided)
        });
        decisions.max_by_key(Decision::decided)
    }

    /// What a branch states. Choices in it are read to a depth of `nested`.
    fn stated(&self, schema: &'d Value, nested: usize) -> BranchFacts<'d> {
        let parts = self.parts(schema);
        if self.left.get() == 0 {
            return BranchFacts::nothing(true);
        }
        let mut stated = BranchFacts::nothing(schema != &Value::Bool(false) && takes_objects(&parts));
        for part in &parts {
            let required = part.get("required").and_then(Value::as_array).into_iter().flatten();
            stated.required.extend(required.filter_map(Value::as_str));
            for (name, member) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                match self.listed(member) {
                    Some(values) => drop(stated.listed.entry(name).or_insert(values)),
                    None => drop(stated.members.entry(name).or_insert(member)),
                }
            }
        }
        if let Some(nested) = nested.checked_sub(1) {
            let choices = parts.iter().flat_map(|part| ["oneOf", "anyOf"].map(|keyword| part.get(keyword)));
            for branches in choices.flatten().filter_map(Value::as_array) {
                stated.add_choice(branches.iter().map(|branch| self.stated(branch, nested)).collect());
            }
        }
        stated
    }

    /// The only values that a schema allows, where it lists them and allows null nowhere else.
    fn listed(&self, schema: &'d Value) -> Option<Vec<&'d Value>> {
        let parts = self.parts(schema);
        if parts.iter().any(|part| part.get(NULLABLE) == Some(&Value::Bool(true))) {
            return None;
        }
        parts.into_iter().find_map(|part| match (part.get("const"), part.get("enum")) {
            (Some(only), _) => Some(vec![only]),
            (None, Some(Value::Array(values))) => Some(values.iter().collect()),
            _ => None,
        })
    }

    /// A schema with those that apply with it; none once too many were read.
    fn parts(&self, schema: &'d Value) -> Vec<&'d Map<String, Value>> {
        let parts = match schema {
            Value::Object(schema) if self.left.get() > 0 => parts(self.document, schema),
            _ => Vec::new(),
        };
        self.left.set(self.left.get().saturating_sub(1 + parts.len()));
        parts
    }
}

/// The integer that a number is, however it is written.
fn integer(value: Node<'_>) -> Option<i64> {
    if value.is_written_as_integer() {
        value.raw().parse().ok()
    } else {
        Number::parse(value.raw()).as_i128()?.try_into().ok()
    }
}

fn names<'d>(branches: &[BranchFacts<'d>]) -> BTreeSet<&'d str> {
    branches.iter().flat_map(|branch| branch.listed.keys().copied()).collect()
}

/// Whether no part of a schema excludes objects by its type.
fn takes_objects(parts: &[&Map<String, Value>]) -> bool {
    parts.iter().filter_map(|part| part.get("type")).all(|types| match types {
        Value::Array(types) => types.iter().any(|name| name == "object"),
        name => name == "object",
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::schema::{Schema, Schemas};
    use contrail_exchange::json::Document;

    fn compiled(schema: &Value) -> Schema {
        Schemas::new(&Arc::new(json!({ "s": schema }))).at("/s")
    }

    /// What a value violates of a schema, each with its place.
    fn violations(schema: &Schema, value: &Value) -> Vec<(String, String)> {
        let document = Document::parse(value.to_string()).unwrap();
        let judged = schema.judge(&document, &|_| false).unwrap();
        judged.violations.into_iter().map(|violation| (violation.at, violation.expected.into_owned())).collect()
    }

    fn one(at: &str, expected: &str) -> Vec<(String, String)> {
        vec![(at.to_owned(), expected.to_owned())]
    }

    fn tagged(members: &Value, required: &[&str]) -> Value {
        json!({"type": "object", "properties": members, "required": required})
    }

    #[test]
    fn what_is_wrong_in_a_choice_of_choices_is_that_of_the_branch_which_its_members_select() {
        let action = |kind: &str, name: &str, member: &str| {
            let members = json!({"type": {"const": kind}, "action": {"enum": [name]}, member: {"type": "string"}});
            tagged(&members, &["type", "action", member])
        };
        let schema = compiled(&json!({"oneOf": [
            {"oneOf": [action("mail", "send", "to"), action("mail", "read", "from")]},
            {"anyOf": [action("file", "open", "path"), action("file", "send", "to")]},
        ]}));
        let value = |kind: &str, name: &str| json!({"type": kind, "action": name, "to": 1, "path": 1, "from": "x"});
        assert_eq!(violations(&schema, &value("mail", "send")), one("/to", "a string"));
        assert_eq!(violations(&schema, &value("file", "open")), one("/path", "a string"));
        assert_eq!(violations(&schema, &value("mail", "read")), []);
        assert_eq!(violations(&schema, &value("mail", "open")), one("/action", "one of `send`, `read`"));
        assert_eq!(violations(&schema, &value("fax", "send")), one("/type", "one of `mail`, `file`"));
    }

    #[test]
    fn a_member_of_a_member_selects_a_branch() {
        let target = |kind: &str, member: &str| {
            let inner = json!({"kind": {"const": kind}, member: {"type": "integer"}});
            tagged(&json!({"target": tagged(&inner, &["kind"]), "list": {"items": {"type": "string"}}}), &["target"])
        };
        let schema = compiled(&json!({"anyOf": [target("a", "x"), target("b", "y")]}));
        let value = |kind: &str| json!({"target": {"kind": kind, "x": "", "y": ""}, "list": ["", 1]});
        let wrong = |at: &str| [one("/list/1", "a string"), one(at, "an integer")].concat();
        assert_eq!(violations(&schema, &value("a")), wrong("/target/x"));
        assert_eq!(violations(&schema, &value("b")), wrong("/target/y"));
    }

    #[test]
    fn without_the_member_that_marks_a_branch_the_other_one_is_selected() {
        let plain = tagged(&json!({"id": {"type": "string"}}), &["id"]);
        let deleted = tagged(&json!({"deleted": {"enum": [true]}, "id": {"type": "string"}}), &["deleted", "id"]);
        let schema = compiled(&json!({"anyOf": [{"type": "string"}, plain, deleted]}));
        assert_eq!(violations(&schema, &json!({"id": 1})), one("/id", "a string"));
        assert_eq!(violations(&schema, &json!({"id": "", "deleted": false})), []);
    }

    fn branches() -> impl Strategy<Value = Vec<Value>> {
        let member = prop_oneof![
            4 => prop::collection::vec(prop_oneof![Just(json!("x")), Just(json!("y")), Just(json!(true))], 1..3)
                .prop_map(|values| json!({ "enum": values })),
            1 => Just(json!({"const": "x"})),
            1 => Just(json!({"const": 1})),
            1 => Just(json!({"enum": [2, "x"]})),
            1 => Just(json!({"enum": [1.0]})),
            1 => Just(json!({"enum": ["z", null]})),
            1 => Just(json!({"type": "string"})),
            1 => Just(json!({})),
        ];
        let members = |member: BoxedStrategy<Value>| prop::collection::btree_map("[abc]", member, 0..3);
        let required = || prop::collection::btree_set("[abc]", 0..3);
        let object = |members, required| json!({"type": "object", "properties": members, "required": required});
        let flat = (members(member.clone().boxed()), required())
            .prop_map(move |(held, names)| object(json!(held), json!(names)));
        let inner = flat.prop_recursive(3, 16, 3, move |inner| {
            let any_member = prop_oneof![2 => member.clone(), 1 => inner.clone()].boxed();
            let several = || prop::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                4 => (members(any_member), required()).prop_map(move |(held, names)| object(json!(held), json!(names))),
                2 => several().prop_map(|any| json!({ "anyOf": any })),
                2 => several().prop_map(|one| json!({ "oneOf": one })),
                1 => several().prop_map(|all| json!({ "allOf": all })),
                1 => Just(json!({"type": ["string", "null"]})),
            ]
        });
        prop::collection::vec(inner, 2..4)
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            3 => Just(json!("x")),
            3 => Just(json!("y")),
            1 => Just(json!("z")),
            2 => Just(json!(true)),
            1 => Just(json!(false)),
            1 => Just(json!(null)),
            1 => Just(json!(1)),
            1 => Just(json!(1.0)),
            1 => Just(json!(2)),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|members| json!(members))
        })
    }

    /// What a member selects in the whole of a value.
    fn selected(schema: &Value, keyword: &'static str, value: &Value) -> Option<usize> {
        let document = json!({ "s": schema });
        let decision = Decisions::of(&document).at("/s", &[keyword])?;
        match decision.by(Document::parse(value.to_string()).unwrap().root()) {
            Decided::Branch(index) => Some(index),
            _ => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_branch_that_a_member_selects_is_judged_by_as_if_it_stood_alone(
            branches in branches(),
            is_one in any::<bool>(),
            values in prop::collection::vec(values(), 16),
        ) {
            let keyword = if is_one { "oneOf" } else { "anyOf" };
            let schema = json!({ keyword: branches });
            let choice = compiled(&schema);
            for value in values {
                let Some(branch) = selected(&schema, keyword, &value).map(|index| &branches[index]) else { continue };
                let document = Document::parse(value.to_string()).unwrap();
                let judged = |schema: &Schema| schema.judge(&document, &|_| false).unwrap();
                prop_assert_eq!(judged(&choice), judged(&compiled(branch)), "{} {}", schema, value);
            }
        }

        #[test]
        fn a_member_that_decides_changes_no_verdict(
            branches in branches(),
            is_one in any::<bool>(),
            values in prop::collection::vec(values(), 16),
        ) {
            let schema = json!({ if is_one { "oneOf" } else { "anyOf" }: branches });
            let (judged, stated) = (compiled(&schema), jsonschema::validator_for(&schema).unwrap());
            for value in values {
                prop_assert_eq!(violations(&judged, &value).is_empty(), stated.is_valid(&value), "{} {}", schema, value);
            }
        }
    }
}
