//! Values that a schema allows, without chance: equal settings give equal values.

use contrail_contract::refs;
use contrail_exchange::json::unescape_pointer;
use serde_json::{Map, Number, Value, json};

use super::pattern;

/// Maximum nesting of a value.
const MAX_DEPTH: usize = 24;
/// Nesting beyond which optional members and items are left out.
const MAX_OPTIONAL_DEPTH: usize = 4;
/// Maximum choices that lead to one another at one place.
const MAX_CHOICES: usize = 128;
/// Maximum schemas that one value takes.
const MAX_STEPS: usize = 20_000;
/// Maximum characters of a text that is filled to its `minLength`.
const MAX_LENGTH: usize = 1 << 16;

/// How a value is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Take examples and defaults of the schema.
    pub(super) examples: bool,
    /// Fill in what is not required.
    pub(super) optional: bool,
    /// Which branch of a choice is tried first, which item of an enumeration is taken.
    pub(super) salt: usize,
}

impl Style {
    /// The style of one of several attempts: examples come first, then other values.
    pub(super) fn of(attempt: usize, seed_number: usize) -> Self {
        Self {
            examples: attempt < 2,
            optional: attempt.is_multiple_of(2),
            salt: seed_number.wrapping_add(attempt.saturating_sub(3)),
        }
    }
}

/// Which message a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Response,
}

/// Makes values from the schemas of a document.
pub(super) struct Generator<'d> {
    document: &'d Value,
    style: Style,
    direction: Direction,
    steps: usize,
}

/// A schema with its references followed and the parts of its `allOf` merged.
#[derive(Debug, Clone, Default)]
struct Flat {
    keywords: Map<String, Value>,
    /// The branches of each `oneOf` and `anyOf`, with the discriminator beside it.
    choices: Vec<(Vec<Value>, Option<Value>)>,
}

impl<'d> Generator<'d> {
    pub(super) fn new(document: &'d Value, style: Style, direction: Direction) -> Self {
        Self { document, style, direction, steps: 0 }
    }

    /// A value; `None` if there is none within the bounds.
    pub(super) fn value(&mut self, schema: &Value) -> Option<Value> {
        self.at(schema, 0)
    }

    fn at(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        let mut flat = Flat::default();
        self.flatten(schema, &mut flat, 0)?;
        self.choose(flat, depth, 0)
    }

    /// Follows references and merges the parts of `allOf`; `None` where nothing is allowed.
    fn flatten(&mut self, schema: &Value, flat: &mut Flat, chain: usize) -> Option<()> {
        self.steps += 1;
        if chain > MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        let schema = match schema {
            Value::Bool(true) => return Some(()),
            Value::Object(schema) => schema,
            _ => return None,
        };
        for (keyword, value) in schema {
            match (&**keyword, value) {
                ("$ref", Value::String(target)) => {
                    let target = self.document.pointer(&refs::target(target)?)?;
                    self.flatten(target, flat, chain + 1)?;
                }
                ("allOf", Value::Array(parts)) => {
                    for part in parts {
                        self.flatten(part, flat, chain + 1)?;
                    }
                }
                ("oneOf" | "anyOf", Value::Array(branches)) => {
                    flat.choices.push((branches.clone(), schema.get("discriminator").cloned()));
                }
                _ => merge(&mut flat.keywords, keyword, value),
            }
        }
        Some(())
    }

    /// Takes a branch of the last choice that is left.
    fn choose(&mut self, mut flat: Flat, depth: usize, chosen: usize) -> Option<Value> {
        if chosen > MAX_CHOICES {
            return None;
        }
        let Some((branches, discriminator)) = flat.choices.pop() else { return self.plain(&flat.keywords, depth) };
        // In the depths, what ends is better than what comes next.
        let first = if depth < MAX_OPTIONAL_DEPTH { self.style.salt } else { 0 };
        for offset in 0..branches.len() {
            let branch = &branches[(first + offset) % branches.len()];
            let mut with = flat.clone();
            if let Some((property, value)) = discriminator.as_ref().and_then(|held| selected(held, branch)) {
                merge(&mut with.keywords, "properties", &json!({property: {"const": value}}));
            }
            if self.flatten(branch, &mut with, 0).is_none() {
                continue;
            }
            if let Some(value) = self.choose(with, depth, chosen + 1) {
                return Some(value);
            }
        }
        None
    }

