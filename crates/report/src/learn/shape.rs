//! A schema that all seen values fit.

use std::collections::BTreeMap;

use contrail_exchange::json::{Kind, Node, push_pointer};
use serde_json::{Map, Value, json};

/// How many objects have to have a member, all of them, before it counts as required.
pub(super) const ENOUGH: u64 = 20;
/// Maximum different members of one object; beyond, its names are data.
const MAX_MEMBERS: usize = 100;
/// Maximum nesting that is described.
const MAX_DEPTH: usize = 12;

/// What is common to the values that were seen at one place.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    values: u64,
    /// One was replaced by redaction, so its value is unknown.
    hidden: bool,
    kinds: [bool; 7],
    objects: u64,
    members: BTreeMap<String, Member>,
    /// There are too many names, or too many levels.
    open: bool,
    items: Option<Box<Shape>>,
    format: Option<Format>,
}

#[derive(Debug, Clone, Default)]
struct Member {
    present: u64,
    shape: Shape,
}

/// The types of JSON Schema, in the order in which they are listed.
const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

/// A format that every string so far had, if they had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    DateTime,
    Date,
    Uuid,
    None,
}

impl Format {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let digits =
            |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
        let dated = digits(0..4) && digits(5..7) && digits(8..10) && text.parse::<jiff::civil::Date>().is_ok();
        if bytes.len() == 10 && dated {
            return Self::Date;
        }
        let is_instant = bytes.len() >= 20
            && bytes[10] == b'T'
            && digits(11..13)
            && digits(14..16)
            && digits(17..19)
            // A leap second is one for RFC 3339 on some days only.
            && bytes[17] < b'6'
            && text.parse::<jiff::Timestamp>().is_ok()
            && !text.contains('[');
        if is_instant {
            return Self::DateTime;
        }
        let is_hex = |(at, byte): (usize, &u8)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        };
        if bytes.len() == 36 && bytes.iter().enumerate().all(is_hex) { Self::Uuid } else { Self::None }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::DateTime => Some("date-time"),
            Self::Date => Some("date"),
            Self::Uuid => Some("uuid"),
            Self::None => None,
        }
    }
}

impl Shape {
    /// Takes in a value; `redacted` are the places of the document that hold labels in place of values.
    pub(super) fn add(&mut self, value: Node<'_>, redacted: &[String]) {
        self.descend(value, redacted, &mut String::new(), 0);
    }

