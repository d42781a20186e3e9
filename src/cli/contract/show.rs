//! The contract as text and as JSON: operations, scopes, limits, and what it does not specify.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, IsTerminal as _, Write},
};

use contrail_contract::{
    Contract, ContractDocument,
    outline::{AskedScheme, Fact, Operation, Outline},
};
use contrail_exchange::{plural::plural, visible::visible};
use contrail_report::Screen;
use serde_json::{Value, json};

use super::check::located;

pub(super) fn text(contract: &Contract, out: &mut impl Write) -> io::Result<()> {
    for (index, document) in contract.documents().iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        document_text(document, contract.documents().len() > 1, out)?;
    }
    let warnings = contract.warnings();
    if !warnings.is_empty() {
        writeln!(out, "\nWarnings")?;
    }
    for warning in warnings {
        writeln!(out, "  {}", visible(&warning))?;
    }
    Ok(())
}

fn document_text(document: &ContractDocument, named: bool, out: &mut impl Write) -> io::Result<()> {
    let outline = document.outline();
    let bases: Vec<&str> =
        document.base_paths().iter().map(|base| if base.is_empty() { "/" } else { base.as_str() }).collect();
    writeln!(out, "{} {}", visible(document.title()), visible(document.version()))?;
    if named {
        writeln!(out, "document `{}`", visible(document.name()))?;
    }
    let screen = Screen { terminal: io::stdout().is_terminal(), ..Screen::default() };
    writeln!(out, "base path {}; sha256 {}", visible(&bases.join(", ")), screen.hash(document.hash()))?;

    writeln!(out, "\nOperations")?;
    for operation in document.operations() {
        one(&operation, out)?;
    }
    scopes(&outline, out)?;
    limits(&outline.limits, out)?;
    table("Not shown: these cannot be judged, so they come back as unchecked or as gaps", &outline.not_shown, out)?;

    let not_implemented = document.not_implemented();
    writeln!(out, "\nNot implemented: stated by the document, not checked by contrail")?;
    if not_implemented.is_empty() {
        writeln!(out, "  nothing")?;
    }
    for aspect in not_implemented {
        writeln!(out, "  {}: {}", visible(&aspect.at), visible(&aspect.what))?;
    }
    let mut unusable = document.unusable_places().peekable();
    if unusable.peek().is_some() {
        writeln!(out, "\nUnusable: contrail cannot judge by these places, so what they restrict is unchecked")?;
    }
    for place in unusable {
        writeln!(out, "  {}: {}", visible(&place.at), visible(&place.reason))?;
    }
    Ok(())
}

fn one(operation: &Operation, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  {}", visible(&operation.id))?;
    writeln!(out, "    {} {}", operation.method, visible(&operation.path))?;
    let mut line = |label: &str, text: &str| {
        if text.is_empty() { Ok(()) } else { writeln!(out, "      {label:10}{}", visible(text)) }
    };
    line("does", &operation.summary)?;
    let all = |alternatives: &[Vec<String>]| {
        let one = |all: &Vec<String>| if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") };
        alternatives.iter().map(one).collect::<Vec<_>>().join(", or ")
    };
    match (&operation.scopes[..], operation.bearer) {
        (_, false) if !operation.states_security => line("asks for", "not stated")?,
        (_, false) if operation.asks_for.is_empty() => line("asks for", "nothing")?,
        (_, false) => {
            let named: Vec<Vec<String>> =
                operation.asks_for.iter().map(|all| all.iter().map(ToString::to_string).collect()).collect();
            line("asks for", &all(&named))?;
        }
        ([], true) if operation.scope_not_shown => line("scope", "not shown")?,
        ([], true) => line("scope", "none: the document asks for a token without one")?,
        (scopes, true) => line("scope", &all(scopes))?,
    }
    line("body", &operation.request_types.join(" or "))?;
    line("answers", &operation.statuses.join(", "))?;
    line("stage", operation.lifecycle.as_deref().unwrap_or_default())?;
    line("section", &operation.source)
}

fn scopes(outline: &Outline, out: &mut impl Write) -> io::Result<()> {
    if outline.scopes.is_empty() {
        return Ok(());
    }
    let by_resource = outline.scopes.values().all(|verbs| !verbs.is_empty());
    let of = if by_resource { format!(" of {}", plural(outline.scopes.len(), "resource")) } else { String::new() };
    writeln!(out, "\nScopes: {}{of}", outline.scope_count)?;
    let width = outline.scopes.keys().map(String::len).max().unwrap_or_default();
    for (resource, verbs) in &outline.scopes {
        writeln!(out, "{}", visible(format!("  {resource:width$}  {}", verbs.join(" ")).trim_end()))?;
    }
    Ok(())
}

