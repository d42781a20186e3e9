//! The schemas that apply to a value: those that lead to it, and others that these lead to.

use std::{borrow::Cow, slice};

use ahash::AHashSet;
use contrail_exchange::json::{Kind, Node};

use super::{
    table::{Branch, Choice},
    undocumented::GapKind,
    walk::{Outcome, Walk},
};
use crate::schema::{decision::Decided, work};

/// Names that a search compares in a step.
const STEP_NAMES: usize = 8;

/// Schemas that apply to one value.
pub(super) struct Applied<'s> {
    pub(super) nodes: Cow<'s, [usize]>,
    /// What becomes of the choices between them.
    pub(super) outcome: Outcome,
    /// A branch without any statement holds, which frees the content.
    pub(super) freed: bool,
    /// Only a keyword without a check decides between several branches.
    pub(super) undecided: bool,
    /// A member of the value, and what is not documented about it.
    pub(super) unclear: Option<(&'s str, GapKind)>,
}

/// A set of schemas.
#[derive(Default)]
struct Seen {
    few: Vec<usize>,
    /// All others, where they are many.
    others: AHashSet<usize>,
}

impl Seen {
    const FEW: usize = 16;

    fn contains(&self, node: usize) -> bool {
        self.few.contains(&node) || !self.others.is_empty() && self.others.contains(&node)
    }

    fn insert(&mut self, node: usize) -> bool {
        if self.few.contains(&node) {
            return false;
        }
        if self.few.len() < Self::FEW {
            self.few.push(node);
            return true;
        }
        self.others.insert(node)
    }
}

impl<'c> Walk<'c> {
    /// All schemas that apply to a value, given those that lead to it. Without `reports`, the branches of choices that
    /// hold are left out: nothing more is asked of the value.
    pub(super) fn applicable<'s>(&self, from: &'s [usize], value: Node<'_>, reports: bool) -> Applied<'s>
    where
        'c: 's,
    {
        let nodes = &self.graph.nodes;
        let (outcome, freed, undecided, unclear) = (Outcome::Conforms, false, false, None);
        let mut found = Applied { nodes: Cow::default(), outcome, freed, undecided, unclear };
        if let [only] = from
            && let Some(fixed) = self.fixed(*only, value)
        {
            work::take(1);
            found.nodes = Cow::Borrowed(fixed);
            return found;
        }
        let (mut applicable, mut seen) = (Vec::new(), Seen::default());
        let mut todo: Vec<usize> = from.iter().rev().copied().collect();
        while let Some(index) = todo.pop() {
            if !work::take(1) {
                found.outcome = Outcome::Doubt;
                break;
            }
            if !seen.insert(index) {
                continue;
            }
            let node = &nodes[index];
            if !node.is_bridge {
                applicable.push(index);
            }
            if node.doubt && !reports {
                break;
            }
            todo.extend(&node.always);
            for choice in &node.choices {
                let before = todo.len();
                let unclear = self.choose(choice, value, &seen, &mut todo, &mut found, reports);
                found.unclear = found.unclear.or(unclear);
                found.freed |= todo[before..].iter().any(|branch| nodes[*branch].silent);
            }
            if let Some(condition) = &node.condition {
                if self.asked(&condition.test, value) {
                    todo.push(condition.test.node);
                    todo.extend(condition.then);
                } else {
                    todo.extend(condition.otherwise);
                }
            }
            if !node.dependent.is_empty() {
                work::take((node.dependent.len() * (1 + value.len() / STEP_NAMES)) as u64);
                let has = node.dependent.iter().filter(|(name, _)| value.get(name).is_some());
                todo.extend(has.map(|(_, schema)| *schema));
            }
        }
        found.nodes = Cow::Owned(applicable);
        found
    }

