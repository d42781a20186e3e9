//! Which of the recorded answers to one request is next.

use std::collections::HashMap;

use contrail_exchange::Headers;

use super::{
    caller::CallerId,
    conditions::{self, Conditions},
    index::{Bucket, Index},
};

/// What happens when the same request was asked more often than it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Exhausted {
    /// Repeat the last recorded response
    Repeat,
    /// Start again with the first recorded response
    Loop,
    /// Report a miss
    Miss,
}

/// How far the recorded answers are used up. Counted per request, not globally.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// How often each entry was served.
    served: Vec<u32>,
    /// Where each caller stands in each bucket, among `cursors`. Callers without entries of their own stand together.
    places: HashMap<(u32, Option<CallerId>, Conditions, u64), usize>,
    cursors: Vec<Cursor>,
}

/// Where a caller stands in a bucket.
#[derive(Debug)]
struct Cursor {
    /// The entries that it may get; its own, where it has some.
    entries: Vec<u32>,
    /// How many of them are preferred; they come first.
    preferred: usize,
    /// What there is instead if none can be served.
    none: Choice,
    next: usize,
    round: u32,
}

/// Who asks for the answer to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker<'a> {
    /// Where it is known.
    pub(super) caller: Option<CallerId>,
    pub(super) headers: &'a Headers,
    /// The sets of labels that it may have; none if they do not count.
    pub(super) label_sets: &'a [u32],
    /// The number of its exact key, see [`Index::find`].
    pub(super) exact: u32,
}

impl Cursor {
    /// At the start of what can be served of these entries.
    fn over(
        index: &Index,
        bucket: &Bucket,
        mut all: Vec<u32>,
        asked: Conditions,
        rank: impl Fn(u32) -> (bool, bool),
    ) -> Self {
        let held = |entry: u32| &index.held[entry as usize];
        let first = all.first().copied().unwrap_or(bucket.entries[0]);
        if bucket.conditional {
            all = conditions::nearest(asked, &all, |entry| (held(entry).conditions, held(entry).status));
        }
        let none = all.first().map_or(Choice::Conditional(first), |first| Choice::Unservable(*first));
        all.retain(|entry| !held(*entry).is_unfit());
        let best = all.iter().map(|entry| rank(*entry)).max();
        let (mut entries, others): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|entry| Some(rank(*entry)) == best);
        let preferred = entries.len();
        entries.extend(others);
        Self { entries, preferred, none, next: 0, round: 0 }
    }
}

/// The entries that this holds for; all of them if it holds for none.
fn those_with(entries: Vec<u32>, is_so: impl Fn(&u32) -> bool) -> Vec<u32> {
    let chosen: Vec<u32> = entries.iter().copied().filter(is_so).collect();
    if chosen.is_empty() { entries } else { chosen }
}

/// Which entry answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Serve(u32),
    /// Every answer was given; the last of them, and how many there are.
    Exhausted(u32, usize),
    /// None of the recorded answers can be served; the first of them.
    Unservable(u32),
    /// What was recorded answers conditional requests only; the first of them.
    Conditional(u32),
}

impl Sequence {
    /// The next entry of `bucket` for `asker`, in recorded order. The preferred ones come first, and are the ones that
    /// come `again`, if any does.
    pub(super) fn next(
        &mut self,
        index: &Index,
        bucket: u32,
        asker: Asker<'_>,
        exhausted: Exhausted,
        again: bool,
    ) -> Choice {
        if self.served.len() < index.held.len() {
            self.served.resize(index.held.len(), 0);
        }
        let all = &index.buckets[bucket as usize];
        if let ([only], false) = (&all.entries[..], all.conditional) {
            return self.only(index, *only, exhausted);
        }
        let asked = if all.conditional { index.rules.keys.conditions(asker.headers) } else { Conditions::default() };
        let place = self.place(index, bucket, asker, asked);
        let cursor = &mut self.cursors[place];
        let end = if exhausted == Exhausted::Miss { cursor.entries.len() } else { cursor.preferred };
        let Some(last) = cursor.entries[..cursor.preferred].last().copied() else { return cursor.none };
        loop {
            while let Some(entry) = cursor.entries[..end].get(cursor.next).copied() {
                cursor.next += 1;
                let served = &mut self.served[entry as usize];
                if *served <= cursor.round {
                    *served += 1;
                    return Choice::Serve(entry);
                }
            }
            match exhausted {
                _ if !again => return Choice::Exhausted(last, cursor.entries.len()),
                Exhausted::Repeat => {
                    self.served[last as usize] += 1;
                    return Choice::Serve(last);
                }
                Exhausted::Miss => return Choice::Exhausted(last, cursor.entries.len()),
                Exhausted::Loop => {
                    cursor.next = 0;
                    cursor.round += 1;
                }
            }
        }
    }

    /// Where the asker stands in `bucket`. Which entries are its own is looked up once.
    fn place(&mut self, index: &Index, bucket: u32, asker: Asker<'_>, asked: Conditions) -> usize {
        let Asker { caller, label_sets, exact, headers } = asker;
        let fields = index.best_fields(&index.buckets[bucket as usize], headers);
        let is_any = label_sets.is_empty() && exact == 0 && fields.is_empty();
        let sets = if is_any { 0 } else { index.rules.keys.hash(&(label_sets, exact, &fields)) };
        if let Some(place) = self.places.get(&(bucket, caller, asked, sets)) {
            return *place;
        }
        let all = &index.buckets[bucket as usize];
        let entries = &all.entries;
        let of = |entry: &u32| index.variant(*entry);
        let is_of_client = |entry: &u32| caller.is_none_or(|caller| of(entry).caller.client == caller.client);
        let own: Vec<u32> = entries.iter().copied().filter(is_of_client).collect();
        let place = if own.is_empty() {
            self.place(index, bucket, Asker { caller: None, ..asker }, asked)
        } else {
            let own = those_with(own, |entry| Some(of(entry).caller) == caller);
            let entries = those_with(own, |entry| label_sets.contains(&of(entry).labels));
            let rank = |entry: u32| {
                let variant = index.variant(entry);
                (exact != 0 && variant.exact == exact, fields.contains(&variant.fields))
            };
            self.cursors.push(Cursor::over(index, all, entries, asked, rank));
            self.cursors.len() - 1
        };
        self.places.insert((bucket, caller, asked, sets), place);
        place
    }

    /// The common case without a cursor: a request that was recorded once.
    fn only(&mut self, index: &Index, entry: u32, exhausted: Exhausted) -> Choice {
        if index.held[entry as usize].is_unfit() {
            return Choice::Unservable(entry);
        }
        let served = &mut self.served[entry as usize];
        if *served > 0 && exhausted == Exhausted::Miss {
            return Choice::Exhausted(entry, 1);
        }
        *served = served.saturating_add(1);
        Choice::Serve(entry)
    }

    /// Counts an entry as asked for though its answer was made otherwise.
    pub(super) fn mark(&mut self, entry: u32) {
        let needed = entry as usize + 1;
        if self.served.len() < needed {
            self.served.resize(needed, 0);
        }
        self.served[entry as usize] = self.served[entry as usize].saturating_add(1);
    }

    /// How often an entry was served.
    pub(super) fn served(&self, entry: u32) -> u32 {
        self.served.get(entry as usize).copied().unwrap_or(0)
    }
}
