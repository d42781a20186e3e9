//! From a schema to its walker.

use std::collections::{HashMap, HashSet};

use jsonschema::Validator;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{Accounts, Additional, Branch, Condition, Entry, Known, Part, Types};
use crate::{
    contract::schema::SchemaError,
    json::{Tape, push_pointer},
};

/// Builds the judge of a branch, given its pointer into the document.
type Judge<'a> = &'a dyn Fn(&str) -> Result<Validator<Tape>, SchemaError>;

struct Compiler<'a> {
    document: &'a Value,
    judge: Judge<'a>,
    entries: Vec<Entry>,
    /// Index of each schema by its pointer, so that references may lead in circles.
    known: HashMap<String, usize>,
    /// Indices of schemas that are being compiled.
    open: HashSet<usize>,
    recursive: bool,
}

impl Accounts {
    /// For the schema at `pointer` of `document`.
    pub(in crate::contract::schema) fn compile(
        document: &Value,
        pointer: &str,
        judge: Judge<'_>,
    ) -> Result<Self, SchemaError> {
        let (entries, known, open) = (Vec::new(), HashMap::new(), HashSet::new());
        let mut compiler = Compiler { document, judge, entries, known, open, recursive: false };
        let root = compiler.at(pointer)?;
        let recursive = compiler.recursive;
        let types = Types::default();
        let mut accounts = Self { entries: compiler.entries, root, recursive, recursive_choice: false, types };
        accounts.prepare();
        Ok(accounts)
    }
}

impl Compiler<'_> {
    fn at(&mut self, pointer: &str) -> Result<usize, SchemaError> {
        if let Some(index) = self.known.get(pointer) {
            self.recursive |= self.open.contains(index);
            return Ok(*index);
        }
        let index = self.entries.len();
        self.entries.push(Entry::default());
        self.known.insert(pointer.to_owned(), index);
        self.open.insert(index);
        let entry = match self.document.pointer(pointer) {
            Some(Value::Object(schema)) => self.entry(pointer, schema)?,
            Some(Value::Bool(false)) => Entry { additional: Additional::Closed, ..Entry::default() },
            Some(_) => Entry { silent: true, ..Entry::default() },
            // A reference that this walker cannot follow, of which it says nothing. It may lead anywhere.
            None => {
                self.recursive = true;
                Entry { silent: true, ..Entry::default() }
            }
        };
        self.open.remove(&index);
        self.entries[index] = entry;
        Ok(index)
    }

    fn below(&mut self, pointer: &str, steps: &[&str]) -> Result<usize, SchemaError> {
        let mut pointer = pointer.to_owned();
        for step in steps {
            push_pointer(&mut pointer, step);
        }
        self.at(&pointer)
    }

    fn entry(&mut self, pointer: &str, schema: &Map<String, Value>) -> Result<Entry, SchemaError> {
        let mut entry = Entry {
            types: types(schema.get("type")),
            silent: !schema.keys().any(|keyword| says_something(keyword)),
            unnamed: schema.get("x-contrail-unnamed-keys").map(|count| unnamed(pointer, count)).transpose()?,
            known: known(pointer, schema.get("x-contrail-known-values"))?,
            ..Entry::default()
        };
        let objects = |keyword: &str| schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let arrays = |keyword: &str| 0..schema.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let fragment = target.strip_prefix('#').map(|fragment| percent_decode_str(fragment).decode_utf8_lossy());
            entry.always.push(self.at(fragment.as_deref().unwrap_or("?"))?);
        }
        if schema.contains_key("$dynamicRef") {
            entry.always.push(self.at("?")?);
        }
        for index in arrays("allOf") {
            entry.always.push(self.below(pointer, &["allOf", &index.to_string()])?);
        }
        for keyword in ["oneOf", "anyOf"] {
            let mut branches = Vec::new();
            for index in arrays(keyword) {
                branches.push(self.branch(pointer, &[keyword, &index.to_string()])?);
            }
            if !branches.is_empty() {
                entry.choices.push(branches);
            }
        }
        if schema.contains_key("if") {
            let mut one = |keyword| schema.contains_key(keyword).then(|| self.below(pointer, &[keyword])).transpose();
            let (then, otherwise) = (one("then")?, one("else")?);
            entry.condition = Some(Condition { test: self.branch(pointer, &["if"])?, then, otherwise });
        }
        for name in objects("dependentSchemas") {
            entry.dependent.push((name.as_str().into(), self.below(pointer, &["dependentSchemas", name])?));
        }
        for name in objects("properties") {
            entry.properties.push((name.as_str().into(), self.below(pointer, &["properties", name])?));
        }
        for pattern in objects("patternProperties") {
            let validator =
                jsonschema::options_for::<Tape>().build(&json!({ "pattern": pattern })).map_err(|error| {
                    SchemaError { at: format!("{pointer}/patternProperties"), reason: error.to_string() }
                })?;
            entry.patterns.push((validator, self.below(pointer, &["patternProperties", pattern])?));
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            entry.additional = match schema.get(keyword) {
                None => continue,
                Some(Value::Bool(false)) => Additional::Closed,
                Some(Value::Bool(true)) => Additional::Free,
                Some(Value::Object(schema)) if schema.is_empty() => Additional::Free,
                Some(_) => Additional::Schema(self.below(pointer, &[keyword])?),
            };
            break;
        }
        for index in arrays("prefixItems") {
            entry.prefix.push(self.below(pointer, &["prefixItems", &index.to_string()])?);
        }
        for keyword in ["items", "unevaluatedItems"] {
            if schema.contains_key(keyword) {
                entry.items = Some(self.below(pointer, &[keyword])?);
                break;
            }
        }
        Ok(entry)
    }

    fn branch(&mut self, pointer: &str, steps: &[&str]) -> Result<Branch, SchemaError> {
        let mut pointer = pointer.to_owned();
        for step in steps {
            push_pointer(&mut pointer, step);
        }
        Ok(Branch { validator: (self.judge)(&pointer)?, entry: self.at(&pointer)? })
    }
}

