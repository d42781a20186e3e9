//! Finding known secrets again in bodies, forms and queries.

use super::{index::Index, search};
use crate::{
    Redactor,
    find::{
        fields::{Field, field_place, name_of},
        grammar::{Grammar, Parsed},
        walk::Places,
    },
    mark::{self, Mark},
};

impl Redactor {
    /// Known secrets in a body.
    pub(crate) fn mark_known_body(&self, index: &Index, parsed: &Parsed, content: &[u8], out: &mut Vec<Mark>) {
        let start = out.len();
        for grammar in parsed.grammars() {
            match grammar {
                Grammar::Json(document) => self.mark_known_json(index, document, &Places::of_body(&[]), out),
                Grammar::Form(fields) => mark_known_fields(index, content, fields, out),
                Grammar::Multipart(parts) => {
                    for part in parts {
                        let (head, body) = (&content[part.head.clone()], &content[part.body.clone()]);
                        let before = out.len();
                        mark::inside(out, part.head.start, None, |inner| search::find(index, head, false, inner));
                        let found = |inner: &mut _| self.mark_known_body(index, &part.inside, body, inner);
                        mark::inside(out, part.body.start, None, found);
                        mark::put(&mut out[before..], Some(&field_place(&part.name)));
                    }
                }
                Grammar::Bytes | Grammar::Mended(_) => {
                    let before = out.len();
                    search::find(index, content, false, out);
                    mark::put(&mut out[before..], Some(""));
                }
            }
        }
        if parsed.is_cut_form() {
            mark::put(&mut out[start..], Some(""));
        }
    }
}

/// Known secrets in the names and values of a form or a query.
pub(crate) fn mark_known_fields(index: &Index, text: &[u8], fields: &[Field], out: &mut Vec<Mark>) {
    if index.is_empty() {
        return;
    }
    for field in fields {
        for (part, is_name) in [(&field.name, true), (&field.value, false)] {
            let (raw, before) = (part.raw(text), out.len());
            for mark in mark::inside(out, part.range.start, None, |inner| search::find(index, raw, is_name, inner)) {
                mark.whole = mark.range == part.range;
            }
            if out.len() > before && !is_name {
                mark::put(&mut out[before..], Some(&field_place(&name_of(field, text))));
            }
        }
    }
}