    fn plain(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let values = schema.get("enum").or_else(|| schema.get("x-contrail-known-values")).and_then(Value::as_array);
        if let Some(only) = schema.get("const") {
            return values.is_none_or(|values| values.contains(only)).then(|| only.clone());
        }
        if self.style.examples {
            let examples = schema.get("examples").and_then(Value::as_array).and_then(|examples| examples.first());
            if let Some(example) = schema.get("example").or(examples).or_else(|| schema.get("default")) {
                return Some(example.clone());
            }
        }
        if let Some(values) = values {
            let some: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
            return some.get(self.style.salt % some.len().max(1)).copied().or(values.first()).cloned();
        }
        match kind(schema, self.style.salt) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => self.string(schema).map(Value::String),
            "integer" => number(schema, true, self.style.salt),
            "number" => number(schema, false, self.style.salt),
            "boolean" => Some(Value::Bool(self.style.salt.is_multiple_of(2))),
            _ => Some(Value::Null),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let count = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let (least, most) = (count("minProperties"), count("maxProperties").unwrap_or(usize::MAX));
        let is_needed = |name: &String| required.contains(&name.as_str());
        let mut room = most.saturating_sub(required.len());
        // Where too few are required, what comes first is there too.
        let mut missing = least.unwrap_or_default().saturating_sub(required.len());
        let mut object = Map::new();
        for (name, property) in properties {
            let needed = is_needed(name);
            let wanted = self.style.optional && depth < MAX_OPTIONAL_DEPTH || missing > 0;
            if self.is_left_out(property) || !(needed || wanted && room > 0) {
                continue;
            }
            match self.at(property, depth + 1) {
                Some(value) => {
                    object.insert(name.clone(), value);
                    room = room.saturating_sub(usize::from(!needed));
                    missing = missing.saturating_sub(usize::from(!needed));
                }
                None if needed => return None,
                None => {}
            }
        }
        let other = schema.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            object.insert((*name).to_owned(), self.at(&other, depth + 1)?);
        }
        let names = schema.get("propertyNames").and_then(|names| names.get("pattern")).and_then(Value::as_str);
        let keyed = properties.is_empty() && other.is_object() && self.style.optional && depth < MAX_OPTIONAL_DEPTH;
        for index in 0..least.unwrap_or_default().max(usize::from(keyed)) {
            if object.len() >= least.unwrap_or_default().max(usize::from(keyed)) {
                break;
            }
            let name =
                names.and_then(|names| pattern::matching(names, 1, index)).unwrap_or_else(|| format!("key{index}"));
            match self.at(&other, depth + 1) {
                Some(value) => drop(object.insert(name, value)),
                None if least.is_some() => return None,
                None => {}
            }
        }
        Some(Value::Object(object))
    }

    /// A response leaves out what is `writeOnly`, a request what is `readOnly` (JSON Schema 2020-12, validation, 9.4).
    fn is_left_out(&self, property: &Value) -> bool {
        let keyword = if self.direction == Direction::Request { "readOnly" } else { "writeOnly" };
        let target = refs::followed(self.document, property);
        [property, target].iter().any(|schema| schema.get(keyword) == Some(&Value::Bool(true)))
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let least = count("minItems").unwrap_or_default();
        let usual = usize::from(self.style.optional && depth < MAX_OPTIONAL_DEPTH);
        let most = count("maxItems").unwrap_or(usize::MAX);
        let anything = Value::Bool(true);
        let items = schema.get("items").unwrap_or(&anything);
        let prefix = schema.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let wanted = least.max(usual).max(if depth < MAX_OPTIONAL_DEPTH { prefix.len() } else { 0 }).min(most);
        let mut array: Vec<Value> = Vec::new();
        let own = self.style.salt;
        for index in 0..wanted {
            // Items of a set differ.
            self.style.salt = own + index;
            let value = self.at(prefix.get(index).unwrap_or(items), depth + 1);
            self.style.salt = own;
            match value {
                Some(value) => array.push(value),
                None if array.len() < least => return None,
                None => break,
            }
        }
        Some(Value::Array(array))
    }

    fn string(&mut self, schema: &Map<String, Value>) -> Option<String> {
        let length = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let least = length("minLength").unwrap_or_default();
        if least > MAX_LENGTH {
            return None;
        }
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        if let Some(text) = text("pattern").and_then(|text| pattern::matching(text, least, self.style.salt)) {
            return Some(text);
        }
        let encoded = text("contentEncoding").is_some_and(|coding| coding.eq_ignore_ascii_case("base64"));
        let mut text = match text("format") {
            Some(format) => of_format(format, self.style.salt),
            None if encoded => "YQ==".to_owned(),
            None if self.style.salt == 0 => "text".to_owned(),
            None => format!("text{}", self.style.salt),
        };
        text.extend(std::iter::repeat_n('a', least.saturating_sub(text.chars().count())));
        if let Some(most) = length("maxLength") {
            text = text.chars().take(most).collect();
        }
        Some(text)
    }
}

