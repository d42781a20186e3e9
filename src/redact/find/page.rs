//! The tables of `docs/redaction.md`.

use std::fmt::Write as _;

use super::{
    formats::FORMATS,
    names::{Counts, NAMES, PEOPLE},
};

/// What stands before and behind the tables.
const MARKERS: [&str; 2] = ["<!-- tables: generated from src/redact/find -->\n", "<!-- end of the tables -->\n"];

fn tables() -> String {
    let mut out = String::from("\n| issuer | keys | source |\n|---|---|---|\n");
    for rows in FORMATS.chunk_by(|one, other| one.issuer == other.issuer) {
        let keys: Vec<_> = rows.iter().map(|row| row.what).collect();
        let sources: Vec<_> = rows.iter().map(|row| row.source).collect();
        let _ = writeln!(out, "| {} | {} | {} |", rows[0].issuer, keys.join("; "), sources.join("; "));
    }
    out += "\n| names | count as | kind | source |\n|---|---|---|---|\n";
    for row in NAMES.iter().chain(PEOPLE) {
        let names: Vec<_> = row.names().map(|name| format!("`{name}`")).collect();
        let (counts, kind) = match row.counts {
            Counts::Whole => ("a whole name", row.kind.name()),
            Counts::End => ("a whole name or its end", row.kind.name()),
            Counts::LastWord => ("a whole name or its last word", row.kind.name()),
            Counts::NoWord => ("a whole name, unless the value is a word", row.kind.name()),
            Counts::Random => ("a whole name, if the value looks random", row.kind.name()),
            Counts::Parameter => ("a whole name in forms and queries", row.kind.name()),
            Counts::RandomParameter => ("the same, if the value looks random", row.kind.name()),
            Counts::Header => ("a part of a header field's name", row.kind.name()),
            Counts::Segment => ("a segment of a path, or its first word", row.kind.name()),
            Counts::Never => ("never", ""),
        };
        let _ = writeln!(out, "| {} | {counts} | {kind} | {} |", names.join(", "), row.source);
    }
    out + "\n"
}

#[test]
fn the_page_of_redaction_lists_every_format_and_every_name() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/redaction.md");
    let page = std::fs::read_to_string(file).unwrap();
    let (before, rest) = page.split_once(MARKERS[0]).unwrap();
    let (now, after) = rest.split_once(MARKERS[1]).unwrap();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(file, [before, MARKERS[0], &tables(), MARKERS[1], after].concat()).unwrap();
    } else {
        assert!(now == tables(), "docs/redaction.md is out of date; run with UPDATE_GOLDENS=1 and review the change");
    }
}
