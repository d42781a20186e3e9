//! Places of a body that hold labels already.

use crate::{
    json::{Kind as JsonKind, Node},
    redact::{
        find::{
            fields::{field_place, name_of},
            grammar::{Grammar, Parsed},
            walk::{Token, Walk},
        },
        label,
    },
};

/// Places whose labels an earlier redaction put there (`contrail redact` on another tool's file): they are redacted too.
pub(super) fn labelled(parsed: &Parsed, content: &[u8], places: &mut Vec<String>) {
    if !label::holds(content) {
        return;
    }
    match parsed.placed() {
        Grammar::Json(document) => {
            let mut walk: Walk<'_, ()> = Walk::new();
            labelled_value(&mut walk, &Token::Root, document.root(), places);
            while let Some((node, ())) = walk.next() {
                for (name, value) in node.members() {
                    labelled_value(&mut walk, &Token::Name(name), value, places);
                }
                for (at, item) in node.items().enumerate() {
                    labelled_value(&mut walk, &Token::Index(at), item, places);
                }
            }
        }
        Grammar::Form(fields) => {
            let held = fields.iter().filter(|field| label::holds(&content[field.value.clone()]));
            places.extend(held.map(|field| field_place(&name_of(field, content))));
        }
        Grammar::Multipart(parts) => {
            let held = parts.iter().filter(|part| label::holds(&content[part.body.clone()]));
            places.extend(held.map(|part| field_place(&part.name)));
        }
        Grammar::Lines | Grammar::Bytes | Grammar::Mended(_) | Grammar::Nearly => places.push(String::new()),
    }
}

fn labelled_value<'d>(walk: &mut Walk<'d, ()>, token: &Token<'d>, node: Node<'d>, places: &mut Vec<String>) {
    match node.kind() {
        JsonKind::Array | JsonKind::Object => walk.open(token.clone(), node, ()),
        JsonKind::String if label::holds(node.raw().as_bytes()) => places.push(walk.pointer(token)),
        _ => {}
    }
}
