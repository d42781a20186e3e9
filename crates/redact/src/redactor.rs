//! A recording's redactor: its plan, its memory of secrets, and what it gives to writers, console and reports.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    Bounds, Counters, Plan,
    kind::{self, Kind, MatchScope},
    known::memory::Memory,
};

/// Bounds that a label has to fit, taken from the contract by the pipeline (this crate knows no contract).
pub trait Shapes: Send + Sync {
    /// Length bounds in characters for the value at `pointer` of a body of `operation`.
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds;
}

/// A recording's memory of secrets and their labels, shared by all its exchanges.
#[derive(Default)]
pub struct Redactor {
    pub(super) plan: Plan,
    pub(super) shapes: Option<Arc<dyn Shapes>>,
    pub(super) memory: Mutex<Memory>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Redactor {
    /// A memory without secrets.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self { plan, ..Self::default() }
    }

    /// The same with bounds for labels in bodies.
    #[must_use]
    pub fn with_shapes(mut self, shapes: Arc<dyn Shapes>) -> Self {
        self.shapes = Some(shapes);
        self
    }

    /// The same with a memory of at most so many secrets: beyond it, the least recently seen are forgotten. Such a
    /// value is recognised again by its field, its header or its shape, and nowhere else.
    #[must_use]
    pub fn with_bound(self, secrets: usize) -> Self {
        self.memory().bound(secrets);
        self
    }

    /// One of the same plan that knows no secret yet, and leaves personal data alone.
    #[must_use]
    pub fn forgetful(&self) -> Self {
        let mut plan = self.plan.clone();
        plan.personal = false;
        Self::new(plan)
    }

    /// Makes a value a secret of this recording, wherever it comes. `false` if it is too short or too common to be
    /// looked for by value.
    pub fn remember(&self, secret: &[u8]) -> bool {
        let spread = kind::match_scope(secret);
        self.memory().learn(secret, Kind::Custom);
        !matches!(spread, MatchScope::Field | MatchScope::Word)
    }

    /// The same for the secret of an OAuth client, so that its label says what it is. It counts once a message holds
    /// it.
    pub fn remember_client_secret(&self, secret: &str) {
        self.memory().foresee(secret.as_bytes(), Kind::ClientSecret);
    }

    /// What was found so far, for the summary.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let memory = self.memory();
        Counters {
            secrets: memory.distinct.clone(),
            personal: memory.people(),
            masks_personal: self.plan.personal,
            forgotten: memory.forgotten,
        }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