/// Adds a keyword of another part of an `allOf`.
fn merge(into: &mut Map<String, Value>, keyword: &str, value: &Value) {
    let Some(held) = into.get_mut(keyword) else {
        into.insert(keyword.to_owned(), value.clone());
        return;
    };
    let less = |a: &Value, b: &Value| a.as_f64() < b.as_f64();
    match (keyword, &mut *held, value) {
        ("properties", Value::Object(held), Value::Object(more)) => {
            for (name, schema) in more {
                match held.get_mut(name) {
                    Some(held) => *held = json!({"allOf": [held.take(), schema]}),
                    None => drop(held.insert(name.clone(), schema.clone())),
                }
            }
        }
        ("required", Value::Array(held), Value::Array(more)) => {
            let new: Vec<Value> = more.iter().filter(|name| !held.contains(name)).cloned().collect();
            held.extend(new);
        }
        ("enum", Value::Array(held), Value::Array(other)) => held.retain(|value| other.contains(value)),
        ("type", held, other) => {
            let (mine, theirs) = (types(held), types(other));
            let allowed = |kind: &&String| {
                theirs.contains(*kind) || **kind == "integer" && theirs.iter().any(|kind| kind == "number")
            };
            let narrowed = theirs.iter().filter(|kind| **kind == "integer" && mine.iter().any(|kind| kind == "number"));
            let both: Vec<&String> = mine.iter().filter(allowed).chain(narrowed).collect();
            *held = json!(both);
        }
        ("items", held, other) => *held = json!({"allOf": [held.take(), other]}),
        ("additionalProperties", held, other) if *held != Value::Bool(false) => held.clone_from(other),
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", held, other)
            if less(held, other) =>
        {
            held.clone_from(other);
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", held, other)
            if less(other, held) =>
        {
            held.clone_from(other);
        }
        _ => {}
    }
}

fn types(value: &Value) -> Vec<String> {
    let one = std::slice::from_ref(value);
    let all = value.as_array().map_or(one, Vec::as_slice);
    all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The type of the value to make.
fn kind(schema: &Map<String, Value>, salt: usize) -> &'static str {
    const ALL: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];
    if let Some(held) = schema.get("type") {
        let held = types(held);
        let some: Vec<&&str> = ALL.iter().filter(|kind| held.iter().any(|held| held == **kind)).collect();
        let some =
            if some.len() > 1 { &some[..some.len() - usize::from(*some[some.len() - 1] == "null")] } else { &some };
        return some.get(salt % some.len().max(1)).map_or("null", |kind| **kind);
    }
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
    if has(&["properties", "required", "additionalProperties", "minProperties", "patternProperties"]) {
        "object"
    } else if has(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]) {
        "array"
    } else if has(&["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"]) {
        "number"
    } else {
        "string"
    }
}

/// The member that a discriminator reads, with the value that selects this branch (OpenAPI 3.1, section 4.8.25).
fn selected(discriminator: &Value, branch: &Value) -> Option<(String, String)> {
    let property = discriminator.get("propertyName")?.as_str()?;
    let target = branch.get("$ref")?.as_str()?;
    let name = unescape_pointer(target.rsplit('/').next()?).into_owned();
    let mapping = discriminator.get("mapping").and_then(Value::as_object);
    let mapped = mapping
        .into_iter()
        .flatten()
        .find(|(_, held)| held.as_str().is_some_and(|held| held == target || held == name));
    Some((property.to_owned(), mapped.map_or(name, |(value, _)| value.clone())))
}

/// A number within its bounds, near the lower one.
fn number(schema: &Map<String, Value>, whole: bool, salt: usize) -> Option<Value> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    // A whole number that is a multiple of a fraction is a multiple of 1 mostly; the check finds what is not.
    let step = if whole { Some(step.filter(|step| step.fract() == 0.0).unwrap_or(1.0)) } else { step };
    let (low, over) = (bound("minimum"), bound("exclusiveMinimum"));
    let (high, under) = (bound("maximum"), bound("exclusiveMaximum"));
    let lowest = low.into_iter().chain(over).reduce(f64::max);
    let highest = high.into_iter().chain(under).reduce(f64::min);
    let fits = |value: f64| {
        low.is_none_or(|low| value >= low)
            && over.is_none_or(|over| value > over)
            && high.is_none_or(|high| value <= high)
            && under.is_none_or(|under| value < under)
    };
    #[allow(clippy::cast_precision_loss)] // small
    let salt = salt as f64;
    let candidates = match (step, lowest, highest) {
        (Some(step), Some(low), _) => {
            let first = (low / step).ceil() * step;
            vec![first + salt * step, first, first + step]
        }
        (Some(step), None, Some(high)) => {
            let last = (high / step).floor() * step;
            vec![last - salt * step, last, last - step]
        }
        (Some(step), None, None) => vec![step * (salt + 1.0)],
        (None, Some(low), Some(high)) => vec![low + salt, low, f64::midpoint(low, high), high],
        (None, Some(low), None) => vec![low + salt, low + 1.0],
        (None, None, Some(high)) => vec![high - salt, high - 1.0],
        (None, None, None) => vec![salt + 1.0],
    };
    let value = candidates.into_iter().find(|value| fits(*value))?;
    #[allow(clippy::cast_possible_truncation)] // compared after it
    let integer = value as i64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)]
    if integer as f64 == value { Some(integer.into()) } else { Number::from_f64(value).map(Value::Number) }
}

