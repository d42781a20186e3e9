//! Compares labels as values: what stands for one secret is no answer to a request with another one.
//!
//! A place that was redacted matches any value. Among recorded requests that differ in such places alone, a live value
//! that is a label of the recording belongs to that label; any other value is taken for a label that no other value
//! was taken for, first come, and stays with it.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{HashMap, HashSet},
    hash::Hash,
};

use ahash::{AHashMap, AHashSet};
use contrail_exchange::{
    Difference, Headers,
    json::{Node, push_pointer},
    media,
};
use contrail_recording::{
    CallerRule, IgnoreSet,
    fixture::{
        ignore::tokens,
        request_parts::{Content, Field, Parts, Value},
    },
};
use http::{HeaderName, header};

use super::mask::{Keys, Mask};

/// Where in a request a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place<'a> {
    Header(&'a str),
    Cookie(&'a str),
    Segment(usize),
    Query(&'a [u8]),
    Body(&'a str),
}

/// A place and the value there, each as a keyed hash.
type Spot = (u64, u64);

/// The labels of a recorded request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Labels {
    /// In its header: they tell callers apart, and another caller's answer is better than none.
    header: Box<[Spot]>,
    /// Elsewhere: they are a part of what was asked.
    elsewhere: Box<[Spot]>,
}

/// The sets of labels that recorded requests have, numbered.
#[derive(Debug)]
pub(super) struct LabelTable {
    sets: Vec<Labels>,
    ids: AHashMap<Labels, u32>,
    /// Hashes of the labels; where another tool recorded the values, of these.
    values: AHashSet<u64>,
    /// The header fields that have labels.
    fields: Vec<HeaderName>,
    /// Requests of one identity have different labels somewhere.
    pub(super) differ: bool,
}

/// What reading a live request's labels needs.
#[derive(Clone, Copy)]
pub(super) struct LabelReader<'a> {
    pub(super) keys: &'a Keys,
    pub(super) has_label: &'a dyn Fn(&str) -> bool,
    pub(super) table: &'a LabelTable,
}

impl Default for LabelTable {
    fn default() -> Self {
        Self {
            sets: vec![Labels::default()],
            ids: AHashMap::from([(Labels::default(), 0)]),
            values: AHashSet::new(),
            fields: Vec::new(),
            differ: false,
        }
    }
}

impl LabelTable {
    /// The number of a set; these header fields have labels in it.
    pub(super) fn number(&mut self, labels: Labels, fields: Vec<HeaderName>) -> u32 {
        for name in fields {
            if !self.fields.contains(&name) {
                self.fields.push(name);
            }
        }
        if let Some(id) = self.ids.get(&labels) {
            return *id;
        }
        let id = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        self.values.extend(labels.spots().map(|(_, value)| value));
        self.sets.push(labels.clone());
        self.ids.insert(labels, id);
        id
    }

    /// No further set comes.
    pub(super) fn complete(&mut self) {
        self.ids = AHashMap::new();
    }

    /// The set of this number.
    pub(super) fn get(&self, number: u32) -> &Labels {
        &self.sets[number as usize]
    }
}

/// A value of a live request.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveValue {
    spot: Spot,
    is_label: bool,
}

impl Labels {
    /// Those of a recorded request, and what tells its `callers` apart. It is `raw` as it stands in the recording and
    /// `clean` as it is compared: a value that another tool recorded stands for its own label.
    pub(super) fn of(
        keys: &Keys,
        has_label: &dyn Fn(&str) -> bool,
        (raw, parts): (&Headers, &Parts),
        (clean, mask, ignored): (&Headers, &Mask, &IgnoreSet),
        (callers, is_own): (&[CallerRule], bool),
    ) -> Self {
        let mut held = HashSet::new();
        let counts = |(name, _): &(&HeaderName, &http::HeaderValue)| !ignored.headers.contains(*name);
        header_values(clean.iter().filter(counts), &mut |place, value| {
            if has_label(value) || callers.iter().any(|rule| Place::of_caller(rule) == place) {
                held.insert(keys.hash(&place));
            }
        });
        let mut header = Vec::new();
        if !held.is_empty() {
            header_values(raw.iter(), &mut |place, value| {
                let place = keys.hash(&place);
                if held.contains(&place) {
                    header.push((place, keys.hash(value)));
                }
            });
        }
        let mut elsewhere = Vec::new();
        values(parts, mask, ignored, &mut |place, value| {
            if !is_own || has_label(&value) {
                elsewhere.push((keys.hash(&place), keys.hash(&*value)));
            }
        });
        Self { header: header.into(), elsewhere: elsewhere.into() }
    }

    /// All of them.
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot> {
        self.header.iter().chain(&self.elsewhere).copied()
    }

    /// Whether a request with these values may be this one: none of them is the label of something else.
    pub(super) fn fit(&self, live: &[LiveValue]) -> bool {
        self.elsewhere.iter().all(|(place, label)| {
            live.iter().find(|one| one.spot.0 == *place).is_none_or(|one| !one.is_label || one.spot.1 == *label)
        })
    }

