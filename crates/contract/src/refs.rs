//! `$ref`: where it stands, what it names, and whether that exists. Within one document only.

use contrail_exchange::json::{push_pointer, unescape_pointer};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use super::{ContractError, UnusablePlace, error::invalid};

/// What a URI fragment cannot hold as it is (RFC 3986, section 3.5), and the percent sign.
pub const FRAGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Longest chain of references that is followed before it is called a loop.
pub(super) const MAX_CHAIN: usize = 64;

/// Every `$ref` of the document that names nothing in it.
pub(super) fn dangling(document: &Value) -> Vec<UnusablePlace> {
    let mut dangling = Vec::new();
    walk(document, &mut |at, object| {
        let Some(target) = object.get("$ref").and_then(Value::as_str) else { return };
        if resolve(document, target).is_none() && !is_meta_schema(target) {
            dangling.push(UnusablePlace::dangling(at, target));
        }
    });
    dangling
}

/// Follows the `$ref` of an OpenAPI object (a parameter, a response, a path item, …) to what it names, with the JSON
/// pointer of the place where that stands.
///
/// # Errors
///
/// [`ContractError::DanglingRef`], and [`ContractError::Invalid`] for references that only name each other.
pub fn follow<'a>(document: &'a Value, at: &str, mut value: &'a Value) -> Result<(String, &'a Value), ContractError> {
    let mut place = at.to_owned();
    for _ in 0..MAX_CHAIN {
        let Some(target) = value.get("$ref").and_then(Value::as_str) else { return Ok((place, value)) };
        let named = self::target(target);
        match named.and_then(|pointer| self::at(document, &pointer).map(|value| (pointer, value))) {
            Some((pointer, found)) => (place, value) = (pointer, found),
            None => return Err(ContractError::DanglingRef { at: place, target: target.to_owned() }),
        }
    }
    Err(invalid(at, "its `$ref` leads in a circle"))
}

/// What a chain of references leads to; the value itself where it leads nowhere.
pub fn followed<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    follow(document, "", value).map_or(value, |(_, found)| found)
}

/// The JSON pointer that a reference within the document stands for; `None` for any other, and for broken
/// percent-encoding.
pub fn target(reference: &str) -> Option<String> {
    let fragment = reference.strip_prefix('#')?;
    percent_encoding::percent_decode_str(fragment).decode_utf8().ok().map(Into::into)
}

/// What a reference within the document names.
pub(super) fn resolve<'v>(document: &'v Value, reference: &str) -> Option<&'v Value> {
    at(document, &target(reference)?)
}

/// Whether a reference leads to a meta-schema of JSON Schema, which the judge brings along.
pub(super) fn is_meta_schema(reference: &str) -> bool {
    let (address, _) = reference.split_once('#').unwrap_or((reference, ""));
    ["https://json-schema.org/draft/2020-12/", "https://json-schema.org/draft/2019-09/"]
        .iter()
        .any(|draft| address.strip_prefix(draft).is_some_and(|rest| rest == "schema" || rest.starts_with("meta/")))
        || ["04", "06", "07"].iter().any(|draft| address == format!("http://json-schema.org/draft-{draft}/schema"))
}

/// A reference within the document to the place at a JSON pointer.
pub fn reference(pointer: &str) -> String {
    format!("#{}", utf8_percent_encode(pointer, FRAGMENT))
}

/// What stands at a JSON pointer (RFC 6901). Unlike [`Value::pointer`] it copies no token: schemas are looked up by
/// their pointers a hundred thousand times while a document is compiled.
pub fn at<'v>(document: &'v Value, pointer: &str) -> Option<&'v Value> {
    if pointer.is_empty() {
        return Some(document);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(document, |value, token| match value {
        Value::Object(members) if token.contains('~') => members.get(&*unescape_pointer(token)),
        Value::Object(members) => members.get(token),
        Value::Array(items) => {
            let is_index = !token.starts_with('+') && (token.len() == 1 || !token.starts_with('0'));
            items.get(token.parse::<usize>().ok().filter(|_| is_index)?)
        }
        _ => None,
    })
}

