//! Verdicts on requests that an upstream answered from memory, kept for others of the same bytes.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use contrail_exchange::finding::Verdict;
use contrail_proxy::upstream::RequestKey;

/// Maximum cached verdicts; beyond it, the cache is emptied.
const MAX_VERDICTS: usize = 16_384;

/// The first verdict without findings for each key, with the status that it was given at.
#[derive(Debug, Default)]
pub struct VerdictCache(Mutex<HashMap<RequestKey, (u16, Verdict)>>);

impl VerdictCache {
    /// The verdict on a request, where the response has this status.
    pub(super) fn get(&self, key: &RequestKey, status: u16) -> Option<Verdict> {
        let verdicts = self.verdicts();
        verdicts.get(key).filter(|(cached, _)| *cached == status).map(|(_, verdict)| verdict.clone())
    }

    /// Keeps a verdict, unless there is one for its key. Verdicts with findings are not kept: clients can make them as
    /// many and as long as they like.
    pub(super) fn add(&self, key: &RequestKey, status: u16, verdict: &Verdict) {
        if !verdict.findings.is_empty() {
            return;
        }
        let mut verdicts = self.verdicts();
        if verdicts.len() >= MAX_VERDICTS {
            verdicts.clear();
        }
        verdicts.entry(key.clone()).or_insert_with(|| (status, verdict.clone()));
    }

    fn verdicts(&self) -> MutexGuard<'_, HashMap<RequestKey, (u16, Verdict)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_kept_for_its_key_and_status_within_a_bound() {
        let (cache, key, other) = (VerdictCache::default(), RequestKey::default(), RequestKey::default());
        cache.add(&key, 200, &Verdict::default());
        assert_eq!(cache.get(&key.clone(), 200), Some(Verdict::default()));
        assert_eq!((cache.get(&key, 400), cache.get(&other, 200)), (None, None));
        for _ in 1..MAX_VERDICTS {
            cache.add(&RequestKey::default(), 200, &Verdict::default());
        }
        let len = || cache.verdicts().len();
        assert_eq!(len(), MAX_VERDICTS);
        cache.add(&other, 200, &Verdict::default());
        assert_eq!((len(), cache.get(&key, 200)), (1, None));
    }
}
