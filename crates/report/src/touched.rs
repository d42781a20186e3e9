//! What the exchanges of a report touch of the contract.

use std::borrow::Cow;

use contrail_exchange::json::pointer_tokens;
use serde_json::{Map, Value, json};

use crate::{
    coverage::{Counts, Coverage, Item, Part},
    page::{Branch, Piece, code, text},
};

/// `1 of 7 operations, 2 of 24 statuses`; `None` before the first exchange.
pub(super) fn in_words(coverage: &Coverage) -> Option<String> {
    let kinds = kinds(coverage).map(|(part, Counts { touched, of })| format!("{touched} of {of} {}", part.words()));
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// The same with the names of all parts that were never touched.
pub(super) fn values(coverage: &Coverage) -> Option<Value> {
    let kinds = kinds(coverage).map(|(part, Counts { touched, of })| {
        let never: Vec<&str> = coverage.untouched(part).collect();
        (part.name().to_owned(), json!({"touched": touched, "of": of, "never": never}))
    });
    let kinds: Map<String, Value> = kinds.collect();
    (!kinds.is_empty()).then(|| kinds.into())
}

/// The kinds of parts that the contract has; none before the first exchange.
pub(super) fn kinds(coverage: &Coverage) -> impl Iterator<Item = (Part, Counts)> {
    let all = Part::ALL.into_iter().filter(|_| coverage.exchanges() > 0);
    all.map(|part| (part, coverage.counts(part))).filter(|(_, counts)| counts.of > 0)
}

/// The kinds of parts; below them the operations and schemas with such parts that were never touched, and these, at most
/// so many of a kind.
pub(super) fn tree(coverage: &Coverage, kinds: impl Iterator<Item = (Part, Counts)>, most: usize) -> Vec<Branch> {
    let kind = |(part, counts): (Part, Counts)| {
        let (mut below, mut named) = (Vec::new(), 0);
        for (owner, counts, never) in owners(coverage, part) {
            let room = most - named;
            let leaf = |name| Branch { line: vec![code(name)], below: Vec::new() };
            let leaves = never.into_iter().take(room).map(leaf).collect::<Vec<_>>();
            named += leaves.len();
            match part {
                _ if leaves.is_empty() => {}
                Part::Operations => below.extend(leaves),
                _ => below.push(Branch { line: counted(counts, code(owner)), below: leaves }),
            }
        }
        let more = counts.of - counts.touched - named;
        below.extend((more > 0).then(|| Branch { line: vec![text(format!("and {more} more"))], below: Vec::new() }));
        Branch { line: counted(counts, text(part.words())), below }
    };
    kinds.map(kind).collect()
}

fn counted(Counts { touched, of }: Counts, what: Piece) -> Vec<Piece> {
    let bar = Piece::Bar { dark: touched as u64, light: 0, of: of as u64 };
    vec![bar, text(format!("{touched} of {of} ")), what]
}

/// The parts of one kind by the operation or the schema whose they are: its name, its counts, and the names of those
/// that were never touched.
fn owners(coverage: &Coverage, part: Part) -> Vec<(Cow<'_, str>, Counts, Vec<&str>)> {
    let mut owners: Vec<(Cow<'_, str>, Counts, Vec<&str>)> = Vec::new();
    for item in coverage.each(part) {
        let owner = owner(&item);
        if owners.last().is_none_or(|(last, ..)| *last != owner) {
            owners.push((owner, Counts::default(), Vec::new()));
        }
        if let Some((_, counts, never)) = owners.last_mut() {
            counts.of += 1;
            counts.touched += usize::from(item.times > 0);
            never.extend((item.times == 0).then_some(item.name));
        }
    }
    owners
}

fn owner<'a>(item: &Item<'a>) -> Cow<'a, str> {
    let mut tokens = pointer_tokens(item.at);
    match (tokens.next().as_deref(), tokens.next().as_deref(), tokens.next()) {
        (Some("components"), Some("schemas"), Some(name)) => name,
        _ => Cow::Borrowed(item.name.split_once(": ").map_or(item.name, |(operation, _)| operation)),
    }
}
