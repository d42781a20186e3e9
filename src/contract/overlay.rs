//! OpenAPI Overlay 1.0: actions that add to a document or take away from it.
//!
//! A target is a `JSONPath` (RFC 9535). `update` merges: objects member by member, arrays by appending, anything else by
//! replacing. A target that selects nothing changes nothing, which the specification allows; that is a warning, because
//! it is mostly a slip.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::{ContractError, document};
use crate::json::push_pointer;

/// What an overlay says that has no effect; allowed, and mostly a slip of the pen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slip {
    file: PathBuf,
    /// Counted from 1; `None` for the overlay as a whole.
    action: Option<usize>,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// The target selects nothing.
    Idle(String),
    /// A key that Overlay 1.0 does not have.
    Unknown(String),
    /// `update` beside `remove: true`.
    UpdateOfRemoved,
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "overlay `{}`", self.file.display())?;
        if let Some(action) = self.action {
            write!(f, ", action {action}")?;
        }
        match &self.what {
            What::Idle(target) => write!(f, ": its target `{target}` selects nothing, so it changes nothing"),
            What::Unknown(key) => write!(f, ": an overlay has no key `{}`, so it has no effect", key.escape_debug()),
            What::UpdateOfRemoved => f.write_str(": `update` has no effect beside `remove: true`"),
        }
    }
}

/// Reads an overlay and applies it. Gives what of it has no effect.
///
/// # Errors
///
/// As [`document::read`], and [`ContractError::Overlay`] naming the action.
pub(super) fn apply(file: &Path, document: &mut Value) -> Result<Vec<Slip>, ContractError> {
    let overlay = document::read(file)?;
    let unusable = |action, reason: String| ContractError::Overlay { file: file.to_owned(), action, reason };
    let actions = actions(&overlay).map_err(|reason| unusable(None, reason))?;
    let slip = |action, what| Slip { file: file.to_owned(), action, what };
    let mut slips: Vec<Slip> =
        unknown(overlay.as_object(), &["overlay", "info", "extends", "actions"]).map(|what| slip(None, what)).collect();
    for (index, action) in actions.iter().enumerate() {
        let number = index + 1;
        let Some(action) = action.as_object() else {
            return Err(unusable(Some(number), "it is no object".to_owned()));
        };
        let keys = ["target", "description", "update", "remove"];
        slips.extend(unknown(Some(action), &keys).map(|what| slip(Some(number), what)));
        match perform(action, document) {
            Ok(what) => slips.extend(what.map(|what| slip(Some(number), what))),
            Err(reason) => return Err(unusable(Some(number), reason)),
        }
    }
    Ok(slips)
}

/// The keys of an object besides those that are known and extensions.
fn unknown<'a>(object: Option<&'a Map<String, Value>>, known: &'a [&str]) -> impl Iterator<Item = What> + use<'a> {
    let keys = object.into_iter().flat_map(Map::keys);
    keys.filter(|key| !known.contains(&key.as_str()) && !key.starts_with("x-")).cloned().map(What::Unknown)
}

fn actions(overlay: &Value) -> Result<&[Value], String> {
    match overlay.get("overlay") {
        Some(Value::String(version)) if version.starts_with("1.0.") => {}
        Some(Value::String(version)) => {
            return Err(format!("it says that it is Overlay `{version}`, and contrail takes 1.0.x"));
        }
        _ => return Err("it does not say `overlay: 1.0.0`".to_owned()),
    }
    match overlay.get("actions") {
        Some(Value::Array(actions)) if !actions.is_empty() => Ok(actions),
        _ => Err("`actions` has to be a list with at least one action".to_owned()),
    }
}

