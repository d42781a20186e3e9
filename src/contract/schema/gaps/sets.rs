//! Sets of schemas that apply to the same value, and the members that they document.
//!
//! Where no branch of a choice holds, all of them speak of a value: hundreds of schemas. One value after another has
//! the same set, so what it says about a member is worked out once.

use std::{
    borrow::Cow,
    cell::{OnceCell, RefCell},
    ops::Deref,
    rc::Rc,
};

use ahash::AHashMap;

use super::table::{Additional, Coverage};
use crate::json::work;

/// Up to here each schema of a set is asked; larger sets are kept.
const FEW: usize = 2;

/// Bound on the sets that one walk keeps.
const MAX_KEPT: usize = 64;

/// Schemas that lead to one value.
#[derive(Default)]
pub(super) struct LeadingSchemas {
    schemas: Few,
    /// One of them has a statement about values without content.
    pub(super) look_at_all: bool,
}

/// Nearly always one, which costs no allocation.
#[derive(Default)]
enum Few {
    #[default]
    None,
    One(usize),
    Several(Vec<usize>),
}

impl LeadingSchemas {
    pub(super) fn one(coverage: &Coverage, index: usize) -> Self {
        Self { schemas: Few::One(index), look_at_all: coverage.entries[index].looks_at_all }
    }

    pub(super) fn push(&mut self, coverage: &Coverage, index: usize) {
        self.look_at_all |= coverage.entries[index].looks_at_all;
        match &mut self.schemas {
            Few::None => self.schemas = Few::One(index),
            Few::One(first) => self.schemas = Few::Several(vec![*first, index]),
            Few::Several(several) => several.push(index),
        }
    }

    pub(super) fn as_slice(&self) -> &[usize] {
        match &self.schemas {
            Few::None => &[],
            Few::One(index) => std::slice::from_ref(index),
            Few::Several(several) => several,
        }
    }
}

/// What the schemas of a container say about one child.
pub(super) enum MemberCoverage {
    /// These schemas speak of it.
    Schemas(LeadingSchemas),
    /// It is covered, and nothing below is looked at.
    Covered,
    /// It is one of the keys whose names are not shown.
    Unnamed(usize, LeadingSchemas),
    /// Nothing.
    Nothing,
}

impl From<LeadingSchemas> for MemberCoverage {
    fn from(schemas: LeadingSchemas) -> Self {
        if schemas.as_slice().is_empty() { Self::Nothing } else { Self::Schemas(schemas) }
    }
}

/// What was worked out for this child, or for all of its name.
pub(super) enum CoverageRef {
    Own(MemberCoverage),
    Kept(Rc<MemberCoverage>),
}

impl Deref for CoverageRef {
    type Target = MemberCoverage;

    fn deref(&self) -> &MemberCoverage {
        match self {
            Self::Own(coverage) => coverage,
            Self::Kept(coverage) => coverage,
        }
    }
}

/// Schemas that apply to one value: those that lead to it, and what they refer to.
#[derive(Clone)]
pub(super) enum Applicable<'c> {
    Few(Cow<'c, [usize]>),
    Kept(Rc<CachedSet<'c>>),
}

impl Deref for Applicable<'_> {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        match self {
            Self::Few(schemas) => schemas,
            Self::Kept(kept) => &kept.schemas,
        }
    }
}

/// A set that is kept.
pub(super) struct CachedSet<'c> {
    schemas: Box<[usize]>,
    /// What they say about a member that one of them names, once that was asked.
    members: RefCell<AHashMap<&'c str, Rc<MemberCoverage>>>,
    /// What they say about every item, once that was asked; `None` where its index or its value makes a difference.
    items: OnceCell<Option<Rc<MemberCoverage>>>,
}

/// The sets that one walk keeps.
#[derive(Default)]
pub(super) struct Sets<'c> {
    kept: RefCell<AHashMap<Box<[usize]>, Rc<CachedSet<'c>>>>,
    /// By several schemas that lead to a value, those that speak of it where that does not depend on the value.
    fixed: RefCell<AHashMap<Box<[usize]>, Applicable<'c>>>,
}

