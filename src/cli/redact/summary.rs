//! The text summary of `contrail redact`.

use std::collections::{BTreeMap, BTreeSet};

use contrail_exchange::plural::plural;
use contrail_redact::{Redactor, Sighting};

use crate::cli::{printer::line, summary::personal_data};

/// What was found and taken out.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) places: BTreeMap<&'static str, usize>,
    /// Their labels: the same label is the same secret.
    labels: BTreeSet<String>,
    /// Files with one.
    pub(super) files: usize,
    pub(super) withheld: usize,
    /// Body files that were edited by hand.
    pub(super) edited: usize,
    /// Secrets in what was written.
    pub(super) left: usize,
    /// Entries of fixtures that cannot be replayed any more.
    pub(super) lost: usize,
}

impl Summary {
    pub(super) fn add(&mut self, sightings: &[Sighting], withheld: usize) {
        for sighting in sightings {
            *self.places.entry(sighting.kind).or_default() += 1;
            self.labels.insert(sighting.label.clone());
        }
        self.withheld += withheld;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.withheld == 0
    }

    pub(super) fn print(&self, redactor: &Redactor, files: usize, check: bool) {
        let kinds: Vec<String> = self.places.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        let (secrets, places) =
            (plural(self.labels.len(), "secret"), plural(self.places.values().sum::<usize>(), "place"));
        let found = format!("{places} of {}: {}", plural(self.files, "file"), kinds.join(", "));
        line(&match check {
            _ if kinds.is_empty() => format!("no secret in {}", plural(files, "file")),
            true => format!("{secrets} to remove in {found}"),
            false => format!("removed {secrets} in {found}"),
        });
        if self.withheld > 0 {
            let bodies = plural(self.withheld, "body");
            let verb = if check { "would empty" } else { "emptied" };
            line(&format!(
                "{verb} {bodies}: the content does not match the media type, so contrail cannot find secrets in it"
            ));
        }
        if self.edited > 0 {
            let verb = if check { "would accept" } else { "accepted" };
            line(&format!(
                "{verb} {} edited by hand (the digest differs from the HAR file's)",
                plural(self.edited, "body file")
            ));
        }
        if let Some(personal) = personal_data(&redactor.counters()) {
            line(&personal);
        }
        if self.left > 0 {
            let left = plural(self.left, "secret");
            line(&format!("contrail: {left} left in what was written; this is a bug in contrail"));
        }
    }
}