/// Performs one action; gives what of it has no effect.
fn perform(action: &Map<String, Value>, document: &mut Value) -> Result<Option<What>, String> {
    let Some(target) = action.get("target").and_then(Value::as_str) else {
        return Err("`target` has to be a JSONPath expression".to_owned());
    };
    let path =
        JsonPath::parse(target).map_err(|error| format!("`target` `{target}` is no JSONPath expression: {error}"))?;
    let remove = match action.get("remove") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return Err("`remove` has to be true or false".to_owned()),
    };
    let update = action.get("update");
    if update.is_none() && !remove {
        return Err("it has neither `update` nor `remove: true`".to_owned());
    }
    let places: Vec<String> = path
        .query_located(document)
        .locations()
        .map(|location| {
            let mut pointer = String::new();
            for element in location.iter() {
                push_pointer(&mut pointer, &element.to_string());
            }
            pointer
        })
        .collect();
    if places.is_empty() {
        return Ok(Some(What::Idle(target.to_owned())));
    }
    if remove {
        take_away(document, places)?;
        return Ok(update.map(|_| What::UpdateOfRemoved));
    }
    for place in places {
        let Some(node) = document.pointer_mut(&place) else { continue };
        let Some(update) = update else { continue };
        match (node, update) {
            (node @ Value::Object(_), update @ Value::Object(_)) => merge(node, update),
            (Value::Object(_), _) => return Err(format!("`{place}` is an object, so `update` has to be one too")),
            (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
            (Value::Array(items), one) => items.push(one.clone()),
            _ => return Err(format!("`{place}` is neither an object nor a list, so nothing can be merged into it")),
        }
    }
    Ok(None)
}

