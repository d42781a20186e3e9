//! The clock hours in which the trails of a fleet have exchanges, and those that one of them lacks.
//!
//! An hour (UTC) that a trail lacks is one in which another trail has an exchange that started, and this one has none.
//! It may have had no traffic, so this is no finding. Hours in which no trail has an exchange show nowhere.

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
    let mut all: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    let mut compared = Vec::new();
    for (at, trail) in trails.iter().enumerate().filter(|(_, trail)| trail.entries.is_some()) {
        let Some(link) = trail.link.as_deref().filter(|link| !link.more_hours) else { continue };
        compared.push(at);
        for hour in &link.hours {
            all.entry(*hour).or_default().insert(at);
        }
    }
    for at in compared {
        trails[at].not_recorded = lacking(&all, at);
    }
}

/// The spans of hours that others have and this one lacks.
fn lacking(all: &BTreeMap<u64, BTreeSet<usize>>, trail: usize) -> Vec<NotRecorded> {
    let mut spans: Vec<(u64, u64, BTreeSet<usize>)> = Vec::new();
    for (hour, others) in all.iter().filter(|(_, held)| !held.contains(&trail)) {
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
