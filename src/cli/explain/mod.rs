//! `contrail explain`: what a rule means.
//!
//! The tables in `rules` and `aspects` are the one place where rules are explained; `docs/rules.md` is written from
//! them ([`markdown`]), and a test holds it to that.

mod aspects;
mod rules;

use std::{
    fmt::Write as _,
    io::{self, Write},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{ContractArgs, Failure, Format, Outcome, printer::Printer};
use crate::{
    contract::{BUILT_IN, Contract, ContractDocument},
    finding::{Rule, Unchecked},
    visible::visible,
};
use aspects::aspect;
use rules::{explanation, standard};

/// How many places of a document the text names.
const MAX_PLACES: usize = 5;

/// Explain a rule: its meaning, its source in the contract or an RFC, and what to do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rule (`request.body`) or name from `unchecked` (`required-scope`) [default: list all]
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    contract: ContractArgs,
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

/// What is explained.
#[derive(Clone, Copy)]
enum Name {
    Rule(Rule),
    Aspect(Unchecked),
}

/// What explanations speak of: the built-in contract, or the one that the options name.
struct InForce(Option<Arc<Contract>>);

/// One explanation.
struct Explained {
    means: &'static str,
    source: String,
    /// Of the built-in contract.
    example: Option<&'static str>,
    now: &'static str,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let in_force = if args.contract.is_built_in() { None } else { Some(args.contract.load()?) };
    let in_force = InForce(in_force);
    let mut printer = Printer::stdout();
    match &args.rule {
        None => list(args.format, &in_force, &mut printer)?,
        Some(name) => {
            let rule = name.parse().map(Name::Rule).ok();
            let Some(named) = rule.or_else(|| Unchecked::from_name(name).map(Name::Aspect)) else {
                return Err(UnknownName { nearest: nearest(name), name: name.clone() }.into());
            };
            one(named, args.format, &in_force, &mut printer)?;
        }
    }
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

impl InForce {
    /// The contract's documents; none where it is the built-in one.
    fn documents(&self) -> &[ContractDocument] {
        self.0.as_ref().map_or(&[], |contract| contract.documents())
    }

    fn explain(&self, name: Name) -> Explained {
        // The tenant's documentation is the source of the built-in document alone.
        let documents = self.documents();
        let is_tenant = documents.is_empty() || documents.iter().any(|document| document.name() == BUILT_IN);
        let (means, tenant, standard, example, now) = match name {
            Name::Rule(rule) => {
                let rules::Explanation { means, source, example, now } = explanation(rule);
                (means, source, standard(rule), Some(example), now)
            }
            Name::Aspect(unchecked) => {
                let (means, source, now) = aspect(unchecked);
                (means, source, "", None, now)
            }
        };
        let tenant = if is_tenant { tenant } else { "" };
        let source = [tenant, standard].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        Explained { means, source, example: example.filter(|_| is_tenant), now }
    }
}

/// Places of a document that state what a rule checks, or that leave an aspect out.
fn places(document: &ContractDocument, name: Name) -> Vec<String> {
    match name {
        Name::Rule(rule) => document.states(rule),
        Name::Aspect(aspect) => document.leaves_out(aspect),
    }
}

fn list(format: Format, in_force: &InForce, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        let json = |name| explained_json(name, in_force);
        let rules: Vec<_> = Rule::ALL.iter().map(|rule| json(Name::Rule(*rule))).collect();
        let unchecked: Vec<_> = Unchecked::ALL.into_iter().map(|aspect| json(Name::Aspect(aspect))).collect();
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

fn one(name: Name, format: Format, in_force: &InForce, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{:#}", explained_json(name, in_force));
    }
    match name {
        Name::Rule(rule) => writeln!(out, "{} ({}): {}\n", rule.id(), rule.kind().name(), rule.summary())?,
        Name::Aspect(aspect) => writeln!(out, "{} (unchecked)\n", aspect.name())?,
    }
    let explained = in_force.explain(name);
    paragraph("means", explained.means, out)?;
    if !explained.source.is_empty() {
        paragraph("source", &explained.source, out)?;
    }
    for document in in_force.documents() {
        stated(document, name, out)?;
    }
    if let Some(example) = explained.example {
        paragraph("example", example, out)?;
    }
    paragraph("what now", explained.now, out)
}

/// What a document states of a rule, with the first places.
fn stated(document: &ContractDocument, name: Name, out: &mut impl Write) -> io::Result<()> {
    let file = visible(document.name());
    let title = visible(&format!("{} {}", document.title(), document.version())).trim().to_owned();
    let places = places(document, name);
    let count = match (places.len(), name) {
        (0, Name::Rule(_)) => "states nothing of this".to_owned(),
        (0, Name::Aspect(_)) => "leaves this out nowhere".to_owned(),
        (1, Name::Rule(_)) => "states it in 1 place".to_owned(),
        (count, Name::Rule(_)) => format!("states it in {count} places"),
        (1, Name::Aspect(_)) => "leaves it out in 1 operation".to_owned(),
        (count, Name::Aspect(_)) => format!("leaves it out in {count} operations"),
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
    };
    let stated = |document: &ContractDocument| {
        json!({"file": document.name(), "title": document.title(), "version": document.version(),
            "sha256": document.hash(), "at": places(document, name)})
    };
    // Under the built-in contract the source says it all.
    if let (Some(members), [_, ..]) = (json.as_object_mut(), in_force.documents()) {
        members.insert("contract".to_owned(), in_force.documents().iter().map(stated).collect());
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
         `contrail explain RULE` prints the same text; with `--contract` it cites that contract.\n\n\
         At the token endpoint (section 5) contrail reports gaps and `transport.incomplete` only. What would\n\
         be a violation of its request body leaves `request-body` unchecked.\n\n\
         | rule | kind | when |\n|---|---|---|\n",
    );
    for rule in Rule::ALL {
        let anchor: String = rule.id().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let _ = writeln!(out, "| [`{}`](#{anchor}) | {} | {} |", rule.id(), rule.kind().name(), rule.summary());
    }
    for rule in Rule::ALL {
        let explained = InForce(None).explain(Name::Rule(*rule));
        let _ = write!(
            out,
            "\n## {}\n\n*{}*: {}.\n\n{}\n\n- {}\n- {}\n- {}\n",
            rule.id(),
            rule.kind().name(),
            rule.summary(),
            page_lines(explained.means, ""),
            page_lines(&format!("**Source:** {}", explained.source), "  "),
            page_lines(&format!("**Example:** {}", explained.example.unwrap_or_default()), "  "),
            page_lines(&format!("**What now:** {}", explained.now), "  ")
        );
    }
    out.push_str(
        "\n# What can be unchecked\n\nEvery exchange lists what could not be checked (`unchecked`), so that a green result never claims\nmore \
         than was checked.\n\n| name | why | what would let it be checked |\n|---|---|---|\n",
    );
    for name in Unchecked::ALL {
        let Explained { means, source, now, .. } = InForce(None).explain(Name::Aspect(name));
        let why = format!("{means} {source}");
        let _ = writeln!(out, "| `{}` | {} | {now} |", name.name(), why.trim_end());
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
            let explained = InForce(None).explain(Name::Rule(*rule));
            for text in [explained.means, &explained.source, explained.example.unwrap(), explained.now] {
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
