//! Explanations as text and as JSON.

use std::io::{self, Write};

use contrail_contract::ContractDocument;
use contrail_exchange::{
    finding::{Rule, Unchecked},
    visible::visible,
};
use serde_json::{Value, json};

use super::{
    aspects::aspect,
    explained::{Explained, InForce, places},
    name::Name,
    words::WORDS,
};
use crate::cli::Format;

/// How many places of a document the text names.
const MAX_PLACES: usize = 5;

pub(super) fn list(format: Format, in_force: &InForce, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        let json = |name| explained_json(name, in_force);
        let rules: Vec<_> = Rule::ALL.iter().map(|rule| json(Name::Rule(*rule))).collect();
        let unchecked: Vec<_> = Unchecked::ALL.into_iter().map(|aspect| json(Name::Aspect(aspect))).collect();
        let words: Vec<_> = WORDS.iter().map(|word| json(Name::Word(word))).collect();
        return writeln!(out, "{:#}", json!({"rules": rules, "unchecked": unchecked, "words": words}));
    }
    let width = Rule::ALL.iter().map(|rule| rule.id().len()).max().unwrap_or_default();
    writeln!(out, "Rules (`contrail explain RULE` explains one):\n")?;
    for rule in Rule::ALL {
        writeln!(out, "  {:width$}  {:9}  {}", rule.id(), rule.kind().name(), rule.summary())?;
    }
    writeln!(out, "\nWhat can be unchecked:\n")?;
    for name in Unchecked::ALL {
        writeln!(out, "  {:width$}  {}", name.name(), beginning(aspect(name).0))?;
    }
    writeln!(out, "\nOther words:\n")?;
    for word in WORDS {
        writeln!(out, "  {:width$}  {}", word.name, beginning(word.means))?;
    }
    Ok(())
}

/// The first clause of a text.
fn beginning(text: &str) -> &str {
    text.split(['(', '.', ':']).next().unwrap_or(text).trim_end()
}

pub(super) fn one(name: Name, format: Format, in_force: &InForce, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{:#}", explained_json(name, in_force));
    }
    match name {
        Name::Rule(rule) => writeln!(out, "{} ({}): {}\n", rule.id(), rule.kind().name(), rule.summary())?,
        Name::Aspect(aspect) => writeln!(out, "{} (unchecked)\n", aspect.name())?,
        Name::Word(word) => writeln!(out, "{}\n", word.name)?,
    }
    let explained = in_force.explain(name);
    paragraph("means", explained.means, out)?;
    if !explained.source.is_empty() {
        paragraph("source", &explained.source, out)?;
    }
    for document in stating(name, in_force) {
        stated(document, name, out)?;
    }
    if let Some(example) = explained.example {
        paragraph("example", example, out)?;
    }
    paragraph("what now", explained.now, out)
}

/// The documents that may state something of it.
fn stating(name: Name, in_force: &InForce) -> &[ContractDocument] {
    if matches!(name, Name::Word(_)) { &[] } else { in_force.documents() }
}

/// What a document states of a rule, with the first places.
fn stated(document: &ContractDocument, name: Name, out: &mut impl Write) -> io::Result<()> {
    let file = visible(document.name());
    let title = visible(&format!("{} {}", document.title(), document.version())).trim().to_owned();
    let places = places(document, name);
    let count = match (places.len(), name) {
        (0, Name::Rule(_)) => "states it in no place".to_owned(),
        (0, _) => "leaves it out in no operation".to_owned(),
        (1, Name::Rule(_)) => "states it in 1 place".to_owned(),
        (count, Name::Rule(_)) => format!("states it in {count} places"),
        (1, _) => "leaves it out in 1 operation".to_owned(),
        (count, _) => format!("leaves it out in {count} operations"),
    };
    paragraph("contract", &format!("`{file}` ({title}) {count}"), out)?;
    for at in places.iter().take(MAX_PLACES) {
        paragraph("", &visible(at), out)?;
    }
    match places.len().saturating_sub(MAX_PLACES) {
        0 => Ok(()),
        more => paragraph("", &format!("… and {more} more; --format json lists them"), out),
    }
}

fn explained_json(name: Name, in_force: &InForce) -> Value {
    let Explained { means, source, example, now } = in_force.explain(name);
    let mut json = match name {
        Name::Rule(rule) => {
            json!({"rule": rule.id(), "kind": rule.kind().name(), "summary": rule.summary(), "means": means,
                "source": source, "example": example, "now": now})
        }
        Name::Aspect(aspect) => json!({"name": aspect.name(), "means": means, "source": source, "now": now}),
        Name::Word(word) => json!({"name": word.name, "means": means, "now": now}),
    };
    let stated = |document: &ContractDocument| {
        json!({"file": document.name(), "title": document.title(), "version": document.version(),
            "sha256": document.hash(), "at": places(document, name)})
    };
    // Under the built-in contract the source says it all.
    if let (Some(members), documents @ [_, ..]) = (json.as_object_mut(), stating(name, in_force)) {
        members.insert("contract".to_owned(), documents.iter().map(stated).collect());
    }
    json
}

/// Writes a label and a text beside it, broken into lines.
fn paragraph(label: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    const LABEL: usize = 10;
    const WIDTH: usize = 88;
    let mut label = label;
    for line in lines(text, WIDTH) {
        writeln!(out, "  {label:LABEL$}{line}")?;
        label = "";
    }
    Ok(())
}

/// The text in lines of at most this many characters, where its words allow that.
pub(super) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_says_of_each_name_what_it_is_and_breaks_off_in_no_sentence() {
        let mut out = Vec::new();
        list(Format::Text, &InForce(None), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(
            "required-scope              The documentation does not show which scope the operation requires\n"
        ));
        assert!(text.lines().all(|line| line.matches('(').count() == line.matches(')').count()), "{text}");
    }

    #[test]
    fn an_explanation_is_readable_on_a_narrow_terminal() {
        for rule in Rule::ALL {
            let mut out = Vec::new();
            one(Name::Rule(*rule), Format::Text, &InForce(None), &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().skip(1).all(|line| line.chars().count() <= 100), "{text}");
        }
    }
}
