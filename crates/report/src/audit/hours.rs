//! The clock hours in which the trails of a fleet have exchanges, and those that one of them lacks.
//!
//! A trail is one instance: segments and copies with one id count together. An hour (UTC) that a trail lacks is one in
//! which another trail has an exchange that started, and this one has none. It may have had no traffic, so this is no
//! finding. Hours in which no trail has an exchange show nowhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use contrail_exchange::json::second;

use crate::{Integrity, NotRecorded, TrailLink};

const HOUR: u64 = 3600;

/// Maximum hours of a trail; one that has more is not compared.
const MAX_HOURS: usize = 100_000;

/// Compares the trails with a chain, if they are several.
pub(super) fn compare(trails: &mut [Integrity]) {
    // By the first index of each trail.
    let mut instances: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    let is_compared =
        |trail: &Integrity| trail.entries.is_some() && trail.link.as_ref().is_some_and(|link| !link.more_hours);
    for (at, trail) in trails.iter().enumerate().filter(|(_, trail)| is_compared(trail)) {
        let is_same = |other: &Integrity| trail.id.is_some() && other.id == trail.id;
        let first = trails[..at].iter().position(is_same).unwrap_or(at);
        let hours = trail.link.iter().flat_map(|link| link.hours.iter().copied());
        instances.entry(first).or_default().extend(hours);
    }
    let mut all: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    for (instance, hours) in &instances {
        for hour in hours {
            all.entry(*hour).or_default().insert(*instance);
        }
    }
    for instance in instances.keys() {
        trails[*instance].not_recorded = lacking(&all, *instance);
    }
}

/// The spans of hours that others have and this one lacks.
fn lacking(all: &BTreeMap<u64, BTreeSet<usize>>, instance: usize) -> Vec<NotRecorded> {
    let mut spans: Vec<(u64, u64, BTreeSet<usize>)> = Vec::new();
    for (hour, others) in all.iter().filter(|(_, held)| !held.contains(&instance)) {
        match spans.last_mut().filter(|(_, to, _)| to == hour) {
            Some((_, to, seen)) => {
                *to = to.saturating_add(1);
                seen.extend(others);
            }
            None => spans.push((*hour, hour.saturating_add(1), others.clone())),
        }
    }
    let instant = |hour: u64| {
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(hour.saturating_mul(HOUR)));
        at.and_then(second).unwrap_or_else(|| "an instant out of range".to_owned())
    };
    let span = |(from, to, others): (u64, u64, BTreeSet<usize>)| NotRecorded {
        from: instant(from),
        to: instant(to),
        trails: others.len() as u64,
    };
    spans.into_iter().map(span).collect()
}

/// Notes that an exchange of a trail started then.
pub(super) fn note(link: &mut TrailLink, started: Option<SystemTime>) {
    let Some(since) = started.and_then(|started| started.duration_since(SystemTime::UNIX_EPOCH).ok()) else { return };
    let hour = since.as_secs() / HOUR;
    if link.hours.len() < MAX_HOURS || link.hours.contains(&hour) {
        link.hours.insert(hour);
    } else {
        link.more_hours = true;
    }
}
