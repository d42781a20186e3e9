//! Schemas without repetition.

/// Different schemas, in the order in which they were found.
pub(super) struct Distinct {
    pub(super) found: Vec<usize>,
    /// A bit for each schema, set where many were found; empty until then.
    seen: Vec<u64>,
    /// How many schemas there are.
    all: usize,
}

impl Distinct {
    /// Up to here a schema is looked for from the first to the last.
    const FEW: usize = 16;

    /// Of so many schemas.
    pub(super) fn of(all: usize) -> Self {
        Self { found: Vec::new(), seen: Vec::new(), all }
    }

    pub(super) fn has(&self, index: usize) -> bool {
        if self.found.len() < Self::FEW {
            self.found.contains(&index)
        } else {
            self.seen[index / 64] >> (index % 64) & 1 == 1
        }
    }

    /// Adds a schema; `false` if it is among them.
    pub(super) fn add(&mut self, index: usize) -> bool {
        if self.has(index) {
            return false;
        }
        self.found.push(index);
        if self.found.len() == Self::FEW {
            self.seen.resize(self.all.div_ceil(64), 0);
            self.found.iter().for_each(|index| self.seen[index / 64] |= 1 << (index % 64));
        } else if self.found.len() > Self::FEW {
            self.seen[index / 64] |= 1 << (index % 64);
        }
        true
    }

    /// Takes all of them out.
    pub(super) fn clear(&mut self) {
        if self.found.len() >= Self::FEW {
            self.found.iter().for_each(|index| self.seen[index / 64] = 0);
        }
        self.found.clear();
    }
}
