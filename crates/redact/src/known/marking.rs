//! Finding known secrets again in bodies, forms and queries.

use std::sync::Arc;

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
                        let mut marks = Vec::new();
                        search::find(index, &content[part.head.clone()], false, &mut marks);
                        let heads = marks.len();
                        let place: Arc<str> = field_place(&part.name).into();
                        self.mark_known_body(index, &part.inside, &content[part.body.clone()], &mut marks);
                        out.extend(marks.into_iter().enumerate().map(|(at, mark)| {
                            let start = if at < heads { part.head.start } else { part.body.start };
                            Mark { place: Some(Arc::clone(&place)), ..mark.within(start, None) }
                        }));
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
            let (raw, range) = (part.raw(text), part.range.clone());
            if part.view.as_ref().is_some_and(|view| !search::is_worth_decoded(index, raw, view)) {
                continue;
            }
            let mut marks = Vec::new();
            search::find(index, raw, is_name, &mut marks);
            if marks.is_empty() {
                continue;
            }
            let place: Option<Arc<str>> = (!is_name).then(|| field_place(&name_of(field, text)).into());
            out.extend(marks.into_iter().map(|mark| Mark {
                whole: mark.range == (0..range.len()),
                place: place.clone(),
                ..mark.within(range.start, None)
            }));
        }
    }
}
