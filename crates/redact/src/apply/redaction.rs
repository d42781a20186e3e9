//! One exchange on its way through redaction: what its parts share, and putting labels where marks are.

use std::collections::HashMap;

use contrail_exchange::json;

use crate::{
    Bounds, Redactor, Touched,
    mark::{self, Mark},
};

/// One exchange on its way through redaction: recognise everything first, then replace.
pub(crate) struct Redaction<'r> {
    pub(super) redactor: &'r Redactor,
    /// See [`crate::known::memory::Memory::begin`].
    pub(super) began: u64,
    /// Where bodies' bounds come from.
    pub(super) operation: Option<&'r str>,
    pub(crate) touched: Touched,
    /// By their places.
    pub(super) form_values: HashMap<String, Vec<FormValue>>,
    /// Whether the request's body, and the response's, has secrets of which what the check took for a field is a piece.
    pub(super) cut: [bool; 2],
    /// Header fields, one per line, searched together.
    pub(super) heads: Vec<u8>,
}

/// A value that was replaced in its field only, so a finding about that field has to follow.
pub(super) struct FormValue {
    pub(super) response: bool,
    pub(super) value: String,
    pub(super) label: String,
}

impl<'r> Redaction<'r> {
    pub(crate) fn new(redactor: &'r Redactor, operation: Option<&'r str>) -> Self {
        let began = redactor.memory().begin();
        Self {
            redactor,
            began,
            operation,
            touched: Touched::default(),
            form_values: HashMap::new(),
            cut: [false; 2],
            heads: Vec::new(),
        }
    }

    pub(super) fn bounds(&self, mark: &Mark, body: Option<bool>) -> Bounds {
        match (body, self.operation, &mark.place, &self.redactor.shapes) {
            (Some(response), Some(operation), Some(place), Some(shapes)) if mark.whole => {
                shapes.bounds(operation, response, place)
            }
            _ => Bounds::default(),
        }
    }

    /// The text with labels where the marks are; `None` if nothing changes. `body` says which message's body it is.
    pub(crate) fn replaced(&self, text: &[u8], marks: Vec<Mark>, body: Option<bool>) -> Option<Vec<u8>> {
        if marks.is_empty() {
            return None;
        }
        let edits: Vec<_> = mark::merge_overlaps(marks)
            .into_iter()
            .map(|mark| {
                let secret = {
                    let mut memory = self.redactor.memory();
                    memory.see(mark.secret);
                    memory.secret(mark.secret)
                };
                let label = secret.label(mark.number, self.bounds(&mark, body));
                let label = if mark.quoted { format!("\"{label}\"") } else { label };
                (mark.range, label.into_bytes())
            })
            .collect();
        Some(json::splice(text, &edits))
    }
}

impl Drop for Redaction<'_> {
    fn drop(&mut self) {
        self.redactor.memory().done(self.began);
    }
}

/// Texts that were valid UTF-8 before whole characters of them were replaced.
pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
