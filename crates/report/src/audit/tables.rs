//! The callers of an audit, as tables of a page and as rows.

use std::collections::BTreeMap;

use contrail_contract::Contract;
use contrail_exchange::finding::Rule;

use super::caller::{self, Caller, Calls, is_unneeded};
use crate::{
    Cited, Group, Integrity,
    csv::Csv,
    page::{Cell, Part, Piece, Tone, code, text},
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
    let rows = caller.scopes().into_iter().map(|(scope, seen)| {
        vec![vec![code(scope)], cited(seen.held), cited(seen.needed), cited(seen.lacked), cited(seen.claimed)]
    });
    let [called, all] = caller.rests_on(contract);
    let heading = format!("Scopes of {name}, which called {called} of {all} documented operations");
    let columns = &["scope", "held by", "needed by", "lacking in", "claimed by"];
    let part = Part::table(Tone::Plain, heading, columns, rows.collect())?;
    let buts = [caller.unread(), caller.may_be_needed()];
    Some(part.with_notes(buts.into_iter().flatten().map(|but| format!("But {but}."))))
}

fn cited(cited: Option<&Cited>) -> Cell {
    cited.map(|cited| vec![Piece::Text(Tone::Dim, cited.place())]).unwrap_or_default()
}

fn numbers(calls: &Calls) -> [String; 7] {
    [calls.count, calls.accepted, calls.refused, calls.limited, calls.other(), calls.violating, calls.early]
        .map(|count| count.to_string())
}

const COLUMNS: &[&str] = &[
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
    "message",
    "claimed",
];

/// A row per altered trail, per finding, per caller and operation, per caller and scope, and per time at which a trail
/// could not be written.
pub(super) fn csv(
    callers: &BTreeMap<String, Caller>,
    findings: Vec<&Group>,
    further: impl Iterator<Item = (Rule, u64)>,
    trails: &[Integrity],
) -> Csv {
    let mut rows = Vec::new();
    for (trail, broken) in trails.iter().filter_map(|one| one.broken.as_ref().map(|broken| (&one.trail, broken))) {
        let mut row = Row::new("altered", None);
        row.set("source", trail);
        row.set("message", broken);
        rows.push(row.0);
    }
    for group in findings {
        let caller = group.unenforced.as_ref().and_then(|unenforced| unenforced.caller.as_deref());
        let mut row = Row::new("finding", Some(&group.sample.cited));
        row.set("caller", caller.unwrap_or_default());
        row.set("operation", group.operation.as_deref().unwrap_or_default());
        row.set("rule", group.rule.id());
        row.set("at", &group.place);
        row.set("times", group.count.to_string());
        row.set("message", &group.sample.message);
        rows.push(row.0);
    }
    for (rule, count) in further {
        let mut row = Row::new("finding", None);
        row.set("rule", rule.id());
        row.set("times", count.to_string());
        row.set("message", "at further places, not listed one by one");
        rows.push(row.0);
    }
    for (name, caller) in callers {
        for (operation, calls) in &caller.calls {
            let mut row = Row::new("call", caller::cited(calls.first.as_ref()));
            row.set("caller", name);
            row.set("operation", operation);
            let columns = ["times", "accepted", "refused", "limited", "other", "violating", "early"];
            columns.into_iter().zip(numbers(calls)).for_each(|(column, number)| row.set(column, number));
            if calls.early_unchecked > 0 {
                row.set("early unchecked", calls.early_unchecked.to_string());
            }
            rows.push(row.0);
        }
        for (scope, seen) in caller.scopes() {
            let cites =
                [("lacked", seen.lacked), ("needed", seen.needed), ("held", seen.held), ("claimed", seen.claimed)];
            let mut row = Row::new("scope", cites.iter().find_map(|(_, cited)| *cited));
            row.set("caller", name);
            row.set("scope", scope);
            cites.iter().filter(|(_, cited)| cited.is_some()).for_each(|(column, _)| row.set(column, "yes"));
            if is_unneeded(&seen) {
                row.set("message", caller.may_be_needed().unwrap_or_default());
            }
            rows.push(row.0);
        }
    }
    for (trail, lost) in trails.iter().flat_map(|one| one.unrecorded.iter().map(move |lost| (&one.trail, lost))) {
        let mut row = Row::new("unrecorded", None);
        row.set("at", format!("from {:.3} to {:.3}", lost.from, lost.to));
        row.set("times", lost.exchanges.to_string());
        row.set("source", trail);
        row.set("started", format!("{:.3}", lost.from));
        rows.push(row.0);
    }
    Csv { columns: COLUMNS, rows }
}

/// A row of [`COLUMNS`].
struct Row(Vec<String>);

impl Row {
    /// One of this kind, which cites this exchange.
    fn new(kind: &str, cited: Option<&Cited>) -> Self {
        let mut row = Self(vec![String::new(); COLUMNS.len()]);
        row.set("row", kind);
        let columns = ["source", "entry", "line", "started", "method", "url", "status"];
        let cells = cited.map(Cited::cells).unwrap_or_default();
        columns.into_iter().zip(cells).for_each(|(column, cell)| row.set(column, cell));
        row
    }

    fn set(&mut self, column: &str, cell: impl Into<String>) {
        if let Some(at) = COLUMNS.iter().position(|held| *held == column) {
            self.0[at] = cell.into();
        }
    }
}
