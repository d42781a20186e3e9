//! What the schemas of a container say about its members and items.

use crate::schema::work;

use super::table::{Additional, Coverage};

/// What the schemas of a container say about one child.
pub(super) enum MemberCoverage {
    /// These schemas apply to it.
    Schemas(Vec<usize>),
    /// It is covered, and nothing below is looked at.
    Covered,
    /// It is one of the keys whose names are not shown.
    Unnamed(usize, Vec<usize>),
    /// Nothing.
    Nothing,
}

impl Coverage {
    /// What the schemas that apply to an object say about the member of this name.
    pub(super) fn member_of(&self, applicable: &[usize], name: &str) -> MemberCoverage {
        let mut schemas = Vec::new();
        let mut covered = false;
        let mut unnamed = None;
        for index in applicable {
            let entry = &self.entries[*index];
            work::take(1);
            let mut named = false;
            if let Some(schema) = entry.property(name) {
                schemas.push(schema);
                named = true;
            }
            for (_, schema) in entry.patterns.iter().filter(|(pattern, _)| pattern.matches(name)) {
                schemas.push(*schema);
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
                    schemas.push(schema);
                    covered |= entry.unnamed.is_none();
                }
            }
        }
        match (covered, unnamed) {
            (true, _) if schemas.is_empty() => MemberCoverage::Covered,
            (true, _) => MemberCoverage::Schemas(schemas),
            (false, Some(limit)) => MemberCoverage::Unnamed(limit, schemas),
            (false, None) => MemberCoverage::Nothing,
        }
    }
}
