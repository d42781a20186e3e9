//! A tree of path segments.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use super::{
    BadTemplate, Raw,
    template::{Segment, plain},
};

/// Paths by their segments; `L` is what stands at a path.
#[derive(Debug)]
pub(super) struct Tree<L> {
    nodes: Vec<Node<L>>,
    /// The node below a node that a segment with parameters leads to.
    templated: HashMap<(usize, Segment), usize>,
}

#[derive(Debug, Default)]
struct Node<L> {
    literal: BTreeMap<Box<str>, usize>,
    templated: Vec<(Segment, usize)>,
    leaf: L,
}

/// How far a path has been followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'p> {
    /// What follows the next slash; `None` at the end of the path.
    pub(super) rest: Option<&'p str>,
    /// A bit for each segment, 1 for a literal one, the last of them lowest. Of two ways along one path, the one with
    /// the higher bits has its literal segments first.
    pub(super) literals: u64,
}

impl<'p> Step<'p> {
    fn next(self, rest: Option<&'p str>, is_literal: bool) -> Self {
        Self { rest, literals: self.literals << 1 | u64::from(is_literal) }
    }
}

impl<L: Default> Tree<L> {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()], templated: HashMap::new() }
    }

    /// What stands at a template that starts with a slash, or is empty. Adds the names of its parameters to `names`.
    pub(super) fn leaf(&mut self, template: &str, names: &mut Vec<Box<str>>) -> Result<&mut L, BadTemplate> {
        let mut at = 0;
        for segment in template.split('/').skip(1) {
            let templated = Segment::parse(segment, names)?;
            let next = self.nodes.len();
            let known = match templated {
                None => *self.nodes[at].literal.entry(plain(segment).into()).or_insert(next),
                Some(templated) => *self.templated.entry((at, templated.clone())).or_insert_with(|| {
                    self.nodes[at].templated.push((templated, next));
                    next
                }),
            };
            if known == next {
                self.nodes.push(Node::default());
            }
            at = known;
        }
        Ok(&mut self.nodes[at].leaf)
    }

    /// Segments with more literal text come first, others in the order of the document.
    pub(super) fn sort(&mut self) {
        for node in &mut self.nodes {
            node.templated.sort_by_key(|(segment, _)| Reverse(segment.literal_length()));
        }
    }

    /// Visits what stands along a path, literal segments first, until `visit` takes one. `raw` then holds the values
    /// of the parameters on the way, without their names.
    pub(super) fn walk<'r, 'p, R>(
        &'r self,
        step: Step<'p>,
        raw: &mut Raw<'r, 'p>,
        visit: &mut impl FnMut(&'r L, Step<'p>, &mut Raw<'r, 'p>) -> Option<R>,
    ) -> Option<R> {
        self.walk_from(0, step, raw, visit)
    }

    fn walk_from<'r, 'p, R>(
        &'r self,
        at: usize,
        step: Step<'p>,
        raw: &mut Raw<'r, 'p>,
        visit: &mut impl FnMut(&'r L, Step<'p>, &mut Raw<'r, 'p>) -> Option<R>,
    ) -> Option<R> {
        let node = &self.nodes[at];
        if let Some(found) = visit(&node.leaf, step, raw) {
            return Some(found);
        }
        let path = step.rest?;
        let (segment, rest) = match memchr::memchr(b'/', path.as_bytes()) {
            Some(slash) => (&path[..slash], Some(&path[slash + 1..])),
            None => (path, None),
        };
        if let Some(next) = node.literal.get(&*plain(segment))
            && let Some(found) = self.walk_from(*next, step.next(rest, true), raw, visit)
        {
            return Some(found);
        }
        node.templated.iter().find_map(|(templated, next)| {
            let held = raw.len();
            let is_taken = templated.take(segment, |value| raw.push(("", value)));
            let found = is_taken.then(|| self.walk_from(*next, step.next(rest, false), raw, visit)).flatten();
            if found.is_none() {
                raw.truncate(held);
            }
            found
        })
    }
}
