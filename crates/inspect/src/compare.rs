//! Two exchanges side by side, and two recordings: which one an exchange is compared with, and what both have at each
//! place. What differs is what `contrail diff` reports of the same pair.

use contrail_exchange::{Exchange, finding::UNDOCUMENTED};
use contrail_recording::{MatchRules, without_run};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::diff::{Item, describe, differences, pair, side_by_side};
use serde_json::{Value, json};

use super::{
    exchange::gone,
    inspector::Inspector,
    names::Name,
    store::{Store, Taken},
    summary::{Beside, State, Summary},
};

/// The parts in their order, each with the message that it belongs to.
const PARTS: [(&str, &str); 9] = [
    ("method", "Request"),
    ("path", "Request"),
    ("query", "Query parameters"),
    ("request header", "Header fields of the request"),
    ("request body", "Body of the request"),
    ("status", "Response"),
    ("transport", "Response"),
    ("response header", "Header fields of the response"),
    ("response body", "Body of the response"),
];

/// What of an exchange decides which one it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call<'a> {
    operation: Name,
    /// Method and path where no operation is documented.
    line: Option<(Name, &'a str)>,
    /// The first digit of the status.
    class: u16,
    client: Name,
    conforms: bool,
}

/// Why an exchange is compared with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The latest of the same operation, class of status and caller that conforms.
    Conforms,
    /// The latest of the same operation before it.
    Before,
    /// The only ones of the same operation come later; the latest of them.
    After,
}

impl<'a> Call<'a> {
    fn of(summary: &'a Summary) -> Self {
        Self {
            operation: summary.operation,
            line: (summary.operation == 0).then_some((summary.method, summary.divided().0)),
            class: summary.status / 100,
            client: summary.client,
            conforms: summary.verdict_name() == "conforms",
        }
    }

    /// The partner of exchange `n` among `others`, which begin with the latest.
    fn partner(&self, n: u32, others: impl Iterator<Item = (u32, Self)>) -> Option<(u32, Why)> {
        let (mut before, mut after) = (None, None);
        for (number, other) in others {
            if number == n || (other.operation, other.line) != (self.operation, self.line) {
                continue;
            }
            if other.conforms && (other.class, other.client) == (self.class, self.client) {
                return Some((number, Why::Conforms));
            }
            let side = if number < n { &mut before } else { &mut after };
            side.get_or_insert(number);
        }
        before.map(|number| (number, Why::Before)).or(after.map(|number| (number, Why::After)))
    }
}

/// The exchange that another one is compared with unless a person chooses, and why.
fn partner(store: &Store, n: u32, clean: impl Fn(&str) -> String) -> Option<(Option<u32>, String)> {
    let summary = store.summary(n)?;
    if let Some(partner) = store.beside(n).and_then(|beside| beside.partner) {
        return Some((Some(partner), format!("`contrail diff` pairs no. {partner} and no. {n}.")));
    }
    let name = |number| store.names.text(number).map(|text| clean(text));
    let call = Call::of(summary);
    let others = store.numbered().rev().map(|(number, summary)| (number, Call::of(summary)));
    let found = call.partner(n, others);
    let line = || call.line.and_then(|(method, path)| Some(format!("{} {}", name(method)?, clean(path))));
    let operation = name(call.operation).or_else(line).unwrap_or_else(|| UNDOCUMENTED.to_owned());
    let class = if call.class == 0 { "without a response".to_owned() } else { format!("with status {}xx", call.class) };
    let caller = name(call.client).map_or_else(String::new, |client| format!(" of client `{client}`"));
    let like_it = format!("exchange of `{operation}` {class}{caller}");
    let why = match found {
        Some((number, Why::Conforms)) => format!("No. {number} is the latest {like_it} that conforms."),
        Some((number, Why::Before)) => {
            format!("No other {like_it} conforms: no. {number} is the latest of the operation before no. {n}.")
        }
        Some((number, Why::After)) => {
            format!("No other {like_it} conforms, and none came before: no. {number} is the latest of the operation.")
        }
        None => format!("There is no other exchange of `{operation}`."),
    };
    Some((found.map(|(number, _)| number), why))
}

impl Inspector {
    /// Adds a new recording to an empty page, with what became of each exchange since the old one, and of the old one
    /// what the new one has no more. Exchanges are paired as `contrail diff` pairs them.
    pub fn add_both(&self, old: &[Taken], new: &[Taken]) {
        let item = |(at, taken): (usize, &Taken)| {
            Item::new(
                at,
                taken.judged.verdict.operation.as_deref(),
                (*taken.judged).clone(),
                &MatchRules::default(),
                &self.redactor,
            )
        };
        let items = |all: &[Taken]| all.iter().enumerate().map(item).collect();
        let number = |index: usize| u32::try_from(index).ok();
        let pairs = pair(items(old), items(new));
        let mut of_old = vec![Beside { state: State::Removed, partner: None }; old.len()];
        let mut of_new = vec![Beside { state: State::Added, partner: None }; new.len()];
        for (a, b) in &pairs.both {
            let is_same = differences(a, b).is_empty();
            let state = if is_same { State::Same } else { State::Changed };
            of_new[b.entry] = Beside { state, partner: number(new.len() + a.entry) };
            of_old[a.entry] = Beside { state: State::Old, partner: number(b.entry) };
        }
        for (taken, beside) in new.iter().zip(of_new).chain(old.iter().zip(of_old)) {
            self.add_beside(taken, Some(beside));
        }
    }
}