impl<'c> Sets<'c> {
    /// Keeps a set if it is large.
    pub(super) fn keep(&self, schemas: &[usize]) -> Applicable<'c> {
        if schemas.len() <= FEW {
            return Applicable::Few(Cow::Owned(schemas.to_vec()));
        }
        let mut held = self.kept.borrow_mut();
        if let Some(kept) = held.get(schemas) {
            return Applicable::Kept(Rc::clone(kept));
        }
        if held.len() >= MAX_KEPT {
            return Applicable::Few(Cow::Owned(schemas.to_vec()));
        }
        let kept = Rc::new(CachedSet { schemas: schemas.into(), members: RefCell::default(), items: OnceCell::new() });
        held.insert(schemas.into(), Rc::clone(&kept));
        Applicable::Kept(kept)
    }

    /// The schemas that speak of a value to which these lead, where that is known.
    pub(super) fn fixed(&self, leading: &[usize]) -> Option<Applicable<'c>> {
        if leading.len() < 2 { None } else { self.fixed.borrow().get(leading).cloned() }
    }

    /// Keeps that they speak of every value to which these lead.
    pub(super) fn fix(&self, leading: &[usize], applicable: &Applicable<'c>) {
        let mut fixed = self.fixed.borrow_mut();
        if leading.len() > 1 && fixed.len() < MAX_KEPT {
            fixed.insert(leading.into(), applicable.clone());
        }
    }
}

impl<'c> Applicable<'c> {
    /// What the schemas say about the member of this name.
    pub(super) fn member(&self, coverage: &'c Coverage, name: &str) -> CoverageRef {
        let Self::Kept(kept) = self else { return CoverageRef::Own(coverage.member_of(self, name)) };
        if let Some(known) = kept.members.borrow().get(name) {
            work::take(1);
            return CoverageRef::Kept(Rc::clone(known));
        }
        let known = Rc::new(coverage.member_of(self, name));
        if let Some((name, _)) = self.iter().find_map(|index| coverage.entries[*index].named(name)) {
            kept.members.borrow_mut().insert(name, Rc::clone(&known));
        }
        CoverageRef::Kept(known)
    }

    /// What the schemas say about every item, where neither its index nor its value makes a difference.
    pub(super) fn items(&self, coverage: &Coverage) -> Option<CoverageRef> {
        let Self::Kept(kept) = self else { return None };
        let items = kept.items.get_or_init(|| {
            let entries = || kept.schemas.iter().map(|index| &coverage.entries[*index]);
            if entries().any(|entry| !entry.prefix.is_empty() || entry.contains.is_some()) {
                return None;
            }
            let mut schemas = LeadingSchemas::default();
            entries().filter_map(|entry| entry.items).for_each(|schema| schemas.push(coverage, schema));
            Some(Rc::new(schemas.into()))
        });
        items.clone().map(CoverageRef::Kept)
    }
}

impl Coverage {
    fn member_of(&self, applicable: &[usize], name: &str) -> MemberCoverage {
        let mut schemas = LeadingSchemas::default();
        let mut covered = false;
        let mut unnamed = None;
        for index in applicable {
            let entry = &self.entries[*index];
            work::take(1);
            let mut named = false;
            if let Some(schema) = entry.property(name) {
                schemas.push(self, schema);
                named = true;
            }
            for (_, schema) in entry.patterns.iter().filter(|(pattern, _)| pattern.matches(name)) {
                schemas.push(self, *schema);
                named = true;
            }
            if named {
                covered = true;
                continue;
            }
            if let Some(limit) = entry.unnamed {
                unnamed = Some(limit);
            }
            match entry.additional {
                Additional::Open => {}
                Additional::Free | Additional::Closed => covered |= entry.unnamed.is_none(),
                Additional::Schema(schema) => {
                    schemas.push(self, schema);
                    covered |= entry.unnamed.is_none();
                }
            }
        }
        match (covered, unnamed) {
            (true, _) if schemas.as_slice().is_empty() => MemberCoverage::Covered,
            (true, _) => MemberCoverage::Schemas(schemas),
            (false, Some(limit)) => MemberCoverage::Unnamed(limit, schemas),
            (false, None) => MemberCoverage::Nothing,
        }
    }
}
