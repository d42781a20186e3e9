//! OpenAPI Overlay 1.0 and 1.1: actions that add to a document or take away from it.
//!
//! A target is a `JSONPath` (RFC 9535). `update` merges: objects member by member, arrays by appending, anything else
//! by replacing. `copy` (1.1) merges another node of the document in the same way. In 1.1 `update` also replaces a
//! scalar that is the target itself, and what cannot be merged (an object with a list) is an error. A target that
//! selects nothing changes nothing, which the specification allows; that is a warning, because it is mostly a slip.

mod bounds;

use std::{
    collections::HashSet,
    fmt,
    path::{Path, PathBuf},
};

use contrail_exchange::json::{push_pointer, unescape_pointer};
use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use self::bounds::Budget;
use super::{ContractError, document, refs};

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
    /// A key that overlays of this version do not have.
    Unknown(String),
    /// None of the keywords that change something: these would.
    Nothing(&'static str),
    /// `update` or `copy` beside `remove: true`.
    ChangeOfRemoved(&'static str),
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
            What::Nothing(keywords) => write!(f, ": it has neither {keywords}, so it changes nothing"),
            What::ChangeOfRemoved(key) => write!(f, ": `{key}` has no effect beside `remove: true`"),
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
    let (version, actions) = actions(&overlay).map_err(|reason| unusable(None, reason))?;
    let slip = |action, what| Slip { file: file.to_owned(), action, what };
    let mut slips: Vec<Slip> =
        unknown(overlay.as_object(), &["overlay", "info", "extends", "actions"]).map(|what| slip(None, what)).collect();
    let mut budget = Budget::default();
    for (index, action) in actions.iter().enumerate() {
        let number = index + 1;
        let Some(action) = action.as_object() else {
            return Err(unusable(Some(number), "it is not an object".to_owned()));
        };
        let keys: &[&str] = match version {
            Version::V1_0 => &["target", "description", "update", "remove"],
            Version::V1_1 => &["target", "description", "update", "copy", "remove"],
        };
        slips.extend(unknown(Some(action), keys).map(|what| slip(Some(number), what)));
        match perform(action, version, document, &mut budget) {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1_0,
    V1_1,
}

fn actions(overlay: &Value) -> Result<(Version, &[Value]), String> {
    let version = match overlay.get("overlay") {
        Some(Value::String(version)) if version.starts_with("1.0.") => Version::V1_0,
        Some(Value::String(version)) if version.starts_with("1.1.") => Version::V1_1,
        Some(Value::String(version)) => {
            return Err(format!("it is Overlay `{version}`; contrail reads 1.0.x and 1.1.x"));
        }
        _ => return Err("it has no `overlay: 1.0.0` or `overlay: 1.1.0`".to_owned()),
    };
    match overlay.get("actions") {
        Some(Value::Array(actions)) if !actions.is_empty() => Ok((version, actions)),
        _ => Err("`actions` has to be a list with at least one action".to_owned()),
    }
}

/// Performs one action; gives what of it has no effect.
fn perform(
    action: &Map<String, Value>,
    version: Version,
    document: &mut Value,
    budget: &mut Budget,
) -> Result<Option<What>, String> {
    let Some((target, path)) = expression(action, "target")? else {
        return Err("`target` has to be a JSONPath expression".to_owned());
    };
    let remove = match action.get("remove") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return Err("`remove` has to be true or false".to_owned()),
    };
    let update = action.get("update");
    let copy = if version == Version::V1_1 { expression(action, "copy")? } else { None };
    match (update, &copy) {
        (Some(_), Some(_)) => return Err("it has both `update` and `copy`, and each excludes the other".to_owned()),
        (None, None) if !remove => {
            return Ok(Some(What::Nothing(match version {
                Version::V1_0 => "`update` nor `remove: true`",
                Version::V1_1 => "`update` nor `copy` nor `remove: true`",
            })));
        }
        _ => {}
    }
    budget.search(target, document).map_err(|reason| format!("`target` `{target}` is too costly: {reason}"))?;
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
        let change = update.map(|_| "update").or(copy.map(|_| "copy"));
        return Ok(change.map(What::ChangeOfRemoved));
    }
    let (keyword, change) = match (update, copy) {
        (Some(update), _) => ("update", update.clone()),
        (None, Some((text, path))) => {
            budget.search(text, document).map_err(|reason| format!("`copy` `{text}` is too costly: {reason}"))?;
            let node = path.query(document).exactly_one();
            let node = node.map_err(|_| format!("`copy` `{text}` has to select one node of the document"))?;
            ("copy", node.clone())
        }
        (None, None) => return Ok(None),
    };
    budget.add(&change, &places).map_err(|reason| format!("`{keyword}` is too large: {reason}"))?;
    let mut kinds = places.iter().filter_map(|place| refs::at(document, place)).map(NodeKind::of);
    let first = kinds.next();
    if version == Version::V1_1 && kinds.any(|kind| Some(kind) != first) {
        return Err(format!("`target` `{target}` selects nodes of different kinds"));
    }
    for place in places {
        let Some(node) = document.pointer_mut(&place) else { continue };
        match (node, &change) {
            (node @ Value::Object(_), change @ Value::Object(_)) => merge(node, change, version, &place)?,
            (Value::Object(_), _) => return Err(format!("`{place}` is an object, so `{keyword}` has to be one too")),
            (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
            (Value::Array(items), one) => items.push(one.clone()),
            (node, change) if version == Version::V1_1 && NodeKind::of(change) == NodeKind::Scalar => {
                *node = change.clone();
            }
            _ if version == Version::V1_1 => {
                return Err(format!("`{place}` is neither an object nor a list, so `{keyword}` has to be none either"));
            }
            _ => {
                let hint = "Overlay 1.1 replaces it";
                return Err(format!(
                    "`{place}` is neither an object nor a list, so nothing can be merged into it; {hint}"
                ));
            }
        }
    }
    Ok(None)
}

/// A `JSONPath` expression of an action; `None` where it has none.
fn expression<'a>(action: &'a Map<String, Value>, key: &str) -> Result<Option<(&'a str, JsonPath)>, String> {
    let Some(held) = action.get(key) else { return Ok(None) };
    let Some(text) = held.as_str() else { return Err(format!("`{key}` has to be a JSONPath expression")) };
    bounds::readable(text).map_err(|reason| format!("`{key}` is too large an expression: {reason}"))?;
    let path =
        JsonPath::parse(text).map_err(|error| format!("`{key}` `{text}` is not a JSONPath expression: {error}"))?;
    Ok(Some((text, path)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    Object,
    List,
    Scalar,
}

impl NodeKind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::Object,
            Value::Array(_) => Self::List,
            _ => Self::Scalar,
        }
    }
}

