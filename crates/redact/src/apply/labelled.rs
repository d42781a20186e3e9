//! Places of a body that hold labels already.

use std::sync::Arc;

use contrail_exchange::json::{Kind as JsonKind, Node};

use crate::{
    find::{
        fields::{field_place, name_of},
        grammar::{Grammar, Parsed},
        walk::{Places, Token, Walk},
    },
    label,
};

/// Places whose labels an earlier redaction put there (`contrail redact` on another tool's file): they are redacted
/// too.
pub(super) fn labelled(parsed: &Parsed, content: &[u8], places: &mut Vec<Arc<str>>) {
    if !label::holds(content) {
        return;
    }
    match parsed.placed() {
        Grammar::Json(document) => {
            let mut walk: Walk<'_, ()> = Walk::new();
            let bounded = Places::of_body(&[]);
            labelled_value(&mut walk, &Token::Root, document.root(), &bounded, places);
            while let Some((node, ())) = walk.next() {
                for (name, value) in node.members() {
                    labelled_value(&mut walk, &Token::Name(name), value, &bounded, places);
                }
                for (at, item) in node.items().enumerate() {
                    labelled_value(&mut walk, &Token::Index(at), item, &bounded, places);
                }
            }
        }
        Grammar::Form(fields) => {
            let held = fields.iter().filter(|field| label::holds(field.value.raw(content)));
            places.extend(held.map(|field| field_place(&name_of(field, content)).into()));
        }
        Grammar::Multipart(parts) => {
            let held = parts.iter().filter(|part| label::holds(&content[part.body.clone()]));
            places.extend(held.map(|part| field_place(&part.name).into()));
        }
        Grammar::Bytes | Grammar::Mended(_) | Grammar::Nearly => places.push("".into()),
    }
}

fn labelled_value<'d>(
    walk: &mut Walk<'d, ()>,
    token: &Token<'d>,
    node: Node<'d>,
    bounded: &Places<'_>,
    places: &mut Vec<Arc<str>>,
) {
    match node.kind() {
        JsonKind::Array | JsonKind::Object => walk.open(token.clone(), node, ()),
        JsonKind::String if label::holds(node.raw().as_bytes()) => places.push(bounded.of(walk, token).into()),
        _ => {}
    }
}
