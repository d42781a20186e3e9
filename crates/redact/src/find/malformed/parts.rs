//! Parts of a multipart body that is not whole.

use crate::{
    find::{
        assigned::skip,
        emit::Emit,
        names::{self, FieldContext},
    },
    kind::Kind,
};

/// Longest name of a part.
const MAX_NAME: usize = 200;

/// Parts of a multipart body that is not whole: from the end of the first head with a telling name on, all of it. Where
/// a part ends, readers differ.
pub(super) fn find(text: &[u8], named: &[&str], emit: &mut Emit<'_>) {
    let lower = text.to_ascii_lowercase();
    let gap = |from: usize| {
        let gaps =
            [&b"\r\n\r\n"[..], b"\n\n"].map(|gap| memchr::memmem::find(&text[from..], gap).map(|at| at + gap.len()));
        gaps.into_iter().flatten().min().map(|gap| from + gap)
    };
    // The end of the head that the last name was in.
    let mut head_end = Some(0);
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&lower[at..], b"name").map(|found| at + found) {
        at = found + 4;
        let sign = skip(text, at, |byte| matches!(byte, b' ' | b'\t' | b'*' | b'0'..=b'9'));
        if text.get(sign) != Some(&b'=') {
            continue;
        }
        let name = text[sign + 1..].iter().take(MAX_NAME).take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
        let name = String::from_utf8_lossy(&text[sign + 1..sign + 1 + name]);
        let name = name.split(';').next().unwrap_or_default().trim_matches(['"', '\'', ' ', '\t']);
        let last = name.rsplit(['[', '.']).map(|part| part.trim_end_matches(']')).find(|part| !part.is_empty());
        let kind = named.contains(&name).then_some(Kind::Custom);
        let kind = kind
            .or_else(|| last.and_then(|last| names::by_name(last, FieldContext::Parameter).or(names::personal(last))));
        let Some(kind) = kind else { continue };
        if head_end.is_some_and(|end| end < sign) {
            head_end = gap(sign);
        }
        let Some(start) = head_end else { return };
        if start < text.len() {
            let part = memchr::memmem::find(&text[start..], b"\n--").map_or(text.len(), |end| start + end);
            let line = memchr::memchr2(b'\r', b'\n', &text[start..]).map_or(text.len(), |end| start + end);
            for end in [line, part - usize::from(text[start..part].ends_with(b"\r")), text.len()] {
                emit(start..end, kind);
            }
        }
        if !kind.is_personal() {
            return;
        }
    }
}
