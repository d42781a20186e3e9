//! The bounded copy of a body that is judged and recorded.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::{Bytes, BytesMut};
use contrail_exchange::{Body, Presence};

/// What every copy may keep, however many there are: the bodies of ordinary API calls.
const FREE_BYTES: usize = 64 << 10;

/// Bytes that all copies of a proxy may keep together, beyond [`FREE_BYTES`] each.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<AtomicUsize>);

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// How many are left.
    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes up to this many; returns how many.
    fn take(&self, wanted: usize) -> usize {
        if wanted == 0 {
            return 0;
        }
        let taken = |left: usize| Some(left - left.min(wanted));
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).map_or(0, |left| left.min(wanted))
    }
}

/// The first `limit` bytes of a body, and how many there were.
#[derive(Debug)]
pub(crate) struct BodyCapture {
    first: Bytes,
    rest: BytesMut,
    limit: usize,
    total: u64,
    budget: Budget,
    taken: usize,
}

impl BodyCapture {
    pub(crate) fn new(limit: usize, budget: Budget) -> Self {
        Self { first: Bytes::new(), rest: BytesMut::new(), limit, total: 0, budget, taken: 0 }
    }

    /// Keeps what fits. A body of one piece is kept by reference.
    pub(crate) fn push(&mut self, data: &Bytes) {
        let kept = self.kept();
        let wanted = data.len().min(self.limit - kept);
        let small = FREE_BYTES.saturating_sub(kept).min(wanted);
        let taken = self.budget.take(wanted - small);
        self.taken += taken;
        self.total += data.len() as u64;
        let piece = data.slice(..small + taken);
        if piece.len() < wanted {
            // A later piece must not be kept behind a hole.
            self.limit = kept + piece.len();
        }
        if piece.is_empty() {
        } else if self.first.is_empty() && self.rest.is_empty() {
            self.first = piece;
        } else {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.rest.extend_from_slice(&piece);
        }
    }

    fn kept(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn fits(&self) -> bool {
        self.kept() as u64 == self.total
    }

    /// What was kept; it stays.
    pub(crate) fn content(&mut self) -> Bytes {
        self.joined().clone()
    }

    /// What was kept, in one piece.
    fn joined(&mut self) -> &mut Bytes {
        if !self.rest.is_empty() {
            self.first = std::mem::take(&mut self.rest).freeze();
        }
        &mut self.first
    }

    /// As a body; `whole` says whether the message ended as it should.
    pub(crate) fn take(&mut self, whole: bool) -> Body {
        let kept = self.kept() as u64;
        let presence = if whole && self.fits() {
            Presence::Whole
        } else {
            Presence::Truncated { kept, total: whole.then_some(self.total) }
        };
        let content = std::mem::take(self.joined());
        Body { content, presence, wire_size: Some(self.total), ..Body::default() }
    }

    /// Undoes [`Self::take`].
    pub(crate) fn put_back(&mut self, body: &Body) {
        self.first = body.content.clone();
    }
}

impl Drop for BodyCapture {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.taken, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_its_bound_and_counts_the_rest() {
        let mut copy = BodyCapture::new(5, Budget::new(0));
        for piece in ["abc", "def", "ghi"] {
            copy.push(&Bytes::from_static(piece.as_bytes()));
        }
        assert!(!copy.fits());
        let body = copy.take(true);
        assert_eq!(body.content, "abcde");
        assert_eq!(body.presence, Presence::Truncated { kept: 5, total: Some(9) });
        assert_eq!(body.wire_size, Some(9));
    }

    #[test]
    fn a_copy_of_one_piece_shares_its_memory() {
        let piece = Bytes::from(vec![7; 100]);
        let mut copy = BodyCapture::new(1000, Budget::new(0));
        copy.push(&piece);
        let body = copy.take(true);
        assert!(body.is_whole());
        assert_eq!(body.content.as_ptr(), piece.as_ptr());
    }

    #[test]
    fn a_message_that_broke_off_is_truncated_of_an_unknown_total() {
        let mut copy = BodyCapture::new(1000, Budget::new(0));
        copy.push(&Bytes::from_static(b"abc"));
        assert_eq!(copy.take(false).presence, Presence::Truncated { kept: 3, total: None });
    }

    #[test]
    fn all_copies_together_keep_no_more_than_their_budget_and_small_ones_are_always_whole() {
        let budget = Budget::new(1000);
        let large = Bytes::from(vec![7; FREE_BYTES + 600]);
        let (mut one, mut two) = (BodyCapture::new(1 << 20, budget.clone()), BodyCapture::new(1 << 20, budget.clone()));
        one.push(&large);
        two.push(&large);
        assert!(one.fits() && !two.fits());
        assert_eq!(two.kept(), FREE_BYTES + 400);
        drop(one);
        two.push(&large);
        assert_eq!(two.kept(), FREE_BYTES + 400, "nothing behind a hole");
        let mut three = BodyCapture::new(1 << 20, budget.clone());
        three.push(&large);
        assert!(three.fits());
        let mut small = BodyCapture::new(1 << 20, Budget::new(0));
        small.push(&Bytes::from(vec![7; FREE_BYTES]));
        assert!(small.fits());
        drop((two, three));
        assert_eq!(budget.take(5000), 1000);
    }
}
