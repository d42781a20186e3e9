//! What holds for a whole document and has no place at an operation.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::contract::{ContractDocument, model::Catalogue};

/// In what the documents differ. Of the union's members, those go on which they do not agree.
pub(super) fn differences(documents: &[ContractDocument], members: &mut Map<String, Value>) -> Vec<String> {
    let mut differences = Vec::new();
    for key in ["x-contrail-media-types", "x-contrail-repeated-fields"] {
        if differ(documents, |document| document.document().get(key)) {
            members.shift_remove(key);
            differences.push(format!("`{key}` holds for a whole document and is not in each alike: it is left out"));
        }
    }
    let scopes = |document: &ContractDocument| -> Option<BTreeSet<String>> {
        Some(document.model().scopes.as_ref().map(Catalogue::iter)?.map(str::to_owned).collect())
    };
    if differ(documents, scopes) {
        differences.push(
            "the documents declare different scopes: one that any declares is no `auth.scope.undeclared`".to_owned(),
        );
    }
    if differ(documents, |document| document.model().error_bodies) {
        differences.push(
            "not all documents show bodies of errors: one that shows none is no longer silent on them".to_owned(),
        );
    }
    differences
}

fn differ<'d, T: PartialEq>(documents: &'d [ContractDocument], of: impl Fn(&'d ContractDocument) -> T) -> bool {
    documents.windows(2).any(|pair| matches!(pair, [one, other] if of(one) != of(other)))
}
