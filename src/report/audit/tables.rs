//! The callers of an audit, as tables of a page and as rows.

use std::collections::BTreeMap;

use super::caller::{self, Caller, Calls};
use crate::{
    contract::Contract,
    report::{
        Cited, Group,
        csv::Csv,
        page::{Cell, Part, Piece, Tone, code, text},
    },
};

/// Two tables of each caller.
pub(super) fn parts(callers: &BTreeMap<String, Caller>, contract: &Contract) -> Vec<Part> {
    callers.iter().flat_map(|(name, caller)| [calls(name, caller), scopes(name, caller, contract)]).flatten().collect()
}

fn calls(name: &str, caller: &Caller) -> Option<Part> {
    let row = |(operation, calls): (&String, &Calls)| -> Vec<Cell> {
        let mut row = vec![vec![text(operation)]];
        row.extend(numbers(calls).map(|number| vec![text(number)]));
        if calls.early_unchecked > 0
            && let Some(early) = row.last_mut()
        {
            early.push(Piece::Text(Tone::Dim, format!(" ({} not checked)", calls.early_unchecked)));
        }
        row.push(cited(caller::cited(calls.first.as_ref())));
        row
    };
    let columns = &["operation", "times", "accepted", "401 or 403", "429", "other", "violating", "too early", "first"];
    Part::table(Tone::Plain, format!("Calls of {name}"), columns, caller.calls.iter().map(row).collect())
}

fn scopes(name: &str, caller: &Caller, contract: &Contract) -> Option<Part> {
    let rows = caller
        .scopes()
        .into_iter()
        .map(|(scope, seen)| vec![vec![code(scope)], cited(seen.held), cited(seen.needed), cited(seen.lacked)]);
    let [called, all] = caller.rests_on(contract);
    let heading = format!("Scopes of {name}, which called {called} of {all} documented operations");
    Part::table(Tone::Plain, heading, &["scope", "held by", "needed by", "lacking in"], rows.collect())
}

fn cited(cited: Option<&Cited>) -> Cell {
    cited.map(|cited| vec![Piece::Text(Tone::Dim, cited.place())]).unwrap_or_default()
}

fn numbers(calls: &Calls) -> [String; 7] {
    [calls.count, calls.accepted, calls.refused, calls.limited, calls.other(), calls.violating, calls.early]
        .map(|count| count.to_string())
}

/// A row per caller and operation, per caller and scope, and per finding.
pub(super) fn csv(callers: &BTreeMap<String, Caller>, findings: Vec<&Group>) -> Csv {
    let columns = &[
        "row",
        "caller",
        "operation",
        "scope",
        "rule",
        "at",
        "times",
        "accepted",
        "refused",
        "limited",
        "other",
        "violating",
        "early",
        "held",
        "needed",
        "lacked",
        "source",
        "entry",
        "line",
        "started",
        "method",
        "url",
        "status",
        "early unchecked",
    ];
    let mut rows = Vec::new();
    let mut add = |names: [&str; 6], numbers: [String; 7], scope: [bool; 3], first: Option<&Cited>, unchecked: u64| {
        let mut row: Vec<String> = names.map(str::to_owned).into();
        row.extend(numbers);
        row.extend(scope.map(|is| if is { "yes".to_owned() } else { String::new() }));
        row.extend(first.map_or_else(|| vec![String::new(); 7], Cited::cells));
        row.push(if unchecked > 0 { unchecked.to_string() } else { String::new() });
        rows.push(row);
    };
    for group in findings {
        let mut numbers = [const { String::new() }; 7];
        numbers[0] = group.count.to_string();
        let operation = group.operation.as_deref().unwrap_or_default();
        let names = ["finding", "", operation, "", group.rule.id(), &group.place];
        add(names, numbers, [false; 3], Some(&group.sample.cited), 0);
    }
    for (name, caller) in callers {
        for (operation, calls) in &caller.calls {
            let names = ["call", name, operation, "", "", ""];
            add(names, numbers(calls), [false; 3], caller::cited(calls.first.as_ref()), calls.early_unchecked);
        }
        for (scope, seen) in caller.scopes() {
            let cites = [seen.lacked, seen.needed, seen.held];
            let is = [cites[2].is_some(), cites[1].is_some(), cites[0].is_some()];
            let first = cites.into_iter().flatten().next();
            add(["scope", name, "", scope, "", ""], [const { String::new() }; 7], is, first, 0);
        }
    }
    Csv { columns, rows }
}