/// Merges `change` into the node at a place, as the specification says.
fn merge(node: &mut Value, change: &Value, version: Version, place: &str) -> Result<(), String> {
    match (node, change) {
        (Value::Object(members), Value::Object(more)) => {
            for (name, value) in more {
                match members.get_mut(name) {
                    Some(held) => merge(held, value, version, &refs::below(place, &[name]))?,
                    None => {
                        members.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
        // The specification's own structured example names members without a value on the way.
        (Value::Object(_) | Value::Array(_), Value::Null) if version == Version::V1_0 => {}
        (node, change) if version == Version::V1_1 && NodeKind::of(node) != NodeKind::of(change) => {
            return Err(format!("`{place}` and what is merged into it are of different kinds"));
        }
        (node, change) => *node = change.clone(),
    }
    Ok(())
}

/// Removes the values at `places`, the last of a list first, so that no index shifts before its turn.
fn take_away(document: &mut Value, mut places: Vec<String>) -> Result<(), String> {
    places.sort_by_cached_key(|place| place.split('/').map(numeric_order).collect::<Vec<_>>());
    places.dedup();
    let parent = |place: &String| place.rfind('/').map(|end| place[..end].to_owned());
    for siblings in places.chunk_by(|a, b| parent(a) == parent(b)).rev() {
        let Some(parent) = parent(&siblings[0]) else {
            return Err("the document as a whole cannot be removed".to_owned());
        };
        let tokens: HashSet<String> =
            siblings.iter().map(|place| unescape_pointer(&place[parent.len() + 1..]).into_owned()).collect();
        match document.pointer_mut(&parent) {
            Some(Value::Object(members)) => members.retain(|name, _| !tokens.contains(name)),
            Some(Value::Array(items)) => {
                let mut index = 0..;
                items.retain(|_| index.next().is_none_or(|index: usize| !tokens.contains(&index.to_string())));
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
    fn a_target_may_call_each_function_of_rfc_9535() {
        let mut document = json!({"l": [{"n": "getA"}, {"n": "forget", "m": [1, 2]}, {"n": "set"}]});
        let targets = ["match(@.n, 'get.*')", "search(@.n, 'get')", "length(@.m) == 2", "count(@.*) == 4"];
        for (index, filter) in targets.into_iter().chain(["value(@..n) == 'set'"]).enumerate() {
            let action = format!("  - target: \"$.l[?{filter}]\"\n    update: {{x{index}: 1}}\n");
            assert_eq!(apply_text(&actions(&action), &mut document).unwrap(), [""; 0]);
        }
        let expected = json!({"l": [{"n": "getA", "x0": 1, "x1": 1},
            {"n": "forget", "m": [1, 2], "x1": 1, "x2": 1, "x3": 1}, {"n": "set", "x4": 1}]});
        assert_eq!(document, expected);
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
    fn an_action_without_a_change_changes_nothing_and_is_reported() {
        let slip = |keywords: &str| {
            format!("overlay `overlay.yaml`, action 1: it has neither {keywords}, so it changes nothing")
        };
        let text = "  - {target: $.a, remove: false}\n";
        let mut document = json!({"a": 1});
        assert_eq!(apply_text(&actions(text), &mut document).unwrap(), [slip("`update` nor `remove: true`")]);
        let slips = apply_text(&actions_1_1(text), &mut document).unwrap();
        assert_eq!((slips, document), (vec![slip("`update` nor `copy` nor `remove: true`")], json!({"a": 1})));
    }

    #[test]
    fn a_name_without_a_value_in_an_update_of_1_0_leaves_what_has_members() {
        let mut document = json!({"components": {"schemas": {}}, "tags": [1], "x": 5});
        let overlay = actions("  - target: $\n    update: {components: , tags: , x: , y: }\n");
        assert_eq!(apply_text(&overlay, &mut document).unwrap(), [""; 0]);
        assert_eq!(document, json!({"components": {"schemas": {}}, "tags": [1], "x": null, "y": null}));
    }

    #[test]
    fn a_target_that_selects_nothing_changes_nothing_and_is_reported() {
        let mut document = json!({"a": 1});
        let overlay = actions("  - target: $.a.b\n    update: {x: 1}\n");
        assert_eq!(
            apply_text(&overlay, &mut document).unwrap(),
            ["overlay `overlay.yaml`, action 1: its target `$.a.b` selects nothing, so it changes nothing"]
        );
        assert_eq!(document, json!({"a": 1}));
    }

    #[test]
    fn a_key_that_overlays_do_not_have_and_an_update_of_what_is_removed_are_reported() {
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
            (
                "  - target: $.a\n    update: {x: 1}\n  - target: '$.['\n    remove: true\n",
                "action 2: `target` `$.[` is not a JSONPath expression: at position 2, in dot member name, must start \
                 with lowercase alpha or '_'",
            ),
            ("  - update: {x: 1}\n", "action 1: `target` has to be a JSONPath expression"),
            ("  - target: $.a\n    update: 5\n", "action 1: `/a` is an object, so `update` has to be one too"),
            (
                "  - target: $.a.n\n    update: {x: 1}\n",
                "action 1: `/a/n` is neither an object nor a list, so nothing can be merged into it; Overlay 1.1 \
                 replaces it",
            ),
            ("  - target: $\n    remove: true\n", "action 1: the document as a whole cannot be removed"),
            ("  - target: $.a\n    remove: yes\n", "action 1: `remove` has to be true or false"),
            ("  - 5\n", "action 1: it is not an object"),
        ];
        for (text, expected) in cases {
            let error = apply_text(&actions(text), &mut json!({"a": {"n": 1}})).unwrap_err();
            assert_eq!(error, format!("the overlay `overlay.yaml` is unusable: {expected}"));
        }
    }

    #[test]
    fn a_file_that_is_no_overlay_is_refused() {
        for (text, expected) in [
            ("openapi: 3.1.0\n", "it has no `overlay: 1.0.0` or `overlay: 1.1.0`"),
            ("overlay: 2.0.0\nactions: [{}]\n", "it is Overlay `2.0.0`; contrail reads 1.0.x and 1.1.x"),
            ("overlay: 1.0.0\nactions: []\n", "`actions` has to be a list with at least one action"),
        ] {
            let error = apply_text(text, &mut json!({})).unwrap_err();
            assert_eq!(error, format!("the overlay `overlay.yaml` is unusable: {expected}"));
        }
    }

    fn actions_1_1(text: &str) -> String {
        actions(text).replace("overlay: 1.0.0", "overlay: 1.1.0")
    }

    #[test]
    fn a_copy_merges_one_node_into_every_target() {
        let mut document = json!({"a": {"get": {"x": 1, "tags": ["t"]}}, "b": {"get": {"x": 2, "y": 3}}, "l": [1]});
        let overlay = actions_1_1(
            "  - {target: $.b.get, copy: $.a.get}\n  - {target: $.l, copy: $.a.get.tags}\n  - {target: $.l, copy: $.a}\n",
        );
        assert_eq!(apply_text(&overlay, &mut document).unwrap(), [""; 0]);
        let a = json!({"get": {"x": 1, "tags": ["t"]}});
        assert_eq!(document, json!({"a": a, "b": {"get": {"x": 1, "y": 3, "tags": ["t"]}}, "l": [1, "t", a]}));
    }

    #[test]
    fn an_action_that_would_take_too_long_or_grow_too_large_is_named_by_its_number() {
        let nested = |count: usize| format!("$[?{}@.a{}]", "(".repeat(count), ")".repeat(count));
        let wide: Value = (0..200).map(|index| json!({"a": [index, {"b": [index]}]})).collect();
        let copies = "  - {target: $.l, copy: $.l}\n".repeat(40);
        let deeper = "  - {target: $.a.a, copy: $.a}\n  - {target: $.a, update: {a: {a: {a: {a: {}}}}}}\n".repeat(300);
        for (text, expected) in [
            (
                format!("  - {{target: \"{}\", update: {{}}}}\n", nested(5000)),
                "is too large an expression: more than 12 brackets are inside one another",
            ),
            (
                "  - {target: \"$..*..*..*..*..*..*..*\", update: {}}\n".to_owned(),
                "`target` `$..*..*..*..*..*..*..*` is too costly: it and the expressions before it visit too many \
                 values; name members on the way",
            ),
            (copies, "`copy` is too large: it and the actions before it add more than 64 MiB"),
            (deeper, "`copy` is too large: it nests more than 256 values"),
        ] {
            let mut document = json!({"l": wide, "a": {"a": {}}});
            let error = apply_text(&actions_1_1(&text), &mut document).unwrap_err();
            assert!(error.ends_with(expected), "{error}");
        }
        let mut document = json!({"l": wide});
        let target = format!("  - {{target: \"{}\", update: {{x: 1}}}}\n", nested(10));
        assert_eq!(apply_text(&actions_1_1(&target), &mut document).unwrap().len(), 1);
    }

    #[test]
    fn an_update_of_1_1_replaces_scalars() {
        let mut document = json!({"paths": {"/a": {"summary": "x"}, "/b": {"summary": null}}});
        let overlay = actions_1_1("  - {target: $.paths.*.summary, update: new}\n");
        assert_eq!(apply_text(&overlay, &mut document).unwrap(), [""; 0]);
        assert_eq!(document, json!({"paths": {"/a": {"summary": "new"}, "/b": {"summary": "new"}}}));
    }

    #[test]
    fn a_copy_is_no_key_of_overlay_1_0_and_has_no_effect_beside_a_removal() {
        let overlay = actions("  - {target: $.a, update: {x: 1}, copy: $.b}\n");
        assert_eq!(
            apply_text(&overlay, &mut json!({"a": {}})).unwrap(),
            ["overlay `overlay.yaml`, action 1: an overlay has no key `copy`, so it has no effect"]
        );
        let mut document = json!({"a": 1, "b": 2});
        let overlay = actions_1_1("  - {target: $.a, remove: true, copy: $.b}\n");
        assert_eq!(
            apply_text(&overlay, &mut document).unwrap(),
            ["overlay `overlay.yaml`, action 1: `copy` has no effect beside `remove: true`"]
        );
        assert_eq!(document, json!({"b": 2}));
    }

    #[test]
    fn an_action_of_1_1_that_cannot_be_carried_out_is_named_by_its_number() {
        for (text, expected) in [
            ("{target: $.a, copy: $.l.*}", "`copy` `$.l.*` has to select one node of the document"),
            ("{target: $.a, copy: $.nowhere}", "`copy` `$.nowhere` has to select one node of the document"),
            ("{target: $.a, copy: 5}", "`copy` has to be a JSONPath expression"),
            ("{target: $.a, copy: $.l, update: {}}", "it has both `update` and `copy`, and each excludes the other"),
            ("{target: $.a, copy: $.l}", "`/a` is an object, so `copy` has to be one too"),
            (
                "{target: $.a.n, update: {x: 1}}",
                "`/a/n` is neither an object nor a list, so `update` has to be none either",
            ),
            ("{target: $.a, update: {n: [1]}}", "`/a/n` and what is merged into it are of different kinds"),
            ("{target: $.*, update: {}}", "`target` `$.*` selects nodes of different kinds"),
        ] {
            let overlay = actions_1_1(&format!("  - {text}\n"));
            let error = apply_text(&overlay, &mut json!({"a": {"n": 1}, "l": [1, 2]})).unwrap_err();
            assert_eq!(error, format!("the overlay `overlay.yaml` is unusable: action 1: {expected}"));
        }
    }
}
