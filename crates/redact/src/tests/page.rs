//! The tables of `docs/redaction.md`.

use std::fmt::Write as _;

use crate::find::{
    formats::FORMATS,
    names::{Counts, NAMES},
};

/// What stands before and behind the tables.
const MARKERS: [&str; 2] = ["<!-- tables: generated from crates/redact/src/find -->\n", "<!-- end of the tables -->\n"];

/// Where a name counts, in words.
fn place(counts: Counts) -> &'static str {
    match counts {
        Counts::Whole => "a whole name",
        Counts::End => "a whole name or its end",
        Counts::Random => "a whole name, if the value looks random",
        Counts::Parameter => "a whole name in forms and queries",
        Counts::RandomParameter => "the same, if the value looks random",
        Counts::Header => "a part of a header field's name",
        Counts::Segment => "a segment of a path, or its first word",
        Counts::LastWord => "a whole name or its last word",
        Counts::NoWord => "a whole name, unless the value is a word",
        Counts::Never => "never",
    }
}

/// One item for each issuer, and one row for the names of a kind that count alike. Their sources stand in the lists.
fn tables() -> String {
    let mut out = String::from("\nKeys of these issuers:\n\n");
    for rows in FORMATS.chunk_by(|one, other| one.issuer == other.issuer) {
        let keys: Vec<_> = rows.iter().map(|row| row.what).collect();
        let _ = writeln!(out, "- {}: {}", rows[0].issuer, keys.join("; "));
    }
    let mut groups: Vec<((&str, &str), Vec<String>)> = Vec::new();
    for row in NAMES {
        let kind = if matches!(row.counts, Counts::Never) { "" } else { row.kind.name() };
        let names = row.names().map(|name| format!("`{name}`"));
        match groups.iter_mut().find(|(key, _)| *key == (kind, place(row.counts))) {
            Some((_, group)) => group.extend(names),
            None => groups.push(((kind, place(row.counts)), names.collect())),
        }
    }
    out += "\n| names | count as | kind |\n|---|---|---|\n";
    for ((kind, place), names) in groups {
        let _ = writeln!(out, "| {} | {place} | {kind} |", names.join(", "));
    }
    out + "\n"
}

#[test]
fn the_page_of_redaction_lists_every_format_and_every_name() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/redaction.md");
    let page = std::fs::read_to_string(file).unwrap();
    let (before, rest) = page.split_once(MARKERS[0]).unwrap();
    let (now, after) = rest.split_once(MARKERS[1]).unwrap();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(file, [before, MARKERS[0], &tables(), MARKERS[1], after].concat()).unwrap();
    } else {
        assert!(now == tables(), "docs/redaction.md is out of date; run with UPDATE_GOLDENS=1 and review the change");
    }
}
