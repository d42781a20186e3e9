//! Recorded requests that differ in a secret only: nothing in a live request says which of them it is.

use std::collections::{HashMap, HashSet};

use contrail_exchange::{Credential, Exchange, label};

use super::{caller::CallerId, labels::Place, recordings::Replay};

/// Recorded requests that have secrets at the same places, and the same in all else.
#[derive(Default)]
struct Alike {
    /// Of each request, by place.
    secrets: Vec<Vec<u64>>,
    answers: HashSet<u64>,
}

impl Alike {
    /// How many of them have none of these secrets where they differ.
    fn without(&self, given: &HashSet<u64>) -> usize {
        let Some(first) = self.secrets.first() else { return 0 };
        let differs = |place: &usize| self.secrets.iter().any(|secrets| secrets[*place] != first[*place]);
        let places: Vec<usize> = (0..first.len()).filter(differs).collect();
        if places.is_empty() || self.answers.len() < 2 {
            return 0;
        }
        let is_open = |secrets: &&Vec<u64>| !places.iter().any(|place| given.contains(&secrets[*place]));
        self.secrets.iter().filter(is_open).count()
    }
}

impl Replay {
    /// How many recorded requests differ from another one in a secret only, where the answers differ, too: which of them
    /// a live request is, their order decides. A secret that a recorded answer gives does not count, since the client of
    /// a replay is given its label.
    #[must_use]
    pub fn told_apart_by_order(&self) -> usize {
        let index = &self.index;
        if !index.labels.differ {
            return 0;
        }
        let keys = &index.rules.keys;
        let mut given = HashSet::new();
        for recorded in self.entries() {
            let exchange = &recorded.entry.exchange;
            if !self.is_token_request(&exchange.request) {
                labels_of_answer(exchange, &mut |label| _ = given.insert(keys.hash(label)));
            }
        }
        let callers = index.rules.caller_places();
        let authorization = keys.hash(&Place::Header("authorization"));
        let mut count = 0;
        for bucket in index.buckets.iter().filter(|bucket| bucket.label_sets.len() > 1) {
            let mut alike: HashMap<(CallerId, Vec<u64>), Alike> = HashMap::new();
            for number in &bucket.entries {
                let exchange = &index.entry(*number).exchange;
                let (credential, variant) = (&exchange.request.credential, index.variant(*number));
                // This field is read: its caller is known.
                let is_read =
                    matches!(credential, Credential::Token(_) | Credential::OtherScheme { user: Some(_), .. });
                let spots = index.labels.get(variant.labels).spots();
                let spots = spots.filter(|(place, _)| !(is_read && *place == authorization));
                // What tells callers apart is sent as it was recorded.
                let (known, spots): (Vec<_>, Vec<_>) = spots.partition(|(place, _)| callers.contains(place));
                let (mut places, secrets): (Vec<u64>, Vec<u64>) = spots.into_iter().unzip();
                places.extend(known.into_iter().flat_map(|(place, value)| [place, value]));
                let Some(response) = exchange.response.as_ref().filter(|_| !self.is_token_request(&exchange.request))
                else {
                    continue;
                };
                let alike = alike.entry((variant.caller, places)).or_default();
                alike.secrets.push(secrets);
                alike.answers.insert(keys.hash(&(response.status, &response.body.content)));
            }
            count += alike.values().map(|alike| alike.without(&given)).sum::<usize>();
        }
        count
    }
}

fn labels_of_answer(exchange: &Exchange, each: &mut dyn FnMut(&str)) {
    let Some(response) = &exchange.response else { return };
    let fields = response.headers.iter().map(|(_, value)| value.as_bytes());
    for text in fields.chain([&*response.body.content]) {
        label::labels(text).filter_map(|label| std::str::from_utf8(label).ok()).for_each(&mut *each);
    }
}
