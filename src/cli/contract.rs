//! `contrail contract`: the contract in force.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    ContractArgs, Failure, Format, Outcome,
    printer::{Printer, write_whole},
};
use crate::{
    contract::{
        Contract,
        outline::{Fact, Operation, Outline},
    },
    plural::plural,
    visible::visible,
};

/// Show the contract: operations, scopes, and what it does not specify
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    contract: ContractArgs,
    /// Write the effective OpenAPI document instead, to FILE (JSON for .json, otherwise YAML) or standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    export: Option<Option<PathBuf>>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let contract = args.contract.load()?;
    match &args.export {
        Some(Some(file)) if file != Path::new("-") => export(&contract, file)?,
        Some(_) => {
            let mut printer = Printer::stdout();
            match args.format {
                Format::Json => writeln!(printer, "{:#}", contract.document())?,
                Format::Text => printer.write_all(contract.to_yaml().as_bytes())?,
            }
            printer.flush()?;
        }
        None => {
            let mut printer = Printer::stdout();
            match args.format {
                Format::Json => writeln!(printer, "{:#}", as_json(&contract))?,
                Format::Text => text(&contract, &mut printer)?,
            }
            printer.flush()?;
        }
    }
    Ok(Outcome::CLEAN)
}

fn export(contract: &Contract, file: &Path) -> Result<(), Failure> {
    let json = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = if json { format!("{:#}\n", contract.document()) } else { contract.to_yaml() };
    write_whole(file, text.as_bytes()).map_err(|error| format!("cannot write `{}`: {error}", file.display()).into())
}

fn text(contract: &Contract, out: &mut impl Write) -> io::Result<()> {
    let outline = contract.outline();
    let bases: Vec<&str> =
        contract.base_paths().iter().map(|base| if base.is_empty() { "/" } else { base.as_str() }).collect();
    writeln!(out, "{} {}", visible(contract.title()), visible(contract.version()))?;
    writeln!(out, "base path {}; sha256 {}", visible(&bases.join(", ")), contract.hash())?;

    writeln!(out, "\nOperations")?;
    for operation in &outline.operations {
        one(operation, out)?;
    }
    scopes(&outline, out)?;
    table("Limits", &outline.limits, out)?;
    table("Not shown: nobody can judge these, so they come back as unchecked or as gaps", &outline.not_shown, out)?;

    let not_implemented = contract.not_implemented();
    writeln!(out, "\nNot implemented: the document says it, contrail does not check it")?;
    if not_implemented.is_empty() {
        writeln!(out, "  nothing")?;
    }
    for told in not_implemented {
        writeln!(out, "  {}: {}", visible(&told.at), visible(&told.what))?;
    }
    let mut unusable = contract.unusable_places().peekable();
    if unusable.peek().is_some() {
        writeln!(out, "\nUnusable: contrail cannot judge by these places, so what they restrict is unchecked")?;
    }
    for place in unusable {
        writeln!(out, "  {}: {}", visible(&place.at), visible(&place.reason))?;
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
        (_, false) if operation.asks_for.is_empty() => line("asks for", "nothing")?,
        (_, false) => line("asks for", &format!("{}; not checked", all(&operation.asks_for)))?,
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
        writeln!(out, "  {:width$}  {}{source}", visible(place), visible(&fact.says))?;
        previous = &fact.place;
    }
    Ok(())
}

fn as_json(contract: &Contract) -> Value {
    let outline = contract.outline();
    let fact = |fact: &Fact| json!({"place": fact.place, "says": fact.says, "source": fact.source});
    let operation = |operation: &Operation| {
        json!({
            "operation": operation.id, "method": operation.method, "path": operation.path,
            "summary": operation.summary, "source": operation.source, "lifecycle": operation.lifecycle,
            "scopes": operation.scopes, "bearer": operation.bearer, "asks_for": operation.asks_for, "statuses": operation.statuses,
            "request_types": operation.request_types,
        })
    };
    let mut scopes: Vec<&str> =
        contract.model().scopes.iter().flat_map(crate::contract::model::Catalogue::iter).collect();
    scopes.sort_unstable();
    json!({
        "contract": {"title": contract.title(), "version": contract.version()},
        "sha256": contract.hash(),
        "base_paths": contract.base_paths(),
        "operations": outline.operations.iter().map(operation).collect::<Vec<_>>(),
        "scopes": scopes,
        "limits": outline.limits.iter().map(fact).collect::<Vec<_>>(),
        "not_shown": outline.not_shown.iter().map(fact).collect::<Vec<_>>(),
        "not_implemented": contract.not_implemented().iter()
            .map(|told| json!({"at": told.at, "what": told.what})).collect::<Vec<_>>(),
        "unusable": contract.unusable_places()
            .map(|place| json!({"at": place.at, "reason": place.reason})).collect::<Vec<_>>(),
        "warnings": contract.warnings(),
    })
}