/// The JSON pointer of what is `steps` below another.
pub fn below(pointer: &str, steps: &[&str]) -> String {
    let mut pointer = pointer.to_owned();
    for step in steps {
        push_pointer(&mut pointer, step);
    }
    pointer
}

/// Visits every object of the document that OpenAPI or JSON Schema gives a meaning to, with its JSON pointer: not
/// what stands in examples, defaults, enumerations and extensions.
pub(super) fn walk<'a>(document: &'a Value, visit: &mut impl FnMut(&str, &'a serde_json::Map<String, Value>)) {
    let mut at = String::new();
    descend(document, &mut at, false, visit);
}

/// [`walk`], for changes. An object is visited before what it holds.
pub(super) fn walk_mut(value: &mut Value, visit: &mut impl FnMut(&mut serde_json::Map<String, Value>)) {
    descend_mut(value, false, visit);
}

fn descend_mut(value: &mut Value, names: bool, visit: &mut impl FnMut(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            if !names {
                visit(object);
            }
            for (key, member) in object.iter_mut().filter(|(key, _)| names || !is_opaque(key)) {
                descend_mut(member, !names && holds_names(key), visit);
            }
        }
        Value::Array(array) => array.iter_mut().for_each(|item| descend_mut(item, false, visit)),
        _ => {}
    }
}

/// Keywords below which a document holds data, and extensions.
pub(super) fn is_opaque(keyword: &str) -> bool {
    matches!(keyword, "example" | "examples" | "default" | "enum" | "const" | "mapping") || keyword.starts_with("x-")
}

/// Keywords whose members are names that the author chose.
fn holds_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "dependentSchemas"
            | "$defs"
            | "definitions"
            | "schemas"
            | "responses"
            | "parameters"
            | "requestBodies"
            | "headers"
            | "securitySchemes"
            | "links"
            | "callbacks"
            | "pathItems"
            | "paths"
            | "webhooks"
            | "content"
            | "mediaTypes"
            | "additionalOperations"
            | "encoding"
            | "variables"
    )
}

fn descend<'a>(
    value: &'a Value,
    at: &mut String,
    names: bool,
    visit: &mut impl FnMut(&str, &'a serde_json::Map<String, Value>),
) {
    let length = at.len();
    match value {
        Value::Object(object) => {
            if !names {
                visit(at, object);
            }
            for (key, member) in object {
                if !names && is_opaque(key) {
                    continue;
                }
                push_pointer(at, key);
                descend(member, at, !names && holds_names(key), visit);
                at.truncate(length);
            }
        }
        Value::Array(array) => {
            for (index, item) in array.iter().enumerate() {
                push_pointer(at, &index.to_string());
                descend(item, at, false, visit);
                at.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chain_of_refs_is_followed_to_its_end() {
        let document = json!({"a": {"$ref": "#/b"}, "b": {"$ref": "#/c"}, "c": {"name": "x"}});
        assert_eq!(follow(&document, "/a", &document["a"]).unwrap(), ("/c".to_owned(), &json!({"name": "x"})));
    }

    #[test]
    fn a_pointer_leads_where_that_of_serde_json_leads() {
        let document = json!({"a/b": [1, {"~": 2, "": 3, "01": 4}], "": {"": 5}, "x": "y"});
        for pointer in [
            "",
            "/",
            "//",
            "/a~1b",
            "/a~1b/1/~0",
            "/a~1b/1/",
            "/a~1b/1/01",
            "/a~1b/01",
            "/a~1b/+1",
            "/a~1b/2",
            "/a~1b/-",
            "/x/y",
            "x",
            "/a/b",
            "/a~1b/0",
            "/a~1b/18446744073709551616",
        ] {
            assert_eq!(at(&document, pointer), document.pointer(pointer), "{pointer}");
        }
    }

    #[test]
    fn refs_that_only_name_each_other_are_an_error() {
        let document = json!({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}});
        assert_eq!(
            follow(&document, "/a", &document["a"]).unwrap_err().to_string(),
            "the contract is unusable at `/a`: its `$ref` leads in a circle"
        );
    }
}
