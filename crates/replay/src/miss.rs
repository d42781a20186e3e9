//! A request that no recorded exchange answers: what was asked, what comes near, and what would help.

use std::{cmp::Reverse, mem::discriminant};

use contrail_exchange::{Difference, Near, Request, shell};
use contrail_proxy::upstream::{Miss, Reason};
use contrail_recording::{
    Ignore, IgnoreSet, Scope,
    fixture::request_parts::{Content, Parts},
};

use super::{
    differences,
    index::Index,
    mask::{Key, Mask},
    prepared::asked,
};

/// How many recorded exchanges a miss shows.
const MAX_SHOWN: usize = 3;
/// Maximum recorded exchanges of the same method and path that are compared with a missed request in full.
const MAX_COMPARED: usize = 1000;
/// Maximum other methods and paths, and maximum exchanges of one of these.
const MAX_ELSEWHERE: usize = 100;
const MAX_OF_LINE: usize = 20;
/// Maximum methods with paths whose distance is looked at.
const MAX_LINES: usize = 50_000;

/// A miss of `request`, which is `raw` before redaction.
pub(super) fn unknown(index: &Index, request: &Request, parts: &Parts, raw: &Parts) -> Miss {
    let reason = if index.held.is_empty() { Reason::Empty } else { Reason::Unknown };
    Miss { reason, asked: asked(request), nearest: nearest(index, parts, raw), session: None }
}

/// A miss although `entry` is the same request.
pub(super) fn of_entry(index: &Index, reason: Reason, request: &Request, entry: u32) -> Miss {
    Miss { reason, asked: asked(request), nearest: vec![near(index, entry, Vec::new())], session: None }
}

/// How far the line of a recorded exchange is from a request: whether it is of another of several upstreams, then
/// whether it is of another documented operation, then how far its path is.
type Distance = (bool, bool, usize);

/// Then whether its body is of another kind, and how many differences there are.
type Cost = (Distance, bool, usize);

/// The recorded exchanges that come nearest: those of the same method and path, or else by [`Distance`]; then those
/// whose body is of the same kind, then those with the fewest differences.
fn nearest(index: &Index, parts: &Parts, raw: &Parts) -> Vec<Near> {
    let mut near: Vec<(Cost, u32, Vec<Difference>)> = Vec::new();
    for (distance, entry) in candidates(index, parts) {
        let request = index.request(entry);
        let recorded = index.rules.parts_of(&request);
        let mask: Mask = index.mask_of(&request, &recorded);
        let ignored = index.rules.ignored(&recorded.site, recorded.method.as_str(), &recorded.path);
        let mut differences = differences::differences(parts, &recorded, &mask, &ignored);
        differences.extend(index.label_reader().differences((raw, parts), &recorded, &mask, &ignored));
        differences.splice(0..0, index.host_difference(parts, &recorded));
        if near.iter().any(|(_, _, seen)| *seen == differences) {
            continue; // the same request, recorded again
        }
        let comparable = usize::from(matches!(recorded.body, Content::Unseen(_)));
        let other_kind = discriminant(&parts.body) != discriminant(&recorded.body);
        near.push(((distance, other_kind, differences.len() + comparable), entry, differences));
        near.sort_by_key(|(cost, entry, _)| (*cost, *entry));
        near.truncate(MAX_SHOWN);
    }
    let near = near.into_iter().map(|(_, entry, mut differences)| {
        keep_what_never_decides(index, entry, &mut differences);
        narrow(index, entry, parts, &mut differences);
        self::near(index, entry, differences)
    });
    near.collect()
}