    fn descend(&mut self, value: Node<'_>, redacted: &[String], at: &mut String, depth: usize) {
        self.values += 1;
        if redacted.iter().any(|place| *place == **at) {
            self.hidden = true;
            return;
        }
        let kind = match value.kind() {
            Kind::Object => 0,
            Kind::Array => 1,
            Kind::String => 2,
            Kind::Number if !value.raw().contains(['.', 'e', 'E']) => 3,
            Kind::Number => 4,
            Kind::Boolean => 5,
            Kind::Null => 6,
        };
        self.kinds[kind] = true;
        if depth == MAX_DEPTH && kind < 2 {
            self.open = true;
            return;
        }
        let length = at.len();
        match value.kind() {
            Kind::String => {
                let format = Format::of(&value.as_str().unwrap_or_default());
                self.format = Some(self.format.map_or(format, |held| if held == format { held } else { Format::None }));
            }
            Kind::Object => {
                self.objects += 1;
                let mut counted = std::collections::HashSet::new();
                for (name, member) in value.members() {
                    if self.open || (!self.members.contains_key(&*name) && self.members.len() == MAX_MEMBERS) {
                        self.open = true;
                        self.members.clear();
                        break;
                    }
                    push_pointer(at, &name);
                    let held = self.members.entry(name.clone().into_owned()).or_default();
                    held.present += u64::from(counted.insert(name));
                    held.shape.descend(member, redacted, at, depth + 1);
                    at.truncate(length);
                }
            }
            Kind::Array => {
                let items = self.items.get_or_insert_default();
                for (index, item) in value.items().enumerate() {
                    push_pointer(at, &index.to_string());
                    items.descend(item, redacted, at, depth + 1);
                    at.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The schema.
    pub(super) fn schema(&self) -> Value {
        if self.hidden || self.values == 0 {
            return json!({});
        }
        let is_seen = |at: usize| self.kinds[at] && !(TYPES[at] == "integer" && self.kinds[at + 1]);
        let types: Vec<&str> = (0..TYPES.len()).filter(|at| is_seen(*at)).map(|at| TYPES[at]).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), if let [one] = types[..] { json!(one) } else { json!(types) });
        if let Some(format) = self.format.and_then(Format::name) {
            schema.insert("format".to_owned(), format.into());
        }
        let required = self.always();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if !self.members.is_empty() {
            let properties = self.members.iter().map(|(name, member)| (name.clone(), member.shape.schema()));
            schema.insert("properties".to_owned(), Value::Object(properties.collect()));
        }
        if let Some(items) = self.items.as_ref().filter(|items| items.values > 0 && !self.open) {
            schema.insert("items".to_owned(), items.schema());
        }
        Value::Object(schema)
    }

    /// A schema that states only which members are required; `None` where none is known to be.
    pub(super) fn required(&self) -> Option<Value> {
        let mut schema = Map::new();
        let required = self.always();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        let below = |(name, member): (&String, &Member)| Some((name.clone(), member.shape.required()?));
        let properties: Map<String, Value> = self.members.iter().filter_map(below).collect();
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if let Some(items) = self.items.as_ref().and_then(|items| items.required()) {
            schema.insert("items".to_owned(), items);
        }
        (!schema.is_empty()).then_some(Value::Object(schema))
    }

    /// The members that all of enough objects have.
    fn always(&self) -> Vec<&str> {
        let all = |member: &Member| self.objects >= ENOUGH && member.present == self.objects && !self.hidden;
        self.members.iter().filter(|(_, member)| all(member)).map(|(name, _)| name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contrail_exchange::json::Document;

    fn shape(values: &[&str]) -> Shape {
        let mut shape = Shape::default();
        for value in values {
            shape.add(Document::parse(value.to_string()).unwrap().root(), &[]);
        }
        shape
    }

    #[test]
    fn a_schema_lists_the_types_and_the_format_that_every_value_has() {
        let schema = shape(&[
            r#"{"id":1,"at":"2026-01-31T10:00:00.5Z","n":1,"s":"x","list":[1,null],"u":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#,
            r#"{"id":2,"at":"2024-02-29T23:59:59+01:00","n":1.5,"s":null,"list":[],"u":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}"#,
        ])
        .schema();
        let expected = json!({"type": "object", "properties": {
            "id": {"type": "integer"}, "at": {"type": "string", "format": "date-time"}, "n": {"type": "number"},
            "s": {"type": ["string", "null"]}, "list": {"type": "array", "items": {"type": ["integer", "null"]}},
            "u": {"type": "string", "format": "uuid"}}});
        assert_eq!(schema, expected);
    }

    #[test]
    fn a_day_that_no_calendar_has_is_no_date() {
        for text in [
            "2026-02-30",
            "2026-02-30T10:00:00Z",
            "2026-13-01",
            "20260101",
            "2026-01-01T10:00:60Z",
            "2026-01-01T10:00:00",
        ] {
            assert_eq!(Format::of(text), Format::None, "{text}");
        }
        assert_eq!(Format::of("2026-02-28"), Format::Date);
    }

    #[test]
    fn a_member_is_required_once_twenty_objects_have_it_and_none_lacks_it() {
        let values = vec![r#"{"a":1,"b":{"c":[{"d":1}]}}"#; 19];
        assert_eq!(shape(&values).required(), None);
        let mut values = [&values[..], &[r#"{"a":1,"b":{"c":[{"d":1}]},"e":2}"#]].concat();
        let inner = json!({"required": ["c"], "properties": {"c": {"items": {"required": ["d"]}}}});
        assert_eq!(shape(&values).required().unwrap(), json!({"required": ["a", "b"], "properties": {"b": inner}}));
        values.push(r#"{"b":{"c":[{}]}}"#);
        let inner = json!({"required": ["c"]});
        assert_eq!(shape(&values).required().unwrap(), json!({"required": ["b"], "properties": {"b": inner}}));
    }

    #[test]
    fn names_without_end_are_data_and_what_was_redacted_is_anything() {
        let many: Map<String, Value> = (0..=MAX_MEMBERS).map(|n| (format!("id{n}"), json!(n))).collect();
        assert_eq!(shape(&[&Value::Object(many).to_string()]).schema(), json!({"type": "object"}));
        let mut shape = Shape::default();
        let document = Document::parse(r#"{"a":{"b":"[label]","c":true}}"#.to_owned()).unwrap();
        shape.add(document.root(), &["/a/b".to_owned()]);
        let inner = json!({"type": "object", "properties": {"b": {}, "c": {"type": "boolean"}}});
        assert_eq!(shape.schema(), json!({"type": "object", "properties": {"a": inner}}));
    }
}
