//! Secrets in text that claims to be JSON and is not, by the names before them.
//!
//! Such text can be read in more than one way: a quote may be missing, a comma too many, a member cut off. So each
//! value reaches as far as any of these readings takes it. What is masked needlessly is lost in a body that nobody can
//! parse; what is not masked is a secret on the disk.

use super::assigned;
use crate::{Redactor, label, mark::Mark, view::View};

/// In longer texts only one coding is undone.
const MAX_DECODED: usize = 1 << 18;

impl Redactor {
    /// Recognises secrets in a text by the names before them, in what its codings stand for too.
    pub(crate) fn detect_malformed(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        let named = self.plan.last_names().unwrap_or_default();
        assigned::find(text, Some(&named), &mut |range, kind| {
            if kind.is_personal() {
                self.person(&text[range.clone()], kind, range, out);
            } else if !label::holds(&text[range.clone()]) {
                out.extend(self.learn(&text[range.clone()], kind).map(|id| Mark::part(range, id)));
            }
        });
        if depth == 0 {
            return;
        }
        let depth = if text.len() > MAX_DECODED { 1 } else { depth };
        for view in [View::percent(text, false), View::unescape(text), View::entities(text)].into_iter().flatten() {
            let mut inner = Vec::new();
            self.detect_malformed(&view.text, depth - 1, &mut inner);
            out.extend(inner.into_iter().map(|mark| mark.within(0, Some(&view))));
        }
    }
}

/// Whether the bytes are text in a coding that keeps ASCII, so that names in it can be found.
pub(crate) fn is_text(content: &[u8]) -> bool {
    content.iter().all(|byte| !matches!(byte, 0..0x20 | 0x7f) || matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c))
}

#[cfg(test)]
mod tests;
