//! Places of a body that hold labels already.

use std::sync::Arc;

use contrail_exchange::json::Kind as JsonKind;

use crate::{
    find::{
        fields::{field_place, name_of},
        grammar::{Grammar, Parsed},
        walk::{self, Places},
    },
    label,
};

/// Places whose labels an earlier redaction put there (`contrail redact` on another tool's file): they are redacted
/// too.
pub(super) fn labelled(parsed: &Parsed, content: &[u8], places: &mut Vec<Arc<str>>) {
    if !label::holds(content) {
        return;
    }
    match &parsed.grammar {
        Grammar::Json(document) => walk::visit(document, &Places::of_body(&[]), |node, place| {
            if node.kind() == JsonKind::String && label::holds(node.raw().as_bytes()) {
                places.extend(place.map(|place| place().into()));
            }
        }),
        Grammar::Form(fields) if !parsed.is_cut_form() => {
            let held = fields.iter().filter(|field| label::holds(field.value.raw(content)));
            places.extend(held.map(|field| field_place(&name_of(field, content)).into()));
        }
        Grammar::Multipart(parts) => {
            let held = parts.iter().filter(|part| label::holds(&content[part.body.clone()]));
            places.extend(held.map(|part| field_place(&part.name).into()));
        }
        Grammar::Form(_) | Grammar::Bytes | Grammar::Mended(_) => places.push("".into()),
    }
}