    /// The schemas that apply to a value by way of one, where nothing is to be found out about branches.
    fn fixed(&self, from: usize, value: Node<'_>) -> Option<&'c [usize]> {
        let mut node = &self.graph.nodes[from];
        while node.fixed.is_none() && node.is_bridge && node.condition.is_none() && node.dependent.is_empty() {
            let next = match (&node.always[..], &node.choices[..]) {
                ([next], []) => *next,
                ([], [choice]) => selected(choice, value)?.node,
                _ => return None,
            };
            node = &self.graph.nodes[next];
        }
        node.fixed.as_deref()
    }

    /// Whether a branch holds for a value; `None` where only the judge knows.
    fn holds(&self, branch: &Branch, value: Node<'_>) -> Option<bool> {
        if self.asks || !work::take(1) {
            return None;
        }
        let decide = || match self.visit(slice::from_ref(&branch.node), value, None) {
            Outcome::Conforms => Some(true),
            Outcome::Doubt => None,
            Outcome::Violates => Some(false),
        };
        if !matches!(value.kind(), Kind::Array | Kind::Object) {
            return decide();
        }
        let key = (branch.node, value.span().start);
        let known = self.decided.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            let holds = decide();
            self.decided.borrow_mut().insert(key, holds);
            holds
        })
    }

    /// Whether a branch holds for a value, by the judge where only it knows.
    pub(super) fn asked(&self, branch: &Branch, value: Node<'_>) -> bool {
        self.holds(branch, value).unwrap_or_else(|| (self.judge)(branch.judge, value))
    }

    /// The branches of a choice that apply to a value; `seen` are schemas that do. Gives the member that selects none of
    /// them.
    fn choose(
        &self,
        choice: &'c Choice,
        value: Node<'_>,
        seen: &Seen,
        todo: &mut Vec<usize>,
        found: &mut Applied<'_>,
        reports: bool,
    ) -> Option<(&'c str, GapKind)> {
        if choice.children && !reports {
            return None;
        }
        if let Some(branch) = selected(choice, value) {
            todo.push(branch.node);
            return None;
        }
        let mut unclear = None;
        if let Some(selection) = &choice.selection
            && let Some(selector) = value.get(&selection.property)
        {
            let property = &*selection.property;
            match selection.case(&selector_text(selector)) {
                Some(index) if seen.contains(choice.branches[index].node) => return None,
                Some(index) if self.asked(&choice.branches[index], value) => {
                    todo.push(choice.branches[index].node);
                    return None;
                }
                Some(_) => {
                    let expected = format!("a value of the schema that its `{property}` names");
                    return Some((property, GapKind::Unclear { expected }));
                }
                None => unclear = Some((property, GapKind::Value { known: selection.documented().to_owned() })),
            }
        }
        if choice.children {
            return unclear;
        }
        let decided = choice.decision.as_ref().map_or(Decided::Open, |decision| decision.by(value));
        let before = todo.len();
        let (mut holding, mut doubt) = (0, false);
        for branch in choice.branches.iter().filter(|_| decided == Decided::Open) {
            let holds = self.holds(branch, value);
            doubt |= holds.is_none();
            holding += usize::from(holds == Some(true));
            if reports && holds.unwrap_or_else(|| (self.judge)(branch.judge, value)) {
                todo.push(branch.node);
            }
        }
        self.is_open.set(self.is_open.get() || doubt || !choice.one && choice.undecided && holding > 1);
        let outcome = match holding {
            0 if doubt => Outcome::Doubt,
            0 => Outcome::Violates,
            1 if doubt && choice.one => Outcome::Doubt,
            2.. if choice.one => Outcome::Violates,
            _ => Outcome::Conforms,
        };
        found.outcome = found.outcome.max(outcome);
        if !reports {
            return None;
        }
        found.undecided |= choice.undecided && todo.len() > before + 1;
        if todo.len() == before {
            // No branch holds, which is a violation; what any of them documents is no gap.
            todo.extend(choice.branches.iter().map(|branch| branch.node));
            return None;
        }
        unclear
    }
}

/// The branch that a member selects, whether it holds or not: the judge reads no other.
fn selected<'c>(choice: &'c Choice, value: Node<'_>) -> Option<&'c Branch> {
    if choice.children {
        return None;
    }
    let index = match (&choice.selection, &choice.decision) {
        (Some(selection), _) => {
            let case = value.get(&selection.property).and_then(|held| selection.case(&selector_text(held)));
            case.or(selection.default)?
        }
        (None, Some(decision)) => match decision.by(value) {
            Decided::Branch(index) => index,
            Decided::Nothing | Decided::Open => return None,
        },
        (None, None) => return None,
    };
    Some(&choice.branches[index])
}

/// What selects a schema: nothing where it is no text.
fn selector_text(value: Node<'_>) -> Cow<'_, str> {
    value.as_str().unwrap_or_default()
}
