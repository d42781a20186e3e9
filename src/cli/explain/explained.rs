//! One explanation, under the built-in contract or another one.

use std::sync::Arc;

use contrail_contract::{BUILT_IN, Contract, ContractDocument};
use contrail_exchange::finding::Rule;

use super::{
    aspects::aspect,
    name::Name,
    rules::{self, explanation, standard},
};

/// What explanations refer to: the built-in contract, or the one that the options name.
pub(super) struct InForce(pub(super) Option<Arc<Contract>>);

/// One explanation.
pub(super) struct Explained {
    pub(super) means: &'static str,
    pub(super) source: String,
    /// Of the built-in contract.
    pub(super) example: Option<&'static str>,
    pub(super) now: &'static str,
}

impl InForce {
    /// The contract's documents; none where it is the built-in one.
    pub(super) fn documents(&self) -> &[ContractDocument] {
        self.0.as_ref().map_or(&[], |contract| contract.documents())
    }

    pub(super) fn explain(&self, name: Name) -> Explained {
        // The tenant's documentation is the source of the built-in document alone.
        let documents = self.documents();
        let is_tenant = documents.is_empty() || documents.iter().any(|document| document.name() == BUILT_IN);
        let (means, tenant, standard, example, now) = match name {
            Name::Rule(rule) => {
                let rules::Explanation { means, source, example, now } = explanation(rule);
                (means, source, standard(rule), Some(example), now)
            }
            Name::Aspect(unchecked) => {
                let (means, source, now) = aspect(unchecked);
                (means, source, "", None, now)
            }
            Name::Word(word) => (word.means, "", "", None, word.now),
        };
        let now = match name {
            // Another contract may ask for any credential.
            Name::Rule(Rule::AuthMissing) if !is_tenant => {
                "Send a credential that `security` asks for, at the place that `at` names. In a browser's export the \
                 Authorization header is stripped; contrail then reports `auth` as unchecked."
            }
            _ => now,
        };
        let tenant = if is_tenant { tenant } else { "" };
        let source = [tenant, standard].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        Explained { means, source, example: example.filter(|_| is_tenant), now }
    }
}

/// Places of a document that state what a rule checks, or that leave an aspect out.
pub(super) fn places(document: &ContractDocument, name: Name) -> Vec<String> {
    match name {
        Name::Rule(rule) => document.states(rule),
        Name::Aspect(aspect) => document.leaves_out(aspect),
        Name::Word(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_explained_in_full_and_cites_its_source() {
        for rule in Rule::ALL {
            let explained = InForce(None).explain(Name::Rule(*rule));
            for text in [explained.means, &explained.source, explained.example.unwrap(), explained.now] {
                assert!(text.len() > 10 && !text.contains("  "), "{rule}: {text}");
            }
            assert!(
                ["ection", "RFC"].iter().any(|word| explained.source.contains(word)),
                "{rule} cites neither a section nor an RFC"
            );
        }
    }
}