    /// The values of the request itself.
    pub(super) fn live(&self) -> Vec<LiveValue> {
        self.spots().map(|spot| LiveValue { spot, is_label: true }).collect()
    }

    /// Whether it has any in its header.
    pub(super) fn has_header(&self) -> bool {
        !self.header.is_empty()
    }

    /// Whether a request with these values has none at the places of those in its header.
    pub(super) fn are_lacking(&self, live: &[LiveValue]) -> bool {
        self.header.iter().all(|(place, _)| live.iter().all(|one| one.spot.0 != *place))
    }

    /// Whether it has any outside of its header.
    pub(super) fn has_elsewhere(&self) -> bool {
        !self.elsewhere.is_empty()
    }

    fn at(&self, place: u64) -> Option<u64> {
        self.spots().find(|spot| spot.0 == place).map(|spot| spot.1)
    }
}

impl LabelReader<'_> {
    /// The values of a live request outside of its header at the places of a mask.
    pub(super) fn live_values(&self, parts: &Parts, mask: &Mask, ignored: &IgnoreSet) -> Vec<LiveValue> {
        let mut live = Vec::new();
        values(parts, mask, ignored, &mut |place, value| live.push(self.live_value(place, &value)));
        live
    }

    /// Adds those of its header; without the `Authorization` field where it is read as a token.
    pub(super) fn add_header(&self, headers: &Headers, is_read: bool, live: &mut Vec<LiveValue>) {
        let counts =
            |name: &HeaderName| self.table.fields.contains(name) && !(is_read && *name == header::AUTHORIZATION);
        let fields = headers.iter().filter(|(name, _)| counts(name));
        header_values(fields, &mut |place, value| live.push(self.live_value(place, value)));
    }

    fn live_value(&self, place: Place<'_>, value: &str) -> LiveValue {
        let spot = (self.keys.hash(&place), self.keys.hash(value));
        LiveValue { spot, is_label: self.table.values.contains(&spot.1) || (self.has_label)(value) }
    }

    /// The places at which two requests have different labels. `raw` is `yours` before redaction, whose labels are new.
    pub(super) fn differences(
        &self,
        (raw, yours): (&Parts, &Parts),
        fixture: &Parts,
        mask: &Mask,
        ignored: &IgnoreSet,
    ) -> Vec<Difference> {
        let mut recorded = Vec::new();
        values(fixture, mask, ignored, &mut |place, value| recorded.push((self.keys.hash(&place), value.into_owned())));
        let mut differing = HashSet::new();
        for one in self.live_values(raw, mask, ignored).iter().filter(|one| one.is_label) {
            let held = recorded.iter().find(|(place, value)| *place == one.spot.0 && (self.has_label)(value));
            if held.is_some_and(|(_, value)| self.keys.hash(value.as_str()) != one.spot.1) {
                differing.insert(one.spot.0);
            }
        }
        let mut out = Vec::new();
        values(yours, mask, ignored, &mut |place, value| {
            let at = self.keys.hash(&place);
            let held = recorded.iter().find(|(place, _)| differing.contains(place) && *place == at);
            let Some((_, held)) = held else { return };
            // Without it, a request would get the answer to another secret.
            let (yours, fixture) = (Some(value.into_owned()), Some(held.clone()));
            out.push(Difference { place: place.describe(), yours, fixture, option: None });
        });
        out
    }
}

impl<'a> Place<'a> {
    /// The place that tells callers apart by a rule.
    pub(super) fn of_caller(rule: &'a CallerRule) -> Self {
        match rule {
            CallerRule::Header(name) => Self::Header(name.as_str()),
            CallerRule::Cookie(name) => Self::Cookie(name),
        }
    }

    /// In words.
    fn describe(self) -> String {
        match self {
            Self::Header(name) => name.to_owned(),
            Self::Cookie(name) => format!("cookie `{name}`"),
            Self::Segment(_) => "path".to_owned(),
            Self::Query(name) => format!("query parameter `{}`", String::from_utf8_lossy(name)),
            Self::Body(pointer) => format!("body at `{pointer}`"),
        }
    }
}

/// Which live values were taken for which labels.
#[derive(Debug, Default)]
pub(super) struct LabelAssignments {
    by_value: HashMap<Spot, Vec<u64>>,
    labels: HashSet<Spot>,
}

impl LabelAssignments {
    /// Maximum live values that are remembered.
    const MAX: usize = 65_536;

    /// The token in this recorded request's `Authorization` is that of a caller who is known otherwise: no opaque one of
    /// this run is taken for it.
    pub(super) fn keep_credential(&mut self, keys: &Keys, recorded: &Labels) {
        let place = keys.hash(&Place::Header(header::AUTHORIZATION.as_str()));
        self.labels.extend(recorded.at(place).map(|label| (place, label)));
    }