/// Merges `update` into `node`, as the specification says.
fn merge(node: &mut Value, update: &Value) {
    match (node, update) {
        (Value::Object(members), Value::Object(more)) => {
            for (name, value) in more {
                match members.get_mut(name) {
                    Some(held) => merge(held, value),
                    None => {
                        members.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
        (node, update) => *node = update.clone(),
    }
}

/// Removes the values at `places`, the last of a list first, so that no index shifts before its turn.
fn take_away(document: &mut Value, mut places: Vec<String>) -> Result<(), String> {
    places.sort_by_cached_key(|place| place.split('/').map(numeric_order).collect::<Vec<_>>());
    places.dedup();
    for place in places.iter().rev() {
        let Some((parent, token)) = place.rsplit_once('/') else {
            return Err("the document as a whole cannot be removed".to_owned());
        };
        let token = token.replace("~1", "/").replace("~0", "~");
        match document.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                members.shift_remove(&token);
            }
            Some(Value::Array(items)) => {
                if let Some(index) = token.parse().ok().filter(|index| *index < items.len()) {
                    items.remove(index);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn numeric_order(token: &str) -> (usize, String) {
    (token.parse().unwrap_or(usize::MAX), token.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply_text(overlay: &str, document: &mut Value) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("overlay.yaml");
        std::fs::write(&file, overlay).unwrap();
        let short = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
        let slips = apply(&file, document).map_err(|error| short(error.to_string()))?;
        Ok(slips.iter().map(|slip| short(slip.to_string())).collect())
    }

    fn actions(text: &str) -> String {
        format!("overlay: 1.0.0\ninfo: {{title: t, version: '1'}}\nactions:\n{text}")
    }

    #[test]
    fn an_update_merges_objects_appends_to_lists_and_replaces_the_rest() {
        let mut document = json!({"a": {"b": {"c": 1, "d": [1]}, "e": "x"}});
        let overlay = actions("  - target: $.a\n    update: {b: {d: [2], f: 3}, e: y}\n");
        assert_eq!(apply_text(&overlay, &mut document).unwrap(), [""; 0]);
        assert_eq!(document, json!({"a": {"b": {"c": 1, "d": [1, 2], "f": 3}, "e": "y"}}));
    }

    #[test]
    fn an_update_of_a_list_appends() {
        let mut document = json!({"tags": [{"name": "a"}]});
        apply_text(&actions("  - target: $.tags\n    update: {name: b}\n"), &mut document).unwrap();
        assert_eq!(document, json!({"tags": [{"name": "a"}, {"name": "b"}]}));
    }

    #[test]
    fn a_target_with_a_filter_or_a_wildcard_takes_every_match() {
        let mut document = json!({"paths": {"/a": {"get": {}}, "/b/{id}": {"get": {}}}});
        apply_text(&actions("  - target: $.paths.*.get\n    update: {x: 1}\n"), &mut document).unwrap();
        assert_eq!(document, json!({"paths": {"/a": {"get": {"x": 1}}, "/b/{id}": {"get": {"x": 1}}}}));
    }

    #[test]
    fn removing_several_items_of_one_list_removes_just_those() {
        let mut document = json!({"l": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "b", "b"]});
        apply_text(&actions("  - target: $.l[?@ == 'b']\n    remove: true\n"), &mut document).unwrap();
        assert_eq!(document, json!({"l": ["a", "c", "d", "e", "f", "g", "h", "i", "j"]}));
    }

    #[test]
    fn removing_a_member_keeps_the_order_of_the_others() {
        let mut document: Value = serde_json::from_str(r#"{"z":1,"a/b":2,"c":3}"#).unwrap();
        apply_text(&actions("  - target: $['a/b']\n    remove: true\n"), &mut document).unwrap();
        assert_eq!(document.to_string(), r#"{"z":1,"c":3}"#);
    }

    #[test]
    fn a_target_that_selects_nothing_changes_nothing_and_is_said() {
        let mut document = json!({"a": 1});
        let overlay = actions("  - target: $.a.b\n    update: {x: 1}\n");
        assert_eq!(
            apply_text(&overlay, &mut document).unwrap(),
            ["overlay `overlay.yaml`, action 1: its target `$.a.b` selects nothing, so it changes nothing"]
        );
        assert_eq!(document, json!({"a": 1}));
    }

    #[test]
    fn a_key_that_overlays_do_not_have_and_an_update_of_what_is_removed_are_said() {
        let mut document = json!({"a": {"b": 1}, "c": 2});
        let overlay = "overlay: 1.0.0\nx-note: y\naction: []\nactions:\n  - {target: $.a, updates: {}, update: {d: 3}, \
                       x-why: z}\n  - {target: $.c, remove: true, update: {e: 4}, description: gone}\n";
        assert_eq!(
            apply_text(overlay, &mut document).unwrap(),
            [
                "overlay `overlay.yaml`: an overlay has no key `action`, so it has no effect",
                "overlay `overlay.yaml`, action 1: an overlay has no key `updates`, so it has no effect",
                "overlay `overlay.yaml`, action 2: `update` has no effect beside `remove: true`",
            ]
        );
        assert_eq!(document, json!({"a": {"b": 1, "d": 3}}));
    }

    #[test]
    fn an_action_that_cannot_be_carried_out_is_named_by_its_number() {
        let cases = [
            ("  - target: $.a\n    update: {x: 1}\n  - target: '$.['\n    remove: true\n", "action 2: `target` `$.[`"),
            ("  - update: {x: 1}\n", "action 1: `target` has to be a JSONPath expression"),
            ("  - target: $.a\n", "action 1: it has neither `update` nor `remove: true`"),
            ("  - target: $.a\n    update: 5\n", "action 1: `/a` is an object, so `update` has to be one too"),
            ("  - target: $.a.n\n    update: {x: 1}\n", "action 1: `/a/n` is neither an object nor a list"),
            ("  - target: $\n    remove: true\n", "action 1: the document as a whole cannot be removed"),
            ("  - target: $.a\n    remove: yes\n", "action 1: `remove` has to be true or false"),
            ("  - 5\n", "action 1: it is no object"),
        ];
        for (text, expected) in cases {
            let error = apply_text(&actions(text), &mut json!({"a": {"n": 1}})).unwrap_err();
            assert!(
                error.starts_with("the overlay `overlay.yaml` is unusable: ") && error.contains(expected),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_overlay_is_refused() {
        for (text, expected) in [
            ("openapi: 3.1.0\n", "it does not say `overlay: 1.0.0`"),
            ("overlay: 2.0.0\nactions: [{}]\n", "Overlay `2.0.0`, and contrail takes 1.0.x"),
            ("overlay: 1.0.0\nactions: []\n", "at least one action"),
        ] {
            let error = apply_text(text, &mut json!({})).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
