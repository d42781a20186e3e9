//! Secrets of Kubernetes in YAML, whose values have any name.

use std::ops::Range;

use super::{assigned::skip, emit::Emit, steps::looked};
use crate::{kind::Kind, label};

/// The members of a secret that hold its values.
pub(super) const DATA: [&str; 2] = ["data", "stringData"];

/// Whether a member marks what it stands in as a secret: its `kind` does, or its `type`, which alone stands in the items
/// of a list.
pub(super) fn is_mark(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"kind" => value == b"Secret",
        b"type" => value == b"Opaque" || value.starts_with(b"kubernetes.io/"),
        _ => false,
    }
}

/// The members of a mapping that is not at its end.
#[derive(Default)]
struct Mapping {
    /// Where their names begin.
    column: usize,
    /// Whether one of them marks it as a secret.
    is_secret: bool,
    /// Where the names in the last one begin, if it is what a secret holds; what is farther right is of a text.
    data: Option<usize>,
    /// The values in it.
    values: Vec<Range<usize>>,
}

/// The values of `data` and `stringData` beside `kind: Secret`, or beside the type of one.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    if [&b"data:"[..], b"stringData:"].iter().all(|name| memchr::memmem::find(text, name).is_none()) {
        return;
    }
    let mut close = |mapping: Mapping| {
        let values =
            mapping.values.into_iter().filter(|value| mapping.is_secret && !label::holds(&text[value.clone()]));
        values.for_each(|value| emit(value, Kind::Secret));
    };
    let (mut mappings, mut start): (Vec<Mapping>, usize) = (Vec::new(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        looked(line.len());
        let at = start;
        start += line.len();
        let indent = skip(line, 0, |byte| byte == b' ');
        let column = skip(line, indent, |byte| matches!(byte, b' ' | b'-'));
        let line = line.trim_ascii_end();
        if line.starts_with(b"---") {
            mappings.drain(..).rev().for_each(&mut close);
        }
        if column >= line.len() || line[column] == b'#' {
            continue;
        }
        let colon =
            memchr::memmem::find(&line[column..], b": ").or_else(|| line[column..].strip_suffix(b":").map(<[u8]>::len));
        let name = colon.map_or(&b""[..], |colon| &line[column..column + colon]);
        let from = colon.map_or(indent, |colon| skip(line, (column + colon + 1).min(line.len()), |byte| byte == b' '));
        if let Some(mapping) = mappings.last_mut().filter(|mapping| mapping.data.is_some() && indent > mapping.column) {
            let names = mapping.data.filter(|data| *data > mapping.column).unwrap_or(indent);
            mapping.data = Some(names);
            let in_block = indent > names;
            let from = if in_block { indent } else { from };
            let is_block = !in_block && matches!(line[from..], [b'|' | b'>', ..]);
            let quotes = usize::from(!in_block && matches!(line[from..], [b'"', .., b'"'] | [b'\'', .., b'\'']));
            mapping.values.extend((!is_block).then_some(at + from + quotes..at + line.len() - quotes));
            continue;
        }
        let ends = |mapping: &mut Mapping| mapping.column > column || column > indent && mapping.column == column;
        while let Some(ended) = mappings.pop_if(ends) {
            close(ended);
        }
        if mappings.last().is_none_or(|mapping| mapping.column < column) {
            mappings.push(Mapping { column, ..Mapping::default() });
        }
        let Some(mapping) = mappings.last_mut() else { continue };
        let value = line[from..].trim_ascii();
        let is_data = value.is_empty() && DATA.iter().any(|data| data.as_bytes() == name);
        mapping.data = is_data.then_some(mapping.column);
        mapping.is_secret |= is_mark(name, value);
    }
    mappings.drain(..).rev().for_each(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_secret_of_kubernetes_are_secrets_in_yaml_wherever_its_kind_stands() {
        for (text, expected) in [
            ("kind: Secret\nmetadata:\n  name: a\ndata:\n  pw: eDE=\n  b: \"eDI=\"\ntype: x\n", &["eDE=", "eDI="][..]),
            ("data:\n  pw: eDE=\nkind: Secret\n---\ndata:\n  c: d\nkind: ConfigMap\n", &["eDE="]),
            ("items:\n- data:\n    pw: eDE=\n  kind: Secret\n- data:\n    a: b\n  kind: ConfigMap\n", &["eDE="]),
            (
                "type: kubernetes.io/tls\nstringData:\n  # no\n  x: |\n    a: b\n\n    c\n  y: z w\n",
                &["a: b", "c", "z w"],
            ),
            ("kind: Secret\ndata:\n  pw: !secret-1!\n", &[]),
            ("kind: ConfigMap\ndata:\n  a: b\nref:\n  kind: Secret\n", &[]),
        ] {
            assert_eq!(super::super::emit::found(text, find), expected, "{text}");
        }
    }
}
