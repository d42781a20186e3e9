//! Secrets in a text that stands in base64 or hex in another one.

use contrail_exchange::json::Document;

use super::{fields::fields, grammar::looks_like_form, walk::Places};
use crate::{Redactor, mark::Mark, runs};

impl Redactor {
    /// Text in base64 or hex with a secret in it: all of the run is one place.
    pub(super) fn detect_runs(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        runs::decode(text, |found| {
            let mut inner = Vec::new();
            self.detect_plain(&found.plain, depth - 1, &mut inner);
            out.extend(inner.into_iter().map(|mark| Mark::part(found.source(text, &mark.range), mark.secret)));
        });
    }

    /// Reads a text that was in base64 or hex: a JSON document, a form, or any other.
    pub(super) fn detect_plain(&self, plain: &[u8], depth: usize, out: &mut Vec<Mark>) {
        if matches!(plain.trim_ascii_start().first(), Some(b'{' | b'['))
            && let Ok(document) = Document::parse(plain.to_vec())
        {
            self.detect_json(&document, &Places::of_body(&[]), depth, out);
        } else if looks_like_form(plain) {
            self.detect_fields(plain, &fields(plain), false, out);
        } else {
            self.detect_text(plain, depth, out);
        }
    }
}