/// Takes back the advice to ignore what decides between recorded answers (a page, an id): it would give another one's.
fn keep_what_never_decides(index: &Index, entry: u32, differences: &mut [Difference]) {
    let rule = |one: &Difference| one.option.as_deref()?.strip_prefix("--ignore ")?.parse::<Ignore>().ok();
    let rules: Vec<(usize, Ignore)> =
        differences.iter().enumerate().filter_map(|(at, one)| Some((at, rule(one)?))).collect();
    if rules.is_empty() {
        return;
    }
    let request = index.request(entry);
    let recorded = index.rules.parts_of(&request);
    let method = recorded.method.as_str();
    let mask = index.mask_of(&request, &recorded);
    // With all of them left out, and with each one back in.
    let sets: Vec<IgnoreSet> = (0..=rules.len())
        .map(|back| {
            let others = rules.iter().enumerate().filter(|(at, _)| *at + 1 != back);
            let others: Vec<Ignore> = others.map(|(_, (_, rule))| rule.clone()).collect();
            index.rules.ignored_with(&recorded, &others)
        })
        .collect();
    let key = |set: &IgnoreSet, parts: &Parts| {
        let line = index.rules.keys.line(&parts.site, parts.method.as_str(), &set.path(&parts.path), &mask.segments);
        index.rules.keys.request(line, parts, &mask, set)
    };
    let is_like = |entry: &u32| {
        let (other, path) = index.asked_line(*entry);
        other == method && sets[0].path(path) == sets[0].path(&recorded.path)
    };
    let entries: Vec<u32> = if sets[0].leaves_out_segments() {
        let lines =
            index.lines_near(None).take(MAX_LINES).filter(|(_, line)| line.entries.first().is_some_and(is_like));
        lines.flat_map(|(_, line)| line.entries.iter().copied()).take(MAX_ELSEWHERE).collect()
    } else {
        let lines = index.lines_of(&recorded).filter_map(|key| index.line(key));
        lines.flat_map(|line| line.entries.iter().copied()).take(MAX_ELSEWHERE).collect()
    };
    let like: Vec<(Vec<Key>, u64)> = entries
        .iter()
        .filter_map(|number| {
            let parts = index.rules.parts_of(&index.request(*number));
            let response = index.entry(*number).exchange.response.as_ref()?;
            let keys = sets.iter().map(|set| key(set, &parts));
            Some((keys.collect(), index.rules.keys.hash(&(response.status, &response.body.content))))
        })
        .collect();
    // The places at which two of them differ, where the answers do, too; the fewest places first.
    let mut apart: Vec<Vec<usize>> = Vec::new();
    for (at, (left, answer)) in like.iter().enumerate() {
        for (right, other) in like[..at].iter().filter(|(right, _)| left[0] == right[0]) {
            let places: Vec<usize> = (0..rules.len()).filter(|place| left[place + 1] != right[place + 1]).collect();
            if answer != other && !apart.contains(&places) {
                apart.push(places);
            }
        }
    }
    apart.sort_by_key(Vec::len);
    let mut decide: Vec<usize> = Vec::new();
    for places in apart {
        if !places.iter().any(|place| decide.contains(place)) {
            decide.extend(places);
        }
    }
    for place in decide {
        differences[rules[place].0].option = None;
    }
}

/// Limits the rules that would make an entry match to requests like it: those of its documented operation, else of its
/// method and path, with `*` for ids.
fn narrow(index: &Index, entry: u32, yours: &Parts, differences: &mut [Difference]) {
    let (method, path) = index.asked_line(entry);
    let mut yours = yours.path.split('/');
    let segment = |text| if yours.next() == Some(text) { text } else { "*" };
    let both = path.split('/').map(segment).collect::<Vec<_>>().join("/");
    let scope = Scope::of(index.operation(entry).as_deref(), method, &both);
    for option in differences.iter_mut().filter_map(|one| one.option.as_mut()) {
        if let Some(rule) = option.strip_prefix("--ignore ") {
            *option = format!("--ignore {}", shell::word(&format!("{scope}={rule}")));
        }
    }
}

/// The recorded exchanges that are compared with a request in full, and how far their lines are from it.
fn candidates(index: &Index, parts: &Parts) -> Vec<(Distance, u32)> {
    let same = index.lines_of(parts).filter_map(|key| index.line(key)).flat_map(|line| &line.entries);
    let same: Vec<_> = same.take(MAX_COMPARED).map(|entry| (Distance::default(), *entry)).collect();
    if !same.is_empty() {
        return same;
    }
    let operation = index.rules.operation(&parts.site, parts.method.as_str(), &parts.path);
    let mut lines: Vec<_> = index
        .lines_near(operation.as_ref())
        .take(MAX_LINES)
        .filter_map(|(other, line)| {
            let first = *line.entries.first()?;
            let (method, path) = index.asked_line(first);
            let other_site = index.is_of_another_upstream(first, &parts.site);
            let other_method = usize::from(parts.method != method) * 3;
            let distance = differences::path_distance(&parts.path, path, &[]) * 2 + other_method;
            let common = path.bytes().zip(parts.path.bytes()).take_while(|(left, right)| left == right).count();
            Some(((other_site, other && operation.is_some(), distance), Reverse(common), line))
        })
        .collect();
    lines.sort_by_key(|(distance, common, line)| (*distance, *common, line.entries.first().copied()));
    let entries = lines
        .into_iter()
        .flat_map(|(distance, _, line)| line.entries.iter().take(MAX_OF_LINE).map(move |entry| (distance, *entry)));
    entries.take(MAX_ELSEWHERE).collect()
}

fn near(index: &Index, entry: u32, differences: Vec<Difference>) -> Near {
    let held = &index.held[entry as usize];
    Near { entry: index.name(entry), request: index.asked(entry).to_owned(), status: held.status, differences }
}