/// Exchange `n` beside `other`, or beside its partner; `None` if there is no such exchange.
pub(crate) fn value(inspector: &Inspector, n: u32, other: Option<u32>) -> Option<Value> {
    let clean = |text: &str| inspector.clean(text);
    let store = inspector.store();
    let (chosen, why) = partner(&store, n, clean)?;
    let right = store.row(n, clean)?;
    let Some(number) = other.or(chosen) else {
        return Some(json!({"left": null, "right": right, "why": why, "notes": [], "parts": [], "further": 0}));
    };
    let left = store.row(number, clean)?;
    let why = (chosen == Some(number)).then_some(why);
    drop(store);
    let mut notes = Vec::new();
    let mut read = |n: u32| {
        let read = inspector.whole(n).map(|(judged, _)| without_its_run(inspector, judged));
        read.inspect_err(|why| notes.push(format!("No. {n}: {}.", gone(inspector, *why)))).ok()
    };
    let (mut parts, mut further) = (Vec::new(), 0);
    if let (Some(a), Some(b)) = (read(number), read(n)) {
        notes.extend([(number, &a), (n, &b)].into_iter().flat_map(|(n, judged)| missing(n, &judged.exchange)));
        let compared = side_by_side(&a, &b);
        further = compared.further;
        for (part, title) in PARTS {
            let rows: Vec<Value> = compared
                .places
                .iter()
                .filter(|place| place.part == part)
                .map(|place| {
                    // A status of 0 stands for none.
                    let is_there = |text: &&str| part != "status" || *text != "0";
                    let [left, right] = [&place.a, &place.b].map(|text| text.as_deref().filter(is_there).map(clean));
                    json!({"at": clean(&place.at), "left": left, "right": right, "same": place.same})
                })
                .collect();
            if !rows.is_empty() {
                parts.push(json!({"part": part, "title": title, "rows": rows}));
            }
        }
    }
    Some(json!({"left": left, "right": right, "why": why, "notes": notes, "parts": parts, "further": further}))
}

/// An exchange without what distinguishes one run from another, as comparisons take it.
fn without_its_run(inspector: &Inspector, judged: Redacted<JudgedExchange>) -> Redacted<JudgedExchange> {
    let mut judged = judged.into_inner();
    without_run(&mut judged.exchange);
    inspector.redactor.redact(judged)
}

/// What of an exchange cannot be compared, in sentences.
fn missing(n: u32, exchange: &Exchange) -> Vec<String> {
    let response = exchange.response.as_ref().filter(|response| response.status != 0);
    let none = response.is_none().then(|| format!("No. {n} has no response."));
    let bodies = [("request", Some(&exchange.request.body)), ("response", response.map(|response| &response.body))];
    let cut = bodies.into_iter().filter_map(|(side, body)| {
        let body = body.filter(|body| !body.is_whole())?;
        let there = if body.content.is_empty() { "nothing of it is compared" } else { "only that is compared" };
        Some(format!("The body of the {side} of no. {n} is {}; {there}.", describe(body)))
    });
    none.into_iter().chain(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `OPERATION CLASS CLIENT VERDICT`, the numbers ascending.
    fn calls(table: &[&'static str]) -> Vec<(u32, Call<'static>)> {
        let call = |line: &&'static str| {
            let words: Vec<&'static str> = line.split(' ').collect();
            let operation = words[0].parse().unwrap_or_default();
            Call {
                operation,
                line: (operation == 0).then_some((1, words[0])),
                class: words[1].parse().unwrap(),
                client: words[2].parse().unwrap(),
                conforms: words[3] == "conforms",
            }
        };
        (0..).zip(table.iter().map(call)).collect()
    }

    #[test]
    fn the_partner_conforms_and_is_of_the_same_operation_class_and_caller_or_came_before() {
        let chosen = |n: u32, table: &[&'static str]| {
            let calls = calls(table);
            calls[n as usize].1.partner(n, calls.iter().rev().copied())
        };
        // The latest that conforms, before it or after it.
        let table = ["7 2 1 conforms", "7 2 1 conforms", "7 2 1 violates", "7 2 1 gap"];
        assert_eq!(chosen(2, &table), Some((1, Why::Conforms)));
        assert_eq!(chosen(1, &table), Some((0, Why::Conforms)));
        assert_eq!(chosen(0, &["7 2 1 violates", "7 2 1 gap", "7 2 1 conforms"]), Some((2, Why::Conforms)));
        // Another operation, class of status or caller is no such one.
        let table = ["7 2 1 violates", "8 2 1 conforms", "7 4 1 conforms", "7 2 2 conforms", "7 2 1 violates"];
        assert_eq!(chosen(4, &table), Some((3, Why::Before)));
        assert_eq!(chosen(0, &table), Some((4, Why::After)));
        assert_eq!(chosen(1, &table), None);
        // Without an operation, method and path take its place.
        let table = ["/a 4 0 gap", "/b 4 0 gap", "/a 4 0 gap"];
        assert_eq!(chosen(2, &table), Some((0, Why::Before)));
        assert_eq!(chosen(1, &table), None);
    }
}