/// Maximum limits that are listed each by its place.
const MAX_LIMITS: usize = 500;
/// Maximum places that a limit shared by many names.
const MAX_PLACES: usize = 3;

/// The limits; in a large document each once, with the places that share it.
fn limits(facts: &[Fact], out: &mut impl Write) -> io::Result<()> {
    if facts.len() <= MAX_LIMITS {
        return table("Limits", facts, out);
    }
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for fact in facts {
        places.entry(&fact.statement).or_default().push(&fact.place);
    }
    let mut shared: Vec<(&str, Vec<&str>)> = places.into_iter().collect();
    shared.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    writeln!(out, "\nLimits: {} at {}", plural(shared.len(), "limit"), plural(facts.len(), "place"))?;
    for (says, places) in shared {
        let named = places.iter().take(MAX_PLACES).copied().collect::<Vec<_>>().join(", ");
        let more = places.len().saturating_sub(MAX_PLACES);
        let more = if more > 0 { format!(" and {}", plural(more, "more place")) } else { String::new() };
        writeln!(out, "  {}\n      {}{more}", visible(says), visible(&named))?;
    }
    Ok(())
}

fn table(title: &str, facts: &[Fact], out: &mut impl Write) -> io::Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    // One very long name must not push the rest off the screen.
    let width = facts.iter().map(|fact| fact.place.chars().count()).max().unwrap_or_default().min(70);
    let mut previous = "";
    for fact in facts {
        let place = if fact.place == previous { "" } else { fact.place.as_str() };
        let source = if fact.source.is_empty() { String::new() } else { format!("  [{}]", visible(&fact.source)) };
        writeln!(out, "  {:width$}  {}{source}", visible(place), visible(&fact.statement))?;
        previous = &fact.place;
    }
    Ok(())
}

pub(super) fn as_json(contract: &Contract) -> Value {
    let documents = contract.documents();
    let at = |document: &ContractDocument, at: &str| located(contract, document, at);
    let fact = |fact: &Fact| json!({"place": fact.place, "says": fact.statement, "source": fact.source});
    let operation = |operation: Operation| {
        json!({
            "operation": operation.id, "method": operation.method, "path": operation.path,
            "summary": operation.summary, "source": operation.source, "lifecycle": operation.lifecycle,
            "scopes": operation.scopes, "bearer": operation.bearer, "asks_for": asks_for(&operation), "states_security": operation.states_security, "statuses": operation.statuses,
            "request_types": operation.request_types,
        })
    };
    let outlines: Vec<Outline> = documents.iter().map(ContractDocument::outline).collect();
    let of_all = |facts: fn(&Outline) -> &[Fact]| outlines.iter().flat_map(facts).map(fact).collect::<Vec<_>>();
    let scopes: BTreeSet<&str> = documents
        .iter()
        .flat_map(|document| document.model().scopes.iter().flat_map(contrail_contract::model::Catalogue::iter))
        .collect();
    json!({
        "contract": {"title": contract.title(), "version": contract.version()},
        "documents": documents.iter().map(|document| json!({
            "name": document.name(), "title": document.title(), "version": document.version(),
            "sha256": document.hash(), "operations": document.model().operations.len(),
        })).collect::<Vec<_>>(),
        "sha256": contract.hash(),
        "base_paths": documents.iter().flat_map(ContractDocument::base_paths).collect::<BTreeSet<_>>(),
        "operations": documents.iter().flat_map(ContractDocument::operations).map(operation).collect::<Vec<_>>(),
        "scopes": scopes,
        "limits": of_all(|outline| &outline.limits),
        "not_shown": of_all(|outline| &outline.not_shown),
        "not_implemented": documents.iter().flat_map(|document| document.not_implemented().iter()
            .map(move |aspect| json!({"at": at(document, &aspect.at), "what": aspect.what}))).collect::<Vec<_>>(),
        "unusable": documents.iter().flat_map(|document| document.unusable_places()
            .map(move |place| json!({"at": at(document, &place.at), "reason": place.reason}))).collect::<Vec<_>>(),
        "warnings": contract.warnings(),
    })
}

/// Alternatives, each a list of schemes with their scopes.
fn asks_for(operation: &Operation) -> Value {
    let scheme = |asked: &AskedScheme| json!({"scheme": asked.scheme, "scopes": asked.scopes});
    let all = |all: &Vec<AskedScheme>| all.iter().map(scheme).collect::<Vec<_>>();
    operation.asks_for.iter().map(all).collect()
}