    /// In `Authorization` fields, this live token is taken for this recorded one; others may be, too: those of later logins.
    pub(super) fn take(&mut self, keys: &Keys, live: &str, recorded: &str) {
        let place = keys.hash(&Place::Header(header::AUTHORIZATION.as_str()));
        let label = keys.hash(recorded);
        if self.by_value.len() < Self::MAX {
            self.labels.insert((place, label));
            self.by_value.entry((place, keys.hash(live))).or_default().push(label);
        }
    }

    /// Which of these sets of labels the request may have; none where they do not count. With `further` it is one
    /// more than before, if there is one that no value was taken for.
    pub(super) fn choose(&mut self, table: &LabelTable, sets: &[u32], live: &[LiveValue], further: bool) -> Vec<u32> {
        let mut places: Vec<u64> = sets.iter().flat_map(|set| table.get(*set).spots()).map(|spot| spot.0).collect();
        places.sort_unstable();
        places.dedup();
        let mut fitting = Vec::new();
        for set in sets {
            let labels = table.get(*set);
            if !labels.fit(live) {
                continue;
            }
            let (mut against, mut agreeing, mut open) = (0_usize, 0_usize, Vec::new());
            for place in &places {
                let value = live.iter().find(|one| one.spot.0 == *place);
                match (labels.at(*place), value) {
                    (None, None) => {}
                    (None, Some(_)) | (Some(_), None) => against += 1,
                    (Some(label), Some(one)) => {
                        let taken = self.by_value.get(&one.spot).map(Vec::as_slice).unwrap_or_default();
                        if one.spot.1 == label || taken.contains(&label) {
                            agreeing += 1;
                        } else if !one.is_label
                            && !self.labels.contains(&(*place, label))
                            && (taken.is_empty() || further)
                        {
                            open.push((one.spot, label));
                        } else {
                            against += 1;
                        }
                    }
                }
            }
            fitting.push(((against, Reverse(if further { 0 } else { agreeing })), *set, open));
        }
        let Some(best) = fitting.iter().map(|(score, ..)| *score).min() else { return Vec::new() };
        fitting.retain(|(score, ..)| *score == best);
        let first = fitting.iter().find(|(.., open)| !open.is_empty() && self.labels.len() < Self::MAX);
        if let Some((_, set, open)) = first {
            for (spot, label) in open {
                self.by_value.entry(*spot).or_default().push(*label);
                self.labels.insert((spot.0, *label));
            }
            return vec![*set];
        }
        if further { Vec::new() } else { fitting.into_iter().map(|(_, set, _)| set).collect() }
    }
}

/// Every value of header fields that may be a label: of `Authorization` what follows the scheme, each cookie by itself.
fn header_values<'a>(
    fields: impl Iterator<Item = (&'a HeaderName, &'a http::HeaderValue)>,
    each: &mut dyn FnMut(Place<'_>, &str),
) {
    for (name, value) in fields {
        let Ok(value) = value.to_str() else { continue };
        if *name == header::COOKIE {
            media::cookies(value).for_each(|(name, value)| each(Place::Cookie(name), value.trim_matches('"')));
        } else if *name == header::AUTHORIZATION {
            let secret = value.trim().split_once(' ').map_or(value, |(_, secret)| secret);
            each(Place::Header(name.as_str()), secret.trim());
        } else {
            each(Place::Header(name.as_str()), value.trim());
        }
    }
}

/// The values at the places of a mask, those that are ignored aside.
fn values(parts: &Parts, mask: &Mask, ignored: &IgnoreSet, each: &mut dyn FnMut(Place<'_>, Cow<'_, str>)) {
    let counts = |at: &usize| mask.segments.contains(at) && !ignored.leaves_out_segment(*at);
    for (at, segment) in parts.path.split('/').enumerate().filter(|(at, _)| counts(at)) {
        each(Place::Segment(at), percent_encoding::percent_decode_str(segment).decode_utf8_lossy());
    }
    for pair in parts.query.iter().filter(|pair| mask.query.contains(&pair.name)) {
        if !ignored.leaves_out_parameter(&pair.name) {
            each(Place::Query(&pair.name), String::from_utf8_lossy(&pair.value));
        }
    }
    for place in &mask.places {
        let path = tokens(place);
        if !ignored.leaves_out_place(&path)
            && let Some(value) = value_at(&parts.body, place, &path)
        {
            each(Place::Body(place), value);
        }
    }
}

fn value_at<'a>(body: &'a Content, place: &str, path: &[String]) -> Option<Cow<'a, str>> {
    let text = |node: Node<'a>| node.as_str().unwrap_or_else(|| node.raw().into());
    match body {
        Content::Json(document) => document.pointer(place).map(text),
        Content::Form(fields) | Content::Multipart(fields) => {
            let (name, below) = path.split_first()?;
            let named = |field: &&Field| field.name == name.as_bytes();
            match &fields.iter().find(named)?.value {
                Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
                Value::Json(document) => {
                    let mut pointer = String::new();
                    for token in below {
                        push_pointer(&mut pointer, token);
                    }
                    document.pointer(&pointer).map(text)
                }
            }
        }
        Content::Absent | Content::Unseen(_) | Content::Bytes(_) => None,
    }
}
