//! `contrail explain`: what a rule means.
//!
//! The tables in `rules` and `aspects` are the one place where rules are explained; `docs/rules.md` is written from
//! them ([`markdown`]), and a test holds it to that.

mod aspects;
mod rules;

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use serde_json::json;

use super::{Failure, Format, Outcome, printer::Printer};
use crate::finding::{Rule, Unchecked};
use aspects::aspect;
use rules::explanation;

/// Explain a rule: its meaning, its source in the document or an RFC, and what to do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rule (`request.body`) or name from `unchecked` (`required-scope`) [default: list all]
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A name that is neither a rule nor an aspect that can be unchecked.
#[derive(Debug)]
struct UnknownName {
    name: String,
    nearest: Option<&'static str>,
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not a rule", self.name.escape_debug())?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`? `contrail explain` lists them all"),
            None => f.write_str("; `contrail explain` lists them all"),
        }
    }
}

impl std::error::Error for UnknownName {}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut printer = Printer::stdout();
    match &args.rule {
        None => list(args.format, &mut printer)?,
        Some(name) => match (name.parse::<Rule>(), Unchecked::from_name(name)) {
            (Ok(rule), _) => one_rule(rule, args.format, &mut printer)?,
            (Err(_), Some(aspect)) => one_aspect(aspect, args.format, &mut printer)?,
            (Err(_), None) => return Err(UnknownName { nearest: nearest(name), name: name.clone() }.into()),
        },
    }
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

fn list(format: Format, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        let rules: Vec<_> = Rule::ALL.iter().map(|rule| rule_json(*rule)).collect();
        let unchecked: Vec<_> = Unchecked::ALL.into_iter().map(aspect_json).collect();
        return writeln!(out, "{:#}", json!({"rules": rules, "unchecked": unchecked}));
    }
    let width = Rule::ALL.iter().map(|rule| rule.id().len()).max().unwrap_or_default();
    writeln!(out, "Rules (`contrail explain RULE` says more):\n")?;
    for rule in Rule::ALL {
        writeln!(out, "  {:width$}  {:9}  {}", rule.id(), rule.kind().name(), rule.summary())?;
    }
    writeln!(out, "\nWhat can be unchecked:\n")?;
    for name in Unchecked::ALL {
        let why = aspect(name).0;
        let short = why.split(['(', '.', ':']).next().unwrap_or(why).trim_end();
        writeln!(out, "  {:width$}  {short}", name.name())?;
    }
    Ok(())
}

fn one_rule(rule: Rule, format: Format, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{:#}", rule_json(rule));
    }
    let explained = explanation(rule);
    writeln!(out, "{} ({}): {}\n", rule.id(), rule.kind().name(), rule.summary())?;
    for (label, text) in [
        ("means", explained.means),
        ("source", explained.source),
        ("example", explained.example),
        ("what now", explained.now),
    ] {
        paragraph(label, text, out)?;
    }
    Ok(())
}

fn one_aspect(name: Unchecked, format: Format, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{:#}", aspect_json(name));
    }
    let (why, now) = aspect(name);
    writeln!(out, "{} (unchecked)\n", name.name())?;
    paragraph("means", why, out)?;
    paragraph("what now", now, out)
}

fn rule_json(rule: Rule) -> serde_json::Value {
    let explained = explanation(rule);
    json!({
        "rule": rule.id(), "kind": rule.kind().name(), "summary": rule.summary(), "means": explained.means,
        "source": explained.source, "example": explained.example, "now": explained.now,
    })
}

fn aspect_json(name: Unchecked) -> serde_json::Value {
    let (why, now) = aspect(name);
    json!({"name": name.name(), "means": why, "now": now})
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
fn lines(text: &str, width: usize) -> Vec<String> {
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

/// The text in lines of a page; those of a list item are indented below its text.
fn page_lines(text: &str, indent: &str) -> String {
    const WIDTH: usize = 98;
    lines(text, WIDTH - indent.len()).join(&format!("\n{indent}"))
}

/// `docs/rules.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from(
        "# Rules\n\n\
         A finding is a *violation* if the documentation states something and the exchange contradicts it,\n\
         and a *gap* if the documentation is silent. Sections are those of the tenant's documentation.\n\
         `contrail explain RULE` prints the same text.\n\n\
         At the token endpoint (section 5) contrail reports gaps and `transport.incomplete` only. What would\n\
         be a violation of its request body leaves `request-body` unchecked.\n\n\
         | rule | kind | when |\n|---|---|---|\n",
    );
    for rule in Rule::ALL {
        let anchor: String = rule.id().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let _ = writeln!(out, "| [`{}`](#{anchor}) | {} | {} |", rule.id(), rule.kind().name(), rule.summary());
    }
    for rule in Rule::ALL {
        let explained = explanation(*rule);
        let _ = write!(
            out,
            "\n## {}\n\n*{}*: {}.\n\n{}\n\n- {}\n- {}\n- {}\n",
            rule.id(),
            rule.kind().name(),
            rule.summary(),
            page_lines(explained.means, ""),
            page_lines(&format!("**Source:** {}", explained.source), "  "),
            page_lines(&format!("**Example:** {}", explained.example), "  "),
            page_lines(&format!("**What now:** {}", explained.now), "  ")
        );
    }
    out.push_str(
        "\n# What can be unchecked\n\nEvery exchange lists what could not be checked (`unchecked`), so that a green result never claims\nmore \
         than was checked.\n\n| name | why | what would let it be checked |\n|---|---|---|\n",
    );
    for name in Unchecked::ALL {
        let (why, now) = aspect(name);
        let _ = writeln!(out, "| `{}` | {why} | {now} |", name.name());
    }
    out
}

/// The known name that needs the fewest changes to become, if that is few.
fn nearest(name: &str) -> Option<&'static str> {
    let names = Rule::ALL.iter().map(|rule| rule.id()).chain(Unchecked::ALL.into_iter().map(Unchecked::name));
    crate::suggest::nearest(name, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_page_holds_what_explain_prints() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md");
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(file, markdown()).unwrap();
        }
        let page = std::fs::read_to_string(file).unwrap();
        assert!(page == markdown(), "docs/rules.md is out of date; run with UPDATE_GOLDENS=1 and review the change");
    }

    #[test]
    fn every_rule_is_explained_in_full_and_cites_its_source() {
        for rule in Rule::ALL {
            let explained = explanation(*rule);
            for text in [explained.means, explained.source, explained.example, explained.now] {
                assert!(text.len() > 10 && !text.contains("  "), "{rule}: {text}");
            }
            assert!(
                ["ection", "RFC"].iter().any(|word| explained.source.contains(word)),
                "{rule} cites neither a section nor an RFC"
            );
        }
    }

    #[test]
    fn the_list_says_of_each_name_what_it_is_and_breaks_off_in_no_sentence() {
        let mut out = Vec::new();
        list(Format::Text, &mut out).unwrap();
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
            one_rule(*rule, Format::Text, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().skip(1).all(|line| line.chars().count() <= 100), "{text}");
        }
    }
}
