//! `contrail contract --check`: a linter of the contract itself.

use std::{
    collections::{BTreeMap, HashSet},
    io::{self, Write},
};

use contrail_contract::{Contract, ContractDocument};
use contrail_exchange::{plural::plural, visible::visible};
use serde_json::{Value, json};

/// Whether the check finds a place that contrail cannot judge by, or something without effect.
pub(super) fn is_broken(contract: &Contract) -> bool {
    contract.documents().iter().any(|document| document.unusable_places().next().is_some())
        || !contract.warnings().is_empty()
}

/// A place of the contract, and what there is to report about it.
struct Row {
    at: String,
    what: String,
}

/// Lines of one kind from all documents.
fn lines<'c>(contract: &'c Contract, of: impl Fn(&'c ContractDocument) -> Vec<(String, String)>) -> Vec<Row> {
    let of_one = |document: &'c ContractDocument| {
        of(document).into_iter().map(|(at, what)| Row { at: located(contract, document, &at), what })
    };
    contract.documents().iter().flat_map(of_one).collect()
}

fn broken(contract: &Contract) -> Vec<Row> {
    lines(contract, |document| {
        document.unusable_places().map(|place| (place.at.clone(), place.reason.clone())).collect()
    })
}

fn not_judged(contract: &Contract) -> Vec<Row> {
    lines(contract, |document| {
        let unread = document.not_implemented().iter().map(|aspect| (aspect.at.clone(), aspect.what.clone()));
        unread.chain(document.never_judged()).collect()
    })
}

fn contradictory(contract: &Contract) -> Vec<Row> {
    lines(contract, |document| document.contradictions().into_iter().chain(document.broken_examples()).collect())
}

/// What the document does not show, with the operations or schemas that lack it.
fn not_shown(contract: &Contract) -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut known = HashSet::new();
    for document in contract.documents() {
        for fact in document.outline().not_shown {
            known.insert((fact.statement.clone(), fact.place.clone()));
            places.entry(fact.statement).or_default().push(fact.place);
        }
        for (aspect, place) in document.not_shown() {
            if known.insert((aspect.to_owned(), place.clone())) {
                places.entry(aspect.to_owned()).or_default().push(place);
            }
        }
    }
    places
}

/// Maximum places that the text names for one aspect that is not shown.
const MAX_PLACES: usize = 8;

pub(super) fn text(contract: &Contract, out: &mut impl Write) -> io::Result<()> {
    for document in contract.documents() {
        let (title, version) = (visible(document.title()), visible(document.version()));
        let operations = plural(document.model().operations.len(), "operation");
        writeln!(out, "`{}`: {title} {version}, {operations}", visible(document.name()))?;
    }
    section(
        "Broken: contrail cannot judge by these places, so what they restrict is unchecked",
        &broken(contract),
        out,
    )?;
    let warnings = contract.warnings();
    if !warnings.is_empty() {
        writeln!(out, "\nWithout effect, or not declared")?;
    }
    for warning in &warnings {
        writeln!(out, "  {}", visible(warning))?;
    }
    let not_shown = not_shown(contract);
    if !not_shown.is_empty() {
        writeln!(out, "\nNot shown: contrail reports these as unchecked or as gaps")?;
    }
    for (aspect, places) in &not_shown {
        let named: Vec<_> = places.iter().take(MAX_PLACES).map(String::as_str).collect();
        let more = places.len().saturating_sub(MAX_PLACES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        writeln!(out, "  {aspect}: {}: {}{more}", plural(places.len(), "place"), visible(&named.join(", ")))?;
    }
    section(
        "Contradictory: schemas that exclude what they ask for, and examples that break the schemas beside them",
        &contradictory(contract),
        out,
    )?;
    section("Never judged: the contract states it, and contrail does not check it", &not_judged(contract), out)?;
    let (broken, warnings) = (broken(contract).len(), warnings.len());
    match broken + warnings {
        0 => writeln!(out, "\nnothing is broken"),
        _ => writeln!(out, "\n{} broken, {} without effect", plural(broken, "place"), plural(warnings, "statement")),
    }
}

fn section(title: &str, lines: &[Row], out: &mut impl Write) -> io::Result<()> {
    if !lines.is_empty() {
        writeln!(out, "\n{title}")?;
    }
    for line in lines {
        writeln!(out, "  {}: {}", visible(&line.at), visible(&line.what))?;
    }
    Ok(())
}

pub(super) fn as_json(contract: &Contract) -> Value {
    let all = |lines: Vec<Row>, name: &str| {
        lines.into_iter().map(|line| json!({"at": line.at, (name): line.what})).collect::<Vec<_>>()
    };
    let (broken, warnings) = (broken(contract), contract.warnings());
    json!({
        "contract": {"title": contract.title(), "version": contract.version()},
        "summary": {"broken": broken.len(), "warnings": warnings.len()},
        "broken": all(broken, "reason"),
        "warnings": warnings,
        "not_shown": not_shown(contract),
        "contradictory": all(contradictory(contract), "reason"),
        "not_judged": all(not_judged(contract), "what"),
    })
}

/// A place of a document: its JSON pointer, behind the document's name where the contract has several.
pub(super) fn located(contract: &Contract, document: &ContractDocument, at: &str) -> String {
    if contract.documents().len() > 1 { format!("{}#{at}", document.name()) } else { at.to_owned() }
}
