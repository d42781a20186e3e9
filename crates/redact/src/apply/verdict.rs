//! Secrets in what the check states about an exchange: places, values that it saw, and texts of contrail's own.

use contrail_exchange::{
    finding::{Rule, Verdict},
    json,
};

use super::redaction::{FormValue, Redaction, lossy};
use crate::{
    find::{detect::MAX_CODINGS, steps::looked},
    kind::{self, MatchScope},
    known::{index::Index, search},
    label,
    mark::Mark,
};

impl Redaction<'_> {
    /// A place of a body as the redacted body has it: the names that lead there are redacted as they are there.
    pub(super) fn place_in(&self, document: Option<&json::Document>, place: &str) -> String {
        let Some(mut place) = self.pointer(place) else { return place.to_owned() };
        // Beside another name of the same beginning a label may read otherwise; then more of the body counts as
        // redacted.
        while document.is_some_and(|document| document.pointer(&place).is_none()) {
            place.truncate(place.rfind('/').unwrap_or(0));
        }
        place
    }

    /// A JSON pointer whose names are redacted; `None` if nothing changes.
    fn pointer(&self, pointer: &str) -> Option<String> {
        let mut changed = false;
        let mut out = String::new();
        for token in pointer.strip_prefix('/')?.split('/') {
            let name = json::unescape_pointer(token);
            let new = self.stated(&name, true);
            changed |= new.is_some();
            json::push_pointer(&mut out, new.as_deref().unwrap_or(&name));
        }
        // A secret with a `/` of its own in it may go from one name to the next.
        let index = self.redactor.memory().index();
        changed |= self.rewrite(&index, &mut out);
        changed.then_some(out)
    }

    /// A name out of a message, or another text of it that stands by itself, without its secrets; `None` if it has
    /// none.
    pub(super) fn stated(&self, text: &str, is_name: bool) -> Option<String> {
        let text = text.as_bytes();
        let mut marks = Vec::new();
        self.redactor.detect_text(text, MAX_CODINGS - 1, &mut marks);
        let index = self.redactor.memory().index();
        search::find(&index, text, is_name, &mut marks);
        self.replaced(text, marks, None).map(|new| lossy(&new))
    }

    /// Replaces secrets in a place of a message: where a finding is.
    pub(crate) fn derived(&self, text: &mut String) -> bool {
        let new = if text.starts_with('/') { self.pointer(text) } else { self.stated(text, true) };
        new.map(|new| *text = new).is_some()
    }

    /// Replaces known secrets in a text of ours.
    pub(crate) fn rewrite(&self, index: &Index, text: &mut String) -> bool {
        let mut marks = Vec::new();
        search::find(index, text.as_bytes(), false, &mut marks);
        match self.replaced(text.as_bytes(), marks, None) {
            Some(new) => {
                *text = lossy(&new);
                true
            }
            None => false,
        }
    }

    /// Replaces known secrets in the check's findings, and in the reasons for what is unchecked.
    pub(crate) fn verdict(&mut self, verdict: &mut Verdict) {
        if verdict.findings.is_empty() && verdict.reasons.is_empty() {
            return;
        }
        let index = self.redactor.memory().index();
        for reason in &mut verdict.reasons {
            self.derived(&mut reason.at);
            if let std::borrow::Cow::Owned(text) = &mut reason.reason {
                self.rewrite(&index, text);
            }
        }
        let form_values = std::mem::take(&mut self.form_values);
        for finding in &mut verdict.findings {
            let mut changed = false;
            let body = match finding.rule {
                Rule::RequestBody | Rule::RequestBodyUndocumented => Some(false),
                Rule::ResponseBody | Rule::ResponseBodyUndocumented => Some(true),
                _ => None,
            };
            if body.is_some_and(|response| self.cut[usize::from(response)]) {
                (finding.at, finding.seen, changed) = (String::new(), None, true);
            }
            let held = form_values.get(field_of(&finding.at)).into_iter().flatten();
            for held in held.filter(|held| body.is_none_or(|response| held.response == response)) {
                looked(held.value.len());
                let texts = finding.seen.as_mut().into_iter().chain(match &mut finding.expected {
                    std::borrow::Cow::Owned(text) => Some(text),
                    std::borrow::Cow::Borrowed(_) => None,
                });
                for text in texts {
                    if text.contains(&held.value) {
                        *text = text.replace(&held.value, &held.label);
                        changed = true;
                    }
                }
            }
            changed |= self.derived(&mut finding.at);
            if let Some(seen) = &mut finding.seen {
                changed |= self.stated(seen, false).map(|new| *seen = new).is_some();
            }
            if let std::borrow::Cow::Owned(expected) = &mut finding.expected {
                changed |= self.rewrite(&index, expected);
            }
            self.touched.elsewhere |= changed;
        }
    }

    /// Values that stay in their field by value, for the findings about it.
    pub(super) fn remember(&mut self, marks: &[Mark], text: &[u8], response: bool) {
        for mark in marks.iter().filter(|mark| mark.whole) {
            let Some(place) = &mark.place else { continue };
            let Some(value) = text.get(mark.range.clone()) else { continue };
            if kind::match_scope(value) == MatchScope::Anywhere || label::is_label_bytes(value) {
                continue;
            }
            let secret = self.redactor.memory().secret(mark.secret);
            let label = secret.label(mark.number, self.bounds(mark, Some(response)));
            let held = self.form_values.entry(field_of(place).to_owned()).or_default();
            held.push(FormValue { response, value: lossy(value), label });
        }
    }
}

/// A parameter's finding has its name, a field's its pointer.
fn field_of(place: &str) -> &str {
    place.strip_prefix('/').unwrap_or(place)
}
