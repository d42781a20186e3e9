//! The least set of scopes that suffices for the calls of a caller.

use std::collections::BTreeSet;

/// Maximum choices of a search: the set that it ends with suffices, and may not be the least.
const MAX_STEPS: usize = 1000;

/// One of the smallest sets with all scopes of one alternative of each need. A scope that the caller does not hold
/// counts for more than any number that it holds. Of equal sets the document's earlier alternatives count.
pub(super) fn least<'a>(
    needs: impl Iterator<Item = &'a [Vec<Box<str>>]>,
    holds: impl Fn(&str) -> bool,
) -> BTreeSet<&'a str> {
    let mut needs: Vec<_> = needs.collect();
    // What leaves no choice comes first.
    needs.sort_by_key(|alternatives| alternatives.len());
    let mut search = Search { needs, holds, steps: MAX_STEPS, best: None };
    search.go_on(0, BTreeSet::new());
    search.best.map(|(_, scopes)| scopes).unwrap_or_default()
}

/// The first alternative of which these are all scopes.
pub(super) fn suffices<'a>(alternatives: &'a [Vec<Box<str>>], scopes: &BTreeSet<&str>) -> Option<&'a Vec<Box<str>>> {
    alternatives.iter().find(|all| all.iter().all(|one| scopes.contains(&**one)))
}

struct Search<'a, H> {
    needs: Vec<&'a [Vec<Box<str>>]>,
    holds: H,
    steps: usize,
    best: Option<((usize, usize), BTreeSet<&'a str>)>,
}

impl<'a, H: Fn(&str) -> bool> Search<'a, H> {
    /// Goes through the alternatives of the needs from this one on, those that cost least first.
    fn go_on(&mut self, mut at: usize, mut chosen: BTreeSet<&'a str>) {
        loop {
            let cost = self.cost(&chosen);
            if self.best.as_ref().is_some_and(|(best, _)| *best <= cost || self.steps == 0) {
                return;
            }
            let Some(alternatives) = self.needs.get(at) else {
                self.best = Some((cost, chosen));
                return;
            };
            at += 1;
            if suffices(alternatives, &chosen).is_some() {
                continue;
            }
            let with = |all: &'a Vec<Box<str>>| chosen.iter().copied().chain(all.iter().map(|one| &**one)).collect();
            let mut sets: Vec<BTreeSet<&str>> = alternatives.iter().map(with).collect();
            sets.sort_by_cached_key(|set| self.cost(set));
            if sets.len() > 1 && self.steps > 0 {
                self.steps -= 1;
                for set in sets {
                    self.go_on(at, set);
                }
                return;
            }
            chosen = sets.into_iter().next().unwrap_or_default();
        }
    }

    /// How many scopes the caller lacks, then how many there are.
    fn cost(&self, scopes: &BTreeSet<&str>) -> (usize, usize) {
        (scopes.iter().filter(|one| !(self.holds)(one)).count(), scopes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alternatives as `r+s|t`.
    fn of(needs: &[&str], held: &str) -> String {
        let all = |all: &str| all.split('+').map(Into::into).collect::<Vec<Box<str>>>();
        let needs: Vec<Vec<_>> = needs.iter().map(|need| need.split('|').map(all).collect()).collect();
        let least = least(needs.iter().map(Vec::as_slice), |one| held.split(' ').any(|held| held == one));
        least.into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_alternative_that_another_call_needs_anyway_adds_nothing() {
        assert_eq!(of(&["r|w", "w"], "r w"), "w");
        assert_eq!(of(&["r+s|w+t", "w|x", "t|y"], "r s t w x y"), "t w");
        assert_eq!(of(&["a|x", "b|x", "c|x"], "a b c x"), "x");
    }

    #[test]
    fn scopes_that_the_caller_holds_come_before_fewer_that_it_lacks() {
        assert_eq!(of(&["t|r+s"], "r s"), "r s");
        assert_eq!(of(&["t|r+s"], "r"), "t");
        assert_eq!(of(&["r|w"], "w"), "w");
        assert_eq!(of(&["r|w"], ""), "r");
        assert_eq!(of(&[], "r"), "");
    }

    #[test]
    fn a_set_is_found_however_many_alternatives_there_are() {
        let needs: Vec<String> = (0..400).map(|at| format!("a{at}|b{}|c{}", at / 2, at / 3)).collect();
        let found = of(&needs.iter().map(String::as_str).collect::<Vec<_>>(), "");
        assert!(found.split(' ').count() < 400, "{found}");
    }
}