/// A text of a format (JSON Schema 2020-12, validation, section 7.3; the OpenAPI format registry).
fn of_format(format: &str, salt: usize) -> String {
    let index = salt % 10;
    match format {
        "date-time" => format!("2024-01-02T03:04:0{index}Z"),
        "date" => format!("2024-01-0{}", index.max(1)),
        "time" => format!("03:04:0{index}Z"),
        "duration" => format!("PT{index}S"),
        "uuid" => format!("123e4567-e89b-42d3-a456-42661417400{index}"),
        "email" | "idn-email" => format!("user{index}@example.com"),
        "hostname" | "idn-hostname" => format!("host{index}.example.com"),
        "ipv4" => format!("192.0.2.{index}"),
        "ipv6" => format!("2001:db8::{index}"),
        "uri" | "url" | "iri" | "strict-https-uri" | "https-uri" => format!("https://example.com/{index}"),
        "uri-reference" | "iri-reference" | "json-pointer" => format!("/{index}"),
        "uri-template" => format!("/{index}/{{name}}"),
        "regex" => "a".to_owned(),
        "byte" => "YQ==".to_owned(),
        "relative-json-pointer" | "int32" | "int64" => index.to_string(),
        _ => format!("text{index}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(document: &Value, schema: &Value, salt: usize) -> Option<Value> {
        Generator::new(document, Style { examples: false, optional: true, salt }, Direction::Response).value(schema)
    }

    #[test]
    fn values_fit_their_schemas_by_another_judge() {
        let document = json!({"components": {"schemas": {
            "Cat": {"type": "object", "required": ["kind", "lives"], "properties": {"kind": {"type": "string"},
                "lives": {"type": "integer", "exclusiveMinimum": 3, "multipleOf": 5}}},
            "Tree": {"type": "object", "properties": {"children": {"type": "array", "minItems": 1,
                "items": {"anyOf": [{"$ref": "#/components/schemas/Tree"}, {"type": "null"}]}}}, "required": ["children"]},
        }}});
        for schema in [
            json!({"oneOf": [{"$ref": "#/components/schemas/Cat"}], "discriminator": {"propertyName": "kind"}}),
            json!({"$ref": "#/components/schemas/Tree"}),
            json!({"type": "string", "pattern": "^[a-f]{4}$", "minLength": 4}),
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}),
            json!({"allOf": [{"type": ["number", "null"], "minimum": 2}, {"type": "integer", "maximum": 2.5}]}),
            json!({"type": "object", "minProperties": 2, "additionalProperties": {"type": "boolean"}}),
            json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!({"type": "string", "maxLength": 2}),
            json!({"enum": [null, "a", "b"]}),
            json!({"enum": [2], "allOf": [{"oneOf": [{"const": 1}, {"const": 2}, {"const": 3}]}]}),
        ] {
            let mut whole = document.clone();
            whole["root"] = schema.clone();
            whole["$ref"] = json!("#/root");
            let judge = jsonschema::validator_for(&whole).unwrap();
            for salt in 0..4 {
                let value = made(&document, &schema, salt).unwrap_or_else(|| panic!("{schema}"));
                assert!(judge.is_valid(&value), "{schema}: {value}");
            }
        }
    }

    #[test]
    fn a_discriminator_names_the_branch() {
        let document = json!({"components": {"schemas": {"Cat": {"type": "object"}}}});
        let choice = json!({"oneOf": [{"$ref": "#/components/schemas/Cat"}],
            "discriminator": {"propertyName": "kind", "mapping": {"feline": "#/components/schemas/Cat"}}});
        assert_eq!(made(&document, &choice, 0).unwrap(), json!({"kind": "feline"}));
    }

    #[test]
    fn a_schema_that_never_ends_gives_nothing_and_takes_bounded_time() {
        let document = json!({"components": {"schemas": {
            "A": {"type": "object", "required": ["a", "b"], "properties": {
                "a": {"$ref": "#/components/schemas/A"}, "b": {"$ref": "#/components/schemas/A"}}},
            "B": {"$ref": "#/components/schemas/B"},
        }}});
        for name in ["A", "B"] {
            assert_eq!(made(&document, &json!({"$ref": format!("#/components/schemas/{name}")}), 0), None);
        }
        assert_eq!(made(&document, &Value::Bool(false), 0), None);
    }
}
