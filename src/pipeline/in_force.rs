//! The judge in force, which another contract may replace during the run, and how many exchanges each one judged.
//!
//! A batch takes the judge once: its exchanges are judged, redacted and encoded by one contract. The lock is held for as
//! long as a pointer is copied.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::judge::Judge;
use crate::{contract::Contract, exchange::Request};

/// A judge with its count.
#[derive(Debug)]
pub(super) struct Counting {
    pub(super) judge: Judge,
    judged: Arc<AtomicU64>,
}

impl Counting {
    /// It judged so many more exchanges.
    pub(super) fn count(&self, exchanges: usize) {
        self.judged.fetch_add(exchanges as u64, Ordering::Relaxed);
    }
}

/// A contract that was in force during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractUsed {
    /// [`Contract::hash`].
    pub hash: String,
    /// Exchanges that it judged.
    pub exchanges: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct InForce {
    present: RwLock<Arc<Counting>>,
    /// Only some exchanges are judged (`--only`, `--exclude`).
    filters: bool,
    /// Every contract is compiled before it comes into force, but for the first one.
    is_prepared: AtomicBool,
    /// Each contract of the run, by its hash, once there were several.
    used: Mutex<Vec<(String, Arc<AtomicU64>)>>,
}

impl InForce {
    pub(super) fn new(judge: Judge) -> Self {
        let filters = !judge.only.is_empty() || !judge.exclude.is_empty();
        let present = RwLock::new(Arc::new(Counting { judge, judged: Arc::default() }));
        Self { present, filters, is_prepared: AtomicBool::new(false), used: Mutex::default() }
    }

    /// The one in force at this moment.
    pub(super) fn present(&self) -> Arc<Counting> {
        Arc::clone(&self.present.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an exchange of this request is one to judge and record.
    pub(super) fn includes(&self, request: &Request) -> bool {
        !self.filters || self.present().judge.includes(request)
    }

    /// Whether no check waits until its contract is compiled.
    pub(super) fn is_prepared(&self) -> bool {
        if !self.is_prepared.load(Ordering::Relaxed) && self.present().judge.contract.is_prepared() {
            self.is_prepared.store(true, Ordering::Relaxed);
        }
        self.is_prepared.load(Ordering::Relaxed)
    }

    /// What is judged from now on is judged by this contract.
    pub(super) fn replace(&self, contract: Arc<Contract>) {
        contract.prepare();
        let before = self.present();
        let mut used = self.used();
        if used.is_empty() {
            used.push((before.judge.contract.hash().to_owned(), Arc::clone(&before.judged)));
        }
        let held = used.iter().find(|(hash, _)| hash == contract.hash()).map(|(_, judged)| Arc::clone(judged));
        let judged = held.unwrap_or_else(|| {
            let judged = Arc::default();
            used.push((contract.hash().to_owned(), Arc::clone(&judged)));
            judged
        });
        let next = Arc::new(Counting { judge: before.judge.by(contract), judged });
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// The contracts of the run in the order in which they came into force, if there were several.
    pub(super) fn contracts(&self) -> Vec<ContractUsed> {
        let used = self.used();
        let count = |judged: &AtomicU64| judged.load(Ordering::Relaxed);
        used.iter().map(|(hash, judged)| ContractUsed { hash: hash.clone(), exchanges: count(judged) }).collect()
    }

    fn used(&self) -> MutexGuard<'_, Vec<(String, Arc<AtomicU64>)>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
