//! What was worked out of a token's facts, held for the tokens that come again: a connection sends the same one with
//! every request.

use std::sync::Arc;

use super::TokenFacts;

/// Values by token. Direct-mapped by where the token's facts are, which is theirs alone while they are held here;
/// another token of the same slot takes it.
#[derive(Debug)]
pub struct ByToken<V>(Vec<Option<(Arc<TokenFacts>, V)>>);

impl<V> Default for ByToken<V> {
    fn default() -> Self {
        Self(std::iter::repeat_with(|| None).take(Self::MAX_TOKENS).collect())
    }
}

impl<V> ByToken<V> {
    /// How many are held at most. A power of two.
    const MAX_TOKENS: usize = 256;

    /// The value of this token, if it is held.
    pub fn get(&self, facts: &Arc<TokenFacts>) -> Option<&V> {
        let held = self.0.get(Self::slot(facts))?.as_ref();
        held.filter(|(held, _)| Arc::ptr_eq(held, facts)).map(|(_, value)| value)
    }

    /// Holds a value for this token, and returns it.
    pub fn put(&mut self, facts: &Arc<TokenFacts>, value: V) -> &V {
        &self.0[Self::slot(facts)].insert((Arc::clone(facts), value)).1
    }

    /// The value of this token, worked out where it is not held.
    pub fn get_or_put(&mut self, facts: &Arc<TokenFacts>, value: impl FnOnce() -> V) -> &V {
        let slot = &mut self.0[Self::slot(facts)];
        if slot.as_ref().is_none_or(|(held, _)| !Arc::ptr_eq(held, facts)) {
            *slot = None;
        }
        &slot.get_or_insert_with(|| (Arc::clone(facts), value())).1
    }

    fn slot(facts: &Arc<TokenFacts>) -> usize {
        /// 2^64 divided by the golden ratio (Fibonacci hashing): its product spreads addresses over the high bits.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let hash = (Arc::as_ptr(facts).addr() as u64).wrapping_mul(SPREAD);
        usize::try_from(hash >> (u64::BITS - Self::MAX_TOKENS.trailing_zeros())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_its_own_value_and_an_equal_token_elsewhere_does_not() {
        let (one, equal) = (Arc::<TokenFacts>::default(), Arc::<TokenFacts>::default());
        let mut held = ByToken::default();
        assert_eq!(held.get(&one), None);
        assert_eq!(held.put(&one, 1), &1);
        assert_eq!(held.get(&one), Some(&1));
        assert_eq!(held.get(&equal), None);
        assert_eq!(held.get_or_put(&one, || 2), &1);
        assert_eq!(held.put(&one, 3), &3);
        assert_eq!(held.get_or_put(&equal, || 4), &4);
        assert_eq!(held.get(&equal), Some(&4));
    }

    #[test]
    fn no_more_tokens_are_held_than_there_are_slots() {
        let tokens: Vec<Arc<TokenFacts>> = (0..2000).map(|_| Arc::default()).collect();
        let mut held = ByToken::default();
        for facts in &tokens {
            held.put(facts, ());
        }
        let count = tokens.iter().filter(|facts| Arc::strong_count(facts) == 2).count();
        assert!((1..=ByToken::<()>::MAX_TOKENS).contains(&count), "{count}");
    }
}
