//! Secrets in a body, by what it is read as.

use contrail_exchange::{Body, json::Document};

use super::{
    detect::MAX_CODINGS,
    fields::Field,
    grammar::{Grammar, Parsed},
    walk::Places,
};
use crate::{
    Redactor, label,
    mark::{self, Mark},
};

impl Redactor {
    /// Recognises the secrets of a body. Whether it may hold anything other than as it is.
    pub(crate) fn detect_body(&self, parsed: &Parsed, body: &Body, out: &mut Vec<Mark>) -> bool {
        self.detect_parsed(parsed, &body.content, &body.redacted, out)
    }

    pub(super) fn detect_parsed(&self, parsed: &Parsed, content: &[u8], done: &[String], out: &mut Vec<Mark>) -> bool {
        let mut hides = !parsed.beside.is_empty();
        let places = Places::of_body(done);
        let is_bytes = parsed.grammar.is_bytes();
        // Where only the look of the bytes says that a value is one, a value that holds a label was read before.
        let is_new = |field: &&Field| !(is_bytes || parsed.is_cut_form()) || !label::holds(field.value.raw(content));
        for grammar in parsed.grammars() {
            let before = out.len();
            hides |= !matches!(grammar, Grammar::Json(_));
            match grammar {
                Grammar::Json(document) => hides |= self.detect_json(document, &places, MAX_CODINGS, out),
                Grammar::Form(fields) => self.detect_fields(content, fields.iter().filter(is_new), true, out),
                Grammar::Multipart(parts) => parts.iter().for_each(|part| self.detect_part(content, part, out)),
                Grammar::Bytes => self.detect_text(content, MAX_CODINGS, out),
                Grammar::Mended(document) => self.detect_mended(document, content, out),
            }
            if is_bytes || grammar.is_bytes() || parsed.is_cut_form() {
                mark::put(&mut out[before..], Some(""));
            }
        }
        hides
    }

    /// Recognises the secrets of malformed JSON whose structure is beyond doubt.
    fn detect_mended(&self, document: &Document, content: &[u8], out: &mut Vec<Mark>) {
        let before = out.len();
        self.detect_json(document, &Places::of_body(&[]), MAX_CODINGS, out);
        for mark in &mut out[before..] {
            (mark.quoted, mark.number, mark.whole) = (mark.number, false, false);
            // What stands for a byte that JSON does not allow is no part of the secret.
            let raw = &content[mark.range.clone()];
            if document.source()[mark.range.clone()] != *raw {
                let kind = self.memory().secret(mark.secret).kind;
                mark.secret = self.learn(raw, kind).unwrap_or(mark.secret);
            }
        }
    }
}