/// Whether a keyword says anything about a value, beyond describing it to a reader.
pub(in crate::contract::schema) fn says_something(keyword: &str) -> bool {
    let describes = matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "example"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "externalDocs"
            | "xml"
            | "$comment"
            | "$schema"
            | "$id"
            | "$anchor"
            | "$defs"
    );
    !describes
        && (!keyword.starts_with("x-") || matches!(keyword, "x-contrail-known-values" | "x-contrail-unnamed-keys"))
}

fn types(keyword: Option<&Value>) -> Types {
    let mut types = Types::default();
    let names = match keyword {
        Some(Value::Array(names)) => names.iter().collect(),
        Some(name) => vec![name],
        None => Vec::new(),
    };
    for name in names {
        types.add(match name.as_str() {
            Some("null") => Types::NULL,
            Some("boolean") => Types::BOOLEAN,
            Some("integer") => Types::INTEGER,
            Some("number") => Types::NUMBER,
            Some("string") => Types::STRING,
            Some("array") => Types::ARRAY,
            Some("object") => Types::OBJECT,
            _ => Types::default(),
        });
    }
    types
}

fn unnamed(pointer: &str, count: &Value) -> Result<usize, SchemaError> {
    count.as_u64().and_then(|count| usize::try_from(count).ok()).ok_or_else(|| SchemaError {
        at: format!("{pointer}/x-contrail-unnamed-keys"),
        reason: "it has to be how many keys there are, a whole number".to_owned(),
    })
}

/// Reads `x-contrail-known-values`.
pub(in crate::contract::schema) fn known(pointer: &str, keyword: Option<&Value>) -> Result<Vec<Known>, SchemaError> {
    let fault = || SchemaError {
        at: format!("{pointer}/x-contrail-known-values"),
        reason: "it has to be a list of texts".to_owned(),
    };
    match keyword {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| {
                let written = value.as_str().ok_or_else(fault)?;
                Ok(Known { written: written.into(), parts: parts(written) })
            })
            .collect(),
        Some(_) => Err(fault()),
    }
}

/// `client_id:{client_id}` is a text and any text; braces without a name between them are text.
pub(super) fn parts(written: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = written;
    let mut literal = String::new();
    while let Some(open) = rest.find('{') {
        let name = rest[open + 1..].split_once('}').map(|(name, _)| name);
        let is_name = |name: &&str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        let Some(name) = name.filter(is_name) else {
            literal.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        };
        literal.push_str(&rest[..open]);
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal).into()));
        }
        parts.push(if name == "origin" { Part::Origin } else { Part::Any });
        rest = &rest[open + name.len() + 2..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Text(literal.into()));
    }
    parts
}
